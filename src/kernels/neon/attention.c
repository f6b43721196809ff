/* neon/attention.c: simd/attention.h for NEON. */
#include "kernels/neon/neon.h"
#include "kernels/neon/simd128.h"

#include "kernels/simd/attention.h" /* written in the names of the header above */

void neon_attention(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1,
                    bool count_kv, struct work *w)
{
    simd_attention(a, head0, head1, tok0, tok1, count_kv, false, w);
}
