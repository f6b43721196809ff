/*
 * neon/product.c: the loops of a product with quantized weights. Few tokens: their prepared
 * activations are small, and the weights are read once, front to back. Many: a chunk of
 * columns of all activations is prepared, and panels pass by it, each unpacked once.
 */
#include "kernels/neon/neon.h"
#include <string.h>

enum {
    CHUNK_BYTES = NEON_K / 32 * Q8_0_BYTES * PACK_ROWS, /* packed, at most: Q8_0's */
    GROUP_BYTES = 1024 * 1024,                  /* y of a group of panels, to stay in the L2 cache */
};

struct scratch {
    struct neon_panel panel;
    unsigned char packed[CHUNK_BYTES]; /* of weights as in the file */
    struct neon_acts acts[];           /* few tokens: a chunk each; many: a tile each */
};
_Static_assert(sizeof(struct scratch) <= SCRATCH_PANEL_BYTES, "fixed part of the scratch");
_Static_assert(sizeof(struct neon_acts) <= NEON_TOK * SCRATCH_TOK_BYTES, "token part of the scratch");
_Static_assert(sizeof(struct neon_acts) <= NEON_K * SCRATCH_COL_BYTES, "column part of the scratch");

struct walk {
    const struct matmul_args *a;
    const struct neon_format *f;
    const struct pack_format *pack;
    const struct neon_dot *dot;
    bool packed;
    struct scratch *s;
};

/* Columns [k, k + n_k) of tokens [t0, t0 + NEON_TOK). */
static void prepare(const struct walk *w, struct neon_acts *to, size_t t0, size_t k, size_t n_k)
{
    const struct acts *x = w->a->x;
    const size_t group = w->f->group;
    memset(to, 0, sizeof *to);
    for (size_t t = 0; t < NEON_TOK && t0 + t < x->n_tok; t++) {
        const size_t at = (t0 + t) * x->stride + k;
        for (size_t i = 0; i < n_k / 16; i++)
            memcpy(to->q[i][t], x->q + at + 16 * i, 16);
        for (size_t g = 0; g < n_k / group; g++) {
            const int16_t *sum = x->sum + at / 16 + g * group / 16;
            to->d[g][t] = x->d[at / 32 + g * group / 32];
            to->s[g][t] = to->d[g][t] * (float)(group == 32 ? sum[0] + sum[1] : sum[0]);
        }
    }
    if (w->dot->pack)
        for (size_t i = 0; i < n_k / 16; i++)
            w->dot->pack(to->q[i]);
}

/* Columns [k, k + n_k) of the panel of rows from r on, of which n_rows are wanted. */
static void unpack(const struct walk *w, size_t r, size_t n_rows, size_t k, size_t n_k)
{
    const struct matmul_args *a = w->a;
    const size_t before = k / w->pack->elems * w->pack->bytes;
    const unsigned char *row = a->w + r * a->w_row_bytes, *chunk = row + before * PACK_ROWS;
    if (!w->packed) {
        pack_panel(w->pack, w->s->packed, row + before, a->w_row_bytes, n_k / w->pack->elems, n_rows);
        chunk = w->s->packed;
    }
    w->f->unpack(chunk, n_k, &w->s->panel);
    if (w->dot->arrange)
        w->dot->arrange(&w->s->panel, n_k);
}

static void multiply(const struct walk *w, const struct neon_acts *x, size_t t0, size_t r, size_t n_rows, size_t k,
                     size_t n_k)
{
    const struct matmul_args *a = w->a;
    const size_t left = a->x->n_tok - t0;
    const struct neon_tile t = { .f = w->f, .w = &w->s->panel, .x = x, .n_k = n_k, .n_rows = n_rows,
                                 .n_tok = left < NEON_TOK ? left : NEON_TOK, .y = a->y + t0 * a->y_stride + r,
                                 .y_stride = a->y_stride, .first = k == 0 };
    w->dot->tile(&t);
}

static size_t chunk_at(const struct walk *w, size_t k)
{
    return w->a->cols - k < NEON_K ? w->a->cols - k : NEON_K;
}
static size_t rows_at(size_t r, size_t row1)
{
    return row1 - r < PACK_ROWS ? row1 - r : PACK_ROWS;
}

static void walk_few(const struct walk *w, size_t row0, size_t row1)
{
    const size_t cols = w->a->cols;
    for (size_t k = 0; k < cols; k += NEON_K)
        prepare(w, &w->s->acts[k / NEON_K], 0, k, chunk_at(w, k));
    for (size_t r = row0; r < row1; r += PACK_ROWS)
        for (size_t k = 0; k < cols; k += NEON_K) {
            unpack(w, r, rows_at(r, row1), k, chunk_at(w, k));
            multiply(w, &w->s->acts[k / NEON_K], 0, r, rows_at(r, row1), k, chunk_at(w, k));
        }
}

static void walk_many(const struct walk *w, size_t row0, size_t row1)
{
    const size_t n_tok = w->a->x->n_tok, fit = GROUP_BYTES / (PACK_ROWS * sizeof(float) * n_tok);
    const size_t group = PACK_ROWS * (fit ? fit : 1);
    for (size_t g = row0; g < row1; g += group) {
        const size_t end = row1 - g < group ? row1 : g + group;
        for (size_t k = 0; k < w->a->cols; k += NEON_K) {
            const size_t n_k = chunk_at(w, k);
            for (size_t t = 0; t < n_tok; t += NEON_TOK)
                prepare(w, &w->s->acts[t / NEON_TOK], t, k, n_k);
            for (size_t r = g; r < end; r += PACK_ROWS) {
                unpack(w, r, rows_at(r, end), k, n_k);
                for (size_t t = 0; t < n_tok; t += NEON_TOK)
                    multiply(w, &w->s->acts[t / NEON_TOK], t, r, rows_at(r, end), k, n_k);
            }
        }
    }
}

void neon_product(const struct matmul_args *a, size_t row0, size_t row1, bool packed, const struct neon_dot *few,
                  const struct neon_dot *many)
{
    const bool is_few = a->x->n_tok <= NEON_TOK;
    const struct walk w = { a, neon_format(a->type), pack_format(a->type), is_few ? few : many, packed, a->scratch };
    (is_few ? walk_few : walk_many)(&w, row0, row1);
}
