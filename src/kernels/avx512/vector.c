/* avx512/vector.c: the vector kernels of simd/vector.h for AVX-512. */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/simd512.h"

#include "kernels/simd/vector.h" /* written in the names of the header above */

void avx512_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0,
                             size_t tok1)
{
    simd_act_prepare_bf16(a, x, ld, tok0, tok1);
}

void avx512_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0,
                           size_t tok1)
{
    simd_act_prepare_q8(a, x, ld, tok0, tok1);
}

void avx512_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps)
{
    simd_rms_norm(dst, src, w, n, eps);
}

void avx512_silu_mul(float *dst, const float *a, const float *b, size_t n)
{
    simd_silu_mul(dst, a, b, n);
}

void avx512_gelu_mul(float *dst, const float *a, const float *b, size_t n)
{
    simd_gelu_mul(dst, a, b, n);
}

void avx512_swiglu_oai(float *dst, const float *a, const float *b, size_t n)
{
    simd_swiglu_oai(dst, a, b, n);
}

void avx512_add(float *dst, const float *src, size_t n)
{
    simd_add(dst, src, n);
}

void avx512_softcap(float *x, size_t n, float cap)
{
    simd_softcap(x, n, cap);
}

void avx512_rope(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs)
{
    simd_rope(x, n_head, head_stride, n_rot, cs);
}

void avx512_rope_neox(float *x, size_t n_head, size_t head_stride, size_t n_rot,
                         const float *cs)
{
    simd_rope_neox(x, n_head, head_stride, n_rot, cs);
}

void avx512_f32_to_f16(uint16_t *dst, const float *src, size_t n)
{
    simd_f32_to_f16(dst, src, n);
}
