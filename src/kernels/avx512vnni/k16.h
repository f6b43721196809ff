/*
 * kernels/avx512vnni/k16.h: decode for blocks of 256 weights with a scale, and perhaps a
 * min, for each 16: Q2_K, Q3_K, Q6_K, and IQ4_XS, whose scales serve two groups each.
 * Static inline only.
 *
 * Unpacked in element order, each 128-bit lane of a vector is one group, so the sums of the
 * four vectors transpose into one vector of 16 groups: lane 4l + v is group 4v + l. Lane
 * order below is this one.
 */
#ifndef KERNELS_AVX512VNNI_K16_H
#define KERNELS_AVX512VNNI_K16_H

#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/vnni.h"

#include "kernels/simd/blocks.h" /* written in the names of the headers above */

/* What depends on activations alone, in lane order. */
struct act_k16 {
    int32_t start[16]; /* - bias * sum of q, of each group */
    float d[16];
    float xsum[16]; /* d * sum of q: for the mins */
};
_Static_assert(sizeof(struct act_k16) * GEMV_MAX_TOK <= 256 * SCRATCH_COL_BYTES, "scratch");

struct format16 {
    unsigned block_bytes;
    int bias;
    /* The block at p: bytes (quant + bias) in element order, scales in lane order. */
    void (*weights)(const unsigned char *p, __m512i w[4]);
    __m512 (*scales)(const unsigned char *p);
    __m512 (*mins)(const unsigned char *p); /* value = scale * quant - min; NULL: none */
};

/* 16 bytes from element to lane order. */
INLINE __m128i k16_lanes(__m128i bytes)
{
    return _mm_shuffle_epi8(bytes, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

/* 16 signed bytes times the half at d. */
INLINE __m512 k16_times(__m128i bytes, const unsigned char *d)
{
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)), _mm512_set1_ps(f16_at(d)));
}

/* 256 pairs of bits in 64 bytes; byte l of 32 holds elements l, l + 32, l + 64, l + 96. */
INLINE void k16_bit_pairs(const unsigned char *p, __m512i w[4])
{
    const __m512i three = _mm512_set1_epi8(3);
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        __m512i x = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)(p + 32 * h)));
        __m512i lo = _mm512_srlv_epi64(x, _mm512_set_epi64(2, 2, 2, 2, 0, 0, 0, 0));
        __m512i hi = _mm512_srlv_epi64(x, _mm512_set_epi64(6, 6, 6, 6, 4, 4, 4, 4));
        w[2 * h] = _mm512_and_si512(lo, three);
        w[2 * h + 1] = _mm512_and_si512(hi, three);
    }
}

INLINE void k16_acts(struct act_k16 *dst, const struct acts *x, size_t t, int bias)
{
    for (size_t c = 0; c < x->cols; c += 256, dst++)
        for (size_t g = 0; g < 16; g++) {
            size_t at = (t * x->stride + c) / 16 + g, lane = 4 * (g % 4) + g / 4;
            dst->start[lane] = -bias * x->sum[at];
            dst->d[lane] = x->d[at / 2];
            dst->xsum[lane] = x->d[at / 2] * (float)x->sum[at];
        }
}

INLINE void k16_step(const unsigned char *p, const struct act_k16 *const *x, const int8_t *const *q, size_t i, int n_tok,
                     const struct format16 f, __m512 *acc)
{
    __m512i w[4];
    for (unsigned b = 0; b < f.block_bytes; b += 64)
        PREFETCH_LINE(p + b);
    f.weights(p, w);
    __m512 sc = f.scales(p), m = f.mins ? f.mins(p) : _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        const struct act_k16 *a = x[t] + i;
        __m512i dot[4];
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            dot[v] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w[v], _mm512_loadu_si512(q[t] + 256 * i + 64 * (size_t)v));
        __m512i sum = lane_sums4(dot[0], dot[1], dot[2], dot[3]);
        if (f.bias)
            sum = _mm512_add_epi32(sum, _mm512_load_si512(a->start));
        __m512 s = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_load_ps(a->d));
        acc[t] = _mm512_fmadd_ps(s, sc, acc[t]);
        if (f.mins)
            acc[t] = _mm512_fnmadd_ps(m, _mm512_load_ps(a->xsum), acc[t]);
    }
}

INLINE void k16_rows(const struct matmul_args *a, size_t row0, size_t row1, int n_tok, const struct format16 f)
{
    const size_t n = a->cols / 256;
    struct act_k16 *all = a->scratch;
    const struct act_k16 *x[GEMV_MAX_TOK];
    const int8_t *q[GEMV_MAX_TOK];
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        k16_acts(all + (size_t)t * n, a->x, (size_t)t, f.bias);
        x[t] = all + (size_t)t * n;
        q[t] = a->x->q + (size_t)t * a->x->stride;
    }
    for (size_t r = row0; r < row1; r++) {
        const unsigned char *p = a->w + r * a->w_row_bytes;
        __m512 acc[GEMV_MAX_TOK];
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            acc[t] = _mm512_setzero_ps();
        for (size_t i = 0; i < n; i++, p += f.block_bytes)
            k16_step(p, x, q, i, n_tok, f, acc);
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            a->y[(size_t)t * a->y_stride + r] = _mm512_reduce_add_ps(acc[t]);
    }
}

INLINE void k16_gemv(const struct matmul_args *a, size_t row0, size_t row1, const struct format16 f)
{
    GEMV_TOKENS(k16_rows, a, row0, row1, f);
}

INLINE void k16_store(uint8_t *q, const __m512i w[4])
{
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
        _mm512_store_si512(q + 64 * v, w[v]);
}

#endif
