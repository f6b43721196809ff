/* engine: options, weights, memory and threads; what it counted. Passes: pass.c. */
#include "engine/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE_PAGE = 2 << 20 };

/* Zeroed. */
static void *alloc(size_t bytes, const char *what, struct error *err)
{
    void *p = size_alloc(bytes);
    if (!p) {
        error_oom(err, bytes, what);
        return NULL;
    }
    return memset(p, 0, size_align_up(bytes, 64)); /* whole cache lines: kernels load them */
}

static int check_weight(const struct engine *e, const struct op *op, const struct tensor *t, bool f32,
                        struct error *err)
{
    if (!t)
        return 0;
    if (!t->data)
        return error_set(err, ERROR_INPUT,
                         "%s: tensor %s has no data here: the engine needs a GGUF file (write one "
                         "with `roofcast synth`)",
                         e->m->name, t->name);
    if (f32 && t->type != DTYPE_F32)
        return error_set(err, ERROR_INPUT, "%s: tensor %s: expected F32, found %s", e->m->name, t->name,
                         dtype_name(t->type));
    char names[512];
    if (!dtype_executable(t->type) || (op_is_product(op) && !e->k.mm[t->type].gemv))
        return error_set(err, ERROR_INPUT, "%s: tensor %s: type %s cannot be executed yet (those that can: %s)", e->m->name,
                         t->name, dtype_name(t->type), dtype_names(names, sizeof names));
    return 0;
}

/* Vectors (bias, norm, cap) must be readable as float; matrices may have any type. */
static int check_weights(const struct engine *e, struct error *err)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        const bool matrix = op_is_product(op) || op->kind == OP_EMBED, values = op->kind == OP_KV_EXPAND;
        if (check_weight(e, op, op->w, !matrix, err) != 0 || check_weight(e, op, op->bias, !values, err) != 0)
            return -1;
    }
    return 0;
}

/* Frequency divisors of a tensor, checked. */
static int read_factors(const struct engine *e, const struct tensor *t, float *out, struct error *err)
{
    for (uint32_t k = 0; k < t->cols; k++) {
        memcpy(&out[k], (const char *)t->data + k * sizeof *out, sizeof *out);
        if (!(out[k] > 0 && out[k] < INFINITY))
            return error_set(err, ERROR_INPUT, "%s: tensor %s: element %u: expected above 0, found %g", e->m->name,
                             t->name, k, (double)out[k]);
    }
    return 0;
}

/* Frequencies, and room for a pass's cosines and sines, of each rotation. methods.md (9), (10) */
static int rope_init(struct engine *e, struct error *err)
{
    for (size_t i = 0; i < e->ops.n_rope; i++) {
        const struct rope *r = &e->ops.rope[i];
        const uint32_t half = r->n_rot / 2;
        const struct tensor *t = rope_factors(r, e->o.n_ctx);
        e->rope_freq[i] = alloc(half * sizeof(double), "the rotary frequencies", err);
        e->rope[i] = alloc((size_t)e->o.n_ubatch * r->n_rot * sizeof(float), "the rotary table", err);
        if (!e->rope_freq[i] || !e->rope[i])
            return -1;
        float *factors = NULL;
        if (t) {
            if (check_weight(e, &(struct op){ .kind = OP_ROPE }, t, true, err) != 0)
                return -1;
            factors = e->rope[i]; /* free at this point, and twice as long */
            if (read_factors(e, t, factors, err) != 0)
                return -1;
        }
        e->rope_amplitude[i] = rope_frequencies(r, factors, e->rope_freq[i]);
    }
    return 0;
}

/* Memory that the ops need for activations. */
struct sizes {
    size_t cols;            /* longest row of a product */
    size_t shared[ACT_KIND_COUNT]; /* [kind] largest shared activations, bytes */
    size_t own[ACT_KIND_COUNT];    /* [kind] largest thread-private activations, bytes */
    size_t tiles, packed_glu; /* bytes of packed activations, and of those packed by a GLU: largest */
    size_t head_dim, group; /* attention: largest */
    size_t tile;            /* floats of MLA's thread scratch */
    size_t n_expert, n_row; /* routing */
};

static void larger(size_t max[ACT_KIND_COUNT], size_t rows, size_t cols)
{
    for (int k = 0; k < ACT_KIND_COUNT; k++)
        max[k] = u64_max(max[k], acts_bytes(k, rows, cols));
}

static void size_op(const struct op *op, size_t n_tok, struct sizes *s)
{
    const size_t tile = ENGINE_TOKEN_TILE, rank = op->cols - op->n_rot;
    switch (op->kind) {
    case OP_MATMUL:
        larger(s->shared, n_tok, op->cols);
        larger(s->own, 1, op->cols);
        break;
    case OP_EXPERT_MATMUL:
        larger(s->shared, n_tok * op->n_expert_used, op->cols);
        s->n_row = u64_max(s->n_row, n_tok * op->n_expert_used);
        s->n_expert = u64_max(s->n_expert, op->n_expert);
        break;
    case OP_HEAD_MATMUL:
        larger(s->own, n_tok, op->cols);
        s->tile = u64_max(s->tile, op->rows);
        break;
    case OP_KV_EXPAND:
        larger(s->own, tile, rank);
        s->cols = u64_max(s->cols, rank);
        s->tile = u64_max(s->tile, tile * (op->cols + u64_max(op->head_dim, op->head_dim_v)) + rank * op->head_dim);
        return;
    case OP_ATTENTION:
        s->head_dim = u64_max(s->head_dim, u64_max(op->head_dim, op->head_dim_v));
        s->group = u64_max(s->group, op->n_head / op->n_head_kv);
        return;
    case OP_EMBED:
    case OP_RMS_NORM:
    case OP_ROPE:
    case OP_KV_STORE:
    case OP_GLU:
    case OP_ADD:
    case OP_ROUTE:
    case OP_EXPERT_SUM:
    case OP_SOFTCAP:
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
        return;
    }
    s->cols = u64_max(s->cols, op->cols);
}

static struct sizes sizes(const struct engine *e)
{
    struct sizes s = { 0 };
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        size_op(op, e->o.n_ubatch, &s);
        if (e->plan[i].pack_acts)
            s.tiles = u64_max(s.tiles, acts_tiles_bytes(e->plan[i].act, op->w->type, e->o.n_ubatch, op->cols));
        if (e->plan[i].packed_by_glu)
            s.packed_glu = u64_max(s.packed_glu, acts_tiles_bytes(e->plan[i].act, op->w->type, e->o.n_ubatch, op->cols));
    }
    return s;
}

static int runs_init(struct engine *e, struct error *err)
{
    e->run = alloc(e->o.n_seq * sizeof *e->run, "the runs of a pass", err);
    e->run_first = alloc(((size_t)e->o.n_seq + 1) * sizeof *e->run_first, "the runs of a pass", err);
    e->run_shared = calloc(e->o.n_seq, sizeof *e->run_shared);
    e->run_of = alloc(e->o.n_ubatch * sizeof *e->run_of, "the tokens of a pass", err);
    e->out_row = alloc(e->o.n_out_max * sizeof *e->out_row, "the outputs of a pass", err);
    if (!e->run_shared)
        return error_oom(err, e->o.n_seq * sizeof *e->run_shared, "the runs of a pass");
    return e->run && e->run_first && e->run_of && e->out_row ? 0 : -1;
}

static int routing_init(struct engine *e, const struct sizes *s, struct error *err)
{
    struct routing *r = &e->routing;
    if (s->n_expert == 0)
        return 0;
    r->first = alloc((s->n_expert + 1) * sizeof *r->first, "the routing", err);
    r->touched = alloc(s->n_expert * sizeof *r->touched, "the routing", err);
    r->row_of = alloc(s->n_row * sizeof *r->row_of, "the routing", err);
    r->token = alloc(s->n_row * sizeof *r->token, "the routing", err);
    if (!r->first || !r->touched || !r->row_of || !r->token)
        return -1;
    e->expert_uses = alloc(e->ops.n * sizeof *e->expert_uses, "the routing", err);
    for (size_t i = 0; e->expert_uses && i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (op->kind == OP_ROUTE && !(e->expert_uses[i] = alloc(op->n_expert * sizeof **e->expert_uses, "the routing", err)))
            return -1;
    }
    return e->expert_uses ? 0 : -1;
}

static int buffers_init(struct engine *e, const struct sizes *s, struct error *err)
{
    for (int b = 0; b < BUF_COUNT; b++) {
        const size_t rows = b == BUF_LOGITS ? e->o.n_out_max : e->o.n_ubatch;
        const bool dense = b == BUF_LOGITS || buf_is_grouped((enum op_buf)b); /* contiguous rows: read as one matrix by callers or experts */
        e->stride[b] = dense ? e->ops.width[b] : size_row_floats(e->ops.width[b]);
        if (e->ops.width[b] && !(e->buf[b] = alloc(rows * e->stride[b] * sizeof(float), "activations", err)))
            return -1;
    }
    for (int k = 0; k < ACT_KIND_COUNT; k++)
        if (!(e->act_mem[k] = alloc(s->shared[k], "prepared activations", err)))
            return -1;
    if (s->tiles && !(e->packed_acts = alloc(s->tiles, "activations in tiles", err)))
        return -1;
    if (s->packed_glu && !(e->packed_glu = alloc(s->packed_glu, "activations in tiles", err)))
        return -1;
    e->sample = alloc(e->ops.n * sizeof *e->sample, "the samples", err);
    return e->sample && runs_init(e, err) == 0 ? routing_init(e, s, err) : -1;
}

static int threads_init(struct engine *e, const struct sizes *s, struct error *err)
{
    const size_t product = kernels_scratch_bytes(s->cols, u64_max(e->o.n_ubatch, ENGINE_TOKEN_TILE));
    const size_t attention = kernels_attention_scratch_bytes(e->o.n_ctx, s->head_dim, u64_max(s->group, ENGINE_ATTENTION_ROWS), 1);
    const size_t route = s->n_expert * (sizeof(float) + 1);
    const size_t scratch = u64_max(u64_max(product, attention), route);
    const size_t near = 2 * u64_min(e->o.n_ubatch, ENGINE_SCRATCH_MAX_TOKENS) * size_row_floats(SHARE_GEMM_ROWS) * sizeof(float);
    e->thread = alloc((size_t)e->o.n_threads * sizeof *e->thread, "the threads", err);
    if (!e->thread)
        return -1;
    for (int t = 0; t < e->o.n_threads; t++) {
        struct thread_state *st = &e->thread[t];
        st->work = alloc(e->ops.n * sizeof *st->work, "a thread's counts", err);
        st->counters = alloc(e->ops.n * sizeof *st->counters, "a thread's counters", err);
        st->scratch = size_alloc(scratch); /* uninitialised: each thread touches its own pages */
        st->row = alloc(s->cols * sizeof *st->row, "a thread's row", err);
        st->next = alloc(e->ops.n * sizeof *st->next, "a thread's share of work", err);
        st->fused = size_alloc(near);
        if (!st->work || !st->counters || !st->row || !st->next)
            return -1;
        if (!st->scratch || !st->fused)
            return error_oom(err, st->scratch ? near : scratch, "a thread's scratch");
        if (s->tile && !(st->tile = alloc(s->tile * sizeof(float), "a thread's tile", err)))
            return -1;
        for (int k = 0; k < ACT_KIND_COUNT; k++)
            if (!(st->act_mem[k] = alloc(s->own[k], "a thread's activations", err)))
                return -1;
    }
    return 0;
}

struct start {
    struct engine *e;
    struct error *err; /* [n_threads] */
    int *rc;
};

static void start_counters(void *arg, int tid, int n_threads)
{
    (void)n_threads;
    struct start *s = arg;
    s->rc[tid] = counters_thread_start(s->e->c, tid, &s->err[tid]);
}

static void stop_counters(void *arg, int tid, int n_threads)
{
    (void)n_threads;
    struct engine *e = arg;
    counters_thread_stop(e->c, tid);
}

static int counters_init(struct engine *e, struct error *err)
{
    const size_t n = (size_t)e->o.n_threads;
    e->o.counters.src = &e->published;
    e->o.counters.n_threads = e->o.n_threads;
    e->o.counters.cpus = e->o.cpus;
    e->c = counters_open(&e->o.counters, err);
    if (!e->c)
        return -1;
    struct start s = { e, calloc(n, sizeof *s.err), calloc(n, sizeof *s.rc) };
    int rc = s.err && s.rc ? 0 : error_oom(err, n * sizeof *s.err, "the counters");
    if (rc == 0)
        team_run(e->team, start_counters, &s);
    for (size_t t = 0; rc == 0 && t < n; t++)
        if (s.rc[t] != 0) {
            rc = -1;
            if (err)
                *err = s.err[t];
        }
    free(s.err);
    free(s.rc);
    return rc;
}

static struct counter_sample zero_sum(void)
{
    struct counter_sample s = { 0 };
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        s.valid[f] = true;
    return s;
}

static void reset_counts(struct engine *e)
{
    for (int t = 0; t < e->o.n_threads; t++) {
        e->thread[t].counted = zero_sum();
        for (size_t i = 0; i < e->ops.n; i++)
            e->thread[t].counters[i] = zero_sum();
    }
    e->n_counted = 0;
}

static int check_options(const struct model *m, const struct engine_options *o, struct error *err)
{
    if (o->n_ctx < 1 || o->n_ubatch < 1 || o->n_out_max < 1 || o->n_threads < 1)
        return error_set(err, ERROR_USAGE,
                         "engine: context %u, ubatch %u, outputs %u, threads %d: all must be at least 1",
                         o->n_ctx, o->n_ubatch, o->n_out_max, o->n_threads);
    if (o->n_block > 0 && (o->block_size < 8 || o->block_size > 128 || (o->block_size & (o->block_size - 1)) != 0))
        return error_set(err, ERROR_USAGE, "engine: blocks of %u positions: expected 8, 16, 32, 64 or 128", o->block_size);
    if (o->shared && o->shared->m != m)
        return error_set(err, ERROR_USAGE, "engine: weights of another model cannot be shared");
    if (o->team_of && o->n_threads != o->team_of->o.n_threads)
        return error_set(err, ERROR_USAGE, "engine: %d threads on a team of %d", o->n_threads, o->team_of->o.n_threads);
    return 0;
}

static int build_ops(struct engine *e, struct error *err)
{
    struct nextn x;
    if (e->o.nextn) {
        if (nextn_check(e->m, err) != 0 || nextn_init(&x, e->m, err) != 0)
            return -1;
        e->ops = x.ops; /* nothing in it is of x: the file has the tensors */
    } else if (op_list_build(&e->ops, e->m, err) != 0 || (e->o.hidden && nextn_add_hidden(&e->ops, e->m, err) != 0)) {
        return -1;
    }
    e->n_layer = e->m->hp.n_layer + e->o.nextn;
    for (size_t i = 0; e->o.batch_invariant && i < e->ops.n; i++)
        e->ops.ops[i].form_tok = INFINITY; /* never expanded */
    return 0;
}

struct engine *engine_new(const struct model *m, const struct engine_options *o, struct error *err)
{
    if (check_options(m, o, err) != 0)
        return NULL;
    if (!model_executable(m)) {
        error_set(err, ERROR_INPUT, "%s: architecture %s can be predicted, not executed: use analyze or predict", m->name,
                  model_arch_name(m));
        return NULL;
    }
    struct engine *e = calloc(1, sizeof *e);
    if (!e) {
        error_oom(err, sizeof *e, "the engine");
        return NULL;
    }
    e->m = m;
    e->o = *o;
    e->o.n_seq = o->n_seq ? o->n_seq : 1;
    e->o.n_ubatch = (uint32_t)u64_min(o->n_ubatch, (uint64_t)o->n_ctx * e->o.n_seq);
    if (o->shared) {
        e->o.n_threads = o->shared->o.n_threads;
        e->o.cpu_flags = o->shared->o.cpu_flags;
        e->o.no_repack = o->shared->o.no_repack;
        e->o.batch_invariant = o->shared->o.batch_invariant;
        e->o.team_of = o->shared;
    }
    kernels_init(&e->k, e->o.cpu_flags);
    e->k.pow2 = o->pow2_scales && !e->o.batch_invariant;
    e->o.no_repack |= e->o.batch_invariant;
    if (build_ops(e, err) != 0 || check_weights(e, err) != 0 || engine_plan(e, err) != 0 ||
        rope_init(e, err) != 0 || kv_init(e, err) != 0 || attention_init(e, err) != 0)
        goto fail;
    const struct sizes s = sizes(e);
    e->team = e->o.team_of ? e->o.team_of->team : team_new(e->o.n_threads, o->cpus, err);
    /* Pack first: file pages are resident meanwhile, in memory that the activations use later. */
    if (!e->team || repack(e, err) != 0 || kv_populate(e, err) != 0 || buffers_init(e, &s, err) != 0 || threads_init(e, &s, err) != 0 ||
        counters_init(e, err) != 0 || regions_init(e, err) != 0)
        goto fail;
    reset_counts(e);
    return e;
fail:
    engine_free(e);
    return NULL;
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    if (e->c && e->team)
        team_run(e->team, stop_counters, e);
    regions_free(e);
    if (!e->o.team_of)
        team_free(e->team);
    counters_close(e->c);
    for (int t = 0; e->thread && t < e->o.n_threads; t++) {
        free(e->thread[t].work);
        free(e->thread[t].counters);
        free(e->thread[t].scratch);
        free(e->thread[t].row);
        free(e->thread[t].fused);
        free(e->thread[t].next);
        free(e->thread[t].tile);
        for (int k = 0; k < ACT_KIND_COUNT; k++)
            free(e->thread[t].act_mem[k]);
    }
    for (int b = 0; b < BUF_COUNT; b++)
        free(e->buf[b]);
    for (int k = 0; k < ACT_KIND_COUNT; k++)
        free(e->act_mem[k]);
    free(e->packed_acts);
    free(e->packed_glu);
    kv_free(e);
    attention_free(e);
    repack_free(e);
    free(e->run);
    free(e->run_first);
    free(e->run_shared);
    free(e->run_of);
    free(e->out_row);
    free(e->routing.first);
    free(e->routing.row_of);
    free(e->routing.token);
    free(e->routing.touched);
    for (size_t i = 0; e->expert_uses && i < e->ops.n; i++)
        free(e->expert_uses[i]);
    free(e->expert_uses);
    free(e->thread);
    free(e->sample);
    for (int r = 0; r < ROPE_MAX; r++) {
        free(e->rope[r]);
        free(e->rope_freq[r]);
    }
    free(e->plan);
    free(e->sync);
    op_list_free(&e->ops);
    free(e);
}

/* Starts at the page where repack.c begins. */
const void *engine_packed(const struct engine *e, size_t *bytes)
{
    *bytes = e->packed_bytes;
    return e->packed ? (const void *)size_align_up((size_t)e->packed, LARGE_PAGE) : NULL;
}

size_t engine_packed_bytes(const struct engine *e, double *seconds)
{
    if (seconds)
        *seconds = e->packed_seconds;
    return e->packed_bytes;
}

enum act_scales engine_act_scales(const struct engine *e, size_t n_tok)
{
    enum act_scales most = ACT_SCALES_NONE;
    for (size_t i = 0; i < e->ops.n; i++) {
        if (!e->plan[i].slot || e->plan[i].act != ACT_Q8)
            continue;
        const enum act_scales s = kernels_acts_pow2(&e->k, e->plan[i].packed, n_tok ? n_tok : e->o.n_ubatch) ? ACT_SCALES_POW2 : ACT_SCALES_EXACT;
        most = s > most ? s : most;
    }
    return most;
}

const char *act_scales_name(enum act_scales s)
{
    static const char *const names[] = { [ACT_SCALES_NONE] = "", [ACT_SCALES_EXACT] = "exact", [ACT_SCALES_POW2] = "pow2" };
    return names[s];
}

void engine_unpinned(struct engine *e, void (*fn)(void *arg), void *arg)
{
    team_unpinned(e->team, fn, arg);
}

const struct engine_options *engine_options(const struct engine *e)
{
    return &e->o;
}

uint32_t engine_n_vocab(const struct engine *e)
{
    return e->m->hp.n_vocab;
}

const float *engine_hidden(const struct engine *e, size_t *stride)
{
    *stride = e->stride[BUF_HIDDEN];
    return e->buf[BUF_HIDDEN];
}

const struct op_list *engine_ops(const struct engine *e)
{
    return &e->ops;
}

const struct kernels *engine_kernels(const struct engine *e)
{
    return &e->k;
}

const struct counters *engine_counters(const struct engine *e)
{
    return e->c;
}

void engine_profile(struct engine *e, bool per_op)
{
    e->per_op = per_op;
}

void engine_reset(struct engine *e)
{
    memset(e->sample, 0, e->ops.n * sizeof *e->sample);
    memset(&e->total, 0, sizeof e->total);
    for (size_t i = 0; e->expert_uses && i < e->ops.n; i++)
        if (e->expert_uses[i])
            memset(e->expert_uses[i], 0, e->ops.ops[i].n_expert * sizeof **e->expert_uses);
    reset_counts(e);
}

const struct op_sample *engine_samples(const struct engine *e)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        struct counter_sample sum = zero_sum();
        for (int t = 0; t < e->o.n_threads; t++)
            counter_sample_add(&sum, &e->thread[t].counters[i]);
        e->sample[i].counters = e->n_counted ? sum : (struct counter_sample){ 0 };
    }
    return e->sample;
}

const uint64_t *engine_expert_uses(const struct engine *e, size_t op)
{
    return e->expert_uses && op < e->ops.n ? e->expert_uses[op] : NULL;
}

struct select {
    struct engine *e;
    int set;
};

static void select_set(void *arg, int tid, int n_threads)
{
    (void)n_threads;
    const struct select *s = arg;
    counters_thread_select(s->e->c, tid, s->set);
}

void engine_count(struct engine *e, bool count, int set)
{
    e->counting = count;
    if (count)
        team_run(e->team, select_set, &(struct select){ e, set });
}

void engine_counts(const struct engine *e, struct counter_sample *out)
{
    *out = zero_sum();
    for (int t = 0; t < e->o.n_threads; t++)
        counter_sample_add(out, &e->thread[t].counted);
    if (e->n_counted == 0)
        *out = (struct counter_sample){ 0 };
}

struct work engine_work(const struct engine *e)
{
    return e->total;
}
