/* ref/attention.c: causal attention as the formula says it, in double. methods.md (11), (12)
 */
#include "kernels/ref/ref.h"
#include <math.h>

/* A head's elements at a position, as f32 in to. */
static void load_head(const struct kv_rows *kv, uint32_t pos, size_t kv_head, float *to, size_t dim)
{
    dtype_find(kv->type)->dequantize(kv_at(kv, kv_head, pos), to, dim);
}

static double score(const struct attention_args *a, const float *q, const float *k)
{
    double s = 0, cap = (double)a->softcap;
    for (size_t d = 0; d < a->head_dim; d++)
        s += (double)q[d] * (double)k[d];
    s *= (double)a->scale;
    return a->softcap != 0 ? cap * tanh(s / cap) : s;
}

/* Scores of keys [lo, hi) against q, then their exponentials relative to *top; returns the
 * sum of those, and of the sink's. */
static double softmax_row(const struct attention_args *a, const float *q, size_t head, uint32_t lo, uint32_t hi, double *p,
                          float *k, double *top)
{
    double sink = a->sinks ? (double)a->sinks[head] : -INFINITY, max = sink, sum = 0;
    for (uint32_t j = lo; j < hi; j++) {
        load_head(&a->k, j, head / (a->n_head / a->n_head_kv), k, a->head_dim);
        p[j - lo] = score(a, q, k);
        max = p[j - lo] > max ? p[j - lo] : max;
    }
    *top = max = (double)(float)max; /* as it is handed out */
    for (uint32_t j = lo; j < hi; j++) {
        p[j - lo] = exp(p[j - lo] - max);
        sum += p[j - lo];
    }
    return a->sinks ? sum + exp(sink - max) : sum;
}

void ref_attention(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1, bool count_kv,
                   struct work *w)
{
    size_t dim = a->head_dim, dim_v = a->head_dim_v;
    size_t larger = size_align_up(dim > dim_v ? dim : dim_v, 64);
    float *row = a->scratch; /* one head of K or V */
    double *acc = (double *)(row + larger), *p = acc + larger;
    const uint32_t counted = attention_keys(a, tok0, tok1).counted;
    uint32_t seen = 0; /* positions below were counted */
    for (uint32_t t = tok0; t < tok1; t++) {
        const struct key_range keys = attention_keys(a, t, t + 1);
        const uint32_t lo = keys.first, hi = keys.end;
        for (uint32_t h = head0; h < head1; h++) {
            const size_t own = a->n_head / a->n_head_kv, kv_head = h / own;
            seen = h > head0 && h % own == 0 ? 0 : seen; /* of several KV heads: one token */
            const float *q = a->q + t * a->q_stride + h * a->q_head_stride;
            double max, sum = softmax_row(a, q, h, lo, hi, p, row, &max);
            for (size_t d = 0; d < dim_v; d++)
                acc[d] = 0;
            for (uint32_t j = lo; j < hi; j++) {
                load_head(&a->v, j, kv_head, row, dim_v);
                for (size_t d = 0; d < dim_v; d++)
                    acc[d] += p[j - lo] * (double)row[d];
                w->flop += 2 * (dim + dim_v);
                if (count_kv && j >= seen && j < counted) {
                    w->kv_bytes += kv_position_bytes(a);
                    seen = j + 1;
                }
            }
            for (size_t d = 0; d < dim_v; d++)
                a->out[t * a->out_stride + h * dim_v + d] = (float)(a->part ? acc[d] : acc[d] / sum);
            if (a->part) {
                a->part[2 * h] = (float)max;
                a->part[2 * h + 1] = (float)sum;
            }
        }
    }
}
