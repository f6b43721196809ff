/* Rotation, the cache's new rows, and attention over it. */
#include "engine/internal.h"
#include <string.h>

/* methods.md (6) */
void exec_rope(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const bool moves = op->dst != op->src || op->dst_at != op->src_at;
    const size_t t1 = engine_split(e->pass.n_tok, 1, tid + 1, nt);
    for (size_t t = engine_split(e->pass.n_tok, 1, tid, nt); t < t1; t++) {
        float *x = engine_row(e, op->dst, t, op->dst_at);
        const float *src = engine_row(e, op->src, t, op->src_at);
        for (size_t h = 0; moves && h < op->n_head; h++)
            memcpy(x + h * op->dst_stride, src + h * op->src_stride, op->n_rot * sizeof *x);
        (op->neox ? e->k.rope_neox : e->k.rope)(x, op->n_head, op->dst_stride, op->n_rot,
                                                e->rope[op->rope] + t * op->n_rot);
        w->act_bytes += 2 * (size_t)op->n_head * op->n_rot * sizeof(float);
        w->flop += 3 * (uint64_t)op->n_head * op->n_rot;
    }
}

/* n elements from x to row j of the cache. */
static void store(const struct engine *e, const struct kv_rows *r, uint32_t j, const float *x, size_t n, struct work *w)
{
    unsigned char *dst = (unsigned char *)(uintptr_t)r->data + (size_t)(j % r->n_row) * r->row_bytes; /* ours */
    if (r->type == DTYPE_F16)
        e->k.f32_to_f16((uint16_t *)dst, x, n);
    else
        dtype_find(r->type)->quantize(x, dst, n);
    w->act_bytes += n * sizeof *x;
    w->kv_bytes += r->row_bytes;
}

void exec_kv_store(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const struct kv_layer *l = &e->kv[op->layer];
    const size_t t1 = engine_split(e->pass.n_tok, 1, tid + 1, nt);
    for (size_t t = engine_split(e->pass.n_tok, 1, tid, nt); t < t1; t++) {
        const uint32_t j = e->pass.n_past + (uint32_t)t;
        store(e, &l->k, j, engine_row(e, op->src, t, op->src_at), (size_t)op->n_head_kv * op->head_dim, w);
        if (l->v.data)
            store(e, &l->v, j, engine_row(e, op->src2, t, op->src2_at), (size_t)op->n_head_kv * op->head_dim_v, w);
    }
}

/* Query heads of one unit: a KV head's whole group where threads share KV heads evenly, else the largest even
 * part of it. */
static uint32_t heads_a_unit(const struct op *op, int nt)
{
    const uint32_t group = op->n_head / op->n_head_kv;
    for (uint32_t parts = 1; parts < group; parts++)
        if (group % parts == 0 && op->n_head_kv * parts % (uint32_t)nt == 0)
            return group / parts;
    return op->n_head_kv % (uint32_t)nt == 0 ? group : 1;
}

/* What the op reads: the layer's cache, with MLA's values inside the keys, or the expanded one. */
static void bind_cache(const struct engine *e, const struct op *op, struct attention_args *a)
{
    if (op->form == FORM_EXPANDED) {
        a->k = e->wide_k;
        a->v = e->wide_v;
        return;
    }
    a->k = e->kv[op->layer].k;
    a->v = op->v_in_k ? a->k : e->kv[op->layer].v;
}

/*
 * Units of attention work: some of a KV head's query heads for a tile of tokens. The unit with the first
 * query head and the last token walks every cache row first-hand: it counts the bytes.
 */
void exec_attention(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    struct attention_args a = {
        .q = engine_row(e, op->src, 0, op->src_at),
        .q_stride = e->ops.width[op->src],
        .q_head_stride = op->src_stride,
        .out = engine_row(e, op->dst, 0, op->dst_at),
        .out_stride = e->ops.width[op->dst],
        .n_tok = e->pass.n_tok,
        .n_past = e->pass.n_past,
        .n_head = op->n_head,
        .n_head_kv = op->n_head_kv,
        .head_dim = op->head_dim,
        .head_dim_v = op->head_dim_v,
        .window = op->window,
        .scale = op->scale,
        .softcap = op->softcap,
        .sinks = op->w ? op->w->data : NULL,
        .scratch = e->thread[tid].scratch,
    };
    bind_cache(e, op, &a);
    const uint32_t group = op->n_head / op->n_head_kv, per = heads_a_unit(op, nt);
    const uint32_t n_tile = (uint32_t)u64_ceil_div(e->pass.n_tok, ENGINE_TOKEN_TILE);
    const uint32_t n_unit = op->n_head / per * n_tile;
    struct work walked = { 0 };
    if (tid == 0 && op->w)
        w->weight_bytes += op->w->bytes;
    for (;;) {
        const uint32_t u = engine_take(e, i);
        if (u >= n_unit)
            break;
        /* Late tiles see the most keys: hand them out first. */
        const uint32_t tile = n_tile - 1 - u / (op->n_head / per), head = u % (op->n_head / per) * per;
        const uint32_t t0 = tile * ENGINE_TOKEN_TILE;
        const uint32_t t1 = (uint32_t)u64_min(t0 + ENGINE_TOKEN_TILE, e->pass.n_tok);
        e->k.attention(&a, head, head + per, t0, t1, tile == n_tile - 1 && head % group == 0, &walked);
        walked.act_bytes += (size_t)(t1 - t0) * per * (op->head_dim + op->head_dim_v) * sizeof(float);
    }
    /* The expanded rows are activations of this pass, not the cache. */
    const bool cache = op->form != FORM_EXPANDED;
    w->flop += walked.flop;
    w->kv_bytes += cache ? walked.kv_bytes : 0;
    w->act_bytes += walked.act_bytes + (cache ? 0 : walked.kv_bytes);
}
