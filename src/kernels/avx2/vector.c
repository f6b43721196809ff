/* avx2/vector.c: the vector kernels of simd/vector.h for AVX2. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"

#include "kernels/simd/vector.h" /* written in the names of the header above */

void avx2_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0,
                           size_t tok1)
{
    simd_act_prepare_bf16(a, x, ld, tok0, tok1);
}

void avx2_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1)
{
    for (size_t t = tok0; t < tok1; t++)
        simd_act_prepare_q8_from(a, x, ld, t, 0);
}

void avx2_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps)
{
    simd_rms_norm(dst, src, w, n, eps);
}

void avx2_silu_mul(float *dst, const float *a, const float *b, size_t n)
{
    simd_silu_mul(dst, a, b, n);
}

void avx2_gelu_mul(float *dst, const float *a, const float *b, size_t n)
{
    simd_gelu_mul(dst, a, b, n);
}

void avx2_swiglu_oai(float *dst, const float *a, const float *b, size_t n)
{
    simd_swiglu_oai(dst, a, b, n);
}

void avx2_add(float *dst, const float *src, size_t n)
{
    simd_add(dst, src, n);
}

void avx2_softmax(float *x, size_t n)
{
    simd_softmax(x, n);
}

void avx2_softcap(float *x, size_t n, float cap)
{
    simd_softcap(x, n, cap);
}

void avx2_rope(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs)
{
    simd_rope(x, n_head, head_stride, n_rot, cs);
}

void avx2_rope_neox(float *x, size_t n_head, size_t head_stride, size_t n_rot,
                       const float *cs)
{
    simd_rope_neox(x, n_head, head_stride, n_rot, cs);
}

void avx2_f32_to_f16(uint16_t *dst, const float *src, size_t n)
{
    simd_f32_to_f16(dst, src, n);
}
