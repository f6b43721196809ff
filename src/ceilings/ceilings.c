/* Measures a profile: for every thread count the benchmarks of all providers, within an effort's time. */
#include "ceilings/memory.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_PROVIDERS = 16 };

static const struct {
    struct effort e;
    double seconds; /* whole profile */
} efforts[] = {
    [CEILINGS_QUICK] = { { 5, 2, 0.3, 0.02 }, 26 },
    [CEILINGS_BRIEF] = { { 1, 3, 0.3, 0.001 }, 2 },
    [CEILINGS_DEFAULT] = { { 15, 3, 0.2, 0.05 }, 110 },
    [CEILINGS_FULL] = { { 31, 4, 0.15, 0.08 }, 340 },
};

static const struct ceilings_provider *provider_at(const struct ceilings_options *o, size_t i)
{
    static const struct ceilings_provider *const own[] = { &ceilings_compute, &ceilings_memory, &ceilings_kernels };
    if (i < ARRAY_LEN(own))
        return own[i];
    return i - ARRAY_LEN(own) < o->n_provider ? o->provider[i - ARRAY_LEN(own)] : NULL;
}

/* Benchmarks of all providers; time is divided by provider weight, then by benchmark weight. */
static int plan_all(struct benchmark_list *l, struct harness *m, struct hwprofile *h, const struct ceilings_options *o,
                    double seconds, struct error *err)
{
    const struct ceilings_provider *p;
    size_t first[MAX_PROVIDERS + 1] = { 0 }, n = 0;
    double weights = 0;
    for (; n < MAX_PROVIDERS && (p = provider_at(o, n)) != NULL; n++) {
        if (p->plan(l, m, h, o, err) != 0)
            return -1;
        first[n + 1] = l->n;
        weights += first[n + 1] > first[n] ? p->weight : 0; /* without benchmarks: no time */
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = first[i]; k < first[i + 1]; k++)
            sum += l->v[k]->weight > 0 ? l->v[k]->weight : 1;
        for (size_t k = first[i]; k < first[i + 1]; k++) {
            const double w = l->v[k]->weight > 0 ? l->v[k]->weight : 1;
            l->v[k]->share_s = seconds * provider_at(o, i)->weight / weights * w / sum;
        }
    }
    return 0;
}

/* Busy-loop until idle cores, alone and together, have reached their clock. */
static void settle(struct harness *m, double seconds)
{
    const double end = clock_now_s() + seconds;
    while (clock_now_s() < end && interrupt_check(NULL) == 0)
        harness_warm(m);
}

static int measure_at(struct driver *d, int n_threads, struct hwprofile *h, struct error *err)
{
    struct harness m;
    struct benchmark_list l = { 0 };
    if (d->o->progress)
        d->o->progress(d->o->progress_ctx, "touching memory",
                       fmin((clock_now_s() - d->begin_s) / (d->end_s - d->begin_s), 1));
    if (harness_init(&m, n_threads, true, d->o, err) != 0)
        return -1;
    const double seconds = fmax(d->deadline_s - clock_now_s(), 0);
    settle(&m, seconds / 50);
    int rc = harness_enable_core_probes(&m, err);
    if (rc == 0)
        rc = plan_all(&l, &m, h, d->o, seconds, err);
    if (rc == 0) {
        rc = driver_run(d, &l, &m, err);
        /* Samples are kept even if the rounds were interrupted. */
        if (driver_keep(&l, &m, h, rc == 0 ? err : NULL) != 0 || curves_finish(h, &m, rc == 0 ? err : NULL) != 0)
            rc = -1;
    }
    benchmark_list_free(&l);
    harness_free(&m);
    return rc;
}

int ceilings_measure(struct hwprofile *h, const struct ceilings_options *o, struct error *err)
{
    int n_counts = 1, rc = 0;
    for (int64_t n = 1; n < o->n_threads; n *= 2)
        n_counts++;
    struct driver d = { .e = &efforts[o->effort].e, .o = o, .begin_s = clock_now_s() };
    d.end_s = d.begin_s + (o->seconds > 0 ? o->seconds : efforts[o->effort].seconds);
    for (int n = 1;; n = n > o->n_threads / 2 ? o->n_threads : n * 2, n_counts--) {
        /* Redistribute time that one thread count left over or overran. */
        const double now = clock_now_s();
        d.start_s = now;
        d.deadline_s = now + fmax(d.end_s - now, 0) / n_counts;
        rc = measure_at(&d, n, h, err);
        h->noise = hwprofile_noise(h);
        if (rc != 0 || n >= o->n_threads)
            return rc;
    }
}
