/*
 * kernels/avx512vnni/packed_gemv_rows.h: activations and prefetch of decode from packed weights. Static inline only.
 *
 * Lanes are rows: a vector of weights is four consecutive elements of each of 16 rows, and is multiplied by a broadcast of the four bytes of
 * activations they share. No sum crosses lanes, and a thread reads one sequential stream.
 */
#ifndef KERNELS_AVX512VNNI_PACKED_GEMV_ROWS_H
#define KERNELS_AVX512VNNI_PACKED_GEMV_ROWS_H

#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/packed.h"
#include "kernels/pack.h"

#include "kernels/simd/blocks.h" /* written in the names of the headers above */

/* Activations of one token; sub-blocks are 32 columns. */
struct row_acts {
    const int8_t *q;
    const int16_t *sum;   /* of q, two a sub-block */
    const float *d;       /* scale of each sub-block */
    const float *d_quant; /* the same, divided by what quants are multiplied by */
    const float *xsum;    /* d * sum of q, of each sub-block: for the mins */
    const int32_t *start; /* of dot products: - bias * sum of q, one or two a sub-block */
    bool leave;           /* evicted from L1 between two panels: prefetched */
};

/* Where stored bytes are (quant + bias) * shift, shift depends on the sub-block, s % 8. */
struct act_format {
    int bias;         /* 0: start is not needed */
    bool halves;      /* a start for each half of a sub-block */
    bool mins;        /* xsum is needed */
    uint8_t shift[8]; /* powers of two; all 0: one, d_quant is d */
};

/* Sub-blocks a step of row_acts_init. */
enum { ACT_STEP = 16 };

/* Bytes of row_acts' own arrays for a token. */
INLINE size_t row_acts_bytes(size_t cols)
{
    return (cols / 32 + ACT_STEP) / ACT_STEP * ACT_STEP * (2 * sizeof(float) + 2 * sizeof(int32_t));
}
_Static_assert(VNNI_BATCH_MOST * 16 <= 32 * SCRATCH_COL_BYTES, "scratch");
_Static_assert(VNNI_BATCH_MOST * 16 * ACT_STEP <= SCRATCH_PANEL_BYTES, "scratch");

INLINE void row_acts_init(struct row_acts *r, void *mem, const struct acts *x, size_t t,
                          const struct act_format f)
{
    const size_t n = x->cols / 32, padded = (n + ACT_STEP) / ACT_STEP * ACT_STEP;
    float *d_quant = mem, *xsum = d_quant + padded;
    int32_t *start = (int32_t *)(xsum + padded);
    __m128i shift = _mm_loadl_epi64((const __m128i *)f.shift);
    const __m128i pairs = _mm_unpacklo_epi8(shift, shift);
    const __m512i mul = _mm512_cvtepu8_epi32(_mm_unpacklo_epi64(shift, shift));
    const __m512 factor = _mm512_div_ps(_mm512_set1_ps(1), _mm512_cvtepi32_ps(mul));
    const __m512i bias = _mm512_set1_epi32(-f.bias);
    const bool shifted = f.shift[0] != 0;

    *r = (struct row_acts){ .q = x->q + t * x->stride,
                            .sum = x->sum + t * x->stride / 16,
                            .d = x->d + t * x->stride / 32,
                            .xsum = xsum,
                            .start = start };
    r->d_quant = shifted ? d_quant : r->d;
    for (size_t s = 0; s < n; s += ACT_STEP) {
        const __mmask16 m = vm_first(n - s);
        const __m512i sums = _mm512_maskz_loadu_epi32(m, r->sum + 2 * s);
        const __m512i sum = _mm512_madd_epi16(sums, _mm512_set1_epi16(1));
        const __m512 d = _mm512_maskz_loadu_ps(m, r->d + s);
        if (shifted)
            _mm512_store_ps(d_quant + s, _mm512_mul_ps(d, factor));
        if (f.mins)
            _mm512_store_ps(xsum + s, _mm512_mul_ps(d, _mm512_cvtepi32_ps(sum)));
        if (f.bias && f.halves) {
            const __m512i by = _mm512_mullo_epi32(bias, shifted ? _mm512_cvtepu8_epi32(pairs)
                                                                : _mm512_set1_epi32(1));
            __m512i lo = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(sums));
            __m512i hi = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(sums, 1));
            _mm512_store_si512(start + 2 * s, _mm512_mullo_epi32(lo, by));
            _mm512_store_si512(start + 2 * s + 16, _mm512_mullo_epi32(hi, by));
        } else if (f.bias) {
            __m512i by = shifted ? _mm512_mullo_epi32(bias, mul) : bias;
            _mm512_store_si512(start + s, _mm512_mullo_epi32(sum, by));
        }
    }
}

/* Four activations for every row. */
INLINE __m512i act4(const int8_t *q)
{
    int32_t x;
    memcpy(&x, q, sizeof x);
    return _mm512_set1_epi32(x);
}

/* dot + the products of n units of weights. */
INLINE __m512i dot_units(__m512i dot, const __m512i *w, const int8_t *q, int n)
{
#pragma GCC unroll 8
    for (int u = 0; u < n; u++)
        dot = _mm512_dpbusd_epi32(dot, w[u], act4(q + 4 * u));
    return dot;
}

INLINE __m512i load_unit(const unsigned char *p, int u)
{
    return _mm512_loadu_si512(p + 64 * u);
}

/* 16 pairs of halves: the first of each, and the second. */
INLINE void f16_pairs(const unsigned char *p, __m512 *first, __m512 *second)
{
    const __m512i apart = _mm512_set_epi16(
        31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30, 28, 26, 24, 22, 20, 18,
        16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i h = _mm512_permutexvar_epi16(apart, _mm512_loadu_si512(p));
    *first = _mm512_cvtph_ps(_mm512_castsi512_si256(h));
    *second = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(h, 1));
}

INLINE __m512 f16_rows(const unsigned char *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

/*
 * Prefetch policy of decode, per microarchitecture, with its rates in % of plain loads unless GB/s are given.
 *
 * Intel server cores: every line twice, into L1 and, at most half a page further, into L2; the hardware prefetcher follows one stream a
 * page. Granite Rapids, large pages, one thread, GB/s: none 15.8; L1 at 1, 2, 4 KiB 19, 18, 16.4; both at 1 and 4, 2 and 4, 4 and 6 KiB
 * 19.3, 19.5, 19.6; at 1 and 6, 4 and 8, 4 and 16 KiB 15.9, 16.0, 15.0; two threads the same order. Decode, two threads, tokens/s, at
 * 4 and 6, 2 and 4, 1 and 3 KiB: Q8_0 28.6, 29.2, 28.3, Q4_0 49.7, 47.2, 49.4, Q4_K 45.1, 46.0, 46.6, Q6_K 34.3, 34.0, 34.8.
 *
 * Zen 4 (CPU_HW_PREFETCH): 4 and 16 KiB (AHEAD_FAR), and none for one and two tokens, where hardware prefetch is faster; except Q5_K, whose
 * blocks are two streams: one and two threads, none 36-53, 54-73, these 67-79, 80-84, 1.5 instead of 4 KiB 85-90, 84-89.
 *
 * Zen 5 (CPU_SW_PREFETCH): once, into L1 alone (prefetchnta), and no prefetch of activations (1 to 3 points). One thread, 2048 and 5632
 * columns; both, L1, once: Q4_0 82, 90, 92 and 79, 77, 79; Q4_K 88, 91, 92 and 82, 86, 92; Q5_K 90, 90, 92 and 92, 92, 93; Q6_K 91, 96,
 * 101 and 92, 108, 101; none: Q8_0 98 and 95, else 51-91. 4 and 6 tokens, both and once: Q8_0 76, 79 and 77, 79; Q4_0 71, 69 and 54,
 * 56; Q4_K 61, 64 and 48, 51; Q6_K 73, 71 and 56, 58. One token of blocks of 32: STEP_BLOCKS (packed_gemv32.h).
 */
enum ahead {
    AHEAD_NONE,
    AHEAD_ALONE,      /* none, and none of activations */
    AHEAD_ONCE,       /* prefetchnta */
    AHEAD_ONCE_FAR,   /* the same at a longer distance */
    AHEAD_L2,         /* L2 alone, 8 KiB */
    AHEAD_PAIR,       /* 4 and 6 KiB */
    AHEAD_PAIR_CLOSE, /* 1 and 3 KiB */
    AHEAD_FAR,        /* 4 and 16 KiB */
    AHEAD_FAR_CLOSE,  /* 1.5 and 16 KiB */
};
/* Prefetch distances, for L1 and for L2; 0: none. */
INLINE size_t near_bytes(const enum ahead ahead)
{
    return ahead == AHEAD_L2 ? 0 : ahead == AHEAD_PAIR_CLOSE ? 1024 : ahead == AHEAD_FAR_CLOSE ? 1536 : 4096;
}
INLINE size_t far_bytes(const enum ahead ahead)
{
    return ahead == AHEAD_L2 ? 8192 : ahead == AHEAD_PAIR ? 6144 : ahead == AHEAD_PAIR_CLOSE ? 3072 : 16384;
}
enum { PACKED_ONCE_FAR = 8192 };

/* Prefetches lines [from, to) of the block at p. The barrier keeps the compiler from gathering those of a whole block: such a burst costs
 * a third of the rate from L2. */
INLINE void prefetch_lines(const unsigned char *p, const enum ahead ahead, unsigned from, unsigned to)
{
    if (ahead == AHEAD_NONE || ahead == AHEAD_ALONE)
        return;
#pragma GCC unroll 64
    for (unsigned i = from; i < to; i++) {
        if (ahead == AHEAD_ONCE)
            PREFETCH_LINE_ONCE(p + 64 * (size_t)i);
        else if (ahead == AHEAD_ONCE_FAR)
            __builtin_prefetch(p + PACKED_ONCE_FAR + 64 * (size_t)i, 0, 0);
        else if (near_bytes(ahead) > 0)
            __builtin_prefetch(p + near_bytes(ahead) + 64 * (size_t)i, 0, 3);
        if (ahead >= AHEAD_L2)
            __builtin_prefetch(p + far_bytes(ahead) + 64 * (size_t)i, 0, 2);
    }
    __asm__ volatile("" ::: "memory");
}

/*
 * Prefetches the activations of sub-blocks [b + ACTS_AHEAD, ...) from L2: between two panels of long rows the weights evict them from L1.
 * Zen 4, one thread, 5632 columns, % of the rate with 2048, without and with: Q4_K 81, 97, Q4_0 93, 97. Not with more than VNNI_FEW_TOK
 * tokens, which hide the latency, nor for CPU_SW_PREFETCH. Panels of at most ACTS_STAY bytes do not evict them (Q4_K_M, 2048 columns: 10 %
 * slower with prefetch); blocks of 32 lose 2 % by the test (Q4_0).
 */
enum { ACTS_AHEAD = 8, ACTS_STAY = 24 << 10 };
INLINE void prefetch_acts(const struct row_acts *x, size_t b, unsigned n, int n_tok, const enum ahead ahead,
                          const struct act_format f)
{
    if (n_tok > VNNI_FEW_TOK || ahead == AHEAD_ALONE || ahead == AHEAD_ONCE || ahead == AHEAD_ONCE_FAR)
        return;
    b += ACTS_AHEAD;
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < n; i += 2)
            __builtin_prefetch(x[t].q + 32 * (b + i), 0, 3);
        __builtin_prefetch(x[t].d_quant + b, 0, 3);
        if (f.mins)
            __builtin_prefetch(x[t].xsum + b, 0, 3);
        if (f.bias)
            __builtin_prefetch(x[t].start + (f.halves ? 2 * b : b), 0, 3);
    }
}

/* y of 16 rows: two accumulators each for few tokens, so that the sums of consecutive blocks overlap. */
struct row_sums {
    __m512 v[2][VNNI_BATCH_MOST];
};

#endif
