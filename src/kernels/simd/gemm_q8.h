/*
 * kernels/simd/gemm_q8.h: prefill of quantized weights with 8-bit activations, over the
 * vector names of an ISA's simd header. Static inline only. methods.md (5)
 *
 * A chunk of 2 VL rows x 256 columns of any format is unpacked once to interleaved bytes
 * with float scales, and then used by all tokens. VL rows x 4 k stand together, so a vector
 * of weights meets one broadcast of 4 activations and each lane is a row. A tile is 2 VL
 * rows x TILE_TOK tokens: every broadcast feeds two dot products. Weights are bytes >= 0
 * (quant + bias), activations signed; the integer accumulators start at -bias * (sum of the
 * activations), which makes them exact sums of quant * activation.
 *
 * Loops: groups of row panels (their y stays in the L2 cache) > chunks of k > panels >
 * tokens. Each weight byte is read once.
 *
 * The includer defines, first: TILE_TOK, TILE_SIGNED (some formats have signed bytes), and
 *     vi dot4(vi acc, vi w, vi x, bool w_signed): lane sums of 4 byte products, added to acc
 */
#ifndef KERNELS_SIMD_GEMM_Q8_H
#define KERNELS_SIMD_GEMM_Q8_H

#include "kernels/simd/panel_q8.h"

enum { Q8_GROUP_BYTES = 1024 * 1024 }; /* y of a group of panels, to stay in the L2 cache */

/* What a tile reads and writes; pointers at its first token and chunk. */
struct q8_tile {
    const struct q8_panel *panel;
    const int8_t *q;
    const struct q8_tok *tok;
    float *y;
    size_t q_stride, y_stride;
    unsigned n_blk; /* blocks of 32 in the chunk */
    bool first;     /* y is written, not added to */
    size_t rows;
};

/* ---- one tile ---------------------------------------------------------------------- */

/* Sums over group g of 4 * quads weights: i[t] and i[n_tok + t] for the panel's two halves.
 */
INLINE void q8_dot(const struct q8_tile *a, const int8_t *const *q, unsigned g, const int quads, const int n_tok,
                   const bool has_min, const bool w_signed, vi *i)
{
    const size_t k4 = (size_t)g * (size_t)quads;
    const uint8_t *w = &a->panel->w[k4][0][0];
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++)
        i[t] = i[n_tok + t] = vi_set1(has_min || w_signed ? 0 : a->tok[t].start[g]);
#pragma GCC unroll 8
    for (int j = 0; j < quads; j++) {
        vi w0 = vi_load(w + j * 8 * VL), w1 = vi_load(w + j * 8 * VL + 4 * VL);
#pragma GCC unroll 6
        for (int t = 0; t < n_tok; t++) {
            int32_t x4;
            __builtin_memcpy(&x4, q[t] + 4 * k4 + (size_t)j * 4, sizeof x4);
            vi x = vi_set1(x4);
            i[t] = dot4(i[t], w0, x, w_signed);
            i[n_tok + t] = dot4(i[n_tok + t], w1, x, w_signed);
        }
    }
}

/* acc += scale of group g * activation scale of block b * i */
INLINE void q8_scale_add(const struct q8_tile *a, unsigned g, unsigned b, const int n_tok, const vi *i, vf *acc)
{
    vf s0 = vf_load(a->panel->meta[g]), s1 = vf_load(a->panel->meta[g] + VL);
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++) {
        vf d = vf_set1(a->tok[t].d[b]);
        acc[t] = vf_fma(vi_to_vf(i[t]), vf_mul(s0, d), acc[t]);
        acc[n_tok + t] = vf_fma(vi_to_vf(i[n_tok + t]), vf_mul(s1, d), acc[n_tok + t]);
    }
}

/* acc -= min of group g * activations of the group */
INLINE void q8_mins(const struct q8_tile *a, const unsigned group, unsigned g, const int n_tok, vf *acc)
{
    const float *m = a->panel->meta[CHUNK_K / group + g];
    vf m0 = vf_load(m), m1 = vf_load(m + VL);
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++) {
        vf x = vf_set1(a->tok[t].xsum[g]);
        acc[t] = vf_fnma(m0, x, acc[t]);
        acc[n_tok + t] = vf_fnma(m1, x, acc[n_tok + t]);
    }
}

/* Group g, of block b. */
INLINE void q8_group(const struct q8_tile *a, const int8_t *const *q, unsigned g, unsigned b, const unsigned group,
                     const int n_tok, const bool has_min, const bool w_signed, vi *i, vf *acc)
{
    q8_dot(a, q, g, (int)group / 4, n_tok, has_min, w_signed, i);
    q8_scale_add(a, g, b, n_tok, i, acc);
    if (has_min)
        q8_mins(a, group, g, n_tok, acc);
}

/* Prefetches activations and y of the next tile from L2: hardware prefetch does not follow the stride between tokens. A block
 * fetches one line of half the tokens. */
INLINE void q8_prefetch(const struct q8_tile *a, const int8_t *const *q, unsigned b, const int n_tok)
{
    if (n_tok < TILE_TOK)
        return;
    const size_t ahead = TILE_TOK * a->q_stride + b / 2 * 64;
    const int8_t *const *half = b % 2 ? q : q + TILE_TOK / 2;
#pragma GCC unroll 3
    for (int t = 0; t < TILE_TOK / 2; t++)
        _mm_prefetch((const char *)half[t] + ahead, _MM_HINT_T0);
    const float *y = a->y + (TILE_TOK + b) * a->y_stride;
    _mm_prefetch((const char *)y, _MM_HINT_T0);
    _mm_prefetch((const char *)(y + 16), _MM_HINT_T0);
}

INLINE void q8_tile_run(const struct q8_tile *arg, const int n_tok, const unsigned group, const bool has_min, const bool w_signed)
{
    const struct q8_tile a = *arg;
    const vm m0 = vm_first(a.rows), m1 = vm_first(a.rows < VL ? 0 : a.rows - VL);
    const int8_t *q[TILE_TOK];
    vf acc[2 * TILE_TOK];
    vi i[2 * TILE_TOK];
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++) {
        q[t] = a.q + (size_t)t * a.q_stride;
        /* one register each: gcc would else keep an address for every load of the block */
        __asm__("" : "+r"(q[t]));
        acc[t] = acc[n_tok + t] = vf_set1(0);
        if (!a.first) {
            acc[t] = vf_load_m(m0, a.y + (size_t)t * a.y_stride);
            acc[n_tok + t] = vf_load_m(m1, a.y + (size_t)t * a.y_stride + VL);
        }
    }
    for (unsigned b = 0; b < a.n_blk; b++) {
        q8_prefetch(&a, q, b, n_tok);
        if (group == 32) {
            q8_group(&a, q, b, b, 32, n_tok, has_min, w_signed, i, acc);
        } else {
            q8_group(&a, q, 2 * b, b, 16, n_tok, has_min, w_signed, i, acc);
            q8_group(&a, q, 2 * b + 1, b, 16, n_tok, has_min, w_signed, i, acc);
        }
    }
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++) {
        vf_store_m(a.y + (size_t)t * a.y_stride, m0, acc[t]);
        vf_store_m(a.y + (size_t)t * a.y_stride + VL, m1, acc[n_tok + t]);
    }
}

/* The number of tokens becomes a compile-time constant, so that accumulators are registers.
 */
_Static_assert(TILE_TOK >= 4 && TILE_TOK <= 6, "numbers of tokens below");
INLINE void q8_tile_any(const struct q8_tile *a, size_t n_tok, const unsigned group, const bool has_min, const bool w_signed)
{
    if (n_tok >= TILE_TOK)
        q8_tile_run(a, TILE_TOK, group, has_min, w_signed);
    else if (n_tok == 1)
        q8_tile_run(a, 1, group, has_min, w_signed);
    else if (n_tok == 2)
        q8_tile_run(a, 2, group, has_min, w_signed);
    else if (n_tok == 3)
        q8_tile_run(a, 3, group, has_min, w_signed);
    else if (n_tok == 4 && TILE_TOK > 4)
        q8_tile_run(a, TILE_TOK > 4 ? 4 : 1, group, has_min, w_signed);
    else
        q8_tile_run(a, TILE_TOK - 1, group, has_min, w_signed);
}

typedef void q8_tile_fn(const struct q8_tile *a, size_t n_tok);

/* ---- loops ---------------------------------------------------------------------- */

/* Weights of the next panels, fetched into L2 a few rows at a time while tokens are walked.
 */
struct q8_next {
    const unsigned char *src;
    size_t row_bytes, chunk_bytes, rows, done, step;
};

static void q8_prefetch_next(struct q8_next *p)
{
    size_t end = p->done + p->step;
    for (; p->done < end && p->done < p->rows; p->done++)
        for (size_t i = 0; i < p->chunk_bytes + 63; i += 64)
            _mm_prefetch((const char *)p->src + p->done * p->row_bytes + i, _MM_HINT_T1);
}

static void q8_walk_tokens(const struct matmul_args *a, struct q8_scratch *s, q8_tile_fn *run, size_t row, size_t n_rows,
                           size_t k, size_t n_k, struct q8_next *next)
{
    const struct acts *x = a->x;
    for (size_t t = 0; t < x->n_tok; t += TILE_TOK) {
        size_t left = x->n_tok - t;
        q8_prefetch_next(next);
        for (size_t p = 0; p * Q8_ROWS < n_rows; p++) {
            struct q8_tile tile = {
                .panel = &s->panel[p],
                .q = x->q + t * x->stride + k,
                .tok = s->tok + t,
                .y = a->y + t * a->y_stride + row + p * Q8_ROWS,
                .q_stride = x->stride,
                .y_stride = a->y_stride,
                .n_blk = (unsigned)(n_k / 32),
                .first = k == 0,
                .rows = n_rows - p * Q8_ROWS,
            };
            run(&tile, left < TILE_TOK ? left : TILE_TOK);
        }
    }
}

static size_t q8_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* All chunks of rows [row0, row1), at most a group of panels. Inlined into q8_gemm it takes 1 % more instructions. */
__attribute__((noinline)) static void q8_walk_group(const struct matmul_args *a, size_t row0, size_t row1,
                                                    const struct q8_format *f, q8_tile_fn *run)
{
    const size_t step = Q8_PANELS * Q8_ROWS, tiles = (a->x->n_tok + TILE_TOK - 1) / TILE_TOK;
    struct q8_scratch *s = a->scratch;
    for (size_t k = 0; k < a->cols; k += CHUNK_K) {
        size_t n_k = q8_min(a->cols - k, CHUNK_K);
        q8_prepare_tokens(s->tok, a->x, f, k, n_k);
        for (size_t r = row0; r < row1; r += step) {
            size_t n_rows = q8_min(row1 - r, step);
            const unsigned char *w = a->w + k / f->block_elems * f->block_bytes + r * a->w_row_bytes;
            for (size_t p = 0; p * Q8_ROWS < n_rows; p++)
                q8_unpack_panel(s, &s->panel[p], f, w + p * Q8_ROWS * a->w_row_bytes, a->w_row_bytes, n_rows - p * Q8_ROWS, n_k);
            struct q8_next next = { 0 };
            if (r + step < row1)
                next = (struct q8_next){ w + step * a->w_row_bytes,
                                         a->w_row_bytes,
                                         n_k / f->block_elems * f->block_bytes,
                                         q8_min(row1 - r - step, step),
                                         0,
                                         (step + tiles - 1) / tiles };
            q8_walk_tokens(a, s, run, r, n_rows, k, n_k, &next);
        }
    }
}

/* ---- kinds of formats -------------------------------------------------------------- */

static void q8_tile_signed(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 32, false, true);
}
static void q8_tile_32(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 32, false, false);
}
static void q8_tile_32_min(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 32, true, false);
}
static void q8_tile_16(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 16, false, false);
}
static void q8_tile_16_min(const struct q8_tile *a, size_t n_tok)
{
    q8_tile_any(a, n_tok, 16, true, false);
}

static q8_tile_fn *q8_tile_of(const struct q8_format *f)
{
    if (f->group == 16)
        return f->has_min ? q8_tile_16_min : q8_tile_16;
    if (TILE_SIGNED && f->w_signed)
        return q8_tile_signed;
    return f->has_min ? q8_tile_32_min : q8_tile_32;
}

static void q8_gemm(const struct matmul_args *a, size_t row0, size_t row1, const struct q8_format *f)
{
    const size_t step = Q8_PANELS * Q8_ROWS, panels = Q8_GROUP_BYTES / (step * sizeof(float) * a->x->n_tok);
    const size_t group = step * (panels ? panels : 1);
    for (size_t r = row0; r < row1; r += group)
        q8_walk_group(a, r, q8_min(r + group, row1), f, q8_tile_of(f));
}

#endif
