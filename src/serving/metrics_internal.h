/* metrics_internal.h: the parts of serve_metrics(). */
#ifndef SERVING_METRICS_INTERNAL_H
#define SERVING_METRICS_INTERNAL_H

#include "serving/internal.h"
#include "serving/metrics.h"

struct metrics_work {
    const struct serve_result *r;
    const struct serve_workload *w;
    const struct serve_metrics_options *o;
    struct serve_metrics *m;
    uint32_t *order; /* [n] requests with tokens, by when they were sent */
    size_t n;
    double *x, *sorted, *scratch; /* [n] */
    double first_s, last_s, end_s; /* first and last sent; last token */
};
void metrics_spread(double *bin, size_t k, double lo, double hi, double from, double to, double mass);
/* At least 1. */
static inline double metrics_replicas(const struct metrics_work *k)
{
    return k->o->options->n_replica > 1 ? k->o->options->n_replica : 1;
}
void metrics_stability(struct metrics_work *k);
void metrics_rates(struct metrics_work *k);
void metrics_slo(struct metrics_work *k);


/* It has its tokens. */
static inline bool served(const struct serve_outcome *o)
{
    return o->first_ps != SERVE_NOT_YET && !o->failed;
}

static inline double seconds(uint64_t ps)
{
    return (double)ps / PS_PER_S;
}

static inline double span_s(uint64_t from_ps, uint64_t to_ps)
{
    return to_ps > from_ps ? (double)(to_ps - from_ps) / PS_PER_S : 0;
}

#endif
