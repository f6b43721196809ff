/*
 * Coherence traffic between cores: rows of activations written by columns (as products do) and read by row on other threads; writes to
 * lines that others hold; a barrier. Measured as roofs and as adjacent probes, since core distance changes on virtual machines.
 * methods.md (33)
 */
#include "ceilings/internal.h"
#include "ceilings/kernel_bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };
static const double LEAD_S = 0.003;

/* A thread's own cache line. */
struct slot {
    _Alignas(CACHE_LINE) double read_s, write_s;
};

struct coherence {
    enum coherence_kind what;
    struct kernels k;
    struct team *team; /* the harness's */
    int n_threads;
    size_t n_tok;
    float *x;      /* [BENCH_BUFFERS][n_tok][stride]; NULL: barrier only */
    size_t stride; /* row stride in floats, as in the engine's buffers */
    float row[BENCH_COLS];
    struct acts acts;
    void *act_mem;
    struct slot *slot; /* [n_threads] */
    uint64_t at;       /* repetitions so far */
};

static void free_coherence(struct coherence *x)
{
    if (!x)
        return;
    free(x->x);
    free(x->act_mem);
    free(x->slot);
    free(x);
}

static int alloc_rows(struct coherence *x, struct error *err)
{
    x->stride = size_row_floats(BENCH_COLS);
    const size_t bytes = BENCH_BUFFERS * x->n_tok * x->stride * sizeof *x->x;
    x->x = size_alloc(bytes);
    x->act_mem = size_alloc(acts_bytes(ACT_Q8, x->n_tok, BENCH_COLS));
    x->slot = size_alloc((size_t)x->n_threads * sizeof *x->slot);
    if (!x->x || !x->act_mem || !x->slot)
        return error_oom(err, bytes, "the rows that cores exchange");
    memset(x->slot, 0, (size_t)x->n_threads * sizeof *x->slot);
    acts_bind(&x->acts, ACT_Q8, x->n_tok, BENCH_COLS, x->act_mem);
    struct rng g;
    rng_init(&g, 1);
    for (size_t i = 0; i < BENCH_COLS; i++)
        x->row[i] = (float)rng_normal(&g);
    for (size_t t = 0; t < BENCH_BUFFERS * x->n_tok; t++)
        memcpy(x->x + t * x->stride, x->row, sizeof x->row);
    return 0;
}

/* ---- a sample ---------------------------------------------------------------------------------------------- */

static void read_rows(struct coherence *x, const float *rows, int tid)
{
    x->k.act_prepare[ACT_Q8](&x->acts, rows, x->stride, share_split(x->n_tok, 1, tid, x->n_threads),
                             share_split(x->n_tok, 1, tid + 1, x->n_threads));
}

struct exchanges {
    struct coherence *x;
    uint64_t n;
};

/* Of n lines, n - 1 are held by another thread: lines to be written were read there, lines to be read were just written there. */
static void pass_rows(void *arg, int tid)
{
    const struct exchanges *c = arg;
    struct coherence *x = c->x;
    for (uint64_t i = 0; i < c->n; i++) {
        float *rows = x->x + (x->at + i) % BENCH_BUFFERS * x->n_tok * x->stride;
        const double start = clock_now_s();
        bench_write_columns(rows, x->stride, x->row, x->n_tok, tid, x->n_threads);
        x->slot[tid].write_s += clock_now_s() - start;
        team_barrier(x->team);
        const double written = clock_now_s();
        read_rows(x, rows, tid);
        x->slot[tid].read_s += clock_now_s() - written;
        team_barrier(x->team);
    }
}

static void wait_barriers(void *arg, int tid)
{
    const struct exchanges *c = arg;
    (void)tid;
    for (uint64_t i = 0; i < c->n; i++)
        team_barrier(c->x->team);
}

static bool reads(const struct coherence *x)
{
    return x->what == COHERENCE_READ_SMALL || x->what == COHERENCE_READ_LARGE;
}

/* Bytes that a thread reads or writes per repetition. */
static double bytes_of(const struct coherence *x, int tid)
{
    const size_t n = reads(x) ? x->n_tok : BENCH_COLS, step = reads(x) ? 1 : BENCH_PIECE;
    const size_t own = share_split(n, step, tid + 1, x->n_threads) - share_split(n, step, tid, x->n_threads);
    return (double)own / (double)n * (double)x->n_tok * sizeof x->row;
}

/* Threads beyond BENCH_COLS / BENCH_PIECE have no columns and do not count. */
static void sample_rows(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    struct coherence *x = j->data;
    struct exchanges c = { x, n };
    double sum = 0;
    int busy = 0;
    (void)variant;
    x->team = harness_team(m);
    for (int i = 0; i < x->n_threads; i++)
        x->slot[i].read_s = x->slot[i].write_s = 0;
    harness_time(m, pass_rows, &c, NULL, s);
    x->at += n;
    for (int i = 0; i < x->n_threads; i++) {
        const double seconds = reads(x) ? x->slot[i].read_s : x->slot[i].write_s, bytes = (double)n * bytes_of(x, i);
        sum += bytes > 0 && seconds > 0 ? bytes / seconds : 0;
        busy += bytes > 0 && seconds > 0;
    }
    s->value = busy > 0 ? sum / busy * x->n_threads : NAN;
}

static void sample_barrier(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    struct coherence *x = j->data;
    struct exchanges c = { x, n };
    (void)variant;
    x->team = harness_team(m);
    harness_time(m, wait_barriers, &c, NULL, s);
    s->value = s->seconds / (double)n;
}

static int keep_rows(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct coherence *x = j->data;
    c->n_tok = (int)x->n_tok;
    snprintf(c->name, sizeof c->name, "%s x%d %dt", coherence_op(x->what), c->n_tok, m->n);
    roof_describe(c, &(struct roof_texts){ .kind = "kernel", .op = coherence_op(x->what), .dtype = "F32", .isa = x->k.isa, .unit = "B/s" });
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "rows of %d", BENCH_COLS);
    c->footprint_bytes = (double)(x->n_tok * sizeof x->row) / x->n_threads;
    return hwprofile_add_ceiling(h, c, err);
}

static int keep_barrier(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    (void)j;
    snprintf(c->name, sizeof c->name, "barrier %dt", m->n);
    roof_describe(c, &(struct roof_texts){ .kind = "latency", .op = "barrier", .unit = "s" });
    c->per_cycle = NAN;
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "barrier of all threads, spinning");
    return hwprofile_add_ceiling(h, c, err);
}

static void free_benchmark(struct benchmark *j)
{
    free_coherence(j->data);
}

static const struct benchmark_class rows_class = { .core = true, .sample = sample_rows, .keep = keep_rows, .free = free_benchmark };
static const struct benchmark_class barrier_class = { .lower = true, .core = true, .sample = sample_barrier, .keep = keep_barrier, .free = free_benchmark };

int coherence_add(struct benchmark **out, struct benchmark_list *l, enum coherence_kind what, int n_threads, unsigned cpu_flags, struct error *err)
{
    struct coherence *x = calloc(1, sizeof *x);
    *out = NULL;
    if (!x)
        return error_oom(err, sizeof *x, "what cores exchange");
    x->what = what;
    x->n_threads = n_threads;
    x->n_tok = (size_t)coherence_tokens(what);
    kernels_init(&x->k, cpu_flags);
    struct benchmark *j = what == COHERENCE_BARRIER || alloc_rows(x, err) == 0 ? benchmark_add(l, what == COHERENCE_BARRIER ? &barrier_class : &rows_class, err) : NULL;
    if (!j) {
        free_coherence(x);
        return -1;
    }
    j->data = x;
    j->weight = 0.3;
    j->warmup_s = x->n_tok == COHERENCE_LARGE_BATCH && x->x ? LEAD_S : 0; /* other benchmarks have evicted the rows from all caches */
    snprintf(j->what, sizeof j->what, "%s", what == COHERENCE_BARRIER ? "barrier" : coherence_op(what));
    *out = j;
    return 0;
}
