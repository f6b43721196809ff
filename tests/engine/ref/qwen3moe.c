/*
 * qwen3moe (Yang et al. 2025): attention of qwen3; every feed-forward a mixture: softmax over all experts, the best
 * n_used, their weights divided by their sum (norm_topk_prob is true in every released model; files have no key of it).
 */
#include "core.h"

static void init(struct ref_model *m)
{
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 10000), true, REF_SCALED);
    for (int il = 0; il < m->n_layer; il++) {
        ref_need_norms(m, il);
        ref_need_attention(m, il);
        m->layer[il].q_norm = ref_need(m, il, "attn_q_norm.weight", m->dim, 1, 1);
        m->layer[il].k_norm = ref_need(m, il, "attn_k_norm.weight", m->dim, 1, 1);
        ref_need_experts(m, il);
    }
}

static void block(struct ref_model *m, int il, double *x)
{
    const struct ref_layer *l = &m->layer[il];
    ref_plus(x, ref_self(m, il, ref_rms(m, x, &l->attn_norm), &m->rope, 0), m->n_embd);
    ref_plus(x, ref_mixture(m, il, ref_rms(m, x, &l->ffn_norm)), m->n_embd);
}

const struct ref_family ref_qwen3moe = { "qwen3moe", init, block, NULL, NULL };
