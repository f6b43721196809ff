/* kernels/avx2/avx2.h: the functions of the AVX2 rung. */
#ifndef KERNELS_AVX2_AVX2_H
#define KERNELS_AVX2_AVX2_H

#include "kernels/internal.h"
#include "kernels/simd/format.h"

/* The quantized formats of this rung, and what of them a product knows at compile time: the
 * first six members. */
extern const struct q8_format avx2_q8_0, avx2_q4_0, avx2_q4_1, avx2_q5_0, avx2_q5_1;
extern const struct q8_format avx2_q2_k, avx2_q3_k, avx2_q4_k, avx2_q5_k, avx2_q6_k;
extern const struct q8_format avx2_iq4_nl, avx2_iq4_xs, avx2_mxfp4;
#define Q8_0_SHAPE   32, 34, 32, 0, false, true
#define Q4_0_SHAPE   32, 18, 32, 8, false, false
#define Q4_1_SHAPE   32, 20, 32, 0, true, false
#define Q5_0_SHAPE   32, 22, 32, 16, false, false
#define Q5_1_SHAPE   32, 24, 32, 0, true, false
#define Q2_K_SHAPE   256, 84, 16, 0, true, false
#define Q3_K_SHAPE   256, 110, 16, 4, false, false
#define Q4_K_SHAPE   256, 144, 32, 0, true, false
#define Q5_K_SHAPE   256, 176, 32, 0, true, false
#define Q6_K_SHAPE   256, 210, 16, 32, false, false
#define IQ4_NL_SHAPE 32, 18, 32, 0, false, true
#define IQ4_XS_SHAPE 256, 136, 32, 0, false, true
#define MXFP4_SHAPE  32, 17, 32, 12, false, false

matmul_fn avx2_gemv_q8_0, avx2_gemm_q8_0, avx2_gemv_q4_0, avx2_gemm_q4_0;
matmul_fn avx2_gemv_q4_1, avx2_gemm_q4_1;
matmul_fn avx2_gemv_q5_0, avx2_gemm_q5_0, avx2_gemv_q5_1, avx2_gemm_q5_1;
matmul_fn avx2_gemv_q2_k, avx2_gemm_q2_k, avx2_gemv_q3_k, avx2_gemm_q3_k;
matmul_fn avx2_gemv_q4_k, avx2_gemm_q4_k, avx2_gemv_q5_k, avx2_gemm_q5_k;
matmul_fn avx2_gemv_q6_k, avx2_gemm_q6_k;
matmul_fn avx2_gemv_iq4_nl, avx2_gemm_iq4_nl, avx2_gemv_iq4_xs, avx2_gemm_iq4_xs;
matmul_fn avx2_gemv_mxfp4, avx2_gemm_mxfp4;
matmul_fn avx2_gemv_f32, avx2_gemm_f32, avx2_gemv_f16, avx2_gemm_f16;
matmul_fn avx2_gemv_bf16, avx2_gemm_bf16;
matmul_fn avx2_packed_few_f32, avx2_packed_gemm_f32, avx2_packed_few_f16, avx2_packed_gemm_f16;
matmul_fn avx2_packed_few_bf16, avx2_packed_gemm_bf16;
matmul_fn avx2_packed_few_f32_streams, avx2_packed_few_f16_streams, avx2_packed_few_bf16_streams;
attention_fn avx2_attention;
void avx2_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0,
                           size_t tok1);
void avx2_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0,
                         size_t tok1);
void avx2_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps);
void avx2_silu_mul(float *dst, const float *a, const float *b, size_t n);
void avx2_gelu_mul(float *dst, const float *a, const float *b, size_t n);
void avx2_swiglu_oai(float *dst, const float *a, const float *b, size_t n);
void avx2_add(float *dst, const float *src, size_t n);
void avx2_softmax(float *x, size_t n);
void avx2_softcap(float *x, size_t n, float cap);
void avx2_rope(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs);
void avx2_rope_neox(float *x, size_t n_head, size_t head_stride, size_t n_rot,
                       const float *cs);
void avx2_f32_to_f16(uint16_t *dst, const float *src, size_t n);

#endif
