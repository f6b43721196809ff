/*
 * llama (Touvron et al. 2023; Llama 3.1's scaled frequencies as the tensor rope_freqs) and mixtral (Jiang et al. 2024),
 * which files call llama too: the feed-forward is a mixture where there are experts. Pairs (2i, 2i+1): the converter
 * reorders the rows of Q and K.
 */
#include "core.h"

static void init(struct ref_model *m)
{
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 10000), false, REF_SCALED);
    for (int il = 0; il < m->n_layer; il++) {
        ref_need_norms(m, il);
        ref_need_attention(m, il);
        if (m->n_expert)
            ref_need_experts(m, il);
        else
            ref_need_mlp(m, il);
    }
}

static void block(struct ref_model *m, int il, double *x)
{
    const struct ref_layer *l = &m->layer[il];
    ref_plus(x, ref_self(m, il, ref_rms(m, x, &l->attn_norm), &m->rope, 0), m->n_embd);
    double *h = ref_rms(m, x, &l->ffn_norm);
    ref_plus(x, m->n_expert ? ref_mixture(m, il, h) : ref_mlp(m, &l->gate, &l->up, &l->down, ref_silu, h), m->n_embd);
}

const struct ref_family ref_llama = { "llama", init, block, NULL, NULL };
