/* When the roots of a workload arrive. */
#include "serving/draw.h"
#include "serving/generate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int check_rate(double rate_s, const char *what, struct error *err)
{
    return rate_s > 0 ? 0 : error_set(err, ERROR_USAGE, "%s is %g requests/s: expected a number above 0", what, rate_s);
}

static int check_plan(const struct arrival_plan *a, struct error *err)
{
    if (a->burstiness < 0 || isnan(a->burstiness))
        return error_set(err, ERROR_USAGE, "burstiness %g: expected a number above 0 (1: Poisson, inf: constant gaps)", a->burstiness);
    if (a->ramp == RAMP_NONE)
        return isnan(a->rate_s) ? 0 : check_rate(a->rate_s, "the rate", err);
    if (check_rate(a->ramp_from_s, "the ramp's first rate", err) != 0 || check_rate(a->ramp_to_s, "the ramp's last rate", err) != 0)
        return -1;
    if (!isfinite(a->ramp_from_s) || !isfinite(a->ramp_to_s))
        return error_set(err, ERROR_USAGE, "a ramp from %g to %g requests/s: expected finite rates", a->ramp_from_s, a->ramp_to_s);
    return 0;
}

/* Mean gap before request i, over that of the plan's rate (vLLM benchmarks/serve.py, get_request). */
static double ramp_gap_s(const struct arrival_plan *a, size_t i, size_t n)
{
    const double at = n > 1 ? (double)i / (double)(n - 1) : 0;
    switch (a->ramp) {
    case RAMP_NONE:
        return 1 / a->rate_s;
    case RAMP_LINEAR:
        return 1 / (a->ramp_from_s + (a->ramp_to_s - a->ramp_from_s) * at);
    case RAMP_EXPONENTIAL:
        return 1 / (a->ramp_from_s * pow(a->ramp_to_s / a->ramp_from_s, at));
    }
    return 0;
}

static double unit_gap(const struct arrival_plan *a, uint64_t seed, size_t i)
{
    const double shape = a->burstiness > 0 ? a->burstiness : 1;
    if (isinf(shape))
        return 1;
    return shape == 1 ? draw_exponential(seed, DRAW_GAP, i) : draw_gamma(seed, DRAW_GAP, i, shape);
}

static int too_late(double s, struct error *err)
{
    return error_set(err, ERROR_INPUT, "arrivals last %.3g s: expected at most %.3g s; raise the rate or ask for fewer requests", s,
                     (double)SERVE_MAX_PS / PS_PER_S);
}

int arrival_times(uint64_t *ps, size_t n, const struct arrival_plan *a, uint64_t seed, struct error *err)
{
    double sum = 0, whole = 1;
    if (check_plan(a, err) != 0)
        return -1;
    if (a->ramp == RAMP_NONE && !isfinite(a->rate_s)) {
        memset(ps, 0, n * sizeof *ps);
        return 0;
    }
    /* In gaps of mean 1 without a ramp: another rate divides the same times. */
    if (a->ramp == RAMP_NONE && a->rescale) {
        for (size_t i = 0; i < n; i++)
            sum += unit_gap(a, seed, i);
        whole = sum > 0 ? (double)n / sum : 1;
        sum = 0;
    }
    for (size_t i = 0; i < n; i++) {
        sum += unit_gap(a, seed, i) * (a->ramp == RAMP_NONE ? 1 : ramp_gap_s(a, i, n));
        const double s = a->ramp == RAMP_NONE ? sum * whole / a->rate_s : sum;
        if (!(s * PS_PER_S < (double)SERVE_MAX_PS))
            return too_late(s, err);
        ps[i] = (uint64_t)(s * PS_PER_S + 0.5);
    }
    return 0;
}

int serve_workload_set_arrivals(struct serve_workload *w, const struct arrival_plan *a, uint64_t seed, struct error *err)
{
    const size_t n = serve_workload_sum(w).n_root;
    uint64_t *ps = malloc((n > 0 ? n : 1) * sizeof *ps);
    if (!ps)
        return error_oom(err, n * sizeof *ps, "arrivals");
    const int rc = arrival_times(ps, n, a, seed, err);
    for (size_t i = 0, k = 0; rc == 0 && i < w->n; i++)
        if (w->r[i].parent == SERVE_NO_PARENT)
            w->r[i].after_ps = ps[k++];
    free(ps);
    return rc;
}

int serve_workload_scale_rate(struct serve_workload *w, double factor, struct error *err)
{
    if (!(factor > 0) || !isfinite(factor))
        return error_set(err, ERROR_USAGE, "a rate %g times as high: expected a number above 0", factor);
    const double last_ps = (double)serve_workload_sum(w).last_arrival_ps / factor;
    if (!(last_ps < (double)SERVE_MAX_PS))
        return too_late(last_ps / PS_PER_S, err);
    for (size_t i = 0; i < w->n; i++)
        if (w->r[i].parent == SERVE_NO_PARENT)
            w->r[i].after_ps = (uint64_t)((double)w->r[i].after_ps / factor + 0.5);
    return 0;
}

double serve_workload_rate(const struct serve_workload *w)
{
    const struct serve_workload_sum s = serve_workload_sum(w);
    const uint64_t ps = s.last_arrival_ps - s.first_arrival_ps;
    return ps > 0 ? (double)(s.n_root - 1) * PS_PER_S / (double)ps : INFINITY;
}

void serve_workload_all_at_once(struct serve_workload *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->r[i].parent == SERVE_NO_PARENT)
            w->r[i].after_ps = 0;
}

int serve_workload_copy(struct serve_workload *to, const struct serve_workload *w, struct error *err)
{
    *to = *w;
    to->r = malloc((w->n > 0 ? w->n : 1) * sizeof *to->r);
    to->run = malloc((w->n_run > 0 ? w->n_run : 1) * sizeof *to->run);
    if (!to->r || !to->run) {
        serve_workload_free(to);
        return error_oom(err, w->n * sizeof *to->r + w->n_run * sizeof *to->run, "a copy of a workload");
    }
    if (w->n > 0)
        memcpy(to->r, w->r, w->n * sizeof *to->r);
    if (w->n_run > 0)
        memcpy(to->run, w->run, w->n_run * sizeof *to->run);
    return 0;
}

bool serve_workload_identified(const struct serve_workload *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->r[i].n_run == 0)
            return false;
    return true;
}

int serve_workload_identify(struct serve_workload *w, struct error *err)
{
    size_t cap = w->n_run;
    if (w->run_tokens == 0)
        w->run_tokens = GENERATE_TOKENS;
    for (size_t i = 0; i < w->n; i++) {
        struct serve_request *r = &w->r[i];
        if (r->n_run > 0)
            continue;
        /* Sessions of generated and read workloads count up from 0, these down from the end. */
        const struct token_run own = { serve_workload_own_identity(UINT32_MAX - (uint32_t)i),
                                       (uint32_t)u64_ceil_div((uint64_t)r->n_in + r->n_out, w->run_tokens) };
        if (w->n_run >= UINT32_MAX || !serve_workload_add_run(w, &cap, &own))
            return error_oom(err, cap * sizeof own, "the identities of requests");
        r->run0 = (uint32_t)(w->n_run - 1);
        r->n_run = 1;
    }
    return 0;
}
