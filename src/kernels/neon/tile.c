/* neon/tile.c: tile.h by multiplication of bytes to 16 bits. Two products fit: 2 * 128 * 127. */
#include "kernels/neon/neon.h"
#include "kernels/neon/simd128.h"

enum { TILE_VECS = 2, TILE_TOK = 2 };

/* Sums of pairs of a row's four columns: rows 0 and 1, rows 2 and 3. */
typedef struct {
    int32x4_t lo, hi;
} dot_acc;

INLINE dot_acc dot_zero(void)
{
    return (dot_acc){ vdupq_n_s32(0), vdupq_n_s32(0) };
}
INLINE int32x4_t dot_sum(dot_acc a)
{
    return vpaddq_s32(a.lo, a.hi);
}
/* Two lines, with their columns of the token in every row. */
INLINE dot_acc dot_8(dot_acc a, const int8_t *w, int8x16_t x0, int8x16_t x1)
{
    const int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 64);
    const int16x8_t lo = vmlal_s8(vmull_s8(vget_low_s8(w0), vget_low_s8(x0)), vget_low_s8(w1), vget_low_s8(x1));
    const int16x8_t hi = vmlal_high_s8(vmull_high_s8(w0, x0), w1, x1);
    return (dot_acc){ vpadalq_s16(a.lo, lo), vpadalq_s16(a.hi, hi) };
}
INLINE dot_acc dot_16(dot_acc a, const int8_t *w, int8x16_t q)
{
    const int32x4_t x = vreinterpretq_s32_s8(q);
    a = dot_8(a, w, vreinterpretq_s8_s32(vdupq_laneq_s32(x, 0)), vreinterpretq_s8_s32(vdupq_laneq_s32(x, 1)));
    return dot_8(a, w + 128, vreinterpretq_s8_s32(vdupq_laneq_s32(x, 2)), vreinterpretq_s8_s32(vdupq_laneq_s32(x, 3)));
}

#include "kernels/neon/tile.h" /* written in the names above */

const struct neon_dot neon_dot = { NULL, NULL, tile_run };
