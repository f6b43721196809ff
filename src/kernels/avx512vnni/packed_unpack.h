/* avx512vnni/packed_unpack.h: helpers of unpacking: a vector holds four bytes of each of 16 rows.
 * Static inline only. */
#ifndef KERNELS_AVX512VNNI_PACKED_UNPACK_H
#define KERNELS_AVX512VNNI_PACKED_UNPACK_H

#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/packed.h"

#include "kernels/simd/blocks.h" /* written in the names of the headers above */

/* Prefetch distance from L2, into which the chunk before was prefetched. */
enum { UNIT_AHEAD = 1024 };

/* Unit u of those at p. */
INLINE __m512i unit(const unsigned char *p, size_t u, const bool prefetch)
{
    if (prefetch)
        _mm_prefetch((const char *)p + 64 * u + UNIT_AHEAD, _MM_HINT_T0);
    return _mm512_loadu_si512(p + 64 * u);
}

INLINE __m512i low_nibbles(__m512i x)
{
    return _mm512_and_si512(x, _mm512_set1_epi8(15));
}
INLINE __m512i high_nibbles(__m512i x)
{
    return low_nibbles(_mm512_srli_epi16(x, 4));
}

INLINE void put(struct panel_block *b, size_t h, size_t quad, __m512i w)
{
    _mm512_store_si512(b->w[h][quad], w);
}

INLINE void put_meta(struct panel_block *b, size_t h, size_t i, __m512 v)
{
    _mm512_store_ps(b->meta[i][h], v);
}

/* a | (b & mask) */
INLINE __m512i or_masked(__m512i a, __m512i b, __m512i mask)
{
    return _mm512_ternarylogic_epi32(a, b, mask, 0xf8);
}

INLINE __m512 halves(const unsigned char *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

/* The first and the second half of each row's four bytes. */
INLINE __m512 first_halves(__m512i x)
{
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x));
}
INLINE __m512 second_halves(__m512i x)
{
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(x, 16)));
}

/* Byte i of each row's four, unsigned and signed, as a float. */
INLINE __m512 byte_u8(__m512i x, unsigned i)
{
    return _mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32(x, 8 * i), _mm512_set1_epi32(255)));
}
INLINE __m512 byte_i8(__m512i x, unsigned i)
{
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(x, 24 - 8 * i), 24));
}
/* The same four times. */
INLINE __m512i byte_4(__m512i x, unsigned i)
{
    const __m128i at = _mm_add_epi8(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12), _mm_set1_epi8((char)i));
    return _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(at));
}

#endif
