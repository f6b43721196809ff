/*
 * kernels/simd/attention_tile.h: rows of attention against a tile of keys and values as f32.
 * Static inline only. methods.md (11), (12)
 */
#ifndef KERNELS_SIMD_ATTENTION_TILE_H
#define KERNELS_SIMD_ATTENTION_TILE_H

#include "kernels/simd/attention_state.h"

/* ---- softmax ---------------------------------------------------------------------------- */

/*
 * 2^y for y up to 127: p(f) 2^(y - f) with f = y - floor(y); below 2^-126 perhaps 0. p has
 * the smallest largest relative error (1.4 2^-24) of degree 5 with p(0) = 1, by the exchange
 * algorithm.
 */
INLINE vf vf_exp2(vf y)
{
    vf f = vf_fraction(y), p = vf_fma(f, vf_set1(0x1.e974fap-10f), vf_set1(0x1.277856p-7f));
    p = vf_fma(p, f, vf_set1(0x1.c91ce6p-5f));
    p = vf_fma(p, f, vf_set1(0x1.ebdb56p-3f));
    p = vf_fma(p, f, vf_set1(0x1.62e4bap-1f));
    return vf_times2(vf_fma(p, f, vf_set1(1.0f)), y);
}

/*
 * Scores of a row of a block become weights, relative to a maximum that is not the row's
 * latest but at most s->lazy below it: it seldom changes. Adds the row's work: from the keys
 * it sees.
 */
INLINE void att_softmax(const struct att *s, size_t row, float *p, struct span block, struct work *w)
{
    const struct span own = att_span(s, row, 1);
    const size_t j0 = block.from / VL * VL, to = block.to;
    w->flop += 2 * (uint64_t)(s->dim + s->dim_v) * (own.to - own.from);
    if (s->a->softcap != 0)
        att_softcap(p, block, s->a->scale, s->a->softcap);
    if (own.from > j0 || own.to < size_align_up(to, VL))
        att_mask(p, block, own);
    vf top = vf_load(p + j0), sum = vf_load(s->sum + row * VL);
    for (size_t j = j0 + VL; j < to; j += VL)
        top = vf_max(top, vf_load(p + j));
    if (vf_any_above(top, vf_set1(s->max[row] + s->lazy))) {
        att_raise(s, row, top);
        sum = vf_load(s->sum + row * VL);
    }
    const vf scale = vf_set1(s->scale), shift = vf_set1(s->max[row] * s->scale);
    for (size_t j = j0; j < to; j += VL) {
        vf e = vf_exp2(vf_fms(vf_load(p + j), scale, shift));
        vf_store(p + j, e);
        sum = vf_add(sum, e);
    }
    vf_store(s->sum + row * VL, sum);
}

/* ---- products with a tile as f32 --------------------------------------------------------- */

/* p[i] = q . k for n rows and keys [j, j + vecs * VL). */
INLINE void att_scores(const struct att *s, const float *const *q, const size_t n, size_t j, const size_t vecs)
{
    vf acc[ATT_ROWS][ATT_VECS];
    const size_t dim = s->dim;
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            acc[i][c] = vf_set1(0);
    const float *k = s->kt + j;
    for (size_t d = 0; d < dim; d++, k += KV_TILE) {
        vf kv[ATT_VECS];
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            kv[c] = vf_load(k + c * VL);
#pragma GCC unroll 6
        for (size_t i = 0; i < n; i++) {
            vf x = vf_set1(q[i][d]);
#pragma GCC unroll 4
            for (size_t c = 0; c < vecs; c++)
                acc[i][c] = vf_fma(x, kv[c], acc[i][c]);
        }
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            vf_store(s->p + i * KV_TILE + j + c * VL, acc[i][c]);
}

/* out[i] += p[i] . v for n rows, keys of the span, dims [d, d + vecs * VL). */
INLINE void att_output(const struct att *s, size_t row, const size_t n, struct span keys, size_t d, const size_t vecs)
{
    vf acc[ATT_ROWS][ATT_VECS];
    float *out[ATT_ROWS];
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++) {
        out[i] = att_out(s, row + i) + d;
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            acc[i][c] = vf_load_m(vm_first(s->dim_v - d - c * VL), out[i] + c * VL);
    }
    const size_t to = keys.to, stride = s->v_stride;
    const float *v = s->v + keys.from * stride + d, *p = s->p;
    for (size_t j = keys.from; j < to; j++, v += stride) {
        vf x[ATT_VECS];
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            x[c] = vf_load(v + c * VL);
#pragma GCC unroll 6
        for (size_t i = 0; i < n; i++) {
            vf weight = vf_set1(p[i * KV_TILE + j]);
#pragma GCC unroll 4
            for (size_t c = 0; c < vecs; c++)
                acc[i][c] = vf_fma(weight, x[c], acc[i][c]);
        }
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            vf_store_m(out[i] + c * VL, vm_first(s->dim_v - d - c * VL), acc[i][c]);
}

/* Prefetches n rows from L2. */
INLINE void att_prefetch(const float *const *row, const size_t n, size_t dim)
{
    for (size_t d = 0; d < dim; d += 16)
#pragma GCC unroll 6
        for (size_t i = 0; i < n; i++)
            __builtin_prefetch(row[i] + d, 0, 3);
}

/* n rows against the tile; n is a constant of each caller. Works on a copy of *call, whose
 * fields can stay in registers whatever is stored. */
INLINE void att_rows(const struct att *call, size_t row, size_t end, const size_t n, struct work *w)
{
    const struct att s = *call;
    const struct span keys = att_span(&s, row, n);
    const float *q[ATT_ROWS], *out[ATT_ROWS], *next[ATT_ROWS];
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++) {
        q[i] = att_q(&s, row + i);
        out[i] = att_out(&s, row + i);
        next[i] = row + n + i < end ? att_q(&s, row + n + i) : q[i];
    }
    att_prefetch(out, n, s.dim_v);
    size_t j = keys.from / VL * VL;
    for (; j + (ATT_VECS - 1) * VL < keys.to; j += ATT_VECS * VL)
        att_scores(&s, q, n, j, ATT_VECS);
    for (; j + VL < keys.to; j += 2 * VL)
        att_scores(&s, q, n, j, 2);
    if (j < keys.to)
        att_scores(&s, q, n, j, 1);
    att_prefetch(next, n, s.dim);
    for (size_t i = 0; i < n; i++)
        att_softmax(&s, row + i, s.p + i * KV_TILE, keys, w);
    size_t d = 0;
    for (; d + (ATT_VECS - 1) * VL < s.dim_v; d += ATT_VECS * VL)
        att_output(&s, row, n, keys, d, ATT_VECS);
    for (; d < s.dim_v; d += VL)
        att_output(&s, row, n, keys, d, 1);
}

static void att_rows_full(const struct att *s, size_t row, size_t end, struct work *w)
{
    att_rows(s, row, end, ATT_ROWS, w);
}
static void att_rows_two(const struct att *s, size_t row, size_t end, struct work *w)
{
    att_rows(s, row, end, 2, w);
}
static void att_rows_one(const struct att *s, size_t row, size_t end, struct work *w)
{
    att_rows(s, row, end, 1, w);
}

static void att_walk_rows(const struct att *s, struct row_range rows, struct att_ahead ahead, struct work *w)
{
    size_t row = rows.from;
    for (; row + ATT_ROWS <= rows.to; row += ATT_ROWS) {
        att_rows_full(s, row, rows.to, w);
        att_ask(s, &ahead);
    }
    for (; row + 2 <= rows.to; row += 2)
        att_rows_two(s, row, rows.to, w);
    for (; row < rows.to; row++)
        att_rows_one(s, row, rows.to, w);
    att_ask(s, &ahead);
}

#endif
