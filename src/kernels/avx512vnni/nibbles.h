/* kernels/avx512vnni/nibbles.h: 32 weights in 16 bytes: low nibbles are elements 0-15, high
 * ones 16-31. Static inline only. */
#ifndef KERNELS_AVX512VNNI_NIBBLES_H
#define KERNELS_AVX512VNNI_NIBBLES_H

#include "kernels/avx512vnni/gemv32.h"

/* The 16 bytes at p in both lower 128-bit lanes, and those at p + next in the upper ones
 * when both, else zeros. */
INLINE __m512i bytes_pair(const unsigned char *p, size_t next, bool both)
{
    __m512i w = _mm512_maskz_broadcast_i32x4(0x00ff, _mm_loadu_si128((const __m128i *)p));
    if (both)
        w = _mm512_mask_broadcast_i32x4(w, 0xff00,
                                        _mm_loadu_si128((const __m128i *)(p + next)));
    return w;
}

/* Elements 16-31 stay in the high nibbles, as 16 times the quant: hi_scale undoes it. */
INLINE __m512i nibbles_in_place(const unsigned char *p, size_t next, bool both)
{
    const __m256i mask = _mm256_set_m128i(_mm_set1_epi8(-16), _mm_set1_epi8(15));
    return _mm512_and_si512(bytes_pair(p, next, both), _mm512_broadcast_i64x4(mask));
}

INLINE __m512i nibbles_pair(const unsigned char *p, size_t next, bool both)
{
    const __m512i shift = _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0);
    return _mm512_and_si512(_mm512_srlv_epi64(bytes_pair(p, next, both), shift),
                            _mm512_set1_epi8(15));
}

/* Entries of a table of bytes. */
INLINE __m512i lookup_pair(const unsigned char *p, size_t next, bool both, __m128i table)
{
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), nibbles_pair(p, next, both));
}

/* The first of a pair, to q[32]. */
INLINE void store_first(uint8_t *q, __m512i pair)
{
    _mm256_store_si256((__m256i *)q, _mm512_castsi512_si256(pair));
}

#endif
