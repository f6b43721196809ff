/* The provider of bandwidth roofs: a job per memory level, with the read loops that fit it as its variants. */
#include "config.h"
#include "ceilings/internal.h"
#include <math.h>
#include <stdlib.h>

static const struct read_kernel *const tables[] = {
    ceilings_ref_read,
#ifdef HAVE_ISA_AVX2
    ceilings_avx2_read,
#endif
#ifdef HAVE_ISA_AVX512
    ceilings_avx512_read,
#endif
};

static const char *const level_names[LEVEL_COUNT] = { "L1", "L2", "L3", "DRAM" };

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

/* A job's data. */
struct reads {
    enum level level;
    size_t bytes;            /* of one thread */
    size_t n_window, window; /* the thread's memory holds that many; each sample takes the next one */
    const struct read_kernel *kernel[JOB_MAX_VARIANTS];
};

struct sweep {
    const struct meter *m;
    const struct reads *r;
    const struct read_kernel *k;
    uint64_t n;
};

static void run_sweep(void *arg, int tid)
{
    const struct sweep *s = arg;
    size_t bytes;
    const unsigned char *p = meter_memory(s->m, tid, &bytes);
    s->k->run(p + s->r->window * s->r->bytes, s->r->bytes, s->n);
}

static void sample_read(struct job *j, struct meter *m, int variant, uint64_t n, struct sample *s)
{
    struct reads *r = j->data;
    struct sweep w = { m, r, r->kernel[variant], n };
    meter_time(m, run_sweep, &w, NULL, s);
    if (r->n_window)
        r->window = (r->window + 1) % r->n_window;
    s->value = s->seconds > 0 ? (double)r->bytes * (double)n * m->n / s->seconds : NAN;
}

static void name_level(struct ceiling *c, enum level level, int n_threads)
{
    snprintf(c->name, sizeof c->name, "read %s %dt", level_names[level], n_threads);
    snprintf(c->kind, sizeof c->kind, "bandwidth");
    snprintf(c->op, sizeof c->op, "read");
    snprintf(c->level, sizeof c->level, "%s", level_names[level]);
    snprintf(c->unit, sizeof c->unit, "B/s");
}

static int keep_read(const struct job *j, const struct meter *m, struct ceiling *c, struct hwprofile *h,
                     struct error *err)
{
    const struct reads *r = j->data;
    const struct read_kernel *k = r->kernel[j->variant];
    const bool dram = r->level == LEVEL_DRAM;
    const double bytes = dram ? (double)m->mem_bytes : (double)r->bytes;
    char size[32];
    const bool gib = bytes >= 1073741824.0, mib = bytes >= 1048576.0;
    name_level(c, r->level, m->n);
    snprintf(c->isa, sizeof c->isa, "%s", k->isa);
    c->footprint_bytes = dram ? (double)m->chunk_bytes : (double)r->bytes;
    snprintf(size, sizeof size, "%.3g %s", bytes / (gib ? 1073741824.0 : mib ? 1048576.0 : 1024.0),
             gib ? "GiB" : mib ? "MiB" : "KiB");
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "%.24s, %.12s%s", k->text, size,
                 dram ? (m->mem_small ? " <4 LLC" : "") : "/thread");
    return hwprofile_add_ceiling(h, c, err);
}

static void free_read(struct job *j)
{
    free(j->data);
}

static const struct job_class read_class = { .sample = sample_read, .keep = keep_read, .free = free_read };

static struct job *add_level(struct job_list *l, struct meter *m, enum level level, size_t bytes, size_t n_window,
                             unsigned cpu_flags, struct error *err)
{
    const struct read_kernel *k;
    struct reads *r = calloc(1, sizeof *r);
    struct job *j = r ? job_add(l, &read_class, err) : NULL;
    if (!r)
        error_oom(err, sizeof *r, "a bandwidth roof");
    if (!j) {
        free(r);
        return NULL;
    }
    *r = (struct reads){ .level = level, .n_window = n_window };
    r->bytes = n_window ? m->chunk_bytes / n_window / 4096 * 4096 : bytes < m->chunk_bytes ? bytes : m->chunk_bytes;
    j->data = r;
    j->n_variant = 0;
    j->once = n_window > 0;
    snprintf(j->what, sizeof j->what, "read %s", level_names[level]);
    for (size_t i = 0; (k = read_kernel_at(i)) != NULL && j->n_variant < JOB_MAX_VARIANTS; i++)
        if (read_kernel_wanted(k, cpu_flags) && (level >= LEVEL_L3 ? k->far : k->near))
            r->kernel[j->n_variant++] = k;
    return j;
}

struct job *memory_add_dram(struct job_list *l, struct meter *m, size_t n_window, unsigned cpu_flags, struct error *err)
{
    return add_level(l, m, LEVEL_DRAM, 0, n_window, cpu_flags, err);
}

/* A level that is not there is said, not left out. */
static int add_unavailable(struct hwprofile *h, enum level level, int n, struct error *err)
{
    struct ceiling c = { .n_threads = n, .value = NAN, .ci_lo = NAN, .ci_hi = NAN, .clock_hz = NAN,
                         .per_cycle = NAN, .issue_fraction = NAN, .footprint_bytes = NAN };
    name_level(&c, level, n);
    snprintf(c.kernel, sizeof c.kernel, "unavailable: hwloc reports no %s", level_names[level]);
    return hwprofile_add_ceiling(h, &c, err);
}

static int plan(struct job_list *l, struct meter *m, struct hwprofile *h, const struct ceilings_options *o,
                struct error *err)
{
    for (int i = LEVEL_L1; i <= LEVEL_L3; i++) {
        const enum level level = (enum level)i;
        const size_t bytes = footprint_cache(h, level, m->n);
        if (bytes ? !add_level(l, m, level, bytes, 0, o->cpu_flags, err) : add_unavailable(h, level, m->n, err) != 0)
            return -1;
    }
    const size_t n_window = o->effort == CEILINGS_QUICK ? 8 : 4;
    return memory_add_dram(l, m, n_window, o->cpu_flags, err) ? 0 : -1;
}

const struct ceilings_provider ceilings_memory = { "memory", 1, plan };
