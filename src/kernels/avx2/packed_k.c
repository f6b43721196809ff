/* avx2/packed_k.c: packed K-quants: 256 columns, integer scales of 16 or 32 of them. methods.md (1) */
#include "kernels/avx2/packed_tile.h"

/* elems, bytes, head, group, sum_k, min_k, bias, wide, int_scale, pairs, lines, outs. Q5_K's sums without a bias fit 16
 * bits over 16 columns only. */
#define Q2_K_SHAPE ((struct packed_shape){ Q2_K_ELEMS, Q2_K_BYTES, 4, 1, 16, 16, 0, false, true, true, 8, 4 })
#define Q3_K_SHAPE ((struct packed_shape){ Q3_K_ELEMS, Q3_K_BYTES, 2, 1, 16, 0, 4, false, true, true, 8, 4 })
#define Q4_K_SHAPE ((struct packed_shape){ Q4_K_ELEMS, Q4_K_BYTES, 4, 1, 32, 32, 0, false, true, false, 8, 2 })
#define Q5_K_SHAPE ((struct packed_shape){ Q5_K_ELEMS, Q5_K_BYTES, 4, 1, 16, 32, 0, false, true, true, 8, 2 })
#define Q6_K_SHAPE ((struct packed_shape){ Q6_K_ELEMS, Q6_K_BYTES, 2, 1, 16, 0, 32, false, true, false, 8, 4 })

/* ---- bytes --------------------------------------------------------------------------- */

INLINE vi and8(vi w, int mask)
{
    return _mm256_and_si256(w, _mm256_set1_epi8((char)mask));
}
/* Bit n of each byte to bit 4. */
INLINE vi fifth(vi h, size_t n)
{
    return and8(n < 4 ? _mm256_slli_epi16(h, 4 - (int)n) : _mm256_srli_epi16(h, (int)n - 4), 16);
}

/* 3 lines of scales before the nibbles. */
INLINE void decode_q4_k(const unsigned char *p, size_t step, size_t v, vi *out)
{
    const vi w = line(p, 3 + 8 * step + v);
    out[0] = and8(w, 15);
    out[1] = and8(_mm256_srli_epi16(w, 4), 15);
}

/* 3 lines of scales, 8 of fifth bits, of which bits 2 step and 2 step + 1 belong to this step. */
INLINE void decode_q5_k(const unsigned char *p, size_t step, size_t v, vi *out)
{
    const vi w = line(p, 11 + 8 * step + v), h = line(p, 3 + v);
    out[0] = _mm256_or_si256(and8(w, 15), fifth(h, 2 * step));
    out[1] = _mm256_or_si256(and8(_mm256_srli_epi16(w, 4), 15), fifth(h, 2 * step + 1));
}

/* 4 lines of scales; then pack.h's sixes. */
INLINE void decode_q6_k(const unsigned char *p, size_t step, size_t v, vi *out)
{
    const size_t i = 4 + 24 * step + 3 * v;
    const vi a = line(p, i), b = line(p, i + 1), c = line(p, i + 2);
    out[0] = and8(a, 63);
    out[1] = and8(b, 63);
    out[2] = and8(c, 63);
    out[3] = _mm256_or_si256(and8(_mm256_srli_epi16(a, 2), 0x30),
                             _mm256_or_si256(and8(_mm256_srli_epi16(b, 4), 12), and8(_mm256_srli_epi16(c, 6), 3)));
}

/* 4 lines of scales before the bit pairs. Every second pair stays in place, as 4 times the quant: scales of the
 * others are 4 times as large. */
INLINE void decode_q2_k(const unsigned char *p, size_t step, size_t v, vi *out)
{
    const vi w = line(p, 4 + 8 * step + v), u = _mm256_srli_epi16(w, 4);
    out[0] = and8(w, 3);
    out[1] = and8(w, 12);
    out[2] = and8(u, 3);
    out[3] = and8(u, 12);
}

/* 3 lines of scales, 8 of third bits, of which bits 4 step and the three after belong to this step. A table puts
 * those of quants 0 and 2, and 1 and 3, above bit pairs that stand in nibbles. */
INLINE void decode_q3_k(const unsigned char *p, size_t step, size_t v, vi *out)
{
    const vi t = _mm256_setr_epi8(0x00, 0x04, 0x00, 0x04, 0x40, 0x44, 0x40, 0x44, 0x00, 0x04, 0x00, 0x04, 0x40, 0x44,
                                  0x40, 0x44, 0x00, 0x04, 0x00, 0x04, 0x40, 0x44, 0x40, 0x44, 0x00, 0x04, 0x00, 0x04,
                                  0x40, 0x44, 0x40, 0x44);
    const vi u = _mm256_setr_epi8(0x00, 0x00, 0x04, 0x04, 0x00, 0x00, 0x04, 0x04, 0x40, 0x40, 0x44, 0x44, 0x40, 0x40,
                                  0x44, 0x44, 0x00, 0x00, 0x04, 0x04, 0x00, 0x00, 0x04, 0x04, 0x40, 0x40, 0x44, 0x44,
                                  0x40, 0x40, 0x44, 0x44);
    const vi w = line(p, 11 + 8 * step + v), bits = line(p, 3 + v);
    const vi h = and8(step ? _mm256_srli_epi16(bits, 4) : bits, 15);
    const vi a = _mm256_or_si256(and8(w, 0x33), _mm256_shuffle_epi8(t, h));
    const vi b = _mm256_or_si256(and8(_mm256_srli_epi16(w, 2), 0x33), _mm256_shuffle_epi8(u, h));
    out[0] = and8(a, 7);
    out[1] = and8(b, 7);
    out[2] = and8(_mm256_srli_epi16(a, 4), 7);
    out[3] = and8(_mm256_srli_epi16(b, 4), 7);
}

/* ---- scales -------------------------------------------------------------------------- */

/* Byte j of each word twice as int16, or times 256. */
INLINE vi twice(vi w, int j, bool times_256)
{
    /* bytes of a word's pattern: which byte to take, and 0x80 for none */
    const unsigned from = times_256 ? 0x00800080u + (unsigned)j * 0x01000100u : 0x80008000u + (unsigned)j * 0x00010001u;
    const unsigned step = times_256 ? 0x04000400u : 0x00040004u;
    const int a = (int)from, b = (int)(from + step), c = (int)(from + 2 * step), d = (int)(from + 3 * step);
    return _mm256_shuffle_epi8(w, _mm256_setr_epi32(a, b, c, d, a, b, c, d));
}

/* Words of d, taken times factor, and dmin. */
INLINE void scales_d(const unsigned char *p, struct packed_meta *m, size_t h, float factor)
{
    const vi w = line(p + 32 * h, 0);
    vf_store(m->d + VL * h, vf_mul(packed_f16(_mm256_and_si256(w, vi_set1(0xffff))), vf_set1(factor)));
    vf_store(m->dmin + VL * h, packed_f16(_mm256_srli_epi32(w, 16)));
}
/* Byte j of each word. */
INLINE vf byte_float(vi w, int j)
{
    const int a = (int)0x80808000u + j;
    return vi_to_vf(_mm256_shuffle_epi8(w, _mm256_setr_epi32(a, a + 4, a + 8, a + 12, a, a + 4, a + 8, a + 12)));
}

/* repeat: sums that share a scale. */
INLINE void scales_q45_k(const unsigned char *p, struct packed_meta *m, size_t repeat)
{
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; h++) {
        scales_d(p, m, h, 1);
        const vi a = line(p + 32 * h, 1), b = line(p + 32 * h, 2), c = line(p + 32 * h, 3);
        const vi sc[2] = { and8(a, 63), _mm256_or_si256(and8(c, 15), and8(_mm256_srli_epi16(a, 2), 0x30)) };
        const vi mn[2] = { and8(b, 63), _mm256_or_si256(and8(_mm256_srli_epi16(c, 4), 15),
                                                        and8(_mm256_srli_epi16(b, 2), 0x30)) };
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            const vi s = twice(sc[j / 4], j % 4, false);
#pragma GCC unroll 2
            for (size_t r = 0; r < repeat; r++)
                vi_store(m->pair[(size_t)j * repeat + r] + VL * h, s);
            vf_store(m->min[j] + VL * h, byte_float(mn[j / 4], j % 4));
        }
    }
}
INLINE void scales_q4_k(const unsigned char *p, size_t b, struct packed_meta *m)
{
    (void)b;
    scales_q45_k(p, m, 1);
}
INLINE void scales_q5_k(const unsigned char *p, size_t b, struct packed_meta *m)
{
    (void)b;
    scales_q45_k(p, m, 2);
}

INLINE void scales_q2_k(const unsigned char *p, size_t b, struct packed_meta *m)
{
    (void)b;
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; h++) {
        scales_d(p, m, h, 0.25f);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            const vi w = line(p + 32 * h, 1 + i), mn = and8(_mm256_srli_epi16(w, 4), 15);
            const vi sc = _mm256_mullo_epi16(and8(w, 15), vi_set1(0x00010004)); /* bytes 0 and 1 times 4 */
#pragma GCC unroll 4
            for (size_t j = 0; j < 4; j++) {
                vi_store(m->pair[4 * i + j] + VL * h, twice(sc, (int)j, false));
                vf_store(m->min[4 * i + j] + VL * h, byte_float(mn, (int)j));
            }
        }
    }
}

/* 16 halves d. Signed scales are taken times 256: products with sums remain exact, and below 2^31. */
INLINE void scales_d_signed(const unsigned char *p, struct packed_meta *m, size_t h)
{
    vf_store(m->d + VL * h, vf_mul(vf_from_f16(p + 16 * h, VL), vf_set1(1.0f / 256)));
}
INLINE void scales_signed(struct packed_meta *m, size_t h, size_t i, vi w)
{
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++)
        vi_store(m->pair[4 * i + j] + VL * h, twice(w, (int)j, true));
}
INLINE void scales_q6_k(const unsigned char *p, size_t b, struct packed_meta *m)
{
    (void)b;
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; h++) {
        scales_d_signed(p, m, h);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            scales_signed(m, h, i, line(p + 32 + 32 * h, i));
    }
}
INLINE void scales_q3_k(const unsigned char *p, size_t b, struct packed_meta *m)
{
    (void)b;
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; h++) {
        const unsigned char *s = p + 32 + 32 * h;
        scales_d_signed(p, m, h);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const vi l = and8(_mm256_srli_epi16(line(s, (size_t)i % 2), i / 2 * 4), 15);
            const vi u = and8(_mm256_slli_epi16(and8(_mm256_srli_epi16(line(s, 2), 2 * i), 3), 4), 0x30);
            scales_signed(m, h, (size_t)i, _mm256_sub_epi8(_mm256_or_si256(l, u), _mm256_set1_epi8(32)));
        }
    }
}

/* ---- products ------------------------------------------------------------------------ */

static void tile_q4_k(const struct packed_tile *t, size_t n_tok)
{
    packed_tile_any(t, n_tok, Q4_K_SHAPE);
}
static void tile_q5_k(const struct packed_tile *t, size_t n_tok)
{
    packed_tile_any(t, n_tok, Q5_K_SHAPE);
}
static void tile_q2_k(const struct packed_tile *t, size_t n_tok)
{
    packed_tile_any(t, n_tok, Q2_K_SHAPE);
}
static void tile_bias(const struct packed_tile *t, size_t n_tok)
{
    packed_tile_any(t, n_tok, Q6_K_SHAPE);
}

PACKED(q2_k, Q2_K_SHAPE, decode_q2_k, scales_q2_k)
PACKED(q3_k, Q3_K_SHAPE, decode_q3_k, scales_q3_k)
PACKED(q4_k, Q4_K_SHAPE, decode_q4_k, scales_q4_k)
PACKED(q5_k, Q5_K_SHAPE, decode_q5_k, scales_q5_k)
PACKED(q6_k, Q6_K_SHAPE, decode_q6_k, scales_q6_k)

const struct packed_format *avx2_packed_k(enum dtype type)
{
    static const struct packed_format formats[DTYPE_COUNT] = {
        [DTYPE_Q2_K] = { gemv_q2_k, gemv_streams_q2_k, Q2_K_SHAPE, unpack_q2_k, tile_q2_k },
        [DTYPE_Q3_K] = { gemv_q3_k, gemv_streams_q3_k, Q3_K_SHAPE, unpack_q3_k, tile_bias },
        [DTYPE_Q4_K] = { gemv_q4_k, gemv_streams_q4_k, Q4_K_SHAPE, unpack_q4_k, tile_q4_k },
        [DTYPE_Q5_K] = { gemv_q5_k, gemv_streams_q5_k, Q5_K_SHAPE, unpack_q5_k, tile_q5_k },
        [DTYPE_Q6_K] = { gemv_q6_k, gemv_streams_q6_k, Q6_K_SHAPE, unpack_q6_k, tile_bias },
    };
    return formats[type].gemv ? &formats[type] : NULL;
}
