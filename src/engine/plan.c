/*
 * What each op needs at run time, worked out once from the op list: the activations its kernel
 * wants, whether the op before already prepared them, and where threads have to meet.
 */
#include "engine/internal.h"
#include <stdlib.h>

/* Buffers as a bit set; the shared prepared activations count as one more. */
enum { ACTS_BIT = 1u << BUF_COUNT };

static unsigned bit(enum op_buf b)
{
    return b == BUF_NONE ? 0 : 1u << b;
}

/* Shared activations are reused while nothing has overwritten their source. */
static bool same_activations(const struct engine *e, size_t i)
{
    const struct op *op = &e->ops.ops[i];
    if (i == 0)
        return false;
    const struct op *before = &e->ops.ops[i - 1];
    return before->kind == OP_MATMUL && before->src == op->src && before->dst != op->src &&
           before->out_rows == op->out_rows && e->plan[i - 1].act == e->plan[i].act;
}

static void plan_matmul(struct engine *e, size_t i)
{
    const struct op *op = &e->ops.ops[i];
    e->plan[i].act = e->k.mm[op->w->type].act;
    e->plan[i].act_shared = same_activations(e, i);
}

static void sets(const struct engine *e, size_t i, unsigned *reads, unsigned *writes)
{
    const struct op *op = &e->ops.ops[i];
    *reads = bit(op->src) | bit(op->src2);
    *writes = bit(op->dst);
    if (op->kind == OP_ADD || op->kind == OP_ROPE)
        *reads |= bit(op->dst);
    if (op->kind == OP_MATMUL) {
        *reads |= ACTS_BIT;
        if (!e->plan[i].act_shared)
            *writes |= ACTS_BIT;
    }
    /* The cache is written by KV_STORE and read by ATTENTION of the same layer: BUF_K stands for it. */
    if (op->kind == OP_KV_STORE)
        *writes |= bit(BUF_K);
    if (op->kind == OP_ATTENTION)
        *reads |= bit(BUF_K);
}

int engine_plan(struct engine *e, struct error *err)
{
    e->plan = calloc(e->ops.n, sizeof *e->plan);
    if (!e->plan)
        return error_oom(err, e->ops.n * sizeof *e->plan, "the execution plan");
    unsigned read = 0, written = 0;
    bool tail_only[BUF_COUNT] = { false };
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (op->kind == OP_MATMUL)
            plan_matmul(e, i);
        e->plan[i].src_tail = op->out_rows && !tail_only[op->src];
        tail_only[op->dst] = op->out_rows;
        unsigned r, w;
        sets(e, i, &r, &w);
        if ((r & written) || (w & (read | written))) {
            e->plan[i].barrier = true;
            read = written = 0;
        }
        read |= r;
        written |= w;
    }
    return 0;
}
