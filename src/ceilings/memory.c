/*
 * Provider of memory roofs: per thread count a row per op and level, the same over footprint, and what curves.c, latency.c and nodes.c
 * add. Variants are the kernels of an op; curve points use the fastest kernel of their level's row. Source: methods.md (73), (75).
 */
#include "config.h"
#include "ceilings/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct read_kernel *const tables[] = {
    ceilings_ref_read,
#ifdef HAVE_ISA_AVX2
    ceilings_avx2_read,
#endif
#ifdef HAVE_ISA_AVX512
    ceilings_avx512_read,
#endif
#ifdef HAVE_ISA_NEON
    ceilings_neon_read,
#endif
};

const char *const level_names[LEVEL_COUNT] = { "L1", "L2", "L3", "DRAM" };

const struct read_kernel *read_kernel_at(size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        for (const struct read_kernel *k = tables[t]; k->run; k++)
            if (i-- == 0)
                return k;
    return NULL;
}

bool read_kernel_wanted(const struct read_kernel *k, unsigned cpu_flags)
{
    if (k->need)
        return (k->need & cpu_flags) == k->need;
    const struct read_kernel *o;
    for (size_t i = 0; (o = read_kernel_at(i)) != NULL; i++)
        if (o->need && (o->need & cpu_flags) == o->need)
            return false;
    return true;
}

/* ---- a sample ------------------------------------------------------------------------------------ */

struct sweep {
    const struct harness *m;
    const struct streams *d;
    struct mem_kernel k;
    uint64_t n; /* 0: page translations only */
};

static void sweep_part(const struct sweep *s, unsigned char *p)
{
    const size_t room = mem_room_bytes(s->d->op, s->d->bytes);
    p += s->d->window * room;
    if (s->n == 0)
        harness_warm_tlb(p, room);
    else
        mem_run(&s->k, s->d->op, p, s->d->bytes, s->n);
}

static void run_sweep(void *arg, int tid)
{
    const struct sweep *s = arg;
    size_t bytes;
    const struct streams *d = s->d;
    if (tid >= d->n_active)
        return;
    if (d->pages) {
        sweep_part(s, d->pages->mem + (size_t)tid * d->pages_each);
        return;
    }
    for (int i = 0; i < (d->chunk ? d->n_chunk : 1); i++)
        sweep_part(s, harness_memory(s->m, d->chunk ? d->chunk[tid * d->n_chunk + i] : tid, &bytes));
}

static void warm_window_tlb(void *arg, int tid, int n_threads)
{
    (void)n_threads;
    run_sweep(arg, tid);
}

const struct mem_kernel *streams_kernel(const struct benchmark *j, int variant)
{
    const struct streams *d = j->data;
    if (!d->like)
        return &d->kernel[variant];
    return d->like->chosen ? streams_kernel(d->like, d->like->variant) : NULL;
}

void streams_only(struct benchmark *j, const char *text)
{
    struct streams *d = j->data;
    for (int i = 0; i < j->n_variant; i++) {
        const char *its = mem_kernel_text(&d->kernel[i]);
        const size_t n = strlen(its);
        if (strncmp(its, text, n) == 0 && (text[n] == '\0' || text[n] == ',')) { /* rows append how much they read */
            d->kernel[0] = d->kernel[i];
            j->n_variant = 1;
        }
    }
}

void streams_sample(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    struct streams *d = j->data;
    const struct mem_kernel *k = streams_kernel(j, variant);
    if (!k)
        return; /* the row it follows has no kernel */
    struct sweep w = { m, d, *k, n }, once = { m, d, *k, 1 }, pages = { m, d, *k, 0 };
    if (d->n_window == 0)
        harness_fill_cache(m, j, run_sweep, &once);
    else
        m->warm = j;
    if (d->n_window) /* read long ago */
        team_run(m->team, warm_window_tlb, &pages);
    harness_time(m, run_sweep, &w, NULL, s);
    if (d->n_window)
        d->window = (d->window + 1) % d->n_window;
    const double streams = (double)mem_op_streams(d->op) * (double)mem_stream_bytes(d->op, d->bytes);
    const double sweep = (d->op == MEM_READ ? (double)d->bytes : streams) * (d->chunk ? d->n_chunk : 1);
    s->value = s->seconds > 0 ? sweep * (double)n * d->n_active / s->seconds : NAN;
}

/* ---- explicit page sizes ---- */

struct touching {
    struct pages *p;
    size_t each;
};

static void touch_part(void *arg, int tid, int n_threads)
{
    const struct touching *t = arg;
    (void)n_threads;
    pages_touch(t->p, t->each * (size_t)tid, t->each);
}

static int prepare_pages(struct benchmark *j, struct harness *m, struct error *err)
{
    struct streams *d = j->data;
    char why[128];
    d->pages_each = size_align_up(mem_room_bytes(d->op, d->bytes) * (d->n_window ? d->n_window : 1), 2 << 20);
    struct pages *p = calloc(1, sizeof *p);
    if (!p)
        return error_oom(err, sizeof *p, "a memory test");
    d->pages = p;
    if (pages_map(p, d->pages_each * (size_t)m->n, d->page_kind, err) != 0)
        return -1;
    struct touching t = { p, d->pages_each };
    team_run(m->team, touch_part, &t);
    if (interrupt_check(err) != 0)
        return -1;
    pages_check(p, why, sizeof why);
    return why[0] ? error_set(err, ERROR_UNAVAILABLE, "%s", why) : 0;
}

void streams_free(struct benchmark *j)
{
    struct streams *d = j->data;
    if (d && d->pages) {
        pages_unmap(d->pages);
        free(d->pages);
    }
    if (d)
        free(d->chunk);
    free(d);
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static const char *page_text(enum page_kind k)
{
    switch (k) {
    case PAGES_DEFAULT:
        return "";
    case PAGES_4K:
        return "4K";
    case PAGES_2M:
        return "2M";
    }
    return "";
}

/* "read DRAM 2t", "copy DRAM 4K 2t" */
static void name_row(struct ceiling *c, enum mem_op op, enum level level, enum page_kind kind, int n_threads)
{
    const char *pages = page_text(kind);
    snprintf(c->name, sizeof c->name, "%s %s%s%s %dt", mem_op_name(op), level_names[level], pages[0] ? " " : "", pages,
             n_threads);
    roof_describe(c, &(struct roof_texts){ .kind = "bandwidth", .op = mem_op_name(op), .level = level_names[level], .pages = pages, .unit = "B/s" });
}

static int keep_row(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct streams *d = j->data;
    const struct mem_kernel *k = streams_kernel(j, j->variant);
    const bool dram = d->level == LEVEL_DRAM;
    const double bytes = dram ? (double)(d->bytes + MEM_GAPS) * (double)d->n_window * m->n : (double)d->bytes;
    char size[32];
    const bool gib = bytes >= 1073741824.0, mib = bytes >= 1048576.0;
    name_row(c, d->op, d->level, d->page_kind, m->n);
    c->footprint_bytes = dram ? (double)d->bytes * (double)d->n_window : (double)d->bytes;
    snprintf(size, sizeof size, "%.3g %s", bytes / (gib ? 1073741824.0 : mib ? 1048576.0 : 1024.0),
             gib ? "GiB" : mib ? "MiB" : "KiB");
    if (k)
        snprintf(c->isa, sizeof c->isa, "%s", mem_kernel_isa(k));
    if (k && !isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "%.24s, %.12s%s", mem_kernel_text(k), size,
                 dram ? (m->mem_small ? " <4 LLC" : "") : "/thread");
    return hwprofile_add_ceiling(h, c, err);
}

static const struct benchmark_class row_class = { .sample = streams_sample, .keep = keep_row, .free = streams_free };
static const struct benchmark_class paged_row_class = { .prepare = prepare_pages, .sample = streams_sample,
                                                  .keep = keep_row, .free = streams_free };

struct benchmark *streams_add(struct benchmark_list *l, const struct benchmark_class *class, const struct streams *d, struct error *err)
{
    struct streams *copy = malloc(sizeof *copy);
    struct benchmark *j = copy ? benchmark_add(l, class, err) : NULL;
    if (!copy)
        error_oom(err, sizeof *copy, "a bandwidth roof");
    if (!j) {
        free(d->chunk);
        free(copy);
        return NULL;
    }
    *copy = *d;
    j->data = copy;
    return j;
}

static struct benchmark *add_row(struct benchmark_list *l, struct streams *d, unsigned cpu_flags, struct error *err)
{
    int n = 0;
    while (n < BENCHMARK_MAX_VARIANTS && mem_kernel_find(&d->kernel[n], d->op, d->level, cpu_flags, (size_t)n))
        n++;
    if (n == 0) {
        error_set(err, ERROR_UNAVAILABLE, "no instruction for it");
        return NULL;
    }
    struct benchmark *j = streams_add(l, d->page_kind == PAGES_DEFAULT ? &row_class : &paged_row_class, d, err);
    if (!j)
        return NULL;
    j->n_variant = n;
    j->once = d->n_window > 0;
    snprintf(j->what, sizeof j->what, "%s %s", mem_op_name(d->op), level_names[d->level]);
    return j;
}

/* One of n_window windows per sample in turn, so that no cache holds it. */
static struct benchmark *add_dram(struct benchmark_list *l, const struct harness *m, enum mem_op op, size_t n_window, unsigned cpu_flags,
                            struct error *err)
{
    struct streams d = { .op = op, .level = LEVEL_DRAM, .n_window = n_window, .n_active = m->n };
    d.bytes = (m->chunk_bytes / n_window - MEM_GAPS) / 4096 * 4096;
    return add_row(l, &d, cpu_flags, err);
}

struct benchmark *memory_add_dram(struct benchmark_list *l, struct harness *m, size_t n_window, unsigned cpu_flags, struct error *err)
{
    return add_dram(l, m, MEM_READ, n_window, cpu_flags, err);
}

/* Records a missing level with its reason. */
static int add_unavailable(struct hwprofile *h, enum mem_op op, enum level level, int n, const char *why, struct error *err)
{
    struct ceiling c = { .n_threads = n, .value = NAN, .ci_lo = NAN, .ci_hi = NAN, .clock_hz = NAN,
                         .per_cycle = NAN, .issue_fraction = NAN, .footprint_bytes = NAN };
    name_row(&c, op, level, PAGES_DEFAULT, n);
    snprintf(c.kernel, sizeof c.kernel, "unavailable: %.34s", why);
    return hwprofile_add_ceiling(h, &c, err);
}

/* ---- the plan --------------------------------------------------------------------------------------- */

/* coverage per effort */
static const struct memory_effort efforts[] = {
    [CEILINGS_QUICK] = { .n_window = 8, .per_octave = 2, .chase_per_octave = 1 },
    [CEILINGS_DEFAULT] = { .n_window = 4, .per_octave = 4, .chase_per_octave = 2, .all_ops = true, .pages = true },
    [CEILINGS_FULL] = { .n_window = 4, .per_octave = 8, .chase_per_octave = 4, .all_ops = true, .pages = true,
                        .all_curves = true },
    [CEILINGS_BRIEF] = { .n_window = 4, .per_octave = 1, .chase_per_octave = 1, .brief = true },
};

/* Rows of an op at every level; rows[level]: benchmark, NULL: none. */
static int plan_rows(struct benchmark_list *l, struct harness *m, enum mem_op op, struct benchmark *rows[LEVEL_COUNT], struct hwprofile *h,
                     const struct memory_effort *e, unsigned cpu_flags, struct error *err)
{
    for (int i = LEVEL_L1; i < LEVEL_COUNT; i++) {
        const enum level level = (enum level)i;
        const char *why = "";
        struct streams d = { .op = op, .level = level, .n_active = m->n };
        rows[i] = NULL;
        if (level != LEVEL_DRAM && (op == MEM_WRITE_NT || (op != MEM_READ && !e->all_ops)))
            continue; /* non-temporal stores bypass caches; or not in this effort */
        if (level != LEVEL_DRAM)
            d.bytes = footprint_of_cache(&m->topology, m->cpu, (size_t)m->n, level, &why);
        if (level != LEVEL_DRAM && d.bytes == 0) {
            if (add_unavailable(h, op, level, m->n, why, err) != 0)
                return -1;
            continue;
        }
        if (mem_room_bytes(op, d.bytes) > m->chunk_bytes)
            d.bytes = (m->chunk_bytes - MEM_GAPS) / 4096 * 4096;
        rows[i] = level == LEVEL_DRAM ? add_dram(l, m, op, e->n_window, cpu_flags, err) : add_row(l, &d, cpu_flags, err);
        if (!rows[i] && err->kind != ERROR_UNAVAILABLE)
            return -1;
        if (!rows[i] && add_unavailable(h, op, level, m->n, err->msg, err) != 0)
            return -1;
        if (rows[i])
            rows[i]->weight = op == MEM_READ ? (level == LEVEL_DRAM ? 8 : 4) : 2;
    }
    return 0;
}

/* DRAM read in 4K and 2M pages from a separate mapping: half of the rows' memory, at least twice the caches, since touching it
 * dominates. */
static int plan_pages(struct benchmark_list *l, struct harness *m, const struct memory_effort *e, unsigned cpu_flags,
                      struct error *err)
{
    static const enum page_kind kinds[] = { PAGES_4K, PAGES_2M };
    const size_t bytes = (size_t)harness_dram_bytes(m) / (m->mem_small ? 1 : 2);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct streams d = { .op = MEM_READ, .level = LEVEL_DRAM, .n_window = e->n_window, .n_active = m->n,
                             .page_kind = kinds[i] };
        d.bytes = (bytes / (size_t)m->n / e->n_window - MEM_GAPS) / 4096 * 4096;
        struct benchmark *j = add_row(l, &d, cpu_flags, err);
        if (!j)
            return -1;
        snprintf(j->what, sizeof j->what, "read DRAM %s", page_text(kinds[i]));
        j->weight = 2;
    }
    return 0;
}

static int plan(struct benchmark_list *l, struct harness *m, struct hwprofile *h, const struct ceilings_options *o,
                struct error *err)
{
    const struct memory_effort *e = &efforts[o->effort];
    const bool last = m->n == o->n_threads;
    struct benchmark *rows[MEM_OPS][LEVEL_COUNT] = { { NULL } };
    for (int op = MEM_READ; op < MEM_OPS; op++) {
        if (op != MEM_READ && !e->all_ops && !last)
            continue;
        if (plan_rows(l, m, (enum mem_op)op, rows[op], h, e, o->cpu_flags, err) != 0)
            return -1;
    }
    for (int op = MEM_READ; op < MEM_OPS && !e->brief; op++)
        if ((op == MEM_READ || e->all_curves || (e->all_ops && last)) && op != MEM_WRITE_NT &&
            curves_plan_footprints(l, m, (enum mem_op)op, rows[op], e, err) != 0)
            return -1;
    if (e->pages && plan_pages(l, m, e, o->cpu_flags, err) != 0)
        return -1;
    if (last && m->n > 1 && !e->brief && curves_plan_threads(l, m, rows[MEM_READ], err) != 0)
        return -1;
    if (gather_plan(l, m, e, o->cpu_flags, err) != 0)
        return -1;
    if (m->n == 1 && latency_plan(l, m, e, err) != 0)
        return -1;
    if (last && m->n > 1 && !e->brief && latency_plan_loaded(l, m, rows[MEM_READ][LEVEL_DRAM], err) != 0)
        return -1;
    return last && nodes_plan(l, m, rows[MEM_READ][LEVEL_DRAM], e, err) != 0 ? -1 : 0;
}

const struct ceilings_provider ceilings_memory = { "memory", 1, plan };
