/* avx2/dense.c: products with F32, F16 and BF16 weights by FP32 multiply-add. methods.md
 * (5) */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"

#include "kernels/simd/dense.h" /* written in the names of the header above */
#include "kernels/simd/dense_packed.h"

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
    return _mm256_fmadd_ps(vi_floats(w), vi_floats(x), acc);
}

/* Struct constants inline into their users; a static const table would not. */
#define F32_FORMAT  ((struct dense_format){ 4, 1, weights_f32, acts, madd })
#define F16_FORMAT  ((struct dense_format){ 2, 1, weights_f16, acts, madd })
#define BF16_FORMAT ((struct dense_format){ 2, 1, weights_bf16, acts, madd })

void avx2_gemv_f32(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemv(a, row0, row1, F32_FORMAT);
}
void avx2_gemm_f32(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemm(a, row0, row1, F32_FORMAT);
}
void avx2_gemv_f16(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemv(a, row0, row1, F16_FORMAT);
}
void avx2_gemm_f16(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemm(a, row0, row1, F16_FORMAT);
}
void avx2_gemv_bf16(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemv(a, row0, row1, BF16_FORMAT);
}
void avx2_gemm_bf16(const struct matmul_args *a, size_t row0, size_t row1)
{
    dense_gemm(a, row0, row1, BF16_FORMAT);
}

/* ---- packed ------------------------------------------------------------------------ */

INLINE vi load_f32(const unsigned char *p, size_t j, size_t v)
{
    return _mm256_loadu_si256((const __m256i *)(p + 64 * j + 32 * v));
}
INLINE vi load_f16(const unsigned char *p, size_t j, size_t v)
{
    return vf_bits(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 32 * j + 16 * v))));
}
/* Pairs of k: the first of a pair is the low half. */
INLINE vi load_bf16(const unsigned char *p, size_t j, size_t v)
{
    __m256i pair = _mm256_loadu_si256((const __m256i *)(p + 64 * (j / 2) + 32 * v));
    return j % 2 ? _mm256_and_si256(pair, vi_set1((int32_t)0xffff0000)) : _mm256_slli_epi32(pair, 16);
}
INLINE vi act(const unsigned char *p)
{
    float x;
    memcpy(&x, p, sizeof x);
    return vf_bits(vf_set1(x));
}

#define PACKED_F32  ((struct packed_format){ 4, 1, true, load_f32, act, madd })
#define PACKED_F16  ((struct packed_format){ 2, 1, false, load_f16, act, madd })
#define PACKED_BF16 ((struct packed_format){ 2, 1, false, load_bf16, act, madd })

void avx2_packed_few_f32(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_few(a, row0, row1, PACKED_F32);
}
void avx2_packed_few_f32_streams(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_few_ahead(a, row0, row1, FEW_NONE, PACKED_F32);
}
void avx2_packed_gemm_f32(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_gemm(a, row0, row1, PACKED_F32);
}
void avx2_packed_few_f16(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_few(a, row0, row1, PACKED_F16);
}
void avx2_packed_few_f16_streams(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_few_ahead(a, row0, row1, FEW_NONE, PACKED_F16);
}
void avx2_packed_gemm_f16(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_gemm(a, row0, row1, PACKED_F16);
}
void avx2_packed_few_bf16(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_few(a, row0, row1, PACKED_BF16);
}
void avx2_packed_few_bf16_streams(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_few_ahead(a, row0, row1, FEW_NONE, PACKED_BF16);
}
void avx2_packed_gemm_bf16(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_gemm(a, row0, row1, PACKED_BF16);
}
