/* avx2/attention.c: simd/attention.h for AVX2. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"

#include "kernels/simd/attention.h" /* written in the names of the header above */

void avx2_attention(const struct attention_args *a, uint32_t head0, uint32_t head1,
                    uint32_t tok0, uint32_t tok1, bool count_kv, struct work *w)
{
    simd_attention(a, head0, head1, tok0, tok1, count_kv, w);
}
