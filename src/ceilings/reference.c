/*
 * What cores give, beside samples and beside runs: small products of the engine's own, again and again, from each thread's own cache.
 * What slows products on a shared core a loop of multiply-adds from registers hardly feels. methods.md (80)
 */
#include "ceilings/internal.h"
#include "ceilings/kernel_bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Untimed, before: what ran there has driven the product out of its cache, and cores take some 0.4 ms to reach what they then keep. */
enum { WARM = 4 };
enum { ROWS = 128, COLS = 1024 };

/* Unpacking and dot products, as prompts' and batches' are; and tiles of BF16. */
static const struct {
    enum dtype type;
    size_t n_tok;
} kinds[REFERENCE_COUNT] = {
    [REFERENCE_CORE] = { DTYPE_Q4_K, 16 },
    [REFERENCE_TILES] = { DTYPE_BF16, 64 },
};

/* A thread's own. */
struct own {
    unsigned char *w;
    float *y;
    void *scratch;
};

struct reference {
    enum reference_kind kind;
    struct kernels k;
    const struct matmul_slot *slot;
    struct acts acts;
    void *act_mem;
    struct own *own; /* [n_threads] */
    int n_threads;
    size_t rows;
};

static double reference_flop(const struct reference *r)
{
    return 2.0 * (double)r->rows * COLS * (double)r->acts.n_tok;
}

static void reference_run(const struct reference *r, int tid, uint64_t n)
{
    const struct own *p = &r->own[tid];
    const struct matmul_args a = { .w = p->w, .type = kinds[r->kind].type, .w_row_bytes = dtype_row_bytes(kinds[r->kind].type, COLS), .cols = COLS, .x = &r->acts,
                                   .y = p->y, .y_stride = size_row_floats(ROWS), .scratch = p->scratch };
    matmul_fn *const run = r->acts.n_tok <= r->slot->gemv_max_tok ? r->slot->gemv : r->slot->gemm;
    for (uint64_t i = 0; i < n; i++)
        run(&a, 0, r->rows);
}

void reference_free(struct reference *r)
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

/* Activations, as the engine has them before its products. -1: no memory. */
static int make_acts(struct reference *r)
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

static int make_own(const struct reference *r, struct own *p, size_t w_bytes)
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

static size_t weight_bytes(const struct reference *r)
{
    const enum dtype type = kinds[r->kind].type;
    size_t bytes = r->rows * dtype_row_bytes(type, COLS);
    if (r->slot == &r->k.packed[type])
        (void)pack_bytes(type, r->rows, COLS, &bytes);
    return bytes;
}

static int make(struct reference *r, int n_threads)
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

int reference_new(struct reference **out, enum reference_kind kind, int n_threads, struct error *err)
{
    const enum dtype type = kinds[kind].type;
    struct reference *r = *out = calloc(1, sizeof *r);
    if (!r)
        return error_oom(err, sizeof *r, "the product beside samples");
    r->kind = kind;
    kernels_init(&r->k, cpu_flags()); /* whatever instructions were asked for: the same in a profile and beside a run */
    r->rows = strcmp(r->k.isa, "ref") == 0 ? PACK_ROWS : ROWS; /* which is hundreds of times slower */
    r->slot = r->k.packed[type].gemv ? &r->k.packed[type] : &r->k.mm[type];
    const bool none = kind == REFERENCE_TILES && !kernels_by_tiles(&r->k, r->slot, kinds[kind].n_tok);
    const int rc = none || make(r, n_threads) == 0 ? 0 : error_oom(err, weight_bytes(r) * (size_t)n_threads, "the product beside samples");
    if (none || rc != 0) {
        reference_free(r);
        *out = NULL;
    }
    return rc;
}

/* ---- beside samples ------------------------------------------------------------------------------------------ */

struct repeat {
    const struct reference *r;
    uint64_t n;
};

static void run_reference(void *arg, int tid)
{
    const struct repeat *p = arg;
    reference_run(p->r, tid, p->n);
}

static double timed(struct meter *m, const struct reference *r, uint64_t n, struct sample *s)
{
    struct repeat p = { r, n };
    meter_time(m, run_reference, &p, NULL, s);
    return s->shared_s > 0 ? reference_flop(r) * (double)n * m->n / s->shared_s : 0; /* as the engine shares products out */
}

double meter_reference_now(struct meter *m, enum reference_kind kind, bool *disturbed)
{
    struct meter_reference *r = &m->reference[kind];
    struct sample s;
    if (!r->product)
        return 0;
    (void)timed(m, r->product, WARM * r->n, &s);
    const double rate = timed(m, r->product, r->n, &s);
    *disturbed |= s.disturbed;
    return rate;
}

int meter_watch_cores(struct meter *m, struct error *err)
{
    enum { MAX_DOUBLINGS = 30 };
    const double seconds = 1e-4;
    bool disturbed = false;
    for (int kind = 0; kind < REFERENCE_COUNT; kind++) {
        struct meter_reference *r = &m->reference[kind];
        r->n = 1;
        if (reference_new(&r->product, (enum reference_kind)kind, m->n, err) != 0)
            return -1;
        for (int i = 0; r->product && i < MAX_DOUBLINGS; i++, r->n *= 2) {
            /* One interruption must not pass for a slow core: twice, and the faster one counts. */
            const double first = meter_reference_now(m, (enum reference_kind)kind, &disturbed),
                         best = fmax(first, meter_reference_now(m, (enum reference_kind)kind, &disturbed));
            if (best > 0 && reference_flop(r->product) * (double)r->n * m->n / best >= seconds)
                break;
        }
    }
    return 0;
}

/* ---- as a roof ----------------------------------------------------------------------------------------------- */

static void sample_reference(struct job *j, struct meter *m, int variant, uint64_t n, struct sample *s)
{
    (void)variant;
    const double rate = timed(m, j->data, n, s);
    s->value = rate > 0 ? rate : NAN;
}

static int keep_reference(const struct job *j, const struct meter *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct reference *r = j->data;
    const char *type = dtype_name(kinds[r->kind].type);
    c->n_tok = (int)r->acts.n_tok;
    snprintf(c->name, sizeof c->name, "reference %s x%d %dt", type, c->n_tok, m->n);
    snprintf(c->kind, sizeof c->kind, "kernel");
    snprintf(c->op, sizeof c->op, "reference");
    snprintf(c->dtype, sizeof c->dtype, "%s", type);
    snprintf(c->isa, sizeof c->isa, "%s", r->k.isa);
    snprintf(c->unit, sizeof c->unit, "FLOP/s");
    snprintf(c->kernel, sizeof c->kernel, "%zu rows of %d", r->rows, COLS);
    return hwprofile_add_ceiling(h, c, err);
}

static void free_reference(struct job *j)
{
    reference_free(j->data);
}

static const struct job_class reference_class = { .sample = sample_reference, .keep = keep_reference, .free = free_reference };

int reference_add(struct job **out, struct job_list *l, enum reference_kind kind, int n_threads, struct error *err)
{
    struct reference *r;
    *out = NULL;
    if (reference_new(&r, kind, n_threads, err) != 0)
        return -1;
    struct job *j = r ? job_add(l, &reference_class, err) : NULL;
    if (!j) {
        const int rc = r ? -1 : 0;
        reference_free(r);
        return rc;
    }
    j->data = r;
    snprintf(j->what, sizeof j->what, "reference %s", dtype_name(kinds[kind].type));
    *out = j;
    return 0;
}
