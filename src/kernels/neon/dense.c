/* neon/dense.c: products with F32, F16 and BF16 weights by FP32 multiply-add. methods.md
 * (5) */
#include "kernels/neon/neon.h"
#include "kernels/neon/simd128.h"

#include "kernels/simd/dense.h" /* written in the names of the header above */

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

/* Struct constants inline into their users; a static const table would not. */
#define F32_FORMAT  ((struct dense_format){ 4, 1, weights_f32, acts, madd })
#define F16_FORMAT  ((struct dense_format){ 2, 1, weights_f16, acts, madd })
#define BF16_FORMAT ((struct dense_format){ 2, 1, weights_bf16, acts, madd })

void neon_gemv_f32(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemv(a, row0, row1, F32_FORMAT);
}
void neon_gemm_f32(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemm(a, row0, row1, F32_FORMAT);
}
void neon_gemv_f16(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemv(a, row0, row1, F16_FORMAT);
}
void neon_gemm_f16(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemm(a, row0, row1, F16_FORMAT);
}
void neon_gemv_bf16(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemv(a, row0, row1, BF16_FORMAT);
}
void neon_gemm_bf16(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemm(a, row0, row1, BF16_FORMAT);
}
