/* kernels/avx512/avx512.h: the functions of the AVX-512 rung. */
#ifndef KERNELS_AVX512_AVX512_H
#define KERNELS_AVX512_AVX512_H

#include "kernels/internal.h"

/* Slots of F32, F16 and BF16. */
void avx512_dense_slots(struct kernels *k, unsigned cpu_flags);
/* For what AMX leaves. two_ports: for CPU_TWO_PORTS, where conversions take the ports of multiply-adds: more tokens than one pass takes
 * convert weights once. */
matmul_fn avx512_packed_gemm_f32, avx512_packed_gemm_f16_two_ports;
void avx512_vector_slots(struct kernels *k);
attention_fn avx512_attention, avx512_attention_once; /* once: for CPU_SW_PREFETCH */

#endif
