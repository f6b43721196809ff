/* avx512vnni/packed_unpack_k.c: packed formats with blocks of 256: Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS. Their layout:
 * pack.h, pack.c; values: methods.md (1). A block of 256 is 8 of 32 here; n is always 8. */
#include "kernels/avx512vnni/packed_place.h"

/* x shifted right by n bits, left by -n: bits that cross bytes are to be masked away. */
INLINE __m512i shift(__m512i x, int n)
{
    return n >= 0 ? _mm512_srli_epi16(x, (unsigned)n) : _mm512_slli_epi16(x, (unsigned)-n);
}
/* Two int16 of each row. */
INLINE __m512i pair_of(__m512i low, __m512i high)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa, low, _mm512_slli_epi32(high, 16));
}

/* Q4_K, Q5_K: the unit of d and dmin, then three of packed scales and mins. Scales of odd blocks are multiplied by odd; mins as floats
 * are AMX's. */
INLINE void put_k_scales(const unsigned char *p, struct panel_block *dst, size_t h, const float odd, const bool min)
{
    const __m512i head = unit(p, 0, true), a = unit(p, 1, true), b = unit(p, 2, true), c = unit(p, 3, true);
    const __m512i six = _mm512_set1_epi8(63), pair = _mm512_set1_epi8(0x30);
    const __m512 d = first_halves(head), dmin = second_halves(head), d_odd = _mm512_mul_ps(d, _mm512_set1_ps(odd));
    const __m512i sc[2] = { _mm512_and_si512(a, six), or_masked(low_nibbles(c), shift(a, 2), pair) };
    const __m512i mn[2] = { _mm512_and_si512(b, six), or_masked(high_nibbles(c), shift(b, 2), pair) };
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; j++) {
        put_meta(&dst[j], h, META_SCALE, _mm512_mul_ps(j % 2 ? d_odd : d, byte_u8(sc[j / 4], j % 4)));
        if (min)
            put_meta(&dst[j], h, META_MIN, _mm512_mul_ps(dmin, byte_u8(mn[j / 4], j % 4)));
    }
    const __m512i low = _mm512_set1_epi32(0x000000ff), high = _mm512_set1_epi32(0x00ff0000);
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) { /* bytes 2i and 2i + 1 to halves */
        const __m512i two = _mm512_srli_epi32(mn[i / 2], 16 * (i % 2));
        put_meta(&dst[2 * i], h, META_MINS,
                 vi_floats(or_masked(_mm512_and_si512(two, low), _mm512_slli_epi32(two, 8), high)));
    }
    put_meta(&dst[1], h, META_MINS, dmin);
}

/* For tiles, which use the quants of odd blocks where they stand, 16 times too large. */
static void scales_q4_k(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    (void)n;
    put_k_scales(p, dst, h, 1.0f / 16, false);
}
static void scales_q5_k(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    (void)n;
    put_k_scales(p, dst, h, 1, false);
}
static void scales_mins_k(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    (void)n;
    put_k_scales(p, dst, h, 1, true);
}

static void scales_q6_k(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    const __m512 d = halves(p);
    (void)n;
    p += 32;
#pragma GCC unroll 4
    for (unsigned u = 0; u < 4; u++, p += 64)
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++)
            put_meta(&dst[2 * u + i / 2], h, i % 2 ? META_SCALE2 : META_SCALE, _mm512_mul_ps(d, byte_i8(unit(p, 0, true), i)));
}
static void pairs_q6_k(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    (void)n;
    put_meta(&dst[0], h, META_D, _mm512_mul_ps(halves(p), _mm512_set1_ps(2)));
    p += 32;
#pragma GCC unroll 4
    for (unsigned u = 0; u < 4; u++, p += 64)
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) { /* bytes 2i and 2i + 1; tile_halves() says which goes where */
            const __m512i x = unit(p, 0, true), two = i ? x : _mm512_slli_epi32(x, 16);
            const __m512i second = _mm512_srai_epi32(two, 24), first = _mm512_srai_epi32(_mm512_slli_epi32(two, 8), 24);
            put_meta(&dst[2 * u + i], h, META_SCALE, vi_floats(h ? pair_of(second, first) : pair_of(first, second)));
        }
}

/* Scales: the low four bits of two in a byte of the second unit, the upper two in the second half of the first. */
static void scales_iq4_xs(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    const __m512i head = unit(p, 0, true), low = unit(p, 1, true), upper = _mm512_srli_epi32(head, 16);
    const __m512 d = first_halves(head);
    (void)n;
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; j++) {
        const __m512i a = _mm512_and_si512(_mm512_srli_epi32(low, 4 * j), _mm512_set1_epi32(15));
        const __m512i b = _mm512_slli_epi32(_mm512_srli_epi32(upper, 2 * j), 4);
        const __m512i sc = _mm512_sub_epi32(or_masked(a, b, _mm512_set1_epi32(0x30)), _mm512_set1_epi32(32));
        put_meta(&dst[j], h, META_SCALE, _mm512_mul_ps(d, _mm512_cvtepi32_ps(sc)));
    }
}

UNPACK(q4_k, scales_mins_k, PLACE_NIBBLES_K)
UNPACK(q5_k, scales_mins_k, PLACE_FIVES_K)
UNPACK(q6_k, scales_q6_k, PLACE_SIXES)
UNPACK(iq4_xs, scales_iq4_xs, PLACE_NL_K)

/* ---- pairs of bits: scale times quant fits a byte, which leaves one scale, d, for all 256 ------------------- */

/* Byte tables for shuffles, whose lanes of 16 bytes hold four rows: entries 4r to 4r + 3 are 0, 1, 2, 3 times the byte
 * that stands four times in row r. */
INLINE __m512i times_0123(__m512i sc)
{
    return _mm512_add_epi8(_mm512_maskz_mov_epi8(0xaaaaaaaaaaaaaaaa, sc),
                           _mm512_maskz_mov_epi8(0xcccccccccccccccc, _mm512_add_epi8(sc, sc)));
}
/* Where a pair of bits, at 2 j of each byte, stands in these tables. */
INLINE __m512i pair_entries(__m512i x, int j)
{
    const __m512i row = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
    return or_masked(row, shift(x, 2 * j), _mm512_set1_epi8(3));
}

/* Mins are 4-bit multiples of dmin: a pair of them, of columns 0-15 and 16-31, meets the pair of the activations' sums. */
static void unpack_q2_k(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    const __m512i head = unit(p, 0, true);
    const __m512 d = first_halves(head), dmin = second_halves(head);
    const unsigned char *q = p + 5 * 64;
    (void)n;
#pragma GCC unroll 8
    for (unsigned b = 0; b < 8; b++) {
        const __m512i x = unit(p + 64, b / 2, true), sc = low_nibbles(x), mn = high_nibbles(x);
        const __m512i pair = _mm512_srli_epi32(mn, b % 2 ? 16 : 0);
        put_meta(&dst[b], h, META_SCALE, d);
        put_meta(&dst[b], h, META_MIN, dmin);
        const __m512i lo = _mm512_and_si512(pair, _mm512_set1_epi32(15));
        put_meta(&dst[b], h, META_MINS, vi_floats(or_masked(lo, _mm512_slli_epi32(pair, 8), _mm512_set1_epi32(15 << 16))));
        const __m512i t[2] = { times_0123(byte_4(sc, b % 2 * 2)), times_0123(byte_4(sc, b % 2 * 2 + 1)) };
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++)
            put(&dst[b], h, i, _mm512_shuffle_epi8(t[i / 4], pair_entries(unit(q, b / 4 * 8 + i, true), (int)b % 4)));
    }
}

/*
 * sc * (q - 4), sc in -32..31, is in -124..128: its negative plus 128 is a byte, and the scale is -d. q - 4 is the pair
 * of bits where the third bit is set, else 4 less.
 */
static void unpack_q3_k(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    const __m512i bias = _mm512_set1_epi8(-128), pair = _mm512_set1_epi8(0x30), sc_bias = _mm512_set1_epi8(32);
    const __m512 d = _mm512_sub_ps(_mm512_setzero_ps(), halves(p));
    const unsigned char *sc = p + 32, *high = sc + 3 * 64, *q = high + 8 * 64;
    (void)n;
#pragma GCC unroll 8
    for (unsigned b = 0; b < 8; b++) { /* scales 4 a and on, a = b / 2: nibbles a / 2 of unit a % 2, pairs a of unit 2 */
        const __m512i x = unit(sc, b / 2 % 2, true), low = b / 4 ? high_nibbles(x) : low_nibbles(x);
        const __m512i s = _mm512_sub_epi8(or_masked(low, shift(unit(sc, 2, true), (int)(b / 2) * 2 - 4), pair), sc_bias);
        put_meta(&dst[b], h, META_SCALE, d);
        __m512i t[2], four[2];
#pragma GCC unroll 2
        for (unsigned g = 0; g < 2; g++) {
            const __m512i s4 = byte_4(s, b % 2 * 2 + g);
            t[g] = _mm512_sub_epi8(bias, times_0123(s4));
            four[g] = _mm512_slli_epi16(_mm512_and_si512(s4, _mm512_set1_epi8(63)), 2);
        }
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            const __m512i w = _mm512_shuffle_epi8(t[i / 4], pair_entries(unit(q, b / 4 * 8 + i, true), (int)b % 4));
            const __mmask64 less = _mm512_testn_epi8_mask(unit(high, i, true), _mm512_set1_epi8((char)(1 << b)));
            put(&dst[b], h, i, _mm512_mask_add_epi8(w, less, w, four[i / 4]));
        }
    }
}

const struct panel_format panel_q2_k = { 256, 84, PANEL_2_MINS, 0, unpack_q2_k, NULL, NULL, NULL, PLACE_PANEL, 0 };
const struct panel_format panel_q3_k = { 256, 110, PANEL_32, 128, unpack_q3_k, NULL, NULL, NULL, PLACE_PANEL, 0 };
const struct panel_format panel_q4_k = { 256, 144, PANEL_8_MINS, 0, unpack_q4_k, scales_q4_k, NULL, scales_mins_k, PLACE_NIBBLES_K, IN_PLACE_TOK };
const struct panel_format panel_q4_k_two_ports = { 256, 144, PANEL_8_MINS, 0, unpack_q4_k, scales_q4_k, NULL, scales_mins_k, PLACE_NIBBLES_K, 0 };
const struct panel_format panel_q5_k = { 256, 176, PANEL_8_MINS, 0, unpack_q5_k, scales_q5_k, NULL, scales_mins_k, PLACE_FIVES_K, 0 };
const struct panel_format panel_q6_k = { 256, 210, PANEL_16, 32, unpack_q6_k, scales_q6_k, pairs_q6_k, scales_q6_k, PLACE_SIXES, 0 };
const struct panel_format panel_q6_k_two_ports = { 256, 210, PANEL_16, 32, unpack_q6_k, scales_q6_k, NULL, scales_q6_k, PLACE_SIXES, 0 };
const struct panel_format panel_iq4_xs = { 256, 136, PANEL_32, IQ4_BIAS, unpack_iq4_xs, scales_iq4_xs, NULL, scales_iq4_xs, PLACE_NL_K, 0 };
