/* avx2/formats.c: quantized formats unpacked to bytes, float scales and mins. methods.md
 * (1) */
#include "kernels/avx2/gemv.h"

#include "kernels/simd/blocks.h" /* written in the names of the headers above */

static void unpack_q8_0(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q8_0_BYTES) {
        memcpy(q + 32 * b, p + Q8_0_Q, 32);
        meta[b] = f16_at(p);
    }
}

/* 32 bytes whose low, or high, nibbles are quants. */
INLINE __m256i low_nibbles(__m256i w)
{
    return _mm256_and_si256(w, _mm256_set1_epi8(15));
}
INLINE __m256i high_nibbles(__m256i w)
{
    return low_nibbles(_mm256_srli_epi16(w, 4));
}
/* Where all bits of `bit` are set in v: 16, else 0. */
INLINE __m256i fifth(__m256i v, __m256i bit)
{
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit),
                            _mm256_set1_epi8(16));
}
INLINE __m256i load32(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
/* 16 bytes: low nibbles are quants 0-15, high ones 16-31. */
INLINE __m256i nibbles_16(const unsigned char *p)
{
    __m128i w = _mm_loadu_si128((const __m128i *)p);
    return low_nibbles(_mm256_set_m128i(_mm_srli_epi16(w, 4), w));
}

static void unpack_q4_0(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q4_0_BYTES) {
        vi_store(q + 32 * b, nibbles_16(p + Q4_0_Q));
        meta[b] = f16_at(p);
    }
}

static void unpack_q4_1(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q4_1_BYTES) {
        vi_store(q + 32 * b, nibbles_16(p + Q4_1_Q));
        meta[b] = f16_at(p);
        meta[8 + b] = -f16_at(p + Q4_1_M);
    }
}

/* Fifth bits in 4 bytes, bit i for element i; then the nibbles. */
INLINE void five_bits(const unsigned char *p, uint8_t *q)
{
    int32_t bits;
    memcpy(&bits, p, sizeof bits);
    /* byte i / 8 of the word to lane byte i, then its bit i % 8 */
    __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(bits),
                                        _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1,
                                                         1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2,
                                                         3, 3, 3, 3, 3, 3, 3, 3));
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201ULL);
    vi_store(q, _mm256_or_si256(nibbles_16(p + 4), fifth(bytes, bit)));
}

static void unpack_q5_0(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q5_0_BYTES) {
        five_bits(p + Q5_0_HIGH, q + 32 * b);
        meta[b] = f16_at(p);
    }
}

static void unpack_q5_1(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += Q5_1_BYTES) {
        five_bits(p + Q5_1_HIGH, q + 32 * b);
        meta[b] = f16_at(p);
        meta[8 + b] = -f16_at(p + Q5_1_M);
    }
}

/* d, dmin and 12 bytes of 6-bit scales and mins. */
INLINE void k_meta(const unsigned char *p, float *meta)
{
    __m128i v = k_scales(p + Q4_K_SCALES);
    __m256 sc = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(v));
    __m256 m = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(v, v)));
    _mm256_store_ps(meta, _mm256_mul_ps(sc, _mm256_set1_ps(f16_at(p))));
    _mm256_store_ps(meta + 8, _mm256_mul_ps(m, _mm256_set1_ps(f16_at(p + Q4_K_DMIN))));
}

static void unpack_q4_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t k = 0; k < n_k; k += 64) {
        __m256i w = load32(p + Q4_K_Q + k / 2);
        vi_store(q + k, low_nibbles(w));
        vi_store(q + k + 32, high_nibbles(w));
    }
    k_meta(p, meta);
}

/* Bit s of fifth-bit byte i belongs to element i of sub-block s. */
static void unpack_q5_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    const __m256i h = load32(p + Q5_K_HIGH);
    for (size_t k = 0; k < n_k; k += 64) {
        __m256i w = load32(p + Q5_K_Q + k / 2), bit = _mm256_set1_epi8((char)(1 << k / 32));
        vi_store(q + k, _mm256_or_si256(low_nibbles(w), fifth(h, bit)));
        bit = _mm256_add_epi8(bit, bit);
        vi_store(q + k + 32, _mm256_or_si256(high_nibbles(w), fifth(h, bit)));
    }
    k_meta(p, meta);
}

/* 16 signed bytes times d. */
INLINE void scales_16(__m128i bytes, float d, float *meta)
{
    __m256i lo = _mm256_cvtepi8_epi32(bytes),
            hi = _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes));
    _mm256_store_ps(meta, _mm256_mul_ps(_mm256_cvtepi32_ps(lo), _mm256_set1_ps(d)));
    _mm256_store_ps(meta + 8, _mm256_mul_ps(_mm256_cvtepi32_ps(hi), _mm256_set1_ps(d)));
}

static void unpack_q6_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    const __m256i high = _mm256_set1_epi8(0x30);
    for (size_t k = 0; k < n_k; k += 128) {
        __m256i a = load32(p + k / 2), b = load32(p + k / 2 + 32),
                h = load32(p + Q6_K_HIGH + k / 4);
        __m256i h0 = _mm256_and_si256(_mm256_slli_epi16(h, 4), high);
        __m256i h1 = _mm256_and_si256(_mm256_slli_epi16(h, 2), high);
        __m256i h2 = _mm256_and_si256(h, high);
        __m256i h3 = _mm256_and_si256(_mm256_srli_epi16(h, 2), high);
        vi_store(q + k, _mm256_or_si256(low_nibbles(a), h0));
        vi_store(q + k + 32, _mm256_or_si256(low_nibbles(b), h1));
        vi_store(q + k + 64, _mm256_or_si256(high_nibbles(a), h2));
        vi_store(q + k + 96, _mm256_or_si256(high_nibbles(b), h3));
    }
    scales_16(_mm_loadu_si128((const __m128i *)(p + Q6_K_SCALES)), f16_at(p + Q6_K_D), meta);
}

/* 64 bytes of bit pairs: byte l of 32 holds elements l, l + 32, l + 64, l + 96. */
INLINE void bit_pairs(const unsigned char *p, __m256i w[8])
{
    const __m256i three = _mm256_set1_epi8(3);
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        __m256i x = load32(p + 32 * h);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            w[4 * h + i] = _mm256_and_si256(_mm256_srli_epi16(x, 2 * i), three);
    }
}

static void unpack_q2_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m256i w[8];
    (void)n_k;
    bit_pairs(p + Q2_K_Q, w);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        vi_store(q + 32 * i, w[i]);
    const __m128i low = _mm_set1_epi8(15), b = _mm_loadu_si128((const __m128i *)p);
    scales_16(_mm_and_si128(b, low), f16_at(p + Q2_K_D), meta);
    scales_16(_mm_and_si128(_mm_srli_epi16(b, 4), low), f16_at(p + Q2_K_DMIN), meta + 16);
}

/* Third bits: bit i of byte l of 32 is that of element 32i + l. */
static void unpack_q3_k(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    const __m256i four = _mm256_set1_epi8(4);
    __m256i w[8], h = load32(p);
    (void)n_k;
    bit_pairs(p + Q3_K_Q, w);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        __m256i bit = i < 2 ? _mm256_slli_epi16(h, 2 - i) : _mm256_srli_epi16(h, i - 2);
        vi_store(q + 32 * i, _mm256_or_si256(w[i], _mm256_and_si256(bit, four)));
    }
    scales_16(q3_k_scales(p + Q3_K_SCALES), f16_at(p + Q3_K_D), meta);
}

INLINE __m256i lookup_16(const unsigned char *p, __m128i table)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles_16(p));
}

static void unpack_iq4_nl(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += IQ4_NL_BYTES) {
        vi_store(q + 32 * b, lookup_16(p + IQ4_NL_Q, iq4_signed()));
        meta[b] = f16_at(p);
    }
}

static void unpack_iq4_xs(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++)
        vi_store(q + 32 * b, lookup_16(p + IQ4_XS_Q + 16 * b, iq4_signed()));
    _mm256_store_ps(meta, _mm256_mul_ps(_mm256_cvtepi32_ps(iq4_xs_scales(p + IQ4_XS_HIGH)),
                                        _mm256_set1_ps(f16_at(p))));
}

static void unpack_mxfp4(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += MXFP4_BYTES) {
        vi_store(q + 32 * b, lookup_16(p + MXFP4_Q, e2m1_biased()));
        int32_t d = e8m0_half(p[0]);
        memcpy(meta + b, &d, sizeof d);
    }
}

/* ---- formats ------------------------------------------------------------------------- */

#define Q8_0_SHAPE   Q8_0_ELEMS, Q8_0_BYTES, 32, 0, false, true
#define Q4_0_SHAPE   Q4_0_ELEMS, Q4_0_BYTES, 32, 8, false, false
#define Q4_1_SHAPE   Q4_1_ELEMS, Q4_1_BYTES, 32, 0, true, false
#define Q5_0_SHAPE   Q5_0_ELEMS, Q5_0_BYTES, 32, 16, false, false
#define Q5_1_SHAPE   Q5_1_ELEMS, Q5_1_BYTES, 32, 0, true, false
#define Q2_K_SHAPE   Q2_K_ELEMS, Q2_K_BYTES, 16, 0, true, false
#define Q3_K_SHAPE   Q3_K_ELEMS, Q3_K_BYTES, 16, 4, false, false
#define Q4_K_SHAPE   Q4_K_ELEMS, Q4_K_BYTES, 32, 0, true, false
#define Q5_K_SHAPE   Q5_K_ELEMS, Q5_K_BYTES, 32, 0, true, false
#define Q6_K_SHAPE   Q6_K_ELEMS, Q6_K_BYTES, 16, 32, false, false
#define IQ4_NL_SHAPE IQ4_NL_ELEMS, IQ4_NL_BYTES, 32, 0, false, true
#define IQ4_XS_SHAPE IQ4_XS_ELEMS, IQ4_XS_BYTES, 32, 0, false, true
#define MXFP4_SHAPE  MXFP4_ELEMS, MXFP4_BYTES, 32, 12, false, false

PRODUCT(gemv_q8_0, gemv, unpack_q8_0, (struct q8_format){ Q8_0_SHAPE, NULL })
PRODUCT(gemv_q4_0, gemv, unpack_q4_0, (struct q8_format){ Q4_0_SHAPE, NULL })
PRODUCT(gemv_q4_1, gemv, unpack_q4_1, (struct q8_format){ Q4_1_SHAPE, NULL })
PRODUCT(gemv_q5_0, gemv, unpack_q5_0, (struct q8_format){ Q5_0_SHAPE, NULL })
PRODUCT(gemv_q5_1, gemv, unpack_q5_1, (struct q8_format){ Q5_1_SHAPE, NULL })
PRODUCT(gemv_q2_k, gemv, unpack_q2_k, (struct q8_format){ Q2_K_SHAPE, NULL })
PRODUCT(gemv_q3_k, gemv, unpack_q3_k, (struct q8_format){ Q3_K_SHAPE, NULL })
PRODUCT(gemv_q4_k, gemv, unpack_q4_k, (struct q8_format){ Q4_K_SHAPE, NULL })
PRODUCT(gemv_q5_k, gemv, unpack_q5_k, (struct q8_format){ Q5_K_SHAPE, NULL })
PRODUCT(gemv_q6_k, gemv, unpack_q6_k, (struct q8_format){ Q6_K_SHAPE, NULL })
PRODUCT(gemv_iq4_nl, gemv, unpack_iq4_nl, (struct q8_format){ IQ4_NL_SHAPE, NULL })
PRODUCT(gemv_iq4_xs, gemv, unpack_iq4_xs, (struct q8_format){ IQ4_XS_SHAPE, NULL })
PRODUCT(gemv_mxfp4, gemv, unpack_mxfp4, (struct q8_format){ MXFP4_SHAPE, NULL })

const struct avx2_file *avx2_file(enum dtype type)
{
    static const struct avx2_file formats[DTYPE_COUNT] = {
        [DTYPE_Q8_0] = { gemv_q8_0, { Q8_0_SHAPE, unpack_q8_0 } },
        [DTYPE_Q4_0] = { gemv_q4_0, { Q4_0_SHAPE, unpack_q4_0 } },
        [DTYPE_Q4_1] = { gemv_q4_1, { Q4_1_SHAPE, unpack_q4_1 } },
        [DTYPE_Q5_0] = { gemv_q5_0, { Q5_0_SHAPE, unpack_q5_0 } },
        [DTYPE_Q5_1] = { gemv_q5_1, { Q5_1_SHAPE, unpack_q5_1 } },
        [DTYPE_Q2_K] = { gemv_q2_k, { Q2_K_SHAPE, unpack_q2_k } },
        [DTYPE_Q3_K] = { gemv_q3_k, { Q3_K_SHAPE, unpack_q3_k } },
        [DTYPE_Q4_K] = { gemv_q4_k, { Q4_K_SHAPE, unpack_q4_k } },
        [DTYPE_Q5_K] = { gemv_q5_k, { Q5_K_SHAPE, unpack_q5_k } },
        [DTYPE_Q6_K] = { gemv_q6_k, { Q6_K_SHAPE, unpack_q6_k } },
        [DTYPE_IQ4_NL] = { gemv_iq4_nl, { IQ4_NL_SHAPE, unpack_iq4_nl } },
        [DTYPE_IQ4_XS] = { gemv_iq4_xs, { IQ4_XS_SHAPE, unpack_iq4_xs } },
        [DTYPE_MXFP4] = { gemv_mxfp4, { MXFP4_SHAPE, unpack_mxfp4 } },
    };
    return formats[type].gemv ? &formats[type] : NULL;
}
