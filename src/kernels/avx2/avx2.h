/* kernels/avx2/avx2.h: the functions of the AVX2 rung. */
#ifndef KERNELS_AVX2_AVX2_H
#define KERNELS_AVX2_AVX2_H

#include "kernels/internal.h"
#include "kernels/simd/format.h"

/* The quantized formats of this rung. */
extern const struct q8_format avx2_q8_0, avx2_q4_0, avx2_q5_0, avx2_q5_1, avx2_q4_k,
    avx2_q5_k, avx2_q6_k;

matmul_fn avx2_gemv_q8_0, avx2_gemm_q8_0, avx2_gemv_q4_0, avx2_gemm_q4_0;
matmul_fn avx2_gemv_q5_0, avx2_gemm_q5_0, avx2_gemv_q5_1, avx2_gemm_q5_1;
matmul_fn avx2_gemv_q4_k, avx2_gemm_q4_k, avx2_gemv_q5_k, avx2_gemm_q5_k;
matmul_fn avx2_gemv_q6_k, avx2_gemm_q6_k;
matmul_fn avx2_gemv_f32, avx2_gemm_f32, avx2_gemv_f16, avx2_gemm_f16;
matmul_fn avx2_gemv_bf16, avx2_gemm_bf16;
attention_fn avx2_attention;
void avx2_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0,
                           size_t tok1);
void avx2_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0,
                         size_t tok1);
void avx2_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps);
void avx2_silu_mul(float *dst, const float *a, const float *b, size_t n);
void avx2_add(float *dst, const float *src, size_t n);
void avx2_rope(float *x, size_t n_head, size_t head_dim, size_t n_rot, const float *cs);
void avx2_f32_to_f16(uint16_t *dst, const float *src, size_t n);

#endif
