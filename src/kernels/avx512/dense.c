/* avx512/dense.c: products with F32, F16 and BF16 weights by FP32 multiply-add. methods.md
 * (5) */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/simd512.h"

#include "kernels/simd/dense_floats.h" /* written in the names of the header above */
#include "kernels/simd/dense_packed.h"

/* ---- packed ------------------------------------------------------------------------ */

INLINE vi load_f32(const unsigned char *p, size_t j, size_t v)
{
    (void)v;
    return _mm512_loadu_si512(p + 64 * j);
}
INLINE vi load_f16(const unsigned char *p, size_t j, size_t v)
{
    (void)v;
    return vf_bits(_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p + 32 * j))));
}
/* Pairs of k: the first of a pair is the low half. */
INLINE vi load_bf16(const unsigned char *p, size_t j, size_t v)
{
    (void)v;
    __m512i pair = _mm512_loadu_si512(p + 64 * (j / 2));
    return j % 2 ? _mm512_and_si512(pair, vi_set1((int32_t)0xffff0000)) : _mm512_slli_epi32(pair, 16);
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
PRODUCT(few_once_f32, packed_few_once, PACKED_F32)
PRODUCT(few_once_f16, packed_few_once, PACKED_F16)
PRODUCT(few_once_bf16, packed_few_once, PACKED_BF16)
PRODUCT(tiles_f16, packed_tiles, PACKED_F16)
PRODUCT(tiles_bf16, packed_tiles, PACKED_BF16)

void avx512_packed_gemm_f32(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_gemm(a, row0, row1, PACKED_F32);
}
static void packed_gemm_f16(const struct matmul_args *a, size_t row0, size_t row1)
{
    if (!packed_batch(a, row0, row1, PACKED_F16))
        tiles_f16(a, row0, row1);
}
static void packed_gemm_bf16(const struct matmul_args *a, size_t row0, size_t row1)
{
    if (!packed_batch(a, row0, row1, PACKED_BF16))
        tiles_bf16(a, row0, row1);
}
void avx512_packed_gemm_f16_two_ports(const struct matmul_args *a, size_t row0, size_t row1)
{
    (a->x->n_tok <= FEW_TOK ? few_f16 : tiles_f16)(a, row0, row1);
}
static void packed_gemm_bf16_two_ports(const struct matmul_args *a, size_t row0, size_t row1)
{
    (a->x->n_tok <= FEW_TOK ? few_bf16 : tiles_bf16)(a, row0, row1);
}

/*
 * CPU_HW_PREFETCH: no prefetch for few tokens; with more the out-of-order window limits hardware prefetch, and gemm, which prefetches, is
 * faster. Zen 4, from DRAM, % of plain loads, without and with: F16 of 2 tokens 99 and 98, 3: 93 and 97, 5: 70 and 97; F32 of 5: 96
 * and 93, 6: 92 and 95, 8: 82 and 96.
 */
void avx512_dense_slots(struct kernels *k, unsigned cpu_flags)
{
    const bool streams = cpu_flags & CPU_HW_PREFETCH, once = cpu_flags & CPU_SW_PREFETCH, two_ports = cpu_flags & CPU_TWO_PORTS;
    dense_file_slots(k);
    k->packed[DTYPE_F32] = (struct matmul_slot){ ACT_F32, streams ? few_streams_f32 : once ? few_once_f32 : few_f32,
                                                 avx512_packed_gemm_f32, streams ? 5 : FEW_TOK, PACK_ROWS };
    k->packed[DTYPE_F16] = (struct matmul_slot){ ACT_F32, streams ? few_streams_f16 : once ? few_once_f16 : few_f16,
                                                 two_ports ? avx512_packed_gemm_f16_two_ports : packed_gemm_f16,
                                                 streams ? 2 : FEW_TOK, PACK_ROWS };
    k->packed[DTYPE_BF16] = (struct matmul_slot){ ACT_F32, streams ? few_streams_bf16 : once ? few_once_bf16 : few_bf16,
                                                  two_ports ? packed_gemm_bf16_two_ports : packed_gemm_bf16,
                                                  streams ? 2 : FEW_TOK, PACK_ROWS };
}
