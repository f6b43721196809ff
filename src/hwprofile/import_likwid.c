/*
 * Output of one or more runs of likwid-bench 5.x. Loop names define the operation; bytes are loads and stores, without write-allocate. It
 * reports the footprint, not the level: the machine's caches give that, and without them the runs of a loop become a curve.
 */
#include "hwprofile/import_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 20000, MAX_SAMPLES = 1000 };

struct run {
    char test[48];
    int line;            /* line of "Test:" */
    long n_threads;      /* 0: missing */
    double bytes, bytes_thread, mflop_s, mbyte_s; /* NaN: missing */
};
struct runs {
    struct run *v;
    size_t n;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* End of a run: checks that all fields were found. */
static int end_run(const struct import *im, const struct runs *rs, struct error *err)
{
    if (rs->n == 0)
        return 0;
    struct run *r = &rs->v[rs->n - 1];
    if (isnan(r->bytes_thread) && r->n_threads > 0)
        r->bytes_thread = r->bytes / (double)r->n_threads; /* before 5.0 */
    const char *missing = r->n_threads == 0      ? "Using N threads" :
                          isnan(r->bytes_thread) ? "Size (Byte)" :
                          isnan(r->mflop_s)      ? "MFlops/s" :
                          isnan(r->mbyte_s)      ? "MByte/s" :
                                                   NULL;
    if (missing)
        return error_set(err, ERROR_INPUT, "%s: line %d: run of %s: expected a line \"%s\", found none (did it end early?)", im->file,
                         r->line, r->test, missing);
    return 0;
}

static int begin_run(struct import *im, struct runs *rs, const char *test, int line, struct error *err)
{
    if (end_run(im, rs, err) != 0)
        return -1;
    if (rs->n == MAX_RUNS)
        return error_set(err, ERROR_INPUT, "%s: line %d: expected at most %d runs", im->file, line, MAX_RUNS);
    if ((rs->n & (rs->n - 1)) == 0) { /* doubling */
        struct run *v = realloc(rs->v, (rs->n ? 2 * rs->n : 1) * sizeof *v);
        if (!v)
            return error_oom(err, 2 * rs->n * sizeof *v, "runs");
        rs->v = v;
    }
    struct run *r = &rs->v[rs->n++];
    *r = (struct run){ .line = line, .bytes = NAN, .bytes_thread = NAN, .mflop_s = NAN, .mbyte_s = NAN };
    size_t n = strspn(test, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    if (n == 0 || test[n] || n >= sizeof r->test)
        return import_bad_line(im, line, "Test", "the name of a loop", test, err);
    memcpy(r->test, test, n + 1);
    return 0;
}

/* "MByte/s:\t\t113868.43" */
static int read_field(struct import *im, struct run *r, const char *s, int line, struct error *err)
{
    struct {
        const char *key, *field;
        double *to;
        double lo;
    } const field[] = {
        { "Size (Byte):", "Size (Byte)", &r->bytes, 1 },
        { "Size per thread:", "Size per thread", &r->bytes_thread, 1 },
        { "MFlops/s:", "MFlops/s", &r->mflop_s, 0 },
        { "MByte/s:", "MByte/s", &r->mbyte_s, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(field); i++) {
        size_t n = strlen(field[i].key);
        double v;
        if (strncmp(s, field[i].key, n) != 0)
            continue;
        if (!import_number(s + n, &v) || v < field[i].lo)
            return import_bad_line(im, line, field[i].field, "a number", s + n + strspn(s + n, " \t"), err);
        *field[i].to = v;
    }
    const char *end = strstr(s, " threads");
    if (strncmp(s, "Using ", 6) == 0 && end && !end[8]) {
        char number[24];
        snprintf(number, sizeof number, "%.*s", (int)(end - s - 6), s + 6);
        if (!import_count(number, 1, 1 << 20, &r->n_threads))
            return import_bad_line(im, line, "Using N threads", "a number of threads", number, err);
    }
    return 0;
}

static int read_runs(struct import *im, struct runs *rs, struct error *err)
{
    struct import_lines l = { .next = im->text };
    while (import_line(&l)) {
        int rc = 0;
        if (strncmp(l.s, "Test:", 5) == 0)
            rc = begin_run(im, rs, l.s + 5 + strspn(l.s + 5, " \t"), l.number, err);
        else if (rs->n)
            rc = read_field(im, &rs->v[rs->n - 1], l.s, l.number, err);
        if (rc != 0)
            return -1;
    }
    return end_run(im, rs, err);
}

/* ---- loop names ---- */

struct loop {
    const char *op;    /* "": peak; NULL: no roof */
    const char *dtype; /* of peaks */
    char isa[24];      /* "avx512_fma"; "scalar" */
};

/* "stream" is STREAM's triad; likwid's triad has one more stream. "_mem" uses non-temporal stores. */
static const char *loop_op(const char *base, size_t n, bool mem)
{
    static const struct {
        const char *base, *op, *mem_op;
    } known[] = { { "load", "read", "read" },
                  { "store", "write", "write-nt" },
                  { "copy", "copy", "copy-nt" },
                  { "stream", "triad", "triad-nt" },
                  { "peakflops", "", NULL } };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strlen(known[i].base) == n && strncmp(base, known[i].base, n) == 0)
            return mem ? known[i].mem_op : known[i].op;
    return NULL;
}

static struct loop find_loop(const char *test)
{
    struct loop p = { .dtype = "fp64" };
    const char *base = test;
    size_t n_base = strcspn(test, "_"), len = 0;
    bool mem = false;
    for (const char *s = test + n_base; *s;) {
        size_t n = strcspn(++s, "_");
        if (n == 3 && strncmp(s, "mem", 3) == 0)
            mem = true;
        else if (n == 2 && strncmp(s, "sp", 2) == 0)
            p.dtype = "fp32";
        else if (len + n + 2 < sizeof p.isa)
            len += (size_t)snprintf(p.isa + len, sizeof p.isa - len, "%s%.*s", len ? "_" : "", (int)n, s);
        s += n;
    }
    if (!len)
        snprintf(p.isa, sizeof p.isa, "scalar");
    p.op = loop_op(base, n_base, mem);
    return p;
}

/* ---- roofs ----------------------------------------------------------------------------------- */

/* Level whose share holds the footprint with margin while inner ones do not; "DRAM"; "": ambiguous or caches unknown. */
static const char *level_of(const struct hwprofile *h, double bytes, int n)
{
    static const char *const names[] = { "", "L1", "L2", "L3" };
    double before = 0, last = 0;
    for (int level = 1; h && level < (int)ARRAY_LEN(names); level++)
        for (size_t i = 0; i < h->n_cache; i++) {
            if (h->cache[i].level != level)
                continue;
            double share = hw_cache_share(&h->cache[i], n);
            if (bytes <= 0.8 * share && bytes >= 1.25 * before)
                return names[level];
            last = before = fmax(before, share);
        }
    return last > 0 && bytes >= 2 * last ? "DRAM" : "";
}

/* Runs of equal test, threads and footprint are samples of one value. */
static struct hw_point sample(const struct runs *rs, size_t first, bool peak, bool *done)
{
    double v[MAX_SAMPLES] = { 0 };
    size_t n = 0;
    const struct run *a = &rs->v[first];
    struct hw_point p = { .x = a->bytes_thread, .ci_lo = NAN, .ci_hi = NAN };
    for (size_t i = first; i < rs->n; i++) {
        const struct run *b = &rs->v[i];
        if (done[i] || strcmp(a->test, b->test) != 0 || a->n_threads != b->n_threads || a->bytes_thread != b->bytes_thread)
            continue;
        done[i] = true;
        if (n < MAX_SAMPLES)
            v[n++] = 1e6 * (peak ? b->mflop_s : b->mbyte_s);
    }
    p.value = stats_median(v, n);
    p.n_samples = (int)n;
    if (n >= 3)
        stats_median_ci(v, n, &p.ci_lo, &p.ci_hi);
    return p;
}

static int add_peak(struct import *im, const struct run *r, const struct loop *p, const struct hw_point *at, struct error *err)
{
    char where[48];
    struct ceiling c = import_ceiling("compute", "", "FLOP/s", at->value, (int)r->n_threads);
    snprintf(where, sizeof where, "line %d: MFlops/s", r->line);
    snprintf(c.dtype, sizeof c.dtype, "%s", p->dtype);
    snprintf(c.isa, sizeof c.isa, "%s", p->isa);
    snprintf(c.name, sizeof c.name, "%s %s %dt", p->dtype, p->isa, (int)r->n_threads);
    snprintf(c.kernel, sizeof c.kernel, "likwid-bench %.32s", r->test);
    c.ci_lo = at->ci_lo;
    c.ci_hi = at->ci_hi;
    c.n_samples = at->n_samples;
    return import_add(im, &c, where, err);
}

static int add_bandwidth(struct import *im, const struct run *r, const struct loop *p, const struct hw_point *at, const char *level,
                         struct error *err)
{
    char where[48];
    struct ceiling c = import_ceiling("bandwidth", level, "B/s", at->value, (int)r->n_threads);
    snprintf(where, sizeof where, "line %d: MByte/s", r->line);
    snprintf(c.op, sizeof c.op, "%s", p->op);
    snprintf(c.isa, sizeof c.isa, "%s", p->isa);
    snprintf(c.name, sizeof c.name, "%s %s %dt", p->op, level, (int)r->n_threads);
    snprintf(c.kernel, sizeof c.kernel, "likwid-bench %.32s", r->test);
    c.footprint_bytes = at->x;
    c.ci_lo = at->ci_lo;
    c.ci_hi = at->ci_hi;
    c.n_samples = at->n_samples;
    return import_add(im, &c, where, err);
}

static int by_x(const void *a, const void *b)
{
    const struct hw_point *p = a, *q = b;
    return p->x < q->x ? -1 : p->x > q->x;
}

/* Curve over all footprints of one test and thread count. */
static int add_curve(struct import *im, const struct run *r, const struct loop *p, struct hw_point *point, size_t n, struct error *err)
{
    struct hw_curve c = { .x = "footprint_bytes", .kind = "bandwidth", .unit = "B/s", .n_threads = (int)r->n_threads, .point = point,
                          .n_point = n };
    qsort(point, n, sizeof *point, by_x);
    snprintf(c.name, sizeof c.name, "%s %s footprint %dt", p->op, p->isa, c.n_threads);
    if (hwprofile_curve(im->h, c.name)) /* same op by another loop (stream_sp_avx and stream_avx) */
        snprintf(c.name, sizeof c.name, "%s %.20s footprint %dt %.24s", p->op, p->isa, c.n_threads, r->test);
    snprintf(c.op, sizeof c.op, "%s", p->op);
    snprintf(c.isa, sizeof c.isa, "%s", p->isa);
    snprintf(c.kernel, sizeof c.kernel, "likwid-bench %.32s", r->test);
    return hwprofile_add_curve(im->h, &c, err);
}

/* Remaining runs with the test and thread count of rs->v[first]. */
static int add_loop(struct import *im, const struct runs *rs, size_t first, struct hw_point *point, bool *done, struct error *err)
{
    const struct run *a = &rs->v[first];
    struct loop p = find_loop(a->test);
    size_t n = 0;
    bool peak = p.op && !*p.op;
    if (!p.op)
        import_skip(im, a->test);
    for (size_t i = first; i < rs->n; i++) {
        const struct run *r = &rs->v[i];
        if (done[i] || strcmp(r->test, a->test) != 0 || r->n_threads != a->n_threads)
            continue;
        struct hw_point at = sample(rs, i, peak, done);
        const char *level = level_of(im->o->caches, at.x, (int)r->n_threads);
        int rc = !p.op ? 0 : peak ? add_peak(im, r, &p, &at, err) : *level ? add_bandwidth(im, r, &p, &at, level, err) : 0;
        if (rc != 0)
            return -1;
        point[n++] = at;
    }
    return p.op && !peak ? add_curve(im, a, &p, point, n, err) : 0;
}

static int add_all(struct import *im, const struct runs *rs, struct error *err)
{
    bool *done = calloc(rs->n + 1, sizeof *done);
    struct hw_point *point = calloc(rs->n + 1, sizeof *point);
    int rc = done && point ? 0 : error_oom(err, rs->n * sizeof *point, "runs");
    for (size_t i = 0; i < rs->n && rc == 0; i++) {
        const struct run *r = &rs->v[i];
        const char *op = find_loop(r->test).op;
        if (op)
            rc = import_check_value(im, 1e6 * (*op ? r->mbyte_s : r->mflop_s), r->line, *op ? "MByte/s" : "MFlops/s", err);
    }
    for (size_t i = 0; i < rs->n && rc == 0; i++)
        if (!done[i])
            rc = add_loop(im, rs, i, point, done, err);
    free(done);
    free(point);
    return rc;
}

/* Caches are those of the measured machine. */
static int copy_topology(struct hwprofile *to, const struct hwprofile *from, struct error *err)
{
    to->cache = calloc(from->n_cache, sizeof *to->cache);
    if (!to->cache)
        return error_oom(err, from->n_cache * sizeof *to->cache, "caches");
    memcpy(to->cache, from->cache, from->n_cache * sizeof *to->cache);
    to->n_cache = from->n_cache;
    memcpy(to->cpu_model, from->cpu_model, sizeof to->cpu_model);
    memcpy(to->isa, from->isa, sizeof to->isa);
    to->n_packages = from->n_packages;
    to->n_cores = from->n_cores;
    to->n_pus = from->n_pus;
    to->n_numa = from->n_numa;
    return 0;
}

int import_likwid(struct import *im, struct error *err)
{
    struct runs rs = { 0 };
    int rc = read_runs(im, &rs, err);
    if (rc == 0 && rs.n == 0)
        rc = error_set(err, ERROR_INPUT, "%s: expected runs of likwid-bench (\"Test: NAME\"), found none", im->file);
    rc = rc ? rc : add_all(im, &rs, err);
    free(rs.v);
    if (rc != 0 || (im->o->caches && copy_topology(im->h, im->o->caches, err) != 0))
        return -1;
    snprintf(im->h->name, sizeof im->h->name, "%.100s (likwid-bench)", im->o->caches ? im->o->caches->name : "a machine");
    strbuf_adds(im->notes, "likwid-bench counts what its loops load and store, not the lines that a store fetches first.\n");
    if (!im->o->caches)
        strbuf_adds(im->notes, "It does not say which level served a loop: name the machine's caches (--hw) to have roofs, not only curves.\n");
    return 0;
}
