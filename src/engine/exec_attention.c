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

/* n elements from x to row j of a sequence's cache. */
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
        const uint32_t j = engine_position(e, t), seq = e->run[e->run_of[t]].seq;
        const struct kv_rows k = engine_rows_of(&l->k, seq, e->kv_seq_bytes);
        const struct kv_rows v = engine_rows_of(&l->v, seq, e->kv_seq_bytes);
        store(e, &k, j, engine_row(e, op->src, t, op->src_at), (size_t)op->n_head_kv * op->head_dim, w);
        if (l->v.data)
            store(e, &v, j, engine_row(e, op->src2, t, op->src2_at), (size_t)op->n_head_kv * op->head_dim_v, w);
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

/* What run r reads: its sequence's cache of the layer, with MLA's values inside the keys, or the expanded one. */
static void bind_run(const struct engine *e, const struct op *op, uint32_t r, struct attention_args *a)
{
    const struct engine_run *run = &e->run[r];
    const uint32_t first = e->run_first[r];
    const struct kv_layer *l = &e->kv[op->layer];
    const bool wide = op->form == FORM_EXPANDED;
    a->k = wide ? engine_rows_of(&e->wide_k, run->seq, e->wide_seq_bytes) : engine_rows_of(&l->k, run->seq, e->kv_seq_bytes);
    a->v = wide          ? engine_rows_of(&e->wide_v, run->seq, e->wide_seq_bytes)
           : op->v_in_k ? a->k
                         : engine_rows_of(&l->v, run->seq, e->kv_seq_bytes);
    a->q = engine_row(e, op->src, first, op->src_at);
    a->out = engine_row(e, op->dst, first, op->dst_at);
    a->n_tok = run->n_tok;
    a->n_past = run->n_past;
}

/* A unit of attention work: some of a KV head's query heads for a tile of one run's tokens. */
struct unit {
    uint32_t run, head, t0, t1;
    bool last; /* the run's last tile */
};

/* Unit u; false: there are no more. Late tiles of a run see the most keys and come first. */
static bool unit_at(const struct engine *e, uint32_t heads, uint32_t per, uint32_t u, struct unit *x)
{
    for (uint32_t r = 0; r < e->n_run; r++) {
        const uint32_t n_tok = e->run[r].n_tok, n_tile = (uint32_t)u64_ceil_div(n_tok, ENGINE_TOKEN_TILE);
        if (u >= n_tile * heads) {
            u -= n_tile * heads;
            continue;
        }
        const uint32_t tile = n_tile - 1 - u / heads, t0 = tile * ENGINE_TOKEN_TILE;
        *x = (struct unit){ r, u % heads * per, t0, (uint32_t)u64_min(t0 + ENGINE_TOKEN_TILE, n_tok), tile == n_tile - 1 };
        return true;
    }
    return false;
}

/* The unit with the first query head of a KV head and a run's last token walks every cache row first-hand: it counts
 * the bytes. */
void exec_attention(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    struct attention_args a = {
        .q_stride = e->ops.width[op->src],
        .q_head_stride = op->src_stride,
        .out_stride = e->ops.width[op->dst],
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
    const uint32_t group = op->n_head / op->n_head_kv, per = heads_a_unit(op, nt);
    struct work walked = { 0 };
    struct unit x;
    if (tid == 0 && op->w)
        w->weight_bytes += op->w->bytes;
    while (unit_at(e, op->n_head / per, per, engine_take(e, i), &x)) {
        bind_run(e, op, x.run, &a);
        e->k.attention(&a, x.head, x.head + per, x.t0, x.t1, x.last && x.head % group == 0, &walked);
        walked.act_bytes += (size_t)(x.t1 - x.t0) * per * (op->head_dim + op->head_dim_v) * sizeof(float);
    }
    /* The expanded rows are activations of this pass, not the cache. */
    const bool cache = op->form != FORM_EXPANDED;
    w->flop += walked.flop;
    w->kv_bytes += cache ? walked.kv_bytes : 0;
    w->act_bytes += walked.act_bytes + (cache ? 0 : walked.kv_bytes);
}
