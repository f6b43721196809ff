/* avx2/gemm.c: simd/gemm_q8.h with byte multiply-adds: 16 rows x 4 tokens, 8 integer
 * accumulators in registers. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"

enum { TILE_TOK = 4 };

#include "kernels/simd/gemm_q8.h"

static void tile_signed(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 32, false, true);
}
static void tile_32(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 32, false, false);
}
static void tile_32_min(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 32, true, false);
}
static void tile_16(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 16, false, false);
}
static void tile_16_min(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 16, true, false);
}

void avx2_gemm_q8_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q8_0, tile_signed);
}
void avx2_gemm_q4_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q4_0, tile_32);
}
void avx2_gemm_q4_1(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q4_1, tile_32_min);
}
void avx2_gemm_q5_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q5_0, tile_32);
}
void avx2_gemm_q5_1(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q5_1, tile_32_min);
}
void avx2_gemm_q2_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q2_k, tile_16_min);
}
void avx2_gemm_q3_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q3_k, tile_16);
}
void avx2_gemm_q4_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q4_k, tile_32_min);
}
void avx2_gemm_q5_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q5_k, tile_32_min);
}
void avx2_gemm_q6_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_q6_k, tile_16);
}
void avx2_gemm_iq4_nl(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_iq4_nl, tile_signed);
}
void avx2_gemm_iq4_xs(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_iq4_xs, tile_signed);
}
void avx2_gemm_mxfp4(const struct matmul_args *a, size_t row0, size_t row1)
{
    q8_gemm(a, row0, row1, &avx2_mxfp4, tile_32);
}
