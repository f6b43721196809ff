/*
 * gpt-oss (OpenAI 2025): biases everywhere; a learned logit per head joins the softmax of the scores and takes its
 * share away; even layers (0, 2, ...) see a window; YaRN; pairs (i, i + n_rot/2). The router takes the best n_used
 * logits and a softmax over those. An expert:
 *
 *     g = min(W_gate x + b, 7),  u = clamp(W_up x + b, -7, 7),  y = W_down ((u + 1) g sigmoid(1.702 g)) + b
 *
 * Files call the norm before the experts post_attention_norm.
 */
#include "core.h"

static void init(struct ref_model *m)
{
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 150000), true, REF_SCALED);
    for (int il = 0; il < m->n_layer; il++) {
        struct ref_layer *l = &m->layer[il];
        l->attn_norm = ref_need(m, il, "attn_norm.weight", m->n_embd, 1, 1);
        l->ffn_norm = ref_need(m, il, "post_attention_norm.weight", m->n_embd, 1, 1);
        ref_need_attention(m, il);
        l->sinks = ref_need(m, il, "attn_sinks.weight", m->n_head, 1, 1);
        ref_need_experts(m, il);
        l->router_bias = ref_need(m, il, "ffn_gate_inp.bias", m->n_expert, 1, 1);
        l->gates_bias = ref_need(m, il, "ffn_gate_exps.bias", m->n_ff_exp, 1, m->n_expert);
        l->ups_bias = ref_need(m, il, "ffn_up_exps.bias", m->n_ff_exp, 1, m->n_expert);
        l->downs_bias = ref_need(m, il, "ffn_down_exps.bias", m->n_embd, 1, m->n_expert);
    }
}

static double *expert(struct ref_model *m, const struct ref_layer *l, int e, const double *h)
{
    struct ref_mat gate = ref_expert(&l->gates, e), up = ref_expert(&l->ups, e), down = ref_expert(&l->downs, e);
    struct ref_mat gate_bias = ref_expert(&l->gates_bias, e), up_bias = ref_expert(&l->ups_bias, e),
                   down_bias = ref_expert(&l->downs_bias, e);
    double *a = ref_mul_bias(m, &gate, &gate_bias, h), *b = ref_mul_bias(m, &up, &up_bias, h);
    for (int i = 0; i < m->n_ff_exp; i++) {
        double g = fmin(a[i], 7), u = fmax(-7, fmin(b[i], 7));
        a[i] = (u + 1) * g / (1 + exp(-1.702 * g));
    }
    return ref_mul_bias(m, &down, &down_bias, a);
}

static void block(struct ref_model *m, int il, double *x)
{
    const struct ref_layer *l = &m->layer[il];
    ref_plus(x, ref_self(m, il, ref_rms(m, x, &l->attn_norm), &m->rope, il % 2 == 0 ? m->window : 0), m->n_embd);
    double *h = ref_rms(m, x, &l->ffn_norm), *logit = ref_mul_bias(m, &l->router, &l->router_bias, h);
    double *w = ref_vec(m, m->n_used);
    int *id = (int *)ref_vec(m, m->n_used);
    ref_top(m, logit, NULL, m->n_expert, m->n_used, id);
    for (int i = 0; i < m->n_used; i++)
        w[i] = logit[id[i]];
    ref_softmax(w, m->n_used);
    for (int i = 0; i < m->n_used; i++) {
        double *y = expert(m, l, id[i], h);
        for (int c = 0; c < m->n_embd; c++)
            x[c] += w[i] * y[c];
    }
}

const struct ref_family ref_gpt_oss = { "gpt-oss", init, block, NULL, NULL };
