/* avx512/attention.c: simd/attention.h for AVX-512. */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/simd512.h"

#include "kernels/simd/attention.h" /* written in the names of the header above */

void avx512_attention(const struct attention_args *a, uint32_t head0, uint32_t head1,
                      uint32_t tok0, uint32_t tok1, bool count_kv, struct work *w)
{
    simd_attention(a, head0, head1, tok0, tok1, count_kv, w);
}
