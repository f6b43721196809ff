/*
 * kernels/simd/dense_floats.h: products with F32, F16 and BF16 weights as they are in the file, by FP32 multiply-add, over the
 * vector names of an ISA's simd header, which the includer includes first. Static inline only. methods.md (5)
 */
#ifndef KERNELS_SIMD_DENSE_FLOATS_H
#define KERNELS_SIMD_DENSE_FLOATS_H

#include "kernels/simd/dense.h"

INLINE vi weights_f32(const unsigned char *p, size_t n)
{
    return vf_bits(vf_load_m(vm_first(n), (const float *)(const void *)p));
}
INLINE vi weights_f16(const unsigned char *p, size_t n)
{
    return vf_bits(vf_from_f16(p, n));
}
INLINE vi weights_bf16(const unsigned char *p, size_t n)
{
    return vf_bits(vf_from_bf16(p, n));
}
INLINE vi acts(const struct acts *x, size_t t, size_t c, size_t n)
{
    return vf_bits(vf_load_m(vm_first(n), x->f32 + t * x->stride + c));
}
INLINE vf madd(vf acc, vi w, vi x)
{
    return vf_fma(vi_floats(w), vi_floats(x), acc);
}

PRODUCT(gemv_f32, dense_gemv, (struct dense_format){ 4, 1, weights_f32, acts, madd })
PRODUCT(gemm_f32, dense_gemm, (struct dense_format){ 4, 1, weights_f32, acts, madd })
PRODUCT(gemv_f16, dense_gemv, (struct dense_format){ 2, 1, weights_f16, acts, madd })
PRODUCT(gemm_f16, dense_gemm, (struct dense_format){ 2, 1, weights_f16, acts, madd })
PRODUCT(gemv_bf16, dense_gemv, (struct dense_format){ 2, 1, weights_bf16, acts, madd })
PRODUCT(gemm_bf16, dense_gemm, (struct dense_format){ 2, 1, weights_bf16, acts, madd })

static void dense_file_slots(struct kernels *k)
{
    k->mm[DTYPE_F32] = (struct matmul_slot){ ACT_F32, gemv_f32, gemm_f32, GEMV_MAX_TOK, 2 * VL };
    k->mm[DTYPE_F16] = (struct matmul_slot){ ACT_F32, gemv_f16, gemm_f16, GEMV_MAX_TOK, 2 * VL };
    k->mm[DTYPE_BF16] = (struct matmul_slot){ ACT_F32, gemv_bf16, gemm_bf16, GEMV_MAX_TOK, 2 * VL };
}

#endif
