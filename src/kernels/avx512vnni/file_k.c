/*
 * avx512vnni/file_k.c: products of weights as they are in the file, of types with blocks of 256. Values: methods.md (1).
 * gemv reads a block a step (q45k.h, k16.h), gemm chunks of a row (simd/gemm_q8.h).
 */
#include "kernels/avx512vnni/k16.h"
#include "kernels/avx512vnni/q45k.h"

/* ---- Q4_K: low nibbles of 32 bytes are a sub-block, high ones the next ----------------------- */

/* Odd sub-blocks stay in the high nibbles, as 16 times the quant: hi_scale undoes it. */
INLINE void weights_q4_k(const unsigned char *p, __m512i w[4])
{
    const __m512i low = _mm512_set1_epi8(15);
    __m512i a = _mm512_loadu_si512(p + Q4_K_Q), b = _mm512_loadu_si512(p + Q4_K_Q + 64);
    w[0] = _mm512_and_si512(a, low);
    w[1] = _mm512_andnot_si512(low, a);
    w[2] = _mm512_and_si512(b, low);
    w[3] = _mm512_andnot_si512(low, b);
}

static void unpack_q4_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    const __m256i low = _mm256_set1_epi8(15);
    for (size_t k = 0; k < n_k; k += 64) {
        __m256i w = _mm256_loadu_si256((const __m256i *)(p + Q4_K_Q + k / 2));
        _mm256_store_si256((__m256i *)(q + k), _mm256_and_si256(w, low));
        _mm256_store_si256((__m256i *)(q + k + 32), _mm256_and_si256(_mm256_srli_epi16(w, 4), low));
    }
    k_meta(p, meta);
}

/* ---- Q5_K: Q4_K with a fifth bit: bit s of byte l for element l of sub-block s --------------- */

/* The fifth bits of sub-block s in the lower half and of s + 2 in the upper, added to
 * nibbles. */
INLINE __m512i with_fifth(__m512i nibbles, __m512i qh, int s)
{
    __m512i bit = _mm512_inserti64x4(_mm512_set1_epi8((char)(1 << s)), _mm256_set1_epi8((char)(1 << (s + 2))), 1);
    return _mm512_mask_add_epi8(nibbles, _mm512_test_epi8_mask(qh, bit), nibbles, _mm512_set1_epi8(16));
}

INLINE void weights_q5_k(const unsigned char *p, __m512i w[4])
{
    const __m512i low = _mm512_set1_epi8(15);
    __m512i qh = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)(p + Q5_K_HIGH)));
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
        __m512i a = _mm512_loadu_si512(p + Q5_K_Q + 64 * v);
        w[2 * v] = with_fifth(_mm512_and_si512(a, low), qh, 4 * v);
        w[2 * v + 1] = with_fifth(_mm512_and_si512(_mm512_srli_epi16(a, 4), low), qh, 4 * v + 1);
    }
}

static void unpack_q5_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights_q5_k(p, w);
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) { /* back from sub-blocks 0 2, 1 3 to 0 1, 2 3 */
        _mm512_store_si512(q + 128 * v, _mm512_shuffle_i64x2(w[2 * v], w[2 * v + 1], 0x44));
        _mm512_store_si512(q + 128 * v + 64, _mm512_shuffle_i64x2(w[2 * v], w[2 * v + 1], 0xee));
    }
    k_meta(p, meta);
}

/* ---- Q6_K: 16 groups of 16 with signed 8-bit scales ------------------------------------------ */

/* 128 weights from 64 bytes of low nibbles and 32 of high bit pairs: elements 0-63 and
 * 64-127. */
INLINE void weights_128_q6_k(const unsigned char *ql, const unsigned char *qh, __m512i *w)
{
    const __m512i low = _mm512_set1_epi8(15), six = _mm512_set1_epi8(63);
    __m512i l = _mm512_loadu_si512(ql);
    __m512i h = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)qh));
    /* pairs 0 1 of the byte serve elements 0-31 and 32-63, pairs 2 3 the others; to bits
     * 4-5 */
    __m512i h0 = _mm512_sllv_epi64(h, _mm512_set_epi64(2, 2, 2, 2, 4, 4, 4, 4));
    __m512i h1 = _mm512_srlv_epi64(h, _mm512_set_epi64(2, 2, 2, 2, 0, 0, 0, 0));
    /* bits of the nibble where low is set, else of the pair: a select is truth table 0xca
     */
    w[0] = _mm512_and_si512(six, _mm512_ternarylogic_epi64(low, l, h0, 0xca));
    w[1] = _mm512_and_si512(six, _mm512_ternarylogic_epi64(low, _mm512_srli_epi16(l, 4), h1, 0xca));
}

INLINE void weights_q6_k(const unsigned char *p, __m512i w[4])
{
    weights_128_q6_k(p, p + Q6_K_HIGH, w);
    weights_128_q6_k(p + 64, p + Q6_K_HIGH + 32, w + 2);
}

INLINE __m512 scales_q6_k(const unsigned char *p)
{
    return k16_times(k16_lanes(_mm_loadu_si128((const __m128i *)(p + Q6_K_SCALES))), p + Q6_K_D);
}

static void unpack_q6_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights_q6_k(p, w);
    k16_store(q, w);
    _mm512_store_ps(meta, k16_times(_mm_loadu_si128((const __m128i *)(p + Q6_K_SCALES)), p + Q6_K_D));
}

/* ---- Q3_K: 16 groups of 16 with signed 6-bit scales ------------------------------------------ */

/* Third bits: bit g of byte l of 32 is that of element 32g + l. */
INLINE void weights_q3_k(const unsigned char *p, __m512i w[4])
{
    const __m512i four = _mm512_set1_epi8(4);
    const __m512i h = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)p));
    k16_bit_pairs(p + Q3_K_Q, w);
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) { /* bits 2v and 2v + 1 to bit 2 */
        const long long r0 = (2 * v - 2) & 63, r1 = (2 * v - 1) & 63;
        __m512i bit = _mm512_rorv_epi64(h, _mm512_set_epi64(r1, r1, r1, r1, r0, r0, r0, r0));
        /* w | (bit & four) is truth table 0xf8 */
        w[v] = _mm512_ternarylogic_epi64(w[v], bit, four, 0xf8);
    }
}

INLINE __m512 scales_q3_k(const unsigned char *p)
{
    return k16_times(k16_lanes(q3_k_scales(p + Q3_K_SCALES)), p + Q3_K_D);
}

static void unpack_q3_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights_q3_k(p, w);
    k16_store(q, w);
    _mm512_store_ps(meta, k16_times(q3_k_scales(p + Q3_K_SCALES), p + Q3_K_D));
}

/* ---- Q2_K: 16 groups of 16, each with a byte of two 4-bit numbers, scale and min ------------- */

INLINE void weights_q2_k(const unsigned char *p, __m512i w[4])
{
    k16_bit_pairs(p + Q2_K_Q, w);
}

/* The scales, or the mins when shift is 4, in element order. */
INLINE __m128i nibbles_q2_k(const unsigned char *p, int shift)
{
    __m128i b = _mm_loadu_si128((const __m128i *)p);
    return _mm_and_si128(_mm_srli_epi16(b, shift), _mm_set1_epi8(15));
}

INLINE __m512 scales_q2_k(const unsigned char *p)
{
    return k16_times(k16_lanes(nibbles_q2_k(p, 0)), p + Q2_K_D);
}

INLINE __m512 mins_q2_k(const unsigned char *p)
{
    return k16_times(k16_lanes(nibbles_q2_k(p, 4)), p + Q2_K_DMIN);
}

static void unpack_q2_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights_q2_k(p, w);
    k16_store(q, w);
    _mm512_store_ps(meta, k16_times(nibbles_q2_k(p, 0), p + Q2_K_D));
    _mm512_store_ps(meta + 16, k16_times(nibbles_q2_k(p, 4), p + Q2_K_DMIN));
}

/* ---- IQ4_XS: 8 sub-blocks of 32 with signed 6-bit scales ------------------------------------- */

/* A sub-block has 16 bytes, the low nibbles its elements 0-15, the high ones 16-31. */
INLINE void weights_iq4_xs(const unsigned char *p, __m512i w[4])
{
    const __m512i table = _mm512_broadcast_i32x4(iq4_biased()), low = _mm512_set1_epi8(15);
    const __m512i shift = _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0);
    const __m512i twice = _mm512_set_epi64(3, 2, 3, 2, 1, 0, 1, 0);
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        __m256i b = _mm256_loadu_si256((const __m256i *)(p + IQ4_XS_Q + 32 * v));
        __m512i x = _mm512_permutexvar_epi64(twice, _mm512_castsi256_si512(b));
        w[v] = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srlv_epi64(x, shift), low));
    }
}

/* Sub-block scales times d, in element order. */
INLINE __m256 scales_8_iq4_xs(const unsigned char *p)
{
    return _mm256_mul_ps(_mm256_cvtepi32_ps(iq4_xs_scales(p + IQ4_XS_HIGH)), _mm256_set1_ps(f16_at(p)));
}

INLINE __m512 scales_iq4_xs(const unsigned char *p)
{
    const __m512i lanes = _mm512_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6, 1, 3, 5, 7, 1, 3, 5, 7);
    return _mm512_permutexvar_ps(lanes, _mm512_castps256_ps512(scales_8_iq4_xs(p)));
}

static void unpack_iq4_xs(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights_iq4_xs(p, w);
    k16_store(q, w);
    _mm256_store_ps(meta, scales_8_iq4_xs(p));
}

/* ---- formats -------------------------------------------------------------------------------- */

PRODUCT(gemv_q4_k, q45k_gemv, (struct format45k){ Q4_K_BYTES, 1.0f / 16, weights_q4_k })
PRODUCT(gemv_q5_k, q45k_gemv, (struct format45k){ Q5_K_BYTES, 1, weights_q5_k })
PRODUCT(gemv_q6_k, k16_gemv, (struct format16){ Q6_K_BYTES, 32, weights_q6_k, scales_q6_k, NULL })
PRODUCT(gemv_q3_k, k16_gemv, (struct format16){ Q3_K_BYTES, 4, weights_q3_k, scales_q3_k, NULL })
PRODUCT(gemv_q2_k, k16_gemv, (struct format16){ Q2_K_BYTES, 0, weights_q2_k, scales_q2_k, mins_q2_k })
PRODUCT(gemv_iq4_xs, k16_gemv, (struct format16){ IQ4_XS_BYTES, IQ4_BIAS, weights_iq4_xs, scales_iq4_xs, NULL })

const struct vnni_file *vnni_file_k(enum dtype type)
{
    static const struct vnni_file formats[DTYPE_COUNT] = {
        [DTYPE_Q2_K] = {gemv_q2_k,    { Q2_K_ELEMS, Q2_K_BYTES, 16, 0, true, false, unpack_q2_k }              },
        [DTYPE_Q3_K] = { gemv_q3_k,   { Q3_K_ELEMS, Q3_K_BYTES, 16, 4, false, false, unpack_q3_k }             },
        [DTYPE_Q4_K] = { gemv_q4_k,   { Q4_K_ELEMS, Q4_K_BYTES, 32, 0, true, false, unpack_q4_k }              },
        [DTYPE_Q5_K] = { gemv_q5_k,   { Q5_K_ELEMS, Q5_K_BYTES, 32, 0, true, false, unpack_q5_k }              },
        [DTYPE_Q6_K] = { gemv_q6_k,   { Q6_K_ELEMS, Q6_K_BYTES, 16, 32, false, false, unpack_q6_k }            },
        [DTYPE_IQ4_XS] = { gemv_iq4_xs, { IQ4_XS_ELEMS, IQ4_XS_BYTES, 32, IQ4_BIAS, false, false, unpack_iq4_xs }},
    };
    return formats[type].gemv ? &formats[type] : NULL;
}
