/*
 * kernels/simd/blocks.h: parts of quantized blocks that every x86 rung decodes alike, in
 * vectors of at most 256 bits. The includer includes its simd header first. Static inline
 * only. methods.md (1)
 */
#ifndef KERNELS_SIMD_BLOCKS_H
#define KERNELS_SIMD_BLOCKS_H

#include "dtype/dtype.h"
#include <string.h>

/* The numbers that nibbles stand for, as tables for byte shuffles: signed, or with a bias
 * as bytes >= 0. */
enum { IQ4_BIAS = 128, E2M1_BIAS = 12 };
INLINE __m128i iq4_signed(void)
{
    return _mm_loadu_si128((const __m128i *)dtype_iq4);
}
INLINE __m128i iq4_biased(void)
{
    return _mm_add_epi8(iq4_signed(), _mm_set1_epi8((char)IQ4_BIAS));
}
INLINE __m128i e2m1_biased(void)
{
    return _mm_add_epi8(_mm_loadu_si128((const __m128i *)dtype_e2m1), _mm_set1_epi8(E2M1_BIAS));
}

/* Q4_K, Q5_K: the 12 bytes of 6-bit values at p: scales to bytes 0-7, mins to 8-15. */
INLINE __m128i k_scales(const unsigned char *p)
{
    uint32_t a, b, c;
    memcpy(&a, p, sizeof a);
    memcpy(&b, p + 4, sizeof b);
    memcpy(&c, p + 8, sizeof c);
    uint64_t sc = (uint64_t)((c & 0x0f0f0f0f) | (a >> 2 & 0x30303030)) << 32 | (a & 0x3f3f3f3f);
    uint64_t m = (uint64_t)((c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030)) << 32 | (b & 0x3f3f3f3f);
    return _mm_set_epi64x((long long)m, (long long)sc);
}

/* Q3_K: 16 signed scales from 8 bytes of low nibbles, then high ones, and 4 bytes of the
 * bit pairs above them, a pair of each byte for every four scales. */
INLINE __m128i q3_k_scales(const unsigned char *p)
{
    int32_t pairs;
    memcpy(&pairs, p + 8, sizeof pairs);
    __m128i l = _mm_loadl_epi64((const __m128i *)p);
    l = _mm_unpacklo_epi64(l, _mm_srli_epi64(l, 4));
    __m128i h = _mm_srlv_epi32(_mm_set1_epi32(pairs), _mm_setr_epi32(0, 2, 4, 6));
    h = _mm_and_si128(_mm_slli_epi32(h, 4), _mm_set1_epi8(0x30));
    l = _mm_or_si128(_mm_and_si128(l, _mm_set1_epi8(15)), h);
    return _mm_sub_epi8(l, _mm_set1_epi8(32));
}

/* IQ4_XS: 8 signed scales from 8 pairs of upper bits and 8 nibbles, low ones first. */
INLINE __m256i iq4_xs_scales(const unsigned char *p)
{
    uint16_t pairs;
    int32_t nibbles;
    memcpy(&pairs, p, sizeof pairs);
    memcpy(&nibbles, p + 2, sizeof nibbles);
    const __m256i at = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    __m256i l = _mm256_srlv_epi32(_mm256_set1_epi32(nibbles), _mm256_add_epi32(at, at));
    __m256i h = _mm256_slli_epi32(_mm256_srlv_epi32(_mm256_set1_epi32(pairs), at), 4);
    l = _mm256_or_si256(_mm256_and_si256(l, _mm256_set1_epi32(15)), _mm256_and_si256(h, _mm256_set1_epi32(0x30)));
    return _mm256_sub_epi32(l, _mm256_set1_epi32(32));
}

/* Bits of the float 2^(e - 127) / 2, as dtype_e2m1 holds doubles; two are subnormal, and
 * 255 stands for NaN. */
INLINE int32_t e8m0_half(unsigned char e)
{
    return e < 2 ? 0x00200000 << e : e < 255 ? (e - 1) << 23 : 0x7fc00000;
}

#endif
