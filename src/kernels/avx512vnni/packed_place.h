/*
 * avx512vnni/packed_place.h: position of the weights of a block of 32 columns in packed formats (pack.h), and the masks, shifts and tables
 * that make bytes of them, for tiles that read them in place and for copies. Formats that need more (Q2_K, Q3_K) are copied. Values:
 * methods.md (1). Static inline only.
 */
#ifndef KERNELS_AVX512VNNI_PACKED_PLACE_H
#define KERNELS_AVX512VNNI_PACKED_PLACE_H

#include "kernels/avx512vnni/packed_unpack.h"
#include "kernels/pack.h"

/* x + 16 in the columns of the quad whose bits are set. Concurrent with products, tests and masked additions would use the same ports on
 * Zen 4; alone: not concurrent. */
INLINE __m512i fifth_bits(__m512i x, __m512i bits, unsigned quad, const bool alone)
{
    const __m512i sixteen = _mm512_set1_epi8(16);
    if (alone) {
        const __m512i mask = _mm512_set1_epi32(quad % 2 ? (int)0x80402010 : 0x08040201);
        return _mm512_mask_add_epi8(x, _mm512_test_epi8_mask(byte_4(bits, quad / 2), mask), x, sixteen);
    }
    const __m512i upper = byte_4(quad % 2 ? bits : _mm512_slli_epi16(bits, 4), quad / 2);
    return _mm512_add_epi8(x, _mm512_min_epu8(_mm512_and_si512(upper, _mm512_set1_epi32((int)0x80402010)), sixteen));
}

/* Six bits; those of the last of four blocks are the upper two bits of the other three lines. */
INLINE __m512i sixes(__m512i x)
{
    return _mm512_and_si512(x, _mm512_set1_epi8(63));
}
INLINE __m512i last_sixes(__m512i x, __m512i y, __m512i z)
{
    const __m512i high = _mm512_and_si512(_mm512_srli_epi16(x, 2), _mm512_set1_epi8(0x30));
    const __m512i middle = _mm512_and_si512(_mm512_srli_epi16(y, 4), _mm512_set1_epi8(0x0c));
    const __m512i low = _mm512_and_si512(_mm512_srli_epi16(z, 6), _mm512_set1_epi8(3));
    return _mm512_add_epi8(_mm512_add_epi8(high, middle), low);
}

/* Units of a block, and how bytes are made of them. */
struct place {
    const unsigned char *units[2];  /* a half each */
    const unsigned char *fifths[2]; /* and the units of their fifth bits */
    __m512i mask, right, left; /* of nibbles, and how far they and their fifth bits move, in units that two or eight blocks share */
    __m512i table; /* of nibbles */
};

/* The units of block b of n, the first of which begins at packed. */
INLINE const unsigned char *place_units(const unsigned char *packed, unsigned b, unsigned n, const enum panel_place place)
{
    const size_t pair = b / 2, odd = b % 2, scales = (b | 1) < n ? 64 : 32, four = n - b / 4 * 4 < 4 ? n % 4 : 4;
    switch (place) {
    case PLACE_PANEL:
        break;
    case PLACE_BYTES:
        return packed + pair * (2 * Q8_0_BYTES * PACK_ROWS) + scales + odd * (8 * 64);
    case PLACE_NIBBLES:
    case PLACE_NL: /* IQ4_NL has the bytes of Q4_0 */
        return packed + pair * (2 * Q4_0_BYTES * PACK_ROWS) + scales + odd * (4 * 64);
    case PLACE_NIBBLES_1:
        return packed + (size_t)b * (Q4_1_BYTES * PACK_ROWS) + 64;
    case PLACE_FIVES:
        return packed + pair * (2 * Q5_0_BYTES * PACK_ROWS) + scales + odd * (5 * 64) + 64;
    case PLACE_FIVES_1:
        return packed + (size_t)b * (Q5_1_BYTES * PACK_ROWS) + 2 * 64;
    case PLACE_E2M1:
        return packed + b / 4 * (4 * MXFP4_BYTES * PACK_ROWS) + 16 * four + b % 4 * (4 * 64);
    case PLACE_NIBBLES_K:
        return packed + b / 8 * (Q4_K_BYTES * PACK_ROWS) + 4 * 64 + pair % 4 * (8 * 64);
    case PLACE_FIVES_K:
        return packed + b / 8 * (Q5_K_BYTES * PACK_ROWS) + 12 * 64 + pair % 4 * (8 * 64);
    case PLACE_SIXES:
        return packed + b / 8 * (Q6_K_BYTES * PACK_ROWS) + 32 + 4 * 64 + b / 4 % 2 * (24 * 64) + (b % 4 < 3 ? b % 4 * 64 : 0);
    case PLACE_NL_K:
        return packed + b / 8 * (IQ4_XS_BYTES * PACK_ROWS) + 2 * 64 + b % 8 * (4 * 64);
    }
    return NULL;
}

/* units: of both halves, of block b. */
INLINE struct place place_of(const unsigned char *const units[2], unsigned b, const enum panel_place place)
{
    const int odd = b % 2, eighth = (int)(b % 8);
    struct place p = { .mask = _mm512_set1_epi8((char)(place == PLACE_NIBBLES_K && odd ? 0xf0 : 0x0f)) };
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        p.units[h] = units[h];
        if (place == PLACE_FIVES_K)
            p.fifths[h] = units[h] - (size_t)(8 + eighth / 2 * 8) * 64;
        else if (place == PLACE_FIVES || place == PLACE_FIVES_1)
            p.fifths[h] = units[h] - 64;
    }
    if (place == PLACE_NIBBLES_K || place == PLACE_FIVES_K)
        p.right = _mm512_set1_epi16((short)(4 * odd));
    if (place == PLACE_FIVES_K) /* bit `eighth` of a byte becomes the fifth */
        p.left = _mm512_set1_epi32((4 - eighth) & 31);
    if (place == PLACE_NL || place == PLACE_NL_K || place == PLACE_E2M1)
        p.table = _mm512_broadcast_i32x4(place == PLACE_E2M1 ? e2m1_biased() : iq4_biased());
    return p;
}

/* Nibbles of quad j of a block in four units. */
INLINE __m512i nibbles(const unsigned char *w, const int j, const bool alone)
{
    const __m512i x = unit(w, (size_t)j % 4, alone);
    return j < 4 ? low_nibbles(x) : high_nibbles(x);
}

/* Quad j of half h of a block. alone: not concurrent with products, Q4_K without its factor; last_six: the last of four blocks of sixes. */
INLINE __m512i place_quad(const struct place *p, const int h, const int j, const bool last_six, const enum panel_place place,
                          const bool alone)
{
    const unsigned char *const w = p->units[h];
    const size_t u = (size_t)j;
    switch (place) {
    case PLACE_PANEL:
    case PLACE_BYTES:
        break;
    case PLACE_NIBBLES:
    case PLACE_NIBBLES_1:
        return nibbles(w, j, alone);
    case PLACE_NL:
    case PLACE_NL_K:
    case PLACE_E2M1:
        return _mm512_shuffle_epi8(p->table, nibbles(w, j, alone));
    case PLACE_FIVES:
    case PLACE_FIVES_1:
        return fifth_bits(nibbles(w, j, alone), unit(p->fifths[h], 0, alone), (unsigned)j, alone);
    case PLACE_NIBBLES_K:
        if (alone)
            return low_nibbles(_mm512_srlv_epi16(unit(w, u, alone), p->right));
        return _mm512_and_si512(unit(w, u, alone), p->mask);
    case PLACE_FIVES_K:
        return _mm512_add_epi8(
            low_nibbles(_mm512_srlv_epi16(unit(w, u, alone), p->right)),
            _mm512_and_si512(_mm512_rolv_epi32(unit(p->fifths[h], u, alone), p->left), _mm512_set1_epi8(16)));
    case PLACE_SIXES:
        if (last_six)
            return last_sixes(unit(w, 3 * u, alone), unit(w, 3 * u + 1, alone), unit(w, 3 * u + 2, alone));
        return sixes(unit(w, 3 * u, alone));
    }
    return unit(w, u, alone);
}

/* Weights of n blocks of a panel of 16 rows at src to half h of dst. */
INLINE void copy_weights(const unsigned char *src, const size_t n, struct panel_block *dst, size_t h, const enum panel_place place)
{
#pragma GCC unroll 8
    for (unsigned b = 0; b < n; b++) {
        const unsigned char *const u = place_units(src, b, (unsigned)n, place);
        const struct place p = place_of((const unsigned char *const[]){ u, u }, b, place);
        if (place == PLACE_SIXES && b % 4 == 3) {
#pragma GCC unroll 8
            for (int j = 0; j < 8; j++)
                put(&dst[b], h, (size_t)j, place_quad(&p, 0, j, true, place, true));
        } else {
#pragma GCC unroll 8
            for (int j = 0; j < 8; j++)
                put(&dst[b], h, (size_t)j, place_quad(&p, 0, j, false, place, true));
        }
    }
}

/* unpack_TYPE: scales, and the weights at `place`. */
#define UNPACK(type, scales, place)                                                                       \
    static void unpack_##type(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)       \
    {                                                                                                     \
        scales(p, n, dst, h);                                                                            \
        if (n == PANEL_BLOCKS)                                                                           \
            copy_weights(p, PANEL_BLOCKS, dst, h, place);                                                \
        else                                                                                             \
            copy_weights(p, n, dst, h, place);                                                           \
    }

#endif
