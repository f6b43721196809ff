/* avx512vnni/gemm.c: simd/gemm_q8.h with vpdpbusd: 32 rows x 6 tokens, 12 integer and 12
 * float accumulators. */
#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/vnni.h"

enum { TILE_TOK = 6, TILE_SIGNED = false };

INLINE vi dot4(vi acc, vi w, vi x, bool w_signed)
{
    (void)w_signed; /* every format is biased */
    return _mm512_dpbusd_epi32(acc, w, x);
}

#include "kernels/simd/gemm_q8.h"

void vnni_gemm(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &vnni_file(a->type)->format);
}
