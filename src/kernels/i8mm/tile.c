/*
 * i8mm/tile.c: a chunk of a panel times four tokens by smmla: 8 columns of two rows with 8
 * of two tokens are four sums, [row][token]. Weights are rearranged to pairs of rows,
 * activations to pairs of tokens.
 */
#include "kernels/i8mm/i8mm.h"
#include "kernels/neon/simd128.h"

enum { PAIRS = NEON_TOK / 2, TILE_ROWS = 8, ROW_PAIRS = TILE_ROWS / 2 };

/* [token][16 columns] to [8 columns][token pair][token][8]: q[2 h + p] is half h of pair p. */
static void pack_tokens(int8_t q[NEON_TOK][16])
{
    int64x2_t t[NEON_TOK];
    for (int i = 0; i < NEON_TOK; i++)
        t[i] = vreinterpretq_s64_s8(vld1q_s8(q[i]));
    for (int p = 0; p < PAIRS; p++) {
        vst1q_s8(q[p], vreinterpretq_s8_s64(vzip1q_s64(t[2 * p], t[2 * p + 1])));
        vst1q_s8(q[2 + p], vreinterpretq_s8_s64(vzip2q_s64(t[2 * p], t[2 * p + 1])));
    }
}

/* Two lines of 4 columns a row become 8 pairs of rows of 8 columns. */
static void pair_rows(struct neon_panel *p, size_t n_k)
{
    for (size_t k = 0; k < n_k / 4; k += 2) {
        int8_t *to = &p->q[k][0][0];
        int32x4_t a[4], b[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            a[i] = vreinterpretq_s32_s8(vld1q_s8(to + 16 * i));
            b[i] = vreinterpretq_s32_s8(vld1q_s8(to + 64 + 16 * i));
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            vst1q_s8(to + 32 * i, vreinterpretq_s8_s32(vzip1q_s32(a[i], b[i])));
            vst1q_s8(to + 32 * i + 16, vreinterpretq_s8_s32(vzip2q_s32(a[i], b[i])));
        }
    }
}

/* Two floats, twice: of a pair of tokens, for two rows. */
INLINE vf token_pair(const float *p)
{
    return vreinterpretq_f32_f64(vld1q_dup_f64((const double *)(const void *)p));
}

/* y[rows][tokens] of two pairs of rows and a pair of tokens, as rows of each token. */
INLINE void add_rows(const struct neon_tile *a, size_t row, size_t t, vf y0, vf y1)
{
    const vm m = vm_first(row < a->n_rows ? a->n_rows - row : 0);
    const vf y[2] = { vuzp1q_f32(y0, y1), vuzp2q_f32(y0, y1) };
#pragma GCC unroll 2
    for (size_t i = 0; i < 2; i++) {
        float *to = a->y + (t + i) * a->y_stride + row;
        if (t + i < a->n_tok && m.to > 0)
            vf_store_m(to, m, a->first ? y[i] : vf_add(y[i], vf_load_m(m, to)));
    }
}

/* Rows [row, row + TILE_ROWS) of the panel. */
INLINE void tile_rows(const struct neon_tile *a, const size_t row, const size_t group, const bool has_min)
{
    const struct neon_acts *x = a->x;
    vf y[ROW_PAIRS][PAIRS];
#pragma GCC unroll 4
    for (size_t r = 0; r < ROW_PAIRS; r++)
        y[r][0] = y[r][1] = vf_set1(0);
    for (size_t g = 0; g < a->n_k / group; g++) {
        int32x4_t acc[ROW_PAIRS][PAIRS];
#pragma GCC unroll 4
        for (size_t r = 0; r < ROW_PAIRS; r++)
            acc[r][0] = acc[r][1] = vdupq_n_s32(0);
#pragma GCC unroll 4
        for (size_t h = 0; h < group / 8; h++) {
            const size_t k = g * (group / 8) + h; /* 8 columns */
            const int8_t *w = &a->w->q[2 * k][0][0] + 16 * (row / 2);
            const int8x16_t x0 = vld1q_s8(x->q[k / 2][k % 2 * 2]), x1 = vld1q_s8(x->q[k / 2][k % 2 * 2 + 1]);
#pragma GCC unroll 4
            for (size_t r = 0; r < ROW_PAIRS; r++) {
                const int8x16_t rows = vld1q_s8(w + 16 * r);
                acc[r][0] = vmmlaq_s32(acc[r][0], rows, x0);
                acc[r][1] = vmmlaq_s32(acc[r][1], rows, x1);
            }
        }
        const vf d[PAIRS] = { token_pair(&x->d[g][0]), token_pair(&x->d[g][2]) };
        const vf s[PAIRS] = { token_pair(&x->s[g][0]), token_pair(&x->s[g][2]) };
#pragma GCC unroll 4
        for (size_t r = 0; r < ROW_PAIRS; r++) {
            const vf four = vf_load(&a->w->d[g][row + r / 2 * 4]), min = vf_load(&a->w->m[g][row + r / 2 * 4]);
            const vf dw = r % 2 ? vzip2q_f32(four, four) : vzip1q_f32(four, four);
            const vf mw = r % 2 ? vzip2q_f32(min, min) : vzip1q_f32(min, min);
#pragma GCC unroll 2
            for (size_t p = 0; p < PAIRS; p++) {
                y[r][p] = vf_fma(vf_mul(vcvtq_f32_s32(acc[r][p]), dw), d[p], y[r][p]);
                if (has_min)
                    y[r][p] = vf_fnma(mw, s[p], y[r][p]);
            }
        }
    }
#pragma GCC unroll 2
    for (size_t r = 0; r < ROW_PAIRS; r += 2)
#pragma GCC unroll 2
        for (size_t p = 0; p < PAIRS; p++)
            add_rows(a, row + 2 * r, 2 * p, y[r][p], y[r + 1][p]);
}

INLINE void tile_any(const struct neon_tile *a, const size_t group, const bool has_min)
{
    for (size_t row = 0; row < PACK_ROWS; row += TILE_ROWS)
        tile_rows(a, row, group, has_min);
}

#include "kernels/neon/tile_kinds.h" /* written in the names above */

const struct neon_dot i8mm_dot = { pack_tokens, pair_rows, tile_run };
