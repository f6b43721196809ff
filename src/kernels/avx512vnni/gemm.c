/* avx512vnni/gemm.c: simd/gemm_q8.h with vpdpbusd: 32 rows x 6 tokens, 12 integer and 12
 * float accumulators. */
#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/vnni.h"

enum { TILE_TOK = 6 };

INLINE vi dot4(vi acc, vi w, vi x, bool w_signed)
{
    (void)w_signed; /* every format is biased */
    return _mm512_dpbusd_epi32(acc, w, x);
}

#include "kernels/simd/gemm_q8.h"

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

void vnni_gemm(const struct matmul_args *a, size_t row0, size_t row1,
               const struct q8_format *f)
{
    if (f->group == 16)
        q8_gemm(a, row0, row1, f, f->has_min ? tile_16_min : tile_16);
    else
        q8_gemm(a, row0, row1, f, f->has_min ? tile_32_min : tile_32);
}
