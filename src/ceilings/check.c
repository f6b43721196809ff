/*
 * Cross-check against likwid-bench, alternating, so that drift affects both. Compares ceilings whose operation and instruction set
 * likwid-bench has.
 */
#include "ceilings/internal.h"
#include "ceilings/likwid.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TURNS = 5, N_WINDOWS = 8 }; /* MAX_TURNS turns; DRAM is read in N_WINDOWS windows (memory.c) */
static const double CALIBRATION_TIMEOUT_S = 60, TIMEOUT_S = 30, TURN_S = 0.25, PASS_FROM = 0.97;

/* Suffix of likwid-bench tests for an instruction set. */
static const char *vector_suffix(const char *isa)
{
    static const char *const suffix[][2] = { { "avx512", "_avx512" }, { "avx2", "_avx" }, { "sse", "_sse" }, { "scalar", "" } };
    for (size_t i = 0; i < ARRAY_LEN(suffix); i++)
        if (strcmp(isa, suffix[i][0]) == 0)
            return suffix[i][1];
    return NULL;
}

bool check_test_of(const struct ceiling *c, char *test, size_t size)
{
    static const char *const ops[][2] = {
        { "", "load" }, { "read", "load" }, { "write", "store" }, { "write-nt", "store_mem" }, { "copy", "copy" }, { "triad", "stream" },
    };
    const char *suffix = vector_suffix(c->isa);
    if (!suffix || c->node[0])
        return false;
    if (strcmp(c->kind, "compute") == 0) {
        const bool single = strcmp(c->dtype, "fp32") == 0;
        if (!single && strcmp(c->dtype, "fp64") != 0)
            return false;
        const bool fma = strcmp(suffix, "_avx") == 0 || strcmp(suffix, "_avx512") == 0;
        snprintf(test, size, "peakflops%s%s%s", single ? "_sp" : "", suffix, fma ? "_fma" : "");
        return true;
    }
    for (size_t i = 0; strcmp(c->kind, "bandwidth") == 0 && i < ARRAY_LEN(ops); i++)
        if (strcmp(c->op, ops[i][0]) == 0) {
            snprintf(test, size, "%s%s", ops[i][1], suffix);
            return true;
        }
    return false;
}

void check_judge(struct ceilings_check *c, const double *ours, const double *theirs, size_t n)
{
    double ratio[MAX_TURNS];
    c->n_turns = (int)n;
    c->ours = stats_median(ours, n);
    c->theirs = stats_median(theirs, n);
    for (size_t i = 0; i < n && i < MAX_TURNS; i++)
        ratio[i] = ours[i] / theirs[i];
    c->ratio = stats_median(ratio, n); /* ratio per turn cancels drift */
    c->pass = c->ratio >= PASS_FROM;
    if (c->ratio > 1.1)
        snprintf(c->note, sizeof c->note, "likwid-bench's kernel does not reach the peak here: %.0f %% of ours", 100 / c->ratio);
    else if (!c->pass)
        snprintf(c->note, sizeof c->note, "%.1f %% below likwid-bench", 100 * (1 - c->ratio));
}

/* Kernel of the benchmark, and the name its ceiling would have. */
static int resolve_kernel(struct benchmark *j, struct harness *m, bool brief, struct ceiling *c, struct error *err)
{
    struct hwprofile h = { .n_ceiling = 0 };
    if (driver_choose(j, m, brief ? 0.02 : 0.2, brief ? 0.001 : 0.03, err) != 0 ||
        (j->chosen && driver_sample(j, m, 1, 0, clock_now_s() + 1, err) != 0))
        return -1;
    *c = (struct ceiling){ .value = NAN };
    if (j->n_sample == 0)
        return 0;
    driver_to_ceiling(j, m, c);
    const int rc = j->class->keep(j, m, c, &h, err);
    if (rc == 0 && h.n_ceiling == 1)
        *c = h.ceiling[0];
    else
        c->value = NAN;
    hwprofile_free(&h);
    return rc;
}

static int take_turns(struct ceilings_check *k, struct benchmark *j, struct harness *m, const struct ceiling *c, int n_turns,
                      struct error *err)
{
    const bool compute = strcmp(c->kind, "compute") == 0;
    const double bytes = compute ? 16000.0 * m->n : c->footprint_bytes * m->n;
    double ours[MAX_TURNS], theirs[MAX_TURNS];
    struct likwid_result r;
    if (likwid_run(&r, k->test, bytes, m->cpu, m->n, 0, CALIBRATION_TIMEOUT_S, err) != 0)
        return -1;
    const uint64_t n = (uint64_t)fmax(1, r.iterations * TURN_S / r.seconds);
    for (int t = 0; t < n_turns; t++) {
        /* Discarded pass over all windows: pages may have been reclaimed meanwhile. */
        j->n_sample = 0;
        if (driver_sample(j, m, N_WINDOWS, t, clock_now_s() + 1, err) != 0)
            return -1;
        j->n_sample = 0;
        if (driver_sample(j, m, 5, t, clock_now_s() + 1, err) != 0)
            return -1;
        ours[t] = stats_median(j->value, (size_t)j->n_sample);
        if (likwid_run(&r, k->test, bytes, m->cpu, m->n, n, TIMEOUT_S, err) != 0)
            return -1;
        theirs[t] = compute ? r.flop_s : r.bytes_s;
    }
    check_judge(k, ours, theirs, (size_t)n_turns);
    return 0;
}

/* Cheap filter before kernel selection, by the benchmark's description without the ISA. */
static bool may_be_wanted(const struct benchmark *j, int n_threads, const char *only)
{
    char name[sizeof j->what + 16];
    const size_t first = strcspn(j->what, " ");
    snprintf(name, sizeof name, "%s %dt", j->what, n_threads);
    return !only || strstr(name, only) || strncmp(only, j->what, first) == 0;
}

static int check_benchmark(struct benchmark *j, struct harness *m, const struct ceilings_options *o, ceilings_check_fn *row, void *ctx,
                     double fraction, struct error *err)
{
    struct ceiling c;
    struct ceilings_check k = { .ours = NAN, .theirs = NAN, .ratio = NAN };
    struct error why = { 0 };
    if (!may_be_wanted(j, m->n, o->only))
        return 0;
    if (o->progress)
        o->progress(o->progress_ctx, j->what, fraction);
    if (resolve_kernel(j, m, o->effort == CEILINGS_BRIEF, &c, err) != 0)
        return -1;
    if (isnan(c.value) || (o->only && !strstr(c.name, o->only)) || !check_test_of(&c, k.test, sizeof k.test))
        return 0;
    snprintf(k.name, sizeof k.name, "%s", c.name);
    snprintf(k.unit, sizeof k.unit, "%s", c.unit);
    if (o->progress)
        o->progress(o->progress_ctx, k.name, fraction);
    if (take_turns(&k, j, m, &c, o->effort == CEILINGS_DEFAULT ? 3 : o->effort == CEILINGS_FULL ? 5 : 1, &why) != 0) {
        if (why.kind == ERROR_INTERRUPTED || why.kind == ERROR_UNAVAILABLE) {
            *err = why;
            return -1;
        }
        k.ratio = NAN; /* error of the ceiling under test, not of ours */
        snprintf(k.note, sizeof k.note, "%.150s", why.msg);
    }
    return row(ctx, &k, err);
}

static int check_at(int n_threads, struct hwprofile *h, const struct ceilings_options *o, ceilings_check_fn *row, void *ctx,
                    struct error *err)
{
    struct harness m;
    struct benchmark_list l = { 0 };
    if (harness_init(&m, n_threads, true, o, err) != 0)
        return -1;
    int rc = ceilings_compute.plan(&l, &m, h, o, err);
    rc = rc ? rc : ceilings_memory.plan(&l, &m, h, o, err);
    for (size_t i = 0; rc == 0 && i < l.n; i++)
        if (!l.v[i]->class->lower && !l.v[i]->of_curve)
            rc = check_benchmark(l.v[i], &m, o, row, ctx, (double)i / (double)l.n, err);
    benchmark_list_free(&l);
    harness_free(&m);
    return rc;
}

/* Fails early if likwid-bench is missing. */
static int check_installed(const struct ceilings_options *o, struct error *err)
{
    struct cpulist usable = { 0 };
    const struct cpulist *cpus = o->cpus ? o->cpus : &usable;
    struct likwid_result r;
    if (!o->cpus && cpulist_usable(&usable, err) != 0)
        return -1;
    const int rc = likwid_run(&r, "load", 8000, cpus->cpu, 1, 10, TIMEOUT_S, err);
    cpulist_free(&usable);
    return rc;
}

int ceilings_cross_check(const struct ceilings_options *o, ceilings_check_fn *row, void *ctx, struct error *err)
{
    struct hwprofile h;
    if (check_installed(o, err) != 0)
        return -1;
    if (hwprofile_host(&h, err) != 0)
        return -1;
    int rc = check_at(1, &h, o, row, ctx, err);
    if (rc == 0 && o->n_threads > 1)
        rc = check_at(o->n_threads, &h, o, row, ctx, err);
    hwprofile_free(&h);
    return rc;
}
