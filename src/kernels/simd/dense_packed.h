/*
 * kernels/simd/dense_packed.h: products with float weights in panels (kernels/pack.h), over the vector names
 * of an ISA's simd header. Static inline only; each type instantiates it with its loads and multiply-add.
 *
 * Everything moves in units of 32 bits a row, as in dense.h: one f32 (F32, F16 and BF16 converted), or a pair
 * of BF16 where the ISA multiplies pairs. A vector holds one unit of VL rows of a panel; an activation is
 * broadcast from memory.
 */
#ifndef KERNELS_SIMD_DENSE_PACKED_H
#define KERNELS_SIMD_DENSE_PACKED_H

#include "kernels/internal.h"
#include "kernels/pack.h"
#include <string.h>

struct packed_format {
    unsigned unit_bytes, unit_elems; /* of one unit of one row, as packed */
    bool in_place;                   /* packed units are what madd takes */
    /* Unit j from p, an even unit of a panel, of rows v * VL .. + VL - 1. */
    vi (*load)(const unsigned char *p, size_t j, size_t v);
    vi (*act)(const unsigned char *p); /* the unit at p, in all lanes */
    vf (*madd)(vf acc, vi w, vi x);
};

enum {
    PANEL_VECS = PACK_ROWS / VL,
    TILE_ROWS = 2 * VL,
    TILE_PANELS = TILE_ROWS / PACK_ROWS,
    UNIT_BYTES = 4,                             /* of an activation, or of a weight unpacked */
    CHUNK_UNITS = 384,                          /* of k at most: weights of a tile stay near the L1 cache, */
    FRESH_UNITS = 128,                          /* and those unpacked for fewer than FRESH_TOK tokens in it, */
    FRESH_TOK = 128,
    ACT_SPAN_BYTES = 1 << 20,                   /* activations reused by many tiles, in L2 */
    LINE_UNITS = 64 / UNIT_BYTES,
    GROUP_ROWS = 128,                           /* rows whose sums are kept between chunks */
};
_Static_assert(TILE_ROWS * CHUNK_UNITS * UNIT_BYTES <= SCRATCH_PANEL_BYTES, "scratch");
_Static_assert(GROUP_ROWS % TILE_ROWS == 0 && GROUP_ROWS * sizeof(float) <= SCRATCH_TOK_BYTES, "scratch");

/* Activations of up to 3 * ACT_BASES tokens: three rows an address register, base, base + stride and
 * base + 2 * stride, so that all of a tile's rows have registers. */
enum { ACT_BASES = (DENSE_TOK + 2) / 3 };
struct act_rows {
    const unsigned char *base[ACT_BASES];
    size_t stride;
};
INLINE struct act_rows act_rows(const struct acts *x, size_t t, size_t unit, const size_t n)
{
    struct act_rows r = { .stride = x->stride };
    const unsigned char *first;
    if (x->kind == ACT_BF16) {
        r.stride *= sizeof *x->bf16;
        first = (const unsigned char *)x->bf16;
    } else {
        r.stride *= sizeof *x->f32;
        first = (const unsigned char *)x->f32;
    }
    first += t * r.stride + unit * UNIT_BYTES;
#pragma GCC unroll 4
    for (size_t i = 0; 3 * i < n; i++)
        r.base[i] = first + 3 * i * r.stride;
    return r;
}
INLINE void act_rows_advance(struct act_rows *r, size_t units, const size_t n)
{
#pragma GCC unroll 4
    for (size_t i = 0; 3 * i < n; i++)
        r->base[i] += units * UNIT_BYTES;
}
INLINE const unsigned char *act_row(const struct act_rows *r, size_t t, size_t unit)
{
    return r->base[t / 3] + t % 3 * r->stride + unit * UNIT_BYTES;
}

/* ---- few tokens: weights once from memory to registers, one panel after the other ---------------- */

enum {
    FEW_TOK = DENSE_TOK,
    FEW_STEP = 8,
    FEW_LONG_BYTES = 4096, /* of weights, a step of FEW_ONCE_LONG */
};

/* Chains of sums a token and vector: 8 or more in all, to hide the latency of madd. */
INLINE size_t few_sets(size_t n)
{
    size_t chains = n * PANEL_VECS;
    return chains == 1 ? 8 : chains <= 3 ? 4 : chains <= 6 ? 2 : 1;
}

struct few_sums {
    vf sum[8][PANEL_VECS][FEW_TOK];
};

/* Prefetch policy: none (CPU_HW_PREFETCH); PREFETCH_LINE; once a line, where lines are used (CPU_SW_PREFETCH); the same at a shorter distance, in
 * long steps, for one token (doc/notes/kernels.md). Zen 5, 2048 columns, % of plain loads, PREFETCH_LINE and once: F16 of 2, 4, 8 tokens 83,
 * 73, 52 and 86, 81, 53, BF16 pairs 83, 73, 69 and 94, 91, 79. F16 of one token, steps of 256 bytes, 2 KiB, 4 KiB: 84, 95, 105. */
enum few_ahead { FEW_NONE, FEW_LINES, FEW_ONCE, FEW_ONCE_LONG };

INLINE void few_units(struct few_sums *s, const unsigned char *p, const struct act_rows *x, const size_t units,
                      const size_t n, const size_t sets, const enum few_ahead ahead, const struct packed_format f)
{
#pragma GCC unroll 128
    for (size_t j = 0; j < units; j++) {
        if ((ahead == FEW_ONCE || ahead == FEW_ONCE_LONG) && j * f.unit_bytes * PACK_ROWS % 64 == 0) {
            if (ahead == FEW_ONCE_LONG)
                PREFETCH_LINE_ONCE_NEAR(p + j * f.unit_bytes * PACK_ROWS);
            else
                PREFETCH_LINE_ONCE(p + j * f.unit_bytes * PACK_ROWS);
            __asm__ volatile("" ::: "memory"); /* those of a step are not gathered */
        }
        vi w[PANEL_VECS];
#pragma GCC unroll 2
        for (size_t v = 0; v < PANEL_VECS; v++)
            w[v] = f.load(p, j, v);
#pragma GCC unroll 12
        for (size_t t = 0; t < n; t++) {
            vi act = f.act(act_row(x, t, j));
#pragma GCC unroll 2
            for (size_t v = 0; v < PANEL_VECS; v++)
                s->sum[j % sets][v][t] = f.madd(s->sum[j % sets][v][t], w[v], act);
        }
    }
}

/* n tokens from tok0 on. */
INLINE void few_panel(const struct matmul_args *a, size_t r, size_t rows, size_t tok0, const size_t n, const enum few_ahead ahead,
                      const struct packed_format f)
{
    const size_t sets = few_sets(n), panel_unit = (size_t)f.unit_bytes * PACK_ROWS;
    struct few_sums s;
#pragma GCC unroll 8
    for (size_t i = 0; i < sets; i++)
#pragma GCC unroll 2
        for (size_t v = 0; v < PANEL_VECS; v++)
#pragma GCC unroll 12
            for (size_t t = 0; t < n; t++)
                s.sum[i][v][t] = vf_set1(0);
    const unsigned char *p = a->w + r * a->w_row_bytes;
    struct act_rows x = act_rows(a->x, tok0, 0, n);
    size_t units = a->cols / f.unit_elems;
    if (ahead == FEW_ONCE_LONG) {
        const size_t step = FEW_LONG_BYTES / panel_unit;
        for (; units >= step; units -= step) {
            few_units(&s, p, &x, step, n, sets, ahead, f);
            p += step * panel_unit;
            act_rows_advance(&x, step, n);
        }
    }
    for (; units >= FEW_STEP; units -= FEW_STEP) {
        if (ahead == FEW_LINES) {
#pragma GCC unroll 8
            for (size_t b = 0; b < FEW_STEP * panel_unit; b += 64)
                PREFETCH_LINE(p + b);
        }
        few_units(&s, p, &x, FEW_STEP, n, sets, ahead, f);
        p += FEW_STEP * panel_unit;
        act_rows_advance(&x, FEW_STEP, n);
    }
    for (; units >= 2; units -= 2) {
        few_units(&s, p, &x, 2, n, sets, FEW_NONE, f);
        p += 2 * panel_unit;
        act_rows_advance(&x, 2, n);
    }
    if (units)
        few_units(&s, p, &x, 1, n, sets, FEW_NONE, f);
#pragma GCC unroll 2
    for (size_t v = 0; v < PANEL_VECS; v++) {
        const vm m = vm_first(rows < v * VL ? 0 : rows - v * VL);
#pragma GCC unroll 12
        for (size_t t = 0; t < n; t++) {
#pragma GCC unroll 8
            for (size_t i = 1; i < sets; i++)
                s.sum[0][v][t] = vf_add(s.sum[0][v][t], s.sum[i][v][t]);
            vf_store_m(a->y + (tok0 + t) * a->y_stride + r + v * VL, m, s.sum[0][v][t]);
        }
    }
}

INLINE void few_rows(const struct matmul_args *a, size_t row0, size_t row1, const size_t n, const enum few_ahead ahead,
                     const struct packed_format f)
{
    for (size_t r = row0; r < row1; r += PACK_ROWS)
        few_panel(a, r, row1 - r, 0, n, ahead, f);
}

/* At most FEW_TOK tokens. */
INLINE void packed_few_ahead(const struct matmul_args *a, size_t row0, size_t row1, const enum few_ahead ahead,
                             const struct packed_format f)
{
#define FEW(n)                        \
    case n:                           \
        if (n <= FEW_TOK)             \
            few_rows(a, row0, row1, n <= FEW_TOK ? n : 1, ahead, f); \
        break
    switch (a->x->n_tok) {
        FEW(1);
        FEW(2);
        FEW(3);
        FEW(4);
        FEW(5);
        FEW(6);
        FEW(7);
        FEW(8);
        FEW(9);
        FEW(10);
        FEW(11);
        FEW(12);
    }
#undef FEW
}
INLINE void packed_few_once(const struct matmul_args *a, size_t row0, size_t row1, const struct packed_format f)
{
    if (a->x->n_tok == 1)
        few_rows(a, row0, row1, 1, FEW_ONCE_LONG, f);
    else
        packed_few_ahead(a, row0, row1, FEW_ONCE, f);
}
/* Batches with weights that need conversion: passes over a panel, all but the first from the cache. Tiles of unpacked weights are faster
 * for more tokens (Zen 4, F16, % of FP32's multiply-adds: 12 to 32 tokens 73-78, 8 tokens by a pass 92), and for all if
 * conversions take the ports of multiply-adds (CPU_TWO_PORTS: Emerald Rapids, GFLOP/s of 16 and 32 tokens by passes and by tiles: F16 130,
 * 129 and 140, 150, BF16 137, 135 and 139, 150). */
enum {
    PASS_TOK = 8,
    PASSES_TOK = FEW_TOK >= PASS_TOK && PANEL_VECS == 1 ? 32 : 0, /* 0 if their sums exceed the registers */
};
INLINE void packed_passes(const struct matmul_args *a, size_t row0, size_t row1, const struct packed_format f)
{
    const size_t n_tok = a->x->n_tok, passes = (n_tok + PASS_TOK - 1) / PASS_TOK;
    for (size_t r = row0; r < row1; r += PACK_ROWS)
        for (size_t i = 0, t = 0, n; i < passes; i++, t += n) {
            n = (n_tok - t + passes - i - 1) / (passes - i);
#define PASS(size)                                                                           \
    case size:                                                                               \
        few_panel(a, r, row1 - r, t, size <= FEW_TOK ? size : 1, FEW_LINES, f);              \
        break
            switch (n) { /* more than PASS_TOK shared out: at least half of that each */
                PASS(4);
                PASS(5);
                PASS(6);
                PASS(7);
                PASS(8);
            }
#undef PASS
        }
}

/* ---- many tokens: tiles of TILE_ROWS x DENSE_TOK over chunks of k --------------------------------- */

struct packed_tile {
    const unsigned char *w[2]; /* units of VL rows each, PACK_ROWS * UNIT_BYTES apart */
    struct act_rows x;
    float *sums; /* [n][TILE_ROWS], contiguous: rows of y would share cache sets and take a page each */
    float *y;
    size_t y_stride, units, rows;
    bool first, final;         /* chunk of k */
    const unsigned char *next; /* weights to fetch ahead: next_bytes a line of units, */
    size_t next_bytes, next_stride; /* of each of TILE_PANELS panels */
};

struct tile_sums {
    vf sum[2][DENSE_TOK];
};

INLINE void tile_units(struct tile_sums *s, const unsigned char *w0, const unsigned char *w1, const struct act_rows *x,
                       const size_t units, const size_t n, const struct packed_format f)
{
#pragma GCC unroll 16
    for (size_t j = 0; j < units; j++) {
        vi a = vf_bits(vf_load((const float *)(const void *)(w0 + j * PACK_ROWS * UNIT_BYTES)));
        vi b = vf_bits(vf_load((const float *)(const void *)(w1 + j * PACK_ROWS * UNIT_BYTES)));
#pragma GCC unroll 12
        for (size_t t = 0; t < n; t++) {
            vi v = f.act(act_row(x, t, j));
            s->sum[0][t] = f.madd(s->sum[0][t], a, v);
            s->sum[1][t] = f.madd(s->sum[1][t], b, v);
        }
    }
}

INLINE void tile_run(const struct packed_tile *tile, const size_t n, const struct packed_format f)
{
    struct tile_sums s;
#pragma GCC unroll 12
    for (size_t t = 0; t < n; t++)
#pragma GCC unroll 2
        for (size_t v = 0; v < 2; v++)
            s.sum[v][t] = tile->first ? vf_set1(0) : vf_load(tile->sums + t * TILE_ROWS + v * VL);
    enum { STEP = 4 };
    const unsigned char *w0 = tile->w[0], *w1 = tile->w[1];
    struct act_rows x = tile->x;
    size_t u = 0;
    for (; u + STEP <= tile->units; u += STEP) {
        if (u % LINE_UNITS == 0)
            for (size_t b = 0; b < tile->next_bytes; b += 64)
                for (size_t p = 0; p < TILE_PANELS; p++)
                    _mm_prefetch((const char *)tile->next + u / LINE_UNITS * tile->next_bytes + p * tile->next_stride + b,
                                 _MM_HINT_T1);
        tile_units(&s, w0, w1, &x, STEP, n, f);
        w0 += STEP * PACK_ROWS * UNIT_BYTES;
        w1 += STEP * PACK_ROWS * UNIT_BYTES;
        act_rows_advance(&x, STEP, n);
    }
    for (; u < tile->units; u++) {
        tile_units(&s, w0, w1, &x, 1, n, f);
        w0 += PACK_ROWS * UNIT_BYTES;
        w1 += PACK_ROWS * UNIT_BYTES;
        act_rows_advance(&x, 1, n);
    }
    if (!tile->final) {
#pragma GCC unroll 12
        for (size_t t = 0; t < n; t++)
#pragma GCC unroll 2
            for (size_t v = 0; v < 2; v++)
                vf_store(tile->sums + t * TILE_ROWS + v * VL, s.sum[v][t]);
        return;
    }
    const vm m0 = vm_first(tile->rows), m1 = vm_first(tile->rows < VL ? 0 : tile->rows - VL);
#pragma GCC unroll 12
    for (size_t t = 0; t < n; t++) {
        vf_store_m(tile->y + t * tile->y_stride, m0, s.sum[0][t]);
        vf_store_m(tile->y + t * tile->y_stride + VL, m1, s.sum[1][t]);
    }
}

/* Units [c, c + units) of the tile's rows from r on, as the tiles read them. */
INLINE void tile_weights(struct packed_tile *tile, const struct matmul_args *a, size_t r, size_t c,
                         const struct packed_format f)
{
    for (size_t v = 0; v < 2; v++) {
        const size_t p = v * VL / PACK_ROWS * PACK_ROWS; /* a missing panel: any other */
        const unsigned char *src = a->w + (r + (p < tile->rows ? p : 0)) * a->w_row_bytes + c * f.unit_bytes * PACK_ROWS;
        if (f.in_place) {
            tile->w[v] = src + v * VL % PACK_ROWS * UNIT_BYTES;
            continue;
        }
        unsigned char *dst = (unsigned char *)a->scratch + (p * CHUNK_UNITS + v * VL % PACK_ROWS) * UNIT_BYTES;
        tile->w[v] = dst;
        size_t u = 0;
        for (; u + 2 <= tile->units; u += 2)
#pragma GCC unroll 2
            for (size_t j = 0; j < 2; j++)
                vi_store(dst + (u + j) * PACK_ROWS * UNIT_BYTES,
                         f.load(src + u * f.unit_bytes * PACK_ROWS, j, v * VL % PACK_ROWS / VL));
        if (u < tile->units)
            vi_store(dst + u * PACK_ROWS * UNIT_BYTES,
                     f.load(src + u * f.unit_bytes * PACK_ROWS, 0, v * VL % PACK_ROWS / VL));
    }
}

/* All tokens, in tiles of nearly the same size. */
INLINE void tile_tokens(struct packed_tile *tile, const struct matmul_args *a, size_t c, const struct packed_format f)
{
    const size_t n_tok = a->x->n_tok, tiles = (n_tok + DENSE_TOK - 1) / DENSE_TOK;
    const size_t steps = tiles * ((tile->units + LINE_UNITS - 1) / LINE_UNITS);
    const size_t next_lines = tile->next ? tile->units * f.unit_bytes * PACK_ROWS / 64 : 0;
    const unsigned char *next = tile->next;
    float *y = tile->y, *sums = tile->sums;
    tile->next_bytes = (next_lines + steps - 1) / steps * 64;
    for (size_t i = 0, t = 0; i < tiles; i++) {
        const size_t n = (n_tok - t + tiles - i - 1) / (tiles - i);
        tile->x = act_rows(a->x, t, c, DENSE_TOK);
        tile->y = y + t * a->y_stride;
        tile->sums = sums + t * TILE_ROWS;
        if (i * (steps / tiles) * tile->next_bytes >= next_lines * 64)
            tile->next_bytes = 0;
        tile->next = tile->next_bytes ? next + i * (steps / tiles) * tile->next_bytes : NULL;
#define TILE(size)                                                  \
    case size:                                                      \
        if (size >= DENSE_TOK / 2 && size <= DENSE_TOK)             \
            tile_run(tile, size <= DENSE_TOK ? size : DENSE_TOK, f); \
        break
        switch (n) { /* more than DENSE_TOK shared out: at least half of that each */
            TILE(3);
            TILE(4);
            TILE(5);
            TILE(6);
            TILE(7);
            TILE(8);
            TILE(9);
            TILE(10);
            TILE(11);
            TILE(12);
        }
#undef TILE
        t += n;
    }
}

/* Rows [row0, row1), at most GROUP_ROWS, by chunks of k; spans of chunks outermost. */
INLINE void packed_group(const struct matmul_args *a, size_t row0, size_t row1, size_t chunk, size_t span,
                         const struct packed_format f)
{
    const size_t units = a->cols / f.unit_elems, panel_unit = (size_t)f.unit_bytes * PACK_ROWS;
    float *sums = (float *)((char *)a->scratch + SCRATCH_PANEL_BYTES);
    for (size_t s = 0; s < units; s += span) {
        const size_t end = units - s < span ? units : s + span;
        for (size_t r = row0; r < row1; r += TILE_ROWS)
            for (size_t c = s; c < end; c += chunk) {
                struct packed_tile tile = {
                    .sums = sums + (r - row0) * a->x->n_tok,
                    .y = a->y + r,
                    .y_stride = a->y_stride,
                    .units = end - c < chunk ? end - c : chunk,
                    .rows = row1 - r,
                    .first = c == 0,
                    .final = c + chunk >= units,
                    .next_stride = PACK_ROWS * a->w_row_bytes,
                };
                if (c + chunk < end)
                    tile.next = a->w + r * a->w_row_bytes + (c + chunk) * panel_unit;
                else if (r + TILE_ROWS < row1)
                    tile.next = a->w + (r + TILE_ROWS) * a->w_row_bytes + s * panel_unit;
                else if (end < units)
                    tile.next = a->w + row0 * a->w_row_bytes + end * panel_unit;
                tile_weights(&tile, a, r, c, f);
                tile_tokens(&tile, a, c, f);
            }
    }
}

INLINE void packed_tiles(const struct matmul_args *a, size_t row0, size_t row1, const struct packed_format f)
{
    const size_t units = a->cols / f.unit_elems, n_tok = a->x->n_tok;
    const size_t most = f.in_place || n_tok >= FRESH_TOK ? CHUNK_UNITS : FRESH_UNITS;
    const size_t n_chunk = (units + most - 1) / most, of_lines = n_chunk * LINE_UNITS;
    const size_t chunk = (units + of_lines - 1) / of_lines * LINE_UNITS; /* of nearly the same size */
    const size_t chunks = ACT_SPAN_BYTES / UNIT_BYTES / chunk / n_tok;
    for (size_t r = row0; r < row1; r += GROUP_ROWS)
        packed_group(a, r, row1 - r < GROUP_ROWS ? row1 : r + GROUP_ROWS, chunk, (chunks ? chunks : 1) * chunk, f);
}

/* Batches for which tiles are slower; false: more tokens. */
INLINE bool packed_batch(const struct matmul_args *a, size_t row0, size_t row1, const struct packed_format f)
{
    const size_t n_tok = a->x->n_tok;
    if (n_tok <= FEW_TOK && (f.in_place || n_tok <= PASS_TOK || PASSES_TOK == 0))
        packed_few_ahead(a, row0, row1, FEW_LINES, f);
    else if (!f.in_place && n_tok <= PASSES_TOK)
        packed_passes(a, row0, row1, f);
    else
        return false;
    return true;
}

INLINE void packed_gemm(const struct matmul_args *a, size_t row0, size_t row1, const struct packed_format f)
{
    if (!packed_batch(a, row0, row1, f))
        packed_tiles(a, row0, row1, f);
}

#endif
