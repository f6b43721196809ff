/* Questions whose answers have an interval: targets, limits together, ratios, requests. methods.md (54), (62), (63) */
#include "base/environment.h"
#include "../test.h"
#include "tests/near.h"
#include "predict/errors.h"
#include "predict/explain.h"
#include "predict/solve.h"
#include "tests/source.h"
#include "timing/rescale.h"
#include "timing/timing.h"

struct on {
    struct model m;
    struct hwprofile h;
    struct time_constants k;
    struct time_source t;
};

static int load(void **state)
{
    static struct on x;
    struct error err = { 0 };
    environment_set_dirs(data_dirs());
    environment_set_dirs(data_dirs());
    assert_ok(model_load(&x.m, "llama-3-8b", "F16", &err), err);
    assert_ok(hwprofile_load(&x.h, "h100-sxm", &err), err);
    x.k = source_constants();
    x.t = (struct time_source){ &x.k, source_same, source_explain, source_whole, NULL };
    *state = &x;
    return 0;
}

static int unload(void **state)
{
    struct on *x = *state;
    hwprofile_free(&x->h);
    model_free(&x->m);
    return 0;
}

static struct predict_result predicted(const struct on *x, const struct predict_options *o)
{
    struct predict_result r;
    struct error err = { 0 };
    assert_ok(predict(&r, &x->m, &x->h, o, &err), err);
    return r;
}

/* ---- targets --------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static struct solution answer(const struct on *x, const struct predict_options *o, const char *fmt, ...)
{
    char text[64];
    struct question q;
    struct solution s;
    struct error err = { 0 };
    va_list a;
    va_start(a, fmt);
    vsnprintf(text, sizeof text, fmt, a);
    va_end(a);
    assert_ok(question_parse(&q, text, &err), err);
    assert_ok(solve(&s, &q, &x->m, &x->h, o, &err), err);
    return s;
}

__attribute__((format(printf, 2, 3))) static void check_says(const struct solution *s, const char *fmt, ...)
{
    char text[64];
    va_list a;
    va_start(a, fmt);
    vsnprintf(text, sizeof text, fmt, a);
    va_end(a);
    if (!strstr(s->text, text))
        fail_msg("\"%s\" does not contain \"%s\"", s->text, text);
}

/* Probability that it takes at most that long. */
static double chance(const struct prediction *p, double most_s)
{
    const double x = log(most_s / p->seconds) * p->seconds, sd_s = x > 0 ? p->sd_s : p->sd_fast_s;
    return sd_s > 0 ? 0.5 * erfc(-x / sd_s / sqrt(2)) : p->sd_s > 0 ? 0 : NAN; /* 0: the prediction is at its bound */
}

/* Chance that a step of so many sequences takes at most so long. */
static double chance_of(const struct on *x, double n_batch, double most_s)
{
    struct predict_options o = source_options(&x->t);
    o.n_batch = (uint32_t)n_batch;
    const struct predict_result r = predicted(x, &o);
    return chance(&r.decode, most_s);
}

/* The last with a chance of p: one more has less. */
static void check_last(const struct on *x, double n_batch, double most_s, double p)
{
    assert_true(chance_of(x, n_batch, most_s) >= p && chance_of(x, n_batch + 1, most_s) < p);
}

/* 3 % less than one sequence takes: no batch is sufficient at the prediction, some may be. */
static void test_missed(void **state)
{
    const struct on *x = *state;
    const struct predict_options o = source_options(&x->t);
    const double most_s = 0.97 * predicted(x, &o).itl_s;
    const struct solution s = answer(x, &o, "batch=itl<=%.9gs", most_s);
    assert_true(!s.found && isnan(s.value) && isnan(s.value_conservative));
    assert_near(s.value_nearest, 1, 0);
    assert_near(s.chance, chance_of(x, 1, most_s), 1e-6);
    check_last(x, s.value_optimistic, most_s, 0.05);
    assert_non_null(strstr(s.text, "no batch is sufficient at the prediction: at 1 "));
    check_says(&s, "probability %.0f %%", 100 * s.chance);
    check_says(&s, "; %.0f for 5 %%", s.value_optimistic);
    /* Half the time is outside the interval: no value and no interval are printed. */
    const struct solution never = answer(x, &o, "batch=itl<=%.9gs", most_s / 2);
    assert_true(!never.found && isnan(never.value_optimistic) && never.chance < 1e-6);
    assert_non_null(strstr(never.text, "no batch is sufficient: at 1 "));
    check_says(&never, ", probability below 1 %%");
    assert_null(strstr(never.text, "for 5 %"));
}

static void test_reached(void **state)
{
    const struct on *x = *state;
    const struct predict_options o = source_options(&x->t);
    const double most_s = 1.3 * predicted(x, &o).itl_s;
    const struct solution s = answer(x, &o, "batch=itl<=%.9gs", most_s);
    assert_true(s.found && isnan(s.value_nearest));
    check_last(x, s.value, most_s, 0.5);
    check_last(x, s.value_optimistic, most_s, 0.05);
    check_last(x, s.value_conservative, most_s, 0.95);
    check_says(&s, "probability %.0f %%", 100 * s.chance);
    check_says(&s, "; %.0f for 95 %%", s.value_conservative);
    check_says(&s, ", %.0f for 5 %%", s.value_optimistic);
    /* No sequence is enough for 95 %: the prediction itself has a chance of three in four or so. */
    const struct solution risky = answer(x, &o, "batch=itl<=%.9gs", 1.05 * predicted(x, &o).itl_s);
    assert_true(risky.found && isnan(risky.value_conservative));
    assert_non_null(strstr(risky.text, "; none for 95 %, "));
}

/* Hops that take longer than all else: one device is nearest, and not the eight that were tried last. */
static void test_nearest(void **state)
{
    const struct on *x = *state;
    struct on slow = *x;
    slow.k.parameter[TIME_HOP] = log(1000);
    slow.t.context = &slow.k;
    const struct predict_options o = source_options(&slow.t);
    const struct predict_result r = predicted(&slow, &o);
    const struct solution s = answer(&slow, &o, "tp=itl<=%.9gs", 0.97 * r.itl_s);
    assert_false(s.found);
    assert_near(s.value_nearest, 1, 0);
    assert_near(s.r.itl_s, r.itl_s, 1e-12);
    assert_non_null(strstr(s.text, "no tp is sufficient at the prediction: tp 1 comes nearest, "));
    assert_non_null(strstr(s.text, "; cannot predict: "));
}

/* Of all machines: the chance is that of the one named. */
static void test_machines(void **state)
{
    const struct on *x = *state;
    struct predict_options o = source_options(&x->t);
    struct predict_result r;
    struct hwprofile h;
    struct error err = { 0 };
    struct solution s = answer(x, &o, "machine=tok_s>=1e9"), met = s;
    assert_true(!s.found && *s.machine_nearest && !*s.machine_optimistic && s.chance < 1e-9);
    double tok_s = s.r.decode.tok_s;
    for (met = answer(x, &o, "machine=tok_s>=%.9g", tok_s); (s = answer(x, &o, "machine=tok_s>=%.9g", 1.01 * tok_s)).found; met = s)
        tok_s = s.r.decode.tok_s;
    assert_ok(hwprofile_load(&h, s.machine_nearest, &err), err);
    assert_ok(predict(&r, &x->m, &h, &o, &err), err);
    hwprofile_free(&h);
    assert_near(s.chance, chance(&r.decode, 1 / (1.01 * tok_s)), 1e-6);
    assert_true(s.chance > 0.05 && *s.machine_optimistic && !*s.machine_conservative);
    check_says(&s, ": %s comes nearest, %.4g tokens/s, probability %.0f %%", s.machine_nearest, r.decode.tok_s, 100 * s.chance);
    assert_true(met.found && !*met.machine_nearest && !*met.machine_conservative);
    check_says(&met, ", probability %.0f %%; the smallest of %d that are sufficient, ", 100 * met.chance, met.n_reach);
    assert_non_null(strstr(met.text, "; none for 95 %"));
    const struct solution safe = answer(x, &o, "machine=tok_s>=%.9g", tok_s / 2);
    assert_true(safe.found && *safe.machine_conservative);
}

/* ---- errors of two predictions ----------------------------------------------------------------- */

/* Spread and covariance from error_parts equal those of the covariance matrix, also with correlated parameters. */
static void test_parts(void **state)
{
    (void)state;
    struct time_constants k = { .sigma = 0.03 };
    double g[TIME_PARAMETER_COUNT] = { 0 }, h[TIME_PARAMETER_COUNT] = { 0 };
    struct error_parts a, b;
    g[TIME_BANDWIDTH] = -0.5;
    g[TIME_LAUNCH] = 0.2;
    h[TIME_BANDWIDTH] = -0.1;
    h[TIME_LAUNCH] = 0.7;
    k.cov[TIME_BANDWIDTH][TIME_BANDWIDTH] = 0.01;
    k.cov[TIME_LAUNCH][TIME_LAUNCH] = 0.04;
    k.cov[TIME_BANDWIDTH][TIME_LAUNCH] = k.cov[TIME_LAUNCH][TIME_BANDWIDTH] = -0.015;
    time_error_parts(&k, g, 0, &a);
    time_error_parts(&k, h, 0, &b);
    assert_near(sqrt(error_covariance(&a, &a, 1)), time_spread(&k, g, NULL), 1e-15);
    assert_near(error_covariance(&a, &b, 0), 0.5 * 0.1 * 0.01 + 0.2 * 0.7 * 0.04 + (0.5 * 0.7 + 0.2 * 0.1) * 0.015, 1e-15);
    assert_near(error_covariance(&a, &b, 0.5) - error_covariance(&a, &b, 0), 0.5 * 0.0009, 1e-15);
}

/* The same chance, a strip of the one after the other. */
static double by_strips(double h, double k, double r)
{
    const double step = 1e-4;
    double sum = 0;
    for (double x = -9 + step / 2; x < h; x += step) {
        const double width = x + step / 2 < h ? step : h - x + step / 2;
        sum += width * exp(-x * x / 2) / sqrt(2 * acos(-1)) * 0.5 * erfc(-(k - r * x) / sqrt(2 * (1 - r * r)));
    }
    return sum;
}

static void test_both(void **state)
{
    static const double r[] = { -0.9, -0.3, 0, 0.35, 0.8, 0.99 }, z[][2] = { { 0, 0 }, { 1, -0.5 }, { 1.7, 1.6 }, { -1, 2 } };
    (void)state;
    assert_near(normal_both(0, 0, 0.5), 1. / 3, 1e-12);
    assert_near(normal_both(0, 0, -0.5), 1. / 6, 1e-12);
    assert_near(normal_both(1, 0.5, 1), 0.5 * erfc(-0.5 / sqrt(2)), 1e-12);
    assert_near(normal_both(0.1, -0.5, -1), 0, 1e-12);
    for (size_t i = 0; i < ARRAY_LEN(r); i++)
        for (size_t j = 0; j < ARRAY_LEN(z); j++)
            assert_near(normal_both(z[j][0], z[j][1], r[i]), by_strips(z[j][0], z[j][1], r[i]), 1e-7);
}

static struct limit_phase phase_limit(const struct prediction *p)
{
    return (struct limit_phase){ .seconds = p->seconds, .tok_s = p->tok_s, .sd_s = p->sd_s, .sd_fast_s = p->sd_fast_s, .parts = p->parts };
}

static struct limits_answer limited(const struct predict_result *r, double ttft_sd, double itl_sd, const char *also)
{
    char text[160];
    struct limits l;
    struct error err = { 0 };
    const struct limit_phase p = phase_limit(&r->prefill), d = phase_limit(&r->decode);
    snprintf(text, sizeof text, "ttft<=%.15gs,itl<=%.15gs%s", p.seconds * exp(ttft_sd * p.sd_s / p.seconds),
             d.seconds * exp(itl_sd * d.sd_s / d.seconds), also);
    assert_ok(limits_parse(&l, text, &err), err);
    return limits_answer(&l, &p, &d);
}

/* Both limits are what is predicted: 1 / 4 + asin(r) / (2 pi) of them are met, not one in two. r: the bandwidth errs for both. */
static void test_limits_of_both(void **state)
{
    const struct on *x = *state;
    const struct predict_options o = source_options(&x->t);
    const struct predict_result r = predicted(x, &o);
    const struct error_parts *p = &r.prefill.parts, *d = &r.decode.parts;
    const double same = p->of[TIME_BANDWIDTH] * d->of[TIME_BANDWIDTH] / (hypot(p->of[TIME_BANDWIDTH], 0.05) * hypot(d->of[TIME_BANDWIDTH], 0.05));
    struct limits_answer a = limited(&r, 0, 0, "");
    assert_true(same > 0.001 && same < 0.9);
    assert_near(a.correlation, same + 0.35 * (1 - same), 1e-9);
    assert_near(a.chance, 0.25 + asin(a.correlation) / (2 * acos(-1)), 1e-6);
    assert_near(a.most, 0.5, 1e-6);
    assert_near(a.least, 0, 1e-6);
    assert_int_equal(a.met, LIMIT_UNSURE);
    /* Each is met with 95.5 %, both with less than 95: not sure. */
    a = limited(&r, 1.7, 1.7, "");
    assert_true(a.most > 0.95 && a.chance < 0.95 && a.chance > a.least && a.met == LIMIT_UNSURE);
    assert_int_equal(limited(&r, 3, 3, "").met, LIMIT_MET);
    assert_int_equal(limited(&r, 3, -9, "").met, LIMIT_MISSED);
    /* A second limit of a phase that the first has in it changes nothing. */
    assert_near(limited(&r, 0, 0, ",itl<=1000s").chance, limited(&r, 0, 0, "").chance, 1e-12);
    struct limits one;
    struct error err = { 0 };
    const struct limit_phase lp = phase_limit(&r.prefill), ld = phase_limit(&r.decode);
    assert_ok(limits_parse(&one, "itl<=1000s", &err), err);
    a = limits_answer(&one, &lp, &ld);
    assert_true(isnan(a.correlation) && a.least == a.most && a.chance == a.most);
}

static struct predict_result changed(const struct on *x, const struct predict_result *base, const char *text, double *alike)
{
    struct predict_options o = source_options(&x->t);
    struct predict_result r;
    struct hwprofile h;
    struct whatif w;
    struct error err = { 0 };
    assert_ok(whatif_parse(&w, text, &err), err);
    assert_ok(whatif_profile(&h, &x->h, &err), err);
    assert_ok(whatif_apply(&w, &h, &o, &err), err);
    assert_ok(predict(&r, &x->m, &h, &o, &err), err);
    whatif_profile_free(&h);
    *alike = predictions_alike(base, &r, &w);
    return r;
}

/* What both err by is not in the ratio: of the bandwidth what its parts of the seconds differ by; what is left cancels where the same passes run. */
static void test_ratio(void **state)
{
    const struct on *x = *state;
    const struct predict_options o = source_options(&x->t);
    struct predict_result base = predicted(x, &o), c;
    double alike;
    c = changed(x, &base, "bandwidth=x1.5,e_compute=0.4", &alike);
    struct ratio r = prediction_ratio(&base.decode, &c.decode, alike);
    assert_near(alike, 1, 0);
    assert_near(r.value, c.decode.tok_s / base.decode.tok_s, 1e-12);
    /* widths 1 to the slower side, 0.5 to the faster */
    const double widths = sqrt((1 + 0.25) / 2), b0 = base.decode.parts.of[TIME_BANDWIDTH], sd = fabs(b0 - c.decode.parts.of[TIME_BANDWIDTH]);
    assert_true(sd > 1e-4 && sd < 0.03);
    assert_near(r.hi / r.value, exp(PREDICT_Z90 * sd * widths), 1e-9);
    assert_near(r.value / r.lo, exp(PREDICT_Z90 * sd * widths), 1e-9);
    c = changed(x, &base, "memory=x2", &alike);
    r = prediction_ratio(&base.decode, &c.decode, alike);
    assert_true(r.value == 1 && r.lo == 1 && r.hi == 1);
    /* Another task: of machines of its class 0.6 of what is common cancels, of the machine itself 0.35. */
    c = changed(x, &base, "memory=x2,b=2", &alike);
    assert_near(alike, 0.6, 0);
    r = prediction_ratio(&base.decode, &c.decode, alike);
    const double b1 = c.decode.parts.of[TIME_BANDWIDTH], left = 0.05 * 0.05;
    assert_near(log(r.hi / r.value), PREDICT_Z90 * widths * sqrt(b0 * b0 + b1 * b1 + 2 * left - 2 * 0.6 * (b0 * b1 + left)), 1e-9);
    base.basis = "machine";
    c = changed(x, &base, "b=2", &alike);
    assert_near(alike, 0.35, 0);
    /* Another stack has other constants: nothing cancels. */
    base.stack = "another";
    c = changed(x, &base, "b=2", &alike);
    assert_near(alike, 0, 0);
    const struct ratio apart = prediction_ratio(&base.decode, &c.decode, alike);
    assert_true(apart.hi > r.hi && apart.lo < r.lo);
    /* What is guessed of the machine is the same in both, whatever else changes. */
    base.decode.parts.machine = c.decode.parts.machine = 0.5;
    base.decode.sd_s = base.decode.sd_fast_s = 0.6 * base.decode.seconds;
    c.decode.sd_s = c.decode.sd_fast_s = 0.6 * c.decode.seconds;
    r = prediction_ratio(&base.decode, &c.decode, alike);
    assert_true(log(r.hi / r.value) < 0.3 * PREDICT_Z90 * 0.5);
    c.decode.sd_s = NAN;
    r = prediction_ratio(&base.decode, &c.decode, alike);
    assert_true(r.value > 1 && isnan(r.lo) && isnan(r.hi));
}

/* ---- a request explained ------------------------------------------------------------------------- */

static unsigned requests_apart(const struct time_features *f)
{
    return f->request ? TIME_CASE_REQUEST : 0;
}

/* Requests attain a third of the bandwidth of phases. */
static int apart(const void *context, const struct hwprofile *h, const struct model *m, uint64_t cases, struct timing *out, struct error *err)
{
    const int rc = source_same(context, h, m, cases, out, err);
    out->which = requests_apart;
    *out->of[TIME_CASE_REQUEST] = *out->of[0];
    out->of[TIME_CASE_REQUEST]->parameter[TIME_BANDWIDTH] -= log(3);
    out->of[TIME_CASE_REQUEST]->cov[TIME_LAUNCH][TIME_LAUNCH] = 0.04;
    return rc;
}

static const struct explain_constant *constant(const struct explain *e, const char *name)
{
    for (size_t i = 0; i < e->n_k; i++)
        if (strcmp(e->k[i].name, name) == 0)
            return &e->k[i];
    fail_msg("no constant %s", name);
    return NULL;
}

static void check_adds_up(const struct explain *e, const struct prediction *p)
{
    double seconds = 0, bytes = 0, share = 0;
    for (size_t i = 0; i < e->n; i++) {
        seconds += e->c[i].times * e->c[i].sum.seconds;
        bytes += e->c[i].times * cost_bytes(&e->c[i].sum.cost);
    }
    for (size_t i = 0; i < e->n_k; i++)
        share += isnan(e->k[i].share) ? 0 : e->k[i].share;
    assert_near(e->seconds / p->seconds, 1, 1e-12);
    assert_near(seconds * e->pipeline / p->seconds, 1, 1e-12);
    assert_near(bytes / cost_bytes(&p->cost), 1, 1e-12);
    assert_near(share, 1, 1e-9);
}

static struct request_result asked_for(const struct on *x, const struct predict_options *o, const struct request *r, struct explain *e)
{
    struct request_result q;
    struct error err = { 0 };
    assert_ok(predict_request(&q, &x->m, &x->h, o, r, &err), err);
    assert_ok(explain_request(e, &x->m, &x->h, o, r, &err), err);
    check_adds_up(e, &q.total);
    return q;
}

/* A prompt of 600 tokens in two passes and 99 steps: both parts by the constants of requests, whose shares are of the request's spread. */
static void test_explain_request(void **state)
{
    const struct on *x = *state;
    const struct time_source t = { &x->k, apart, source_explain, source_whole, NULL };
    struct predict_options o = source_options(&t);
    struct explain e, prompt;
    struct error err = { 0 };
    const struct request_result q = asked_for(x, &o, &(struct request){ 600, 100 }, &e);
    assert_near(e.n_pass, 2 + 99, 0);
    assert_true(e.pipeline > 0.9 && e.pipeline < 1.1);
    assert_near(e.c[0].times, 1, 0);
    assert_near(e.c[e.n - 1].times, 99, 0);
    assert_int_equal(e.c[e.n - 1].phase, PHASE_DECODE);
    const struct error_parts *p = &q.total.parts;
    const double variance = error_covariance(p, p, 1);
    assert_near(constant(&e, "bandwidth")->share, p->of[TIME_BANDWIDTH] * p->of[TIME_BANDWIDTH] / variance, 1e-9);
    assert_near(constant(&e, "launch")->share, p->of[TIME_LAUNCH] * p->of[TIME_LAUNCH] / variance, 1e-9);
    assert_true(constant(&e, "launch")->share > 0);
    assert_near(constant(&e, "residual error")->share, 0.05 * 0.05 / variance, 1e-9);
    explain_free(&e);
    /* One token is the prompt's. */
    asked_for(x, &o, &(struct request){ 600, 1 }, &e);
    o.n_prompt = 600;
    assert_ok(explain_init(&prompt, &x->m, &x->h, &o, PHASE_PREFILL, &err), err);
    assert_true(e.seconds == prompt.seconds && e.n == prompt.n && e.n_k == prompt.n_k);
    explain_free(&prompt);
    explain_free(&e);
    assert_int_equal(explain_request(&e, &x->m, &x->h, &o, &(struct request){ 6, 0 }, &err), -1);
    assert_non_null(strstr(err.msg, "6 + 0 tokens"));
}

/* A pipeline's is the sum of both, each with constants of its own. */
static void test_explain_sum(void **state)
{
    const struct on *x = *state;
    struct predict_options o = source_options(&x->t);
    struct explain e;
    o.layout.pp = 2;
    o.n_batch = 4;
    const struct request_result q = asked_for(x, &o, &(struct request){ 600, 100 }, &e);
    const double prompt = q.r.prefill.sd_s / q.total.sd_s, left = 0.05 * 0.05;
    const struct error_parts *p = &q.r.prefill.parts, *d = &q.r.decode.parts;
    assert_near(constant(&e, "residual error, prompt")->share, prompt * left / error_covariance(p, p, 1), 1e-9);
    assert_near(constant(&e, "residual error, steps")->share, (1 - prompt) * left / error_covariance(d, d, 1), 1e-9);
    explain_free(&e);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missed),
        cmocka_unit_test(test_reached),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_machines),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_both),
        cmocka_unit_test(test_limits_of_both),
        cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_explain_request),
        cmocka_unit_test(test_explain_sum),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
