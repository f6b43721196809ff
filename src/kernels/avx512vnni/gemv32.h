/*
 * kernels/avx512vnni/gemv32.h: decode for formats with blocks of 32, straight from the
 * file's layout, two blocks a step. Static inline only; each format's .c instantiates it.
 *
 * The 16 lanes of a step are 8 for each block. What depends on activations alone is laid
 * out once a call in the order the lanes need (struct act64); it stays in L1 while rows
 * stream by. A row is read front to back, every line once: memory sees one sequential
 * stream a thread.
 */
#ifndef KERNELS_AVX512VNNI_GEMV32_H
#define KERNELS_AVX512VNNI_GEMV32_H

#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/vnni.h"

#include "kernels/simd/blocks.h" /* written in the names of the headers above */

struct act64 {
    int32_t start[16]; /* - bias . q of each lane */
    float d[16];       /* activation scale (times hi_scale) of each lane */
    float xsum[16];    /* d * sum of q, in one lane a block: for the mins */
};
_Static_assert(sizeof(struct act64) * GEMV_MAX_TOK <= 64 * SCRATCH_COL_BYTES, "scratch");

struct format32 {
    unsigned block_bytes;
    int8_t bias_lo, bias_hi; /* of elements 0-15 and 16-31, as bytes (128 is -128) */
    float hi_scale;          /* of elements 16-31, when their bytes are a multiple of the quant */
    bool has_min;            /* second half of the block is the min: value = d * q + m */
    bool e8m0;               /* the scale is the half of an exponent byte, not an f16 */
    /* Bytes of the block at p and, when both, of the next one; else zeros. */
    __m512i (*weights)(const unsigned char *p, bool both);
};

INLINE __m512 f16_pair(const unsigned char *p, size_t next, bool both)
{
    int16_t a, b;
    __builtin_memcpy(&a, p, sizeof a);
    __m256i h = _mm256_set1_epi16(a);
    if (both) {
        __builtin_memcpy(&b, p + next, sizeof b);
        h = _mm256_mask_set1_epi16(h, 0xff00, b);
    }
    return _mm512_cvtph_ps(h);
}

INLINE __m512 e8m0_pair(const unsigned char *p, size_t next, bool both)
{
    __m512i d = _mm512_set1_epi32(e8m0_half(p[0]));
    if (both)
        d = _mm512_mask_set1_epi32(d, 0xff00, e8m0_half(p[next]));
    return _mm512_castsi512_ps(d);
}

INLINE void gemv32_acts(struct act64 *dst, const struct acts *x, size_t t, const struct format32 f)
{
    const __m512i bias =
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set_m128i(_mm_set1_epi8(f.bias_hi), _mm_set1_epi8(f.bias_lo))),
                           _mm256_set_m128i(_mm_set1_epi8(f.bias_hi), _mm_set1_epi8(f.bias_lo)), 1);
    for (size_t c = 0; c < x->cols; c += 64, dst++) {
        size_t at = t * x->stride + c;
        __m512i q = _mm512_loadu_si512(x->q + at);
        __m512i dot = _mm512_dpbusd_epi32(_mm512_setzero_si512(), bias, q);
        _mm512_store_si512(dst->start, _mm512_sub_epi32(_mm512_setzero_si512(), dot));
        for (size_t b = 0; b < 2; b++) {
            float d = x->d[at / 32 + b];
            const int16_t *sum = x->sum + at / 16 + 2 * b;
            _mm_store_ps(dst->d + 8 * b, _mm_set1_ps(d));
            _mm_store_ps(dst->d + 8 * b + 4, _mm_set1_ps(d * f.hi_scale));
            _mm256_store_ps(dst->xsum + 8 * b, _mm256_zextps128_ps256(_mm_set_ss(d * (float)(sum[0] + sum[1]))));
        }
    }
}

/* One step: acc[t] += the dot products of one or two blocks. */
INLINE void gemv32_step(const unsigned char *p, const struct act64 *const *x, const int8_t *const *q, size_t i, int n_tok,
                        bool both, const struct format32 f, __m512 *acc)
{
    __m512i w = f.weights(p, both);
    __m512 d = f.e8m0 ? e8m0_pair(p, f.block_bytes, both) : f16_pair(p, f.block_bytes, both);
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        const struct act64 *a = x[t] + i;
        __m512i dot = _mm512_dpbusd_epi32(_mm512_load_si512(a->start), w, _mm512_loadu_si512(q[t] + 64 * i));
        __m512 s = _mm512_mul_ps(d, _mm512_load_ps(a->d));
        acc[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), s, acc[t]);
    }
    if (!f.has_min)
        return;
    __m512 m = f16_pair(p + 2, f.block_bytes, both);
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++)
        acc[t] = _mm512_fmadd_ps(m, _mm512_load_ps(x[t][i].xsum), acc[t]);
}

INLINE void gemv32_rows(const struct matmul_args *a, size_t row0, size_t row1, int n_tok, const struct format32 f)
{
    const size_t n = a->cols / 64, step = (size_t)2 * f.block_bytes;
    struct act64 *all = a->scratch;
    const size_t per_tok = (a->cols + 63) / 64;
    const struct act64 *x[GEMV_MAX_TOK];
    const int8_t *q[GEMV_MAX_TOK];
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        gemv32_acts(all + (size_t)t * per_tok, a->x, (size_t)t, f);
        x[t] = all + (size_t)t * per_tok;
        q[t] = a->x->q + (size_t)t * a->x->stride;
    }
    for (size_t r = row0; r < row1; r++) {
        const unsigned char *p = a->w + r * a->w_row_bytes;
        __m512 acc[2][GEMV_MAX_TOK];
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            acc[0][t] = acc[1][t] = _mm512_setzero_ps();
        size_t i = 0;
        for (; i + 2 <= n; i += 2, p += 2 * step) {
            /* every line, or nearly: a second one for the same line costs more than it
             * brings */
            PREFETCH_LINE(p);
            if (2 * step > 80)
                PREFETCH_LINE(p + step);
            gemv32_step(p, x, q, i, n_tok, true, f, acc[0]);
            gemv32_step(p + step, x, q, i + 1, n_tok, true, f, acc[1]);
        }
        for (; i < n; i++, p += step)
            gemv32_step(p, x, q, i, n_tok, true, f, acc[0]);
        if (a->cols % 64)
            gemv32_step(p, x, q, i, n_tok, false, f, acc[1]);
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            a->y[(size_t)t * a->y_stride + r] = _mm512_reduce_add_ps(_mm512_add_ps(acc[0][t], acc[1][t]));
    }
}

INLINE void gemv32(const struct matmul_args *a, size_t row0, size_t row1, const struct format32 f)
{
    GEMV_TOKENS(gemv32_rows, a, row0, row1, f);
}

#endif
