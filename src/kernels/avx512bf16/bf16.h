/* kernels/avx512bf16/bf16.h: the functions of the BF16 rung. */
#ifndef KERNELS_AVX512BF16_BF16_H
#define KERNELS_AVX512BF16_BF16_H

#include "kernels/internal.h"

matmul_fn bf16_gemv, bf16_gemm, bf16_packed_few, bf16_packed_few_streams, bf16_packed_few_once, bf16_packed_gemm;
attention_fn bf16_attention, bf16_attention_once; /* once: for CPU_SW_PREFETCH */

#endif
