/* kernels/avx512vnni/q5.h: nibbles and fifth bits, as Q5_0 and Q5_1 store them. */
#ifndef KERNELS_AVX512VNNI_Q5_H
#define KERNELS_AVX512VNNI_Q5_H

#include "kernels/avx512vnni/nibbles.h"

/* Quants 0-31 of the block whose fifth bits (4 bytes, then 16 of nibbles) stand at p, and
 * of the one block_bytes on. */
INLINE __m512i q5_pair(const unsigned char *p, size_t block_bytes, bool both)
{
    uint32_t h0, h1 = 0;
    __builtin_memcpy(&h0, p, sizeof h0);
    if (both)
        __builtin_memcpy(&h1, p + block_bytes, sizeof h1);
    __m512i w = nibbles_pair(p + 4, block_bytes, both);
    __mmask64 fifth = (__mmask64)h1 << 32 | h0;
    return _mm512_mask_add_epi8(w, fifth, w, _mm512_set1_epi8(16));
}

#endif
