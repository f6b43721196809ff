/* avx512vnni/packed_unpack_32.c: packed formats with blocks of 32: Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4.
 * Their layout: pack.h, pack.c; values: methods.md (1). */
#include "kernels/avx512vnni/packed_place.h"

/* Halves of two blocks stand before the weights of both, `units` units each. */
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
static void scales_q5_0(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    scales_pairs(p, n, dst, h, 5);
}

/* A unit of scale and min before each block, `units` units with it; value = d * q + m. */
INLINE void scales_mins(const unsigned char *p, size_t n, struct panel_block *dst, size_t h, size_t units)
{
    for (size_t b = 0; b < n; b++, p += 64 * units) {
        const __m512i x = unit(p, 0, true);
        put_meta(&dst[b], h, META_SCALE, first_halves(x));
        put_meta(&dst[b], h, META_MIN, _mm512_sub_ps(_mm512_setzero_ps(), second_halves(x)));
    }
}
static void scales_q4_1(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    scales_mins(p, n, dst, h, 5);
}
static void scales_q5_1(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    scales_mins(p, n, dst, h, 6);
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
/* Those of up to four blocks stand before their weights. */
static void scales_mxfp4(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    for (size_t b = 0; b < n; b += 4, p += 4 * 17 * 16)
        for (size_t j = 0; j < 4 && b + j < n; j++)
            put_meta(&dst[b + j], h, META_SCALE, exponents(p + 16 * j));
}

UNPACK(q8_0, scales_q8_0, PLACE_BYTES)
UNPACK(q4_0, scales_q4_0, PLACE_NIBBLES)
UNPACK(q4_1, scales_q4_1, PLACE_NIBBLES_1)
UNPACK(q5_0, scales_q5_0, PLACE_FIVES)
UNPACK(q5_1, scales_q5_1, PLACE_FIVES_1)
UNPACK(mxfp4, scales_mxfp4, PLACE_E2M1)
UNPACK(iq4_nl, scales_q4_0, PLACE_NL)

const struct panel_format panel_q8_0 = { 32, 34, PANEL_32, 128, unpack_q8_0, scales_q8_0, NULL, scales_q8_0, PLACE_BYTES, IN_PLACE_TOK };
const struct panel_format panel_q4_0 = { 32, 18, PANEL_32, 8, unpack_q4_0, scales_q4_0, NULL, scales_q4_0, PLACE_NIBBLES, IN_PLACE_TOK };
const struct panel_format panel_q4_0_two_ports = { 32, 18, PANEL_32, 8, unpack_q4_0, scales_q4_0, NULL, scales_q4_0, PLACE_NIBBLES, 0 };
const struct panel_format panel_q4_1 = { 32, 20, PANEL_32_MIN, 0, unpack_q4_1, scales_q4_1, NULL, scales_q4_1, PLACE_NIBBLES_1, 0 };
const struct panel_format panel_q5_0 = { 32, 22, PANEL_32, 16, unpack_q5_0, scales_q5_0, NULL, scales_q5_0, PLACE_FIVES, 0 };
const struct panel_format panel_q5_1 = { 32, 24, PANEL_32_MIN, 0, unpack_q5_1, scales_q5_1, NULL, scales_q5_1, PLACE_FIVES_1, 0 };
const struct panel_format panel_iq4_nl = { 32, 18, PANEL_32, IQ4_BIAS, unpack_iq4_nl, scales_q4_0, NULL, scales_q4_0, PLACE_NL, 0 };
const struct panel_format panel_mxfp4 = { 32, 17, PANEL_32, E2M1_BIAS, unpack_mxfp4, scales_mxfp4, NULL, scales_mxfp4, PLACE_E2M1, 0 };
