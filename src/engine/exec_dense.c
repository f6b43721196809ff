/* Embedding, norms, dense products and what goes element by element. */
#include "engine/internal.h"

/* Weights of one kernel call in decode: 3 us or more, so a call costs nothing. */
enum { CHUNK_BYTES = 64 << 10 };

void exec_embed(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t n = op->cols, row_bytes = dtype_row_bytes(op->w->type, n);
    const struct dtype_info *type = dtype_find(op->w->type);
    const size_t t1 = engine_split(e->pass.n_tok, 1, tid + 1, nt);
    for (size_t t = engine_split(e->pass.n_tok, 1, tid, nt); t < t1; t++) {
        const unsigned char *src = op->w->data;
        float *dst = engine_row(e, op->dst, t, 0);
        type->dequantize(src + (size_t)e->tokens[t] * row_bytes, dst, n);
        w->weight_bytes += n / type->block_elems * type->block_bytes;
        w->act_bytes += n * sizeof(float);
        if (op->scale == 0)
            continue;
        for (size_t c = 0; c < n; c++)
            dst[c] *= op->scale;
        w->flop += n;
    }
}

/* Units are the heads of every token, which is a unit itself where there are no heads. */
void exec_norm(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t n = op->cols, n_tok = op_n_tok(op, &e->pass), heads = op->n_head;
    const size_t u1 = engine_split(n_tok * heads, 1, tid + 1, nt);
    if (tid == 0)
        w->weight_bytes += n * sizeof(float);
    for (size_t u = engine_split(n_tok * heads, 1, tid, nt); u < u1; u++) {
        const size_t t = u / heads, h = u % heads, from = e->plan[i].src_tail ? e->out_row[t] : t;
        e->k.rms_norm(engine_row(e, op->dst, t, op->dst_at) + h * op->dst_stride,
                      engine_row(e, op->src, from, op->src_at) + h * op->src_stride, op->w->data, n,
                      (float)e->m->hp.rms_eps);
        w->act_bytes += 2 * n * sizeof(float);
        w->flop += 4 * n;
    }
}

/* Activations for this op: shared ones for several tokens, the thread's own for one. Rows whose logits are wanted
 * have gone through a norm by now, and stand together. */
static const struct acts *prepare(struct engine *e, size_t i, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const enum act_kind kind = e->plan[i].act;
    const size_t n_tok = op_n_tok(op, &e->pass), ld = e->ops.width[op->src];
    const float *x = engine_row(e, op->src, 0, op->src_at);
    const bool own = n_tok == 1;
    struct acts *a = own ? &e->thread[tid].acts[kind] : &e->acts[kind];
    if (own) {
        if (!e->plan[i].act_shared) {
            acts_bind(a, kind, 1, op->cols, e->thread[tid].act_mem[kind]);
            e->k.act_prepare[kind](a, x, ld, 0, 1);
        }
        return a;
    }
    if (!e->plan[i].act_shared) {
        if (tid == 0)
            acts_bind(a, kind, n_tok, op->cols, e->act_mem[kind]);
        team_barrier(e->team);
        e->k.act_prepare[kind](a, x, ld, engine_split(n_tok, 1, tid, nt), engine_split(n_tok, 1, tid + 1, nt));
        team_barrier(e->team);
    }
    return a;
}

void exec_rows(const struct matmul_slot *slot, const struct matmul_args *a, const struct op *op, const float *bias,
               size_t r0, size_t r1, struct work *w)
{
    const size_t n_tok = a->x->n_tok, rows = r1 - r0;
    if (n_tok <= slot->gemv_max_tok)
        slot->gemv(a, r0, r1);
    else
        slot->gemm(a, r0, r1);
    w->weight_bytes += rows * a->w_row_bytes;
    w->flop += 2 * rows * op->cols * n_tok;
    w->act_bytes += rows * n_tok * sizeof(float);
    if (!bias)
        return;
    for (size_t t = 0; t < n_tok; t++)
        for (size_t r = r0; r < r1; r++)
            a->y[t * a->y_stride + r] += bias[r];
    w->weight_bytes += rows * sizeof(float);
    w->flop += rows * n_tok;
}

size_t exec_step(const struct matmul_slot *slot, size_t row_bytes)
{
    const size_t step = CHUNK_BYTES / row_bytes / slot->row_align * slot->row_align;
    return step ? step : slot->row_align;
}

void exec_matmul(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const struct matmul_slot *slot = e->plan[i].slot;
    const float *bias = op->bias ? op->bias->data : NULL;
    const struct matmul_args a = {
        .w = e->plan[i].w,
        .w_row_bytes = dtype_row_bytes(op->w->type, op->cols),
        .cols = op->cols,
        .x = prepare(e, i, tid, nt),
        .y = engine_row(e, op->dst, 0, op->dst_at),
        .y_stride = e->ops.width[op->dst],
        .scratch = e->thread[tid].scratch,
    };
    if (tid == 0)
        w->act_bytes += a.x->n_tok * op->cols * sizeof(float);
    if (a.x->n_tok <= slot->gemv_max_tok) {
        /* Decode: one contiguous stream of weights a thread. */
        const size_t r1 = engine_split(op->rows, slot->row_align, tid + 1, nt), step = exec_step(slot, a.w_row_bytes);
        for (size_t r = engine_split(op->rows, slot->row_align, tid, nt); r < r1; r += step)
            exec_rows(slot, &a, op, bias, r, u64_min(r + step, r1), w);
        return;
    }
    /* Prefill: panels handed out one by one, so that threads end together. */
    for (;;) {
        const size_t r = (size_t)engine_take(e, i) * ENGINE_GEMM_ROWS;
        if (r >= op->rows)
            return;
        exec_rows(slot, &a, op, bias, r, u64_min(r + ENGINE_GEMM_ROWS, op->rows), w);
    }
}

/* ---- element by element: split by columns, so that one token is shared out too ------------- */

/* methods.md (8) */
void exec_glu(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    static const unsigned flop[] = { [GLU_SILU] = 5, [GLU_GELU] = 10, [GLU_SWIGLU_OAI] = 8 };
    const struct op *op = &e->ops.ops[i];
    const size_t c0 = engine_split(op->cols, 64, tid, nt), c1 = engine_split(op->cols, 64, tid + 1, nt);
    void (*fn)(float *, const float *, const float *, size_t) = NULL;
    switch (op->glu) {
    case GLU_SILU:
        fn = e->k.silu_mul;
        break;
    case GLU_GELU:
        fn = e->k.gelu_mul;
        break;
    case GLU_SWIGLU_OAI:
        fn = e->k.swiglu_oai;
        break;
    }
    for (size_t t = 0; c0 < c1 && t < e->pass.n_tok; t++) {
        fn(engine_row(e, op->dst, t, op->dst_at) + c0, engine_row(e, op->src, t, op->src_at) + c0,
           engine_row(e, op->src2, t, op->src2_at) + c0, c1 - c0);
        w->act_bytes += 3 * (c1 - c0) * sizeof(float);
        w->flop += flop[op->glu] * (c1 - c0);
    }
}

/* methods.md (9) */
void exec_add(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t c0 = engine_split(op->cols, 64, tid, nt), c1 = engine_split(op->cols, 64, tid + 1, nt);
    for (size_t t = 0; c0 < c1 && t < e->pass.n_tok; t++) {
        e->k.add(engine_row(e, op->dst, t, 0) + c0, engine_row(e, op->src, t, 0) + c0, c1 - c0);
        w->act_bytes += 3 * (c1 - c0) * sizeof(float);
        w->flop += c1 - c0;
    }
}

/* In place. methods.md (39) */
void exec_softcap(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t c0 = engine_split(op->cols, 64, tid, nt), c1 = engine_split(op->cols, 64, tid + 1, nt);
    const size_t n_tok = op_n_tok(op, &e->pass);
    for (size_t t = 0; c0 < c1 && t < n_tok; t++) {
        e->k.softcap(engine_row(e, op->dst, t, 0) + c0, c1 - c0, op->scale);
        w->act_bytes += 2 * (c1 - c0) * sizeof(float);
        w->flop += 3 * (c1 - c0);
    }
}
