/* Metrics of random simulations: what holds for any, and what does not depend on jumps. */
#include "../near.h"
#include "../test.h"
#include "serving/metrics.h"
#include "serving/scheduler.h"
#include <math.h>

static int scheduler_check_blocks(const struct policy *p, uint32_t n, uint32_t n_in, uint32_t n_out)
{
    return scheduler_check(p, n, n_in, n_out, NULL);
}
#include "random_case.h"

struct measured {
    struct timeline t;
    struct serve_result r;
    struct serve_metrics m;
};

static void measure(struct measured *x, struct random_case *c, const struct serve_slo *slo, unsigned flags, bool warmup)
{
    struct error err;
    assert_ok(timeline_init(&x->t, &c->p, &err), err);
    c->o.flags = flags;
    c->o.step = timeline_step;
    c->o.step_ctx = &x->t;
    assert_ok(serve_simulate(&x->r, &c->w, &c->o, &err), err);
    const struct serve_metrics_options mo = { .slo = slo, .timeline = &x->t, .options = &c->o, .drop_warmup = warmup,
                                              .hit_infinite = serve_hit_bound(&c->w, c->p.block_size, &err) };
    assert_ok(serve_metrics(&x->m, &x->r, &c->w, &mo, &err), err);
}

static void measured_free(struct measured *x)
{
    timeline_free(&x->t);
    serve_result_free(&x->r);
}

static void sums_agree(const struct measured *x)
{
    const double busy_s = (double)x->r.t.busy_ps / PS_PER_S;
    struct timeline_point sum = { 0 };
    double waits = 0;
    for (size_t i = 0; i < x->t.n; i++) {
        sum.busy_s += x->t.point[i].busy_s;
        sum.n_prompt += x->t.point[i].n_prompt;
        sum.n_decode += x->t.point[i].n_decode;
        sum.running_s += x->t.point[i].running_s;
    }
    for (int w = 0; w < SERVE_WAITS; w++)
        waits += x->t.wait_s[w];
    assert_near(sum.busy_s, busy_s, 1e-9 * busy_s);
    assert_near(waits, busy_s, 1e-9 * busy_s);
    assert_near(sum.n_prompt, (double)x->r.t.n_prompt_tok, 1e-6 * (double)x->r.t.n_prompt_tok);
    assert_near(sum.n_decode, (double)x->r.t.n_decode_tok, 1e-6 * (double)x->r.t.n_decode_tok);
    assert_near(sum.running_s, (double)x->r.t.running_ps / PS_PER_S, 1e-6 * sum.running_s);
}

/* Percentiles ascend; an interval holds its value, or says why it is not there. */
static void figures_hold(const struct measured *x)
{
    for (int v = 0; v < SERVE_VALUES; v++) {
        const struct sampled *e = &x->m.v[v];
        const double slack = 1e-9 * fabs(e->value);
        const bool none = isnan(e->lo) || isnan(e->hi) || isnan(e->value);
        char key[48];
        if (none ? !e->reason : !(e->lo <= e->value + slack && e->value <= e->hi + slack))
            fail_msg("%s: %g in [%g, %g], %s", serve_value_info(v, key).key, e->value, e->lo, e->hi, e->reason ? e->reason : "no reason");
    }
    for (int m = 0; m < SERVE_METRICS; m++)
        for (int s = STAT_P90; s < SERVE_STATS; s++)
            if (!isnan(x->m.v[serve_time((enum serve_metric)m, (enum serve_stat)s)].value))
                assert_true(x->m.v[serve_time((enum serve_metric)m, (enum serve_stat)(s - 1))].value <= x->m.v[serve_time((enum serve_metric)m, (enum serve_stat)s)].value);
    const double share = x->m.v[VALUE_SLO_SHARE].value;
    assert_true(share >= 0 && share <= 1);
    for (size_t i = 0; i < x->m.slo.n; i++)
        assert_true(share <= x->m.good[i].share);
    assert_true(x->m.v[VALUE_KV_MOST].value <= 1 && x->m.v[VALUE_KV].value <= x->m.v[VALUE_KV_MOST].value * (1 + 1e-9));
    assert_true(x->m.v[VALUE_BUSY].value <= 1);
    assert_true(x->m.v[VALUE_PEAK_OUT_TOK_S].value > 0 && x->m.v[VALUE_PEAK_REQUESTS].value >= 1);
}

/* Times k times as long: runs that outgrow the first intervals of a time series. */
static void stretch(struct random_case *c, uint64_t k)
{
    for (uint32_t i = 0; i <= c->price.max_decode; i++)
        c->price.decode_ps[i] *= k;
    for (uint32_t i = 0; i < (c->price.max_decode + 1) * c->price.n_group; i++)
        c->price.context_ps[i] *= k;
    for (uint32_t i = 0; i <= c->price.max_tok; i++)
        c->price.mixed_ps[i] *= k;
    for (size_t i = 0; i < c->w.n; i++)
        c->w.r[i].after_ps *= k;
}

static void test_random(void **state)
{
    (void)state;
    struct rng g;
    struct error err;
    struct serve_slo slo;
    const int n = getenv("ROOFCAST_SANITIZED") ? 100 : 1000;
    rng_init(&g, 7);
    assert_ok(serve_slo_parse(&slo, "95%:ttft=1us,tpot=1us,e2e=5us", &err), err);
    for (int i = 0; i < n; i++) {
        struct random_case c;
        struct measured jumps, steps;
        const bool warmup = one_in(&g, 4);
        random_case(&g, &c);
        stretch(&c, one_in(&g, 2) ? 1 : 100000);
        measure(&jumps, &c, &slo, 0, warmup);
        measure(&steps, &c, &slo, SERVE_STEP_BY_STEP, warmup);
        sums_agree(&jumps);
        sums_agree(&steps);
        figures_hold(&jumps);
        assert_int_equal(jumps.m.stability.verdict, steps.m.stability.verdict);
        for (int v = 0; v < VALUE_BATCH; v++) {
            const struct sampled *a = &jumps.m.v[v], *b = &steps.m.v[v];
            if (!(a->value == b->value || (isnan(a->value) && isnan(b->value))))
                fail_msg("case %d, value %d: %.17g by jumps, %.17g step by step", i, v, a->value, b->value);
        }
        measured_free(&jumps);
        measured_free(&steps);
        random_case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
    return cmocka_run_group_tests_name("properties", tests, NULL, NULL);
}
