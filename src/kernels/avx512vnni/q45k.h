/*
 * kernels/avx512vnni/q45k.h: decode for Q4_K and Q5_K: 256 weights, 8 sub-blocks of 32 with
 * 6-bit scales and mins, value = d * sc * q - dmin * m. Static inline only.
 *
 * A 64-byte load of nibbles holds four sub-blocks: low nibbles 0 and 2, high nibbles 1 and
 * 3 (then 4 and 6, 5 and 7). Activations are copied in that order once a call. Sub-block
 * sums meet their scales after a 4x4 transpose, so the float work is one vector for 256
 * weights.
 */
#ifndef KERNELS_AVX512VNNI_Q45K_H
#define KERNELS_AVX512VNNI_Q45K_H

#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/vnni.h"

#include "kernels/simd/blocks.h" /* written in the names of the headers above */

struct act_q45k {
    int8_t q[4][64]; /* sub-blocks 0 2, 1 3, 4 6, 5 7 */
    float d[16];     /* of sub-blocks 0 1 4 5, 0 1 4 5, 2 3 6 7, 2 3 6 7 */
    float xsum[8];   /* d * sum of q */
    float pad[8];
};
_Static_assert(sizeof(struct act_q45k) * GEMV_MAX_TOK <= 256 * SCRATCH_COL_BYTES, "scratch");

struct format45k {
    unsigned block_bytes;
    float hi_scale; /* of odd sub-blocks */
    /* Bytes of the four vectors of act_q45k's order from the block at p. */
    void (*weights)(const unsigned char *p, __m512i w[4]);
};

INLINE void q45k_acts(struct act_q45k *dst, const struct acts *x, size_t t, float hi_scale)
{
    static const unsigned char sub[4][2] = {
        {0,  2},
        { 1, 3},
        { 4, 6},
        { 5, 7}
    };
    for (size_t c = 0; c < x->cols; c += 256, dst++) {
        size_t at = t * x->stride + c;
        for (size_t v = 0; v < 4; v++)
            for (size_t h = 0; h < 2; h++) {
                size_t s = sub[v][h], lane = 8 * h + v;
                __builtin_memcpy(dst->q[v] + 32 * h, x->q + at + 32 * s, 32);
                dst->d[lane] = dst->d[lane + 4] = x->d[at / 32 + s] * (v & 1 ? hi_scale : 1);
                const int16_t *sum = x->sum + at / 16 + 2 * s;
                dst->xsum[s] = x->d[at / 32 + s] * (float)(sum[0] + sum[1]);
            }
    }
}

INLINE void q45k_step(const unsigned char *p, const struct act_q45k *const *x, size_t i, int n_tok, const struct format45k f,
                      __m512 *acc, __m256 *mins)
{
    __m512i w[4];
    int32_t halves;
    for (unsigned b = 0; b < f.block_bytes; b += 64)
        PREFETCH_LINE(p + b);
    f.weights(p, w);
    __builtin_memcpy(&halves, p, sizeof halves);
    __m128 dd = _mm_cvtph_ps(_mm_cvtsi32_si128(halves));
    __m512 d = _mm512_broadcastss_ps(dd);
    __m256 dmin = _mm256_broadcastss_ps(_mm_movehdup_ps(dd));
    __m128i sm = k_scales(p + 4);
    __m128i order = _mm_setr_epi8(0, 1, 4, 5, 0, 1, 4, 5, 2, 3, 6, 7, 2, 3, 6, 7);
    __m512 sc = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_shuffle_epi8(sm, order)));
    __m256 m = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(sm, sm)));
    sc = _mm512_mul_ps(sc, d);
    m = _mm256_mul_ps(m, dmin);
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        const struct act_q45k *a = x[t] + i;
        __m512i dot[4];
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            dot[v] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w[v], _mm512_load_si512(a->q[v]));
        __m512 s = _mm512_cvtepi32_ps(lane_sums4(dot[0], dot[1], dot[2], dot[3]));
        acc[t] = _mm512_fmadd_ps(_mm512_mul_ps(s, _mm512_load_ps(a->d)), sc, acc[t]);
        mins[t] = _mm256_fmadd_ps(m, _mm256_load_ps(a->xsum), mins[t]);
    }
}

INLINE void q45k_rows(const struct matmul_args *a, size_t row0, size_t row1, int n_tok, const struct format45k f)
{
    const size_t n = a->cols / 256;
    struct act_q45k *all = a->scratch;
    const struct act_q45k *x[GEMV_MAX_TOK];
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        q45k_acts(all + (size_t)t * n, a->x, (size_t)t, f.hi_scale);
        x[t] = all + (size_t)t * n;
    }
    for (size_t r = row0; r < row1; r++) {
        const unsigned char *p = a->w + r * a->w_row_bytes;
        __m512 acc[GEMV_MAX_TOK];
        __m256 mins[GEMV_MAX_TOK];
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++) {
            acc[t] = _mm512_setzero_ps();
            mins[t] = _mm256_setzero_ps();
        }
        for (size_t i = 0; i < n; i++, p += f.block_bytes)
            q45k_step(p, x, i, n_tok, f, acc, mins);
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            a->y[(size_t)t * a->y_stride + r] = _mm512_reduce_add_ps(_mm512_sub_ps(acc[t], _mm512_zextps256_ps512(mins[t])));
    }
}

INLINE void q45k_gemv(const struct matmul_args *a, size_t row0, size_t row1, const struct format45k f)
{
    GEMV_TOKENS(q45k_rows, a, row0, row1, f);
}

/* Scales d * sc and mins dmin * m of a block, in gemm's order. */
INLINE void k_meta(const unsigned char *p, float *meta)
{
    __m512 sm = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(k_scales(p + 4)));
    __m512 d = _mm512_set1_ps(f16_at(p)), dmin = _mm512_set1_ps(f16_at(p + 2));
    _mm512_store_ps(meta, _mm512_mul_ps(sm, _mm512_mask_blend_ps(0xff00, d, dmin)));
}

#endif
