/* neon/vector.c: the vector kernels of simd/vector.h for NEON. */
#include "kernels/neon/neon.h"
#include "kernels/neon/simd128.h"

#include "kernels/simd/vector.h" /* written in the names of the header above */

/* methods.md (89) */
static void prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1)
{
    for (size_t t = tok0; t < tok1; t++)
        for (size_t c = 0; c < a->stride; c += 32) {
            const size_t n = c < a->cols ? a->cols - c : 0, i = t * a->stride + c;
            const float *src = x + t * ld + (n ? c : 0);
            const struct q8_scale s = q8_scale(block_max_bits(src, n), a->pow2);
            int8x16x2_t q = { { vdupq_n_s8(0), vdupq_n_s8(0) } };
            if (s.inverse != 0)
                q = block_round(src, n, s.inverse);
            a->d[i / 32] = s.d;
#pragma GCC unroll 2
            for (size_t j = 0; j < 2; j++) {
                vst1q_s8(a->q + i + 16 * j, q.val[j]);
                a->sum[i / 16 + j] = vaddlvq_s8(q.val[j]);
            }
        }
}

void neon_vector_slots(struct kernels *k)
{
    simd_vector_slots(k);
    k->act_prepare[ACT_Q8] = prepare_q8;
}
