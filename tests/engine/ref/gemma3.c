/*
 * gemma3 (Gemma team 2025): gemma2 without caps and with RMS norms of every head of Q and K; five layers with a window
 * and base 10000, then one that sees everything with rope.freq_base (1e6) and the file's scaling. Scale as gemma2; its
 * 27B model has 62 layers.
 */
#include "core.h"

static void init(struct ref_model *m)
{
    m->scale = 1 / sqrt(m->n_layer == 62 ? m->n_embd / m->n_head : m->dim);
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 1e6), true, REF_SCALED);
    ref_rope_init(m, &m->local_rope, ref_key_f(m, "rope.freq_base_swa", 10000), true, REF_PLAIN);
    for (int il = 0; il < m->n_layer; il++) {
        struct ref_layer *l = &m->layer[il];
        ref_need_norms(m, il);
        ref_need_attention(m, il);
        l->q_norm = ref_need(m, il, "attn_q_norm.weight", m->dim, 1, 1);
        l->k_norm = ref_need(m, il, "attn_k_norm.weight", m->dim, 1, 1);
        l->post_attn_norm = ref_need(m, il, "post_attention_norm.weight", m->n_embd, 1, 1);
        l->post_ffn_norm = ref_need(m, il, "post_ffw_norm.weight", m->n_embd, 1, 1);
        ref_need_mlp(m, il);
    }
}

static void embed(struct ref_model *m, double *x)
{
    for (int i = 0; i < m->n_embd; i++)
        x[i] *= sqrt(m->n_embd);
}

static void block(struct ref_model *m, int il, double *x)
{
    const struct ref_layer *l = &m->layer[il];
    const bool local = (il + 1) % 6 != 0;
    double *h = ref_rms(m, x, &l->attn_norm);
    double *y = local ? ref_self(m, il, h, &m->local_rope, m->window) : ref_self(m, il, h, &m->rope, 0);
    ref_plus(x, ref_rms(m, y, &l->post_attn_norm), m->n_embd);
    y = ref_mlp(m, &l->gate, &l->up, &l->down, ref_gelu, ref_rms(m, x, &l->ffn_norm));
    ref_plus(x, ref_rms(m, y, &l->post_ffn_norm), m->n_embd);
}

const struct ref_family ref_gemma3 = { "gemma3", init, block, embed, NULL };
