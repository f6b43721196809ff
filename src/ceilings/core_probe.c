/*
 * Core probes: small engine products from each thread's cache, adjacent to samples and runs. Contention on a shared core slows products
 * but hardly a register-only FMA loop. methods.md (80)
 */
#include "ceilings/internal.h"
#include "ceilings/kernel_bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Untimed: refill the cache; cores take about 0.4 ms to reach a steady clock. */
enum { WARM = 4 };
enum { ROWS = 128, COLS = 1024 };

/* vector: unpacking and dot products, as in prompts and batches; tile: BF16 */
static const struct {
    enum dtype type;
    size_t n_tok;
} kinds[CORE_PROBE_COUNT] = {
    [CORE_PROBE_VECTOR] = { DTYPE_Q4_K, 16 },
    [CORE_PROBE_TILE] = { DTYPE_BF16, 64 },
};

/* Thread state. */
struct own {
    unsigned char *w;
    float *y;
    void *scratch;
};

struct core_probe {
    enum core_probe_kind kind;
    struct kernels k;
    const struct matmul_slot *slot;
    struct acts acts;
    void *act_mem;
    struct own *own; /* [n_threads] */
    int n_threads;
    size_t rows;
};

static double core_probe_flop(const struct core_probe *r)
{
    return 2.0 * (double)r->rows * COLS * (double)r->acts.n_tok;
}

static void core_probe_run(const struct core_probe *r, int tid, uint64_t n)
{
    const struct own *p = &r->own[tid];
    const struct matmul_args a = { .w = p->w, .type = kinds[r->kind].type, .w_row_bytes = dtype_row_bytes(kinds[r->kind].type, COLS), .cols = COLS, .x = &r->acts,
                                   .y = p->y, .y_stride = size_row_floats(ROWS), .scratch = p->scratch };
    matmul_fn *const run = r->acts.n_tok <= r->slot->gemv_max_tok ? r->slot->gemv : r->slot->gemm;
    for (uint64_t i = 0; i < n; i++)
        run(&a, 0, r->rows);
}

void core_probe_free(struct core_probe *r)
{
    if (!r)
        return;
    for (int i = 0; r->own && i < r->n_threads; i++) {
        free(r->own[i].w);
        free(r->own[i].y);
        free(r->own[i].scratch);
    }
    free(r->own);
    free(r->acts.tiles);
    free(r->act_mem);
    free(r);
}

/* Prepared activations as in the engine. -1: no memory. */
static int make_acts(struct core_probe *r)
{
    const enum dtype type = kinds[r->kind].type;
    const size_t n_tok = kinds[r->kind].n_tok;
    const bool packed = r->slot == &r->k.packed[type];
    float *x = size_alloc(n_tok * COLS * sizeof *x);
    r->act_mem = size_alloc(acts_bytes(r->slot->act, n_tok, COLS));
    if (!x || !r->act_mem) {
        free(x);
        return -1;
    }
    struct rng g;
    rng_init(&g, 1);
    for (size_t i = 0; i < n_tok * COLS; i++)
        x[i] = (float)rng_normal(&g);
    acts_bind(&r->acts, r->slot->act, n_tok, COLS, r->act_mem);
    r->acts.pow2 = kernels_acts_pow2(&r->k, packed, n_tok);
    r->k.act_prepare[r->slot->act](&r->acts, x, COLS, 0, n_tok);
    free(x);
    if (!packed || !kernels_packs_acts(&r->k, type, n_tok))
        return 0;
    r->acts.tiles = size_alloc(acts_tiles_bytes(r->slot->act, type, n_tok, COLS));
    if (!r->acts.tiles)
        return -1;
    r->k.pack_acts[type](&r->acts, type, 0, 1);
    return 0;
}

static int make_own(const struct core_probe *r, struct own *p, size_t w_bytes)
{
    const size_t y_bytes = r->acts.n_tok * size_row_floats(ROWS) * sizeof *p->y;
    p->w = size_alloc(w_bytes);
    p->y = size_alloc(y_bytes);
    p->scratch = size_alloc(kernels_scratch_bytes(COLS, r->acts.n_tok));
    if (!p->w || !p->y || !p->scratch)
        return -1;
    bench_fill(p->w, w_bytes, 1);
    memset(p->y, 0, y_bytes);
    return 0;
}

static size_t weight_bytes(const struct core_probe *r)
{
    const enum dtype type = kinds[r->kind].type;
    size_t bytes = r->rows * dtype_row_bytes(type, COLS);
    if (r->slot == &r->k.packed[type])
        (void)pack_bytes(type, r->rows, COLS, &bytes);
    return bytes;
}

static int make(struct core_probe *r, int n_threads)
{
    r->n_threads = n_threads;
    r->own = calloc((size_t)n_threads, sizeof *r->own);
    if (!r->own || make_acts(r) != 0)
        return -1;
    for (int i = 0; i < n_threads; i++)
        if (make_own(r, &r->own[i], weight_bytes(r)) != 0)
            return -1;
    return 0;
}

int core_probe_new(struct core_probe **out, enum core_probe_kind kind, int n_threads, struct error *err)
{
    const enum dtype type = kinds[kind].type;
    struct core_probe *r = *out = calloc(1, sizeof *r);
    if (!r)
        return error_oom(err, sizeof *r, "the core probes");
    r->kind = kind;
    kernels_init(&r->k, cpu_flags()); /* all features, independent of --isa: comparable between profile and run */
    r->rows = strcmp(r->k.isa, "ref") == 0 ? PACK_ROWS : ROWS; /* ref is hundreds of times slower */
    r->slot = r->k.packed[type].gemv ? &r->k.packed[type] : &r->k.mm[type];
    const bool none = kind == CORE_PROBE_TILE && !kernels_by_tiles(&r->k, r->slot, kinds[kind].n_tok);
    const int rc = none || make(r, n_threads) == 0 ? 0 : error_oom(err, weight_bytes(r) * (size_t)n_threads, "the core probes");
    if (none || rc != 0) {
        core_probe_free(r);
        *out = NULL;
    }
    return rc;
}

/* ---- adjacent probes ---- */

struct repeat {
    const struct core_probe *r;
    uint64_t n;
};

static void run_core_probe(void *arg, int tid)
{
    const struct repeat *p = arg;
    core_probe_run(p->r, tid, p->n);
}

static double timed(struct harness *m, const struct core_probe *r, uint64_t n, struct sample *s)
{
    struct repeat p = { r, n };
    harness_time(m, run_core_probe, &p, NULL, s);
    return s->shared_s > 0 ? core_probe_flop(r) * (double)n * m->n / s->shared_s : 0; /* balanced load, as in the engine */
}

double harness_probe_cores(struct harness *m, enum core_probe_kind kind, bool *disturbed)
{
    struct harness_core_probe *r = &m->core_probe[kind];
    struct sample s;
    if (!r->product)
        return 0;
    (void)timed(m, r->product, WARM * r->n, &s);
    const double rate = timed(m, r->product, r->n, &s);
    *disturbed |= s.disturbed;
    return rate;
}

int harness_enable_core_probes(struct harness *m, struct error *err)
{
    enum { MAX_DOUBLINGS = 30 };
    const double seconds = 1e-4;
    bool disturbed = false;
    for (int kind = 0; kind < CORE_PROBE_COUNT; kind++) {
        struct harness_core_probe *r = &m->core_probe[kind];
        r->n = 1;
        if (core_probe_new(&r->product, (enum core_probe_kind)kind, m->n, err) != 0)
            return -1;
        for (int i = 0; r->product && i < MAX_DOUBLINGS; i++, r->n *= 2) {
            /* Best of two: an interruption must not look like a slow core. */
            const double first = harness_probe_cores(m, (enum core_probe_kind)kind, &disturbed),
                         best = fmax(first, harness_probe_cores(m, (enum core_probe_kind)kind, &disturbed));
            if (best > 0 && core_probe_flop(r->product) * (double)r->n * m->n / best >= seconds)
                break;
        }
    }
    return 0;
}

/* ---- as a roof ---- */

static void sample_core_probe(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    (void)variant;
    const double rate = timed(m, j->data, n, s);
    s->value = rate > 0 ? rate : NAN;
}

static int keep_core_probe(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct core_probe *r = j->data;
    const char *type = dtype_name(kinds[r->kind].type);
    c->n_tok = (int)r->acts.n_tok;
    snprintf(c->name, sizeof c->name, "reference %s x%d %dt", type, c->n_tok, m->n);
    roof_describe(c, &(struct roof_texts){ .kind = "kernel", .op = "reference", .dtype = type, .isa = r->k.isa, .unit = "FLOP/s" });
    snprintf(c->kernel, sizeof c->kernel, "%zu rows of %d", r->rows, COLS);
    return hwprofile_add_ceiling(h, c, err);
}

static void free_core_probe(struct benchmark *j)
{
    core_probe_free(j->data);
}

static const struct benchmark_class reference_class = { .sample = sample_core_probe, .keep = keep_core_probe, .free = free_core_probe };

int core_probe_add(struct benchmark **out, struct benchmark_list *l, enum core_probe_kind kind, int n_threads, struct error *err)
{
    struct core_probe *r;
    *out = NULL;
    if (core_probe_new(&r, kind, n_threads, err) != 0)
        return -1;
    struct benchmark *j = r ? benchmark_add(l, &reference_class, err) : NULL;
    if (!j) {
        const int rc = r ? -1 : 0;
        core_probe_free(r);
        return rc;
    }
    j->data = r;
    snprintf(j->what, sizeof j->what, "reference %s", dtype_name(kinds[kind].type));
    *out = j;
    return 0;
}
