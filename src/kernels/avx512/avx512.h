/* kernels/avx512/avx512.h: the functions of the AVX-512 rung. */
#ifndef KERNELS_AVX512_AVX512_H
#define KERNELS_AVX512_AVX512_H

#include "kernels/internal.h"

matmul_fn avx512_gemv_f32, avx512_gemm_f32, avx512_gemv_f16, avx512_gemm_f16;
matmul_fn avx512_gemv_bf16, avx512_gemm_bf16;
matmul_fn avx512_packed_few_f32, avx512_packed_gemm_f32, avx512_packed_few_f16, avx512_packed_gemm_f16;
matmul_fn avx512_packed_few_bf16, avx512_packed_gemm_bf16;
/* For CPU_TWO_PORTS, where conversions take the ports of multiply-adds: more tokens than one pass takes convert weights once. */
matmul_fn avx512_packed_gemm_f16_two_ports, avx512_packed_gemm_bf16_two_ports;
matmul_fn avx512_packed_few_f32_streams, avx512_packed_few_f16_streams, avx512_packed_few_bf16_streams;
matmul_fn avx512_packed_few_f32_once, avx512_packed_few_f16_once, avx512_packed_few_bf16_once;
attention_fn avx512_attention, avx512_attention_once; /* once: for CPU_SW_PREFETCH */
void avx512_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0,
                             size_t tok1);
void avx512_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0,
                           size_t tok1);
void avx512_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps);
void avx512_silu_mul(float *dst, const float *a, const float *b, size_t n);
void avx512_gelu_mul(float *dst, const float *a, const float *b, size_t n);
void avx512_swiglu_oai(float *dst, const float *a, const float *b, size_t n);
void avx512_add(float *dst, const float *src, size_t n);
void avx512_softmax(float *x, size_t n);
void avx512_softcap(float *x, size_t n, float cap);
void avx512_rope(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs);
void avx512_rope_neox(float *x, size_t n_head, size_t head_stride, size_t n_rot,
                         const float *cs);
void avx512_f32_to_f16(uint16_t *dst, const float *src, size_t n);

#endif
