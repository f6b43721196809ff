/* ref/attention.c: causal attention as the formula says it, in double. methods.md (7) */
#include "kernels/ref/ref.h"
#include <math.h>

static double dot_f16(const float *q, const uint16_t *k, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (double)q[i] * (double)f16_to_f32(k[i]);
    return s;
}

/* Scores of keys [lo, hi) against q, then their exponentials; returns the sum of those. */
static double softmax_row(const struct attention_args *a, const float *q, size_t kv_head,
                          uint32_t lo, uint32_t hi, double *p)
{
    double max = -INFINITY, sum = 0;
    for (uint32_t j = lo; j < hi; j++) {
        const uint16_t *k = a->k + j * a->kv_stride + kv_head * a->head_dim;
        p[j - lo] = dot_f16(q, k, a->head_dim) * (double)a->scale;
        max = p[j - lo] > max ? p[j - lo] : max;
    }
    for (uint32_t j = lo; j < hi; j++) {
        p[j - lo] = exp(p[j - lo] - max);
        sum += p[j - lo];
    }
    return sum;
}

void ref_attention(const struct attention_args *a, uint32_t head0, uint32_t head1,
                   uint32_t tok0, uint32_t tok1, bool count_kv, struct work *w)
{
    size_t dim = a->head_dim, kv_head = head0 / (a->n_head / a->n_head_kv);
    double *acc = a->scratch, *p = acc + size_align_up(dim, 64);
    uint32_t seen = 0; /* positions below were counted */
    for (uint32_t t = tok0; t < tok1; t++) {
        uint32_t pos = a->n_past + t, hi = pos + 1, lo = window_first(pos, a->window);
        for (uint32_t h = head0; h < head1; h++) {
            double sum =
                softmax_row(a, a->q + t * a->q_stride + h * dim, kv_head, lo, hi, p);
            for (size_t d = 0; d < dim; d++)
                acc[d] = 0;
            for (uint32_t j = lo; j < hi; j++) {
                const uint16_t *v = a->v + j * a->kv_stride + kv_head * dim;
                for (size_t d = 0; d < dim; d++)
                    acc[d] += p[j - lo] * (double)f16_to_f32(v[d]);
                w->flop += 4 * dim;
                if (count_kv && j >= seen) {
                    w->kv_bytes += 2 * dim * sizeof *v;
                    seen = j + 1;
                }
            }
            for (size_t d = 0; d < dim; d++)
                a->out[t * a->out_stride + h * dim + d] = (float)(acc[d] / sum);
        }
    }
}
