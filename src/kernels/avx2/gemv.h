/*
 * avx2/gemv.h: decode of quantized weights as they are in the file. 256 columns of a row are unpacked to bytes in L1, then
 * multiplied by the tokens; the row is read front to back, one sequential stream a thread. formats.c instantiates it. Static
 * inline only.
 */
#ifndef KERNELS_AVX2_GEMV_H
#define KERNELS_AVX2_GEMV_H

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"
#include <string.h>

/* bias . q of each lane of 4, once a call: [token][cols / 4] */
static void lane_sums(int32_t *dst, const int8_t *q, size_t cols, int bias)
{
    const __m256i b = _mm256_set1_epi8((char)bias);
    for (size_t c = 0; c < cols; c += 32)
        vi_store(dst + c / 4, dot4(vi_set1(0), b, _mm256_loadu_si256((const __m256i *)(q + c)), false));
}

/* Scale of each lane of block b. */
INLINE vf lane_scales(const float *meta, size_t b, unsigned group)
{
    if (group == 32)
        return vf_set1(meta[b]);
    return _mm256_set_m128(_mm_set1_ps(meta[2 * b + 1]), _mm_set1_ps(meta[2 * b]));
}

/* lanes and xsum are one array in scratch: no format has a bias and mins. */
struct row_acts {
    const int8_t *q;
    const float *d;
    int32_t *lanes; /* of lane_sums, for a bias */
    float *xsum;    /* d * sum of q of each group, for mins */
};
_Static_assert(GEMV_MAX_TOK <= SCRATCH_COL_BYTES, "one byte a column and token");

/* What of token t depends on activations alone. */
INLINE struct row_acts prepare(const struct acts *x, size_t t, void *scratch, const struct q8_format f)
{
    const size_t at = t * x->stride;
    struct row_acts a = { x->q + at, x->d + at / 32, (int32_t *)scratch + at / 4, (float *)scratch + at / 4 };
    if (f.bias)
        lane_sums(a.lanes, a.q, x->cols, f.bias);
    for (size_t g = 0; f.has_min && g < x->cols / f.group; g++) {
        const int16_t *sum = x->sum + at / 16 + g * (f.group / 16);
        a.xsum[g] = a.d[g * f.group / 32] * (float)(f.group == 32 ? sum[0] + sum[1] : sum[0]);
    }
    return a;
}

/* One block of 32 columns. */
INLINE void block(const struct row_acts *x, const uint8_t *q, const float *meta, size_t b, size_t at, const int n_tok,
                  const struct q8_format f, vf *acc)
{
    vi w = vi_load(q + 32 * b);
    vf s = lane_scales(meta, b, f.group);
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        const struct row_acts *a = &x[t];
        vi dot = dot4(vi_set1(0), w, _mm256_loadu_si256((const __m256i *)(a->q + at)), f.w_signed);
        if (f.bias)
            dot = _mm256_sub_epi32(dot, vi_load(a->lanes + at / 4));
        vf d = vf_set1(a->d[at / 32]);
        acc[t] = vf_fma(vi_to_vf(dot), vf_mul(s, d), acc[t]);
    }
}

/* Minus the mins of a chunk's n groups, the first of which is group g of the row. */
INLINE void chunk_mins(const struct row_acts *x, const float *m, size_t g, size_t n, const int n_tok, vf *acc)
{
    for (size_t i = 0; i < n; i += VL) {
        vm lanes = vm_first(n - i);
        vf v = vf_load_m(lanes, m + i);
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            acc[t] = vf_fnma(v, vf_load_m(lanes, x[t].xsum + g + i), acc[t]);
    }
}

INLINE void rows(const struct matmul_args *a, size_t row0, size_t row1, const int n_tok, q8_unpack_fn *unpack,
                 const struct q8_format f)
{
    _Alignas(64) uint8_t q[CHUNK_K];
    _Alignas(64) float meta[CHUNK_META];
    struct row_acts x[GEMV_MAX_TOK];
    for (int t = 0; t < n_tok; t++)
        x[t] = prepare(a->x, (size_t)t, a->scratch, f);
    for (size_t r = row0; r < row1; r++) {
        const unsigned char *p = a->w + r * a->w_row_bytes;
        vf acc[GEMV_MAX_TOK];
        for (int t = 0; t < n_tok; t++)
            acc[t] = vf_set1(0);
        for (size_t k = 0; k < a->cols; k += CHUNK_K) {
            size_t n_k = a->cols - k < CHUNK_K ? a->cols - k : CHUNK_K;
            size_t bytes = n_k / f.block_elems * f.block_bytes;
            for (size_t i = 0; i < bytes; i += 64)
                PREFETCH_LINE(p + i);
            unpack(p, n_k, q, meta);
            for (size_t b = 0; b < n_k / 32; b++)
                block(x, q, meta, b, k + 32 * b, n_tok, f, acc);
            if (f.has_min)
                chunk_mins(x, meta + CHUNK_K / f.group, k / f.group, n_k / f.group, n_tok, acc);
            p += bytes;
        }
        for (int t = 0; t < n_tok; t++)
            a->y[(size_t)t * a->y_stride + r] = vf_sum(acc[t]);
    }
}

/* f: constants, where the compiler can see them. */
INLINE void gemv(const struct matmul_args *a, size_t row0, size_t row1, q8_unpack_fn *unpack, const struct q8_format f)
{
    GEMV_TOKENS(rows, a, row0, row1, unpack, f);
}

#endif
