/*
 * kernels/avx512vnni/packed_gemv32.h: decode from packed weights (pack.h) in blocks of 32. packed_32.c instantiates it. Static
 * inline only.
 */
#ifndef KERNELS_AVX512VNNI_PACKED_GEMV32_H
#define KERNELS_AVX512VNNI_PACKED_GEMV32_H

#include "kernels/avx512vnni/packed_gemv_rows.h"

struct packed32 {
    unsigned block_bytes; /* of a row */
    unsigned scale_bytes; /* of its first field */
    unsigned run;         /* blocks a step */
    bool apart;           /* each block of a run begins with its own scales */
    bool has_min;
    bool high_first; /* units 4-7 are 16 times too large, and so is the start */
    bool once;       /* for CPU_SW_PREFETCH: one token by block32_once; units 4-7 have a sum of their own: two dependency chains */
    bool touched;    /* one token: lines are touched before they are loaded */
    enum ahead ahead;
    struct act_format acts;
    /* Of a block whose fields after the first begin at p: units u and u + 4, which share a line where types have fewer than 8 bits. */
    void (*units)(const unsigned char *p, int u, __m512i *w, __m512i *w4);
    bool fifth_bits; /* of all units: a line at p, before theirs */
    /* Scales, and mins to be added, the first field of the block at p. */
    void (*scales)(const unsigned char *p, __m512 *d, __m512 *m);
};

/* Loads both halves of each of 8 lines: the hardware prefetcher of Zen 4 runs further ahead after a second access to a line. Q8_0, one
 * thread, % of plain loads: 90 (quartiles 88-93) without, 93 (92-95) with; types of fewer bits do not gain. */
INLINE void touch_lines(const unsigned char *p)
{
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        (void)*(const volatile int32_t *)(p + 64 * u);
        (void)*(const volatile int32_t *)(p + 64 * u + 32);
    }
}

/* Adds a block's dot products, with scales d and mins m, to y. */
INLINE void add_block32(__m512i dot, __m512 d, __m512 m, const struct row_acts *x, size_t b, const struct packed32 f, __m512 *y)
{
    const __m512 s = _mm512_mul_ps(d, _mm512_set1_ps(x->d_quant[b]));
    *y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), s, *y);
    if (f.has_min)
        *y = _mm512_fmadd_ps(m, _mm512_set1_ps(x->xsum[b]), *y);
}

INLINE __m512i start32(const struct row_acts *x, size_t b, const struct packed32 f)
{
    return f.acts.bias ? _mm512_set1_epi32(x->start[b]) : _mm512_setzero_si512();
}

INLINE void block32(const unsigned char *scale, const unsigned char *values,
                    const struct row_acts *x, size_t b, int n_tok, const struct packed32 f,
                    __m512 *y)
{
    __m512i w[8];
    __m512 d, m = _mm512_setzero_ps();
    if (f.touched && n_tok == 1)
        touch_lines(values);
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++)
        f.units(values, u, &w[u], &w[u + 4]);
    f.scales(scale, &d, &m);
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++) {
        const int8_t *q = x[t].q + 32 * b;
        __m512i dot = start32(&x[t], b, f);
        if (f.high_first) {
            dot = _mm512_srai_epi32(dot_units(dot, w + 4, q + 16, 4), 4);
            if (f.once)
                dot = _mm512_add_epi32(dot, dot_units(_mm512_setzero_si512(), w, q, 4));
            else
                dot = dot_units(dot, w, q, 4);
        } else {
            dot = dot_units(dot, w, q, 8);
        }
        add_block32(dot, d, m, &x[t], b, f, &y[t]);
    }
}

/* Prefetches a later line where the one at p is loaded; the barrier keeps these apart. */
INLINE void prefetch_line(const unsigned char *p)
{
    PREFETCH_LINE_ONCE_NEAR(p);
    __asm__ volatile("" ::: "memory");
}

/*
 * The same for one token: each line is prefetched where another is loaded and used at once, in two dependency chains. More tokens are
 * slower this way: Zen 5, two threads, 5632 columns, 2, 4, 6 tokens, % of plain loads, and by block32: Q4_0 68, 64, 60 and 74, 71, 65;
 * Q5_0 70, 68, 59 and 71, 73, 69.
 */
INLINE void block32_once(const unsigned char *scale, const unsigned char *values, const struct row_acts *x, size_t b,
                         const struct packed32 f, __m512 *y)
{
    const int8_t *q = x->q + 32 * b;
    const __m512i start = start32(x, b, f);
    __m512i low = f.high_first ? _mm512_setzero_si512() : start, high = f.high_first ? start : _mm512_setzero_si512();
    __m512 d, m = _mm512_setzero_ps();
    f.scales(scale, &d, &m);
    if (f.fifth_bits)
        prefetch_line(values);
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++) {
        __m512i w, w4;
        prefetch_line(values + 64 * (f.fifth_bits + u));
        f.units(values, u, &w, &w4);
        low = _mm512_dpbusd_epi32(low, w, act4(q + 4 * u));
        high = _mm512_dpbusd_epi32(high, w4, act4(q + 16 + 4 * u));
    }
    add_block32(_mm512_add_epi32(low, f.high_first ? _mm512_srai_epi32(high, 4) : high), d, m, x, b, f, y);
}

/* n blocks at p, number b the first. */
INLINE void run32(const unsigned char *p, const struct row_acts *x, size_t b, unsigned n,
                  int n_tok, const struct packed32 f, struct row_sums *y)
{
    const unsigned block = f.block_bytes * PACK_ROWS, scale = f.scale_bytes * PACK_ROWS;
    const unsigned rest = block - scale;
    prefetch_acts(x, b, n, n_tok, f.ahead, f.acts);
#pragma GCC unroll 4
    for (unsigned i = 0; i < n; i++) {
        const unsigned char *scales = p + i * (f.apart ? block : scale), *values = p + (f.apart ? i * block + scale : n * scale + i * rest);
        __m512 *to = y->v[n_tok <= VNNI_FEW_TOK ? i % 2 : 0];
        if (f.once && n_tok == 1) {
            if (f.apart || i == 0)
                prefetch_line(scales);
            block32_once(scales, values, x, b + i, f, to);
        } else {
            prefetch_lines(p, f.ahead, i * block / 64, (i + 1) * block / 64);
            block32(scales, values, x, b + i, n_tok, f, to);
        }
    }
}

/*
 * Blocks a step of one token for CPU_SW_PREFETCH, whole runs. Zen 5, one thread, Q4_0, 5632 columns, % of plain loads, steps of 2 blocks
 * 65-78, 4 73, 8 73-85, 12 103, 14 110, 16 110-120, 18 102, 24 77, 32 77-80. doc/notes/kernels.md
 */
enum { STEP_BLOCKS = 16 };

typedef struct packed32 gemv_format;
INLINE void gemv_panel(const unsigned char *p, size_t cols, const struct row_acts *x, int n_tok, const gemv_format f, struct row_sums *y)
{
    const size_t n = cols / 32, run_bytes = (size_t)f.run * f.block_bytes * PACK_ROWS;
    size_t b = 0;
    if (f.once && n_tok == 1) {
        for (; b + STEP_BLOCKS <= n; b += STEP_BLOCKS) {
#pragma GCC unroll 8
            for (unsigned i = 0; i < STEP_BLOCKS; i += f.run, p += run_bytes)
                run32(p, x, b + i, f.run, n_tok, f, y);
        }
    }
    for (; b + f.run <= n; b += f.run, p += run_bytes)
        run32(p, x, b, f.run, n_tok, f, y);
    switch (n - b) {
    case 1:
        run32(p, x, b, 1, n_tok, f, y);
        break;
    case 2:
        run32(p, x, b, 2, n_tok, f, y);
        break;
    case 3:
        run32(p, x, b, 3, n_tok, f, y);
        break;
    default:
        break;
    }
}

#include "kernels/avx512vnni/packed_gemv_tokens.h" /* written in the names above */

#endif
