#include "serving/capacity.h"
#include "serving/generate.h"
#include "serving/internal.h"
#include <math.h>
#include <stdlib.h>

/* ---- an objective ------------------------------------------------------------------------------------------------- */

/* Seconds of a metric of one request; INFINITY: it was not served; NaN: it has none. */
static double value_s(const struct serve_outcome *o, const struct serve_request *q, enum serve_metric m)
{
    return o->failed || o->first_ps == SERVE_NOT_YET ? INFINITY : serve_request_s(o, q->n_out, m);
}

/* Of requests from `from` on: how many have the metric, how many of them within the limit, their sum. */
struct within {
    size_t n, n_within;
    double sum_s;
};

static struct within within(const struct serve_result *r, const struct serve_workload *w, size_t from, const struct slo_limit *l)
{
    struct within x = { 0 };
    for (size_t i = from; i < r->n; i++) {
        const double s = value_s(&r->out[i], &w->r[i], l->metric);
        if (isnan(s))
            continue;
        x.n++;
        x.n_within += s <= l->limit_s;
        x.sum_s += s;
    }
    return x;
}

static bool limit_met(const struct serve_result *r, const struct serve_workload *w, size_t from, const struct serve_slo *slo, const struct slo_limit *l)
{
    if (l->metric == SERVE_ITL) {
        if (r->gap.n == 0)
            return true;
        return (slo->reading == SLO_MEAN ? histogram_mean_s(&r->gap) : histogram_quantile_s(&r->gap, slo->share)) <= l->limit_s;
    }
    const struct within x = within(r, w, from, l);
    if (x.n == 0)
        return true;
    if (slo->reading == SLO_MEAN)
        return x.sum_s / (double)x.n <= l->limit_s;
    return (double)x.n_within >= ceil(slo->share * ((double)x.n - 1)) + 1;
}

/* vLLM's goodput: a request without a metric is within its limit. */
static bool all_within(const struct serve_result *r, const struct serve_workload *w, size_t i, const struct serve_slo *slo)
{
    for (size_t k = 0; k < slo->n; k++)
        if (value_s(&r->out[i], &w->r[i], slo->limit[k].metric) > slo->limit[k].limit_s)
            return false;
    return true;
}

static bool meets_from(const struct serve_result *r, const struct serve_workload *w, size_t from, const struct serve_slo *slo)
{
    if (slo->reading == SLO_JOINT) {
        size_t n = 0;
        for (size_t i = from; i < r->n; i++)
            n += all_within(r, w, i, slo);
        return (double)n >= slo->share * (double)(r->n - from);
    }
    for (size_t k = 0; k < slo->n; k++)
        if (!limit_met(r, w, from, slo, &slo->limit[k]))
            return false;
    return true;
}

/* Part of the requests sent that may wait for a place when the last root is sent. */
static const double BACKLOG = 0.05;

/* The server keeps up with arrivals: an objective that says nothing of waiting, or a run that is over before the queue is long, would not
 * tell. */
static bool keeps_up(const struct serve_result *r, const struct serve_workload *w)
{
    uint64_t last_ps = 0;
    size_t n_sent = 0, n_waiting = 0;
    for (size_t i = 0; i < r->n; i++)
        if (w->r[i].parent == SERVE_NO_PARENT)
            last_ps = u64_max(last_ps, r->out[i].due_ps);
    for (size_t i = 0; i < r->n; i++) {
        n_sent += r->out[i].due_ps <= last_ps;
        n_waiting += r->out[i].due_ps <= last_ps && r->out[i].start_ps > last_ps;
    }
    return (double)n_waiting <= 1 + BACKLOG * (double)n_sent;
}

/* What a run of so few requests cannot tell of a rate: its arrivals are over before as many sequences run as would. */
static bool too_short(const struct serve_result *r, const struct serve_workload *w)
{
    enum { DRAINS = 2 };
    uint64_t first_ps = UINT64_MAX, last_ps = 0;
    for (size_t i = 0; i < r->n; i++)
        if (w->r[i].parent == SERVE_NO_PARENT) {
            first_ps = u64_min(first_ps, r->out[i].due_ps);
            last_ps = u64_max(last_ps, r->out[i].due_ps);
        }
    return (last_ps - first_ps) / DRAINS < r->t.end_ps - last_ps;
}

bool capacity_meets(const struct serve_result *r, const struct serve_workload *w, const struct serve_slo *slo)
{
    return keeps_up(r, w) && meets_from(r, w, 0, slo) && meets_from(r, w, r->n / 2, slo);
}

/* ---- a search ------------------------------------------------------------------------------------------------------ */

struct search {
    const struct serve_workload *w;
    const struct capacity_options *o;
    struct serve_options run;
    size_t n_root;
    double own_rate; /* of w's arrivals */
    uint32_t n_sim;
    bool short_run; /* the newest rate that was not met is one that so few requests cannot tell of */
    struct serve_result best; /* of the highest rate that was met, best_rate; 0: none */
    double best_rate;
};

int capacity_own_rate(double *rate, const struct serve_workload *w, struct error *err)
{
    *rate = serve_workload_rate(w);
    return isfinite(*rate) ? 0 : error_set(err, ERROR_USAGE, "%s: all requests are due at once: a rate needs times between them", w->name);
}

static int search_init(struct search *x, const struct serve_workload *w, const struct serve_options *run, const struct capacity_options *o,
                       struct error *err)
{
    const struct serve_workload_sum sum = serve_workload_sum(w);
    *x = (struct search){ .w = w, .o = o, .run = *run, .n_root = sum.n_root };
    return capacity_own_rate(&x->own_rate, w, err);
}

static void search_free(struct search *x)
{
    serve_result_free(&x->best);
}

/* Simulates at a rate; INFINITY: all at once. */
static int at_rate(struct search *x, double rate, struct serve_result *r, struct error *err)
{
    x->run.gap_scale = isinf(rate) ? 1e-300 : x->own_rate / rate;
    x->n_sim++;
    return serve_simulate(r, x->w, &x->run, err);
}

static int meets(struct search *x, double rate, bool *met, struct error *err)
{
    struct serve_result r;
    if (at_rate(x, rate, &r, err) != 0)
        return -1;
    *met = capacity_meets(&r, x->w, x->o->slo);
    if (*met && too_short(&r, x->w)) {
        *met = false;
        x->short_run = true;
    } else if (!*met) {
        x->short_run = false;
    }
    if (!*met || rate < x->best_rate) {
        serve_result_free(&r);
        return 0;
    }
    serve_result_free(&x->best);
    x->best = r;
    x->best_rate = rate;
    return 0;
}

static int saturation_of(struct search *x, double *rate, struct error *err)
{
    struct serve_result r;
    if (at_rate(x, INFINITY, &r, err) != 0)
        return -1;
    *rate = (double)x->n_root / ((double)r.t.end_ps / PS_PER_S);
    serve_result_free(&r);
    return 0;
}

/* A rate that is met, by halves of one that is not; 0: not even at a rate at which requests are alone. */
static int lower(struct search *x, double *hi, double *lo, struct error *err)
{
    enum { HALVES = 3 };
    const double slowest = (double)x->n_root / ((double)SERVE_MAX_PS / PS_PER_S), alone = fmax(1e-4 * *hi, slowest);
    bool met = false, tried = false;
    if (slowest >= *hi)
        return error_set(err, ERROR_INPUT, "%s: %zu arrivals at %.3g/s, which is too fast, last longer than %.3g s: expected fewer requests",
                         x->w->name, x->n_root, *hi, (double)SERVE_MAX_PS / PS_PER_S);
    for (int i = 0; i < 60 && *hi / 2 > alone; i++) {
        if (i == HALVES) {
            tried = true;
            if (meets(x, alone, &met, err) != 0)
                return -1;
            if (!met)
                break;
        }
        if (meets(x, *hi / 2, &met, err) != 0)
            return -1;
        if (met) {
            *lo = *hi / 2;
            return 0;
        }
        *hi /= 2;
    }
    if (!tried && meets(x, alone, &met, err) != 0)
        return -1;
    *lo = x->best_rate;
    return 0;
}

/* A rate that is not met, by doubles of one that is. */
static int higher(struct search *x, double *lo, double *hi, struct error *err)
{
    bool met = true;
    for (int i = 0; i < 60 && met; i++) {
        *lo = *hi;
        *hi *= 2;
        if (meets(x, *hi, &met, err) != 0)
            return -1;
    }
    return 0;
}

/* The highest rate, from that at which all are served when they are sent at once: think times and the drain at the end lower that one. */
static int highest(struct search *x, double saturation, double *rate, struct error *err)
{
    const double precision = x->o->precision > 0 ? x->o->precision : 0.01;
    double lo = saturation, hi = saturation;
    bool met;
    if (meets(x, saturation, &met, err) != 0 || (met ? higher(x, &lo, &hi, err) : lower(x, &hi, &lo, err)) != 0)
        return -1;
    while (lo > 0 && hi - lo > precision * hi) {
        const double middle = sqrt(lo * hi);
        if (meets(x, middle, &met, err) != 0)
            return -1;
        *(met ? &lo : &hi) = middle;
    }
    *rate = lo;
    return 0;
}

/* ---- what it is like at a rate --------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double serve_percentile(const struct serve_result *r, const struct serve_workload *w, enum serve_metric m, double q, double *v)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const double s = value_s(&r->out[i], &w->r[i], m);
        if (!isnan(s))
            v[n++] = s;
    }
    if (n == 0)
        return NAN;
    qsort(v, n, sizeof *v, by_value);
    return v[(size_t)ceil(q * (double)(n - 1))];
}

static double mean(const struct serve_result *r, const struct serve_workload *w, enum serve_metric m)
{
    const struct within x = within(r, w, 0, &(struct slo_limit){ m, INFINITY });
    return x.n > 0 ? x.sum_s / (double)x.n : NAN;
}

/* At the highest rate that was met. */
static int describe(const struct search *x, struct capacity_at *at, struct error *err)
{
    const struct serve_result *r = &x->best;
    double *v = malloc(x->w->n * sizeof *v);
    *at = (struct capacity_at){ .rate = x->best_rate };
    if (!v)
        return error_oom(err, x->w->n * sizeof *v, "the times of requests");
    const struct serve_workload_sum sum = serve_workload_sum(x->w);
    const double n_root = (double)sum.n_root, s = (double)r->t.end_ps / PS_PER_S;
    double good = 0, good_tok = 0;
    for (size_t i = 0; i < r->n; i++)
        if (all_within(r, x->w, i, x->o->slo)) {
            good++;
            good_tok += x->w->r[i].n_out;
        }
    at->in_tok_s = at->rate * (double)sum.n_in / n_root;
    at->out_tok_s = at->rate * (double)sum.n_out / n_root;
    at->ttft_p50_s = serve_percentile(r, x->w, SERVE_TTFT, 0.5, v);
    at->ttft_p99_s = serve_percentile(r, x->w, SERVE_TTFT, 0.99, v);
    at->tpot_mean_s = mean(r, x->w, SERVE_TPOT);
    at->e2e_mean_s = mean(r, x->w, SERVE_E2E);
    at->user_tok_s = 1 / at->tpot_mean_s;
    at->itl_p99_s = histogram_quantile_s(&r->gap, 0.99);
    at->batch = (double)r->t.running_ps / (double)r->t.busy_ps;
    at->kv = (double)r->t.used_block_ps / (double)r->t.busy_ps / x->run.n_block;
    at->good_request_s = good / s;
    at->good_tok_s = good_tok / s;
    free(v);
    return 0;
}

struct capacity capacity_none(void)
{
    return (struct capacity){ NAN, NAN, { NAN, NAN, NAN }, { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN }, 0, false };
}

int capacity_central(struct capacity *c, const struct serve_workload *w, const struct serve_options *run, const struct capacity_options *o,
                     struct error *err)
{
    struct search x;
    *c = capacity_none();
    if (search_init(&x, w, run, o, err) != 0)
        return -1;
    int rc = saturation_of(&x, &c->saturation, err);
    if (rc == 0)
        rc = highest(&x, c->saturation, &c->rate, err);
    if (rc == 0 && c->rate > 0)
        rc = describe(&x, &c->at, err);
    c->n_sim = x.n_sim;
    c->unsteady = x.short_run;
    search_free(&x);
    return rc;
}

int capacity_draw(double *rate, struct deployment *d, uint32_t draw, const struct serve_workload *w, const struct serve_options *run,
                  const struct capacity_options *o, struct error *err)
{
    struct search x;
    double saturation;
    if (search_init(&x, w, run, o, err) != 0)
        return -1;
    int rc = deployment_draw(d, draw, o->seed, err);
    if (rc == 0)
        rc = saturation_of(&x, &saturation, err);
    if (rc == 0)
        rc = highest(&x, saturation, rate, err);
    search_free(&x);
    if (rc == 0 || !serve_cannot_run(err))
        return rc;
    *rate = NAN;
    *err = (struct error){ 0 };
    return 0;
}

void capacity_probable(struct capacity *c, double *rate, uint32_t n_draw)
{
    enum { LEAST = 10 }; /* draws, for a 10th percentile */
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_draw; i++)
        if (isfinite(rate[i]))
            rate[n++] = rate[i];
    if (n < LEAST)
        return;
    const double q[CAPACITY_RATES] = { [CAPACITY_90] = 0.1, [CAPACITY_50] = 0.5, [CAPACITY_10] = 0.9 };
    for (int k = 0; k < CAPACITY_RATES; k++)
        c->probable[k] = stats_quantile(rate, n, q[k]);
}

static int draws(struct capacity *c, struct deployment *d, const struct serve_workload *w, const struct serve_options *run,
                 const struct capacity_options *o, struct error *err)
{
    double *rate = calloc(o->n_draw, sizeof *rate);
    int rc = rate ? 0 : error_oom(err, o->n_draw * sizeof *rate, "draws of the constants");
    for (uint32_t i = 0; i < o->n_draw && rc == 0; i++)
        rc = capacity_draw(&rate[i], d, i + 1, w, run, o, err);
    if (rc == 0)
        capacity_probable(c, rate, o->n_draw);
    free(rate);
    return rc == 0 ? deployment_draw(d, 0, 0, err) : -1;
}

int serve_capacity(struct capacity *c, struct deployment *d, const struct serve_workload *w, const struct serve_options *run,
                   const struct capacity_options *o, struct error *err)
{
    if (capacity_central(c, w, run, o, err) != 0 || (o->n_draw > 0 && d->estimator.roofs.time && draws(c, d, w, run, o, err) != 0))
        return -1;
    return interrupt_check(err);
}
