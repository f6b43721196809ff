/*
 * neon/tile.h: a chunk of a panel times four tokens, over a rung's dot products. Static
 * inline only. The includer says:
 *     dot_acc              sums of four rows
 *     dot_zero(), dot_sum(a)
 *     dot_16(a, w, x)      adds 16 columns: w four lines of which these are the four rows,
 *                          x the token's bytes
 *     TILE_VECS, TILE_TOK  vectors of four rows and tokens at a time: what registers hold
 */
#ifndef KERNELS_NEON_TILE_H
#define KERNELS_NEON_TILE_H

/* Vectors [v0, v0 + vecs) of rows, tokens [t0, t0 + n). */
INLINE void tile_part(const struct neon_tile *a, const size_t v0, const size_t vecs, const size_t t0, const size_t n,
                      const size_t group, const bool has_min)
{
    const struct neon_panel *w = a->w;
    const struct neon_acts *x = a->x;
    vf y[4][NEON_TOK];
#pragma GCC unroll 4
    for (size_t t = 0; t < n; t++)
#pragma GCC unroll 4
        for (size_t v = 0; v < vecs; v++)
            y[v][t] = vf_set1(0);
    for (size_t g = 0; g < a->n_k / group; g++) {
        dot_acc acc[4][NEON_TOK];
#pragma GCC unroll 4
        for (size_t t = 0; t < n; t++)
#pragma GCC unroll 4
            for (size_t v = 0; v < vecs; v++)
                acc[v][t] = dot_zero();
#pragma GCC unroll 2
        for (size_t h = 0; h < group / 16; h++)
#pragma GCC unroll 4
            for (size_t t = 0; t < n; t++) {
                const size_t k = g * (group / 16) + h;
                const int8x16_t q = vld1q_s8(x->q[k][t0 + t]);
#pragma GCC unroll 4
                for (size_t v = 0; v < vecs; v++)
                    acc[v][t] = dot_16(acc[v][t], &w->q[4 * k][4 * (v0 + v)][0], q);
            }
#pragma GCC unroll 4
        for (size_t v = 0; v < vecs; v++) {
            const vf d = vf_load(&w->d[g][4 * (v0 + v)]);
#pragma GCC unroll 4
            for (size_t t = 0; t < n; t++) {
                const vf sum = vcvtq_f32_s32(dot_sum(acc[v][t]));
                y[v][t] = vfmaq_n_f32(y[v][t], vmulq_f32(sum, d), x->d[g][t0 + t]);
                if (has_min)
                    y[v][t] = vfmsq_n_f32(y[v][t], vf_load(&w->m[g][4 * (v0 + v)]), x->s[g][t0 + t]);
            }
        }
    }
#pragma GCC unroll 4
    for (size_t t = 0; t < n; t++)
#pragma GCC unroll 4
        for (size_t v = 0; v < vecs; v++) {
            const size_t row = 4 * (v0 + v);
            const vm m = vm_first(row < a->n_rows ? a->n_rows - row : 0);
            float *to = a->y + (t0 + t) * a->y_stride + row;
            if (t0 + t < a->n_tok && m.to > 0)
                vf_store_m(to, m, a->first ? y[v][t] : vf_add(y[v][t], vf_load_m(m, to)));
        }
}

INLINE void tile_any(const struct neon_tile *a, const size_t group, const bool has_min)
{
    if (a->n_tok == 1) {
        tile_part(a, 0, 4, 0, 1, group, has_min);
        return;
    }
    for (size_t t = 0; t < a->n_tok; t += TILE_TOK)
        for (size_t v = 0; v < 4; v += TILE_VECS)
            tile_part(a, v, TILE_VECS, t, TILE_TOK, group, has_min);
}

#include "kernels/neon/tile_kinds.h" /* written in the names above */

#endif
