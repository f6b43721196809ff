/* internal.h: the two modes of a simulation. */
#ifndef SERVING_INTERNAL_H
#define SERVING_INTERNAL_H

#include "serving/simulate.h"
#include "serving/slo.h"

/* Steps end by then, 106 days: sums of times do not overflow. errors: ERROR_INPUT, one of ps picoseconds from start_ps on does not */
#define SERVE_LATEST_PS (UINT64_C(1) << 63)
int serve_check_end(const struct serve_workload *w, uint64_t start_ps, uint64_t ps, struct error *err);
int serve_check(const struct serve_workload *w, const struct serve_options *o, struct error *err);
int serve_step_by_step(struct serve_result *r, const struct serve_workload *w, const struct serve_options *o, struct error *err);
/* False: a feature whose steps differ from one to the next; why: which. */
bool serve_can_jump(const struct serve_options *o, char *why, size_t size);
int serve_jumping(struct serve_result *r, const struct serve_workload *w, const struct serve_options *o, struct error *err);

/* What failed with *err cannot be simulated: of one draw or deployment of many, no error of the others. */
static inline bool serve_cannot_run(const struct error *err)
{
    return err->kind == ERROR_INPUT || err->kind == ERROR_USAGE;
}

/* Seconds of a metric of a request that was served; NaN: it has none: ITL, or TPOT of a single token. */
double serve_request_s(const struct serve_outcome *o, uint32_t n_out, enum serve_metric m);
/* The q-th percentile of a request's metric by order statistics; v: room for r->n. NaN: no request has it. */
double serve_percentile(const struct serve_result *r, const struct serve_workload *w, enum serve_metric m, double q, double *v);

#endif
