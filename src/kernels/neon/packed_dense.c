/*
 * neon/packed_dense.c: products with packed F32, F16 and BF16 weights by FP32 multiply-add:
 * 16 rows, four vectors, times up to four tokens, each activation one lane of a vector.
 * methods.md (5)
 */
#include "kernels/neon/neon.h"
#include "kernels/neon/simd128.h"

enum {
    VECS = PACK_ROWS / VL,
    PANEL_K = 256,             /* columns a chunk: as floats, 16 KiB, in the L1 cache */
    GROUP_BYTES = 1024 * 1024, /* y of a group of panels, to stay in the L2 cache */
};
_Static_assert(PANEL_K * PACK_ROWS * sizeof(float) <= SCRATCH_PANEL_BYTES, "scratch");

/* Column k of the panel at p, rows 4v to 4v + 3. */
typedef vf load_fn(const unsigned char *p, size_t k, size_t v);
INLINE vf load_f32(const unsigned char *p, size_t k, size_t v)
{
    return vf_load((const float *)(const void *)p + k * PACK_ROWS + v * VL);
}
INLINE vf load_f16(const unsigned char *p, size_t k, size_t v)
{
    return vf_from_f16(p + (k * PACK_ROWS + v * VL) * 2, VL);
}
/* Pairs of columns: the first of a pair is the low half. */
INLINE vf load_bf16(const unsigned char *p, size_t k, size_t v)
{
    const uint32x4_t pair = vreinterpretq_u32_u8(vld1q_u8(p + k / 2 * 4 * PACK_ROWS + 16 * v));
    return vreinterpretq_f32_u32(k % 2 ? vandq_u32(pair, vdupq_n_u32(0xffff0000)) : vshlq_n_u32(pair, 16));
}

struct tile {
    const unsigned char *w;
    const float *x; /* of the first token, at the chunk */
    size_t x_stride, n_k, n_rows;
    float *y;
    size_t y_stride;
    bool first;
};

/* n tokens; with few, two sets of sums hide the latency of multiply-adds. */
INLINE void tile_tokens(const struct tile *a, const size_t n, load_fn *load)
{
    const size_t sets = n <= 2 ? 2 : 1;
    vf y[2][VECS][NEON_TOK];
#pragma GCC unroll 2
    for (size_t i = 0; i < sets; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECS; v++)
#pragma GCC unroll 4
            for (size_t t = 0; t < n; t++)
                y[i][v][t] = vf_set1(0);
    size_t k = 0;
    for (; k + 4 <= a->n_k; k += 4) {
        vf x[NEON_TOK];
#pragma GCC unroll 4
        for (size_t t = 0; t < n; t++)
            x[t] = vf_load(a->x + t * a->x_stride + k);
#pragma GCC unroll 4
        for (size_t v = 0; v < VECS; v++) {
            const vf w0 = load(a->w, k, v), w1 = load(a->w, k + 1, v), w2 = load(a->w, k + 2, v),
                     w3 = load(a->w, k + 3, v);
#pragma GCC unroll 4
            for (size_t t = 0; t < n; t++) {
                y[0][v][t] = vfmaq_laneq_f32(y[0][v][t], w0, x[t], 0);
                y[sets - 1][v][t] = vfmaq_laneq_f32(y[sets - 1][v][t], w1, x[t], 1);
                y[0][v][t] = vfmaq_laneq_f32(y[0][v][t], w2, x[t], 2);
                y[sets - 1][v][t] = vfmaq_laneq_f32(y[sets - 1][v][t], w3, x[t], 3);
            }
        }
    }
    for (; k < a->n_k; k++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECS; v++)
#pragma GCC unroll 4
            for (size_t t = 0; t < n; t++)
                y[0][v][t] = vfmaq_n_f32(y[0][v][t], load(a->w, k, v), a->x[t * a->x_stride + k]);
#pragma GCC unroll 4
    for (size_t v = 0; v < VECS; v++) {
        const vm m = vm_first(a->n_rows > VL * v ? a->n_rows - VL * v : 0);
#pragma GCC unroll 4
        for (size_t t = 0; t < n; t++) {
            float *to = a->y + t * a->y_stride + VL * v;
            vf sum = sets == 2 ? vf_add(y[0][v][t], y[1][v][t]) : y[0][v][t];
            if (!a->first)
                sum = vf_add(sum, vf_load_m(m, to));
            vf_store_m(to, m, sum);
        }
    }
}

INLINE void tile_any(const struct tile *a, size_t n_tok, load_fn *load)
{
    switch (n_tok) {
    case 1:
        tile_tokens(a, 1, load);
        break;
    case 2:
        tile_tokens(a, 2, load);
        break;
    case 3:
        tile_tokens(a, 3, load);
        break;
    default:
        tile_tokens(a, NEON_TOK, load);
        break;
    }
}

/* The weights once, from memory to registers. */
INLINE void few(const struct matmul_args *a, size_t row0, size_t row1, load_fn *load)
{
    for (size_t r = row0; r < row1; r += PACK_ROWS) {
        const struct tile t = { .w = a->w + r * a->w_row_bytes, .x = a->x->f32, .x_stride = a->x->stride, .n_k = a->cols,
                                .n_rows = row1 - r, .y = a->y + r, .y_stride = a->y_stride, .first = true };
        tile_any(&t, a->x->n_tok, load);
    }
}

/* A chunk of a panel to floats, then all tokens. */
INLINE void panel_tokens(const struct matmul_args *a, size_t r, size_t n_rows, size_t k, size_t n_k, load_fn *load)
{
    const unsigned char *w = a->w + r * a->w_row_bytes;
    float *floats = a->scratch;
    for (size_t i = 0; i < n_k; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECS; v++)
            vf_store(floats + i * PACK_ROWS + v * VL, load(w, k + i, v));
    const struct acts *x = a->x;
    for (size_t t = 0; t < x->n_tok; t += NEON_TOK) {
        const struct tile tile = { .w = a->scratch, .x = x->f32 + t * x->stride + k, .x_stride = x->stride, .n_k = n_k,
                                   .n_rows = n_rows, .y = a->y + t * a->y_stride + r, .y_stride = a->y_stride,
                                   .first = k == 0 };
        tile_any(&tile, x->n_tok - t, load_f32);
    }
}

INLINE void product(const struct matmul_args *a, size_t row0, size_t row1, load_fn *load)
{
    const size_t n_tok = a->x->n_tok;
    if (n_tok <= NEON_TOK) {
        few(a, row0, row1, load);
        return;
    }
    const size_t fit = GROUP_BYTES / (PACK_ROWS * sizeof(float) * n_tok), group = PACK_ROWS * (fit ? fit : 1);
    for (size_t g = row0; g < row1; g += group) {
        const size_t end = row1 - g < group ? row1 : g + group;
        for (size_t k = 0; k < a->cols; k += PANEL_K)
            for (size_t r = g; r < end; r += PACK_ROWS)
                panel_tokens(a, r, end - r, k, a->cols - k < PANEL_K ? a->cols - k : PANEL_K, load);
    }
}

PRODUCT(packed_f32, product, load_f32)
PRODUCT(packed_f16, product, load_f16)
PRODUCT(packed_bf16, product, load_bf16)

void neon_packed_dense_slots(struct kernels *k)
{
    k->packed[DTYPE_F32] = (struct matmul_slot){ ACT_F32, packed_f32, packed_f32, NEON_TOK, PACK_ROWS };
    k->packed[DTYPE_F16] = (struct matmul_slot){ ACT_F32, packed_f16, packed_f16, NEON_TOK, PACK_ROWS };
    k->packed[DTYPE_BF16] = (struct matmul_slot){ ACT_F32, packed_bf16, packed_bf16, NEON_TOK, PACK_ROWS };
}
