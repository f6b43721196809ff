/* kernels/avx2/avx2.h: the functions of the AVX2 rung. */
#ifndef KERNELS_AVX2_AVX2_H
#define KERNELS_AVX2_AVX2_H

#include "kernels/internal.h"
#include "kernels/simd/format.h"

/* How a quantized type is multiplied as it is in the file. */
struct avx2_file {
    matmul_fn *gemv;
    struct q8_format format; /* of avx2_gemm_q8 */
};
/* NULL: not by this rung. */
const struct avx2_file *avx2_file(enum dtype type);
matmul_fn avx2_gemm_q8;

/* Slots of F32, F16 and BF16; streams: for CPU_HW_PREFETCH, without prefetch. */
void avx2_dense_slots(struct kernels *k, bool streams);
void avx2_vector_slots(struct kernels *k);
attention_fn avx2_attention;

#endif
