/*
 * avx512vnni/packed_gemv32.c: decode from packed weights in blocks of 32: Q8_0, Q4_0, Q4_1,
 * Q5_0, Q5_1, IQ4_NL, MXFP4. Values of blocks: methods.md (1), layout: pack.h.
 */
#include "kernels/avx512vnni/packed_gemv_rows.h"

struct packed32 {
    unsigned block_bytes; /* of a row */
    unsigned scale_bytes; /* of its first field */
    unsigned run;         /* blocks a step */
    bool apart;           /* each block of a run begins with its own scales */
    bool has_min;
    bool high_first; /* units 4-7 are 16 times too large, and so is the start */
    bool once;       /* for CPU_SW_PREFETCH: one token by block32_once, and units 4-7 have a sum of their own: two chains, half as long */
    bool touched;    /* of one token: lines are touched before they are loaded */
    enum ahead ahead;
    struct act_format acts;
    /* Of a block whose fields after the first begin at p: units u and u + 4, which share a line where types have fewer than 8 bits. */
    void (*units)(const unsigned char *p, int u, __m512i *w, __m512i *w4);
    bool fifth_bits; /* of all units: a line at p, before theirs */
    /* Scales, and mins to be added, the first field of the block at p. */
    void (*scales)(const unsigned char *p, __m512 *d, __m512 *m);
};

/* Both halves of each of 8 lines: Zen 4 fetches further ahead where a line is asked for more than once. Plain loads of 32 bytes are
 * 5 % faster from DRAM than those of 64. Q8_0, which computes little between two lines, one thread, % of the probe, medians of 16
 * and quartiles: 90 (88-93) without, 93 (92-95) with. Types of fewer bits stay or lose. */
INLINE void touch_lines(const unsigned char *p)
{
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        (void)*(const volatile int32_t *)(p + 64 * u);
        (void)*(const volatile int32_t *)(p + 64 * u + 32);
    }
}

/* A block's dots to its sums: dot, of floats' scales d and mins m. */
INLINE void add_block32(__m512i dot, __m512 d, __m512 m, const struct row_acts *x, size_t b, const struct packed32 f, __m512 *y)
{
    const __m512 s = _mm512_mul_ps(d, _mm512_set1_ps(x->d_quant[b]));
    *y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), s, *y);
    if (f.has_min)
        *y = _mm512_fmadd_ps(m, _mm512_set1_ps(x->xsum[b]), *y);
}

INLINE __m512i start32(const struct row_acts *x, size_t b, const struct packed32 f)
{
    return f.acts.bias ? _mm512_set1_epi32(x->start[b]) : _mm512_setzero_si512();
}

INLINE void block32(const unsigned char *scale, const unsigned char *values,
                    const struct row_acts *x, size_t b, int n_tok, const struct packed32 f,
                    __m512 *y)
{
    __m512i w[8];
    __m512 d, m = _mm512_setzero_ps();
    if (f.touched && n_tok == 1)
        touch_lines(values);
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++)
        f.units(values, u, &w[u], &w[u + 4]);
    f.scales(scale, &d, &m);
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++) {
        const int8_t *q = x[t].q + 32 * b;
        __m512i dot = start32(&x[t], b, f);
        if (f.high_first) {
            dot = _mm512_srai_epi32(dot_units(dot, w + 4, q + 16, 4), 4);
            if (f.once)
                dot = _mm512_add_epi32(dot, dot_units(_mm512_setzero_si512(), w, q, 4));
            else
                dot = dot_units(dot, w, q, 4);
        } else {
            dot = dot_units(dot, w, q, 8);
        }
        add_block32(dot, d, m, &x[t], b, f, &y[t]);
    }
}

/* Asks for the line that is to come where the one at p is loaded; the compiler must not gather these. */
INLINE void ask_line(const unsigned char *p)
{
    PREFETCH_LINE_ONCE_NEAR(p);
    __asm__ volatile("" ::: "memory");
}

/*
 * The same of one token, each line asked for where another is loaded, and what it says used there and then, in two chains. More tokens
 * lose by it: Zen 5, two threads, 5632 columns, 2, 4, 6 tokens, % of plain loads, so and by block32: Q4_0 68, 64, 60 and 74, 71, 65; Q5_0
 * 70, 68, 59 and 71, 73, 69.
 */
INLINE void block32_once(const unsigned char *scale, const unsigned char *values, const struct row_acts *x, size_t b,
                         const struct packed32 f, __m512 *y)
{
    const int8_t *q = x->q + 32 * b;
    const __m512i start = start32(x, b, f);
    __m512i low = f.high_first ? _mm512_setzero_si512() : start, high = f.high_first ? start : _mm512_setzero_si512();
    __m512 d, m = _mm512_setzero_ps();
    f.scales(scale, &d, &m);
    if (f.fifth_bits)
        ask_line(values);
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++) {
        __m512i w, w4;
        ask_line(values + 64 * (f.fifth_bits + u));
        f.units(values, u, &w, &w4);
        low = _mm512_dpbusd_epi32(low, w, act4(q + 4 * u));
        high = _mm512_dpbusd_epi32(high, w4, act4(q + 16 + 4 * u));
    }
    add_block32(_mm512_add_epi32(low, f.high_first ? _mm512_srai_epi32(high, 4) : high), d, m, x, b, f, y);
}

/* n blocks at p, number b the first. */
INLINE void run32(const unsigned char *p, const struct row_acts *x, size_t b, unsigned n,
                  int n_tok, const struct packed32 f, struct row_sums *y)
{
    const unsigned block = f.block_bytes * PACK_ROWS, scale = f.scale_bytes * PACK_ROWS;
    const unsigned rest = block - scale;
    prefetch_acts(x, b, n, n_tok, f.ahead, f.acts);
#pragma GCC unroll 4
    for (unsigned i = 0; i < n; i++) {
        const unsigned char *scales = p + i * (f.apart ? block : scale), *values = p + (f.apart ? i * block + scale : n * scale + i * rest);
        __m512 *to = y->v[n_tok <= VNNI_FEW_TOK ? i % 2 : 0];
        if (f.once && n_tok == 1) {
            if (f.apart || i == 0)
                ask_line(scales);
            block32_once(scales, values, x, b + i, f, to);
        } else {
            prefetch_lines(p, f.ahead, i * block / 64, (i + 1) * block / 64);
            block32(scales, values, x, b + i, n_tok, f, to);
        }
    }
}

/*
 * Blocks a step of one token for CPU_SW_PREFETCH, whole runs. One thread of Zen 5, Q4_0, 5632 columns, % of plain loads, walks in random
 * order, each after one of its own, two runs: steps of 2 blocks 65-78, 4 73, 8 73-85, 12 103, 14 110, 16 110-120, 18 102, 24 77, 32 77-80.
 * doc/notes/kernels.md
 */
enum { STEP_BLOCKS = 16 };

INLINE void panel32(const unsigned char *p, size_t cols, const struct row_acts *x, int n_tok,
                    const struct packed32 f, struct row_sums *y)
{
    const size_t n = cols / 32, run_bytes = (size_t)f.run * f.block_bytes * PACK_ROWS;
    size_t b = 0;
    if (f.once && n_tok == 1) {
        for (; b + STEP_BLOCKS <= n; b += STEP_BLOCKS) {
#pragma GCC unroll 8
            for (unsigned i = 0; i < STEP_BLOCKS; i += f.run, p += run_bytes)
                run32(p, x, b + i, f.run, n_tok, f, y);
        }
    }
    for (; b + f.run <= n; b += f.run, p += run_bytes)
        run32(p, x, b, f.run, n_tok, f, y);
    switch (n - b) {
    case 1:
        run32(p, x, b, 1, n_tok, f, y);
        break;
    case 2:
        run32(p, x, b, 2, n_tok, f, y);
        break;
    case 3:
        run32(p, x, b, 3, n_tok, f, y);
        break;
    default:
        break;
    }
}

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

/* High nibbles stay where they are. */
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

/* ---- formats --------------------------------------------------------------------------- */

/* As CPUs need it that have to be asked for lines to come, for CPU_SW_PREFETCH, and for CPU_HW_PREFETCH, of so many tokens at most; with more these
 * compute for so long between lines that those gain by asking too. Zen 4, from DRAM, % of plain loads: Q4_0 of 3 tokens 87,
 * asking 98, Q4_K 84 and 98. Q8_0, which is short, into L2 alone and not so far ahead: L1's few miss buffers would else hold
 * lines for all of memory's latency. One thread, GB/s of 3, 4, 5, 6 tokens 24, 21, 24, 24 with near lines, 26, 24, 27, 27 without. */
#define PACKED_GEMV(name, most, ...)                                                       \
    PACKED_GEMV_ASKING(, name, most, AHEAD_PAIR, __VA_ARGS__)                              \
    PACKED_GEMV_ASKING(static, name##_far, most, AHEAD_FAR, __VA_ARGS__)                   \
    PACKED_GEMV_STREAMS(name, 2, name##_far, __VA_ARGS__, .ahead = AHEAD_NONE)             \
    PACKED_GEMV_ONCE(name, __VA_ARGS__, .ahead = AHEAD_ONCE, .once = true)
/* For CPU_SW_PREFETCH: of one token nothing is asked for; of more by vnni_packed_gemv_<more>. */
#define PACKED_GEMV_ALONE(name, more, ...)                                                 \
    PACKED_PANEL(name##_alone, __VA_ARGS__)                                                \
    void vnni_packed_gemv_##name##_once(const struct matmul_args *a, size_t row0, size_t row1) \
    {                                                                                      \
        if (a->x->n_tok > 1)                                                               \
            vnni_packed_gemv_##more(a, row0, row1);                                        \
        else                                                                               \
            packed_rows(a, row0, row1, 1, (PACKED_FORMAT){ __VA_ARGS__ }.acts, panel_##name##_alone); \
    }
/* most: tokens of a pass. */
#define PACKED_GEMV_ASKING(linkage, name, most, asks, ...)                                 \
    static void batch_##name(const struct matmul_args *a, size_t row0, size_t row1);       \
    PACKED_GEMV_ASKS(linkage, name, __VA_ARGS__, .ahead = asks)                            \
    PACKED_BATCH(name, most, __VA_ARGS__, .ahead = asks)
#define PACKED_FORMAT struct packed32
#define PACKED_PANEL(name, ...)                                                            \
    INLINE void panel_##name(const unsigned char *p, size_t cols,                          \
                             const struct row_acts *x, int n_tok, struct row_sums *y)      \
    {                                                                                      \
        panel32(p, cols, x, n_tok, (struct packed32){ __VA_ARGS__ }, y);                   \
    }

/* The table has twice the numbers of MXFP4. */
#define TWICE { 2, 2, 2, 2, 2, 2, 2, 2 }

/* clang-format off */
#define Q8_0 .block_bytes = 34, .scale_bytes = 2, .run = 2, .acts = { .bias = 128 }, .units = units_8, .scales = scales_f16
PACKED_GEMV_ASKING(, q8_0, VNNI_BATCH_TOK, AHEAD_PAIR, Q8_0)
PACKED_GEMV_ASKING(static, q8_0_l2, VNNI_BATCH_TOK, AHEAD_L2, Q8_0)
PACKED_GEMV_STREAMS(q8_0, 2, q8_0_l2, Q8_0, .ahead = AHEAD_NONE, .touched = true)
PACKED_GEMV_ASKING(static, q8_0_asked_once, VNNI_BATCH_TOK, AHEAD_ONCE, Q8_0)
PACKED_GEMV_ALONE(q8_0, q8_0_asked_once, Q8_0, .ahead = AHEAD_ALONE)
PACKED_GEMV(q4_0, VNNI_BATCH_TOK, .block_bytes = 18, .scale_bytes = 2, .run = 2, .high_first = true,
            .acts = { .bias = 8 * 16 }, .units = units_4, .scales = scales_f16)
PACKED_GEMV(q4_1, VNNI_BATCH_MOST, .block_bytes = 20, .scale_bytes = 4, .run = 2, .high_first = true,
            .apart = true, .has_min = true, .acts = { .mins = true }, .units = units_4,
            .scales = f16_pairs)
PACKED_GEMV(q5_0, VNNI_BATCH_MOST, .block_bytes = 22, .scale_bytes = 2, .run = 2,
            .acts = { .bias = 16 }, .fifth_bits = true, .units = units_5, .scales = scales_f16)
PACKED_GEMV(q5_1, VNNI_BATCH_MOST, .block_bytes = 24, .scale_bytes = 4, .run = 2, .apart = true,
            .has_min = true, .acts = { .mins = true }, .fifth_bits = true, .units = units_5,
            .scales = f16_pairs)
PACKED_GEMV(iq4_nl, VNNI_BATCH_MOST, .block_bytes = 18, .scale_bytes = 2, .run = 2,
            .acts = { .bias = IQ4_BIAS }, .units = units_iq4, .scales = scales_f16)
PACKED_GEMV(mxfp4, VNNI_BATCH_TOK, .block_bytes = 17, .scale_bytes = 1, .run = 4,
            .acts = { .bias = E2M1_BIAS / 2, .shift = TWICE }, .units = units_e2m1, .scales = scales_e8m0)
/* clang-format on */
