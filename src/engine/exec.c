/*
 * exec: one forward pass. Every thread walks the same op list; an op splits its rows, tokens or heads
 * among the threads, and threads meet where plan.c found a dependence (after every op when each
 * is timed). Work is counted here, from the bounds of the loops that do it.
 */
#include "engine/internal.h"
#include <math.h>
#include <string.h>

enum {
    CHUNK_BYTES = 64 << 10, /* weights of one kernel call in decode: 3 us or more, so a call costs nothing */
    GEMM_ROWS = 64,          /* rows handed out at once in prefill */
};

static float *rows_of(struct engine *e, enum op_buf b, size_t row)
{
    return e->buf[b] + row * e->ops.width[b];
}

static size_t split(size_t n, size_t align, int tid, int n_threads)
{
    size_t units = (n + align - 1) / align;
    size_t at = units * (size_t)tid / (size_t)n_threads * align;
    return at < n ? at : n;
}

static void exec_embed(struct engine *e, const struct op *op, struct work *w, int tid, int nt)
{
    const size_t n = op->cols, row_bytes = dtype_row_bytes(op->w->type, n);
    const struct dtype_info *type = dtype_find(op->w->type);
    const size_t t1 = split(e->pass.n_tok, 1, tid + 1, nt);
    for (size_t t = split(e->pass.n_tok, 1, tid, nt); t < t1; t++) {
        const unsigned char *src = op->w->data;
        type->dequantize(src + (size_t)e->tokens[t] * row_bytes, rows_of(e, op->dst, t), n);
        w->weight_bytes += n / type->block_elems * type->block_bytes;
        w->act_bytes += n * sizeof(float);
    }
}

static void exec_norm(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t n = op->cols, n_tok = op_n_tok(op, &e->pass);
    const size_t base = e->plan[i].src_tail ? e->pass.n_tok - n_tok : 0;
    const size_t t1 = split(n_tok, 1, tid + 1, nt);
    if (tid == 0)
        w->weight_bytes += n * sizeof(float);
    for (size_t t = split(n_tok, 1, tid, nt); t < t1; t++) {
        e->k.rms_norm(rows_of(e, op->dst, t), rows_of(e, op->src, base + t), op->w->data, n,
                      (float)e->m->hp.rms_eps);
        w->act_bytes += 2 * n * sizeof(float);
        w->flop += 4 * n;
    }
}

/* Activations for this op: shared ones for several tokens, the thread's own for one. */
static const struct acts *prepare(struct engine *e, size_t i, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const enum act_kind kind = e->plan[i].act;
    const size_t n_tok = op_n_tok(op, &e->pass), ld = e->ops.width[op->src];
    const float *x = rows_of(e, op->src, e->plan[i].src_tail ? e->pass.n_tok - n_tok : 0);
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
        e->k.act_prepare[kind](a, x, ld, split(n_tok, 1, tid, nt), split(n_tok, 1, tid + 1, nt));
        team_barrier(e->team);
    }
    return a;
}

static void count_rows(const struct op *op, size_t rows, size_t n_tok, struct work *w)
{
    const struct dtype_info *type = dtype_find(op->w->type);
    w->weight_bytes += rows * (op->cols / type->block_elems) * type->block_bytes;
    w->flop += 2 * rows * op->cols * n_tok;
    w->act_bytes += rows * n_tok * sizeof(float);
}

static void exec_matmul(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const struct matmul_slot *slot = &e->k.mm[op->w->type];
    const size_t n_tok = op_n_tok(op, &e->pass), row_bytes = dtype_row_bytes(op->w->type, op->cols);
    const struct matmul_args a = {
        .w = op->w->data,
        .w_row_bytes = row_bytes,
        .cols = op->cols,
        .x = prepare(e, i, tid, nt),
        .y = rows_of(e, op->dst, 0),
        .y_stride = e->ops.width[op->dst],
        .scratch = e->thread[tid].scratch,
    };
    if (tid == 0)
        w->act_bytes += n_tok * op->cols * sizeof(float);
    if (n_tok <= slot->gemv_max_tok) {
        /* Decode: one contiguous stream of weights a thread. */
        const size_t r1 = split(op->rows, slot->row_align, tid + 1, nt);
        size_t step = CHUNK_BYTES / row_bytes / slot->row_align * slot->row_align;
        step = step ? step : slot->row_align;
        for (size_t r = split(op->rows, slot->row_align, tid, nt); r < r1; r += step) {
            const size_t end = u64_min(r + step, r1);
            slot->gemv(&a, r, end);
            count_rows(op, end - r, n_tok, w);
        }
        return;
    }
    /* Prefill: panels handed out one by one, so that threads end together. */
    for (;;) {
        const size_t r = (size_t)atomic_fetch_add_explicit(&e->next[i], 1, memory_order_relaxed) * GEMM_ROWS;
        if (r >= op->rows)
            return;
        const size_t end = u64_min(r + GEMM_ROWS, op->rows);
        slot->gemm(&a, r, end);
        count_rows(op, end - r, n_tok, w);
    }
}

static void exec_rope(struct engine *e, const struct op *op, struct work *w, int tid, int nt)
{
    const size_t t1 = split(e->pass.n_tok, 1, tid + 1, nt);
    for (size_t t = split(e->pass.n_tok, 1, tid, nt); t < t1; t++) {
        e->k.rope(rows_of(e, op->dst, t), op->n_head, op->head_dim, op->n_rot, e->rope + t * op->n_rot);
        w->act_bytes += 2 * (size_t)op->n_head * op->n_rot * sizeof(float);
        w->flop += 3 * (uint64_t)op->n_head * op->n_rot;
    }
}

static void exec_kv_store(struct engine *e, const struct op *op, struct work *w, int tid, int nt)
{
    const size_t n = engine_kv_stride(e), t1 = split(e->pass.n_tok, 1, tid + 1, nt);
    const size_t base = ((size_t)op->layer * e->o.n_ctx + e->pass.n_past) * n;
    for (size_t t = split(e->pass.n_tok, 1, tid, nt); t < t1; t++) {
        e->k.f32_to_f16(e->kv_k + base + t * n, rows_of(e, op->src, t), n);
        e->k.f32_to_f16(e->kv_v + base + t * n, rows_of(e, op->src2, t), n);
        w->act_bytes += 2 * n * sizeof(float);
        w->kv_bytes += 2 * n * sizeof(uint16_t);
    }
}

/*
 * Units of attention work: a KV head's query heads (one by one when KV heads cannot be shared out evenly) for a
 * tile of tokens. The unit with the first query head and the last token walks every cache row
 * first-hand: it counts the bytes.
 */
static void exec_attention(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    (void)tid;
    const struct op *op = &e->ops.ops[i];
    const size_t stride = engine_kv_stride(e), layer = (size_t)op->layer * e->o.n_ctx * stride;
    const struct attention_args a = {
        .q = rows_of(e, op->src, 0),
        .q_stride = e->ops.width[op->src],
        .k = e->kv_k + layer,
        .v = e->kv_v + layer,
        .kv_stride = stride,
        .out = rows_of(e, op->dst, 0),
        .out_stride = e->ops.width[op->dst],
        .n_tok = e->pass.n_tok,
        .n_past = e->pass.n_past,
        .n_head = op->n_head,
        .n_head_kv = op->n_head_kv,
        .head_dim = op->head_dim,
        .window = op->window,
        .scale = op->scale,
        .scratch = e->thread[tid].scratch,
    };
    const uint32_t group = op->n_head / op->n_head_kv;
    const uint32_t per = op->n_head_kv % (uint32_t)nt == 0 ? group : 1;
    const uint32_t n_tile = (uint32_t)u64_ceil_div(e->pass.n_tok, ENGINE_TOKEN_TILE);
    const uint32_t n_unit = op->n_head / per * n_tile;
    for (;;) {
        const uint32_t u = atomic_fetch_add_explicit(&e->next[i], 1, memory_order_relaxed);
        if (u >= n_unit)
            return;
        /* Late tiles see the most keys: hand them out first. */
        const uint32_t tile = n_tile - 1 - u / (op->n_head / per), head = u % (op->n_head / per) * per;
        const uint32_t t0 = tile * ENGINE_TOKEN_TILE;
        const uint32_t t1 = (uint32_t)u64_min(t0 + ENGINE_TOKEN_TILE, e->pass.n_tok);
        e->k.attention(&a, head, head + per, t0, t1, tile == n_tile - 1 && head % group == 0, w);
        w->act_bytes += 2 * (size_t)(t1 - t0) * per * op->head_dim * sizeof(float);
    }
}

static void exec_silu_mul(struct engine *e, const struct op *op, struct work *w, int tid, int nt)
{
    /* By columns: one token is shared out too. */
    const size_t c0 = split(op->cols, 64, tid, nt), c1 = split(op->cols, 64, tid + 1, nt);
    if (c0 == c1)
        return;
    for (size_t t = 0; t < e->pass.n_tok; t++) {
        e->k.silu_mul(rows_of(e, op->dst, t) + c0, rows_of(e, op->src, t) + c0,
                      rows_of(e, op->src2, t) + c0, c1 - c0);
        w->act_bytes += 3 * (c1 - c0) * sizeof(float);
        w->flop += 5 * (c1 - c0);
    }
}

static void exec_add(struct engine *e, const struct op *op, struct work *w, int tid, int nt)
{
    const size_t c0 = split(op->cols, 64, tid, nt), c1 = split(op->cols, 64, tid + 1, nt);
    if (c0 == c1)
        return;
    for (size_t t = 0; t < e->pass.n_tok; t++) {
        e->k.add(rows_of(e, op->dst, t) + c0, rows_of(e, op->src, t) + c0, c1 - c0);
        w->act_bytes += 3 * (c1 - c0) * sizeof(float);
        w->flop += c1 - c0;
    }
}

static void exec_op(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    switch (op->kind) {
    case OP_EMBED:
        exec_embed(e, op, w, tid, nt);
        break;
    case OP_RMS_NORM:
        exec_norm(e, i, w, tid, nt);
        break;
    case OP_MATMUL:
        exec_matmul(e, i, w, tid, nt);
        break;
    case OP_ROPE:
        exec_rope(e, op, w, tid, nt);
        break;
    case OP_KV_STORE:
        exec_kv_store(e, op, w, tid, nt);
        break;
    case OP_ATTENTION:
        exec_attention(e, i, w, tid, nt);
        break;
    case OP_SILU_MUL:
        exec_silu_mul(e, op, w, tid, nt);
        break;
    case OP_ADD:
        exec_add(e, op, w, tid, nt);
        break;
    case OP_KIND_COUNT:
        break;
    }
}

static void work_add(struct work *sum, const struct work *w)
{
    sum->weight_bytes += w->weight_bytes;
    sum->kv_bytes += w->kv_bytes;
    sum->act_bytes += w->act_bytes;
    sum->flop += w->flop;
}

/* Thread 0, after the op: its time and work into the sample, and published for software events. */
static void close_op(struct engine *e, size_t i, int nt)
{
    struct op_sample *s = &e->sample[i];
    const uint64_t now = clock_now_ns();
    s->seconds += (double)(now - e->clock_ns) * 1e-9;
    s->n++;
    struct work w = { 0 };
    for (int t = 0; t < nt; t++)
        work_add(&w, &e->thread[t].work[i]);
    e->published.bytes += (long long)(w.weight_bytes + w.kv_bytes + w.act_bytes);
    e->published.flop += (long long)w.flop;
}

/* Software-defined events are the process's: only thread 0's count enters the sum over threads. */
static void count_op(struct engine *e, size_t i, int tid, struct counter_sample *before)
{
    struct counter_sample now, d;
    counters_read(e->c, tid, &now);
    counter_sample_diff(&d, before, &now);
    if (tid != 0)
        d.value[COUNTER_SW_BYTES] = d.value[COUNTER_SW_FLOP] = d.value[COUNTER_SW_TOKENS] = 0;
    struct counter_sample *s = &e->thread[tid].counters[i];
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        s->value[f] += d.value[f];
        s->valid[f] = d.valid[f];
    }
    *before = now;
}

static void rope_positions(struct engine *e, int tid, int nt)
{
    const uint32_t half = e->m->hp.n_rot / 2;
    const size_t t1 = split(e->pass.n_tok, 1, tid + 1, nt);
    for (size_t t = split(e->pass.n_tok, 1, tid, nt); t < t1; t++)
        for (uint32_t k = 0; k < half; k++) {
            const double angle = (double)(e->pass.n_past + t) * e->rope_freq[k];
            e->rope[(t * half + k) * 2] = (float)cos(angle);
            e->rope[(t * half + k) * 2 + 1] = (float)sin(angle);
        }
}

static void pass_main(void *arg, int tid, int nt)
{
    struct engine *e = arg;
    struct work *work = e->thread[tid].work;
    struct counter_sample before;
    memset(work, 0, e->ops.n * sizeof *work);
    rope_positions(e, tid, nt);
    team_barrier(e->team);
    if (tid == 0)
        e->clock_ns = clock_now_ns();
    if (e->counting && e->per_op)
        counters_read(e->c, tid, &before);
    for (size_t i = 0; i < e->ops.n; i++) {
        if (op_n_tok(&e->ops.ops[i], &e->pass) == 0)
            continue;
        if (e->plan[i].barrier && !e->per_op)
            team_barrier(e->team);
        exec_op(e, i, &work[i], tid, nt);
        if (!e->per_op)
            continue;
        team_barrier(e->team);
        if (tid == 0)
            close_op(e, i, nt);
        if (e->counting)
            count_op(e, i, tid, &before);
        /* Nobody starts the next op before this one's time is taken, and its clock starts when all do. */
        team_barrier(e->team);
        if (tid == 0)
            e->clock_ns = clock_now_ns();
    }
}

void engine_run_pass(struct engine *e)
{
    const int nt = team_size(e->team);
    const struct counter_source was = e->published;
    for (size_t i = 0; i < e->ops.n; i++)
        atomic_store_explicit(&e->next[i], 0, memory_order_relaxed);
    team_run(e->team, pass_main, e);
    struct work pass = { 0 };
    for (size_t i = 0; i < e->ops.n; i++)
        for (int t = 0; t < nt; t++) {
            work_add(&e->sample[i].work, &e->thread[t].work[i]);
            work_add(&pass, &e->thread[t].work[i]);
        }
    work_add(&e->total, &pass);
    e->published.bytes = was.bytes + (long long)(pass.weight_bytes + pass.kv_bytes + pass.act_bytes);
    e->published.flop = was.flop + (long long)pass.flop;
    e->published.tokens += e->pass.n_tok;
}
