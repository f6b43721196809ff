/* RoPE, KV store, and attention. */
#include "engine/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* methods.md (9) */
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

enum { CACHE_LINE = 64 };

/* Prefetch for write all lines of row j: they come from memory, and plain stores would miss one after another. methods.md (29) */
static void prefetch_row(const struct kv_rows *r, uint32_t j, size_t heads)
{
    const unsigned char *row = kv_at(r, 0, j);
    for (size_t h = 0; h < heads; h++, row += r->head_bytes) {
        for (size_t at = 0; at < r->row_bytes; at += CACHE_LINE)
            __builtin_prefetch(row + at, 1, 3);
        __builtin_prefetch(row + r->row_bytes - 1, 1, 3); /* for unaligned rows */
    }
}

/* Store n-element heads of x in row j of a sequence's cache. */
static void store(const struct engine *e, const struct kv_rows *r, uint32_t j, const float *x, size_t heads, size_t n,
                  struct work *w)
{
    unsigned char *dst = engine_kv_row(r, 0, j);
    for (size_t h = 0; h < heads; h++, dst += r->head_bytes, x += n)
        if (r->type == DTYPE_F16)
            e->k.f32_to_f16((uint16_t *)dst, x, n);
        else
            dtype_find(r->type)->quantize(x, dst, n);
    w->act_bytes += heads * n * sizeof *x;
    w->kv_bytes += heads * dtype_row_bytes(r->type, n);
}

/* Destination of token t's keys and values. */
static uint32_t rows_of_token(const struct engine *e, const struct op *op, size_t t, struct kv_rows *k, struct kv_rows *v)
{
    const struct kv_layer *l = &e->kv[op->layer];
    const struct engine_run *run = &e->run[e->run_of[t]];
    *k = engine_rows_of(&l->k, run, l->group, e->kv_seq_bytes);
    *v = engine_rows_of(&l->v, run, l->group, e->kv_seq_bytes);
    return engine_position(e, t);
}

static void prefetch_token(const struct engine *e, const struct op *op, size_t t)
{
    struct kv_rows k, v;
    const uint32_t j = rows_of_token(e, op, t, &k, &v);
    prefetch_row(&k, j, op->n_head_kv);
    if (e->kv[op->layer].v.data)
        prefetch_row(&v, j, op->n_head_kv);
}

void exec_kv_store(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const struct kv_layer *l = &e->kv[op->layer];
    const size_t t0 = engine_split(e->pass.n_tok, 1, tid, nt), t1 = engine_split(e->pass.n_tok, 1, tid + 1, nt);
    if (t0 < t1)
        prefetch_token(e, op, t0);
    for (size_t t = t0; t < t1; t++) {
        struct kv_rows k, v;
        const uint32_t j = rows_of_token(e, op, t, &k, &v);
        if (t + 1 < t1)
            prefetch_token(e, op, t + 1);
        store(e, &k, j, engine_row(e, op->src, t, op->src_at), op->n_head_kv, op->head_dim, w);
        if (l->v.data)
            store(e, &v, j, engine_row(e, op->src2, t, op->src2_at), op->n_head_kv, op->head_dim_v, w);
    }
}

/* Operands of run r: its sequence's cache, with MLA values inside the keys, or the expanded rows. */
static void bind_run(const struct engine *e, const struct op *op, uint32_t r, bool rounded, struct attention_args *a)
{
    const struct engine_run *run = &e->run[r];
    const uint32_t first = e->run_first[r];
    const struct kv_layer *l = &e->kv[op->layer];
    const bool wide = op->form == FORM_EXPANDED;
    const size_t seq_bytes = wide ? e->expanded_seq_bytes : e->kv_seq_bytes;
    a->k = engine_rows_of(wide ? &e->expanded_k : &l->k, run, l->group, seq_bytes);
    a->v = !wide && op->v_in_k ? a->k : engine_rows_of(wide ? &e->expanded_v : &l->v, run, l->group, seq_bytes);
    a->q = engine_row(e, op->src, first, op->src_at);
    a->out = engine_row(e, op->dst, first, op->dst_at);
    a->n_tok = run->n_tok;
    a->n_past = run->n_past;
    a->rounded = rounded && !e->o.batch_invariant && kernels_attention_rounded(&e->k, run->n_tok);
}

/* ---- units of work ----------------------------------------------------------------------------------------------- */

/*
 * Unit of work: a KV head's query heads for a tile of a run's tokens or, for a run of one token with few KV heads, for a part of its keys.
 * Parts and tiles depend on the pass only, so results do not depend on the number of threads. In a paged cache one token's KV heads, side by side in
 * a block, are one unit where threads have enough of them.
 */
struct unit {
    uint32_t run, head_kv, n_kv, t0, t1; /* n_kv KV heads from head_kv on: several of one token and a paged cache */
    uint32_t part, n_part, key0, key1; /* n_part 1: all keys */
};

/* Tiles of nearly equal size: a small remainder would transpose all keys for few rows. */
static uint32_t tile_tokens(const struct engine *e, const struct op *op, uint32_t n_tok)
{
    if (n_tok == 1 || e->o.batch_invariant)
        return 1;
    uint32_t tile = (uint32_t)u64_max(1, ENGINE_ATTENTION_ROWS / (op->n_head / op->n_head_kv));
    while (tile > ENGINE_ATTENTION_MIN_UNITS && u64_ceil_div(n_tok, tile) * op->n_head_kv < ENGINE_ATTENTION_MIN_UNITS)
        tile /= 2;
    return (uint32_t)u64_ceil_div(n_tok, u64_ceil_div(n_tok, tile));
}

/* Upper bound of key parts per token: enough units to keep threads busy, ENGINE_PART_KEYS keys at least. */
static uint32_t max_parts(const struct engine *e, const struct op *op)
{
    return (uint32_t)u64_min(u64_ceil_div(ENGINE_PARTS, (uint64_t)e->n_run * op->n_head_kv),
                             u64_ceil_div(e->o.n_ctx, ENGINE_PART_KEYS));
}

/* Keys of part x->part of the run's one token; sets n_part. */
static void cut_keys(const struct engine *e, const struct op *op, struct unit *x)
{
    const uint32_t end = e->run[x->run].n_past + 1, first = op->window && end > op->window ? end - op->window : 0;
    const uint64_t n = u64_min(max_parts(e, op), u64_ceil_div(end - first, ENGINE_PART_KEYS));
    const uint32_t step = (uint32_t)size_align_up(u64_ceil_div(end - first, n), 64);
    x->n_part = (uint32_t)u64_ceil_div(end - first, step);
    x->key0 = first + x->part * step;
    x->key1 = (uint32_t)u64_min(end, (uint64_t)x->key0 + step);
}

enum { UNITS_PER_THREAD = 8 };

/* KV heads of a unit of one token. */
static uint32_t heads_of_unit(const struct engine *e, const struct op *op, int nt)
{
    const uint32_t heads = op->n_head_kv, most = ENGINE_ATTENTION_ROWS / (op->n_head / heads);
    size_t n = 0;
    if (e->kv[op->layer].k.block_bytes == 0 || e->o.batch_invariant)
        return 1;
    for (uint32_t r = 0; r < e->n_run; r++) {
        struct unit x = { .run = r };
        if (e->run[r].n_tok == 1)
            cut_keys(e, op, &x);
        n += e->run[r].n_tok == 1 ? x.n_part : 0;
    }
    const uint64_t units = n > 0 ? u64_ceil_div(UNITS_PER_THREAD * (uint64_t)nt, n) : heads;
    const uint64_t together = u64_ceil_div(heads, u64_min(units, heads));
    return (uint32_t)u64_max(1, u64_min(together, most));
}

/* Unit *u of run r; if the run has fewer, subtracts their number from *u. Units of a KV head are consecutive, of a paged cache those of
 * a part's keys, whose blocks share pages of memory; late tiles (most keys) first. together: heads_of_unit(). doc/notes/attention.md */
static bool unit_of_run(const struct engine *e, const struct op *op, uint32_t together, uint32_t r, size_t *u, struct unit *x)
{
    const uint32_t heads = op->n_head_kv, n_tok = e->run[r].n_tok, size = tile_tokens(e, op, n_tok);
    const bool cut = n_tok == 1 && !e->o.batch_invariant;
    const uint32_t groups = cut ? (uint32_t)u64_ceil_div(heads, together) : heads;
    *x = (struct unit){ .run = r, .n_kv = 1, .t1 = 1, .n_part = 1 };
    if (cut)
        cut_keys(e, op, x);
    const size_t n = cut ? x->n_part : u64_ceil_div(n_tok, size);
    if (*u >= n * groups) {
        *u -= n * groups;
        return false;
    }
    if (cut) {
        const bool paged = e->kv[op->layer].k.block_bytes > 0;
        x->head_kv = (uint32_t)(paged ? *u % groups : *u / n) * together;
        x->n_kv = (uint32_t)u64_min(together, heads - x->head_kv);
        x->part = (uint32_t)(paged ? *u / groups : *u % n);
        cut_keys(e, op, x);
        return true;
    }
    x->head_kv = (uint32_t)(*u / n);
    x->t0 = (uint32_t)(n - 1 - *u % n) * size;
    x->t1 = (uint32_t)u64_min((uint64_t)x->t0 + size, n_tok);
    return true;
}

static bool unit_at(const struct engine *e, const struct op *op, uint32_t together, size_t u, struct unit *x)
{
    for (uint32_t r = 0; r < e->n_run; r++)
        if (unit_of_run(e, op, together, r, &u, x))
            return true;
    return false;
}

/* unit_of_run() subtracts the units of each run from u: what is missing from SIZE_MAX in the end is their number. */
static size_t count_units(const struct engine *e, const struct op *op, uint32_t together)
{
    struct unit x;
    size_t u = SIZE_MAX;
    for (uint32_t r = 0; r < e->n_run; r++)
        (void)unit_of_run(e, op, together, r, &u, &x);
    return SIZE_MAX - u;
}

/* ---- key parts (split-K) ---- */

/* Partial result of a run's part: [n_head][head_dim_v] outputs, then [n_head][2] maxima and sums. */
static float *part_out(const struct engine *e, const struct op *op, uint32_t run, uint32_t part)
{
    return e->part + ((size_t)run * max_parts(e, op) + part) * op->n_head * (op->head_dim_v + 2);
}

static float *part_sum(const struct engine *e, const struct op *op, uint32_t run, uint32_t part)
{
    return part_out(e, op, run, part) + (size_t)op->n_head * op->head_dim_v;
}

/* Combine the parts of one head of a token. methods.md (11) */
static void merge_head(const struct engine *e, const struct op *op, const struct unit *x, uint32_t h, float *out)
{
    float max = -INFINITY, sum = 0;
    for (uint32_t p = 0; p < x->n_part; p++)
        max = fmaxf(max, part_sum(e, op, x->run, p)[2 * h]);
    memset(out, 0, op->head_dim_v * sizeof *out);
    for (uint32_t p = 0; p < x->n_part; p++) {
        const float *of = part_sum(e, op, x->run, p) + 2 * h, f = expf(of[0] - max);
        const float *part = part_out(e, op, x->run, p) + (size_t)h * op->head_dim_v;
        sum += f * of[1];
        for (uint32_t d = 0; d < op->head_dim_v; d++)
            out[d] += f * part[d];
    }
    for (uint32_t d = 0; d < op->head_dim_v; d++)
        out[d] /= sum;
}

/* The thread that finishes a KV head's last part merges them, in order. */
static void end_part(struct engine *e, const struct op *op, const struct unit *x, uint32_t head_kv, float *out)
{
    const uint32_t group = op->n_head / op->n_head_kv;
    atomic_uint *done = &e->part_done[x->run * op->n_head_kv + head_kv];
    if (atomic_fetch_add_explicit(done, 1, memory_order_acq_rel) + 1 < x->n_part)
        return;
    atomic_store_explicit(done, 0, memory_order_relaxed);
    for (uint32_t h = head_kv * group; h < (head_kv + 1) * group; h++)
        merge_head(e, op, x, h, out + (size_t)h * op->head_dim_v);
}

int attention_init(struct engine *e, struct error *err)
{
    size_t most = 0;
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (op->kind != OP_ATTENTION || op->n_head_kv >= ENGINE_PARTS)
            continue;
        /* Bound on parts of all runs: n_part > 1 implies n_run < ENGINE_PARTS / n_head_kv, and n_run ceil(ENGINE_PARTS / (n_run
         * n_head_kv)) < ENGINE_PARTS / n_head_kv + n_run. */
        const size_t slots = u64_min(2 * ENGINE_PARTS / op->n_head_kv,
                                     (uint64_t)e->o.n_seq * u64_ceil_div(e->o.n_ctx, ENGINE_PART_KEYS));
        most = u64_max(most, slots * op->n_head * (op->head_dim_v + 2));
    }
    e->part = calloc(most ? most : 1, sizeof *e->part); /* pages are touched on demand */
    e->part_done = calloc(ENGINE_PARTS, sizeof *e->part_done);
    return e->part && e->part_done ? 0 : error_oom(err, most * sizeof *e->part, "parts of attention");
}

void attention_free(struct engine *e)
{
    free(e->part);
    free(e->part_done);
}

/* ---- attention ------------------------------------------------------------------------------------------------------- */

static void run_unit(struct engine *e, size_t i, const struct unit *x, struct attention_args *a, struct work *w)
{
    const struct op *op = &e->ops.ops[i];
    const uint32_t group = op->n_head / op->n_head_kv, head = x->head_kv * group;
    bind_run(e, op, x->run, e->plan[i].rounded, a);
    float *out = a->out;
    a->key0 = x->key0, a->key1 = x->key1;
    a->sinks = op->w && x->part == 0 ? op->w->data : NULL;
    a->part = NULL;
    if (x->n_part > 1) {
        a->out = part_out(e, op, x->run, x->part);
        a->part = part_sum(e, op, x->run, x->part);
    }
    e->k.attention(a, head, head + group * x->n_kv, x->t0, x->t1, true, w);
    if (x->part == 0)
        w->act_bytes += (size_t)(x->t1 - x->t0) * group * x->n_kv * (op->head_dim + op->head_dim_v) * sizeof(float);
    for (uint32_t h = 0; x->n_part > 1 && h < x->n_kv; h++)
        end_part(e, op, x, x->head_kv + h, out);
}

/* Bytes of the block tables that an op reads, once a run. */
static uint64_t table_bytes(const struct engine *e, const struct op *op)
{
    const struct kv_rows *k = &e->kv[op->layer].k;
    uint64_t n = 0;
    for (uint32_t r = 0; k->block_bytes > 0 && r < e->n_run; r++) {
        const uint32_t past = e->run[r].n_past, first = op->window && past + 1 > op->window ? past + 1 - op->window : 0;
        n += ((past + e->run[r].n_tok - 1) >> k->shift) - (first >> k->shift) + 1;
    }
    return n * sizeof(uint32_t);
}

void exec_attention(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    struct attention_args a = {
        .q_stride = e->stride[op->src],
        .q_head_stride = op->src_stride,
        .out_stride = e->stride[op->dst],
        .n_head = op->n_head,
        .n_head_kv = op->n_head_kv,
        .head_dim = op->head_dim,
        .head_dim_v = op->head_dim_v,
        .window = op->window,
        .scale = op->scale,
        .softcap = op->softcap,
        .scratch = e->thread[tid].scratch,
    };
    struct work walked = { 0 };
    struct unit x;
    const uint32_t together = heads_of_unit(e, op, nt);
    const size_t n = count_units(e, op, together);
    struct share_run run;
    if (tid == 0 && op->w)
        w->weight_bytes += op->w->bytes;
    while (engine_claim(e, i, n, 1, tid, nt, &run) && unit_at(e, op, together, run.first, &x))
        run_unit(e, i, &x, &a, &walked);
    /* Expanded rows count as activations, not as cache. */
    const bool cache = op->form != FORM_EXPANDED;
    w->flop += walked.flop;
    w->kv_bytes += cache ? walked.kv_bytes : 0;
    w->act_bytes += walked.act_bytes + (cache ? 0 : walked.kv_bytes);
    w->kv_bytes += tid == 0 ? table_bytes(e, op) : 0;
}
