/*
 * Latency of dependent loads: per level, over footprint in large and small pages, and under load from other threads. Source: methods.md
 * (77).
 */
#include "ceilings/memory.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GRID = 256 };

/* ---- pointer-chase benchmark ---- */

struct benchmark *chase_add(struct benchmark_list *l, const struct benchmark_class *class, const struct chase *d, enum page_kind kind,
                      struct error *err)
{
    struct chase *copy = malloc(sizeof *copy);
    struct chase_memory *mem = d->mem ? d->mem : calloc(1, sizeof *mem);
    struct benchmark *j = copy && mem ? benchmark_add(l, class, err) : NULL;
    if (!j) {
        if (!copy || !mem)
            error_oom(err, sizeof *copy, "a latency");
        if (!d->mem)
            free(mem);
        free(copy);
        return NULL;
    }
    *copy = *d;
    copy->mem = mem;
    copy->slot = mem->n_slots++;
    mem->n_jobs++;
    if (!d->mem) {
        mem->kind = kind;
        mem->mem_node = -1;
    }
    if (d->bytes > mem->bytes)
        mem->bytes = d->bytes;
    j->data = copy;
    return j;
}

void chase_free(struct benchmark *j)
{
    struct chase *d = j->data;
    if (d && --d->mem->n_jobs == 0) {
        pages_unmap(&d->mem->pages);
        free(d->mem);
    }
    free(d);
}

struct touching {
    struct chase_memory *mem;
    int tid;
};

static void touch(void *arg, int tid, int n_threads)
{
    const struct touching *t = arg;
    (void)n_threads;
    if (tid == t->tid)
        pages_touch(&t->mem->pages, 0, t->mem->bytes);
}

static int map_shared(struct chase_memory *mem, struct harness *m, int tid, struct error *err)
{
    if (pages_map(&mem->pages, mem->bytes, mem->kind, err) != 0)
        return -1;
    mem->ready = true;
    if (mem->mem_node >= 0 && pages_bind(&mem->pages, mem->mem_node, err) != 0) {
        snprintf(mem->why, sizeof mem->why, "%.120s", err->msg);
        return 0;
    }
    struct touching t = { mem, tid };
    team_run(m->team, touch, &t);
    if (interrupt_check(err) != 0)
        return -1;
    pages_check(&mem->pages, mem->why, sizeof mem->why);
    return 0;
}

int chase_prepare(struct benchmark *j, struct harness *m, struct error *err)
{
    struct chase *d = j->data;
    if (!d->mem->ready && map_shared(d->mem, m, d->tid, err) != 0)
        return -1;
    if (d->mem->why[0])
        return error_set(err, ERROR_UNAVAILABLE, "%s", d->mem->why);
    chase_build(d->mem->pages.mem, d->bytes, d->slot, 1);
    d->at = (void **)d->mem->pages.mem + d->slot;
    return 0;
}

/* A sample: the chase, and the others' traffic meanwhile. */
struct chasing {
    const struct harness *m;
    struct chase *d;
    uint64_t n;
    double seconds; /* of the chase */
    const struct mem_kernel *k;
    bool cold; /* caches hold another benchmark's data */
    _Atomic bool done;
    _Atomic uint64_t n_block; /* blocks read by the others so far */
    uint64_t n_beside;        /* during the chase */
};
enum { BLOCK_BYTES = 16384 };

static void load(struct chasing *c, int tid)
{
    size_t bytes, at = 0;
    unsigned char *p = harness_memory(c->m, tid, &bytes);
    int n = 0;
    while (!atomic_load_explicit(&c->done, memory_order_relaxed)) {
        mem_run(c->k, MEM_READ, p + at, BLOCK_BYTES, 1);
        at = at + 2 * BLOCK_BYTES <= bytes ? at + BLOCK_BYTES : 0;
        if (++n == c->m->n) { /* one sweep per n calls */
            atomic_fetch_add_explicit(&c->n_block, (uint64_t)n, memory_order_relaxed);
            n = 0;
        }
        if (c->d->pause)
            (void)clock_chain_hz(NULL, c->d->pause);
    }
}

static void chase_one(void *arg, int tid)
{
    struct chasing *c = arg;
    struct chase *d = c->d;
    if (tid != d->tid) {
        if (c->k && d->pause != UINT64_MAX)
            load(c, tid);
        return;
    }
    for (size_t i = 0; c->cold && i < d->bytes; i += CHASE_LINE)
        (void)*(volatile const unsigned char *)(d->mem->pages.mem + i);
    /* Traffic before the chase started does not count. */
    const uint64_t before = atomic_load(&c->n_block);
    const double t0 = clock_now_s();
    chase_run(&d->at, c->n);
    c->seconds = clock_now_s() - t0;
    c->n_beside = atomic_load(&c->n_block) - before;
    atomic_store(&c->done, true);
}

void chase_sample(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    struct chase *d = j->data;
    struct chasing c = { .m = m, .d = d, .n = d->unit ? n * d->unit : n, .seconds = NAN };
    (void)variant;
    if (!d->at)
        return;
    if (d->read)
        c.k = streams_kernel(d->read, d->read->variant);
    c.cold = m->warm != j;
    m->warm = j;
    harness_time(m, chase_one, &c, NULL, s);
    s->value = c.seconds / (double)c.n;
    if (j->n_sample < BENCHMARK_MAX_SAMPLES)
        d->load_bytes_s[j->n_sample] = (double)c.n_beside * BLOCK_BYTES / c.seconds;
}

/* ---- rows and curves ---- */

static const char *pages_text(enum page_kind kind)
{
    return kind == PAGES_4K ? "4K" : kind == PAGES_2M ? "2M" : "";
}

static int keep_row(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct chase *d = j->data;
    const char *pages = pages_text(d->mem->kind);
    (void)m;
    snprintf(c->name, sizeof c->name, "chase %s%s%s 1t", level_names[d->level], pages[0] ? " " : "", pages);
    roof_describe(c, &(struct roof_texts){ .kind = "latency", .op = "chase", .level = level_names[d->level], .pages = pages, .unit = "s",
                                           .isa = "scalar" });
    c->footprint_bytes = (double)d->bytes;
    c->per_cycle = NAN;
    c->n_threads = 1;
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "a load a line, %.1f cycles", c->value * c->clock_hz);
    return hwprofile_add_ceiling(h, c, err);
}

static void fill_head(struct hw_curve *head, const struct ceiling *c, const char *x, const char *level, const char *pages)
{
    roof_curve(head, c, x, "a load a line", &(struct roof_texts){ .kind = "latency", .op = "chase", .unit = "s", .level = level, .pages = pages });
}

static int keep_footprint(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct chase *d = j->data;
    const struct hw_point p = { (double)d->bytes, c->value, c->ci_lo, c->ci_hi, c->n_samples };
    struct hw_curve head;
    fill_head(&head, c, "footprint_bytes", NULL, pages_text(d->mem->kind));
    snprintf(head.name, sizeof head.name, "chase footprint %s %dt", head.pages, m->n);
    head.n_threads = m->n;
    return isnan(c->value) ? 0 : curves_add_point(h, &head, &p, err);
}

static const struct benchmark_class row_class = { .lower = true, .prepare = chase_prepare, .sample = chase_sample,
                                            .keep = keep_row, .free = chase_free };
static const struct benchmark_class footprint_class = { .lower = true, .prepare = chase_prepare, .sample = chase_sample,
                                                  .keep = keep_footprint, .free = chase_free };

static size_t memory_footprint(const struct harness *m, const struct memory_effort *e)
{
    const double far = harness_dram_bytes(m);
    return (size_t)(e->brief ? fmin(far, 1 << 23) : far) / 4096 * 4096;
}

static int plan_rows(struct benchmark_list *l, struct harness *m, const struct memory_effort *e, struct error *err)
{
    struct chase d = { .tid = 0 };
    for (int i = LEVEL_DRAM; i >= LEVEL_L1; i--) {
        const char *why;
        d.level = (enum level)i;
        d.bytes = i == LEVEL_DRAM ? memory_footprint(m, e) : footprint_of_cache(&m->topology, m->cpu, 1, d.level, &why);
        if (d.bytes == 0)
            continue; /* reported by the level's read row */
        struct benchmark *j = chase_add(l, &row_class, &d, PAGES_DEFAULT, err);
        if (!j)
            return -1;
        d.mem = ((struct chase *)j->data)->mem;
        snprintf(j->what, sizeof j->what, "latency of %s", level_names[i]);
        j->weight = 2;
    }
    d = (struct chase){ .level = LEVEL_DRAM, .bytes = memory_footprint(m, e) };
    struct benchmark *j = e->pages ? chase_add(l, &row_class, &d, PAGES_4K, err) : NULL;
    if (e->pages && !j)
        return -1;
    if (j)
        snprintf(j->what, sizeof j->what, "latency of DRAM, 4K pages");
    return 0;
}

/* Largest first; CHASE_SLOTS footprints share the memory of the largest. */
static int plan_curve(struct benchmark_list *l, struct harness *m, const struct memory_effort *e, enum page_kind kind, struct error *err)
{
    size_t bytes[MAX_GRID];
    struct chase d = { .tid = 0 };
    const size_t n = footprint_grid(4096, (double)memory_footprint(m, e), e->chase_per_octave, bytes, MAX_GRID);
    for (size_t i = n; i-- > 0;) {
        d.bytes = bytes[i];
        if (d.mem && d.mem->n_slots == CHASE_SLOTS)
            d.mem = NULL;
        struct benchmark *j = chase_add(l, &footprint_class, &d, kind, err);
        if (!j)
            return -1;
        d.mem = ((struct chase *)j->data)->mem;
        snprintf(j->what, sizeof j->what, "latency of %zu KiB, %s pages", bytes[i] / 1024, pages_text(kind));
        j->weight = 0.5;
    }
    return 0;
}

int latency_plan(struct benchmark_list *l, struct harness *m, const struct memory_effort *e, struct error *err)
{
    if (plan_rows(l, m, e, err) != 0 || (!e->brief && plan_curve(l, m, e, PAGES_2M, err) != 0))
        return -1;
    return e->pages ? plan_curve(l, m, e, PAGES_4K, err) : 0;
}

/* ---- loaded latency ---- */

static int keep_loaded(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct chase *d = j->data;
    struct hw_curve head;
    if (isnan(c->value))
        return 0;
    const struct hw_point p = { stats_median(d->load_bytes_s, (size_t)j->n_sample), c->value, c->ci_lo, c->ci_hi, c->n_samples };
    fill_head(&head, c, "bytes_s", "DRAM", NULL);
    snprintf(head.name, sizeof head.name, "loaded latency %dt", m->n);
    head.n_threads = m->n;
    return curves_add_point(h, &head, &p, err);
}

static const struct benchmark_class loaded_class = { .lower = true, .prepare = chase_prepare, .sample = chase_sample,
                                               .keep = keep_loaded, .free = chase_free };

int latency_plan_loaded(struct benchmark_list *l, struct harness *m, const struct benchmark *read, struct error *err)
{
    /* pauses of 32 cycles between 16 KiB blocks */
    static const uint64_t pause[] = { UINT64_MAX, 2048, 512, 128, 64, 32, 16, 0 };
    static const struct memory_effort whole = { .brief = false };
    /* about a millisecond per repetition, so that the load is steady */
    struct chase d = { .tid = 0, .read = read, .level = LEVEL_DRAM, .bytes = memory_footprint(m, &whole), .unit = 8192 };
    for (size_t i = 0; read && i < ARRAY_LEN(pause); i++) {
        d.pause = pause[i];
        struct benchmark *j = chase_add(l, &loaded_class, &d, PAGES_DEFAULT, err);
        if (!j)
            return -1;
        d.mem = ((struct chase *)j->data)->mem;
        snprintf(j->what, sizeof j->what, "latency under load, step %zu of %zu", i + 1, ARRAY_LEN(pause));
    }
    return 0;
}
