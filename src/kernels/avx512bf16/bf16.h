/* kernels/avx512bf16/bf16.h: the functions of the BF16 rung. */
#ifndef KERNELS_AVX512BF16_BF16_H
#define KERNELS_AVX512BF16_BF16_H

#include "kernels/internal.h"

void bf16_dense_slots(struct kernels *k, unsigned cpu_flags);
matmul_fn bf16_packed_gemm; /* for what AMX leaves */
attention_fn bf16_attention, bf16_attention_once; /* once: for CPU_SW_PREFETCH */

#endif
