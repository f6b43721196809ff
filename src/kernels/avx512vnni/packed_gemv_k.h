/*
 * kernels/avx512vnni/packed_gemv_k.h: decode from packed weights (pack.h) in blocks of 256. packed_k.c instantiates it. Static
 * inline only.
 *
 * A block is eight sub-blocks of 32, with a scale each or a scale each half. Quants keep their bit position if that saves a shift; the
 * scales of the activations compensate (act_format.shift).
 */
#ifndef KERNELS_AVX512VNNI_PACKED_GEMV_K_H
#define KERNELS_AVX512VNNI_PACKED_GEMV_K_H

#include "kernels/avx512vnni/packed_gemv_rows.h"

/* Scales of a block: packed sub-scales are four bytes a row and vector. */
struct kscales {
    __m512 d, dmin;
    __m512i scale[4], min[4];
    __m512i third[2][8]; /* Q3_K: third bits of each half */
};

/* Sums of products of a sub-block and each token: of its halves, or all in the first. */
struct sub_dots {
    __m512i v[2][VNNI_BATCH_MOST];
};

struct packed_k {
    unsigned block_bytes; /* of a row */
    bool halves;          /* a scale for each half of a sub-block */
    enum ahead ahead;
    struct act_format acts;
    void (*load)(const unsigned char *p, struct kscales *k);
    /* The eight units of sub-block s of the block at p. */
    void (*weights)(const unsigned char *p, const struct kscales *k, unsigned s, __m512i w[8]);
    /* Adds to the dots of sub-blocks 4 half + 0..3, which share lines: each line is loaded once, in order. b: number of the first
     * sub-block in the row. Used for at most four_tok tokens, which registers hold; 0: `weights` is as fast. */
    int four_tok;
    void (*four)(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                 int n_tok, enum ahead ahead, struct sub_dots d[4]);
    /* Scale number i of 8, or 16 with halves. */
    __m512 (*scale)(const struct kscales *k, unsigned i);
    /* Min of sub-block s, to be subtracted; NULL: none. With halves as pairs of int16. */
    __m512i (*min)(const struct kscales *k, unsigned s);
};

INLINE void dots_start(struct sub_dots *d, const struct row_acts *x, size_t b, int n_tok, const struct packed_k f)
{
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++) {
        const int32_t *start = x[t].start + (f.halves ? 2 * b : b);
        d->v[0][t] = f.acts.bias ? _mm512_set1_epi32(start[0]) : _mm512_setzero_si512();
        d->v[1][t] = f.acts.bias && f.halves ? _mm512_set1_epi32(start[1]) : _mm512_setzero_si512();
    }
}

/* Unit u of sub-block b, to the sum of its half. */
INLINE void dots_add(struct sub_dots *d, __m512i w, const struct row_acts *x, size_t b, int u, int n_tok)
{
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++)
        d->v[u / 4][t] = _mm512_dpbusd_epi32(d->v[u / 4][t], w, act4(x[t].q + 32 * b + 4 * u));
}

/* Adds the scaled dots of sub-block s of the block, b of the row, to the block's sums. */
INLINE void add_scaled(const struct sub_dots *dots, const struct kscales *k, unsigned s, const struct row_acts *x, size_t b,
                       int n_tok, const struct packed_k f, __m512 *sum, __m512 *min)
{
    __m512i m = _mm512_setzero_si512();
    __m512 sc0 = f.scale(k, f.halves ? 2 * s : s), sc1 = sc0;
    if (f.halves)
        sc1 = f.scale(k, 2 * s + 1);
    if (f.min)
        m = f.min(k, s);
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++) {
        const __m512 d = _mm512_set1_ps(x[t].d_quant[b]), dot = _mm512_cvtepi32_ps(dots->v[0][t]);
        if (f.halves) {
            __m512 v = _mm512_mul_ps(dot, sc0);
            v = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots->v[1][t]), sc1, v);
            sum[t] = _mm512_fmadd_ps(v, d, sum[t]);
        } else {
            sum[t] = _mm512_fmadd_ps(dot, _mm512_mul_ps(sc0, d), sum[t]);
        }
        if (f.min && f.halves) {
            int32_t pair;
            memcpy(&pair, x[t].sum + 2 * b, sizeof pair);
            __m512i v =
                _mm512_dpwssd_epi32(_mm512_setzero_si512(), m, _mm512_set1_epi32(pair));
            min[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(v), _mm512_set1_ps(x[t].d[b]), min[t]);
        } else if (f.min) {
            min[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(m), _mm512_set1_ps(x[t].xsum[b]),
                                     min[t]);
        }
    }
}

/* Sub-block s of the block at p, b of the row. */
INLINE void sub_block(const unsigned char *p, const struct kscales *k, unsigned s, const struct row_acts *x, size_t b,
                      int n_tok, const struct packed_k f, __m512 *sum, __m512 *min)
{
    __m512i w[8];
    struct sub_dots d;
    f.weights(p, k, s, w);
    dots_start(&d, x, b, n_tok, f);
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++) {
        const int8_t *q = x[t].q + 32 * b;
        d.v[0][t] = dot_units(d.v[0][t], w, q, f.halves ? 4 : 8);
        if (f.halves)
            d.v[1][t] = dot_units(d.v[1][t], w + 4, q + 16, 4);
    }
    add_scaled(&d, k, s, x, b, n_tok, f, sum, min);
}

/* Sub-blocks 4 half + 0..3 of the block at p, b the first of them. */
INLINE void four_blocks(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                        int n_tok, const struct packed_k f, __m512 *sum, __m512 *min)
{
    struct sub_dots d[4];
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++)
        dots_start(&d[j], x, b + j, n_tok, f);
    f.four(p, k, half, x, b, n_tok, f.ahead, d);
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++)
        add_scaled(&d[j], k, 4 * half + j, x, b + j, n_tok, f, sum, min);
}

typedef struct packed_k gemv_format;
INLINE void gemv_panel(const unsigned char *p, size_t cols, const struct row_acts *x, int n_tok, const gemv_format f, struct row_sums *y)
{
    const unsigned lines = f.block_bytes * PACK_ROWS / 64;
    for (size_t b = 0; b < cols / 32; b += 8, p += (size_t)f.block_bytes * PACK_ROWS) {
        struct kscales k;
        __m512 sum[VNNI_BATCH_MOST], min[VNNI_BATCH_MOST];
        f.load(p, &k);
        if (x->leave)
            prefetch_acts(x, b, 8, n_tok, f.ahead, f.acts);
#pragma GCC unroll 8
        for (int t = 0; t < n_tok; t++)
            sum[t] = min[t] = _mm512_setzero_ps();
        if (n_tok <= f.four_tok) {
            four_blocks(p, &k, 0, x, b, n_tok, f, sum, min);
            four_blocks(p, &k, 1, x, b + 4, n_tok, f, sum, min);
        } else if (n_tok > VNNI_FEW_TOK) {
#pragma GCC unroll 1
            for (unsigned half = 0; half < 2; half++)
#pragma GCC unroll 4
                for (unsigned j = 0; j < 4; j++) {
                    const unsigned s = 4 * half + j;
                    prefetch_lines(p, f.ahead, s * lines / 8, (s + 1) * lines / 8);
                    sub_block(p, &k, s, x, b + s, n_tok, f, sum, min);
                }
        } else {
#pragma GCC unroll 8
            for (unsigned s = 0; s < 8; s++) {
                prefetch_lines(p, f.ahead, s * lines / 8, (s + 1) * lines / 8);
                sub_block(p, &k, s, x, b + s, n_tok, f, sum, min);
            }
        }
#pragma GCC unroll 8
        for (int t = 0; t < n_tok; t++) {
            y->v[0][t] = _mm512_fmadd_ps(k.d, sum[t], y->v[0][t]);
            if (f.min)
                y->v[1][t] = _mm512_fnmadd_ps(k.dmin, min[t], y->v[1][t]);
        }
    }
}

/* Prefetches the lines of step i of n in a half of a block of `lines` lines. */
INLINE void prefetch_step(const unsigned char *p, const enum ahead ahead, unsigned lines, unsigned half, unsigned i,
                          unsigned n)
{
    const unsigned at = half * n + i;
    prefetch_lines(p, ahead, at * lines / (2 * n), (at + 1) * lines / (2 * n));
}

#include "kernels/avx512vnni/packed_gemv_tokens.h" /* written in the names above */

#endif
