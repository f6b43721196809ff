/* smollm3: llama in which every fourth layer (3, 7, ...) has no rotation (NoPE); rows of Q and K reordered as llama's.
 */
#include "core.h"

static void init(struct ref_model *m)
{
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 10000), false, REF_SCALED);
    for (int il = 0; il < m->n_layer; il++) {
        ref_need_norms(m, il);
        ref_need_attention(m, il);
        ref_need_mlp(m, il);
    }
}

static void block(struct ref_model *m, int il, double *x)
{
    const struct ref_layer *l = &m->layer[il];
    const struct ref_rope *rope = (il + 1) % 4 != 0 ? &m->rope : NULL;
    ref_plus(x, ref_self(m, il, ref_rms(m, x, &l->attn_norm), rope, 0), m->n_embd);
    ref_plus(x, ref_mlp(m, &l->gate, &l->up, &l->down, ref_silu, ref_rms(m, x, &l->ffn_norm)), m->n_embd);
}

const struct ref_family ref_smollm3 = { "smollm3", init, block, NULL, NULL };
