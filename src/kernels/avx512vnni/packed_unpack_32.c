/* avx512vnni/packed_unpack_32.c: packed formats with blocks of 32: Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4.
 * Their layout: pack.h, pack.c; values: methods.md (1). */
#include "kernels/avx512vnni/packed_unpack.h"

/* x + 16 where the row's bits at the four columns of the quad are set. */
INLINE __m512i fifth_bits(__m512i x, __m512i bits, unsigned quad)
{
    const __m512i mask = _mm512_set1_epi32(quad % 2 ? (int)0x80402010 : 0x08040201);
    const __mmask64 m = _mm512_test_epi8_mask(byte_4(bits, quad / 2), mask);
    return _mm512_mask_add_epi8(x, m, x, _mm512_set1_epi8(16));
}

/* Nibbles and a unit of fifth bits before them. */
INLINE void put_five_bits(struct panel_block *b, size_t h, const unsigned char *p)
{
    const __m512i bits = unit(p, 0);
#pragma GCC unroll 4
    for (unsigned u = 0; u < 4; u++) {
        const __m512i x = unit(p, 1 + u);
        put(b, h, u, fifth_bits(low_nibbles(x), bits, u));
        put(b, h, u + 4, fifth_bits(high_nibbles(x), bits, u + 4));
    }
}

/* Halves of two blocks stand before the weights of both, whose units are read by `weights`. */
INLINE void unpack_pairs(const unsigned char *p, size_t n, struct panel_block *dst, size_t h, size_t units,
                         void (*weights)(struct panel_block *b, size_t h, const unsigned char *p))
{
    for (size_t b = 0; b < n; b += 2) {
        const size_t g = n - b < 2 ? 1 : 2;
        for (size_t j = 0; j < g; j++, p += 32)
            put_meta(&dst[b + j], h, META_SCALE, halves(p));
        for (size_t j = 0; j < g; j++, p += 64 * units)
            weights(&dst[b + j], h, p);
    }
}

INLINE void weights_q8_0(struct panel_block *b, size_t h, const unsigned char *p)
{
#pragma GCC unroll 8
    for (size_t u = 0; u < 8; u++)
        put(b, h, u, unit(p, u));
}
INLINE void weights_iq4_nl(struct panel_block *b, size_t h, const unsigned char *p)
{
    put_lookup(b, h, p, _mm512_broadcast_i32x4(iq4_biased()));
}

static void unpack_q8_0(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    unpack_pairs(p, n, dst, h, 8, weights_q8_0);
}
/* Of pairs of blocks, units of them behind the halves. */
INLINE void scales_pairs(const unsigned char *p, size_t n, struct panel_block *dst, size_t h, size_t units)
{
    for (size_t b = 0; b < n; b += 2, p += 64 + 2 * 64 * units) {
        put_meta(&dst[b], h, META_SCALE, halves(p));
        if (n - b > 1)
            put_meta(&dst[b + 1], h, META_SCALE, halves(p + 32));
    }
}
static void scales_q8_0(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    scales_pairs(p, n, dst, h, 8);
}
static void scales_q4_0(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    scales_pairs(p, n, dst, h, 4);
}
static void unpack_q4_0(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    unpack_pairs(p, n, dst, h, 4, put_nibbles);
}
static void unpack_iq4_nl(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    unpack_pairs(p, n, dst, h, 4, weights_iq4_nl);
}
static void unpack_q5_0(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    unpack_pairs(p, n, dst, h, 5, put_five_bits);
}

/* A unit of scale and min before each block; value = d * q + m. */
INLINE void put_scale_min(struct panel_block *b, size_t h, const unsigned char *p)
{
    const __m512i x = unit(p, 0);
    put_meta(b, h, META_SCALE, first_halves(x));
    put_meta(b, h, META_MIN, _mm512_sub_ps(_mm512_setzero_ps(), second_halves(x)));
}
static void unpack_q4_1(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    for (size_t b = 0; b < n; b++, p += 5 * 64) {
        put_scale_min(&dst[b], h, p);
        put_nibbles(&dst[b], h, p + 64);
    }
}
static void unpack_q5_1(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    for (size_t b = 0; b < n; b++, p += 6 * 64) {
        put_scale_min(&dst[b], h, p);
        put_five_bits(&dst[b], h, p + 64);
    }
}

/* Exponent bytes to the floats of e8m0_half(). */
INLINE __m512 exponents(const unsigned char *p)
{
    const __m512i e = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)), one = _mm512_set1_epi32(1);
    __m512i d = _mm512_slli_epi32(_mm512_sub_epi32(e, one), 23);
    d = _mm512_mask_sllv_epi32(d, _mm512_cmple_epi32_mask(e, one), _mm512_set1_epi32(0x00200000), e);
    d = _mm512_mask_mov_epi32(d, _mm512_cmpeq_epi32_mask(e, _mm512_set1_epi32(255)), _mm512_set1_epi32(0x7fc00000));
    return _mm512_castsi512_ps(d);
}
static void unpack_mxfp4(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    for (size_t b = 0; b < n; b += 4) {
        const size_t g = n - b < 4 ? n - b : 4;
        for (size_t j = 0; j < g; j++, p += 16)
            put_meta(&dst[b + j], h, META_SCALE, exponents(p));
        for (size_t j = 0; j < g; j++, p += 4 * 64)
            put_lookup(&dst[b + j], h, p, _mm512_broadcast_i32x4(e2m1_biased()));
    }
}

const struct panel_format panel_q8_0 = { 32, 34, PANEL_32, 128, unpack_q8_0, scales_q8_0, PLACE_BYTES };
const struct panel_format panel_q4_0 = { 32, 18, PANEL_32, 8, unpack_q4_0, scales_q4_0, PLACE_NIBBLES };
const struct panel_format panel_q4_1 = { 32, 20, PANEL_32_MIN, 0, unpack_q4_1, NULL, PLACE_PANEL };
const struct panel_format panel_q5_0 = { 32, 22, PANEL_32, 16, unpack_q5_0, NULL, PLACE_PANEL };
const struct panel_format panel_q5_1 = { 32, 24, PANEL_32_MIN, 0, unpack_q5_1, NULL, PLACE_PANEL };
const struct panel_format panel_iq4_nl = { 32, 18, PANEL_32, IQ4_BIAS, unpack_iq4_nl, NULL, PLACE_PANEL };
const struct panel_format panel_mxfp4 = { 32, 17, PANEL_32, E2M1_BIAS, unpack_mxfp4, NULL, PLACE_PANEL };
