/*
 * Execution plan, made once from the op list: activation formats and their reuse, fusion, thread scratch, and barriers.
 */
#include "engine/internal.h"
#include <stdlib.h>

/* Buffer bit set; shared prepared activations, the cache and its expansion are extra buffers. */
enum { ACTS = BUF_COUNT, CACHE, EXPANDED, N_BITS };
#define ACTS_BIT ((uint64_t)1 << ACTS)
#define CACHE_BIT ((uint64_t)1 << CACHE)
#define EXPANDED_BIT ((uint64_t)1 << EXPANDED)
_Static_assert(N_BITS <= 64, "buffers fit a bit set");

static uint64_t bit(enum op_buf b)
{
    return b == BUF_NONE ? 0 : (uint64_t)1 << b;
}

bool op_is_product(const struct op *op)
{
    return op->kind == OP_MATMUL || op->kind == OP_HEAD_MATMUL || op->kind == OP_EXPERT_MATMUL ||
           op->kind == OP_KV_EXPAND;
}

bool buf_is_grouped(enum op_buf b)
{
    return b == BUF_EXPERT_GATE || b == BUF_EXPERT_UP || b == BUF_EXPERT_OUT;
}

static bool shares_acts(const struct op *op)
{
    return op->kind == OP_MATMUL || op->kind == OP_EXPERT_MATMUL;
}

/* The previous op's shared activations have the same source, format and rows, and it was not overwritten. */
static bool same_activations(const struct engine *e, size_t i)
{
    const struct op *op = &e->ops.ops[i];
    if (i == 0 || !shares_acts(op))
        return false;
    const struct op *before = &e->ops.ops[i - 1];
    return before->kind == op->kind && before->src == op->src && before->src_at == op->src_at &&
           before->cols == op->cols && before->dst != op->src && before->out_rows == op->out_rows &&
           e->plan[i - 1].act == e->plan[i].act && e->plan[i - 1].packed == e->plan[i].packed;
}

static void plan_product(struct engine *e, size_t i)
{
    const struct op *op = &e->ops.ops[i];
    e->plan[i].act = e->plan[i].slot->act;
    e->plan[i].pack_acts = e->plan[i].packed && op->kind == OP_MATMUL ? e->k.arrange[op->w->type] : NULL;
    e->plan[i].reuses_acts = same_activations(e, i);
}

/* All products that share these activations take them packed, in one layout. */
static bool packs_by_row(const struct engine *e, size_t i)
{
    for (size_t k = i; k < e->ops.n && (k == i || e->plan[k].reuses_acts); k++)
        if (!e->plan[k].pack_acts || !e->k.arrange_row[e->ops.ops[k].w->type] ||
            e->k.arrange_row[e->ops.ops[k].w->type] != e->k.arrange_row[e->ops.ops[i].w->type])
            return false;
    return true;
}

/* The product that reads the attention at i rounds its output. */
static bool rounds_output(const struct engine *e, size_t i)
{
    const struct tensor *reader = e->ops.ops[i].reader;
    for (size_t k = i + 1; reader && k < e->ops.n; k++)
        if (e->ops.ops[k].w == reader)
            return e->plan[k].slot && e->plan[k].act != ACT_F32;
    return false;
}

/* ---- fusion ---- */

static bool plain(const struct op *op)
{
    return !op->out_rows && op->dst_at == 0;
}

/* The next op adds this product to the residual. */
static bool fuses_add(const struct op *op, const struct op *next)
{
    return next->kind == OP_ADD && plain(op) && plain(next) && next->src == op->dst && next->dst != op->dst &&
           next->dst != op->src && next->src_at == 0 && next->cols == op->rows;
}

/* Gate and up projections followed by their GLU. */
static bool fuses_glu(const struct engine *e, size_t i)
{
    const struct op *gate = &e->ops.ops[i], *up = gate + 1, *glu = gate + 2;
    return up->kind == OP_MATMUL && glu->kind == OP_GLU && plain(gate) && plain(up) && plain(glu) &&
           e->plan[i + 1].reuses_acts && up->rows == gate->rows && up->dst != gate->dst && glu->cols == gate->rows &&
           glu->src == gate->dst && glu->src2 == up->dst && glu->src_at == 0 && glu->src2_at == 0 && glu->dst != gate->src;
}

/* Fuse products with the ops that follow them. */
static void plan_fusion(struct engine *e)
{
    for (size_t i = 0; i + 1 < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        struct plan *p = &e->plan[i];
        if (op->kind != OP_MATMUL || p->fused_away)
            continue;
        if (fuses_add(op, op + 1))
            p->fuse = FUSE_ADD;
        else if (i + 2 < e->ops.n && fuses_glu(e, i))
            p->fuse = FUSE_GLU;
        for (size_t k = 1; k <= (p->fuse == FUSE_GLU ? 2 : p->fuse == FUSE_ADD); k++)
            p[k].fused_away = true;
    }
}

/* One-token norms read by products only are replicated on every thread: cheaper than a barrier. */
static void plan_replicated_norms(struct engine *e)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *norm = &e->ops.ops[i];
        size_t last = i;
        bool own = norm->kind == OP_RMS_NORM && norm->n_head == 1 && plain(norm) && norm->dst != norm->src;
        for (size_t k = i + 1; own && k < e->ops.n; k++) {
            const struct op *op = &e->ops.ops[k];
            const bool reads = op->src == norm->dst || op->src2 == norm->dst;
            own = !reads || (op->kind == OP_MATMUL && op->src2 != norm->dst && op->src_at == 0 && op->cols == norm->cols);
            last = reads ? k : last;
            if (op->dst == norm->dst)
                break;
        }
        if (!own || last == i)
            continue;
        e->plan[i].replicated = true;
        for (size_t k = i + 1; k <= last; k++)
            e->plan[k].replicated = e->ops.ops[k].src == norm->dst;
    }
}

/* ---- barriers ---- */

/* Work division of an op: with equal divisions, the same thread touches the same parts. */
enum split { SPLIT_ANY, SPLIT_TOKENS, SPLIT_COLS /* plus the number of columns */ };

/* Buffers accessed since the last barrier. */
struct touched {
    uint64_t read, written;
    uint64_t split[N_BITS]; /* [buffer] division of all accesses; SPLIT_ANY: differing */
};

struct access {
    uint64_t reads, writes;
    uint64_t split;
};

static uint64_t split_of(const struct op *op)
{
    switch (op->kind) {
    case OP_EMBED:
    case OP_ROPE:
    case OP_KV_STORE:
        return op->out_rows ? SPLIT_ANY : SPLIT_TOKENS;
    case OP_RMS_NORM:
        return op->out_rows || op->n_head > 1 ? SPLIT_ANY : SPLIT_TOKENS;
    case OP_ADD:
    case OP_EXPERT_SUM:
        return plain(op) && op->src_at == 0 ? SPLIT_COLS + (uint64_t)op->cols : SPLIT_ANY;
    case OP_GLU:
    case OP_SOFTCAP:
    case OP_ROUTE:
    case OP_HEAD_MATMUL:
    case OP_MATMUL:
    case OP_EXPERT_MATMUL:
    case OP_KV_EXPAND:
    case OP_ATTENTION:
    case OP_LAYER_NORM:
    case OP_ACT:
    case OP_MUL:
    case OP_SCALE:
    case OP_CONV1D:
    case OP_SSM_SCAN:
    case OP_DELTA_RULE:
    case OP_INDEX:
    case OP_ALL_REDUCE:
    case OP_ALL_GATHER:
    case OP_ALL_TO_ALL:
    case OP_SEND:
    case OP_KIND_COUNT:
        break;
    }
    return SPLIT_ANY;
}

/* Accesses of op i, excluding preparation of shared activations. */
static struct access access_of(const struct engine *e, size_t i, bool one)
{
    const struct op *op = &e->ops.ops[i];
    struct access a = { bit(op->src) | bit(op->src2), bit(op->dst), split_of(op) };
    switch (op->kind) {
    case OP_EMBED:
    case OP_GLU:
    case OP_SOFTCAP:
    case OP_ROUTE:
    case OP_HEAD_MATMUL: /* prepares its own activations */
    case OP_EXPERT_SUM:  /* reads rows and weights of all experts */
        break;
    case OP_RMS_NORM:
        if (one && e->plan[i].replicated) {
            a.writes = 0;
            a.split = SPLIT_ANY; /* every thread reads all of it */
        }
        break;
    case OP_ADD:
    case OP_ROPE:
        a.reads |= bit(op->dst);
        break;
    case OP_MATMUL:
        if (one && e->plan[i].replicated)
            a.reads &= ~bit(op->src);
        a.reads |= ACTS_BIT;
        break;
    case OP_EXPERT_MATMUL:
        a.reads |= ACTS_BIT;
        break;
    case OP_KV_STORE:
        a.writes |= CACHE_BIT;
        break;
    case OP_KV_EXPAND:
        a.reads |= CACHE_BIT;
        a.writes |= EXPANDED_BIT;
        break;
    case OP_ATTENTION:
        a.reads |= op->form == FORM_EXPANDED ? EXPANDED_BIT : CACHE_BIT;
        break;
    case OP_LAYER_NORM:
    case OP_ACT:
    case OP_MUL:
    case OP_SCALE:
    case OP_CONV1D:
    case OP_SSM_SCAN:
    case OP_DELTA_RULE:
    case OP_INDEX:
    case OP_ALL_REDUCE:
    case OP_ALL_GATHER:
    case OP_ALL_TO_ALL:
    case OP_SEND:
    case OP_KIND_COUNT:
        break;
    }
    return a;
}

/* buf is dead from op i on: overwritten before it is read. */
static bool is_dead(const struct engine *e, size_t i, enum op_buf buf)
{
    for (; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        const struct access a = access_of(e, i, false);
        if (a.reads & bit(buf))
            return false;
        if (a.writes & bit(buf) && plain(op) && op->form == FORM_ALWAYS && op->kind != OP_HEAD_MATMUL)
            return true;
    }
    return true;
}

/* A GLU's result may overwrite one of its sources. */
static void plan_scratch(struct engine *e)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        struct plan *p = &e->plan[i];
        if (p->fuse == FUSE_ADD)
            p->scratch_results = is_dead(e, i + 2, op->dst);
        if (p->fuse == FUSE_GLU)
            p->scratch_results = (op[2].dst == op->dst || is_dead(e, i + 3, op->dst)) && (op[2].dst == op[1].dst || is_dead(e, i + 3, op[1].dst));
        if (p->fuse == FUSE_GLU && i + 3 < e->ops.n)
            p[3].packed_by_glu = p[3].pack_by_row && !p[3].reuses_acts && op[3].src == op[2].dst && op[3].src_at == 0 && op[3].cols == op[2].cols &&
                             op[3].out_rows == op[2].out_rows && !p[3].src_tail && is_dead(e, i + 4, op[2].dst);
    }
}

static bool conflicts(const struct touched *t, const struct access *a)
{
    const uint64_t shared = (a->reads & t->written) | (a->writes & (t->read | t->written));
    for (int b = 0; b < N_BITS; b++)
        if (shared >> b & 1 && (a->split == SPLIT_ANY || t->split[b] != a->split))
            return true;
    return false;
}

static void touch(struct touched *t, const struct access *a)
{
    for (int b = 0; b < N_BITS; b++) {
        if (!((a->reads | a->writes) >> b & 1))
            continue;
        const bool first = !((t->read | t->written) >> b & 1);
        t->split[b] = first || t->split[b] == a->split ? a->split : SPLIT_ANY;
    }
    t->read |= a->reads;
    t->written |= a->writes;
}

/* True if activations are prepared in shared memory, by tokens, with a barrier after; one token's are private. */
static bool prepares_shared(const struct engine *e, size_t i, bool one)
{
    const struct op *op = &e->ops.ops[i];
    if (!shares_acts(op) || e->plan[i].reuses_acts)
        return false;
    return op->kind == OP_EXPERT_MATMUL ? !one || buf_is_grouped(op->src) : !one && !op->out_rows;
}

static void plan_barriers(struct engine *e, bool one)
{
    struct touched t = { 0 };
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        struct plan *p = &e->plan[i];
        if (p->fused_away)
            continue;
        struct access a = access_of(e, i, one);
        for (size_t k = 1; i + k < e->ops.n && p[k].fused_away; k++) {
            const struct access b = access_of(e, i + k, one);
            a.reads |= b.reads;
            a.writes |= b.writes;
        }
        const struct access prepare = { bit(op->src) | bit(op->src2), ACTS_BIT,
                                        op->kind == OP_MATMUL ? SPLIT_TOKENS : SPLIT_ANY };
        const bool shared = prepares_shared(e, i, one);
        if (!shared && shares_acts(op) && !p->reuses_acts)
            a.writes |= ACTS_BIT; /* shared if several logits rows are wanted */
        p->barrier[one] = conflicts(&t, shared ? &prepare : &a);
        if (p->barrier[one] || shared)
            t = (struct touched){ 0 };
        touch(&t, &a);
    }
}

int engine_plan(struct engine *e, struct error *err)
{
    e->plan = calloc(e->ops.n, sizeof *e->plan);
    if (!e->plan)
        return error_oom(err, e->ops.n * sizeof *e->plan, "the execution plan");
    repack_plan(e);
    bool tail_only[BUF_COUNT] = { false };
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (op_is_product(op))
            plan_product(e, i);
        e->plan[i].src_tail = op->out_rows && !tail_only[op->src];
        tail_only[op->dst] = op->out_rows;
    }
    for (size_t i = 0; i < e->ops.n; i++) {
        e->plan[i].pack_by_row = op_is_product(&e->ops.ops[i]) && packs_by_row(e, i);
        e->plan[i].rounded = e->ops.ops[i].kind == OP_ATTENTION && rounds_output(e, i);
    }
    plan_fusion(e);
    plan_replicated_norms(e);
    plan_scratch(e);
    plan_barriers(e, false);
    plan_barriers(e, true);
    return 0;
}
