/* Rates, occupancy, goodput. */
#include "serving/metrics_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct sampled maximum(double v)
{
    return sampled_none(v, "a maximum: replications give its interval");
}

static struct sampled scaled(double value, const struct sampled *by)
{
    struct sampled e = *by;
    if (!(by->value > 0))
        return sampled_none(value, by->reason ? by->reason : "no part of the run has it: no interval");
    e.lo *= value / by->value;
    e.hi *= value / by->value;
    e.value = value;
    e.n_eff = NAN;
    return e;
}

/* ---- rates ------------------------------------------------------------------------------------------- */

/* While requests are sent, in slices of time: ends of requests, prompt tokens when they are computed, output tokens evenly. */
static void steady_rates(struct metrics_work *k)
{
    double done[SERIES_BATCHES] = { 0 }, in[SERIES_BATCHES] = { 0 }, out[SERIES_BATCHES] = { 0 }, s[SERIES_BATCHES];
    struct sampled *v = k->m->v;
    const double lo = k->first_s, hi = k->last_s;
    v[VALUE_STEADY] = sampled_none(hi - lo, "set by the workload");
    if (!(hi > lo)) {
        for (int i = VALUE_STEADY_REQUEST_S; i <= VALUE_STEADY_OUT_TOK_S; i++)
            v[i] = sampled_none(NAN, "all requests are sent at once");
        return;
    }
    for (size_t i = 0; i < k->n; i++) {
        const struct serve_outcome *o = &k->r->out[k->order[i]];
        const struct serve_request *q = &k->w->r[k->order[i]];
        const double start = seconds(o->start_ps), first = seconds(o->first_ps), end = seconds(o->end_ps);
        metrics_spread(done, SERIES_BATCHES, lo, hi, end, end, 1);
        metrics_spread(in, SERIES_BATCHES, lo, hi, start, first, q->n_in);
        metrics_spread(out, SERIES_BATCHES, lo, hi, first, first, 1);
        metrics_spread(out, SERIES_BATCHES, lo, hi, first, end, q->n_out - 1.0);
    }
    for (size_t i = 0; i < SERIES_BATCHES; i++)
        s[i] = (hi - lo) / SERIES_BATCHES;
    v[VALUE_STEADY_REQUEST_S] = series_ratio(done, s, SERIES_BATCHES, SERIES_BATCHES);
    v[VALUE_STEADY_IN_TOK_S] = series_ratio(in, s, SERIES_BATCHES, SERIES_BATCHES);
    v[VALUE_STEADY_OUT_TOK_S] = series_ratio(out, s, SERIES_BATCHES, SERIES_BATCHES);
}

static void whole_rates(struct metrics_work *k)
{
    struct sampled *v = k->m->v;
    const double s = k->end_s - k->first_s, in = (double)k->m->n_in_tok, out = (double)k->m->n_out_tok;
    v[VALUE_DURATION] = sampled_none(s, "replications give its interval");
    v[VALUE_REQUEST_S] = scaled((double)k->n / s, &v[VALUE_STEADY_REQUEST_S]);
    v[VALUE_IN_TOK_S] = scaled(in / s, &v[VALUE_STEADY_IN_TOK_S]);
    v[VALUE_OUT_TOK_S] = scaled(out / s, &v[VALUE_STEADY_OUT_TOK_S]);
    v[VALUE_TOTAL_TOK_S] = sampled_none((in + out) / s, v[VALUE_IN_TOK_S].reason ? v[VALUE_IN_TOK_S].reason : v[VALUE_OUT_TOK_S].reason);
    v[VALUE_TOTAL_TOK_S].lo = v[VALUE_IN_TOK_S].lo + v[VALUE_OUT_TOK_S].lo;
    v[VALUE_TOTAL_TOK_S].hi = v[VALUE_IN_TOK_S].hi + v[VALUE_OUT_TOK_S].hi;
    const struct sampled *tpot = &v[serve_time(SERVE_TPOT, STAT_MEAN)];
    v[VALUE_USER_TOK_S] = (struct sampled){ 1 / tpot->value, 1 / tpot->hi, 1 / tpot->lo, tpot->n_eff, tpot->reason };
}

/* vLLM's buckets of a second: tokens of a request are spread evenly from its first to its last. */
static double peak_tokens(const struct metrics_work *k)
{
    const size_t n = (size_t)ceil(k->end_s - k->first_s) + 1;
    double *more = calloc(2 * (n + 2), sizeof *more), rate = 0, most = 0;
    if (!more)
        return NAN;
    double *here = more + n + 2;
    for (size_t i = 0; i < k->n; i++) {
        const struct serve_outcome *o = &k->r->out[k->order[i]];
        const double from = seconds(o->first_ps) - k->first_s, to = seconds(o->end_ps) - k->first_s;
        const double tokens = k->w->r[k->order[i]].n_out - 1.0, r = to > from ? tokens / (to - from) : 0;
        const size_t a = (size_t)from, b = (size_t)to;
        here[a] += to > from ? 1 : 1 + tokens;
        here[a] += r * (fmin((double)a + 1, to) - from);
        if (b == a)
            continue;
        here[b] += r * (to - (double)b);
        more[a + 1] += r; /* whole seconds between */
        more[b] -= r;
    }
    for (size_t i = 0; i < n; i++) {
        rate += more[i];
        most = fmax(most, rate + here[i]);
    }
    free(more);
    return most;
}

/* Requests between sent and end, at most; ends come before sends of the same time. */
static double peak_requests(struct metrics_work *k)
{
    size_t j = 0, most = 0;
    for (size_t i = 0; i < k->n; i++)
        k->sorted[i] = seconds(k->r->out[k->order[i]].end_ps);
    series_sort(k->sorted, k->scratch, k->n);
    for (size_t i = 0; i < k->n; i++) {
        const double sent = seconds(k->r->out[k->order[i]].sent_ps);
        while (j < k->n && k->sorted[j] <= sent)
            j++;
        most = i + 1 > most + j ? i + 1 - j : most;
    }
    return (double)most;
}

/* ---- occupancy ----------------------------------------------------------------------------------------- */

/* Points of the time series as batches: value, with the interval of sum(num) / sum(den) over them. */
static struct sampled over_time(const struct metrics_work *k, double value, size_t num, size_t den)
{
    const struct timeline *t = k->o->timeline;
    double n[SERIES_BATCHES] = { 0 }, d[SERIES_BATCHES] = { 0 };
    if (!t)
        return sampled_none(value, "no time series: no interval");
    if (t->n < SERIES_BATCHES)
        return sampled_none(value, "the run is too short for an interval");
    for (size_t i = 0; i < t->n; i++) {
        const char *p = (const char *)&t->point[i];
        double a, b = timeline_width_s(t);
        memcpy(&a, p + num, sizeof a);
        if (den != SIZE_MAX)
            memcpy(&b, p + den, sizeof b);
        n[i * SERIES_BATCHES / t->n] += a;
        d[i * SERIES_BATCHES / t->n] += b;
    }
    const struct sampled e = series_ratio(n, d, SERIES_BATCHES, SERIES_BATCHES);
    return scaled(value, &e);
}
#define POINT(field) offsetof(struct timeline_point, field)

static double mean_waiting(const struct metrics_work *k)
{
    double s = 0;
    for (size_t i = 0; i < k->n; i++)
        s += span_s(k->r->out[k->order[i]].sent_ps, k->r->out[k->order[i]].start_ps);
    return s / (k->end_s - k->first_s);
}

/* Of the device's peak; NaN: not counted, or the profile has no peak. */
static struct sampled utilization(const struct metrics_work *k, double work, double peak_s, size_t point)
{
    const double busy_s = (double)k->r->t.busy_ps / PS_PER_S;
    return k->o->options->work && !isnan(peak_s) ? over_time(k, work / (busy_s * peak_s), point, POINT(busy_s)) : sampled_none(NAN, "not counted");
}

static void occupancy(struct metrics_work *k)
{
    const struct serve_totals *t = &k->r->t;
    struct sampled *v = k->m->v;
    const double busy = (double)t->busy_ps, blocks = k->o->options->n_block;
    v[VALUE_BATCH] = over_time(k, (double)t->running_ps / busy, POINT(running_s), POINT(busy_s));
    v[VALUE_BATCH_MOST] = maximum(t->most_running);
    v[VALUE_KV] = over_time(k, (double)t->used_block_ps / busy / blocks, POINT(block_s), POINT(busy_s));
    v[VALUE_KV_MOST] = maximum(t->most_used_blocks / blocks);
    const struct step_work *work = k->o->options->work;
    v[VALUE_MBU] = utilization(k, t->bytes, work ? work->peak_bytes_s : NAN, POINT(bytes));
    v[VALUE_MFU] = utilization(k, t->flop, work ? work->peak_flop_s : NAN, POINT(flop));
    v[VALUE_BUSY] = over_time(k, k->m->stability.busy, POINT(busy_s), SIZE_MAX);
    v[VALUE_WAITING] = over_time(k, mean_waiting(k), POINT(waiting_s), SIZE_MAX);
    v[VALUE_PEAK_OUT_TOK_S] = maximum(peak_tokens(k));
    v[VALUE_PEAK_REQUESTS] = maximum(peak_requests(k));
    if (k->o->timeline) {
        k->m->bound = timeline_bound(k->o->timeline);
        k->m->mixed_share = k->o->timeline->mixed_s / (k->o->timeline->mixed_s + k->o->timeline->decode_s);
    }
}

/* ---- counts --------------------------------------------------------------------------------------------- */

static struct sampled ratio_of_counts(double value, const double *num, const double *den, size_t n)
{
    if (n < SERIES_LEAST)
        return sampled_none(value, "fewer than 40 requests: no interval");
    const struct sampled e = series_ratio(num, den, n, SERIES_BATCHES);
    return scaled(value, &e);
}

static void counts(struct metrics_work *k)
{
    const struct serve_totals *t = &k->r->t;
    struct sampled *v = k->m->v;
    for (size_t i = 0; i < k->n; i++) {
        k->x[i] = k->r->out[k->order[i]].n_preempt;
        k->sorted[i] = k->r->out[k->order[i]].n_hit;
        k->scratch[i] = k->w->r[k->order[i]].n_in;
    }
    v[VALUE_PREEMPTIONS] = ratio_of_counts((double)t->n_preempt, k->x, NULL, k->n);
    const double hit = t->n_query_tok > 0 ? (double)t->n_hit_tok / (double)t->n_query_tok : NAN;
    v[VALUE_HIT] = isnan(hit) ? sampled_none(NAN, "no prefix cache, or nothing to find in it") : ratio_of_counts(hit, k->sorted, k->scratch, k->n);
    v[VALUE_HIT_INFINITE] = sampled_none(k->o->hit_infinite, "of the workload");
    v[VALUE_EVICTED] = sampled_none((double)t->n_evicted, "replications give its interval");
    v[VALUE_LOADED] = sampled_none((double)t->n_loaded_tok, "replications give its interval");
    v[VALUE_WASTED] = sampled_none((double)t->n_wasted_tok, "replications give its interval");
    const double draft = (double)t->n_draft, accepted = (double)t->n_accepted;
    const char *why = draft > 0 ? "replications give its interval" : "no speculation";
    v[VALUE_ACCEPTANCE] = sampled_none(draft > 0 ? accepted / draft : NAN, why);
    v[VALUE_ACCEPTED_LENGTH] = sampled_none(draft > 0 ? 1 + accepted / (double)t->n_round : NAN, why);
}

void metrics_rates(struct metrics_work *k)
{
    if (!k->o->brief)
        steady_rates(k);
    whole_rates(k);
    if (k->o->brief)
        return;
    occupancy(k);
    counts(k);
}

/* ---- service level objective ------------------------------------------------------------------------------- */

/* Seconds that vLLM's goodput compares: TPOT of one token is 0. */
static double compared_s(const struct metrics_work *k, uint32_t request, enum serve_metric m)
{
    const double s = serve_request_s(&k->r->out[request], k->w->r[request].n_out, m);
    return isnan(s) ? 0 : s;
}

/* A percentile or mean of all of a metric's values. */
static double marginal(struct metrics_work *k, const struct serve_slo *s, enum serve_metric m)
{
    size_t n = 0;
    if (m == SERVE_ITL)
        return s->reading == SLO_MEAN ? histogram_mean_s(&k->r->gap) : histogram_quantile_s(&k->r->gap, s->share);
    for (size_t i = 0; i < k->n; i++)
        if (m != SERVE_TPOT || k->w->r[k->order[i]].n_out > 1)
            k->sorted[n++] = compared_s(k, k->order[i], m);
    if (s->reading == SLO_MEAN)
        return stats_mean(k->sorted, n);
    series_sort(k->sorted, k->scratch, n);
    return series_quantile(k->sorted, n, s->share);
}

static void good_of(struct metrics_work *k, const struct serve_slo *s, size_t j)
{
    const struct slo_limit *l = &s->limit[j];
    struct serve_good *g = &k->m->good[j];
    const double all_s = k->end_s - k->first_s;
    double n = 0, tok = 0;
    g->value_s = s->reading == SLO_JOINT ? NAN : marginal(k, s, l->metric);
    if (l->metric == SERVE_ITL) {
        g->share = histogram_share(&k->r->gap, (uint64_t)(l->limit_s * PS_PER_S));
        g->request_s = NAN;
        g->tok_s = g->share * k->m->v[VALUE_OUT_TOK_S].value;
    } else {
        for (size_t i = 0; i < k->n; i++) {
            const bool good = compared_s(k, k->order[i], l->metric) <= l->limit_s;
            n += good;
            tok += good ? k->w->r[k->order[i]].n_out : 0;
        }
        g->share = n / (double)k->n;
        g->request_s = n / all_s;
        g->tok_s = tok / all_s;
    }
    /* No gap, no second token: nothing is too late. */
    g->met = s->reading == SLO_JOINT ? g->share >= s->share : !(g->value_s > l->limit_s);
}

/* Requests that meet all limits that are a request's. */
void metrics_slo(struct metrics_work *k)
{
    const struct serve_slo *s = k->o->slo;
    struct serve_metrics *m = k->m;
    struct sampled *v = m->v;
    if (!s) {
        for (int i = VALUE_SLO_SHARE; i <= VALUE_GOODPUT_TOK_S; i++)
            v[i] = sampled_none(NAN, "no SLO");
        return;
    }
    m->has_slo = m->met = true;
    m->slo = *s;
    for (size_t j = 0; j < s->n; j++) {
        good_of(k, s, j);
        m->met &= m->good[j].met;
    }
    double n = 0, tok = 0;
    for (size_t i = 0; i < k->n; i++) {
        bool good = true;
        for (size_t j = 0; j < s->n; j++)
            good &= s->limit[j].metric == SERVE_ITL || compared_s(k, k->order[i], s->limit[j].metric) <= s->limit[j].limit_s;
        k->x[i] = good;
        k->sorted[i] = good ? k->w->r[k->order[i]].n_out : 0;
        n += good;
        tok += k->sorted[i];
    }
    const double all_s = v[VALUE_DURATION].value;
    v[VALUE_SLO_SHARE] = series_mean(k->x, k->n);
    v[VALUE_GOODPUT_REQUEST_S] = n > 0 ? scaled(n / all_s, &v[VALUE_SLO_SHARE]) : sampled_none(0, "no request meets it");
    const struct sampled tokens = series_mean(k->sorted, k->n);
    v[VALUE_GOODPUT_TOK_S] = n > 0 ? scaled(tok / all_s, &tokens) : sampled_none(0, "no request meets it");
    if (s->reading == SLO_JOINT)
        m->met = v[VALUE_SLO_SHARE].value >= s->share;
}
