/*
 * avx512vnni/packed_k.c: packed formats (pack.h) with blocks of 256: their decode (packed_gemv_k.h), and what tiles read of them
 * (packed.h), for which such a block is 8 of 32. Values: methods.md (1)
 */
#include "kernels/avx512vnni/packed_gemv_k.h"
#include "kernels/avx512vnni/packed_place.h"

/* ==== decode ============================================================================ */

/* ---- bytes of sub-scales ------------------------------------------------------------------ */

/* Byte i of each row's word, as an int. */
INLINE __m512i byte_of(__m512i v, int i)
{
    const __m128i row = _mm_setr_epi8(0, -1, -1, -1, 4, -1, -1, -1, 8, -1, -1, -1, 12, -1, -1, -1);
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_add_epi8(row, _mm_setr_epi32(i, i, i, i))));
}
/* The same, signed, times 2^24. */
INLINE __m512i signed_byte_of(__m512i v, int i)
{
    const __m128i row = _mm_setr_epi8(-1, -1, -1, 0, -1, -1, -1, 4, -1, -1, -1, 8, -1, -1, -1, 12);
    const int top = i << 24;
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_add_epi8(row, _mm_setr_epi32(top, top, top, top))));
}

INLINE __m512 scale_unsigned(const struct kscales *k, unsigned i)
{
    return _mm512_cvtepi32_ps(byte_of(k->scale[i / 4], (int)i % 4));
}
/* A block's scale for them. */
INLINE __m512 signed_scale(const unsigned char *p)
{
    return _mm512_mul_ps(f16_rows(p), _mm512_set1_ps(0x1p-24f));
}
INLINE __m512 scale_signed(const struct kscales *k, unsigned i)
{
    return _mm512_cvtepi32_ps(signed_byte_of(k->scale[i / 4], (int)i % 4));
}
INLINE __m512i min_unsigned(const struct kscales *k, unsigned s)
{
    return byte_of(k->min[s / 4], (int)s % 4);
}

/* v shifted right by n bits, left where n is negative; bits of neighbours come along. */
INLINE __m512i shift_right(__m512i v, int n)
{
    return n > 0 ? _mm512_srli_epi16(v, (unsigned)n) : n < 0 ? _mm512_slli_epi16(v, (unsigned)-n) : v;
}

INLINE __m512i bytes(int x)
{
    return _mm512_set1_epi8((char)x);
}

/* ---- Q4_K, Q5_K: d, dmin; 6-bit scales and mins as k_scales() has them ---------------------- */

INLINE void load_45(const unsigned char *p, struct kscales *k)
{
    const __m512i low = bytes(15), six = bytes(63);
    f16_pairs(p, &k->d, &k->dmin);
    __m512i a = load_unit(p, 1), b = load_unit(p, 2), c = load_unit(p, 3);
    k->scale[0] = _mm512_and_si512(a, six);
    k->min[0] = _mm512_and_si512(b, six);
    k->scale[1] = _mm512_and_si512(bits_select(low, c, shift_right(a, 2)), six);
    k->min[1] = _mm512_and_si512(bits_select(low, shift_right(c, 4), shift_right(b, 2)), six);
}

/* 32 bytes of nibbles: low ones are sub-block 2c, high ones 2c + 1, in place. */
INLINE void weights_q4_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++)
        w[u] = _mm512_and_si512(load_unit(p + 256, (int)(s / 2 * 8) + u),
                                bytes(s % 2 ? 0xf0 : 15));
}

/* Sub-blocks 2c and 2c + 1 of the four share lines; each sum in two parts, half as long a chain. */
INLINE void four_q4_k(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                      int n_tok, enum ahead ahead, struct sub_dots d[4])
{
    (void)k;
#pragma GCC unroll 2
    for (unsigned c = 0; c < 2; c++) {
        struct sub_dots *const low = &d[2 * c], *const high = low + 1;
#pragma GCC unroll 8
        for (int u = 0; u < 8; u++) {
            prefetch_step(p, ahead, Q4_K_BYTES * PACK_ROWS / 64, half, 8 * c + (unsigned)u, 16);
            const __m512i a = load_unit(p + 256, (int)(2 * half + c) * 8 + u);
            dots_add(low, _mm512_and_si512(a, bytes(15)), x, b + 2 * c, u, n_tok);
            dots_add(high, _mm512_and_si512(a, bytes(0xf0)), x, b + 2 * c + 1, u, n_tok);
        }
#pragma GCC unroll 8
        for (int t = 0; t < n_tok; t++) {
            low->v[0][t] = _mm512_add_epi32(low->v[0][t], low->v[1][t]);
            high->v[0][t] = _mm512_add_epi32(high->v[0][t], high->v[1][t]);
        }
    }
}

/* Bit s of byte l of the first 32 is the fifth of element l of sub-block s. */
INLINE void weights_q5_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        __m512i a = load_unit(p + 768, (int)(s / 2 * 8) + u), h = load_unit(p + 256, u);
        a = bits_select(bytes(15), shift_right(a, s % 2 ? 4 : 0), shift_right(h, (int)s - 4));
        w[u] = _mm512_and_si512(a, bytes(31));
    }
}

/* ---- IQ4_XS: d, upper bits of the scales, then their nibbles -------------------------------- */

INLINE void load_iq4_xs(const unsigned char *p, struct kscales *k)
{
    __m512 none;
    f16_pairs(p, &k->d, &none);
    k->scale[0] = load_unit(p, 1);                         /* nibble s at bit 4s */
    k->scale[1] = _mm512_srli_epi32(load_unit(p, 0), 12); /* pair s at bit 2s + 4 */
}

INLINE __m512 scale_iq4_xs(const struct kscales *k, unsigned s)
{
    __m512i lo = _mm512_srli_epi32(k->scale[0], 4 * s);
    __m512i hi = _mm512_srli_epi32(k->scale[1], 2 * s);
    __m512i v = bits_select(_mm512_set1_epi32(15), lo, hi);
    v = _mm512_and_si512(v, _mm512_set1_epi32(63));
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(v, _mm512_set1_epi32(32)));
}

INLINE void weights_iq4_xs(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
    const __m512i table = _mm512_broadcast_i32x4(iq4_biased());
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++) {
        __m512i a = load_unit(p + 128, (int)(4 * s) + u);
        w[u] = _mm512_shuffle_epi8(table, _mm512_and_si512(a, bytes(15)));
        w[u + 4] = _mm512_shuffle_epi8(table, _mm512_and_si512(shift_right(a, 4), bytes(15)));
    }
}

/* ---- Q2_K: d, dmin; bytes of a 4-bit scale and a 4-bit min; bit pairs, in place -------------- */

INLINE void load_q2_k(const unsigned char *p, struct kscales *k)
{
    f16_pairs(p, &k->d, &k->dmin);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        k->scale[i] = load_unit(p, 1 + i);
        k->min[i] = _mm512_and_si512(shift_right(k->scale[i], 4), bytes(15));
    }
}

/* A permutation looks at four bits of its index: a table of 16 floats converts them. */
INLINE __m512 scale_q2_k(const struct kscales *k, unsigned i)
{
    const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_permutexvar_ps(_mm512_srli_epi32(k->scale[i / 4], 8 * (i % 4)), table);
}

INLINE __m512i min_q2_k(const struct kscales *k, unsigned s)
{
    const __m128i even = _mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1);
    const __m128i odd = _mm_setr_epi8(2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15, -1);
    return _mm512_shuffle_epi8(k->min[s / 2], _mm512_broadcast_i32x4(s % 2 ? odd : even));
}

/* Pair s % 4 of the bytes of half s / 4. */
INLINE void weights_q2_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++)
        w[u] = _mm512_and_si512(load_unit(p + 320, (int)(s / 4 * 8) + u),
                                bytes(3 << 2 * (s % 4)));
}

/* Sub-block j of four: pair j. */
INLINE void four_q2_k(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                      int n_tok, enum ahead ahead, struct sub_dots d[4])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        prefetch_step(p, ahead, Q2_K_BYTES * PACK_ROWS / 64, half, (unsigned)u, 8);
        const __m512i a = load_unit(p + 320, (int)half * 8 + u);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            dots_add(&d[j], _mm512_and_si512(a, bytes(3 << 2 * j)), x, b + (size_t)j, u, n_tok);
    }
}

/* ---- Q3_K: d; scales as q3_k_scales() has them; third bits; bit pairs ------------------------ */

/* Lower nibbles of bytes: bits 0 to 3 to bits 2, 4, 6, 5, above the pairs they belong to. */
INLINE __m512i third_bits(__m512i v)
{
    const __m512i places = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 4, 16, 20, 64, 68, 80, 84, 32, 36, 48, 52, 96, 100, 112, 116));
    return _mm512_shuffle_epi8(places, _mm512_and_si512(v, bytes(15)));
}

INLINE void load_q3_k(const unsigned char *p, struct kscales *k)
{
    k->d = k->dmin = signed_scale(p);
    const __m512i a = _mm512_loadu_si512(p + 32), b = _mm512_loadu_si512(p + 96);
    const __m512i h = _mm512_loadu_si512(p + 160);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512i lo = shift_right(i % 2 ? b : a, i / 2 * 4);
        __m512i v = bits_select(bytes(15), lo, shift_right(h, 2 * i - 4));
        k->scale[i] = _mm512_sub_epi8(_mm512_and_si512(v, bytes(63)), bytes(32));
    }
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        const __m512i t = load_unit(p + 224, u);
        k->third[0][u] = third_bits(t);
        k->third[1][u] = third_bits(shift_right(t, 4));
    }
}

/* Pair s % 4 of the bytes of half s / 4 stays in place, the last moves down to bits 3 and 4. */
INLINE void weights_q3_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    const int at = s % 4 < 3 ? 2 * (int)(s % 4) : 3;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        __m512i a = shift_right(load_unit(p + 736, (int)(s / 4 * 8) + u), s % 4 == 3 ? 3 : 0);
        a = bits_select(bytes(3 << at), a, k->third[s / 4][u]);
        w[u] = _mm512_and_si512(a, bytes(7 << at));
    }
}

/* Sub-block j of four: pair j of the bytes, where it stands, the last moved down to bits 3 and 4; the third bit above. */
INLINE void four_q3_k(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                      int n_tok, enum ahead ahead, struct sub_dots d[4])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        prefetch_step(p, ahead, Q3_K_BYTES * PACK_ROWS / 64, half, (unsigned)u, 8);
        const __m512i third = third_bits(shift_right(load_unit(p + 224, u), 4 * (int)half));
        const __m512i a = load_unit(p + 736, (int)half * 8 + u);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            const int at = j < 3 ? 2 * j : 3;
            __m512i w = bits_select(bytes(3 << at), j < 3 ? a : shift_right(a, 3), third);
            dots_add(&d[j], _mm512_and_si512(w, bytes(7 << at)), x, b + (size_t)j, u, n_tok);
        }
    }
}

/* ---- Q6_K: d; signed bytes; pack.h's sixes ---------------------------------------------------- */

INLINE void load_q6_k(const unsigned char *p, struct kscales *k)
{
    k->d = k->dmin = signed_scale(p);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        k->scale[i] = _mm512_loadu_si512(p + 32 + 64 * i);
}

/* The last of four sub-blocks, times 4: what the lines of the other three have above their six bits. */
INLINE __m512i sixes_above(__m512i a, __m512i b, __m512i c)
{
    const __m512i rest = bits_select(bytes(0xf0), shift_right(b, 2), shift_right(c, 4));
    return _mm512_and_si512(bits_select(bytes(0xc0), a, rest), bytes(0xfc));
}

INLINE void weights_q6_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
    const unsigned char *half = p + 288 + s / 4 * 1536;
    const int j = (int)(s % 4);
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++)
        w[u] = j < 3 ? _mm512_and_si512(load_unit(half, 3 * u + j), bytes(63))
                     : sixes_above(load_unit(half, 3 * u), load_unit(half, 3 * u + 1), load_unit(half, 3 * u + 2));
}

INLINE void four_q6_k(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                      int n_tok, enum ahead ahead, struct sub_dots d[4])
{
    (void)k;
    const unsigned char *at = p + 288 + half * 1536;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        prefetch_step(p, ahead, Q6_K_BYTES * PACK_ROWS / 64, half, (unsigned)u, 8);
        __m512i line[3];
#pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            line[j] = load_unit(at, 3 * u + j);
            dots_add(&d[j], _mm512_and_si512(line[j], bytes(63)), x, b + (size_t)j, u, n_tok);
        }
        dots_add(&d[3], sixes_above(line[0], line[1], line[2]), x, b + 3, u, n_tok);
    }
}

/* ---- functions of formats -------------------------------------------------------------- */

/* Decode by prefetch policy: default; CPU_HW_PREFETCH; CPU_SW_PREFETCH. On CPU_HW_PREFETCH Q2_K, Q3_K and Q5_K, whose lines are not read in order,
 * always prefetch, the others from three tokens on (packed_32.c). */

/* clang-format off */
#define Q2_K .block_bytes = Q2_K_BYTES, .halves = true, .acts = { .shift = { 1, 4, 16, 64, 1, 4, 16, 64 } }, .load = load_q2_k, \
            .weights = weights_q2_k, .four = four_q2_k, .four_tok = 1, .scale = scale_q2_k, .min = min_q2_k
GEMV(q2_k, VNNI_BATCH_MOST, AHEAD_PAIR_CLOSE, AHEAD_PAIR_CLOSE, Q2_K)
GEMV(streams_q2_k, VNNI_BATCH_MOST, AHEAD_FAR, AHEAD_FAR, Q2_K)
GEMV(once_q2_k, VNNI_BATCH_TOK, AHEAD_ONCE, AHEAD_ONCE, Q2_K)
#define Q3_K .block_bytes = Q3_K_BYTES, .halves = true, .acts = { .bias = 4, .halves = true, .shift = { 1, 4, 16, 8, 1, 4, 16, 8 } }, \
            .load = load_q3_k, .weights = weights_q3_k, .four = four_q3_k, .four_tok = 1, .scale = scale_signed
GEMV(q3_k, VNNI_BATCH_MOST, AHEAD_PAIR_CLOSE, AHEAD_PAIR_CLOSE, Q3_K)
GEMV(streams_q3_k, VNNI_BATCH_MOST, AHEAD_FAR, AHEAD_FAR, Q3_K)
GEMV(once_q3_k, VNNI_BATCH_TOK, AHEAD_ONCE, AHEAD_ONCE, Q3_K)
#define Q4_K .block_bytes = Q4_K_BYTES, .acts = { .mins = true, .shift = { 1, 16, 1, 16, 1, 16, 1, 16 } }, .load = load_45, \
            .weights = weights_q4_k, .scale = scale_unsigned, .min = min_unsigned
GEMV(q4_k, VNNI_BATCH_TOK, AHEAD_PAIR_CLOSE, AHEAD_PAIR_CLOSE, Q4_K)
GEMV(far_q4_k, VNNI_BATCH_TOK, AHEAD_FAR, AHEAD_FAR, Q4_K)
GEMV_STREAMS(streams_q4_k, far_q4_k, Q4_K)
GEMV(once_q4_k, VNNI_BATCH_TOK, AHEAD_ONCE, AHEAD_ONCE, Q4_K, .four = four_q4_k, .four_tok = 2)
#define Q5_K .block_bytes = Q5_K_BYTES, .acts = { .mins = true }, .load = load_45, .weights = weights_q5_k, .scale = scale_unsigned, \
            .min = min_unsigned
GEMV(q5_k, VNNI_BATCH_MOST, AHEAD_PAIR_CLOSE, AHEAD_PAIR_CLOSE, Q5_K)
GEMV(streams_q5_k, VNNI_BATCH_MOST, AHEAD_FAR_CLOSE, AHEAD_FAR, Q5_K)
GEMV(once_q5_k, VNNI_BATCH_TOK, AHEAD_ONCE_FAR, AHEAD_ONCE_FAR, Q5_K)
#define Q6_K .block_bytes = Q6_K_BYTES, .halves = true, .acts = { .bias = 32, .halves = true, .shift = { 1, 1, 1, 4, 1, 1, 1, 4 } }, \
            .load = load_q6_k, .weights = weights_q6_k, .four = four_q6_k, .four_tok = 2, .scale = scale_signed
GEMV(q6_k, VNNI_BATCH_MOST, AHEAD_PAIR_CLOSE, AHEAD_PAIR_CLOSE, Q6_K)
GEMV(far_q6_k, VNNI_BATCH_MOST, AHEAD_FAR, AHEAD_FAR, Q6_K)
GEMV_STREAMS(streams_q6_k, far_q6_k, Q6_K)
GEMV(once_q6_k, VNNI_BATCH_TOK, AHEAD_ONCE, AHEAD_ONCE, Q6_K)
#define IQ4_XS .block_bytes = IQ4_XS_BYTES, .acts = { .bias = IQ4_BIAS }, .load = load_iq4_xs, .weights = weights_iq4_xs, .scale = scale_iq4_xs
GEMV(iq4_xs, VNNI_BATCH_MOST, AHEAD_PAIR_CLOSE, AHEAD_PAIR_CLOSE, IQ4_XS)
GEMV(far_iq4_xs, VNNI_BATCH_MOST, AHEAD_FAR, AHEAD_FAR, IQ4_XS)
GEMV_STREAMS(streams_iq4_xs, far_iq4_xs, IQ4_XS)
GEMV(once_iq4_xs, VNNI_BATCH_TOK, AHEAD_ONCE, AHEAD_ONCE, IQ4_XS)
/* clang-format on */

/* ==== tiles; n is always 8 ================================================================= */

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
    const __m512i sc[2] = { _mm512_and_si512(a, six), or_masked(low_nibbles(c), shift_right(a, 2), pair) };
    const __m512i mn[2] = { _mm512_and_si512(b, six), or_masked(high_nibbles(c), shift_right(b, 2), pair) };
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
    return or_masked(row, shift_right(x, 2 * j), _mm512_set1_epi8(3));
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
        const __m512i s = _mm512_sub_epi8(or_masked(low, shift_right(unit(sc, 2, true), (int)(b / 2) * 2 - 4), pair), sc_bias);
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

/* ==== formats =========================================================================== */

const struct vnni_packed *vnni_packed_k(enum dtype type)
{
    static const struct vnni_packed formats[DTYPE_COUNT] = {
        [DTYPE_Q2_K] = { gemv_q2_k, gemv_streams_q2_k, gemv_once_q2_k, VNNI_BATCH_MOST,
            .panel = { PANEL_2_MINS, 0, unpack_q2_k, NULL, NULL, NULL, PLACE_PANEL, 0 } },
        [DTYPE_Q3_K] = { gemv_q3_k, gemv_streams_q3_k, gemv_once_q3_k, VNNI_BATCH_MOST,
            .panel = { PANEL_32, 128, unpack_q3_k, NULL, NULL, NULL, PLACE_PANEL, 0 } },
        [DTYPE_Q4_K] = { gemv_q4_k, gemv_streams_q4_k, gemv_once_q4_k, VNNI_BATCH_TOK,
            .panel = { PANEL_8_MINS, 0, unpack_q4_k, scales_q4_k, NULL, scales_mins_k, PLACE_NIBBLES_K, IN_PLACE_TOK },
            .two_ports = { PANEL_8_MINS, 0, unpack_q4_k, scales_q4_k, NULL, scales_mins_k, PLACE_NIBBLES_K, 0 } },
        [DTYPE_Q5_K] = { gemv_q5_k, gemv_streams_q5_k, gemv_once_q5_k, VNNI_BATCH_MOST,
            .panel = { PANEL_8_MINS, 0, unpack_q5_k, scales_q5_k, NULL, scales_mins_k, PLACE_FIVES_K, 0 } },
        [DTYPE_Q6_K] = { gemv_q6_k, gemv_streams_q6_k, gemv_once_q6_k, VNNI_BATCH_MOST,
            .panel = { PANEL_16, 32, unpack_q6_k, scales_q6_k, pairs_q6_k, scales_q6_k, PLACE_SIXES, 0 },
            .two_ports = { PANEL_16, 32, unpack_q6_k, scales_q6_k, NULL, scales_q6_k, PLACE_SIXES, 0 } },
        [DTYPE_IQ4_XS] = { gemv_iq4_xs, gemv_streams_iq4_xs, gemv_once_iq4_xs, VNNI_BATCH_MOST,
            .panel = { PANEL_32, IQ4_BIAS, unpack_iq4_xs, scales_iq4_xs, NULL, scales_iq4_xs, PLACE_NL_K, 0 } },
    };
    return formats[type].gemv ? &formats[type] : NULL;
}
