/* Execution plan, made once from the op list: activation formats, packing, thread scratch. */
#include "engine/internal.h"
#include <stdlib.h>

static void plan_product(struct engine *e, size_t i)
{
    const struct op *op = &e->ops.ops[i];
    e->plan[i].act = e->plan[i].slot->act;
    e->plan[i].pack_acts = e->plan[i].packed && op->kind == OP_MATMUL ? e->k.pack_acts[op->w->type] : NULL;
    e->sync[i].reuses_acts = barriers_same_source(&e->ops, i) && e->plan[i - 1].act == e->plan[i].act && e->plan[i - 1].packed == e->plan[i].packed;
}

/* All products that share these activations take them packed, in one layout. */
static bool packs_by_row(const struct engine *e, size_t i)
{
    for (size_t k = i; k < e->ops.n && (k == i || e->sync[k].reuses_acts); k++)
        if (!e->plan[k].pack_acts || !e->k.pack_acts_row[e->ops.ops[k].w->type] ||
            e->k.pack_acts_row[e->ops.ops[k].w->type] != e->k.pack_acts_row[e->ops.ops[i].w->type])
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

/* A GLU's result may overwrite one of its sources. */
static void plan_scratch(struct engine *e)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        struct plan *p = &e->plan[i];
        const struct op_sync *sync = &e->sync[i];
        if (sync->fuse == FUSE_ADD)
            p->scratch_results = barriers_is_dead(&e->ops, i + 2, op->dst);
        if (sync->fuse == FUSE_GLU)
            p->scratch_results = (op[2].dst == op->dst || barriers_is_dead(&e->ops, i + 3, op->dst)) && (op[2].dst == op[1].dst || barriers_is_dead(&e->ops, i + 3, op[1].dst));
        if (sync->fuse == FUSE_GLU && i + 3 < e->ops.n)
            p[3].packed_by_glu = p[3].pack_by_row && !sync[3].reuses_acts && op[3].src == op[2].dst && op[3].src_at == 0 && op[3].cols == op[2].cols &&
                             op[3].out_rows == op[2].out_rows && !p[3].src_tail && barriers_is_dead(&e->ops, i + 4, op[2].dst);
    }
}

int engine_plan(struct engine *e, struct error *err)
{
    e->plan = calloc(e->ops.n, sizeof *e->plan);
    e->sync = calloc(e->ops.n, sizeof *e->sync);
    if (!e->plan || !e->sync)
        return error_oom(err, e->ops.n * (sizeof *e->plan + sizeof *e->sync), "the execution plan");
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
    barriers_plan(&e->ops, e->sync);
    plan_scratch(e);
    return 0;
}
