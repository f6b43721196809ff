/*
 * deepseek2: DeepSeek-V2 and V3 (DeepSeek-AI 2024). Attention as the papers define it, not as engines run it: K and V
 * of every head are made of the latent, then plain attention.
 *
 *     c = rms(W_kva h)[:rank],  k_pe = rotated (W_kva h)[rank:], one for all heads
 *     k = [W_uk c, k_pe],  v = W_uv c,  q = [q_nope, rotated q_pe], for every head
 *
 * W_uk and W_uv lie in a file in one of two ways: attn_kv_b, the rows of a head being nope of K, then V, as in the
 * checkpoint; or attn_k_b [head, rank, nope], transposed, and attn_v_b [head, v_dim, rank]. With the second,
 * key_length and value_length are those of the latent, and key_length_mla and value_length_mla those of the heads.
 * Pairs (2i, 2i+1). YaRN: cos and sin keep amplitude 1, the scale is multiplied by (1 + 0.1 mscale_all_dim ln factor)^2;
 * the file's yarn_log_multiplier is 0.1 mscale_all_dim.
 */
#include "core.h"

static void tensors(struct ref_model *m, int il)
{
    struct ref_layer *l = &m->layer[il];
    const int n_q = m->n_head * m->dim, shared = m->n_ff_exp * m->n_shared;
    ref_need_norms(m, il);
    if (m->q_rank) {
        l->q_a = ref_need(m, il, "attn_q_a.weight", m->n_embd, m->q_rank, 1);
        l->q_a_norm = ref_need(m, il, "attn_q_a_norm.weight", m->q_rank, 1, 1);
        l->q_b = ref_need(m, il, "attn_q_b.weight", m->q_rank, n_q, 1);
    } else
        l->q = ref_need(m, il, "attn_q.weight", m->n_embd, n_q, 1);
    l->kv_a = ref_need(m, il, "attn_kv_a_mqa.weight", m->n_embd, m->rank + m->n_rot, 1);
    l->kv_a_norm = ref_need(m, il, "attn_kv_a_norm.weight", m->rank, 1, 1);
    l->k_b = ref_may(m, il, "attn_k_b.weight", m->nope, m->rank, m->n_head);
    if (l->k_b.w)
        l->v_b = ref_need(m, il, "attn_v_b.weight", m->rank, m->v_dim, m->n_head);
    else
        l->kv_b = ref_need(m, il, "attn_kv_b.weight", m->rank, m->nope + m->v_dim, m->n_head);
    l->o = ref_need(m, il, "attn_output.weight", m->n_head * m->v_dim, m->n_embd, 1);
    if (il < m->n_dense) {
        ref_need_mlp(m, il);
        return;
    }
    ref_need_experts(m, il);
    l->choice_bias = ref_may(m, il, "exp_probs_b.bias", m->n_expert, 1, 1);
    if (shared) {
        l->shared_gate = ref_need(m, il, "ffn_gate_shexp.weight", m->n_embd, shared, 1);
        l->shared_up = ref_need(m, il, "ffn_up_shexp.weight", m->n_embd, shared, 1);
        l->shared_down = ref_need(m, il, "ffn_down_shexp.weight", shared, m->n_embd, 1);
    }
}

static void nextn_tensors(struct ref_model *m, int il)
{
    struct ref_layer *l = &m->layer[il];
    l->eh_proj = ref_need(m, il, "nextn.eh_proj.weight", 2 * m->n_embd, m->n_embd, 1);
    l->enorm = ref_need(m, il, "nextn.enorm.weight", m->n_embd, 1, 1);
    l->hnorm = ref_need(m, il, "nextn.hnorm.weight", m->n_embd, 1, 1);
    l->nextn_embd = ref_may(m, il, "nextn.embed_tokens.weight", m->n_embd, m->n_vocab, 1);
    l->nextn_head = ref_may(m, il, "nextn.shared_head_head.weight", m->n_embd, m->n_vocab, 1);
    l->nextn_norm = ref_may(m, il, "nextn.shared_head_norm.weight", m->n_embd, 1, 1);
}

static void init(struct ref_model *m)
{
    m->rank = ref_key(m, "attention.kv_lora_rank", 0);
    m->q_rank = ref_key(m, "attention.q_lora_rank", 0);
    m->dim = ref_key(m, "attention.key_length_mla", m->dim);
    m->v_dim = ref_key(m, "attention.value_length_mla", m->v_dim);
    m->n_rot = ref_key(m, "rope.dimension_count", 64);
    m->nope = m->dim - m->n_rot;
    m->n_dense = ref_key(m, "leading_dense_block_count", 0);
    m->n_shared = ref_key(m, "expert_shared_count", 0);
    m->n_group = ref_key(m, "expert_group_count", 1);
    m->n_group_used = ref_key(m, "expert_group_used_count", m->n_group);
    m->sigmoid = ref_key(m, "expert_gating_func", 1) == 2;
    m->renormalize = ref_key_b(m, "expert_weights_norm", false);
    m->expert_scale = ref_key_f(m, "expert_weights_scale", 1);
    if (m->nope < 1 || m->rank < 1 || m->n_group < 1 || m->n_expert % m->n_group) {
        ref_fail(m, "sizes that do not fit each other");
        return;
    }
    ref_rope_init(m, &m->rope, ref_key_f(m, "rope.freq_base", 10000), false, REF_SCALED);
    m->rope.amplitude = 1;
    double mscale =
        1 + ref_key_f(m, "rope.scaling.yarn_log_multiplier", 0) * log(ref_key_f(m, "rope.scaling.factor", 1));
    m->scale = mscale * mscale / sqrt(m->dim);
    for (int il = 0; il < m->n_layer + m->n_nextn && !m->failed; il++)
        tensors(m, il);
    for (int il = m->n_layer; il < m->n_layer + m->n_nextn && !m->failed; il++)
        nextn_tensors(m, il);
}

/* K [n_head, dim] and V [n_head, v_dim] of the latent c and the rotated shared key. */
static void up_project(struct ref_model *m, const struct ref_layer *l, const double *c, const double *k_pe, double *k,
                       double *v)
{
    for (int h = 0; h < m->n_head; h++) {
        double *kh = k + h * m->dim, *vh = v + h * m->v_dim;
        for (int i = 0; i < m->nope; i++)
            for (int r = 0; r < m->rank; r++)
                kh[i] += c[r] * (l->k_b.w ? l->k_b.w[(h * m->rank + r) * m->nope + i]
                                          : l->kv_b.w[(h * (m->nope + m->v_dim) + i) * m->rank + r]);
        for (int i = 0; i < m->n_rot; i++)
            kh[m->nope + i] = k_pe[i];
        for (int i = 0; i < m->v_dim; i++)
            for (int r = 0; r < m->rank; r++)
                vh[i] += c[r] * (l->k_b.w ? l->v_b.w[(h * m->v_dim + i) * m->rank + r]
                                          : l->kv_b.w[(h * (m->nope + m->v_dim) + m->nope + i) * m->rank + r]);
    }
}

static double *attention(struct ref_model *m, int il, const double *h)
{
    const struct ref_layer *l = &m->layer[il];
    double *q =
        m->q_rank ? ref_mul(m, &l->q_b, ref_rms(m, ref_mul(m, &l->q_a, h), &l->q_a_norm)) : ref_mul(m, &l->q, h);
    double *kv = ref_mul(m, &l->kv_a, h), *k_pe = kv + m->rank, *c = ref_rms(m, kv, &l->kv_a_norm);
    double *k = ref_vec(m, m->n_head * m->dim), *v = ref_vec(m, m->n_head * m->v_dim);
    ref_rotate(m, &m->rope, q + m->nope, m->n_head, m->dim);
    ref_rotate(m, &m->rope, k_pe, 1, m->n_rot);
    const enum ref_cache cache = m->cache;
    if (cache == REF_CACHE_LATENT) {
        for (int i = 0; i < m->rank; i++)
            c[i] = ref_half(c[i]);
        for (int i = 0; i < m->n_rot; i++)
            k_pe[i] = ref_half(k_pe[i]);
        m->cache = REF_CACHE_EXACT;
    }
    up_project(m, l, c, k_pe, k, v);
    struct ref_attend a = { m->n_head, m->n_head, m->dim, m->v_dim, m->scale, 0, 0, NULL };
    double *mixed = ref_attend(m, il, &a, q, k, v);
    m->cache = cache;
    return ref_mul(m, &l->o, mixed);
}

static double best_sum(const double *x, int n, int k)
{
    double a = -INFINITY, b = -INFINITY;
    for (int i = 0; i < n; i++)
        if (x[i] > a) {
            b = a;
            a = x[i];
        } else
            b = fmax(b, x[i]);
    return k == 2 && n > 1 ? a + b : a;
}

/* V2: softmax; a group is worth its best expert. V3: sigmoid; choice by probability + bias, a group is worth its two
 * best; the weights have no bias. */
static void route(struct ref_model *m, const struct ref_layer *l, double *p, int *id)
{
    const int n = m->n_expert, size = n / m->n_group;
    double *score = ref_vec(m, n), *worth = ref_vec(m, m->n_group), sum = 0;
    bool *allowed = (bool *)ref_vec(m, n);
    int *group = (int *)ref_vec(m, m->n_group);
    if (m->sigmoid)
        for (int i = 0; i < n; i++)
            p[i] = 1 / (1 + exp(-p[i]));
    else
        ref_softmax(p, n);
    for (int i = 0; i < n; i++)
        score[i] = p[i] + (l->choice_bias.w ? l->choice_bias.w[i] : 0);
    for (int g = 0; g < m->n_group; g++)
        worth[g] = best_sum(score + g * size, size, m->sigmoid ? 2 : 1);
    ref_top(m, worth, NULL, m->n_group, m->n_group_used, group);
    for (int i = 0; i < m->n_group_used * size; i++)
        allowed[group[i / size] * size + i % size] = true;
    ref_top(m, score, allowed, n, m->n_used, id);
    for (int i = 0; i < m->n_used; i++)
        sum += p[id[i]];
    for (int i = 0; i < m->n_used; i++)
        p[id[i]] *= m->expert_scale / (m->renormalize ? sum + 1e-20 : 1);
}

static void block(struct ref_model *m, int il, double *x)
{
    const struct ref_layer *l = &m->layer[il];
    ref_plus(x, attention(m, il, ref_rms(m, x, &l->attn_norm)), m->n_embd);
    double *h = ref_rms(m, x, &l->ffn_norm);
    if (il < m->n_dense) {
        ref_plus(x, ref_mlp(m, &l->gate, &l->up, &l->down, ref_silu, h), m->n_embd);
        return;
    }
    double *p = ref_mul(m, &l->router, h);
    int *id = (int *)ref_vec(m, m->n_used);
    route(m, l, p, id);
    for (int i = 0; i < m->n_used; i++) {
        struct ref_mat gate = ref_expert(&l->gates, id[i]), up = ref_expert(&l->ups, id[i]),
                       down = ref_expert(&l->downs, id[i]);
        double *y = ref_mlp(m, &gate, &up, &down, ref_silu, h);
        for (int c = 0; c < m->n_embd; c++)
            x[c] += p[id[i]] * y[c];
    }
    if (l->shared_gate.w)
        ref_plus(x, ref_mlp(m, &l->shared_gate, &l->shared_up, &l->shared_down, ref_silu, h), m->n_embd);
}

const struct ref_family ref_deepseek2 = { "deepseek2", init, block, NULL, NULL };
