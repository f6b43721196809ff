/*
 * avx512vnni/file_32.c: products of weights as they are in the file, of types with blocks of 32. Values: methods.md (1).
 * gemv reads pairs of blocks (gemv32.h), gemm chunks of a row (simd/gemm_q8.h).
 */
#include "kernels/avx512vnni/gemv32.h"

/* ---- bytes of one block, or of a pair ------------------------------------------------------- */

/* The 16 bytes at p in both lower 128-bit lanes, and those at p + next in the upper ones if both, else zeros. */
INLINE __m512i bytes_pair(const unsigned char *p, size_t next, bool both)
{
    __m512i w = _mm512_maskz_broadcast_i32x4(0x00ff, _mm_loadu_si128((const __m128i *)p));
    if (both)
        w = _mm512_mask_broadcast_i32x4(w, 0xff00, _mm_loadu_si128((const __m128i *)(p + next)));
    return w;
}

/* Elements 16-31 stay in the high nibbles, as 16 times the quant: hi_scale undoes it. */
INLINE __m512i nibbles_in_place(const unsigned char *p, size_t next, bool both)
{
    const __m256i mask = _mm256_set_m128i(_mm_set1_epi8(-16), _mm_set1_epi8(15));
    return _mm512_and_si512(bytes_pair(p, next, both), _mm512_broadcast_i64x4(mask));
}

INLINE __m512i nibbles_pair(const unsigned char *p, size_t next, bool both)
{
    const __m512i shift = _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0);
    return _mm512_and_si512(_mm512_srlv_epi64(bytes_pair(p, next, both), shift), _mm512_set1_epi8(15));
}

/* Entries of a table of bytes. */
INLINE __m512i lookup_pair(const unsigned char *p, size_t next, bool both, __m128i table)
{
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), nibbles_pair(p, next, both));
}

/* Fifth bits (4 bytes) at p, then nibbles. */
INLINE __m512i fives_pair(const unsigned char *p, size_t next, bool both)
{
    uint32_t h0, h1 = 0;
    memcpy(&h0, p, sizeof h0);
    if (both)
        memcpy(&h1, p + next, sizeof h1);
    const __m512i w = nibbles_pair(p + 4, next, both);
    return _mm512_mask_add_epi8(w, (__mmask64)h1 << 32 | h0, w, _mm512_set1_epi8(16));
}

INLINE __m512i weights_q8_0(const unsigned char *p, bool both)
{
    __m512i w = _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)(p + Q8_0_Q)));
    if (both)
        w = _mm512_inserti64x4(w, _mm256_loadu_si256((const __m256i *)(p + Q8_0_BYTES + Q8_0_Q)), 1);
    return _mm512_xor_si512(w, _mm512_set1_epi8(-128)); /* + 128 */
}
INLINE __m512i weights_q4_0(const unsigned char *p, bool both)
{
    return nibbles_in_place(p + Q4_0_Q, Q4_0_BYTES, both);
}
INLINE __m512i weights_q4_1(const unsigned char *p, bool both)
{
    return nibbles_in_place(p + Q4_1_Q, Q4_1_BYTES, both);
}
INLINE __m512i weights_q5_0(const unsigned char *p, bool both)
{
    return fives_pair(p + Q5_0_HIGH, Q5_0_BYTES, both);
}
INLINE __m512i weights_q5_1(const unsigned char *p, bool both)
{
    return fives_pair(p + Q5_1_HIGH, Q5_1_BYTES, both);
}
INLINE __m512i weights_iq4_nl(const unsigned char *p, bool both)
{
    return lookup_pair(p + IQ4_NL_Q, IQ4_NL_BYTES, both, iq4_biased());
}
INLINE __m512i weights_mxfp4(const unsigned char *p, bool both)
{
    return lookup_pair(p + MXFP4_Q, MXFP4_BYTES, both, e2m1_biased());
}

/* ---- unpacking for gemm --------------------------------------------------------------------- */

/* The first of a pair, to q[32]. */
INLINE void store_first(uint8_t *q, __m512i pair)
{
    _mm256_store_si256((__m256i *)q, _mm512_castsi512_si256(pair));
}

static void unpack_q8_0(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q8_0_BYTES) {
        store_first(q + 32 * b, weights_q8_0(p, false));
        meta[b] = f16_at(p);
    }
}
static void unpack_q4_0(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q4_0_BYTES) {
        store_first(q + 32 * b, nibbles_pair(p + Q4_0_Q, 0, false));
        meta[b] = f16_at(p);
    }
}
static void unpack_q4_1(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q4_1_BYTES) {
        store_first(q + 32 * b, nibbles_pair(p + Q4_1_Q, 0, false));
        meta[b] = f16_at(p);
        meta[8 + b] = -f16_at(p + Q4_1_M);
    }
}
static void unpack_q5_0(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q5_0_BYTES) {
        store_first(q + 32 * b, weights_q5_0(p, false));
        meta[b] = f16_at(p);
    }
}
static void unpack_q5_1(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q5_1_BYTES) {
        store_first(q + 32 * b, weights_q5_1(p, false));
        meta[b] = f16_at(p);
        meta[8 + b] = -f16_at(p + Q5_1_M);
    }
}
static void unpack_iq4_nl(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += IQ4_NL_BYTES) {
        store_first(q + 32 * b, weights_iq4_nl(p, false));
        meta[b] = f16_at(p);
    }
}
static void unpack_mxfp4(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += MXFP4_BYTES) {
        const int32_t d = e8m0_half(p[0]);
        store_first(q + 32 * b, weights_mxfp4(p, false));
        memcpy(meta + b, &d, sizeof d);
    }
}

/* ---- formats -------------------------------------------------------------------------------- */

/* clang-format off */
PRODUCT(gemv_q8_0, gemv32, (struct format32){ .block_bytes = Q8_0_BYTES, .bias_lo = -128, .bias_hi = -128, .hi_scale = 1,
                                               .weights = weights_q8_0 })
PRODUCT(gemv_q4_0, gemv32, (struct format32){ .block_bytes = Q4_0_BYTES, .bias_lo = 8, .bias_hi = -128, .hi_scale = 1.0f / 16, .weights = weights_q4_0 })
PRODUCT(gemv_q4_1, gemv32, (struct format32){ .block_bytes = Q4_1_BYTES, .hi_scale = 1.0f / 16, .has_min = true, .weights = weights_q4_1 })
PRODUCT(gemv_q5_0, gemv32, (struct format32){ .block_bytes = Q5_0_BYTES, .bias_lo = 16, .bias_hi = 16, .hi_scale = 1, .weights = weights_q5_0 })
PRODUCT(gemv_q5_1, gemv32, (struct format32){ .block_bytes = Q5_1_BYTES, .hi_scale = 1, .has_min = true, .weights = weights_q5_1 })
PRODUCT(gemv_iq4_nl, gemv32, (struct format32){ .block_bytes = IQ4_NL_BYTES, .bias_lo = -IQ4_BIAS, .bias_hi = -IQ4_BIAS,
                                               .hi_scale = 1, .weights = weights_iq4_nl })
PRODUCT(gemv_mxfp4, gemv32, (struct format32){ .block_bytes = MXFP4_BYTES, .bias_lo = E2M1_BIAS, .bias_hi = E2M1_BIAS,
                                               .hi_scale = 1, .e8m0 = true, .weights = weights_mxfp4 })
/* clang-format on */

const struct vnni_file *vnni_file_32(enum dtype type)
{
    static const struct vnni_file formats[DTYPE_COUNT] = {
        [DTYPE_Q8_0] = { gemv_q8_0, { Q8_0_ELEMS, Q8_0_BYTES, 32, 128, false, false, unpack_q8_0 } },
        [DTYPE_Q4_0] = { gemv_q4_0, { Q4_0_ELEMS, Q4_0_BYTES, 32, 8, false, false, unpack_q4_0 } },
        [DTYPE_Q4_1] = { gemv_q4_1, { Q4_1_ELEMS, Q4_1_BYTES, 32, 0, true, false, unpack_q4_1 } },
        [DTYPE_Q5_0] = { gemv_q5_0, { Q5_0_ELEMS, Q5_0_BYTES, 32, 16, false, false, unpack_q5_0 } },
        [DTYPE_Q5_1] = { gemv_q5_1, { Q5_1_ELEMS, Q5_1_BYTES, 32, 0, true, false, unpack_q5_1 } },
        [DTYPE_IQ4_NL] = { gemv_iq4_nl, { IQ4_NL_ELEMS, IQ4_NL_BYTES, 32, IQ4_BIAS, false, false, unpack_iq4_nl } },
        [DTYPE_MXFP4] = { gemv_mxfp4, { MXFP4_ELEMS, MXFP4_BYTES, 32, E2M1_BIAS, false, false, unpack_mxfp4 } },
    };
    return formats[type].gemv ? &formats[type] : NULL;
}
