/* engine: memory, the KV cache, and passes over a prompt or a token. */
#include "engine/internal.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 64 };

static void *alloc(size_t bytes, const char *what, struct error *err)
{
    void *p = aligned_alloc(ALIGN, size_align_up(bytes ? bytes : 1, ALIGN));
    if (!p) {
        error_oom(err, bytes, what);
        return NULL;
    }
    memset(p, 0, size_align_up(bytes ? bytes : 1, ALIGN));
    return p;
}

static int check_weights(const struct engine *e, struct error *err)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (!op->w)
            continue;
        if (!op->w->data)
            return error_set(err, ERROR_INPUT,
                             "%s: tensor %s has no data here: the engine needs a GGUF file (write one "
                             "with `roofcast synth`)",
                             e->m->name, op->w->name);
        if (op->kind == OP_RMS_NORM && op->w->type != DTYPE_F32)
            return error_set(err, ERROR_INPUT, "%s: tensor %s: expected F32, found %s", e->m->name,
                             op->w->name, dtype_name(op->w->type));
        if (!dtype_executable(op->w->type) ||
            (op->kind == OP_MATMUL && !e->k.mm[op->w->type].gemv))
            return error_set(err, ERROR_INPUT,
                             "%s: tensor %s: type %s cannot be executed yet (`roofcast list types` "
                             "says which can)",
                             e->m->name, op->w->name, dtype_name(op->w->type));
    }
    return 0;
}

/* cos/sin frequencies, radians a position. methods.md (6) */
static int rope_init(struct engine *e, struct error *err)
{
    const struct hparams *hp = &e->m->hp;
    const uint32_t half = hp->n_rot / 2;
    const struct tensor *factors = model_find(e->m, "rope_freqs.weight");
    e->rope_freq = alloc(half * sizeof *e->rope_freq, "the rotary frequencies", err);
    e->rope = alloc((size_t)e->o.n_ubatch * hp->n_rot * sizeof *e->rope, "the rotary table", err);
    if (!e->rope_freq || !e->rope)
        return -1;
    if (factors && (factors->type != DTYPE_F32 || factors->cols != half || !factors->data))
        return error_set(err, ERROR_INPUT, "%s: tensor %s: expected F32 [%u], found %s [%llu]", e->m->name,
                         factors->name, half, dtype_name(factors->type), (unsigned long long)factors->cols);
    for (uint32_t k = 0; k < half; k++) {
        double f = pow(hp->rope_theta, -2.0 * k / hp->n_rot);
        if (hp->rope_scaling == ROPE_SCALING_LINEAR)
            f /= hp->rope_factor;
        if (factors) {
            float factor;
            memcpy(&factor, (const char *)factors->data + k * sizeof factor, sizeof factor);
            if (!(factor > 0))
                return error_set(err, ERROR_INPUT, "%s: tensor %s: element %u: expected above 0, found %g",
                                 e->m->name, factors->name, k, (double)factor);
            f /= factor;
        }
        e->rope_freq[k] = f;
    }
    return 0;
}

static int kv_init(struct engine *e, struct error *err)
{
    size_t n;
    if (!size_mul(engine_kv_stride(e), e->o.n_ctx, &n) || !size_mul(n, e->m->hp.n_layer, &n) ||
        !size_mul(n, sizeof(uint16_t), &n) || n > SIZE_MAX / 4)
        return error_set(err, ERROR_USAGE, "context of %u positions: the KV cache's size overflows", e->o.n_ctx);
    const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (2.0 * (double)n > have) {
        char need[32], is[32];
        return error_set(err, ERROR_USAGE, "context of %u positions: the KV cache needs %s, this machine has %s",
                         e->o.n_ctx, units_gib(need, sizeof need, 2.0 * (double)n), units_gib(is, sizeof is, have));
    }
    void *p = mmap(NULL, 2 * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return error_set(err, ERROR_SYSTEM, "cannot map %zu bytes of KV cache: %s", 2 * n, strerror(errno));
    e->kv_k = p;
    e->kv_v = e->kv_k + n / sizeof(uint16_t);
    e->kv_bytes = n;
    return 0;
}

static size_t max_cols(const struct engine *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->ops.n; i++)
        if (e->ops.ops[i].kind == OP_MATMUL)
            n = u64_max(n, e->ops.ops[i].cols);
    return n;
}

static int buffers_init(struct engine *e, struct error *err)
{
    for (int b = 0; b < BUF_COUNT; b++) {
        const size_t rows = b == BUF_LOGITS ? e->o.n_out_max : e->o.n_ubatch;
        if (e->ops.width[b] && !(e->buf[b] = alloc(rows * e->ops.width[b] * sizeof(float), "activations", err)))
            return -1;
    }
    for (int k = 0; k < ACT_KIND_COUNT; k++)
        if (!(e->act_mem[k] = alloc(acts_bytes(k, e->o.n_ubatch, max_cols(e)), "prepared activations", err)))
            return -1;
    e->next = alloc(e->ops.n * sizeof *e->next, "the work counters", err);
    e->sample = alloc(e->ops.n * sizeof *e->sample, "the samples", err);
    return e->next && e->sample ? 0 : -1;
}

static int threads_init(struct engine *e, struct error *err)
{
    const struct hparams *hp = &e->m->hp;
    const size_t scratch =
        u64_max(kernels_scratch_bytes(max_cols(e), e->o.n_ubatch),
                kernels_attention_scratch_bytes(e->o.n_ctx, hp->head_dim, hp->n_head / hp->n_head_kv,
                                                ENGINE_TOKEN_TILE));
    e->thread = alloc((size_t)e->o.n_threads * sizeof *e->thread, "the threads", err);
    if (!e->thread)
        return -1;
    for (int t = 0; t < e->o.n_threads; t++) {
        struct thread_state *s = &e->thread[t];
        s->work = alloc(e->ops.n * sizeof *s->work, "a thread's counts", err);
        s->counters = alloc(e->ops.n * sizeof *s->counters, "a thread's counters", err);
        s->scratch = alloc(scratch, "a thread's scratch", err);
        if (!s->work || !s->counters || !s->scratch)
            return -1;
        for (int k = 0; k < ACT_KIND_COUNT; k++)
            if (!(s->act_mem[k] = alloc(acts_bytes(k, 1, max_cols(e)), "a thread's activations", err)))
                return -1;
    }
    return 0;
}

struct start {
    struct engine *e;
    struct error *err; /* one a thread */
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
    e->c = counters_open(e->o.counters ? e->o.counters : "null", &e->published, e->o.n_threads, err);
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
    e->counting = strcmp(counters_name(e->c), "null") != 0;
    return rc;
}

static int check_options(const struct engine_options *o, struct error *err)
{
    if (o->n_ctx < 1 || o->n_ubatch < 1 || o->n_out_max < 1 || o->n_threads < 1)
        return error_set(err, ERROR_USAGE,
                         "engine: context %u, ubatch %u, outputs %u, threads %d: all must be at least 1",
                         o->n_ctx, o->n_ubatch, o->n_out_max, o->n_threads);
    return 0;
}

struct engine *engine_new(const struct model *m, const struct engine_options *o, struct error *err)
{
    if (check_options(o, err) != 0)
        return NULL;
    struct engine *e = calloc(1, sizeof *e);
    if (!e) {
        error_oom(err, sizeof *e, "the engine");
        return NULL;
    }
    e->m = m;
    e->o = *o;
    e->o.n_ubatch = (uint32_t)u64_min(o->n_ubatch, o->n_ctx);
    kernels_init(&e->k, o->cpu_flags);
    if (op_list_build(&e->ops, m, err) != 0 || check_weights(e, err) != 0 || engine_plan(e, err) != 0 ||
        rope_init(e, err) != 0 || kv_init(e, err) != 0 || buffers_init(e, err) != 0 ||
        threads_init(e, err) != 0)
        goto fail;
    e->team = team_new(o->n_threads, o->cpus, err);
    if (!e->team || counters_init(e, err) != 0)
        goto fail;
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
    team_free(e->team);
    counters_close(e->c);
    for (int t = 0; e->thread && t < e->o.n_threads; t++) {
        free(e->thread[t].work);
        free(e->thread[t].counters);
        free(e->thread[t].scratch);
        for (int k = 0; k < ACT_KIND_COUNT; k++)
            free(e->thread[t].act_mem[k]);
    }
    for (int b = 0; b < BUF_COUNT; b++)
        free(e->buf[b]);
    for (int k = 0; k < ACT_KIND_COUNT; k++)
        free(e->act_mem[k]);
    if (e->kv_k)
        munmap(e->kv_k, 2 * e->kv_bytes);
    free(e->thread);
    free(e->next);
    free(e->sample);
    free(e->rope);
    free(e->rope_freq);
    free(e->plan);
    op_list_free(&e->ops);
    free(e);
}

static int check_eval(const struct engine *e, const int32_t *tokens, uint32_t n, uint32_t n_past, uint32_t n_out,
                      struct error *err)
{
    if (n < 1 || n_out > e->o.n_out_max || n_out > n || (n_out > 1 && n > e->o.n_ubatch))
        return error_set(err, ERROR_USAGE, "pass of %u tokens with %u outputs: at most %u outputs in one pass of at most %u tokens",
                         n, n_out, e->o.n_out_max, e->o.n_ubatch);
    if (n > e->o.n_ctx || n_past > e->o.n_ctx - n)
        return error_set(err, ERROR_USAGE, "%u tokens after %u do not fit the context of %u positions", n, n_past,
                         e->o.n_ctx);
    for (uint32_t i = 0; i < n; i++)
        if (tokens[i] < 0 || (uint32_t)tokens[i] >= e->m->hp.n_vocab)
            return error_set(err, ERROR_INPUT, "token %u: id %d is outside the vocabulary of %u", i, tokens[i],
                             e->m->hp.n_vocab);
    return 0;
}

int engine_eval(struct engine *e, const int32_t *tokens, uint32_t n, uint32_t n_past, uint32_t n_out,
                const float **logits, struct error *err)
{
    if (check_eval(e, tokens, n, n_past, n_out, err) != 0)
        return -1;
    for (uint32_t at = 0; at < n;) {
        if (interrupt_check(err) != 0)
            return -1;
        const uint32_t step = (uint32_t)u64_min(e->o.n_ubatch, n - at);
        e->tokens = tokens + at;
        e->pass = (struct pass){ .n_tok = step, .n_past = n_past + at, .n_seq = 1, .n_out = at + step == n ? n_out : 0 };
        engine_run_pass(e);
        at += step;
    }
    if (logits)
        *logits = e->buf[BUF_LOGITS];
    return 0;
}

void engine_fill_kv(struct engine *e, uint32_t n_past)
{
    const size_t stride = engine_kv_stride(e);
    uint32_t x = 0x9e3779b9u;
    for (uint32_t l = 0; l < e->m->hp.n_layer; l++) {
        uint16_t *k = e->kv_k + (size_t)l * e->o.n_ctx * stride, *v = e->kv_v + (size_t)l * e->o.n_ctx * stride;
        for (size_t i = 0; i < (size_t)n_past * stride; i++) {
            x = x * 1664525u + 1013904223u;
            k[i] = (uint16_t)((x >> 16 & 0x83ff) | 0x3000); /* +-0.125 .. 0.25 */
            v[i] = (uint16_t)((x >> 8 & 0x83ff) | 0x3000);
        }
    }
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
    for (int t = 0; t < e->o.n_threads; t++)
        memset(e->thread[t].counters, 0, e->ops.n * sizeof *e->thread[t].counters);
}

const struct op_sample *engine_samples(const struct engine *e)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        struct counter_sample sum = { 0 };
        for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
            sum.valid[f] = true;
        for (int t = 0; t < e->o.n_threads; t++)
            counter_sample_add(&sum, &e->thread[t].counters[i]);
        e->sample[i].counters = sum;
    }
    return e->sample;
}

struct work engine_work(const struct engine *e)
{
    return e->total;
}
