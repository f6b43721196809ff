/*
 * kernels/simd/dense.h: products with float weights, over the vector names of an ISA's simd
 * header. Static inline only; each type instantiates it with its loads and multiply-add.
 *
 * Everything moves in units of 32 bits: one f32 (F32, F16 and BF16 converted), or a pair of
 * BF16 where the ISA multiplies pairs.
 */
#ifndef KERNELS_SIMD_DENSE_H
#define KERNELS_SIMD_DENSE_H

#include "kernels/internal.h"
#include <string.h>

struct dense_format {
    unsigned elem_bytes, unit_elems;
    /* VL units from p of which n elements exist; the others are 0 and not touched. */
    vi (*weights)(const unsigned char *p, size_t n);
    /* The same of activations, element c of token t. */
    vi (*acts)(const struct acts *x, size_t t, size_t c, size_t n);
    vf (*madd)(vf acc, vi w, vi x);
};

/* ---- decode ------------------------------------------------------------------------ */

INLINE void dense_dot(const struct matmul_args *a, size_t r, const int n_tok, const struct dense_format f)
{
    enum { CHAINS = 4 };
    const size_t step = (size_t)VL * f.unit_elems;
    const unsigned char *w = a->w + r * a->w_row_bytes;
    vf acc[CHAINS][GEMV_MAX_TOK];
#pragma GCC unroll 4
    for (int j = 0; j < CHAINS; j++)
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            acc[j][t] = vf_set1(0);
    size_t c = 0;
    for (; c + CHAINS * step <= a->cols; c += CHAINS * step)
#pragma GCC unroll 4
        for (size_t j = 0; j < CHAINS; j++) {
            const unsigned char *p = w + (c + j * step) * f.elem_bytes;
            if ((j * step * f.elem_bytes) % 64 == 0)
                PREFETCH_LINE(p);
            vi v = f.weights(p, step);
#pragma GCC unroll 4
            for (int t = 0; t < n_tok; t++)
                acc[j][t] = f.madd(acc[j][t], v, f.acts(a->x, (size_t)t, c + j * step, step));
        }
    for (; c < a->cols; c += step) {
        vi v = f.weights(w + c * f.elem_bytes, a->cols - c);
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            acc[0][t] = f.madd(acc[0][t], v, f.acts(a->x, (size_t)t, c, a->cols - c));
    }
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++)
        a->y[(size_t)t * a->y_stride + r] = vf_sum(vf_add(vf_add(acc[0][t], acc[1][t]), vf_add(acc[2][t], acc[3][t])));
}

INLINE void dense_rows(const struct matmul_args *a, size_t row0, size_t row1, const int n_tok, const struct dense_format f)
{
    for (size_t r = row0; r < row1; r++)
        dense_dot(a, r, n_tok, f);
}

INLINE void dense_gemv(const struct matmul_args *a, size_t row0, size_t row1, const struct dense_format f)
{
    GEMV_TOKENS(dense_rows, a, row0, row1, f);
}

/* ---- prefill ----------------------------------------------------------------------- */

enum {
    DENSE_UNITS = 128,               /* units of k a chunk */
    DENSE_ROWS = 2 * VL,             /* rows a panel */
    DENSE_GROUP_BYTES = 1024 * 1024, /* y of a group of panels, to stay in the L2 cache */
};

/* A chunk of weights [unit][row], then the chunk of all activations
 * [tile][unit][DENSE_TOK]. */
struct dense_scratch {
    int32_t w[DENSE_UNITS][DENSE_ROWS];
    int32_t x[];
};
_Static_assert(sizeof(struct dense_scratch) <= SCRATCH_PANEL_BYTES, "scratch");
_Static_assert(DENSE_UNITS * sizeof(int32_t) <= SCRATCH_TOK_BYTES, "scratch");

struct dense_tile {
    const int32_t (*w)[DENSE_ROWS];
    const int32_t *x; /* [units][DENSE_TOK] */
    float *y;
    size_t y_stride, units, n_tok, rows;
    bool first;
};

/* n accumulators of tokens, of which tile->n_tok exist. */
INLINE void dense_tile_run(const struct dense_tile *tile, const size_t n, const struct dense_format f)
{
    vf acc[2][DENSE_TOK];
    const vm m0 = vm_first(tile->rows), m1 = vm_first(tile->rows < VL ? 0 : tile->rows - VL);
#pragma GCC unroll 12
    for (size_t t = 0; t < n; t++) {
        acc[0][t] = acc[1][t] = vf_set1(0);
        if (!tile->first && t < tile->n_tok) {
            const float *y = tile->y + t * tile->y_stride;
            acc[0][t] = vf_load_m(m0, y);
            acc[1][t] = vf_load_m(m1, y + VL);
        }
    }
    const int32_t(*w)[DENSE_ROWS] = tile->w;
    const int32_t *x = tile->x;
#pragma GCC unroll 2
    for (size_t u = 0; u < tile->units; u++, w++, x += DENSE_TOK) {
        vi w0 = vi_load(w[0]), w1 = vi_load(w[0] + VL);
#pragma GCC unroll 12
        for (size_t t = 0; t < n; t++) {
            vi v = vi_set1(x[t]);
            acc[0][t] = f.madd(acc[0][t], w0, v);
            acc[1][t] = f.madd(acc[1][t], w1, v);
        }
    }
#pragma GCC unroll 12
    for (size_t t = 0; t < n; t++)
        if (t < tile->n_tok) {
            float *y = tile->y + t * tile->y_stride;
            vf_store_m(y, m0, acc[0][t]);
            vf_store_m(y + VL, m1, acc[1][t]);
        }
}

INLINE void dense_pack_acts(int32_t *dst, const struct acts *x, size_t c, size_t units, const struct dense_format f)
{
    for (size_t t = 0; t < x->n_tok; t += DENSE_TOK, dst += units * DENSE_TOK)
        for (size_t u = 0; u < units; u += VL)
            for (size_t i = 0; i < DENSE_TOK; i += VL) {
                vi r[VL];
                size_t at = c + u * f.unit_elems;
                for (size_t j = 0; j < VL; j++)
                    r[j] = t + i + j < x->n_tok && i + j < DENSE_TOK ? f.acts(x, t + i + j, at, x->cols - at) : vi_set1(0);
                vi_transpose(r);
                for (size_t j = 0; j < VL && u + j < units; j++)
                    vf_store_m((float *)(dst + (u + j) * DENSE_TOK + i), vm_first(DENSE_TOK - i), vi_floats(r[j]));
            }
}

/* w: the chunk in the panel's first row; n elements of it exist. */
INLINE void dense_unpack(struct dense_scratch *s, const unsigned char *w, size_t row_bytes, size_t rows, size_t n,
                         const struct dense_format f)
{
    const size_t step = (size_t)VL * f.unit_elems;
    for (size_t h = 0; h < DENSE_ROWS; h += VL)
        for (size_t c = 0, u = 0; c < n; c += step, u += VL) {
            vi r[VL];
            for (size_t j = 0; j < VL; j++)
                r[j] = h + j < rows ? f.weights(w + (h + j) * row_bytes + c * f.elem_bytes, n - c) : vi_set1(0);
            vi_transpose(r);
            for (size_t j = 0; j < VL; j++)
                vi_store(&s->w[u + j][h], r[j]);
        }
}

INLINE void dense_tokens(const struct matmul_args *a, const struct dense_scratch *s, size_t r, size_t rows, size_t units,
                         bool first, const unsigned char *next, size_t next_bytes, const struct dense_format f)
{
    const size_t n_tok = a->x->n_tok, tiles = (n_tok + DENSE_TOK - 1) / DENSE_TOK;
    const size_t per_tile = (DENSE_ROWS + tiles - 1) / tiles;
    for (size_t i = 0; i < tiles; i++) {
        size_t left = n_tok - i * DENSE_TOK;
        struct dense_tile tile = {
            .w = s->w,
            .x = s->x + i * units * DENSE_TOK,
            .units = units,
            .rows = rows,
            .y = a->y + i * DENSE_TOK * a->y_stride + r,
            .y_stride = a->y_stride,
            .n_tok = left < DENSE_TOK ? left : DENSE_TOK,
            .first = first,
        };
        if (!first && left > DENSE_TOK) /* y of the next tile: not predicted by hardware prefetch */
            for (size_t t = DENSE_TOK; t < 2 * DENSE_TOK && t < left; t++)
                for (size_t b = 0; b < DENSE_ROWS * sizeof(float); b += 64)
                    __builtin_prefetch((const char *)(tile.y + t * a->y_stride) + b, 0, 3);
        for (size_t j = i * per_tile; next && j < (i + 1) * per_tile && j < DENSE_ROWS; j++)
            for (size_t b = 0; b < next_bytes; b += 64)
                __builtin_prefetch((const char *)next + j * a->w_row_bytes + b, 0, 2);
        if (left > DENSE_TOK * 2 / 3)
            dense_tile_run(&tile, DENSE_TOK, f);
        else if (left > DENSE_TOK / 3)
            dense_tile_run(&tile, DENSE_TOK * 2 / 3, f);
        else
            dense_tile_run(&tile, DENSE_TOK / 3, f);
    }
}

INLINE void dense_gemm(const struct matmul_args *a, size_t row0, size_t row1, const struct dense_format f)
{
    struct dense_scratch *s = a->scratch;
    const size_t chunk = (size_t)DENSE_UNITS * f.unit_elems;
    size_t panels = DENSE_GROUP_BYTES / (DENSE_ROWS * sizeof(float) * a->x->n_tok);
    const size_t group = DENSE_ROWS * (panels ? panels : 1);
    for (size_t g = row0; g < row1; g += group) {
        size_t end = row1 - g < group ? row1 : g + group;
        for (size_t c = 0; c < a->cols; c += chunk) {
            size_t n = a->cols - c < chunk ? a->cols - c : chunk;
            size_t units = (n + f.unit_elems - 1) / f.unit_elems;
            dense_pack_acts(s->x, a->x, c, units, f);
            for (size_t r = g; r < end; r += DENSE_ROWS) {
                const unsigned char *w = a->w + r * a->w_row_bytes + c * f.elem_bytes;
                dense_unpack(s, w, a->w_row_bytes, end - r, n, f);
                const unsigned char *next = r + DENSE_ROWS < end ? w + DENSE_ROWS * a->w_row_bytes : NULL;
                dense_tokens(a, s, r, end - r, units, c == 0, next, n * f.elem_bytes, f);
            }
        }
    }
}

#endif
