/* Times of requests: mean, standard deviation and percentiles of each metric, with intervals. */
#include "serving/describe.h"
#include "serving/metrics_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double stat_q[SERVE_STATS] = { [STAT_P50] = 0.5, [STAT_P90] = 0.9, [STAT_P95] = 0.95, [STAT_P99] = 0.99 };

/* ---- the requests ---------------------------------------------------------------------------------- */

struct sent {
    uint64_t ps;
    uint32_t request;
};

static int by_sent(const void *a, const void *b)
{
    const struct sent *x = a, *y = b;
    return x->ps != y->ps ? (x->ps > y->ps) - (x->ps < y->ps) : (x->request > y->request) - (x->request < y->request);
}

/* Requests that were served, by when they were sent: mostly as they stand. */
static int order_requests(struct metrics_work *k, struct error *err)
{
    const size_t n = k->r->n;
    struct sent *s = malloc(n * sizeof *s);
    bool sorted = true;
    if (!s)
        return error_oom(err, n * sizeof *s, "the order of requests");
    for (size_t i = 0; i < n; i++) {
        if (!served(&k->r->out[i]))
            continue;
        s[k->n] = (struct sent){ k->r->out[i].sent_ps, (uint32_t)i };
        sorted &= k->n == 0 || s[k->n - 1].ps <= s[k->n].ps;
        k->n++;
    }
    if (!sorted)
        qsort(s, k->n, sizeof *s, by_sent);
    for (size_t i = 0; i < k->n; i++)
        k->order[i] = s[i].request;
    free(s);
    k->m->n_failed = n - k->n;
    return k->n > 0 ? 0 : error_set(err, ERROR_INPUT, "%s: no request was served: there is nothing to measure", k->w->name);
}

static void first_and_last(struct metrics_work *k)
{
    uint64_t end_ps = 0;
    k->first_s = seconds(k->r->out[k->order[0]].sent_ps);
    k->last_s = seconds(k->r->out[k->order[k->n - 1]].sent_ps);
    k->m->n_in_tok = k->m->n_out_tok = 0;
    for (size_t i = 0; i < k->n; i++) {
        const uint32_t q = k->order[i];
        end_ps = u64_max(end_ps, k->r->out[q].end_ps);
        k->m->n_in_tok += k->w->r[q].n_in;
        k->m->n_out_tok += k->w->r[q].n_out;
    }
    k->end_s = seconds(end_ps);
    k->m->n = k->n;
}

double serve_request_s(const struct serve_outcome *o, uint32_t n_out, enum serve_metric m)
{
    switch (m) {
    case SERVE_TTFT:
        return span_s(o->sent_ps, o->first_ps);
    case SERVE_TPOT:
        return n_out > 1 ? span_s(o->first_ps, o->end_ps) / (n_out - 1) : NAN;
    case SERVE_E2E:
        return span_s(o->sent_ps, o->end_ps);
    case SERVE_QUEUE:
        return span_s(o->sent_ps, o->start_ps);
    case SERVE_CLIENT_QUEUE:
        return span_s(o->due_ps, o->sent_ps);
    case SERVE_E2E_CLIENT:
        return span_s(o->due_ps, o->end_ps);
    case SERVE_ITL:
    case SERVE_METRICS:
        return NAN;
    }
    return NAN;
}

/* Of one metric, by arrival, into k->x: how many requests have it. */
static size_t collect(struct metrics_work *k, enum serve_metric metric)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++) {
        const double s = serve_request_s(&k->r->out[k->order[i]], k->w->r[k->order[i]].n_out, metric);
        if (!isnan(s))
            k->x[n++] = s;
    }
    return n;
}

/* sqrt of the mean square; k->scratch: squares. */
static struct sampled deviation(struct metrics_work *k, size_t n, double mean)
{
    for (size_t i = 0; i < n; i++)
        k->scratch[i] = (k->x[i] - mean) * (k->x[i] - mean);
    struct sampled e = series_mean(k->scratch, n);
    e.value = sqrt(e.value);
    e.lo = e.lo < 0 ? 0 : sqrt(e.lo); /* NaN stays: fmax() would drop it */
    e.hi = sqrt(e.hi);
    return e;
}

static void times_of(struct metrics_work *k, enum serve_metric metric)
{
    const size_t n = collect(k, metric);
    struct sampled *v = &k->m->v[serve_time(metric, 0)];
    if (n == 0) {
        for (int s = 0; s < SERVE_STATS; s++)
            v[s] = sampled_none(NAN, "every request has one output token");
        return;
    }
    memcpy(k->sorted, k->x, n * sizeof *k->x);
    series_sort(k->sorted, k->scratch, n);
    v[STAT_MEAN] = series_mean(k->x, n);
    v[STAT_STD] = deviation(k, n, v[STAT_MEAN].value);
    for (int s = STAT_P50; s < SERVE_STATS; s++)
        v[s] = series_percentile(k->x, k->sorted, n, stat_q[s]);
}

/* ---- gaps between tokens ------------------------------------------------------------------------------- */

/* As in series_percentile(). */
#define GAP_TAIL_MOST 0.6

/* The interval of a share of gaps by slices of the run, carried over to the gaps. */
static struct sampled gap_percentile(const struct metrics_work *k, double q)
{
    const struct timeline *t = k->o->timeline;
    const struct histogram *h = &k->r->gap;
    double within[TIMELINE_SLICES], all[TIMELINE_SLICES];
    size_t n = 0;
    const double value = histogram_quantile_s(h, q);
    if (!t)
        return sampled_none(value, "no time series: no interval");
    for (size_t i = 0; i < t->n_slice; i++) {
        if (t->slice[i].n == 0)
            continue;
        within[n] = timeline_gaps_within(&t->slice[i], value);
        all[n++] = (double)t->slice[i].n;
    }
    if (n < SERIES_BATCHES)
        return sampled_none(value, "the run is too short for slices: no interval");
    const struct sampled share = series_ratio(within, all, n, n);
    const double half = (share.hi - share.lo) / 2;
    if (!(half <= GAP_TAIL_MOST * fmin(q, 1 - q)))
        return sampled_none(value, share.reason ? share.reason : "too few gaps for an interval of this percentile");
    struct sampled e = { .value = value, .n_eff = NAN, .reason = share.reason };
    e.lo = fmin(value, histogram_quantile_s(h, q - half));
    e.hi = fmax(value, histogram_quantile_s(h, q + half));
    return e;
}

/* The mean of all gaps errs as that of tokens' mean times does: sum(end - first) / sum(tokens - 1), by batches of requests. */
static void times_of_gaps(struct metrics_work *k)
{
    struct sampled *v = &k->m->v[serve_time(SERVE_ITL, 0)];
    const struct histogram *h = &k->r->gap;
    if (h->n == 0) {
        for (int s = 0; s < SERVE_STATS; s++)
            v[s] = sampled_none(NAN, "every request has one output token");
        return;
    }
    for (size_t i = 0; i < k->n; i++) {
        const struct serve_outcome *o = &k->r->out[k->order[i]];
        k->x[i] = span_s(o->first_ps, o->end_ps);
        k->scratch[i] = k->w->r[k->order[i]].n_out - 1;
    }
    v[STAT_MEAN] = sampled_none(histogram_mean_s(h), "fewer than 40 requests: no interval");
    if (k->n >= SERIES_LEAST) {
        const struct sampled e = series_ratio(k->x, k->scratch, k->n, SERIES_BATCHES);
        v[STAT_MEAN].lo = v[STAT_MEAN].value * (e.lo < 0 ? 0 : e.lo / e.value); /* NaN stays */
        v[STAT_MEAN].hi = v[STAT_MEAN].value * e.hi / e.value;
        v[STAT_MEAN].reason = e.reason;
    }
    v[STAT_STD] = sampled_none(histogram_sd_s(h), "replications give its interval");
    for (int s = STAT_P50; s < SERVE_STATS; s++)
        v[s] = gap_percentile(k, stat_q[s]);
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

static void drop_warmup(struct metrics_work *k)
{
    bool found;
    collect(k, SERVE_TTFT);
    const size_t n = series_warmup(k->x, k->n, &found);
    k->m->n_warmup = found ? n : 0;
    k->m->warmup_unsteady = !found;
    k->order += k->m->n_warmup;
    k->n -= k->m->n_warmup;
}

/* Percentiles of a queue that grows have no interval: they have no limit. */
static void mark_growing(struct serve_metrics *m)
{
    static const enum serve_metric grows[] = { SERVE_TTFT, SERVE_E2E, SERVE_QUEUE, SERVE_CLIENT_QUEUE, SERVE_E2E_CLIENT };
    const char *why = m->stability.verdict == SERVE_SATURATED ? "saturated: grows with the length of the run"
                      : m->stability.verdict == SERVE_BURST   ? "all requests at once: grows with their number"
                                                              : NULL;
    for (size_t i = 0; why && i < ARRAY_LEN(grows); i++)
        for (int s = 0; s < SERVE_STATS; s++)
            m->v[serve_time(grows[i], s)] = sampled_none(m->v[serve_time(grows[i], s)].value, why);
    for (int v = VALUE_SLO_SHARE; why && m->has_slo && v <= VALUE_GOODPUT_TOK_S; v++)
        m->v[v] = sampled_none(m->v[v].value, why);
    if (why)
        m->v[VALUE_WAITING] = sampled_none(m->v[VALUE_WAITING].value, why);
}

static int measure(struct metrics_work *k, struct error *err)
{
    if (order_requests(k, err) != 0)
        return -1;
    if (k->o->drop_warmup)
        drop_warmup(k);
    first_and_last(k);
    for (int m = 0; m < SERVE_METRICS && !k->o->brief; m++)
        if (m != SERVE_ITL)
            times_of(k, m);
    if (!k->o->brief)
        times_of_gaps(k);
    metrics_stability(k);
    metrics_rates(k);
    metrics_slo(k);
    mark_growing(k->m);
    return 0;
}

int serve_metrics(struct serve_metrics *m, const struct serve_result *r, const struct serve_workload *w, const struct serve_metrics_options *o,
                  struct error *err)
{
    struct metrics_work k = { .r = r, .w = w, .o = o, .m = m };
    int rc = -1;
    *m = (struct serve_metrics){ .mixed_share = NAN };
    for (int v = 0; v < SERVE_VALUES; v++)
        m->v[v] = sampled_none(NAN, NULL);
    uint32_t *order = k.order = malloc(r->n * sizeof *order);
    double *x = malloc(3 * r->n * sizeof *x);
    if (order && x) {
        k.x = x;
        k.sorted = x + r->n;
        k.scratch = x + 2 * r->n;
        rc = measure(&k, err);
    } else {
        (void)error_oom(err, 3 * r->n * sizeof *x, "the times of requests");
    }
    free(order);
    free(x);
    return rc;
}

double serve_hit_bound(const struct serve_workload *w, uint32_t block_size, struct error *err)
{
    struct serve_workload_description d;
    return serve_workload_describe(&d, w, block_size, err) == 0 ? d.hit_share : NAN;
}

/* ---- distributions ---------------------------------------------------------------------------------------- */

/* Shares 0 to 0.99, then to 1 in finer steps. */
static double cdf_share(int i)
{
    enum { COARSE = CDF_POINTS - 21 };
    return i <= COARSE ? 0.99 * i / COARSE : 0.99 + 0.01 * (i - COARSE) / 20;
}

int serve_cdf(struct cdf_point out[static CDF_POINTS], const struct serve_result *r, const struct serve_workload *w, enum serve_metric m, struct error *err)
{
    struct serve_metrics unused = { 0 };
    struct metrics_work k = { .r = r, .w = w, .m = &unused };
    size_t n = m == SERVE_ITL ? r->gap.n : 0;
    k.order = malloc(r->n * sizeof *k.order);
    k.x = malloc(2 * r->n * sizeof *k.x);
    if (!k.order || !k.x) {
        free(k.order);
        free(k.x);
        return error_oom(err, 2 * r->n * sizeof *k.x, "a distribution");
    }
    for (size_t i = 0; i < r->n; i++)
        if (served(&r->out[i]))
            k.order[k.n++] = (uint32_t)i;
    if (m != SERVE_ITL) {
        n = collect(&k, m);
        series_sort(k.x, k.x + r->n, n);
    }
    for (int i = 0; i < CDF_POINTS && n > 0; i++) {
        const double q = cdf_share(i);
        out[i] = (struct cdf_point){ m == SERVE_ITL ? histogram_quantile_s(&r->gap, q) : series_quantile(k.x, n, q), q };
    }
    free(k.order);
    free(k.x);
    return n > 0 ? CDF_POINTS : 0;
}
