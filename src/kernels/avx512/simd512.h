/* kernels/avx512/simd512.h: small vector helpers. Static inline only. */
#ifndef KERNELS_AVX512_SIMD512_H
#define KERNELS_AVX512_SIMD512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

/* Mask of the first n of 16 lanes, n up to 16. */
INLINE __mmask16 first_lanes(size_t n)
{
    return n >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << n) - 1);
}

/* r as a 16x16 matrix of 32-bit elements becomes its transpose. */
INLINE void transpose16(__m512i r[16])
{
    __m512i t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) { /* pairs of rows: [a0 b0 a1 b1] in each 128-bit lane */
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* r[4i+j]: rows 4i..4i+3 of column 4*lane + j */
        r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) { /* gather the lanes: 0x88 takes lanes 0 2, 0xdd lanes 1 3 */
        __m512i a = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88);
        __m512i b = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
        __m512i c = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88);
        __m512i d = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
        t[j] = _mm512_shuffle_i32x4(a, c, 0x88);
        t[8 + j] = _mm512_shuffle_i32x4(a, c, 0xdd);
        t[4 + j] = _mm512_shuffle_i32x4(b, d, 0x88);
        t[12 + j] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = t[i];
}

/* Sums of the lanes of four vectors of int32, a 128-bit lane at a time: result lane l holds
 * [sum of a's lane l, of b's, of c's, of d's]. */
INLINE __m512i lane_sums4(__m512i a, __m512i b, __m512i c, __m512i d)
{
    __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}

INLINE float f16_at(const void *p)
{
    uint16_t h;
    __builtin_memcpy(&h, p, sizeof h);
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
}

#endif
