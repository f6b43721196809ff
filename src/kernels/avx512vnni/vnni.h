/* kernels/avx512vnni/vnni.h: products of quantized weights with 8-bit activations by
 * vpdpbusd. */
#ifndef KERNELS_AVX512VNNI_VNNI_H
#define KERNELS_AVX512VNNI_VNNI_H

#include "kernels/internal.h"
#include "kernels/simd/format.h"

/* Products of a type, as in the file. */
struct vnni_file {
    matmul_fn *gemv;
    struct q8_format format; /* of vnni_gemm */
};
/* Of the types of file_32.c and file_k.c; NULL: another type. */
const struct vnni_file *vnni_file_32(enum dtype type);
const struct vnni_file *vnni_file_k(enum dtype type);
static inline const struct vnni_file *vnni_file(enum dtype type)
{
    const struct vnni_file *f = vnni_file_32(type);
    return f ? f : vnni_file_k(type);
}
matmul_fn vnni_gemm;

#endif
