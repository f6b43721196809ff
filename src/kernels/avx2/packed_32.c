/* avx2/packed_32.c: packed formats with a float scale for 32 columns. methods.md (1) */
#include "kernels/avx2/packed_tile.h"

#include "kernels/simd/blocks.h" /* written in the names of the headers above */

/* elems, bytes, head, group, sum_k, min_k, bias, wide, int_scale, pairs, lines, outs. Q5_1's sums without a bias fit 16
 * bits over 16 columns only. */
#define Q8_0_SHAPE   ((struct packed_shape){ Q8_0_ELEMS, Q8_0_BYTES, 2, 2, 32, 0, 128, true, false, false, 8, 1 })
#define Q4_0_SHAPE   ((struct packed_shape){ Q4_0_ELEMS, Q4_0_BYTES, 2, 2, 32, 0, 8, false, false, false, 4, 2 })
#define Q4_1_SHAPE   ((struct packed_shape){ Q4_1_ELEMS, Q4_1_BYTES, 4, 1, 32, 32, 0, false, false, false, 4, 2 })
#define Q5_0_SHAPE   ((struct packed_shape){ Q5_0_ELEMS, Q5_0_BYTES, 2, 2, 32, 0, 16, false, false, false, 4, 2 })
#define Q5_1_SHAPE   ((struct packed_shape){ Q5_1_ELEMS, Q5_1_BYTES, 4, 1, 16, 32, 0, false, false, false, 4, 2 })
#define IQ4_NL_SHAPE ((struct packed_shape){ IQ4_NL_ELEMS, IQ4_NL_BYTES, 2, 2, 32, 0, IQ4_BIAS, true, false, false, 4, 2 })
#define IQ4_XS_SHAPE ((struct packed_shape){ IQ4_XS_ELEMS, IQ4_XS_BYTES, 4, 1, 32, 0, IQ4_BIAS, true, false, false, 4, 2 })
#define MXFP4_SHAPE  ((struct packed_shape){ MXFP4_ELEMS, MXFP4_BYTES, 1, 4, 32, 0, E2M1_BIAS, false, false, false, 4, 2 })

/* ---- bytes --------------------------------------------------------------------------- */

INLINE vi low_nibbles(vi w)
{
    return _mm256_and_si256(w, _mm256_set1_epi8(15));
}
INLINE void nibbles(vi w, vi *out)
{
    out[0] = low_nibbles(w);
    out[1] = low_nibbles(_mm256_srli_epi16(w, 4));
}
INLINE void entries(vi w, __m128i table, vi *out)
{
    const vi t = _mm256_broadcastsi128_si256(table);
    nibbles(w, out);
    out[0] = _mm256_shuffle_epi8(t, out[0]);
    out[1] = _mm256_shuffle_epi8(t, out[1]);
}

INLINE void decode_bytes(const unsigned char *p, size_t step, size_t v, vi *out)
{
    (void)step;
    out[0] = line(p, v);
}
INLINE void decode_nibbles(const unsigned char *p, size_t step, size_t v, vi *out)
{
    (void)step;
    nibbles(line(p, v), out);
}
INLINE void decode_iq4(const unsigned char *p, size_t step, size_t v, vi *out)
{
    (void)step;
    entries(line(p, v), iq4_biased(), out);
}
/* Of a block of 256, past its scales. */
INLINE void decode_iq4_xs(const unsigned char *p, size_t step, size_t v, vi *out)
{
    entries(line(p, 1 + 4 * step + v), iq4_biased(), out);
}
INLINE void decode_e2m1(const unsigned char *p, size_t step, size_t v, vi *out)
{
    (void)step;
    entries(line(p, v), e2m1_biased(), out);
}

/* Fifth bits 4n..4n+3 of each row's word to bit 4 of its bytes. Byte n / 2 is copied to all four; of it bits 4-7
 * are kept, one a byte, and cut to 16; for even n bits 0-3 were shifted up. */
INLINE vi fifth(vi h, size_t n)
{
    const int a = (int)(n / 2) * 0x01010101, b = a + 0x04040404, c = a + 0x08080808, d = a + 0x0c0c0c0c;
    const vi copy = _mm256_setr_epi32(a, b, c, d, a, b, c, d);
    if (n % 2 == 0)
        h = _mm256_slli_epi16(h, 4);
    h = _mm256_and_si256(_mm256_shuffle_epi8(h, copy), _mm256_set1_epi32((int)0x80402010u));
    return _mm256_min_epu8(h, _mm256_set1_epi8(16));
}
INLINE void decode_q5(const unsigned char *p, size_t step, size_t v, vi *out)
{
    (void)step;
    const vi h = line(p, 0);
    nibbles(line(p, 1 + v), out);
    out[0] = _mm256_or_si256(out[0], fifth(h, v));
    out[1] = _mm256_or_si256(out[1], fifth(h, 4 + v));
}

/* ---- scales -------------------------------------------------------------------------- */

INLINE void scales_f16(const unsigned char *p, size_t b, struct packed_meta *m)
{
    vf_store(m->scale[b], vf_from_f16(p, VL));
    vf_store(m->scale[b] + VL, vf_from_f16(p + 16, VL));
}
/* Words of a scale and a number that is added, a min with the other sign. */
INLINE void scales_pair(const unsigned char *p, size_t b, struct packed_meta *m)
{
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; h++) {
        const vi w = line(p + 32 * h, 0);
        vf_store(m->scale[b] + VL * h, packed_f16(_mm256_and_si256(w, vi_set1(0xffff))));
        vf_store(m->min[b] + VL * h, vf_sub(vf_set1(-0.0f), packed_f16(_mm256_srli_epi32(w, 16))));
    }
}
/* e8m0_half() of 8 bytes. */
INLINE vf e8m0_8(const unsigned char *p)
{
    const vi e = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
    vi x = _mm256_slli_epi32(_mm256_sub_epi32(e, vi_set1(1)), 23);
    x = _mm256_blendv_epi8(x, _mm256_sllv_epi32(vi_set1(0x00200000), e), _mm256_cmpgt_epi32(vi_set1(2), e));
    x = _mm256_blendv_epi8(x, vi_set1(0x7fc00000), _mm256_cmpeq_epi32(e, vi_set1(255)));
    return vi_floats(x);
}
INLINE void scales_e8m0(const unsigned char *p, size_t b, struct packed_meta *m)
{
    vf_store(m->scale[b], e8m0_8(p));
    vf_store(m->scale[b] + VL, e8m0_8(p + VL));
}
/* Words of d and pairs of upper bits, then of nibbles. */
INLINE void scales_iq4_xs(const unsigned char *p, size_t b, struct packed_meta *m)
{
    (void)b;
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; h++) {
        const vi w = line(p + 32 * h, 0), low = line(p + 32 * h, 1);
        const vf d = packed_f16(_mm256_and_si256(w, vi_set1(0xffff)));
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            const vi l = _mm256_and_si256(_mm256_srli_epi32(low, 4 * j), vi_set1(15));
            const vi u = _mm256_and_si256(_mm256_srli_epi32(w, 12 + 2 * j), vi_set1(0x30));
            const vi sc = _mm256_sub_epi32(_mm256_or_si256(l, u), vi_set1(32));
            vf_store(m->scale[j] + VL * h, vf_mul(d, vi_to_vf(sc)));
        }
    }
}

/* ---- products ------------------------------------------------------------------------ */

static void tile_wide(const struct packed_tile *t, size_t n_tok)
{
    packed_tile_any(t, n_tok, Q8_0_SHAPE);
}
static void tile_bias(const struct packed_tile *t, size_t n_tok)
{
    packed_tile_any(t, n_tok, Q4_0_SHAPE);
}
static void tile_min(const struct packed_tile *t, size_t n_tok)
{
    packed_tile_any(t, n_tok, Q4_1_SHAPE);
}
static void tile_16_min(const struct packed_tile *t, size_t n_tok)
{
    packed_tile_any(t, n_tok, Q5_1_SHAPE);
}

PACKED(q8_0, Q8_0_SHAPE, decode_bytes, scales_f16)
PACKED(q4_0, Q4_0_SHAPE, decode_nibbles, scales_f16)
PACKED(q4_1, Q4_1_SHAPE, decode_nibbles, scales_pair)
PACKED(q5_0, Q5_0_SHAPE, decode_q5, scales_f16)
PACKED(q5_1, Q5_1_SHAPE, decode_q5, scales_pair)
PACKED(iq4_nl, IQ4_NL_SHAPE, decode_iq4, scales_f16)
PACKED(iq4_xs, IQ4_XS_SHAPE, decode_iq4_xs, scales_iq4_xs)
PACKED(mxfp4, MXFP4_SHAPE, decode_e2m1, scales_e8m0)

const struct packed_format *avx2_packed_32(enum dtype type)
{
    static const struct packed_format formats[DTYPE_COUNT] = {
        [DTYPE_Q8_0] = { gemv_q8_0, gemv_streams_q8_0, Q8_0_SHAPE, unpack_q8_0, tile_wide },
        [DTYPE_Q4_0] = { gemv_q4_0, gemv_streams_q4_0, Q4_0_SHAPE, unpack_q4_0, tile_bias },
        [DTYPE_Q4_1] = { gemv_q4_1, gemv_streams_q4_1, Q4_1_SHAPE, unpack_q4_1, tile_min },
        [DTYPE_Q5_0] = { gemv_q5_0, gemv_streams_q5_0, Q5_0_SHAPE, unpack_q5_0, tile_bias },
        [DTYPE_Q5_1] = { gemv_q5_1, gemv_streams_q5_1, Q5_1_SHAPE, unpack_q5_1, tile_16_min },
        [DTYPE_IQ4_NL] = { gemv_iq4_nl, gemv_streams_iq4_nl, IQ4_NL_SHAPE, unpack_iq4_nl, tile_wide },
        [DTYPE_IQ4_XS] = { gemv_iq4_xs, gemv_streams_iq4_xs, IQ4_XS_SHAPE, unpack_iq4_xs, tile_wide },
        [DTYPE_MXFP4] = { gemv_mxfp4, gemv_streams_mxfp4, MXFP4_SHAPE, unpack_mxfp4, tile_bias },
    };
    return formats[type].gemv ? &formats[type] : NULL;
}
