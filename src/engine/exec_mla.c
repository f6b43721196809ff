/* Multi-head latent attention: per-head products, and expansion of latents to keys and values. methods.md (17) */
#include "engine/internal.h"
#include <string.h>

/* One head's matrix as a product operand. */
static struct matmul_args head_args(const struct engine *e, const struct op *op, size_t row, size_t cols, int tid)
{
    const size_t row_bytes = dtype_row_bytes(op->w->type, cols);
    return (struct matmul_args){ .w = (const unsigned char *)op->w->data + row * row_bytes,
                                 .type = op->w->type,
                                 .w_row_bytes = row_bytes,
                                 .cols = cols,
                                 .scratch = e->thread[tid].scratch };
}

/* y[t][r] = sum_c x[t][c] W[c][r] for a stored W [cols, rows]. */
static void transposed_head(struct engine *e, const struct op *op, size_t h, size_t n_tok, int tid, struct work *w)
{
    const struct dtype_info *type = dtype_find(op->w->type);
    const size_t row_bytes = dtype_row_bytes(op->w->type, op->rows);
    const unsigned char *src = (const unsigned char *)op->w->data + (h * op->w_stride + op->w_row) * row_bytes;
    float *row = e->thread[tid].tile;
    for (size_t t = 0; t < n_tok; t++)
        memset(engine_row(e, op->dst, t, op->dst_at) + h * op->dst_stride, 0, op->rows * sizeof(float));
    for (size_t c = 0; c < op->cols; c++) {
        type->dequantize(src + c * row_bytes, row, op->rows);
        w->weight_bytes += row_bytes;
        for (size_t t = 0; t < n_tok; t++) {
            const float x = engine_row(e, op->src, t, op->src_at)[h * op->src_stride + c];
            float *y = engine_row(e, op->dst, t, op->dst_at) + h * op->dst_stride;
            for (size_t r = 0; r < op->rows; r++)
                y[r] += x * row[r];
        }
        w->flop += 2 * op->rows * n_tok;
    }
    w->act_bytes += op->rows * n_tok * sizeof(float);
}

void exec_head_matmul(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const struct matmul_slot *slot = &e->k.mm[op->w->type];
    const size_t n_tok = e->pass.n_tok;
    struct acts *x = &e->thread[tid].acts[slot->act];
    (void)nt;
    for (;;) {
        const size_t h = engine_take(e, i);
        if (h >= op->n_head)
            return;
        w->act_bytes += op->cols * n_tok * sizeof(float);
        if (op->transposed) {
            transposed_head(e, op, h, n_tok, tid, w);
            continue;
        }
        acts_bind(x, slot->act, n_tok, op->cols, e->thread[tid].act_mem[slot->act]);
        e->k.act_prepare[slot->act](x, engine_row(e, op->src, 0, op->src_at) + h * op->src_stride,
                                    e->stride[op->src], 0, n_tok);
        struct matmul_args a = head_args(e, op, h * op->w_stride + op->w_row, op->cols, tid);
        a.x = x;
        a.y = engine_row(e, op->dst, 0, op->dst_at) + h * op->dst_stride;
        a.y_stride = e->stride[op->dst];
        exec_rows(e, slot, &a, op, NULL, 0, op->rows, w);
    }
}

/* ---- expansion ---- */

/* A tile of positions for one head, with scratch. */
struct expansion {
    struct engine *e;
    const struct op *op;
    const struct engine_run *run;
    size_t h, j0, n; /* head, positions [j0, j0 + n) */
    size_t rank, nope, value;
    float *latent, *out, *matrix; /* [n][rank + n_rot], [n][max(nope, value)], [nope][rank] */
    int tid;
};

/* out[j][r] = sum_c W[r][c] latent[j][c] for `rows` rows of w from `row`. */
static void product(const struct expansion *x, enum dtype type, const unsigned char *w, size_t row_bytes, size_t rows)
{
    const struct matmul_slot *slot = &x->e->k.mm[type];
    struct acts *acts = &x->e->thread[x->tid].acts[slot->act];
    acts_bind(acts, slot->act, x->n, x->rank, x->e->thread[x->tid].act_mem[slot->act]);
    x->e->k.act_prepare[slot->act](acts, x->latent, x->rank + x->op->n_rot, 0, x->n);
    const struct matmul_args a = { .w = w,
                                   .type = type,
                                   .w_row_bytes = row_bytes,
                                   .cols = x->rank,
                                   .x = acts,
                                   .y = x->out,
                                   .y_stride = rows,
                                   .scratch = x->e->thread[x->tid].scratch };
    if (x->n <= slot->gemv_max_tok)
        slot->gemv(&a, 0, rows);
    else
        slot->gemm(&a, 0, rows);
}

/* Keys from a separate Wk_b, stored by latent rows: transposed in float first. */
static void transpose_keys(const struct expansion *x)
{
    const struct tensor *w = x->op->w;
    const struct dtype_info *type = dtype_find(w->type);
    const size_t row_bytes = dtype_row_bytes(w->type, x->nope);
    const unsigned char *src = (const unsigned char *)w->data + x->h * x->op->w_stride * row_bytes;
    float *row = x->out; /* free at this point */
    for (size_t r = 0; r < x->rank; r++) {
        type->dequantize(src + r * row_bytes, row, x->nope);
        for (size_t c = 0; c < x->nope; c++)
            x->matrix[c * x->rank + r] = row[c];
    }
    product(x, DTYPE_F32, (const unsigned char *)x->matrix, x->rank * sizeof(float), x->nope);
}

/* Product of rows [row, row + rows) of t with the latents. */
static void rows_of(const struct expansion *x, const struct tensor *t, size_t row, size_t rows)
{
    const size_t row_bytes = dtype_row_bytes(t->type, x->rank);
    product(x, t->type, (const unsigned char *)t->data + row * row_bytes, row_bytes, rows);
}

static uint16_t *expanded_row(const struct expansion *x, const struct kv_rows *r, size_t j)
{
    const struct kv_rows rows = engine_rows_of(r, x->run, x->e->kv[x->op->layer].group, x->e->expanded_seq_bytes);
    return (uint16_t *)(void *)engine_kv_row(&rows, x->h, (uint32_t)(x->j0 + j));
}

static void read_latents(const struct expansion *x)
{
    const struct kv_layer *l = &x->e->kv[x->op->layer];
    const struct kv_rows c = engine_rows_of(&l->k, x->run, l->group, x->e->kv_seq_bytes);
    const struct dtype_info *type = dtype_find(c.type);
    const size_t n = x->rank + x->op->n_rot;
    for (size_t j = 0; j < x->n; j++)
        type->dequantize(kv_at(&c, 0, (uint32_t)(x->j0 + j)), x->latent + j * n, n);
}

static void expand(const struct expansion *x)
{
    const struct op *op = x->op;
    const struct engine *e = x->e;
    read_latents(x);
    if (op->transposed)
        rows_of(x, op->w, x->h * op->w_stride, x->nope);
    else
        transpose_keys(x);
    for (size_t j = 0; j < x->n; j++) {
        uint16_t *k = expanded_row(x, &e->expanded_k, j);
        e->k.f32_to_f16(k, x->out + j * x->nope, x->nope);
        e->k.f32_to_f16(k + x->nope, x->latent + j * (x->rank + op->n_rot) + x->rank, op->n_rot);
    }
    if (op->bias)
        rows_of(x, op->bias, x->h * x->value, x->value);
    else
        rows_of(x, op->w, x->h * op->w_stride + op->w_row, x->value);
    for (size_t j = 0; j < x->n; j++)
        e->k.f32_to_f16(expanded_row(x, &e->expanded_v, j), x->out + j * x->value, x->value);
}

/* Weights and latents are counted once: at the first run's first tile, first head. */
static void count(const struct expansion *x, struct work *w)
{
    const struct op *op = x->op;
    const size_t per_head = op->bias ? x->rank * dtype_row_bytes(op->w->type, x->nope) +
                                           x->value * dtype_row_bytes(op->bias->type, x->rank)
                                     : (x->nope + x->value) * dtype_row_bytes(op->w->type, x->rank);
    w->weight_bytes += x->j0 == 0 && x->run == x->e->run ? per_head : 0;
    w->kv_bytes += x->h == 0 ? x->n * x->e->kv[op->layer].k.row_bytes : 0;
    w->flop += 2 * x->n * x->rank * (x->nope + x->value);
    w->act_bytes += x->n * (op->head_dim + op->head_dim_v) * sizeof(uint16_t);
}

/* Unit u: a head of a tile of a run's positions; false: past the last. */
static bool unit_at(struct expansion *x, size_t u)
{
    const struct engine *e = x->e;
    for (uint32_t r = 0; r < e->n_run; r++) {
        const size_t from = e->run_shared[r], n_kv = (size_t)e->run[r].n_past + e->run[r].n_tok - from, n_tile = u64_ceil_div(n_kv, ENGINE_TOKEN_TILE);
        if (u >= n_tile * x->op->n_head) {
            u -= n_tile * x->op->n_head;
            continue;
        }
        x->run = &e->run[r];
        x->h = u % x->op->n_head;
        const size_t at = u / x->op->n_head * ENGINE_TOKEN_TILE;
        x->j0 = from + at;
        x->n = u64_min(ENGINE_TOKEN_TILE, n_kv - at);
        return true;
    }
    return false;
}

void exec_kv_expand(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    struct expansion x = { .e = e, .op = op, .tid = tid, .rank = op->cols - op->n_rot,
                           .nope = op->head_dim - op->n_rot, .value = op->head_dim_v };
    x.latent = e->thread[tid].tile;
    x.out = x.latent + (size_t)ENGINE_TOKEN_TILE * op->cols;
    x.matrix = x.out + (size_t)ENGINE_TOKEN_TILE * u64_max(x.nope, x.value);
    (void)nt;
    while (unit_at(&x, engine_take(e, i))) {
        expand(&x);
        count(&x, w);
    }
}
