/* neon/vector.c: the vector kernels of simd/vector.h for NEON. */
#include "kernels/neon/neon.h"
#include "kernels/neon/simd128.h"

#include "kernels/simd/vector.h" /* written in the names of the header above */

void neon_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0,
                           size_t tok1)
{
    simd_act_prepare_bf16(a, x, ld, tok0, tok1);
}

/* methods.md (89) */
void neon_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0,
                         size_t tok1)
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

void neon_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps)
{
    simd_rms_norm(dst, src, w, n, eps);
}

void neon_silu_mul(float *dst, const float *a, const float *b, size_t n)
{
    simd_silu_mul(dst, a, b, n);
}

void neon_gelu_mul(float *dst, const float *a, const float *b, size_t n)
{
    simd_gelu_mul(dst, a, b, n);
}

void neon_swiglu_oai(float *dst, const float *a, const float *b, size_t n)
{
    simd_swiglu_oai(dst, a, b, n);
}

void neon_add(float *dst, const float *src, size_t n)
{
    simd_add(dst, src, n);
}

void neon_softmax(float *x, size_t n)
{
    simd_softmax(x, n);
}

void neon_softcap(float *x, size_t n, float cap)
{
    simd_softcap(x, n, cap);
}

void neon_rope(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs)
{
    simd_rope(x, n_head, head_stride, n_rot, cs);
}

void neon_rope_neox(float *x, size_t n_head, size_t head_stride, size_t n_rot,
                       const float *cs)
{
    simd_rope_neox(x, n_head, head_stride, n_rot, cs);
}

void neon_f32_to_f16(uint16_t *dst, const float *src, size_t n)
{
    simd_f32_to_f16(dst, src, n);
}
