/*
 * avx512vnni/packed_32.c: packed formats (pack.h) with blocks of 32: their decode (packed_gemv32.h), and what tiles read of them
 * (packed.h). Values: methods.md (1)
 */
#include "kernels/avx512vnni/packed_gemv32.h"
#include "kernels/avx512vnni/packed_place.h"

/* ==== decode ============================================================================ */

/* ---- scales ---------------------------------------------------------------------------- */

INLINE void scales_f16(const unsigned char *p, __m512 *d, __m512 *m)
{
    (void)m;
    *d = f16_rows(p);
}

/* Powers 2^(e - 127), of which d_quant takes the halves: 0 stands for a subnormal, 255 for NaN,
 * which infinity * 0 is. */
INLINE void scales_e8m0(const unsigned char *p, __m512 *d, __m512 *m)
{
    (void)m;
    __m512i e = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
    e = _mm512_max_epu32(_mm512_slli_epi32(e, 23), _mm512_set1_epi32(0x00400000));
    __m512 v = _mm512_castsi512_ps(e);
    *d = _mm512_fmadd_ps(v, _mm512_setzero_ps(), v);
}

/* ---- weights --------------------------------------------------------------------------- */

INLINE void units_8(const unsigned char *p, int u, __m512i *w, __m512i *w4)
{
    *w = load_unit(p, u);
    *w4 = load_unit(p, u + 4);
}

/* High nibbles stay in place. */
INLINE void units_4(const unsigned char *p, int u, __m512i *w, __m512i *w4)
{
    const __m512i a = load_unit(p, u);
    *w = _mm512_and_si512(a, _mm512_set1_epi8(15));
    *w4 = _mm512_and_si512(a, _mm512_set1_epi8(-16));
}

/* Entries of a table of bytes. */
INLINE void units_table(const unsigned char *p, int u, __m128i entries, __m512i *w, __m512i *w4)
{
    const __m512i low = _mm512_set1_epi8(15), table = _mm512_broadcast_i32x4(entries), a = load_unit(p, u);
    *w = _mm512_shuffle_epi8(table, _mm512_and_si512(a, low));
    *w4 = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(a, 4), low));
}

INLINE void units_iq4(const unsigned char *p, int u, __m512i *w, __m512i *w4)
{
    units_table(p, u, iq4_biased(), w, w4);
}

INLINE void units_e2m1(const unsigned char *p, int u, __m512i *w, __m512i *w4)
{
    units_table(p, u, e2m1_biased(), w, w4);
}

/* Fifth bits, a line before the nibbles: bit i of a row's word belongs to element i. Four bits become the bits 4 of
 * four bytes by a table of 16 words. */
INLINE void units_5(const unsigned char *p, int u, __m512i *w, __m512i *w4)
{
    const __m512i low = _mm512_set1_epi8(15);
    const __m512i spread = _mm512_setr_epi32(
        0x00000000, 0x00000010, 0x00001000, 0x00001010, 0x00100000, 0x00100010, 0x00101000,
        0x00101010, 0x10000000, 0x10000010, 0x10001000, 0x10001010, 0x10100000, 0x10100010,
        0x10101000, 0x10101010);
    const __m512i bits = _mm512_loadu_si512(p), a = load_unit(p + 64, u);
    __m512i h0 = _mm512_permutexvar_epi32(_mm512_srli_epi32(bits, 4 * u), spread);
    __m512i h1 = _mm512_permutexvar_epi32(_mm512_srli_epi32(bits, 4 * u + 16), spread);
    *w = bits_select(low, a, h0);
    *w4 = bits_select(low, _mm512_srli_epi16(a, 4), h1);
}

/* ---- functions of formats -------------------------------------------------------------- */

/* Decode by prefetch policy: default; CPU_HW_PREFETCH, without prefetch for one and two tokens; CPU_SW_PREFETCH. From three tokens on the arithmetic
 * between two lines exceeds the reach of hardware prefetch: Zen 4, from DRAM, % of plain loads, 3 tokens, without and with: Q4_0 87 and
 * 98, Q4_K 84 and 98. Q8_0 prefetches into L2 alone there, as L1 has too few miss buffers for its rate: one thread, GB/s of 3, 4, 5, 6
 * tokens into both 24, 21, 24, 24, into L2 26, 24, 27, 27. */
#define GEMVS(name, most, ...)                                                           \
    GEMV(name, most, AHEAD_PAIR, AHEAD_PAIR, __VA_ARGS__)                                \
    GEMV(far_##name, most, AHEAD_FAR, AHEAD_FAR, __VA_ARGS__)                            \
    GEMV_STREAMS(streams_##name, far_##name, __VA_ARGS__)                                \
    GEMV(once_##name, VNNI_BATCH_TOK, AHEAD_ONCE, AHEAD_ONCE, __VA_ARGS__, .once = true)

/* The table has twice the numbers of MXFP4. */
#define TWICE { 2, 2, 2, 2, 2, 2, 2, 2 }

/* clang-format off */
#define Q8_0 .block_bytes = Q8_0_BYTES, .scale_bytes = 2, .run = 2, .acts = { .bias = 128 }, .units = units_8, .scales = scales_f16
GEMV(q8_0, VNNI_BATCH_TOK, AHEAD_PAIR, AHEAD_PAIR, Q8_0)
GEMV(l2_q8_0, VNNI_BATCH_TOK, AHEAD_L2, AHEAD_L2, Q8_0)
GEMV_STREAMS(streams_q8_0, l2_q8_0, Q8_0, .touched = true)
GEMV(asked_q8_0, VNNI_BATCH_TOK, AHEAD_ONCE, AHEAD_ONCE, Q8_0)
/* CPU_SW_PREFETCH: no prefetch for one token. */
static void gemv_once_q8_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    if (a->x->n_tok > 1)
        gemv_asked_q8_0(a, row0, row1);
    else
        packed_rows(a, row0, row1, 1, (gemv_format){ Q8_0, .ahead = AHEAD_ALONE });
}
GEMVS(q4_0, VNNI_BATCH_TOK, .block_bytes = Q4_0_BYTES, .scale_bytes = 2, .run = 2, .high_first = true, .acts = { .bias = 8 * 16 },
      .units = units_4, .scales = scales_f16)
GEMVS(q4_1, VNNI_BATCH_MOST, .block_bytes = Q4_1_BYTES, .scale_bytes = 4, .run = 2, .high_first = true, .apart = true,
      .has_min = true, .acts = { .mins = true }, .units = units_4, .scales = f16_pairs)
GEMVS(q5_0, VNNI_BATCH_MOST, .block_bytes = Q5_0_BYTES, .scale_bytes = 2, .run = 2, .acts = { .bias = 16 }, .fifth_bits = true,
      .units = units_5, .scales = scales_f16)
GEMVS(q5_1, VNNI_BATCH_MOST, .block_bytes = Q5_1_BYTES, .scale_bytes = 4, .run = 2, .apart = true, .has_min = true,
      .acts = { .mins = true }, .fifth_bits = true, .units = units_5, .scales = f16_pairs)
GEMVS(iq4_nl, VNNI_BATCH_MOST, .block_bytes = IQ4_NL_BYTES, .scale_bytes = 2, .run = 2, .acts = { .bias = IQ4_BIAS },
      .units = units_iq4, .scales = scales_f16)
GEMVS(mxfp4, VNNI_BATCH_TOK, .block_bytes = MXFP4_BYTES, .scale_bytes = 1, .run = 4, .acts = { .bias = E2M1_BIAS / 2,
      .shift = TWICE }, .units = units_e2m1, .scales = scales_e8m0)
/* clang-format on */

/* ==== tiles ============================================================================= */

/* The halves of two blocks precede the weights of both, `units` units each. */
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
/* Those of up to four blocks precede their weights. */
static void scales_mxfp4(const unsigned char *p, size_t n, struct panel_block *dst, size_t h)
{
    for (size_t b = 0; b < n; b += 4, p += 4 * MXFP4_BYTES * PACK_ROWS)
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

/* ==== formats =========================================================================== */

const struct vnni_packed *vnni_packed_32(enum dtype type)
{
    static const struct vnni_packed formats[DTYPE_COUNT] = {
        [DTYPE_Q8_0] = { gemv_q8_0, gemv_streams_q8_0, gemv_once_q8_0, VNNI_BATCH_TOK,
            .panel = { PANEL_32, 128, unpack_q8_0, scales_q8_0, NULL, scales_q8_0, PLACE_BYTES, IN_PLACE_TOK } },
        [DTYPE_Q4_0] = { gemv_q4_0, gemv_streams_q4_0, gemv_once_q4_0, VNNI_BATCH_TOK,
            .panel = { PANEL_32, 8, unpack_q4_0, scales_q4_0, NULL, scales_q4_0, PLACE_NIBBLES, IN_PLACE_TOK },
            .two_ports = { PANEL_32, 8, unpack_q4_0, scales_q4_0, NULL, scales_q4_0, PLACE_NIBBLES, 0 } },
        [DTYPE_Q4_1] = { gemv_q4_1, gemv_streams_q4_1, gemv_once_q4_1, VNNI_BATCH_MOST,
            .panel = { PANEL_32_MIN, 0, unpack_q4_1, scales_q4_1, NULL, scales_q4_1, PLACE_NIBBLES_1, 0 } },
        [DTYPE_Q5_0] = { gemv_q5_0, gemv_streams_q5_0, gemv_once_q5_0, VNNI_BATCH_MOST,
            .panel = { PANEL_32, 16, unpack_q5_0, scales_q5_0, NULL, scales_q5_0, PLACE_FIVES, 0 } },
        [DTYPE_Q5_1] = { gemv_q5_1, gemv_streams_q5_1, gemv_once_q5_1, VNNI_BATCH_MOST,
            .panel = { PANEL_32_MIN, 0, unpack_q5_1, scales_q5_1, NULL, scales_q5_1, PLACE_FIVES_1, 0 } },
        [DTYPE_IQ4_NL] = { gemv_iq4_nl, gemv_streams_iq4_nl, gemv_once_iq4_nl, VNNI_BATCH_MOST,
            .panel = { PANEL_32, IQ4_BIAS, unpack_iq4_nl, scales_q4_0, NULL, scales_q4_0, PLACE_NL, 0 } },
        [DTYPE_MXFP4] = { gemv_mxfp4, gemv_streams_mxfp4, gemv_once_mxfp4, VNNI_BATCH_TOK,
            .panel = { PANEL_32, E2M1_BIAS, unpack_mxfp4, scales_mxfp4, NULL, scales_mxfp4, PLACE_E2M1, 0 } },
    };
    return formats[type].gemv ? &formats[type] : NULL;
}
