/*
 * phi3 (Abdin et al. 2024): Q, K and V are one matrix, rows in that order; gate and up are one, gate first; the first
 * n_rot of each head turn, pairs (i, i + n_rot/2); frequencies are divided by the short or the long factors (LongRoPE,
 * Ding et al. 2024). attention.sliding_window holds in every layer, 0 meaning none. llama.cpp ignores that key.
 */
#include "core.h"

static void init(struct ref_model *m)
{
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 10000), true, REF_SCALED);
    for (int il = 0; il < m->n_layer; il++) {
        struct ref_layer *l = &m->layer[il];
        ref_need_norms(m, il);
        l->q = ref_need(m, il, "attn_qkv.weight", m->n_embd, (m->n_head + m->n_kv) * m->dim + m->n_kv * m->v_dim, 1);
        l->o = ref_need(m, il, "attn_output.weight", m->n_head * m->v_dim, m->n_embd, 1);
        l->up = ref_need(m, il, "ffn_up.weight", m->n_embd, 2 * m->n_ff, 1);
        l->down = ref_need(m, il, "ffn_down.weight", m->n_ff, m->n_embd, 1);
    }
}

static void block(struct ref_model *m, int il, double *x)
{
    const struct ref_layer *l = &m->layer[il];
    double *q = ref_mul(m, &l->q, ref_rms(m, x, &l->attn_norm)), *k = q + m->n_head * m->dim, *v = k + m->n_kv * m->dim;
    ref_rotate(m, &m->rope, q, m->n_head, m->dim);
    ref_rotate(m, &m->rope, k, m->n_kv, m->dim);
    struct ref_attend a = { m->n_head, m->n_kv, m->dim, m->v_dim, m->scale, 0, m->window, NULL };
    ref_plus(x, ref_mul(m, &l->o, ref_attend(m, il, &a, q, k, v)), m->n_embd);
    struct ref_mat gate = ref_rows(&l->up, 0, m->n_ff), up = ref_rows(&l->up, m->n_ff, m->n_ff);
    ref_plus(x, ref_mlp(m, &gate, &up, &l->down, ref_silu, ref_rms(m, x, &l->ffn_norm)), m->n_embd);
}

const struct ref_family ref_phi3 = { "phi3", init, block, NULL, NULL };
