/*
 * The provider of compute roofs: a job per type and ISA with all kernels of both as its variants; in a quick profile a
 * job per type with the kernels of all ISAs.
 */
#include "config.h"
#include "ceilings/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct peak_kernel *const tables[] = {
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

static const enum math maths[] = { MATH_FP32, MATH_BF16, MATH_INT8 };

const struct peak_kernel *peak_kernel_at(size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        for (const struct peak_kernel *k = tables[t]; k->run; k++)
            if (i-- == 0)
                return k;
    return NULL;
}

bool peak_kernel_wanted(const struct peak_kernel *k, unsigned cpu_flags)
{
    if (k->need)
        return (k->need & cpu_flags) == k->need;
    const struct peak_kernel *o;
    for (size_t i = 0; (o = peak_kernel_at(i)) != NULL; i++)
        if (o->need && (o->need & cpu_flags) == o->need)
            return false;
    return true;
}

/* What a job's data points to: its variants. */
struct peaks {
    enum math math;
    const struct peak_kernel *kernel[JOB_MAX_VARIANTS];
};

struct repeat {
    const struct peak_kernel *k;
    uint64_t n;
};

static void run_kernel(void *arg, int tid)
{
    const struct repeat *r = arg;
    (void)tid;
    r->k->run(r->n);
}

static void sample_peak(struct job *j, struct meter *m, int variant, uint64_t n, struct sample *s)
{
    const struct peaks *p = j->data;
    struct repeat r = { p->kernel[variant], n };
    meter_time(m, run_kernel, &r, r.k->chain, s);
    s->value = s->seconds > 0 ? r.k->flop * (double)n * m->n / s->seconds : NAN;
}

static bool integer(enum math math)
{
    return math == MATH_INT8 || math == MATH_INT4;
}

static int keep_peak(const struct job *j, const struct meter *m, struct ceiling *c, struct hwprofile *h,
                     struct error *err)
{
    const struct peaks *p = j->data;
    const struct peak_kernel *k = p->kernel[j->variant];
    const char *op = integer(p->math) ? "OP" : "FLOP";
    snprintf(c->name, sizeof c->name, "%s %s %dt", math_name(p->math), k->isa, m->n);
    snprintf(c->kind, sizeof c->kind, "compute");
    snprintf(c->dtype, sizeof c->dtype, "%s", math_name(p->math));
    snprintf(c->unit, sizeof c->unit, "%s/s", op);
    snprintf(c->isa, sizeof c->isa, "%s", k->isa);
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "%.26s, %.1f %s/clk", k->text, c->per_cycle, op);
    return hwprofile_add_ceiling(h, c, err);
}

static void free_peak(struct job *j)
{
    free(j->data);
}

static const struct job_class peak_class = { .sample = sample_peak, .keep = keep_peak, .free = free_peak };

/* isa NULL: all. *out NULL without an error: no kernel. */
static int add_peak(struct job **out, struct job_list *l, enum math math, const char *isa, unsigned cpu_flags,
                    struct error *err)
{
    const struct peak_kernel *k;
    *out = NULL;
    struct peaks *p = calloc(1, sizeof *p);
    if (!p)
        return error_oom(err, sizeof *p, "a compute roof");
    int n = 0;
    p->math = math;
    for (size_t i = 0; (k = peak_kernel_at(i)) != NULL && n < JOB_MAX_VARIANTS; i++)
        if (k->math == math && peak_kernel_wanted(k, cpu_flags) && (!isa || strcmp(k->isa, isa) == 0))
            p->kernel[n++] = k;
    struct job *j = n ? job_add(l, &peak_class, err) : NULL;
    if (!j) {
        free(p);
        return n ? -1 : 0;
    }
    j->data = p;
    j->n_variant = n;
    snprintf(j->what, sizeof j->what, "peak %s%s%s", math_name(math), isa ? " " : "", isa ? isa : "");
    *out = j;
    return 0;
}

struct job *compute_add_best(struct job_list *l, enum math math, unsigned cpu_flags, struct error *err)
{
    struct job *j;
    if (add_peak(&j, l, math, NULL, cpu_flags, err) == 0 && !j)
        error_set(err, ERROR_UNAVAILABLE, "no kernel for %s on this CPU", math_name(math));
    return j;
}

/* Is row i the first of its type and ISA? */
static bool first_of_its_kind(size_t i)
{
    const struct peak_kernel *k = peak_kernel_at(i), *o;
    for (size_t n = 0; n < i && (o = peak_kernel_at(n)) != NULL; n++)
        if (o->math == k->math && strcmp(o->isa, k->isa) == 0)
            return false;
    return true;
}

static int plan(struct job_list *l, struct meter *m, struct hwprofile *h, const struct ceilings_options *o,
                struct error *err)
{
    const struct peak_kernel *k;
    struct job *j;
    (void)m, (void)h;
    if (o->effort == CEILINGS_QUICK || o->effort == CEILINGS_BRIEF) {
        for (size_t i = 0; i < ARRAY_LEN(maths); i++)
            if (add_peak(&j, l, maths[i], NULL, o->cpu_flags, err) != 0)
                return -1;
        return 0;
    }
    for (size_t i = 0; (k = peak_kernel_at(i)) != NULL; i++)
        if (first_of_its_kind(i) && add_peak(&j, l, k->math, k->isa, o->cpu_flags, err) != 0)
            return -1;
    return 0;
}

const struct ceilings_provider ceilings_compute = { "compute", 1, plan };
