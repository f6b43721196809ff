/* avx2/dense.c: products with F32, F16 and BF16 weights by FP32 multiply-add. methods.md (5) */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"

#include "kernels/simd/dense_floats.h" /* written in the names of the header above */
#include "kernels/simd/dense_packed.h"

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

PRODUCT(few_f32, packed_few_ahead, FEW_LINES, PACKED_F32)
PRODUCT(few_f16, packed_few_ahead, FEW_LINES, PACKED_F16)
PRODUCT(few_bf16, packed_few_ahead, FEW_LINES, PACKED_BF16)
PRODUCT(few_streams_f32, packed_few_ahead, FEW_NONE, PACKED_F32)
PRODUCT(few_streams_f16, packed_few_ahead, FEW_NONE, PACKED_F16)
PRODUCT(few_streams_bf16, packed_few_ahead, FEW_NONE, PACKED_BF16)
PRODUCT(packed_gemm_f32, packed_gemm, PACKED_F32)
PRODUCT(packed_gemm_f16, packed_gemm, PACKED_F16)
PRODUCT(packed_gemm_bf16, packed_gemm, PACKED_BF16)

void avx2_dense_slots(struct kernels *k, bool streams)
{
    dense_file_slots(k);
    k->packed[DTYPE_F32] = (struct matmul_slot){ ACT_F32, streams ? few_streams_f32 : few_f32, packed_gemm_f32, FEW_TOK, PACK_ROWS };
    k->packed[DTYPE_F16] = (struct matmul_slot){ ACT_F32, streams ? few_streams_f16 : few_f16, packed_gemm_f16, FEW_TOK, PACK_ROWS };
    k->packed[DTYPE_BF16] = (struct matmul_slot){ ACT_F32, streams ? few_streams_bf16 : few_bf16, packed_gemm_bf16, FEW_TOK, PACK_ROWS };
}
