/*
 * Provider of compute roofs: a benchmark per type and ISA, its kernels as variants; in a quick profile one per type over all ISAs.
 */
#include "config.h"
#include "ceilings/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct peak_kernel *const tables[] = {
    ceilings_ref_peak,
#ifdef HAVE_ISA_SSE42
    ceilings_sse_peak,
#endif
#ifdef HAVE_ISA_AVX2
    ceilings_avx2_peak,
#endif
#ifdef HAVE_ISA_AVXVNNI
    ceilings_avxvnni_peak,
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
#ifdef HAVE_ISA_AVX512FP16
    ceilings_avx512fp16_peak,
#endif
#ifdef HAVE_ISA_AMX
    ceilings_amx_peak,
#endif
#ifdef HAVE_ISA_AMXFP16
    ceilings_amxfp16_peak,
#endif
#ifdef HAVE_ISA_NEON
    ceilings_neon_peak,
#endif
#ifdef HAVE_ISA_ARMFP16
    ceilings_armfp16_peak,
#endif
#ifdef HAVE_ISA_ARMBF16
    ceilings_armbf16_peak,
#endif
#ifdef HAVE_ISA_DOTPROD
    ceilings_dotprod_peak,
#endif
#ifdef HAVE_ISA_I8MM
    ceilings_i8mm_peak,
#endif
};

/* profile order */
static const enum math maths[] = { MATH_FP64, MATH_FP32, MATH_FP16, MATH_BF16, MATH_INT16, MATH_INT8 };

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

/* Benchmark data: the variants. */
struct peaks {
    enum math math;
    bool products; /* multiply-adds only: upper bound of matrix products */
    const struct peak_kernel *kernel[BENCHMARK_MAX_VARIANTS];
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

/* ---- jobs ---------------------------------------------------------------------------------------------------- */

/* Has additions on pipes that FMA leaves free: more FLOP than a matrix product can use. */
static bool has_additions(const struct peak_kernel *k)
{
    return strstr(k->text, " add") != NULL;
}

static void sample_peak(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    const struct peaks *p = j->data;
    struct repeat r = { p->kernel[variant], n };
    harness_time(m, run_kernel, &r, r.k->chain, s);
    s->value = s->seconds > 0 ? r.k->flop * (double)n * m->n / s->seconds : NAN;
}

static void describe(struct ceiling *c, const struct peak_kernel *k)
{
    roof_describe(c, &(struct roof_texts){ .kind = "compute", .dtype = math_name(k->math), .isa = k->isa,
                                           .unit = math_integer(k->math) ? "OP/s" : "FLOP/s" });
}

static int keep_peak(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h,
                     struct error *err)
{
    const struct peaks *p = j->data;
    const struct peak_kernel *k = p->kernel[j->variant];
    snprintf(c->name, sizeof c->name, "%s %s%s %dt", math_name(p->math), k->isa, p->products ? " products" : "", m->n);
    describe(c, k);
    snprintf(c->op, sizeof c->op, "%s", p->products ? "fma" : "");
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "%s", k->text);
    c->issue_fraction = c->per_cycle / core_per_cycle(core_this(), k);
    if (k->issue != ISSUE_TILE) /* tile probes are taken if any candidate uses tiles */
        c->tile_flop_s = NAN;
    return hwprofile_add_ceiling(h, c, err);
}

static void free_peak(struct benchmark *j)
{
    free(j->data);
}

static const struct benchmark_class peak_class = { .core = true, .sample = sample_peak, .keep = keep_peak, .free = free_peak };

/* AMX state is available; true for other ISAs. */
static bool amx_available(const struct peak_kernel *k)
{
    return !(k->need & (CPU_AMX_INT8 | CPU_AMX_BF16 | CPU_AMX_FP16)) || cpu_request_amx_tiles();
}

/* isa NULL: all. *out NULL without error: no kernel; with products: none with additions either, so no separate roof. */
static int add_peak(struct benchmark **out, struct benchmark_list *l, enum math math, const char *isa, bool products, unsigned cpu_flags,
                    struct error *err)
{
    bool differs = !products;
    const struct peak_kernel *k;
    *out = NULL;
    struct peaks *p = calloc(1, sizeof *p);
    if (!p)
        return error_oom(err, sizeof *p, "a compute roof");
    int n = 0;
    p->math = math;
    p->products = products;
    for (size_t i = 0; (k = peak_kernel_at(i)) != NULL && n < BENCHMARK_MAX_VARIANTS; i++) {
        if (k->math != math || !peak_kernel_wanted(k, cpu_flags) || (isa && strcmp(k->isa, isa) != 0) || !amx_available(k))
            continue;
        differs |= has_additions(k);
        if (!products || !has_additions(k))
            p->kernel[n++] = k;
    }
    if (!differs)
        n = 0;
    struct benchmark *j = n ? benchmark_add(l, &peak_class, err) : NULL;
    if (!j) {
        free(p);
        return n ? -1 : 0;
    }
    j->data = p;
    j->n_variant = n;
    for (int i = 0; i < n; i++)
        j->tiles |= p->kernel[i]->issue == ISSUE_TILE;
    snprintf(j->what, sizeof j->what, "%s%s%s%s", math_name(math), isa ? " " : "", isa ? isa : "",
             products ? " products" : "");
    *out = j;
    return 0;
}

struct benchmark *compute_add_best(struct benchmark_list *l, enum math math, unsigned cpu_flags, struct error *err)
{
    struct benchmark *j = NULL;
    if (add_peak(&j, l, math, NULL, true, cpu_flags, err) == 0 && !j && add_peak(&j, l, math, NULL, false, cpu_flags, err) == 0 && !j)
        error_set(err, ERROR_UNAVAILABLE, "no kernel for %s on this CPU", math_name(math));
    return j;
}

/* First row of its type and ISA. */
static bool first_of_its_kind(size_t i)
{
    const struct peak_kernel *k = peak_kernel_at(i), *o;
    for (size_t n = 0; n < i && (o = peak_kernel_at(n)) != NULL; n++)
        if (o->math == k->math && strcmp(o->isa, k->isa) == 0)
            return false;
    return true;
}

/* Record that the system refuses AMX. */
static int add_amx_refused(struct hwprofile *h, const struct harness *m, const struct peak_kernel *k, struct error *err)
{
    struct ceiling c = { .n_threads = m->n, .value = NAN, .ci_lo = NAN, .ci_hi = NAN, .clock_hz = NAN,
                         .per_cycle = NAN, .issue_fraction = NAN, .footprint_bytes = NAN };
    snprintf(c.name, sizeof c.name, "%s %s %dt", math_name(k->math), k->isa, m->n);
    describe(&c, k);
    snprintf(c.kernel, sizeof c.kernel, "unavailable: the system lends no tiles");
    return hwprofile_add_ceiling(h, &c, err);
}

static int plan_isas(struct benchmark_list *l, const struct harness *m, struct hwprofile *h, enum math math, unsigned cpu_flags,
                     struct error *err)
{
    const struct peak_kernel *k;
    struct benchmark *j;
    for (size_t i = 0; (k = peak_kernel_at(i)) != NULL; i++) {
        if (k->math != math || !peak_kernel_wanted(k, cpu_flags) || !first_of_its_kind(i))
            continue;
        if (amx_available(k) ? add_peak(&j, l, math, k->isa, false, cpu_flags, err) != 0 ||
                          add_peak(&j, l, math, k->isa, true, cpu_flags, err) != 0 :
                      add_amx_refused(h, m, k, err) != 0)
            return -1;
    }
    return 0;
}

static int plan(struct benchmark_list *l, struct harness *m, struct hwprofile *h, const struct ceilings_options *o,
                struct error *err)
{
    const bool best_only = o->effort == CEILINGS_QUICK || o->effort == CEILINGS_BRIEF;
    struct benchmark *j;
    for (size_t i = 0; i < ARRAY_LEN(maths); i++)
        if (best_only ? add_peak(&j, l, maths[i], NULL, false, o->cpu_flags, err) != 0 ||
                            add_peak(&j, l, maths[i], NULL, true, o->cpu_flags, err) != 0 :
                        plan_isas(l, m, h, maths[i], o->cpu_flags, err) != 0)
            return -1;
    return 0;
}

const struct ceilings_provider ceilings_compute = { "compute", 1, plan };
