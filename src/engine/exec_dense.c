/* Embedding, norms, dense products, elementwise ops. */
#include "engine/internal.h"

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

/* Units: heads of every token, or whole tokens. */
void exec_norm(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t n = op->cols, n_tok = op_n_tok(op, &e->pass), heads = op->n_head;
    if (tid == 0)
        w->weight_bytes += n * sizeof(float);
    if (e->sync[i].replicated && e->pass.n_tok == 1) {
        e->k.rms_norm(e->thread[tid].row, engine_row(e, op->src, 0, op->src_at), op->w->data, n, (float)e->m->hp.rms_eps);
        w->act_bytes += tid == 0 ? 2 * n * sizeof(float) : 0;
        w->flop += tid == 0 ? 4 * n : 0; /* counted once, although replicated */
        return;
    }
    const size_t u1 = engine_split(n_tok * heads, 1, tid + 1, nt);
    for (size_t u = engine_split(n_tok * heads, 1, tid, nt); u < u1; u++) {
        const size_t t = u / heads, h = u % heads, from = e->plan[i].src_tail ? e->out_row[t] : t;
        e->k.rms_norm(engine_row(e, op->dst, t, op->dst_at) + h * op->dst_stride,
                      engine_row(e, op->src, from, op->src_at) + h * op->src_stride, op->w->data, n,
                      (float)e->m->hp.rms_eps);
        w->act_bytes += 2 * n * sizeof(float);
        w->flop += 4 * n;
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* Activation descriptor of product i in mem; no data yet. */
static void bind_acts(struct engine *e, size_t i, size_t n_tok, struct acts *a, void *mem)
{
    acts_bind(a, e->plan[i].act, n_tok, e->ops.ops[i].cols, mem);
    a->pow2 = kernels_acts_pow2(&e->k, e->plan[i].packed, n_tok);
}

/* Prepared activations of this op: shared for several tokens, thread-private for one. Rows of wanted logits are contiguous after
 * the last norm. */
static const struct acts *prepare(struct engine *e, size_t i, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const enum act_kind kind = e->plan[i].act;
    struct thread_state *st = &e->thread[tid];
    const size_t n_tok = op_n_tok(op, &e->pass), ld = e->stride[op->src];
    const float *x = engine_row(e, op->src, 0, op->src_at);
    const bool own = n_tok == 1;
    struct acts *a = own ? &st->acts[kind] : &st->shared[kind];
    if (e->sync[i].reuses_acts)
        return a;
    bind_acts(e, i, n_tok, a, own ? st->act_mem[kind] : e->act_mem[kind]);
    if (own) {
        e->k.act_prepare[kind](a, e->sync[i].replicated && e->pass.n_tok == 1 ? st->row : x, ld, 0, 1);
        return a;
    }
    const bool by_rows = e->plan[i].pack_by_row && kernels_packs_acts_rows(&e->k, op->w->type, n_tok, op->cols);
    if (by_rows && e->plan[i].packed_by_glu && !e->per_op) { /* after a barrier: reads what other threads wrote by columns */
        a->tiles = e->packed_glu;
        kernels_mark_acts_packed(&e->k, op->w->type, a);
        return a;
    }
    if (by_rows) {
        struct acts row;
        acts_bind(&row, kind, 1, op->cols, st->act_mem[kind]);
        row.pow2 = a->pow2;
        a->tiles = e->packed_acts;
        for (size_t t = engine_split(n_tok, 1, tid, nt); t < engine_split(n_tok, 1, tid + 1, nt); t++)
            kernels_pack_acts_row(&e->k, op->w->type, a, t, 0, &row, x + t * ld);
        kernels_mark_acts_packed(&e->k, op->w->type, a);
        team_barrier(e->team);
        return a;
    }
    e->k.act_prepare[kind](a, x, ld, engine_split(n_tok, 1, tid, nt), engine_split(n_tok, 1, tid + 1, nt));
    team_barrier(e->team);
    if (e->plan[i].pack_acts && kernels_packs_acts(&e->k, op->w->type, n_tok)) {
        a->tiles = e->packed_acts;
        e->plan[i].pack_acts(a, op->w->type, (unsigned)tid, (unsigned)nt);
        team_barrier(e->team);
    }
    return a;
}

/* The kernel for few tokens, group by group: sums of a token do not depend on the others. Rows in pieces that stay in the L2 cache meanwhile. */
static void rows_by_few(const struct matmul_slot *slot, const struct matmul_args *of, size_t r0, size_t r1)
{
    enum { PIECE_BYTES = 64 << 10 };
    const size_t step = size_align_up(u64_max(1, PIECE_BYTES / of->w_row_bytes), slot->row_align);
    for (size_t r = r0, end; r < r1; r = end) {
        end = u64_min(r1, r + step);
        for (size_t t = 0; t < of->x->n_tok; t += slot->gemv_max_tok) {
            const struct acts x = acts_from(of->x, t, u64_min(slot->gemv_max_tok, of->x->n_tok - t));
            struct matmul_args a = *of;
            a.x = &x;
            a.y += t * a.y_stride;
            slot->gemv(&a, r, end);
        }
    }
}

void exec_rows(const struct engine *e, const struct matmul_slot *slot, const struct matmul_args *a, const struct op *op, const float *bias,
               size_t r0, size_t r1, struct work *w)
{
    const size_t n_tok = a->x->n_tok, rows = r1 - r0;
    if (e->o.batch_invariant)
        rows_by_few(slot, a, r0, r1);
    else if (n_tok <= slot->gemv_max_tok)
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

/* A product of the pass on one thread. */
struct product {
    const struct engine *e;
    const struct op *op;
    const struct matmul_slot *slot;
    const float *bias;
    struct matmul_args a;
    struct work *w;
};

static struct product product(struct engine *e, size_t i, enum fuse fuse, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    struct product p = {
        .e = e,
        .op = op,
        .slot = e->plan[i].slot,
        .bias = op->bias ? op->bias->data : NULL,
        .w = w,
        .a = { .w = e->plan[i].w,
               .type = op->w->type,
               .w_row_bytes = dtype_row_bytes(op->w->type, op->cols),
               .cols = op->cols,
               .x = prepare(e, i, tid, nt),
               .y = engine_row(e, op->dst, 0, op->dst_at),
               .y_stride = e->stride[op->dst],
               .prefetch_next = true,
               .scratch = e->thread[tid].scratch },
    };
    const bool soon = p.bias || (fuse != FUSE_NONE && p.a.x->n_tok <= ENGINE_SCRATCH_MAX_TOKENS); /* the fused op reads the results at once */
    p.a.y_nontemporal = !soon && share_nontemporal(p.a.x->n_tok, op->rows, nt);
    if (tid == 0)
        w->act_bytes += p.a.x->n_tok * op->cols * sizeof(float);
    return p;
}

static void product_rows(const struct product *p, size_t r0, size_t r1)
{
    exec_rows(p->e, p->slot, &p->a, p->op, p->bias, r0, r1, p->w);
}

/* A column range of all tokens. */
struct column {
    const float *at;
    size_t stride;
};

static struct column column_of(const struct engine *e, enum op_buf b, size_t at)
{
    return (struct column){ engine_row(e, b, 0, (uint32_t)at), e->stride[b] };
}

/* Rows [r0, r1), at most SHARE_GEMM_ROWS, into the thread-private y. */
static struct column scratch_rows(const struct product *p, float *y, size_t r0, size_t r1)
{
    struct product q = *p;
    q.a.w += r0 * q.a.w_row_bytes;
    q.a.y = y;
    q.a.y_stride = size_row_floats(SHARE_GEMM_ROWS);
    q.bias = q.bias ? q.bias + r0 : NULL;
    product_rows(&q, 0, r1 - r0);
    return (struct column){ y, q.a.y_stride };
}

static void glu_cols(struct engine *e, const struct op *op, size_t c0, size_t c1, struct column a, struct column b, struct work *w);
static void glu_packed(struct engine *e, size_t i, size_t c0, size_t c1, struct column a, struct column b, struct work *w, int tid);
static void add_cols(struct engine *e, const struct op *op, size_t c0, size_t c1, struct column src, struct work *w);

/* Includes fused ops: w[0], w[1], w[2] are the work of ops i, i + 1, i + 2. */
void exec_matmul(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const enum fuse fuse = e->per_op ? FUSE_NONE : e->sync[i].fuse;
    const struct product p = product(e, i, fuse, w, tid, nt), q = fuse == FUSE_GLU ? product(e, i + 1, fuse, w + 1, tid, nt) : p;
    const size_t n_tok = p.a.x->n_tok;
    const bool tiles = fuse == FUSE_GLU && i + 3 < e->ops.n && e->plan[i + 3].packed_by_glu && kernels_packs_acts_rows(&e->k, op[3].w->type, n_tok, op[3].cols);
    const size_t step = size_align_up(share_step(p.slot, p.a.x, op->rows, p.a.w_row_bytes, nt), tiles ? 32 : 1); /* tiles: whole column blocks */
    const size_t most = share_most(p.slot, p.a.x, step, p.a.w_row_bytes);
    float *const mem = e->thread[tid].fused;
    const bool stays = fuse != FUSE_NONE && e->plan[i].scratch_results && n_tok >= ENGINE_SCRATCH_MIN_TOKENS && n_tok <= ENGINE_SCRATCH_MAX_TOKENS;
    struct share_run run;
    while (engine_claim(e, i, u64_ceil_div(op->rows, step), most, tid, nt, &run)) {
        const size_t r0 = run.first * step, r1 = u64_min(r0 + run.n * step, op->rows);
        const bool near = stays && r1 - r0 <= SHARE_GEMM_ROWS;
        struct column a = column_of(e, op->dst, r0), b = { 0 };
        if (near)
            a = scratch_rows(&p, mem, r0, r1);
        else
            product_rows(&p, r0, r1);
        if (fuse == FUSE_GLU) {
            b = column_of(e, op[1].dst, r0);
            if (near)
                b = scratch_rows(&q, mem + n_tok * a.stride, r0, r1);
            else
                product_rows(&q, r0, r1);
            if (tiles)
                glu_packed(e, i + 2, r0, r1, a, b, w + 2, tid);
            else
                glu_cols(e, op + 2, r0, r1, a, b, w + 2);
        }
        if (fuse == FUSE_ADD)
            add_cols(e, op + 1, r0, r1, a, w + 1);
    }
}

/* ---- elementwise: split by columns, so that one token uses all threads ---- */

typedef void glu_fn(float *dst, const float *a, const float *b, size_t n);

/* methods.md (13). NULL: unsupported, refused by engine_new. */
static glu_fn *glu_of(const struct engine *e, const struct op *op, size_t *flop)
{
    static const unsigned each[] = { [GLU_SILU] = 5, [GLU_GELU] = 10, [GLU_SWIGLU_OAI] = 8 };
    *flop = op->glu < ARRAY_LEN(each) ? each[op->glu] : 0;
    switch (op->glu) {
    case GLU_SILU:
        return e->k.silu_mul;
    case GLU_GELU:
        return e->k.gelu_mul;
    case GLU_SWIGLU_OAI:
        return e->k.swiglu_oai;
    case GLU_SIGMOID:
    case GLU_RELU:
    case GLU_SOFTPLUS:
    case GLU_RELU2:
        break;
    }
    return NULL;
}

/* a, b: at column c0 */
static void glu_cols(struct engine *e, const struct op *op, size_t c0, size_t c1, struct column a, struct column b, struct work *w)
{
    size_t flop;
    glu_fn *const fn = glu_of(e, op, &flop);
    for (size_t t = 0; fn && c0 < c1 && t < e->pass.n_tok; t++) {
        fn(engine_row(e, op->dst, t, op->dst_at) + c0, a.at + t * a.stride, b.at + t * b.stride, c1 - c0);
        w->act_bytes += 3 * (c1 - c0) * sizeof(float);
        w->flop += flop * (c1 - c0);
    }
}

/* GLU of op i directly into the next product's packed activations. */
static void glu_packed(struct engine *e, size_t i, size_t c0, size_t c1, struct column a, struct column b, struct work *w, int tid)
{
    const struct op *const op = &e->ops.ops[i], *const down = op + 1;
    struct thread_state *const st = &e->thread[tid];
    const enum act_kind kind = e->plan[i + 1].act;
    struct acts to, row;
    size_t flop;
    glu_fn *const fn = glu_of(e, op, &flop);
    bind_acts(e, i + 1, e->pass.n_tok, &to, e->act_mem[kind]);
    to.tiles = e->packed_glu;
    acts_bind(&row, kind, 1, c1 - c0, st->act_mem[kind]);
    row.pow2 = to.pow2;
    for (size_t t = 0; fn && c0 < c1 && t < to.n_tok; t++) {
        fn(st->row, a.at + t * a.stride, b.at + t * b.stride, c1 - c0);
        kernels_pack_acts_row(&e->k, down->w->type, &to, t, c0, &row, st->row);
        w->act_bytes += 3 * (c1 - c0) * sizeof(float);
        w->flop += flop * (c1 - c0);
    }
}

void exec_glu(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t c0 = engine_split(op->cols, 64, tid, nt), c1 = engine_split(op->cols, 64, tid + 1, nt);
    glu_cols(e, op, c0, c1, column_of(e, op->src, op->src_at + c0), column_of(e, op->src2, op->src2_at + c0), w);
}

/* methods.md (14); src: at column c0 */
static void add_cols(struct engine *e, const struct op *op, size_t c0, size_t c1, struct column src, struct work *w)
{
    for (size_t t = 0; c0 < c1 && t < e->pass.n_tok; t++) {
        e->k.add(engine_row(e, op->dst, t, 0) + c0, src.at + t * src.stride, c1 - c0);
        w->act_bytes += 3 * (c1 - c0) * sizeof(float);
        w->flop += c1 - c0;
    }
}

void exec_add(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t c0 = engine_split(op->cols, 64, tid, nt), c1 = engine_split(op->cols, 64, tid + 1, nt);
    add_cols(e, op, c0, c1, column_of(e, op->src, c0), w);
}

/* In place. methods.md (12) */
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
