/* kernels/avx512vnni/q5.h: nibbles and fifth bits, as Q5_0 and Q5_1 store them. */
#ifndef KERNELS_AVX512VNNI_Q5_H
#define KERNELS_AVX512VNNI_Q5_H

#include "kernels/avx512vnni/gemv32.h"

/* Quants 0-31 of the block whose fifth bits (4 bytes, then 16 of nibbles) stand at p, and
 * of the one block_bytes on. */
INLINE __m512i q5_pair(const unsigned char *p, size_t block_bytes, bool both)
{
    uint32_t h0, h1 = 0;
    __builtin_memcpy(&h0, p, sizeof h0);
    __m512i w =
        _mm512_maskz_broadcast_i32x4(0x00ff, _mm_loadu_si128((const __m128i *)(p + 4)));
    if (both) {
        __builtin_memcpy(&h1, p + block_bytes, sizeof h1);
        w = _mm512_mask_broadcast_i32x4(
            w, 0xff00, _mm_loadu_si128((const __m128i *)(p + block_bytes + 4)));
    }
    const __m512i shift = _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0);
    w = _mm512_and_si512(_mm512_srlv_epi64(w, shift), _mm512_set1_epi8(15));
    __mmask64 fifth = (__mmask64)h1 << 32 | h0;
    return _mm512_mask_add_epi8(w, fifth, w, _mm512_set1_epi8(16));
}

/* The same for one block into q[32]. */
INLINE void q5_unpack(const unsigned char *p, uint8_t *q)
{
    __m512i w = q5_pair(p, 0, false);
    _mm256_store_si256((__m256i *)q, _mm512_castsi512_si256(w));
}

#endif
