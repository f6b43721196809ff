/*
 * What each op needs at run time, worked out once from the op list: the activations its kernel
 * wants, whether the op before already prepared them, and where threads have to meet.
 */
#include "engine/internal.h"
#include <stdlib.h>

/* Buffers as a bit set; the shared prepared activations, the cache and its expanded form count as more. */
enum { ACTS_BIT = 1u << BUF_COUNT, CACHE_BIT = ACTS_BIT << 1, WIDE_BIT = ACTS_BIT << 2 };
_Static_assert(BUF_COUNT + 3 < 32, "buffers fit a bit set");

static unsigned bit(enum op_buf b)
{
    return b == BUF_NONE ? 0 : 1u << b;
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

/* Shared activations are reused while nothing has overwritten their source. */
static bool same_activations(const struct engine *e, size_t i)
{
    const struct op *op = &e->ops.ops[i];
    if (i == 0 || !shares_acts(op))
        return false;
    const struct op *before = &e->ops.ops[i - 1];
    return before->kind == op->kind && before->src == op->src && before->src_at == op->src_at &&
           before->cols == op->cols && before->dst != op->src && before->out_rows == op->out_rows &&
           e->plan[i - 1].act == e->plan[i].act;
}

static void plan_product(struct engine *e, size_t i)
{
    e->plan[i].act = e->plan[i].slot->act;
    e->plan[i].act_shared = same_activations(e, i);
}

static void sets(const struct engine *e, size_t i, unsigned *reads, unsigned *writes)
{
    const struct op *op = &e->ops.ops[i];
    *reads = bit(op->src) | bit(op->src2);
    *writes = bit(op->dst);
    switch (op->kind) {
    case OP_EMBED:
    case OP_RMS_NORM:
    case OP_GLU:
    case OP_SOFTCAP:
    case OP_ROUTE:
    case OP_EXPERT_SUM:
    case OP_HEAD_MATMUL: /* prepares activations of its own */
        break;
    case OP_ADD:
    case OP_ROPE:
        *reads |= bit(op->dst);
        break;
    case OP_MATMUL:
    case OP_EXPERT_MATMUL:
        *reads |= ACTS_BIT;
        if (!e->plan[i].act_shared)
            *writes |= ACTS_BIT;
        break;
    case OP_KV_STORE:
        *writes |= CACHE_BIT;
        break;
    case OP_KV_EXPAND:
        *reads |= CACHE_BIT;
        *writes |= WIDE_BIT;
        break;
    case OP_ATTENTION:
        *reads |= op->form == FORM_EXPANDED ? WIDE_BIT : CACHE_BIT;
        break;
    case OP_KIND_COUNT:
        break;
    }
}

int engine_plan(struct engine *e, struct error *err)
{
    e->plan = calloc(e->ops.n, sizeof *e->plan);
    if (!e->plan)
        return error_oom(err, e->ops.n * sizeof *e->plan, "the execution plan");
    repack_plan(e);
    unsigned read = 0, written = 0;
    bool tail_only[BUF_COUNT] = { false };
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (op_is_product(op))
            plan_product(e, i);
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
