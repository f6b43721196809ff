/* avx2/gemm.c: simd/gemm_q8.h with byte multiply-adds: 16 rows x 4 tokens, 8 integer
 * accumulators in registers. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"

enum { TILE_TOK = 4, TILE_SIGNED = true };

#include "kernels/simd/gemm_q8.h"

void avx2_gemm_q8(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_file(a->type)->format);
}
