/* Prompts before a user's own in a closed loop. methods.md (52), doc/notes/servers.md */
#include "learn/ahead.h"
#include "learn/closed_loop.h"
#include "stacks/effects.h"
#include "stacks/priors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Constants of the priors alone, for the latency of a row like p. */
static int prior_constants(double *out, struct fitted_row *r, const struct workload *p, enum measure_metric metric)
{
    static const struct fit nothing = { 0 };
    struct measurement m = *p->m;
    struct workload as = *p;
    struct fit_row row;
    m.metric = metric;
    as.m = &m;
    as.n_ahead = 0; /* neither the queue nor a wait for a place */
    if (!fitted_row_init(r, &as, fitted_kind(&m)))
        return -1;
    fitted_row_predict(&nothing, r, &row);
    fit_parameters(&nothing, &fitted_model, &row, out);
    return 0;
}

/*
 * Separate prefill: a tenth of the requests come at once, and half of those of a worker are before one; later ones wait as in a queue of
 * Poisson arrivals and equal prompts. An unstated number of workers is enough for the load.
 */
static double queued(const struct workload *p, double prompt_s, double step_s)
{
    static const double most = 0.8; /* of a worker's time */
    const double dp = fmax(p->m->prefill.dp, 1), load = p->n_users * prompt_s / (dp * (p->out * step_s + prompt_s));
    const double workers = p->m->prefill.workers > 0 ? p->m->prefill.workers : ceil(load / most), busy = fmin(load / workers, most);
    return fmax(0, p->n_users / (workers * dp) - 1) / (2 * CLOSED_LOOP_ROUNDS) + busy / (2 * (1 - busy));
}

static int set(struct workload *p, struct fitted_row *r, struct error *err)
{
    double steps[TIME_PARAMETER_COUNT], prompts[TIME_PARAMETER_COUNT];
    struct stack_traits x;
    struct closed_loop loop;
    struct error e = { 0 };
    if (prior_constants(steps, r, p, METRIC_TPOT) != 0)
        return 0;
    const double step_s = exp(time_ln_seconds(&r->f, steps));
    if (prior_constants(prompts, r, p, METRIC_TTFT) != 0)
        return 0;
    r->f.before = NULL;
    const double prompt_s = exp(time_ln_seconds(&r->f, prompts));
    if (strcmp(p->m->mode, "disagg") == 0) {
        p->n_ahead = queued(p, prompt_s, step_s);
        return 0;
    }
    stack_traits_init(&x, p);
    if (closed_loop_run(&loop, &x, &(struct closed_loop_constants){ steps, prompts }, &e) != 0)
        return error_is_fatal(&e) ? error_set(err, e.kind, "%s", e.msg) : 0;
    const double n = (loop.ttft_s - x.receive_steps / 2 * loop.tpot_s) / prompt_s - 1;
    if (isfinite(n))
        p->n_ahead = fmax(0, n);
    return 0;
}

int ahead_set(struct workload *p, struct error *err)
{
    if (p->reason[0] || p->m->kind != MEASURE_SERVING || p->m->metric != METRIC_TTFT)
        return 0;
    if (strcmp(p->m->mode, "disagg") == 0 ? !(p->n_users >= 1) || !(p->out >= 1) : closed_loop_why_not(p) != NULL)
        return 0;
    if (priors_load(err) != 0)
        return -1;
    struct fitted_row *r = calloc(1, sizeof *r);
    const int rc = r ? set(p, r, err) : error_oom(err, sizeof *r, "a row");
    free(r);
    return rc;
}

int ahead_set_rows(struct workload *rows, size_t n, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = ahead_set(&rows[i], err);
    return rc;
}
