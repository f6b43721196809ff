/* kernels/avx512vnni/vnni.h: products of quantized weights with 8-bit activations by
 * vpdpbusd. */
#ifndef KERNELS_AVX512VNNI_VNNI_H
#define KERNELS_AVX512VNNI_VNNI_H

#include "kernels/internal.h"
#include "kernels/simd/format.h"

void vnni_gemm(const struct matmul_args *a, size_t row0, size_t row1,
               const struct q8_format *f);

matmul_fn vnni_gemv_q8_0, vnni_gemm_q8_0, vnni_gemv_q4_0, vnni_gemm_q4_0;
matmul_fn vnni_gemv_q4_1, vnni_gemm_q4_1;
matmul_fn vnni_gemv_q5_0, vnni_gemm_q5_0, vnni_gemv_q5_1, vnni_gemm_q5_1;
matmul_fn vnni_gemv_q2_k, vnni_gemm_q2_k, vnni_gemv_q3_k, vnni_gemm_q3_k;
matmul_fn vnni_gemv_q4_k, vnni_gemm_q4_k, vnni_gemv_q5_k, vnni_gemm_q5_k;
matmul_fn vnni_gemv_q6_k, vnni_gemm_q6_k;
matmul_fn vnni_gemv_iq4_nl, vnni_gemm_iq4_nl, vnni_gemv_iq4_xs, vnni_gemm_iq4_xs;
matmul_fn vnni_gemv_mxfp4, vnni_gemm_mxfp4;

#endif
