/*
 * Which roofs are measured, and how: for every thread count a list of jobs (a math, or a memory
 * level), each with the kernel that a short trial found fastest. The samples of all jobs are taken
 * in rounds, so that a roof that moves while we look (a shared memory, a clock) shows in the
 * interval of every job instead of shifting one of them. Source: methods.md (18).
 */
#include "config.h"
#include "ceilings/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAMPLES = 64, MAX_JOBS = 32 };

/* How long one looks. */
struct effort {
    int n_rounds, n_per_round, n_trials;
    double sample_s, trial_s;
    double patience_s; /* after that, disturbed samples are kept and rounds are skipped */
    size_t n_window;   /* a DRAM sample reads one of that many parts of a thread's chunk */
    bool all_isas;     /* also the slower instruction sets */
};

static const struct effort efforts[] = {
    [CEILINGS_QUICK] = { 3, 5, 3, 0.02, 0.005, 20, 8, false },
    [CEILINGS_BRIEF] = { 1, 3, 1, 0.001, 0.0005, 2, 4, false },
    [CEILINGS_DEFAULT] = { 11, 3, 5, 0.08, 0.02, 150, 4, true },
};
static const struct effort probe_effort = { 1, 9, 2, 0.006, 0.003, 1, 16, false };

static const struct peak_kernel *const peak_tables[] = {
    ceilings_ref_peak,
#ifdef HAVE_ISA_AVX2
    ceilings_avx2_peak,
#endif
#ifdef HAVE_ISA_AVX512
    ceilings_avx512_peak,
#endif
#ifdef HAVE_ISA_AVX512VNNI
    ceilings_avx512vnni_peak,
#endif
#ifdef HAVE_ISA_AVX512BF16
    ceilings_avx512bf16_peak,
#endif
};

static const struct read_kernel *const read_tables[] = {
    ceilings_ref_read,
#ifdef HAVE_ISA_AVX2
    ceilings_avx2_read,
#endif
#ifdef HAVE_ISA_AVX512
    ceilings_avx512_read,
#endif
};

const struct peak_kernel *peak_kernel_at(size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(peak_tables); t++)
        for (const struct peak_kernel *k = peak_tables[t]; k->run; k++)
            if (i-- == 0)
                return k;
    return NULL;
}

const struct read_kernel *read_kernel_at(size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(read_tables); t++)
        for (const struct read_kernel *k = read_tables[t]; k->run; k++)
            if (i-- == 0)
                return k;
    return NULL;
}

static bool usable(unsigned need, unsigned cpu_flags)
{
    return (need & cpu_flags) == need;
}

bool peak_kernel_wanted(const struct peak_kernel *k, unsigned cpu_flags)
{
    if (k->need)
        return usable(k->need, cpu_flags);
    const struct peak_kernel *o;
    for (size_t i = 0; (o = peak_kernel_at(i)) != NULL; i++)
        if (o->need && usable(o->need, cpu_flags))
            return false;
    return true;
}

bool read_kernel_wanted(const struct read_kernel *k, unsigned cpu_flags)
{
    if (k->need)
        return usable(k->need, cpu_flags);
    const struct read_kernel *o;
    for (size_t i = 0; (o = read_kernel_at(i)) != NULL; i++)
        if (o->need && usable(o->need, cpu_flags))
            return false;
    return true;
}

/* ---- jobs ------------------------------------------------------------------------ */

static const char *const level_names[LEVEL_COUNT] = { "L1", "L2", "L3", "DRAM" };
static const enum math maths[] = { MATH_FP32, MATH_BF16, MATH_INT8 };

/* One ceiling in the making. */
struct job {
    bool bandwidth;
    enum math math;
    enum level level;
    const struct peak_kernel *only; /* this kernel, without a trial */
    struct task task;
    bool chosen;
    double rate[MAX_SAMPLES], clock_hz[MAX_SAMPLES];
    int n;
};

/* ---- trial: the fastest kernel of a job ------------------------------------------- */

static bool fits(const struct job *j, const struct peak_kernel *p, const struct read_kernel *r,
                 unsigned flags)
{
    if (j->bandwidth)
        return read_kernel_wanted(r, flags) && (j->level >= LEVEL_L3 ? r->far : r->near);
    return peak_kernel_wanted(p, flags) && (j->only ? p == j->only : p->math == j->math);
}

static void set_kernel(struct job *j, size_t row)
{
    if (j->bandwidth)
        j->task.read = read_kernel_at(row);
    else
        j->task.peak = peak_kernel_at(row);
}

/* In DRAM a sample is one pass over a window; elsewhere as many as the time asks for. */
static void calibrate(struct meter *m, struct job *j, double seconds)
{
    if (j->bandwidth && j->level == LEVEL_DRAM)
        j->task.n = 1;
    else
        meter_calibrate(m, &j->task, seconds);
}

/* Tries every kernel in turn, a few times around; the best median wins. */
static int choose(struct meter *m, struct job *j, const struct effort *e, unsigned flags,
                  struct error *err)
{
    enum { MAX_KERNELS = 32, MAX_TRIALS = 8 };
    double rate[MAX_KERNELS][MAX_TRIALS];
    uint64_t n[MAX_KERNELS];
    size_t row[MAX_KERNELS], n_row = 0, best = 0;
    for (size_t i = 0; n_row < MAX_KERNELS; i++) {
        const struct peak_kernel *p = j->bandwidth ? NULL : peak_kernel_at(i);
        const struct read_kernel *r = j->bandwidth ? read_kernel_at(i) : NULL;
        if (!p && !r)
            break;
        if (fits(j, p, r, flags))
            row[n_row++] = i;
    }
    if (n_row == 0)
        return error_set(err, ERROR_UNAVAILABLE, "no kernel for %s on this CPU",
                         j->bandwidth ? level_names[j->level] : math_name(j->math));
    for (size_t k = 0; k < n_row && n_row > 1; k++) {
        set_kernel(j, row[k]);
        calibrate(m, j, e->trial_s);
        n[k] = j->task.n;
    }
    for (int t = 0; t < e->n_trials && n_row > 1; t++)
        for (size_t k = 0; k < n_row; k++) {
            if (interrupt_check(err) != 0)
                return -1;
            set_kernel(j, row[k]);
            j->task.n = n[k];
            if (!meter_sample(m, &j->task, &rate[k][t], NULL, NULL))
                (void)meter_sample(m, &j->task, &rate[k][t], NULL, NULL);
        }
    for (size_t k = 1; k < n_row; k++)
        if (stats_median(rate[k], (size_t)e->n_trials) > stats_median(rate[best], (size_t)e->n_trials))
            best = k;
    set_kernel(j, row[best]);
    calibrate(m, j, e->sample_s);
    j->chosen = true;
    return 0;
}

static int take_samples(struct meter *m, struct job *j, int n, double deadline_s, struct error *err)
{
    /* A sample during which the system ran something else is taken again, while that helps. */
    int spare = clock_now_s() < deadline_s ? n : 0;
    for (int i = 0; i < n && j->n < MAX_SAMPLES;) {
        if (interrupt_check(err) != 0)
            return -1;
        if (meter_sample(m, &j->task, &j->rate[j->n], &j->clock_hz[j->n], NULL) || spare-- <= 0) {
            j->n++;
            i++;
        }
    }
    return 0;
}

/* ---- a job's samples to a ceiling --------------------------------------------------- */

static void kernel_text(struct ceiling *c, const struct meter *m, const struct job *j)
{
    if (!j->bandwidth) {
        snprintf(c->kernel, sizeof c->kernel, "%.26s, %.1f %s/clk", j->task.peak->text,
                 c->value / c->clock_hz / m->n, j->math == MATH_INT8 ? "OP" : "FLOP");
        return;
    }
    double bytes = j->level == LEVEL_DRAM ? (double)m->mem_bytes : (double)j->task.bytes;
    char size[32];
    bool gib = bytes >= 1073741824.0, mib = bytes >= 1048576.0;
    snprintf(size, sizeof size, "%.3g %s", bytes / (gib ? 1073741824.0 : mib ? 1048576.0 : 1024.0),
             gib ? "GiB" : mib ? "MiB" : "KiB");
    snprintf(c->kernel, sizeof c->kernel, "%.24s, %.12s%s", j->task.read->text, size,
             j->level == LEVEL_DRAM ? (m->mem_small ? " <4 LLC" : "") : "/thread");
}

static void to_ceiling(struct ceiling *c, const struct meter *m, const struct job *j)
{
    *c = (struct ceiling){ .n_threads = m->n, .n_samples = j->n };
    c->value = stats_median(j->rate, (size_t)j->n);
    stats_median_ci(j->rate, (size_t)j->n, &c->ci_lo, &c->ci_hi);
    c->clock_hz = stats_median(j->clock_hz, (size_t)j->n);
    if (j->bandwidth) {
        snprintf(c->name, sizeof c->name, "read %s %dt", level_names[j->level], m->n);
        snprintf(c->kind, sizeof c->kind, "bandwidth");
        snprintf(c->level, sizeof c->level, "%s", level_names[j->level]);
        snprintf(c->unit, sizeof c->unit, "B/s");
        snprintf(c->isa, sizeof c->isa, "%s", j->task.read->isa);
    } else {
        const char *isa = j->task.peak->isa;
        snprintf(c->name, sizeof c->name, "%s %s %dt", math_name(j->math), isa, m->n);
        snprintf(c->kind, sizeof c->kind, "compute");
        snprintf(c->dtype, sizeof c->dtype, "%s", math_name(j->math));
        snprintf(c->unit, sizeof c->unit, "%s", j->math == MATH_INT8 ? "OP/s" : "FLOP/s");
        snprintf(c->isa, sizeof c->isa, "%s", isa);
    }
    kernel_text(c, m, j);
    snprintf(c->cpus, sizeof c->cpus, "%s", m->cpus);
    clock_date(c->date, sizeof c->date);
}

/* A level that is not there is said, not left out. */
static int add_unavailable(struct hwprofile *h, enum level level, int n, struct error *err)
{
    struct ceiling c = { .n_threads = n, .value = NAN, .ci_lo = NAN, .ci_hi = NAN, .clock_hz = NAN };
    snprintf(c.name, sizeof c.name, "read %s %dt", level_names[level], n);
    snprintf(c.kind, sizeof c.kind, "bandwidth");
    snprintf(c.level, sizeof c.level, "%s", level_names[level]);
    snprintf(c.unit, sizeof c.unit, "B/s");
    snprintf(c.kernel, sizeof c.kernel, "unavailable: hwloc reports no %s", level_names[level]);
    return hwprofile_add_ceiling(h, &c, err);
}

/* ---- everything at one thread count -------------------------------------------------- */

struct plan {
    struct hwprofile *h;
    const struct ceilings_options *o;
    const struct effort *e;
    struct job *job;
    size_t n_job;
    double deadline_s; /* of this thread count */
    double done, step; /* progress: fraction so far, of one job's round */
};

static struct job *add_job(struct plan *p)
{
    if (p->n_job == MAX_JOBS)
        return NULL;
    struct job *j = &p->job[p->n_job++];
    memset(j, 0, sizeof *j);
    return j;
}

static void plan_compute(struct plan *p)
{
    struct job *j;
    const struct peak_kernel *k;
    for (size_t i = 0; i < ARRAY_LEN(maths) && !p->e->all_isas; i++)
        if ((j = add_job(p)) != NULL)
            j->math = maths[i];
    for (size_t i = 0; p->e->all_isas && (k = peak_kernel_at(i)) != NULL; i++)
        if (peak_kernel_wanted(k, p->o->cpu_flags) && (j = add_job(p)) != NULL) {
            j->math = k->math;
            j->only = k;
        }
}

static void plan_level(struct plan *p, const struct meter *m, enum level level, size_t bytes)
{
    struct job *j = add_job(p);
    if (!j)
        return;
    j->bandwidth = true;
    j->level = level;
    j->task.bytes = bytes < m->chunk_bytes ? bytes : m->chunk_bytes;
    if (level == LEVEL_DRAM) {
        j->task.n_window = p->e->n_window;
        j->task.bytes = m->chunk_bytes / p->e->n_window / 4096 * 4096;
    }
}

static int plan_bandwidth(struct plan *p, const struct meter *m, struct error *err)
{
    for (int l = LEVEL_L1; l <= LEVEL_L3; l++) {
        size_t bytes = footprint_cache(p->h, (enum level)l, m->n);
        if (bytes)
            plan_level(p, m, (enum level)l, bytes);
        else if (add_unavailable(p->h, (enum level)l, m->n, err) != 0)
            return -1;
    }
    plan_level(p, m, LEVEL_DRAM, SIZE_MAX);
    return 0;
}

/* In the first round, where kernels are chosen, each job is named; later the round is. */
static void tell(struct plan *p, const struct meter *m, const struct job *j, int round)
{
    char what[96];
    const char *threads = m->n == 1 ? "thread" : "threads";
    if (round == 0)
        snprintf(what, sizeof what, "%d %s: %s %s", m->n, threads, j->bandwidth ? "read" : "peak",
                 j->bandwidth ? level_names[j->level] : math_name(j->math));
    else
        snprintf(what, sizeof what, "%d %s: round %d of %d", m->n, threads, round + 1, p->e->n_rounds);
    if (p->o->progress)
        p->o->progress(p->o->progress_ctx, what, fmin(p->done, 1));
    p->done += p->step;
}

static int run_rounds(struct plan *p, struct meter *m, struct error *err)
{
    /* The first round is never skipped: every roof gets its samples. */
    for (int r = 0; r < p->e->n_rounds && (r == 0 || clock_now_s() < p->deadline_s); r++)
        for (size_t i = 0; i < p->n_job; i++) {
            struct job *j = &p->job[i];
            tell(p, m, j, r);
            if (!j->chosen && choose(m, j, p->e, p->o->cpu_flags, err) != 0)
                return -1;
            if (take_samples(m, j, p->e->n_per_round, p->deadline_s, err) != 0)
                return -1;
        }
    return 0;
}

/* What was sampled goes into the profile even when the rounds ended early. */
static int keep(struct plan *p, const struct meter *m, struct error *err)
{
    for (size_t i = 0; i < p->n_job; i++) {
        struct ceiling c;
        if (p->job[i].n == 0)
            continue;
        to_ceiling(&c, m, &p->job[i]);
        if (hwprofile_add_ceiling(p->h, &c, err) != 0)
            return -1;
    }
    return 0;
}

static int measure_at(struct plan *p, int n_threads, double share, struct error *err)
{
    struct meter m;
    bool small;
    size_t bytes = footprint_dram(p->h, p->o->effort, &small);
    if (p->o->progress)
        p->o->progress(p->o->progress_ctx, "touching memory", fmin(p->done, 1));
    if (meter_init(&m, n_threads, bytes, p->o, err) != 0)
        return -1;
    m.mem_small = small;
    p->n_job = 0;
    p->deadline_s = clock_now_s() + p->e->patience_s * share;
    plan_compute(p);
    int rc = plan_bandwidth(p, &m, err);
    if (rc == 0) {
        p->step = share / ((double)p->n_job * p->e->n_rounds);
        rc = run_rounds(p, &m, err);
        if (keep(p, &m, rc == 0 ? err : NULL) != 0)
            rc = -1;
    }
    meter_free(&m);
    return rc;
}

int ceilings_measure(struct hwprofile *h, const struct ceilings_options *o, struct error *err)
{
    int n_counts = 1;
    for (int64_t n = 1; n < o->n_threads; n *= 2)
        n_counts++;
    struct plan p = { .h = h, .o = o, .e = &efforts[o->effort] };
    p.job = calloc(MAX_JOBS, sizeof *p.job);
    if (!p.job)
        return error_oom(err, MAX_JOBS * sizeof *p.job, "the list of roofs");
    int rc = 0, n = 1;
    for (;;) {
        rc = measure_at(&p, n, 1.0 / n_counts, err);
        if (rc != 0 || n >= o->n_threads)
            break;
        n = n > o->n_threads / 2 ? o->n_threads : n * 2;
    }
    free(p.job);
    return rc;
}

/* ---- short looks beside a benchmark ---------------------------------------------------- */

struct ceilings_prober {
    struct meter m;
    struct job dram, peak;
    bool has_peak;
    char reason[160]; /* why there is no peak */
};

struct ceilings_prober *ceilings_prober_new(enum math math, int n_threads, const struct ceilings_options *o,
                                            struct error *err)
{
    struct hwprofile h;
    struct error no_peak = { 0 };
    bool small;
    struct ceilings_prober *p = calloc(1, sizeof *p);
    if (!p || hwprofile_host(&h, err) != 0) {
        if (!p)
            error_oom(err, sizeof *p, "the ceiling probe");
        free(p);
        return NULL;
    }
    size_t bytes = footprint_dram(&h, o->effort, &small);
    hwprofile_free(&h);
    if (meter_init(&p->m, n_threads, bytes, o, err) != 0) {
        free(p);
        return NULL;
    }
    p->m.mem_small = small;
    p->dram = (struct job){ .bandwidth = true, .level = LEVEL_DRAM };
    p->dram.task.n_window = probe_effort.n_window;
    p->dram.task.bytes = p->m.chunk_bytes / probe_effort.n_window / 4096 * 4096;
    p->peak = (struct job){ .math = math };
    if (choose(&p->m, &p->dram, &probe_effort, o->cpu_flags, err) != 0) {
        ceilings_prober_free(p);
        return NULL;
    }
    p->has_peak = choose(&p->m, &p->peak, &probe_effort, o->cpu_flags, &no_peak) == 0;
    snprintf(p->reason, sizeof p->reason, "%.150s", no_peak.msg);
    return p;
}

static int probe_job(struct ceiling *c, struct ceilings_prober *p, struct job *j, struct error *err)
{
    j->n = 0;
    if (take_samples(&p->m, j, probe_effort.n_per_round, clock_now_s() + probe_effort.patience_s, err) != 0)
        return -1;
    to_ceiling(c, &p->m, j);
    return 0;
}

int ceilings_probe(struct ceilings_prober *p, struct ceiling *dram, struct ceiling *peak, struct error *err)
{
    *peak = (struct ceiling){ .value = NAN, .ci_lo = NAN, .ci_hi = NAN, .clock_hz = NAN };
    if (probe_job(dram, p, &p->dram, err) != 0)
        return -1;
    return p->has_peak ? probe_job(peak, p, &p->peak, err) : 0;
}

const char *ceilings_prober_reason(const struct ceilings_prober *p)
{
    return p->reason;
}

void ceilings_prober_free(struct ceilings_prober *p)
{
    if (!p)
        return;
    meter_free(&p->m);
    free(p);
}
