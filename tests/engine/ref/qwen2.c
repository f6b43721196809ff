/* qwen2 (Yang et al. 2024): llama with biases on Q, K and V and pairs (i, i + n_rot/2). */
#include "core.h"

static void init(struct ref_model *m)
{
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 10000), true, REF_SCALED);
    for (int il = 0; il < m->n_layer; il++) {
        ref_need_norms(m, il);
        ref_need_attention(m, il);
        ref_need_mlp(m, il);
    }
}

static void block(struct ref_model *m, int il, double *x)
{
    const struct ref_layer *l = &m->layer[il];
    ref_plus(x, ref_self(m, il, ref_rms(m, x, &l->attn_norm), &m->rope, 0), m->n_embd);
    ref_plus(x, ref_mlp(m, &l->gate, &l->up, &l->down, ref_silu, ref_rms(m, x, &l->ffn_norm)), m->n_embd);
}

const struct ref_family ref_qwen2 = { "qwen2", init, block, NULL, NULL };
