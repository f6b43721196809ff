/* avx512bf16/dense.c: BF16 weights with BF16 activations by vdpbf16ps, two products a lane. */
#include "kernels/avx512/simd512.h"
#include "kernels/avx512bf16/bf16.h"

#include "kernels/simd/dense.h" /* written in the names of the header above */
#include "kernels/simd/dense_packed.h"

INLINE vi pairs(const void *p, size_t n)
{
    __mmask32 m = n >= 32 ? 0xffffffff : (__mmask32)((1u << n) - 1);
    return _mm512_maskz_loadu_epi16(m, p);
}
INLINE vi weights(const unsigned char *p, size_t n)
{
    return pairs(p, n);
}
INLINE vi acts(const struct acts *x, size_t t, size_t c, size_t n)
{
    return pairs(x->bf16 + t * x->stride + c, n);
}
INLINE vf madd(vf acc, vi w, vi x)
{
    return _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)x);
}

PRODUCT(gemv, dense_gemv, (struct dense_format){ 2, 2, weights, acts, madd })
PRODUCT(gemm, dense_gemm, (struct dense_format){ 2, 2, weights, acts, madd })

/* ---- packed: pairs of k of 16 rows, as vdpbf16ps multiplies them --------------------- */

INLINE vi packed_load(const unsigned char *p, size_t j, size_t v)
{
    (void)v;
    return _mm512_loadu_si512(p + 64 * j);
}
INLINE vi packed_act(const unsigned char *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return vi_set1(pair);
}

#define PACKED ((struct packed_format){ 4, 2, true, packed_load, packed_act, madd })

PRODUCT(few, packed_few_ahead, FEW_LINES, PACKED)
PRODUCT(few_streams, packed_few_ahead, FEW_NONE, PACKED)
PRODUCT(few_once, packed_few_once, PACKED)
void bf16_packed_gemm(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_gemm(a, row0, row1, PACKED);
}

/* CPU_HW_PREFETCH: as in avx512/dense.c: 6 tokens 96 and 94 %, 7: 85 and 94, 12: 52 and 93. */
void bf16_dense_slots(struct kernels *k, unsigned cpu_flags)
{
    const bool streams = cpu_flags & CPU_HW_PREFETCH, once = cpu_flags & CPU_SW_PREFETCH;
    k->mm[DTYPE_BF16] = (struct matmul_slot){ ACT_BF16, gemv, gemm, GEMV_MAX_TOK, 32 };
    k->packed[DTYPE_BF16] = (struct matmul_slot){ ACT_BF16, streams ? few_streams : once ? few_once : few, bf16_packed_gemm,
                                                  streams ? 6 : FEW_TOK, PACK_ROWS };
}
