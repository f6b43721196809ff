/*
 * gemma2 (Gemma team 2024): embeddings times sqrt(n_embd); a norm before and after both halves (files have 1 + w); even
 * layers (0, 2, ...) see a window; scores and logits go through cap * tanh(x / cap); gelu. Scores are divided by
 * sqrt(query_pre_attn_scalar), which files do not have: the head's width, but n_embd / n_head in the 27B model, known
 * by its 46 layers.
 */
#include "core.h"

static void init(struct ref_model *m)
{
    m->attn_cap = ref_key_f(m, "attn_logit_softcapping", 50);
    m->final_cap = ref_key_f(m, "final_logit_softcapping", 30);
    m->window = ref_key(m, "attention.sliding_window", 4096);
    m->scale = 1 / sqrt(m->n_layer == 46 ? m->n_embd / m->n_head : m->dim);
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 10000), true, REF_SCALED);
    for (int il = 0; il < m->n_layer; il++) {
        ref_need_norms(m, il);
        ref_need_attention(m, il);
        m->layer[il].post_attn_norm = ref_need(m, il, "post_attention_norm.weight", m->n_embd, 1, 1);
        m->layer[il].post_ffn_norm = ref_need(m, il, "post_ffw_norm.weight", m->n_embd, 1, 1);
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
    double *y = ref_self(m, il, ref_rms(m, x, &l->attn_norm), &m->rope, il % 2 == 0 ? m->window : 0);
    ref_plus(x, ref_rms(m, y, &l->post_attn_norm), m->n_embd);
    y = ref_mlp(m, &l->gate, &l->up, &l->down, ref_gelu, ref_rms(m, x, &l->ffn_norm));
    ref_plus(x, ref_rms(m, y, &l->post_ffn_norm), m->n_embd);
}

static void finish(struct ref_model *m, double *y)
{
    for (int i = 0; i < m->n_vocab; i++)
        y[i] = m->final_cap * tanh(y[i] / m->final_cap);
}

const struct ref_family ref_gemma2 = { "gemma2", init, block, embed, finish };
