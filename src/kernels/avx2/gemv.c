/*
 * avx2/gemv.c: decode of quantized weights. 256 columns of a row are unpacked to bytes in
 * L1, then multiplied by the tokens; the row is read front to back, one sequential stream a
 * thread.
 */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"
#include <string.h>

/* bias . q of each lane of 4, once a call: [token][cols / 4] */
static void lane_sums(int32_t *dst, const int8_t *q, size_t cols, int bias)
{
    const __m256i b = _mm256_set1_epi8((char)bias);
    for (size_t c = 0; c < cols; c += 32)
        vi_store(dst + c / 4,
                 dot4(vi_set1(0), b, _mm256_loadu_si256((const __m256i *)(q + c)), false));
}

/* Scale of each lane of block b. */
INLINE vf lane_scales(const float *meta, size_t b, unsigned group)
{
    if (group == 32)
        return vf_set1(meta[b]);
    return _mm256_set_m128(_mm_set1_ps(meta[2 * b + 1]), _mm_set1_ps(meta[2 * b]));
}

struct row_acts {
    const int8_t *q;
    const float *d;
    const int16_t *sum;
    const int32_t *lanes;
};

/* One block of 32 columns. */
INLINE void block(const struct row_acts *x, const uint8_t *q, const float *meta, size_t b,
                  size_t at, const int n_tok, const struct q8_format f, vf *acc,
                  float *mins)
{
    vi w = vi_load(q + 32 * b);
    vf s = lane_scales(meta, b, f.group);
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        const struct row_acts *a = &x[t];
        vi dot = dot4(vi_set1(0), w, _mm256_loadu_si256((const __m256i *)(a->q + at)),
                      f.w_signed);
        if (!f.w_signed)
            dot = _mm256_sub_epi32(dot, vi_load(a->lanes + at / 4));
        float d = a->d[at / 32];
        acc[t] = vf_fma(vi_to_vf(dot), vf_mul(s, vf_set1(d)), acc[t]);
        if (f.has_min)
            mins[t] += meta[8 + b] * (d * (float)(a->sum[at / 16] + a->sum[at / 16 + 1]));
    }
}

INLINE void rows(const struct matmul_args *a, size_t row0, size_t row1, const int n_tok,
                 const struct q8_format *table, const struct q8_format f)
{
    _Alignas(64) uint8_t q[CHUNK_K];
    _Alignas(64) float meta[CHUNK_META];
    int32_t *lanes = a->scratch;
    struct row_acts x[GEMV_MAX_TOK];
    for (int t = 0; t < n_tok; t++) {
        size_t at = (size_t)t * a->x->stride;
        x[t] = (struct row_acts){ a->x->q + at, a->x->d + at / 32, a->x->sum + at / 16,
                                  lanes + at / 4 };
        lane_sums(lanes + at / 4, a->x->q + at, a->cols, f.bias);
    }
    for (size_t r = row0; r < row1; r++) {
        const unsigned char *p = a->w + r * a->w_row_bytes;
        vf acc[GEMV_MAX_TOK];
        float mins[GEMV_MAX_TOK] = { 0 };
        for (int t = 0; t < n_tok; t++)
            acc[t] = vf_set1(0);
        for (size_t k = 0; k < a->cols; k += CHUNK_K) {
            size_t n_k = a->cols - k < CHUNK_K ? a->cols - k : CHUNK_K;
            size_t bytes = n_k / f.block_elems * f.block_bytes;
            for (size_t i = 0; i < bytes; i += 64)
                PREFETCH_LINE(p + i);
            table->unpack(p, n_k, q, meta);
            for (size_t b = 0; b < n_k / 32; b++)
                block(x, q, meta, b, k + 32 * b, n_tok, f, acc, mins);
            p += bytes;
        }
        for (int t = 0; t < n_tok; t++)
            a->y[(size_t)t * a->y_stride + r] = vf_sum(acc[t]) - mins[t];
    }
}

INLINE void gemv(const struct matmul_args *a, size_t row0, size_t row1,
                 const struct q8_format *table, const struct q8_format f)
{
    switch (a->x->n_tok) {
    case 1:
        rows(a, row0, row1, 1, table, f);
        break;
    case 2:
        rows(a, row0, row1, 2, table, f);
        break;
    case 3:
        rows(a, row0, row1, 3, table, f);
        break;
    default:
        rows(a, row0, row1, GEMV_MAX_TOK, table, f);
        break;
    }
}
_Static_assert(GEMV_MAX_TOK <= SCRATCH_COL_BYTES, "lanes: one byte a column and token");

/* The constants a second time, where the compiler can see them. */
void avx2_gemv_q8_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv(a, row0, row1, &avx2_q8_0, (struct q8_format){ 32, 34, 32, 0, false, true, NULL });
}
void avx2_gemv_q4_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv(a, row0, row1, &avx2_q4_0,
         (struct q8_format){ 32, 18, 32, 8, false, false, NULL });
}
void avx2_gemv_q5_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv(a, row0, row1, &avx2_q5_0,
         (struct q8_format){ 32, 22, 32, 16, false, false, NULL });
}
void avx2_gemv_q5_1(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv(a, row0, row1, &avx2_q5_1, (struct q8_format){ 32, 24, 32, 0, true, false, NULL });
}
void avx2_gemv_q4_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv(a, row0, row1, &avx2_q4_k,
         (struct q8_format){ 256, 144, 32, 0, true, false, NULL });
}
void avx2_gemv_q5_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv(a, row0, row1, &avx2_q5_k,
         (struct q8_format){ 256, 176, 32, 0, true, false, NULL });
}
void avx2_gemv_q6_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv(a, row0, row1, &avx2_q6_k,
         (struct q8_format){ 256, 210, 16, 32, false, false, NULL });
}
