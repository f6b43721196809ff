/* See core.h. Rotation, attention, experts. */
#include "core.h"
#include <string.h>

/*
 * YaRN (Peng et al. 2023, "NTK-by-parts"): a frequency that turns more than beta_fast times within the original context
 * stays, one that turns less than beta_slow times is divided by the factor, with a ramp over the index between; the two
 * indices rounded outwards.
 */
static double yarn_index(double turns, int n_rot, double n_orig, double base)
{
    return n_rot * log(n_orig / (turns * 2 * acos(-1))) / (2 * log(base));
}

static void yarn(struct ref_model *m, struct ref_rope *r, double base, double factor)
{
    double n_orig = ref_key(m, "rope.scaling.original_context_length", ref_key(m, "context_length", 4096));
    double fast = ref_key_f(m, "rope.scaling.yarn_beta_fast", 32),
           slow = ref_key_f(m, "rope.scaling.yarn_beta_slow", 1);
    double low = fmax(0, floor(yarn_index(fast, r->n_rot, n_orig, base)));
    double high = fmin(r->n_rot - 1, ceil(yarn_index(slow, r->n_rot, n_orig, base)));
    for (int i = 0; i < r->n_rot / 2; i++) {
        double t = (i - low) / fmax(0.001, high - low);
        t = fmin(1, fmax(0, t));
        r->freq[i] = (1 - t) * r->freq[i] + t * r->freq[i] / factor;
    }
    r->amplitude *= 1 + 0.1 * log(factor);
}

static void divide(struct ref_model *m, struct ref_rope *r, const char *name)
{
    struct ref_mat f = ref_may(m, -1, name, r->n_rot / 2, 1, 1);
    for (int i = 0; f.w && i < r->n_rot / 2; i++)
        r->freq[i] /= f.w[i];
}

void ref_rope_init(struct ref_model *m, struct ref_rope *r, double base, bool neox, enum ref_scaling scaling)
{
    *r = (struct ref_rope){ m->n_rot, neox, ref_keep(m, (size_t)m->n_rot / 2), 1 };
    for (int i = 0; i < r->n_rot / 2; i++)
        r->freq[i] = pow(base, -2.0 * i / r->n_rot);
    if (scaling == REF_PLAIN)
        return;
    char key[64];
    struct gguf_str type = { "linear", 6 };
    snprintf(key, sizeof key, "%s.rope.scaling.type", m->arch);
    gguf_opt_str(m->g, key, &type, NULL);
    double factor = ref_key_f(m, "rope.scaling.factor", 1);
    r->amplitude = ref_key_f(m, "rope.scaling.attn_factor", 1);
    if (type.len == 4 && memcmp(type.s, "yarn", 4) == 0)
        yarn(m, r, base, factor);
    else if (type.len == 6 && memcmp(type.s, "linear", 6) == 0)
        for (int i = 0; i < r->n_rot / 2; i++)
            r->freq[i] /= factor;
    divide(m, r, "rope_freqs.weight");
    int n_orig = ref_key(m, "rope.scaling.original_context_length", ref_key(m, "context_length", 4096));
    divide(m, r, m->n_ctx > n_orig ? "rope_factors_long.weight" : "rope_factors_short.weight");
}

void ref_rotate(const struct ref_model *m, const struct ref_rope *r, double *x, int heads, int stride)
{
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < r->n_rot / 2; i++) {
            double *p = x + h * stride + (r->neox ? i : 2 * i), *q = p + (r->neox ? r->n_rot / 2 : 1), a = *p, b = *q;
            double c = r->amplitude * cos(m->pos * r->freq[i]), s = r->amplitude * sin(m->pos * r->freq[i]);
            *p = a * c - b * s;
            *q = a * s + b * c;
        }
}

double ref_half(double x)
{
    return f16_to_f32(f32_to_f16((float)x));
}

static double *keep(struct ref_model *m, double **all, const double *x, int n)
{
    if (!*all)
        *all = ref_keep(m, (size_t)m->n_ctx * (size_t)n);
    double *row = *all + (size_t)m->pos * (size_t)n;
    for (int i = 0; i < n; i++)
        row[i] = m->cache == REF_CACHE_EXACT ? x[i] : ref_half(x[i]);
    return *all;
}

double *ref_attend(struct ref_model *m, int il, const struct ref_attend *a, const double *q, const double *k,
                   const double *v)
{
    const double *keys = keep(m, &m->layer[il].keys, k, a->n_kv * a->dim);
    const double *values = keep(m, &m->layer[il].values, v, a->n_kv * a->v_dim);
    const int first = a->window && m->pos >= a->window ? m->pos - a->window + 1 : 0, n = m->pos - first + 1;
    double *out = ref_vec(m, a->n_head * a->v_dim), *p = ref_vec(m, n + 1);
    for (int h = 0; h < a->n_head; h++) {
        const int g = h / (a->n_head / a->n_kv);
        for (int t = 0; t < n; t++) {
            const double *key = keys + ((size_t)(first + t) * (size_t)a->n_kv + (size_t)g) * (size_t)a->dim;
            p[t] = 0;
            for (int i = 0; i < a->dim; i++)
                p[t] += q[h * a->dim + i] * key[i];
            p[t] *= a->scale;
            if (a->cap != 0)
                p[t] = a->cap * tanh(p[t] / a->cap);
        }
        if (a->sinks)
            p[n] = a->sinks[h];
        ref_softmax(p, n + (a->sinks != NULL));
        for (int t = 0; t < n; t++)
            for (int i = 0; i < a->v_dim; i++)
                out[h * a->v_dim + i] +=
                    p[t] * values[((size_t)(first + t) * (size_t)a->n_kv + (size_t)g) * (size_t)a->v_dim + (size_t)i];
    }
    return out;
}

double *ref_self(struct ref_model *m, int il, const double *h, const struct ref_rope *rope, int window)
{
    const struct ref_layer *l = &m->layer[il];
    double *q = ref_mul_bias(m, &l->q, &l->q_bias, h);
    double *k = ref_mul_bias(m, &l->k, &l->k_bias, h);
    double *v = ref_mul_bias(m, &l->v, &l->v_bias, h);
    ref_rms_heads(m, q, m->n_head * m->dim / (l->q_norm.w ? l->q_norm.cols : 1), &l->q_norm);
    ref_rms_heads(m, k, m->n_kv * m->dim / (l->k_norm.w ? l->k_norm.cols : 1), &l->k_norm);
    if (rope) {
        ref_rotate(m, rope, q, m->n_head, m->dim);
        ref_rotate(m, rope, k, m->n_kv, m->dim);
    }
    struct ref_attend a = { m->n_head, m->n_kv, m->dim, m->v_dim, m->scale, m->attn_cap, window, l->sinks.w };
    return ref_mul_bias(m, &l->o, &l->o_bias, ref_attend(m, il, &a, q, k, v));
}

void ref_top(struct ref_model *m, const double *score, const bool *allowed, int n, int k, int *id)
{
    bool *taken = (bool *)ref_vec(m, n);
    double last = INFINITY, rest = -INFINITY;
    for (int i = 0; i < k; i++) {
        int best = -1;
        for (int e = 0; e < n; e++)
            if (!taken[e] && (!allowed || allowed[e]) && (best < 0 || score[e] > score[best]))
                best = e;
        if (best < 0)
            best = 0;
        taken[best] = true;
        id[i] = best;
        last = score[best];
    }
    for (int e = 0; e < n; e++)
        if (!taken[e] && (!allowed || allowed[e]))
            rest = fmax(rest, score[e]);
    m->margin = fmin(m->margin, last - rest);
}

double *ref_mixture(struct ref_model *m, int il, const double *h)
{
    const struct ref_layer *l = &m->layer[il];
    double *p = ref_mul(m, &l->router, h), *y = ref_vec(m, m->n_embd), sum = 0;
    int *id = (int *)ref_vec(m, m->n_used);
    ref_softmax(p, m->n_expert);
    ref_top(m, p, NULL, m->n_expert, m->n_used, id);
    for (int i = 0; i < m->n_used; i++)
        sum += p[id[i]];
    for (int i = 0; i < m->n_used; i++) {
        struct ref_mat gate = ref_expert(&l->gates, id[i]), up = ref_expert(&l->ups, id[i]),
                       down = ref_expert(&l->downs, id[i]);
        double *e = ref_mlp(m, &gate, &up, &down, ref_silu, h);
        for (int c = 0; c < m->n_embd; c++)
            y[c] += p[id[i]] / sum * e[c];
    }
    return y;
}
