/*
 * olmo2 (OLMo team 2024): no norm before a half but one after it; RMS norm of Q and of K over their whole width, before
 * the rotation; pairs (i, i + n_rot/2). A sliding window makes it OLMo 3, which is not this.
 */
#include "core.h"

static void init(struct ref_model *m)
{
    if (m->window)
        ref_fail(m, "olmo2 with a sliding window (OLMo 3)");
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 10000), true, REF_SCALED);
    for (int il = 0; il < m->n_layer; il++) {
        struct ref_layer *l = &m->layer[il];
        ref_need_attention(m, il);
        l->q_norm = ref_need(m, il, "attn_q_norm.weight", m->n_head * m->dim, 1, 1);
        l->k_norm = ref_need(m, il, "attn_k_norm.weight", m->n_kv * m->dim, 1, 1);
        l->post_attn_norm = ref_need(m, il, "post_attention_norm.weight", m->n_embd, 1, 1);
        l->post_ffn_norm = ref_need(m, il, "post_ffw_norm.weight", m->n_embd, 1, 1);
        ref_need_mlp(m, il);
    }
}

static void block(struct ref_model *m, int il, double *x)
{
    const struct ref_layer *l = &m->layer[il];
    ref_plus(x, ref_rms(m, ref_self(m, il, x, &m->rope, 0), &l->post_attn_norm), m->n_embd);
    ref_plus(x, ref_rms(m, ref_mlp(m, &l->gate, &l->up, &l->down, ref_silu, x), &l->post_ffn_norm), m->n_embd);
}

const struct ref_family ref_olmo2 = { "olmo2", init, block, NULL, NULL };
