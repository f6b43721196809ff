/* Metrics of a simulation: vLLM's arithmetic, intervals, saturation, service level objectives, the time series. */
#include "../near.h"
#include "../test.h"
#include "serving/capacity.h"
#include "serving/draw.h"
#include "serving/metrics.h"
#include <math.h>

/* ---- a server of one request at a time ------------------------------------------------------------------ */

/* M/G/1: exponential gaps of mean 1 / rho s; a request takes a second in the mean. Exponential: by the prompt's length, in steps of 1 ms. */
struct one_server {
    struct policy p;
    struct step_price price;
    struct serve_workload w;
    struct serve_result r;
    struct timeline t;
    struct serve_options o;
    struct serve_metrics m;
};

enum { MS = 1000000000, LONGEST = 30000 };

static void one_server(struct one_server *x, double rho, size_t n, uint64_t seed, bool exponential)
{
    struct error err;
    size_t cap = 0;
    double s = 0;
    *x = (struct one_server){ 0 };
    snprintf(x->w.name, sizeof x->w.name, "queue");
    for (size_t i = 0; i < n; i++) {
        s += draw_exponential(seed, DRAW_GAP, i) / rho;
        struct serve_request r = { .parent = SERVE_NO_PARENT, .after_ps = (uint64_t)(s * PS_PER_S), .n_in = 1000, .n_out = 1 };
        if (exponential)
            r.n_in = 1 + (uint32_t)fmin(1000 * draw_exponential(seed, DRAW_IN, i), LONGEST - 2);
        assert_true(serve_workload_add(&x->w, &cap, &r));
    }
    assert_ok(serve_workload_finish(&x->w, "queue", NULL, &err), err);
    assert_ok(policy_init(&x->p, "one-by-one", &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err), err);
    policy_set_model_len(&x->p, LONGEST);
    assert_ok(step_price_alloc(&x->price, &x->p, &err), err);
    for (uint32_t i = 0; i <= x->price.max_tok; i++)
        x->price.mixed_ps[i] = (uint64_t)i * MS;
    assert_ok(timeline_init(&x->t, &x->p, &err), err);
    x->o = (struct serve_options){ .policy = &x->p, .price = &x->price, .n_block = LONGEST / 16 + 2, .step = timeline_step, .step_ctx = &x->t };
    assert_ok(serve_simulate(&x->r, &x->w, &x->o, &err), err);
    assert_ok(serve_metrics(&x->m, &x->r, &x->w, &(struct serve_metrics_options){ .options = &x->o, .timeline = &x->t, .hit_infinite = NAN }, &err), err);
}

static void one_server_free(struct one_server *x)
{
    timeline_free(&x->t);
    serve_result_free(&x->r);
    serve_workload_free(&x->w);
    step_price_free(&x->price);
}

/* Waiting of M/M/1: mean rho / (1 - rho), P(W > t) = rho exp(-(1 - rho) t); of M/D/1 half the mean (Pollaczek and Khinchine). */
static void test_queues(void **state)
{
    (void)state;
    const double rho = 0.7, mean = rho / (1 - rho), p99 = log(rho / 0.01) / (1 - rho);
    struct one_server x;
    one_server(&x, rho, 200000, 1, true);
    const struct sampled *w = &x.m.v[serve_time(SERVE_QUEUE, 0)];
    assert_near(w[STAT_MEAN].value, mean, 0.05 * mean);
    assert_near(w[STAT_P99].value, p99, 0.06 * p99);
    assert_near(x.m.v[VALUE_WAITING].value, rho * w[STAT_MEAN].value, 0.02 * rho * mean); /* Little */
    assert_near(x.m.v[VALUE_BUSY].value, rho, 0.01);
    assert_near(x.m.v[VALUE_BATCH].value, 1, 1e-9);
    assert_true(w[STAT_MEAN].n_eff < 20000 && w[STAT_MEAN].n_eff > 500); /* of 200,000 */
    assert_int_equal(x.m.stability.verdict, SERVE_STABLE);
    one_server_free(&x);
    one_server(&x, rho, 200000, 1, false);
    assert_near(x.m.v[serve_time(SERVE_QUEUE, STAT_MEAN)].value, mean / 2, 0.05 * mean);
    one_server_free(&x);
}

/* 90 % intervals hold the true value in about 90 % of the runs: of 60 fewer than 45 have a chance of 1 in 2000. */
static void test_coverage(void **state)
{
    (void)state;
    const double rho = 0.6;
    const struct {
        int v;
        double truth;
    } rows[] = { { serve_time(SERVE_QUEUE, STAT_MEAN), rho / (1 - rho) },
                 { serve_time(SERVE_E2E, STAT_P50), log(2) / (1 - rho) },
                 { serve_time(SERVE_E2E, STAT_P90), log(10) / (1 - rho) },
                 { serve_time(SERVE_E2E, STAT_P99), log(100) / (1 - rho) } };
    size_t held[ARRAY_LEN(rows)] = { 0 };
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct one_server x;
        one_server(&x, rho, 20000, 100 + seed, true);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            const struct sampled *e = &x.m.v[rows[i].v];
            held[i] += isnan(e->lo) || (e->lo <= rows[i].truth && rows[i].truth <= e->hi);
        }
        one_server_free(&x);
    }
    print_message("# 90 %% intervals that hold, of 60: mean %zu, p50 %zu, p90 %zu, p99 %zu\n", held[0], held[1], held[2], held[3]);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_in_range(held[i], 45, 60);
    /* What few requests cannot tell they do not tell. */
    struct one_server x;
    one_server(&x, 0.8, 1000, 1, true);
    assert_true(isnan(x.m.v[serve_time(SERVE_E2E, STAT_P99)].hi) && x.m.v[serve_time(SERVE_E2E, STAT_P99)].reason);
    one_server_free(&x);
}

static void test_saturation(void **state)
{
    (void)state;
    static const struct {
        double rho;
        size_t n;
        enum serve_verdict verdict;
    } rows[] = { { 0.5, 2000, SERVE_STABLE }, { 0.8, 2000, SERVE_STABLE }, { 0.9, 5000, SERVE_STABLE }, { 1.2, 1000, SERVE_SATURATED },
                 { 1.1, 8000, SERVE_SATURATED }, { 3, 300, SERVE_SATURATED }, { 0.9, 2, SERVE_SHORT }, { 1e9, 500, SERVE_BURST } };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct one_server x;
            one_server(&x, rows[i].rho, rows[i].n, seed, true);
            if (rows[i].verdict != SERVE_SHORT && x.m.stability.verdict != rows[i].verdict)
                fail_msg("load %g, seed %d: verdict %d, expected %d", rows[i].rho, (int)seed, x.m.stability.verdict, rows[i].verdict);
            const struct sampled *e = &x.m.v[serve_time(SERVE_TTFT, STAT_P99)];
            if (rows[i].verdict == SERVE_SATURATED) {
                assert_non_null(strstr(e->reason, "length of the run"));
                assert_true(isnan(e->lo) && e->value > 0);
            }
            if (rows[i].rho > 1 && rows[i].rho < 2)
                assert_near(x.m.stability.backlog_request_s, rows[i].rho - 1, 0.12);
            one_server_free(&x);
        }
}

/* ---- vLLM's arithmetic -------------------------------------------------------------------------------------- */

/* Four requests by hand; expected figures by numpy's definitions, computed independently. */
static struct serve_outcome four[4] = {
    { .due_ps = 0, .sent_ps = 0, .start_ps = 0, .first_ps = 500 * (uint64_t)MS, .end_ps = 1500 * (uint64_t)MS },
    { .due_ps = 100 * (uint64_t)MS, .sent_ps = 200 * (uint64_t)MS, .start_ps = 500 * (uint64_t)MS, .first_ps = 900 * (uint64_t)MS,
      .end_ps = 900 * (uint64_t)MS, .n_preempt = 1 },
    { .due_ps = 300 * (uint64_t)MS, .sent_ps = 300 * (uint64_t)MS, .start_ps = 500 * (uint64_t)MS, .first_ps = 1100 * (uint64_t)MS,
      .end_ps = 3100 * (uint64_t)MS },
    { .due_ps = 2000 * (uint64_t)MS, .sent_ps = 2000 * (uint64_t)MS, .start_ps = 2000 * (uint64_t)MS, .first_ps = 2200 * (uint64_t)MS,
      .end_ps = 4200 * (uint64_t)MS, .n_hit = 16 },
};

static void four_requests(struct serve_result *r, struct serve_workload *w, struct serve_options *o, struct policy *p)
{
    static const uint32_t in[] = { 100, 50, 200, 20 }, out[] = { 11, 1, 41, 21 };
    struct error err;
    size_t cap = 0;
    *w = (struct serve_workload){ .name = "four" };
    for (size_t i = 0; i < 4; i++)
        assert_true(serve_workload_add(w, &cap, &(struct serve_request){ .parent = SERVE_NO_PARENT, .n_in = in[i], .n_out = out[i] }));
    *r = (struct serve_result){ .out = four, .n = 4 };
    assert_ok(histogram_init(&r->gap, &err), err);
    histogram_add(&r->gap, 100 * (uint64_t)MS, 10 + 20);
    histogram_add(&r->gap, 50 * (uint64_t)MS, 40);
    r->t = (struct serve_totals){ .busy_ps = 4000 * (uint64_t)MS, .n_preempt = 1, .n_query_tok = 370, .n_hit_tok = 16, .most_running = 3 };
    assert_ok(policy_init(p, "vllm", &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err), err);
    *o = (struct serve_options){ .policy = p, .n_block = 100 };
}

static void is(const struct serve_metrics *m, enum serve_metric metric, double mean, double std, double p50, double p90, double p99)
{
    const struct sampled *v = &m->v[serve_time(metric, 0)];
    const double tol = metric == SERVE_ITL ? 1e-3 : 1e-12; /* bins of 0.1 % */
    assert_near(v[STAT_MEAN].value, mean, 1e-12);
    assert_near(v[STAT_STD].value, std, tol);
    assert_near(v[STAT_P50].value, p50, tol * 0.1);
    assert_near(v[STAT_P90].value, p90, tol * 0.1);
    assert_near(v[STAT_P99].value, p99, tol * 0.1);
    assert_true(isnan(v[STAT_MEAN].lo) && v[STAT_MEAN].reason);
}

static void test_vllm(void **state)
{
    (void)state;
    struct serve_result r;
    struct serve_workload w;
    struct serve_options o;
    struct policy p;
    struct serve_metrics m;
    struct serve_slo slo;
    struct error err;
    four_requests(&r, &w, &o, &p);
    assert_ok(serve_slo_parse(&slo, "ttft=700ms,tpot=100ms", &err), err);
    const struct serve_metrics_options mo = { .options = &o, .slo = &slo, .hit_infinite = 0.25 };
    assert_ok(serve_metrics(&m, &r, &w, &mo, &err), err);
    /* ttft .5 .7 .8 .2; e2e 1.5 .7 2.8 2.2; tpot .1 .05 .1; itl 40 x .05, 30 x .1 */
    is(&m, SERVE_TTFT, 0.55, sqrt(0.0525), 0.6, 0.77, 0.797);
    is(&m, SERVE_E2E, 1.8, sqrt(0.615), 1.85, 2.62, 2.782);
    is(&m, SERVE_TPOT, 0.25 / 3, sqrt(0.0225 / 3 - 0.0625 / 9), 0.1, 0.1, 0.1);
    is(&m, SERVE_ITL, 5.0 / 70, sqrt(40 * 30) / 70 * 0.05, 0.05, 0.1, 0.1);
    is(&m, SERVE_CLIENT_QUEUE, 0.025, sqrt(0.0025 - 0.000625), 0, 0.07, 0.097);
    is(&m, SERVE_QUEUE, 0.125, sqrt((0.09 + 0.04) / 4 - 0.015625), 0.1, 0.27, 0.297);
    assert_near(m.v[VALUE_DURATION].value, 4.2, 1e-12);
    assert_near(m.v[VALUE_REQUEST_S].value, 4 / 4.2, 1e-12);
    assert_near(m.v[VALUE_OUT_TOK_S].value, 74 / 4.2, 1e-12);
    assert_near(m.v[VALUE_TOTAL_TOK_S].value, 444 / 4.2, 1e-12);
    /* good: the first, the second (one token: TPOT 0), the fourth */
    assert_near(m.v[VALUE_GOODPUT_REQUEST_S].value, 3 / 4.2, 1e-12);
    assert_near(m.v[VALUE_GOODPUT_TOK_S].value, 33 / 4.2, 1e-12);
    assert_near(m.v[VALUE_SLO_SHARE].value, 0.75, 1e-12);
    assert_near(m.good[0].share, 0.75, 1e-12);
    assert_near(m.good[1].share, 1, 1e-12);
    assert_false(m.met);
    assert_near(m.v[VALUE_PEAK_REQUESTS].value, 3, 0);
    /* the third second: 20 of the third request's, the fourth's first and 0.8 s of 10 a second */
    assert_near(m.v[VALUE_PEAK_OUT_TOK_S].value, 20 + 1 + 8, 1e-9);
    assert_near(m.v[VALUE_HIT].value, 16 / 370.0, 1e-12);
    assert_near(m.v[VALUE_HIT_INFINITE].value, 0.25, 0);
    assert_near(m.v[VALUE_PREEMPTIONS].value, 1, 0);
    /* marginal */
    assert_ok(serve_slo_parse(&slo, "p50:ttft=650ms,itl=60ms,e2e=1.8s", &err), err);
    assert_ok(serve_metrics(&m, &r, &w, &mo, &err), err);
    assert_true(m.good[0].met && m.good[1].met && !m.good[2].met && !m.met);
    assert_near(m.good[2].value_s, 1.85, 1e-12);
    assert_near(m.good[1].share, 40.0 / 70, 1e-12);
    assert_near(m.v[VALUE_SLO_SHARE].value, 0.25, 1e-12); /* ttft and e2e; gaps are no request's */
    /* in brief: the same verdict and goodput */
    struct serve_metrics b;
    struct serve_metrics_options bo = mo;
    bo.brief = true;
    assert_ok(serve_metrics(&b, &r, &w, &bo, &err), err);
    assert_true(b.met == m.met && b.good[2].value_s == m.good[2].value_s && b.stability.verdict == m.stability.verdict);
    assert_true(b.v[VALUE_GOODPUT_TOK_S].value == m.v[VALUE_GOODPUT_TOK_S].value && b.v[VALUE_OUT_TOK_S].value == m.v[VALUE_OUT_TOK_S].value);
    assert_true(isnan(b.v[serve_time(SERVE_TTFT, STAT_MEAN)].value));
    /* a request without a token */
    four[1].first_ps = SERVE_NOT_YET;
    assert_ok(serve_metrics(&m, &r, &w, &mo, &err), err);
    four[1].first_ps = 900 * (uint64_t)MS;
    assert_int_equal(m.n_failed, 1);
    four[1].failed = true; /* refused after its first token */
    assert_ok(serve_metrics(&m, &r, &w, &mo, &err), err);
    four[1].failed = false;
    assert_int_equal(m.n_failed, 1);
    assert_int_equal(m.n, 3);
    assert_near(m.v[serve_time(SERVE_TTFT, STAT_MEAN)].value, 0.5, 1e-12);
    o.n_replica = 4;
    assert_ok(serve_metrics(&m, &r, &w, &mo, &err), err);
    assert_near(m.stability.busy, 4 / 4.2 / 4, 1e-12);
    histogram_free(&r.gap);
    serve_workload_free(&w);
}

/* ---- rules, on made-up outcomes ------------------------------------------------------------------------- */

/* n requests, one sent every gap_s, that wait wait_s[third] seconds and then take life_s. */
static void made_up(struct serve_metrics *m, size_t n, double gap_s, const double wait_s[3], double life_s)
{
    struct serve_result r = { .n = n, .out = calloc(n, sizeof *r.out) };
    struct serve_workload w = { .name = "made up" };
    struct policy p = { .max_num_seqs = 1 };
    const struct serve_options o = { .policy = &p, .n_block = 1 };
    struct error err;
    size_t cap = 0;
    assert_non_null(r.out);
    assert_ok(histogram_init(&r.gap, &err), err);
    for (size_t i = 0; i < n; i++) {
        struct serve_outcome *x = &r.out[i];
        x->due_ps = x->sent_ps = (uint64_t)((double)i * gap_s * PS_PER_S);
        x->start_ps = x->sent_ps + (uint64_t)(wait_s[3 * i / n] * PS_PER_S);
        x->first_ps = x->end_ps = x->start_ps + (uint64_t)(life_s * PS_PER_S);
        assert_true(serve_workload_add(&w, &cap, &(struct serve_request){ .parent = SERVE_NO_PARENT, .n_in = 10, .n_out = 1 }));
    }
    r.t.busy_ps = UINT64_C(1) << 60;
    assert_ok(serve_metrics(m, &r, &w, &(struct serve_metrics_options){ .options = &o, .hit_infinite = NAN }, &err), err);
    histogram_free(&r.gap);
    serve_workload_free(&w);
    free(r.out);
}

static void test_rules(void **state)
{
    (void)state;
    struct serve_metrics m;
    made_up(&m, 300, 1, (const double[]){ 0, 10, 20 }, 0.5);
    assert_int_equal(m.stability.verdict, SERVE_SATURATED);
    assert_near(m.stability.queue[1], 10, 0.6);
    made_up(&m, 300, 1, (const double[]){ 0, 25, 15 }, 0.5); /* a burst that has been worked off in part */
    assert_int_equal(m.stability.verdict, SERVE_STABLE);
    made_up(&m, 300, 1, (const double[]){ 0, 2, 5.5 }, 0.5); /* 5 of 200 */
    assert_int_equal(m.stability.verdict, SERVE_STABLE);
    made_up(&m, 50, 0.2, (const double[]){ 0, 0, 0 }, 4);
    assert_int_equal(m.stability.verdict, SERVE_SHORT);
    made_up(&m, 50, 0.2, (const double[]){ 0, 0, 0 }, 3);
    assert_int_equal(m.stability.verdict, SERVE_STABLE);
    made_up(&m, 50, 0.2, (const double[]){ 0, 0, 0 }, 101);
    assert_int_equal(m.stability.verdict, SERVE_BURST);
    made_up(&m, 50, 0.5, (const double[]){ 0, 0, 0 }, 1); /* the second before ends as the next is sent */
    assert_near(m.v[VALUE_PEAK_REQUESTS].value, 2, 0);
    assert_true(isnan(m.v[serve_time(SERVE_TPOT, STAT_MEAN)].value) && isnan(m.v[serve_time(SERVE_ITL, STAT_P99)].value));
}

static void test_histogram(void **state)
{
    (void)state;
    struct histogram h;
    struct error err;
    assert_ok(histogram_init(&h, &err), err);
    assert_true(isnan(histogram_sd_s(&h)) && isnan(histogram_quantile_s(&h, 0.5)));
    histogram_add(&h, (uint64_t)PS_PER_S, 1);
    histogram_add(&h, 2 * (uint64_t)PS_PER_S, 1);
    assert_near(histogram_quantile_s(&h, 0.5), 1.5, 1.5e-3);
    assert_near(histogram_quantile_s(&h, 0.25), 1.25, 1.5e-3);
    assert_near(histogram_quantile_s(&h, 0), 1, 1e-3);
    assert_near(histogram_quantile_s(&h, 1), 2, 1e-3);
    assert_near(histogram_sd_s(&h), 0.5, 1e-3);
    histogram_free(&h);
}

/* A run of samples counts as its samples one by one. */
static void test_histogram_run(void **state)
{
    (void)state;
    struct histogram run, each;
    struct error err;
    struct rng g;
    rng_init(&g, 1);
    for (int k = 0; k < 300; k++) {
        const uint64_t first = rng_u64(&g) >> (4 + rng_u64(&g) % 60), by = k % 10 == 0 ? 0 : rng_u64(&g) >> (20 + rng_u64(&g) % 44);
        const uint64_t n = rng_u64(&g) % 3000, times = 1 + rng_u64(&g) % 5;
        assert_ok(histogram_init(&run, &err), err);
        assert_ok(histogram_init(&each, &err), err);
        histogram_add_run(&run, first, by, n, times);
        for (uint64_t i = 0; i < n; i++)
            histogram_add(&each, first + i * by, times);
        assert_true(run.n == each.n && run.sum_ps == each.sum_ps && run.least_ps == each.least_ps && run.most_ps == each.most_ps);
        for (int q = 0; q <= 200 && n > 0; q++)
            assert_near(histogram_quantile_s(&run, q / 200.0), histogram_quantile_s(&each, q / 200.0), 0);
        histogram_free(&run);
        histogram_free(&each);
    }
}

/* ---- series ------------------------------------------------------------------------------------------------------ */

static void test_series(void **state)
{
    (void)state;
    enum { N = 5000 };
    double *x = malloc(3 * N * sizeof *x), *y = x + N, *scratch = y + N;
    for (size_t i = 0; i < N; i++)
        x[i] = y[i] = i % 7 == 0 ? 0 : exp(3 * draw_normal(3, DRAW_SAMPLE, i));
    series_sort(y, scratch, N);
    for (size_t i = 1; i < N; i++)
        assert_true(y[i - 1] <= y[i]);
    assert_near(series_quantile(y, N, 0.37), stats_quantile(x, N, 0.37), 0);
    const double few[] = { 1, 2, 4, 8 };
    assert_near(series_quantile(few, 4, 0.9), 6.8, 1e-12);
    assert_near(student_t_95(19), 1.7291, 1e-4);
    assert_near(student_t_95(11), 1.7959, 2e-4);
    assert_near(student_t_95(1), 6.3138, 1e-4);
    /* constant: no spread; too few: none, with a reason */
    for (size_t i = 0; i < N; i++)
        x[i] = 2;
    struct sampled e = series_percentile(x, x, N, 0.99);
    assert_true(e.lo == 2 && e.hi == 2 && !e.reason);
    e = series_mean(x, 39);
    assert_true(e.value == 2 && isnan(e.lo) && e.reason);
    assert_true(isnan(series_mean(x, 0).value));
    for (size_t i = 0; i < N; i++)
        x[i] = y[i] = draw_uniform(1, DRAW_SAMPLE, i);
    series_sort(y, scratch, 100);
    e = series_percentile(x, y, 100, 0.99); /* rank 99 of 100: what is above it is unknown */
    assert_true(e.value > 0 && isnan(e.hi) && strstr(e.reason, "too few"));
    /* a warm-up of 500 */
    for (size_t i = 0; i < N; i++)
        x[i] += i < 500 ? 5 - (double)i / 100 : 0;
    bool found;
    assert_in_range(series_warmup(x, N, &found), 300, 600);
    assert_true(found);
    for (size_t i = 0; i < N; i++)
        x[i] = (double)i;
    series_warmup(x, N, &found);
    assert_false(found);
    for (size_t i = 0; i < N; i++)
        x[i] = (double)(i / 1000); /* five levels: longer than any batch */
    e = series_mean(x, N);
    assert_true(e.value == 2 && isnan(e.lo) && e.reason);
    free(x);
}

/* ---- service level objectives ------------------------------------------------------------------------------------- */

static void test_slo(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "ttft", "ttft=", "ttft=1", "ttft=1m", "ttft=-1s", "ttft=0s", "ttft=1s,", "ttft=1s,ttft=2s", "foo=1s", "p99",
                                       "p0:ttft=1s", "p100:ttft=1s", "pp:ttft=1s", "99:ttft=1s", "99%:itl=1s", "itl=1s", "p99:", "ttft=infs",
                                       "ttft=nans", "ttft=1e999s", ":ttft=1s", "ttft=1s,,itl=2s", "ttft=0x1s", "p:ttft=1s", "%:ttft=1s" };
    struct serve_slo s;
    struct error err;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_fails(serve_slo_parse(&s, bad[i], &err), err, "--slo");
    assert_fails(serve_slo_parse(&s, "p99:ttft=1m", &err), err, "not a time in s, ms or us: \"1m\"");
    assert_fails(serve_slo_parse(&s, "p99:tft=1s", &err), err, "not ttft, itl, tpot or e2e: \"tft\"");
    assert_ok(serve_slo_parse(&s, "p99.9:ttft=1s,itl=50ms,e2el=250us", &err), err);
    assert_true(s.reading == SLO_PERCENTILE && s.n == 3 && s.limit[1].metric == SERVE_ITL && s.limit[2].metric == SERVE_E2E);
    assert_near(s.share, 0.999, 1e-12);
    assert_near(s.limit[1].limit_s, 0.05, 1e-12);
    assert_near(s.limit[2].limit_s, 250e-6, 1e-12);
    assert_ok(serve_slo_parse(&s, "ttft=1s,tpot=50ms,e2e=20s", &err), err);
    assert_true(s.reading == SLO_JOINT && s.share == 0.99);
    assert_ok(serve_slo_parse(&s, "95%:ttft=1.5s", &err), err);
    assert_true(s.reading == SLO_JOINT && s.share == 0.95);
    assert_ok(serve_slo_parse(&s, "mean:ttft=1s,itl=1s,tpot=1s,e2e=1s", &err), err);
    assert_int_equal(s.n, 4);
}

/* ---- time series ---------------------------------------------------------------------------------------------------- */

static void test_timeline(void **state)
{
    (void)state;
    struct policy p = { .max_num_seqs = 10, .max_num_batched_tokens = 100 };
    struct timeline t;
    struct error err;
    struct timeline_point sum = { 0 };
    uint64_t ps = 0, n_decode = 0;
    assert_ok(timeline_init(&t, &p, &err), err);
    for (uint64_t i = 0; i < 200000; i++) {
        const uint64_t n = 1 + i % 5;
        struct serve_step x = { .start_ps = ps, .end_ps = ps + n * MS, .n = n, .n_decode = 8, .n_prompt = i % 4 ? 0 : 92, .n_running = 9, .used_blocks = 50 };
        x.n_waiting = i % 4 ? 0 : 3;
        timeline_step(&t, &x);
        ps = x.end_ps + MS; /* idle for 1 ms */
        n_decode += n * 8;
    }
    assert_true(t.n <= TIMELINE_POINTS && t.n > TIMELINE_POINTS / 2 - 1);
    assert_true(t.n_slice <= TIMELINE_SLICES && t.n_slice >= TIMELINE_SLICES / 2);
    for (size_t i = 0; i < t.n; i++) {
        sum.busy_s += t.point[i].busy_s;
        sum.n_decode += t.point[i].n_decode;
        sum.running_s += t.point[i].running_s;
        assert_true(t.point[i].busy_s <= timeline_width_s(&t) * (1 + 1e-9));
    }
    assert_near(sum.busy_s, 600, 1e-6);
    assert_near(sum.n_decode, (double)n_decode, 1e-3);
    assert_near(sum.running_s, 9 * 600, 1e-5);
    assert_near(t.wait_s[WAIT_BUDGET], 150, 1e-6);
    assert_int_equal(timeline_bound(&t), WAIT_BUDGET);
    uint64_t gaps = 0;
    for (size_t i = 0; i < t.n_slice; i++) {
        gaps += t.slice[i].n;
        assert_near(timeline_gaps_within(&t.slice[i], 1), (double)t.slice[i].n, 0);
        assert_near(timeline_gaps_within(&t.slice[i], 0.9e-3), 0, 0);
    }
    assert_int_equal(gaps, n_decode);
    timeline_free(&t);
}

/* ---- several runs ----------------------------------------------------------------------------------------------------- */

static void test_study(void **state)
{
    (void)state;
    static struct serve_metrics m[20];
    struct serve_study s;
    for (size_t i = 0; i < 20; i++) {
        m[i] = (struct serve_metrics){ .has_slo = true, .met = i < 12, .n = 10 };
        for (int v = 0; v < SERVE_VALUES; v++)
            m[i].v[v] = sampled_none(1 + (double)i, NULL);
        m[i].stability.verdict = i >= 10 ? SERVE_SATURATED : SERVE_STABLE;
    }
    m[7].v[VALUE_HIT].value = NAN;
    serve_study_runs(&s, m, 5); /* 1 ... 5 */
    assert_near(s.m.v[0].value, 3, 1e-12);
    assert_near(s.m.v[0].hi, 3 + 2.1318 * sqrt(2.5 / 5), 1e-3);
    assert_int_equal(s.m.n, 50);
    assert_true(isnan(s.model[0].mid) && isnan(s.p_slo) && s.model[0].reason);
    serve_study_draws(&s, m, 9);
    assert_true(isnan(s.model[0].mid) && strstr(s.model[0].reason, "10 draws"));
    serve_study_draws(&s, m, 20);
    assert_near(s.model[0].lo, 1.95, 1e-12);
    assert_near(s.model[0].mid, 10.5, 1e-12);
    assert_near(s.model[0].hi, 19.05, 1e-12);
    assert_near(s.m.v[0].value, 3, 1e-12); /* sampling stays */
    assert_near(s.p_slo, 0.5, 1e-12); /* 12 meet it, two of them saturated */
    assert_near(s.p_saturated, 0.5, 1e-12);
    assert_true(isnan(s.model[VALUE_HIT].lo));
    serve_study_runs(&s, m, 1);
    assert_true(s.m.v[0].value == 1 && isnan(s.m.v[0].lo));
}

/* A percentile of ITL is compared as it is, not by whole bins of the histogram. */
static void test_capacity_compares_percentiles(void **state)
{
    const struct serve_workload w = { .n = 0 };
    struct serve_result r = { .n = 0 };
    struct error err = { 0 };
    struct serve_slo slo;
    (void)state;
    assert_int_equal(histogram_init(&r.gap, &err), 0);
    histogram_add(&r.gap, 50100000000, 100); /* 50.1 ms */
    for (int us = 50000; us < 50200; us++) {
        char text[32];
        snprintf(text, sizeof text, "p99:itl=%dus", us);
        assert_int_equal(serve_slo_parse(&slo, text, &err), 0);
        assert_int_equal(capacity_meets(&r, &w, &slo), us >= 50100);
    }
    histogram_free(&r.gap);
}

/* A request takes 3,000 s: the slowest rate of 1,000 requests that is simulated, 1,000 in 53 days, is above half of the saturation rate. */
static void test_capacity_of_slow_server(void **state)
{
    struct one_server x;
    struct serve_slo slo;
    struct capacity c;
    struct error err = { 0 };
    const struct capacity_options co = { .slo = &slo, .precision = 0.01 };
    (void)state;
    assert_ok(serve_slo_parse(&slo, "mean:e2e=20000s", &err), err);
    one_server(&x, 0.5, 1000, 1, false);
    x.o.step = NULL;
    for (uint32_t i = 0; i <= x.price.max_tok; i++)
        x.price.mixed_ps[i] *= 3000;
    assert_ok(capacity_central(&c, &x.w, &x.o, &co, &err), err);
    assert_near(c.saturation, 1 / 3000.0, 1e-6);
    assert_true(c.rate > 0.65 * c.saturation && c.rate < c.saturation);
    one_server_free(&x);
    one_server(&x, 0.5, 2000, 1, false);
    x.o.step = NULL;
    for (uint32_t i = 0; i <= x.price.max_tok; i++)
        x.price.mixed_ps[i] *= 3000;
    assert_fails(capacity_central(&c, &x.w, &x.o, &co, &err), err, "expected fewer requests");
    one_server_free(&x);
}

/* Quantiles are those of the draws of which there is a rate. */
static void test_probable(void **state)
{
    struct capacity c = capacity_none();
    double rate[16];
    (void)state;
    for (int i = 0; i < 16; i++)
        rate[i] = i % 3 == 1 ? NAN : i;
    capacity_probable(&c, rate, 14); /* 9 rates */
    assert_true(isnan(c.probable[CAPACITY_50]));
    for (int i = 0; i < 16; i++)
        rate[i] = i % 3 == 1 ? NAN : i;
    capacity_probable(&c, rate, 16); /* 0 2 3 5 6 8 9 11 12 14 15 */
    assert_near(c.probable[CAPACITY_90], 2, 1e-12);
    assert_near(c.probable[CAPACITY_50], 8, 1e-12);
    assert_near(c.probable[CAPACITY_10], 14, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queues),   cmocka_unit_test(test_coverage), cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_vllm),     cmocka_unit_test(test_rules), cmocka_unit_test(test_histogram), cmocka_unit_test(test_histogram_run), cmocka_unit_test(test_series),   cmocka_unit_test(test_slo),
        cmocka_unit_test(test_timeline), cmocka_unit_test(test_study), cmocka_unit_test(test_capacity_compares_percentiles),
        cmocka_unit_test(test_capacity_of_slow_server), cmocka_unit_test(test_probable),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
