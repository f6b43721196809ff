/* dotprod/tile.c: neon/tile.h by sdot: four bytes of four rows with four of a token, one of
 * the four groups of its 16 bytes. */
#include "kernels/dotprod/dotprod.h"
#include "kernels/neon/simd128.h"

enum { TILE_VECS = 2, TILE_TOK = 4 };

typedef int32x4_t dot_acc;

INLINE dot_acc dot_zero(void)
{
    return vdupq_n_s32(0);
}
INLINE int32x4_t dot_sum(dot_acc a)
{
    return a;
}
INLINE dot_acc dot_16(dot_acc a, const int8_t *w, int8x16_t x)
{
    a = vdotq_laneq_s32(a, vld1q_s8(w), x, 0);
    a = vdotq_laneq_s32(a, vld1q_s8(w + 64), x, 1);
    a = vdotq_laneq_s32(a, vld1q_s8(w + 128), x, 2);
    return vdotq_laneq_s32(a, vld1q_s8(w + 192), x, 3);
}

#include "kernels/neon/tile.h" /* written in the names above */

const struct neon_dot dotprod_dot = { NULL, NULL, tile_run };
