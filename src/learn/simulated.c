/* The fitted time model, with a simulation where a row is a server's latency in a closed loop. methods.md (52), doc/notes/servers.md */
#include "learn/ahead.h"
#include "learn/closed_loop.h"
#include "learn/fitted.h"
#include <math.h>
#include <stdlib.h>

/* Constants of a row's steps, or of its prompts: those of the fit of that latency. */
static int constants_of(struct time_constants *out, const void *params, const struct workload *p, enum measure_metric metric, struct error *err)
{
    struct measurement m = *p->m;
    struct workload as = *p;
    struct fitted_row *r = calloc(1, sizeof *r);
    if (!r)
        return error_oom(err, sizeof *r, "a row");
    m.metric = metric;
    as.m = &m;
    (void)fitted_row_init(r, &as, fitted_kind(&m));
    fitted_constants(params, &r->traits, fitted_case(&r->f), out);
    free(r);
    return 0;
}

/* Steps with their constants; TTFT also with those of prompts, which TPOT hardly shows. */
static int simulate(double *s, const void *params, const struct workload *p, struct error *err)
{
    const bool first = p->m->metric == METRIC_TTFT;
    struct time_constants steps, prompts;
    struct stack_traits x;
    struct closed_loop loop;
    if (constants_of(&steps, params, p, METRIC_TPOT, err) != 0 || (first && constants_of(&prompts, params, p, METRIC_TTFT, err) != 0))
        return -1;
    stack_traits_init(&x, p);
    if (closed_loop_run(&loop, &x, &(struct closed_loop_constants){ steps.parameter, first ? prompts.parameter : NULL }, err) != 0)
        return -1;
    *s = first ? loop.ttft_s : loop.tpot_s;
    return 0;
}

/* The interval is the closed form's, around the simulated seconds. */
static int simulated_predict(const void *params, const struct workload *row, struct estimate *out, struct error *err)
{
    struct error e = { 0 };
    struct workload as = *row;
    const struct workload *const p = &as;
    double s;
    if (as.unseen && !isnan(as.n_ahead) && ahead_set(&as, err) != 0) /* which depends on collectives, too */
        return -1;
    if (time_model_fitted.predict(params, p, out, err) != 0)
        return -1;
    if (p->m->kind != MEASURE_SERVING)
        return 0;
    out->closed_form = closed_loop_why_not(p);
    if (out->closed_form)
        return 0;
    if (simulate(&s, params, p, &e) != 0) {
        out->closed_form = "no simulation";
        return error_is_fatal(&e) ? error_set(err, e.kind, "%s", e.msg) : 0;
    }
    const double by = s / out->seconds;
    if (!(by > 0) || !isfinite(by)) {
        out->closed_form = "no simulation";
        return 0;
    }
    *out = (struct estimate){ .seconds = s, .lo_s = out->lo_s * by, .hi_s = out->hi_s * by };
    return 0;
}

static int simulated_fit(void **params, const struct workload *const *rows, size_t n, const struct fit_scope *scope, struct error *err)
{
    return time_model_fitted.fit(params, rows, n, scope, err);
}

static void simulated_free(void *params)
{
    time_model_fitted.free(params);
}

const struct time_model time_model_simulated = { "simulated", simulated_fit, simulated_predict, simulated_free };
