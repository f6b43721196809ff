/*
 * neon/unpack.c: packed panels to signed bytes, float scales and mins. Lines are 64 bytes,
 * 16 rows of 4: a panel keeps its rows in place through everything here. methods.md (1)
 */
#include "kernels/neon/neon.h"
#include "kernels/neon/simd128.h"

typedef int8_t line[PACK_ROWS][4];
enum { LINE = 64 };

/* Four vectors of a line, each four rows. */
INLINE uint8x16x4_t load_line(const unsigned char *p)
{
    return (uint8x16x4_t){ { vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48) } };
}
INLINE void store_line(line *q, int i, uint8x16_t v)
{
    vst1q_s8(&(*q)[4 * i][0], vreinterpretq_s8_u8(v));
}
INLINE uint8x16_t less(uint8x16_t v, uint8_t bias)
{
    return vsubq_u8(v, vdupq_n_u8(bias));
}
INLINE uint8x16_t low_nibbles(uint8x16_t v)
{
    return vandq_u8(v, vdupq_n_u8(15));
}
INLINE uint8x16_t high_nibbles(uint8x16_t v)
{
    return vshrq_n_u8(v, 4);
}

/* 16 scales of half precision. */
INLINE void put_scales(const unsigned char *p, float *d)
{
    for (size_t r = 0; r < PACK_ROWS; r += 4)
        vst1q_f32(d + r, vf_from_f16(p + 2 * r, 4));
}
/* 16 rows of a scale and a min, half precision each. */
struct pair {
    vf d[4], m[4];
};
INLINE struct pair load_pairs(const unsigned char *p)
{
    struct pair s;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const uint16x4x2_t h = vld2_u16((const uint16_t *)(const void *)(p + 16 * i));
        s.d[i] = vcvt_f32_f16(vreinterpret_f16_u16(h.val[0]));
        s.m[i] = vcvt_f32_f16(vreinterpret_f16_u16(h.val[1]));
    }
    return s;
}

/* ---- blocks of 32 ---------------------------------------------------------------------- */

/* Where block b of a chunk of n stands: its head (field 0) and the lines after it. */
struct place {
    const unsigned char *head, *lines;
};
INLINE struct place place_of(const unsigned char *chunk, size_t b, size_t n, size_t group, size_t head,
                             size_t bytes)
{
    const size_t first = b / group * group, blocks = n - first < group ? n - first : group;
    const unsigned char *g = chunk + first * bytes * PACK_ROWS;
    return (struct place){ g + (b - first) * head * PACK_ROWS,
                           g + (blocks * head + (b - first) * (bytes - head)) * PACK_ROWS };
}

static void unpack_q8_0(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    for (size_t b = 0; b < n_k / 32; b++) {
        const struct place at = place_of(chunk, b, n_k / 32, 2, 2, Q8_0_BYTES);
        for (size_t u = 0; u < 8; u++) {
            const uint8x16x4_t v = load_line(at.lines + u * LINE);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                store_line(&p->q[8 * b + u], i, less(v.val[i], 128));
        }
        put_scales(at.head, p->d[b]);
    }
}

/* 4 lines of nibbles: low ones are columns 0-15, high ones 16-31; less a bias. */
INLINE void put_nibbles(const unsigned char *lines, line *q, uint8_t bias)
{
    for (size_t u = 0; u < 4; u++) {
        const uint8x16x4_t v = load_line(lines + u * LINE);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            store_line(&q[u], i, less(low_nibbles(v.val[i]), bias));
            store_line(&q[u + 4], i, less(high_nibbles(v.val[i]), bias));
        }
    }
}
/* The same through a table of what nibbles stand for. */
INLINE void put_lookup(const unsigned char *lines, line *q, const int8_t *table)
{
    const uint8x16_t t = vreinterpretq_u8_s8(vld1q_s8(table));
    for (size_t u = 0; u < 4; u++) {
        const uint8x16x4_t v = load_line(lines + u * LINE);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            store_line(&q[u], i, vqtbl1q_u8(t, low_nibbles(v.val[i])));
            store_line(&q[u + 4], i, vqtbl1q_u8(t, high_nibbles(v.val[i])));
        }
    }
}
/* A line of words whose bit k is the fifth one of column k, then nibbles. Columns 4u to
 * 4u + 3 find theirs in byte u / 2 of the word, in its low bits or the high ones. */
INLINE void put_fives(const unsigned char *lines, line *q, uint8_t bias)
{
    static const uint8_t word[16] = { 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12 };
    const uint8x16_t low = vreinterpretq_u8_u32(vdupq_n_u32(0x08040201)), sixteen = vdupq_n_u8(16);
    const uint8x16x4_t bits = load_line(lines);
    for (size_t u = 0; u < 8; u++) {
        const uint8x16x4_t v = load_line(lines + (1 + u % 4) * LINE);
        const uint8x16_t at = vaddq_u8(vld1q_u8(word), vdupq_n_u8((uint8_t)(u / 2)));
        const uint8x16_t bit = vshlq_u8(low, vdupq_n_s8(u % 2 ? 4 : 0));
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const uint8x16_t four = u < 4 ? low_nibbles(v.val[i]) : high_nibbles(v.val[i]);
            const uint8x16_t fifth = vandq_u8(vtstq_u8(vqtbl1q_u8(bits.val[i], at), bit), sixteen);
            store_line(&q[u], i, less(vorrq_u8(four, fifth), bias));
        }
    }
}

static void unpack_q4_0(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    for (size_t b = 0; b < n_k / 32; b++) {
        const struct place at = place_of(chunk, b, n_k / 32, 2, 2, Q4_0_BYTES);
        put_nibbles(at.lines, &p->q[8 * b], 8);
        put_scales(at.head, p->d[b]);
    }
}
static void unpack_iq4_nl(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    for (size_t b = 0; b < n_k / 32; b++) {
        const struct place at = place_of(chunk, b, n_k / 32, 2, 2, IQ4_NL_BYTES);
        put_lookup(at.lines, &p->q[8 * b], dtype_iq4);
        put_scales(at.head, p->d[b]);
    }
}
static void unpack_q5_0(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    for (size_t b = 0; b < n_k / 32; b++) {
        const struct place at = place_of(chunk, b, n_k / 32, 2, 2, Q5_0_BYTES);
        put_fives(at.lines, &p->q[8 * b], 16);
        put_scales(at.head, p->d[b]);
    }
}
/* value = d * q + m: here a min is subtracted. */
INLINE void put_pairs(const unsigned char *head, float *d, float *m)
{
    const struct pair s = load_pairs(head);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        vst1q_f32(d + 4 * i, s.d[i]);
        vst1q_f32(m + 4 * i, vnegq_f32(s.m[i]));
    }
}
static void unpack_q4_1(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    for (size_t b = 0; b < n_k / 32; b++) {
        const struct place at = place_of(chunk, b, n_k / 32, 1, 4, Q4_1_BYTES);
        put_nibbles(at.lines, &p->q[8 * b], 0);
        put_pairs(at.head, p->d[b], p->m[b]);
    }
}
static void unpack_q5_1(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    for (size_t b = 0; b < n_k / 32; b++) {
        const struct place at = place_of(chunk, b, n_k / 32, 1, 4, Q5_1_BYTES);
        put_fives(at.lines, &p->q[8 * b], 0);
        put_pairs(at.head, p->d[b], p->m[b]);
    }
}
/* Half of 2^(e - 127), for the table has doubles; two are subnormal, 255 stands for NaN. */
static void unpack_mxfp4(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    for (size_t b = 0; b < n_k / 32; b++) {
        const struct place at = place_of(chunk, b, n_k / 32, 4, 1, MXFP4_BYTES);
        put_lookup(at.lines, &p->q[8 * b], dtype_e2m1);
        for (size_t r = 0; r < PACK_ROWS; r++) {
            const uint32_t e = at.head[r], bits = e < 2 ? 0x00200000u << e : e < 255 ? (e - 1) << 23 : 0x7fc00000;
            memcpy(&p->d[b][r], &bits, sizeof bits);
        }
    }
}

/* ---- blocks of 256 ---------------------------------------------------------------------- */

/* Byte i of each row's word, unsigned. */
INLINE uint32x4_t byte_of(uint32x4_t words, int i)
{
    return vandq_u32(vshlq_u32(words, vdupq_n_s32(-8 * i)), vdupq_n_u32(255));
}
INLINE uint32x4_t words_of(const unsigned char *p, int i)
{
    return vreinterpretq_u32_u8(vld1q_u8(p + 16 * i));
}

/* Q4_K, Q5_K: d, dmin, then 12 bytes of 8 scales and 8 mins, 6 bits each. */
INLINE void put_k_scales(const unsigned char *head, struct neon_panel *p)
{
    const struct pair s = load_pairs(head);
    const uint32x4_t six = vdupq_n_u32(0x3f3f3f3f), four = vdupq_n_u32(0x0f0f0f0f), two = vdupq_n_u32(0x30303030);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const uint32x4_t a = words_of(head + LINE, i), b = words_of(head + 2 * LINE, i), c = words_of(head + 3 * LINE, i);
        const uint32x4_t sc[2] = { vandq_u32(a, six),
                                   vorrq_u32(vandq_u32(c, four), vandq_u32(vshrq_n_u32(a, 2), two)) };
        const uint32x4_t mn[2] = { vandq_u32(b, six), vorrq_u32(vandq_u32(vshrq_n_u32(c, 4), four),
                                                                vandq_u32(vshrq_n_u32(b, 2), two)) };
        for (int g = 0; g < 8; g++) {
            vst1q_f32(p->d[g] + 4 * i, vmulq_f32(s.d[i], vcvtq_f32_u32(byte_of(sc[g / 4], g % 4))));
            vst1q_f32(p->m[g] + 4 * i, vmulq_f32(s.m[i], vcvtq_f32_u32(byte_of(mn[g / 4], g % 4))));
        }
    }
}

/* 32 lines of nibbles: of 64 columns the low ones are the first 32, the high ones the others. With fifth bits: bit s
 * of their byte i is that of column 32 s + i. */
INLINE void put_k_quants(const unsigned char *lines, const unsigned char *fifth, struct neon_panel *p)
{
    for (size_t j = 0; j < 4; j++)
        for (size_t u = 0; u < 8; u++) {
            const uint8x16x4_t v = load_line(lines + (8 * j + u) * LINE);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                uint8x16_t lo = low_nibbles(v.val[i]), hi = high_nibbles(v.val[i]);
                if (fifth) {
                    const uint8x16_t h = vld1q_u8(fifth + u * LINE + 16 * i), sixteen = vdupq_n_u8(16);
                    const uint8x16_t bit = vdupq_n_u8((uint8_t)(1 << 2 * j));
                    lo = vorrq_u8(lo, vandq_u8(vtstq_u8(h, bit), sixteen));
                    hi = vorrq_u8(hi, vandq_u8(vtstq_u8(h, vaddq_u8(bit, bit)), sixteen));
                }
                store_line(&p->q[16 * j + u], i, lo);
                store_line(&p->q[16 * j + 8 + u], i, hi);
            }
        }
}
static void unpack_q4_k(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    (void)n_k;
    put_k_scales(chunk, p);
    put_k_quants(chunk + 4 * LINE, NULL, p);
}
static void unpack_q5_k(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    (void)n_k;
    put_k_scales(chunk, p);
    put_k_quants(chunk + 12 * LINE, chunk + 4 * LINE, p);
}

/* 16 lines of bit pairs: byte l of 32 has columns l, l + 32, l + 64, l + 96 of 128. With third bits, Q3_K: bit i of
 * their byte l is that of column 32 i + l, and 4 is subtracted. */
INLINE void put_bit_pairs(const unsigned char *lines, const unsigned char *third, struct neon_panel *p)
{
    const uint8x16_t three = vdupq_n_u8(3), four = vdupq_n_u8(4);
    for (size_t h = 0; h < 2; h++)
        for (size_t u = 0; u < 8; u++) {
            const uint8x16x4_t v = load_line(lines + (8 * h + u) * LINE);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
#pragma GCC unroll 4
                for (int j = 0; j < 4; j++) {
                    uint8x16_t x = vandq_u8(vshlq_u8(v.val[i], vdupq_n_s8((int8_t)(-2 * j))), three);
                    if (third) {
                        const uint8x16_t bit = vdupq_n_u8((uint8_t)(1 << (4 * h + (size_t)j)));
                        const uint8x16_t b = vld1q_u8(third + u * LINE + 16 * i);
                        x = vsubq_u8(vorrq_u8(x, vandq_u8(vtstq_u8(b, bit), four)), four);
                    }
                    store_line(&p->q[32 * h + 8 * (size_t)j + u], i, x);
                }
        }
}
/* d, dmin, then 16 bytes: a scale in the low nibble, a min in the high one. */
static void unpack_q2_k(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    (void)n_k;
    const struct pair s = load_pairs(chunk);
    for (int g = 0; g < 16; g++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const uint32x4_t b = byte_of(words_of(chunk + (1 + g / 4) * LINE, i), g % 4);
            vst1q_f32(p->d[g] + 4 * i, vmulq_f32(s.d[i], vcvtq_f32_u32(vandq_u32(b, vdupq_n_u32(15)))));
            vst1q_f32(p->m[g] + 4 * i, vmulq_f32(s.m[i], vcvtq_f32_u32(vshrq_n_u32(b, 4))));
        }
    put_bit_pairs(chunk + 5 * LINE, NULL, p);
}
/* 12 bytes of 16 scales, 6 bits and 32 too large: low nibbles of 8 bytes, their high ones, and above them bit pairs
 * of the last 4, one of each byte for every four scales. */
static void unpack_q3_k(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    (void)n_k;
    const unsigned char *sc = chunk + 2 * PACK_ROWS;
    for (int g = 0; g < 16; g++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const uint32x4_t low = byte_of(words_of(sc + g / 4 % 2 * LINE, i), g % 4);
            const uint32x4_t nibble = g < 8 ? vandq_u32(low, vdupq_n_u32(15)) : vshrq_n_u32(low, 4);
            const uint32x4_t pairs = byte_of(words_of(sc + 2 * LINE, i), g % 4);
            const uint32x4_t high = vandq_u32(vshlq_u32(pairs, vdupq_n_s32(4 - g / 4 * 2)), vdupq_n_u32(0x30));
            const int32x4_t s = vsubq_s32(vreinterpretq_s32_u32(vorrq_u32(nibble, high)), vdupq_n_s32(32));
            vst1q_f32(p->d[g] + 4 * i, vmulq_f32(vf_from_f16(chunk + 8 * i, 4), vcvtq_f32_s32(s)));
        }
    put_bit_pairs(sc + 11 * LINE, sc + 3 * LINE, p);
}
/* d, 16 signed bytes of scales, then pack.h's sixes. */
static void unpack_q6_k(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    (void)n_k;
    const unsigned char *sc = chunk + 2 * PACK_ROWS;
    for (int g = 0; g < 16; g++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const int32x4_t w = vreinterpretq_s32_u32(words_of(sc + g / 4 * LINE, i));
            const int32x4_t s = vshrq_n_s32(vshlq_s32(w, vdupq_n_s32(24 - 8 * (g % 4))), 24);
            vst1q_f32(p->d[g] + 4 * i, vmulq_f32(vf_from_f16(chunk + 8 * i, 4), vcvtq_f32_s32(s)));
        }
    const uint8x16_t six = vdupq_n_u8(63);
    for (size_t h = 0; h < 2; h++) {
        const unsigned char *lines = sc + (4 + 24 * h) * LINE;
        for (size_t u = 0; u < 8; u++, lines += 3 * LINE) {
            const uint8x16x4_t a = load_line(lines), b = load_line(lines + LINE), c = load_line(lines + 2 * LINE);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                const uint8x16_t x = a.val[i], y = b.val[i], z = c.val[i];
                const uint8x16_t last = vsriq_n_u8(vsriq_n_u8(vshrq_n_u8(x, 2), y, 4), z, 6);
                const uint8x16_t q[4] = { vandq_u8(x, six), vandq_u8(y, six), vandq_u8(z, six), vandq_u8(last, six) };
#pragma GCC unroll 4
                for (size_t j = 0; j < 4; j++)
                    store_line(&p->q[32 * h + 8 * j + u], i, less(q[j], 32));
            }
        }
    }
}
/* d and 8 bit pairs, 8 nibbles: scales, 32 too large; then 8 times 16 bytes of nibbles. */
static void unpack_iq4_xs(const unsigned char *chunk, size_t n_k, struct neon_panel *p)
{
    (void)n_k;
    for (int i = 0; i < 4; i++) {
        const uint16x4x2_t head = vld2_u16((const uint16_t *)(const void *)(chunk + 16 * i));
        const vf d = vcvt_f32_f16(vreinterpret_f16_u16(head.val[0]));
        const uint32x4_t pairs = vmovl_u16(head.val[1]), nibbles = words_of(chunk + LINE, i);
        for (int g = 0; g < 8; g++) {
            const uint32x4_t lo = vandq_u32(vshlq_u32(nibbles, vdupq_n_s32(-4 * g)), vdupq_n_u32(15));
            const uint32x4_t hi = vandq_u32(vshlq_u32(pairs, vdupq_n_s32(4 - 2 * g)), vdupq_n_u32(0x30));
            const int32x4_t s = vsubq_s32(vreinterpretq_s32_u32(vorrq_u32(lo, hi)), vdupq_n_s32(32));
            vst1q_f32(p->d[g] + 4 * i, vmulq_f32(d, vcvtq_f32_s32(s)));
        }
    }
    for (size_t b = 0; b < 8; b++)
        put_lookup(chunk + (2 + 4 * b) * LINE, &p->q[8 * b], dtype_iq4);
}

const struct neon_format *neon_format(enum dtype type)
{
    static const struct neon_format formats[DTYPE_COUNT] = {
        [DTYPE_Q8_0] = { 32, false, unpack_q8_0 },
        [DTYPE_Q4_0] = { 32, false, unpack_q4_0 },
        [DTYPE_Q4_1] = { 32, true, unpack_q4_1 },
        [DTYPE_Q5_0] = { 32, false, unpack_q5_0 },
        [DTYPE_Q5_1] = { 32, true, unpack_q5_1 },
        [DTYPE_Q2_K] = { 16, true, unpack_q2_k },
        [DTYPE_Q3_K] = { 16, false, unpack_q3_k },
        [DTYPE_Q4_K] = { 32, true, unpack_q4_k },
        [DTYPE_Q5_K] = { 32, true, unpack_q5_k },
        [DTYPE_Q6_K] = { 16, false, unpack_q6_k },
        [DTYPE_IQ4_NL] = { 32, false, unpack_iq4_nl },
        [DTYPE_IQ4_XS] = { 32, false, unpack_iq4_xs },
        [DTYPE_MXFP4] = { 32, false, unpack_mxfp4 },
    };
    return formats[type].unpack ? &formats[type] : NULL;
}
