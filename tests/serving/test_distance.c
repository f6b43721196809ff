/* Distances of distributions, on ones whose distances are known; classes of steps. */
#include "../near.h"
#include "../test.h"
#include "serving/distance.h"
#include "serving/draw.h"
#include "serving/step_classes.h"
#include <math.h>
#include <stdlib.h>

static void distances(const struct cdf_point *a, size_t n_a, const struct cdf_point *b, size_t n_b, double ks, double at_s, double w_s)
{
    const struct cdf x = { a, n_a }, y = { b, n_b };
    double at, back;
    assert_near(cdf_kolmogorov(&x, &y, &at), ks, 1e-12);
    assert_near(cdf_kolmogorov(&y, &x, &back), ks, 1e-12);
    if (!isnan(at_s))
        assert_near(at, at_s, 1e-12);
    assert_near(cdf_wasserstein_s(&x, &y), w_s, 1e-12);
    assert_near(cdf_wasserstein_s(&y, &x), w_s, 1e-12);
}

static void test_known(void **state)
{
    (void)state;
    static const struct cdf_point uniform[] = { { 0, 0 }, { 1, 1 } }, fine[] = { { 0, 0 }, { 0.25, 0.25 }, { 0.3, 0.3 }, { 1, 1 } };
    static const struct cdf_point later[] = { { 0.5, 0 }, { 1.5, 1 } }, half[] = { { 0.5, 0 }, { 0.5, 1 } }, one[] = { { 1, 0 }, { 1, 1 } };
    static const struct cdf_point two[] = { { 1, 0 }, { 1, 0.5 }, { 2, 0.5 }, { 2, 1 } };
    distances(uniform, 2, uniform, 2, 0, NAN, 0);
    distances(uniform, 2, fine, 4, 0, NAN, 0);
    distances(uniform, 2, later, 2, 0.5, NAN, 0.5);
    distances(uniform, 2, half, 2, 0.5, 0.5, 0.25); /* the quantiles cross */
    distances(one, 2, two, 4, 0.5, 1, 0.5);         /* steps: shares below a time and up to it */
    distances(fine, 4, two, 4, 1, 1, 1);
}

/* Random points of a distribution, and its time at a share. */
static size_t make(struct cdf_point *p, uint64_t seed)
{
    const size_t n = 2 + draw_u64(seed, DRAW_GAP, 0) % 30;
    double s = 0, share = 0;
    for (size_t i = 0; i < n; i++) {
        p[i] = (struct cdf_point){ s, share };
        s += draw_u64(seed, DRAW_IN, i) % 4 == 0 ? 0 : draw_exponential(seed, DRAW_OUT, i);
        share += draw_u64(seed, DRAW_TURNS, i) % 4 == 0 ? 0 : draw_exponential(seed, DRAW_THINK, i);
    }
    for (size_t i = 0; i < n; i++)
        p[i].share = p[n - 1].share > 0 ? p[i].share / p[n - 1].share : (double)i / (double)(n - 1);
    return n;
}

static double quantile(const struct cdf_point *p, size_t n, double q)
{
    size_t i = 1;
    while (i + 1 < n && p[i].share < q)
        i++;
    return p[i].share > p[i - 1].share ? p[i - 1].s + (p[i].s - p[i - 1].s) * (q - p[i - 1].share) / (p[i].share - p[i - 1].share) : p[i].s;
}

/* Against a sum over many shares, and the shares of many times. */
static void test_random(void **state)
{
    (void)state;
    enum { STEPS = 20000 };
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct cdf_point p[32], q[32];
        const size_t n = make(p, 2 * seed), m = make(q, 2 * seed + 1);
        const struct cdf a = { p, n }, b = { q, m };
        double sum = 0, at_s;
        for (int i = 0; i < STEPS; i++)
            sum += fabs(quantile(p, n, (i + 0.5) / STEPS) - quantile(q, m, (i + 0.5) / STEPS)) / STEPS;
        assert_near(cdf_wasserstein_s(&a, &b), sum, 1e-3 * (1 + sum));
        const double ks = cdf_kolmogorov(&a, &b, &at_s);
        assert_true(ks >= 0 && ks <= 1 && at_s >= 0 && at_s <= fmax(p[n - 1].s, q[m - 1].s));
        assert_near(cdf_wasserstein_s(&a, &a), 0, 1e-12);
        assert_near(cdf_kolmogorov(&b, &b, &at_s), 0, 1e-12);
    }
}

static void test_classes(void **state)
{
    (void)state;
    struct step_classes *all = calloc(1, sizeof *all);
    assert_non_null(all);
    for (uint32_t i = 0; i < STEP_DECODES; i++) {
        const struct step_range r = step_decode_range(i);
        assert_true(r.lo <= r.hi && step_decode_class(r.lo) == i && step_decode_class(r.hi) == i);
        assert_int_equal(r.lo, i == 0 ? 0 : step_decode_range(i - 1).hi + 1);
    }
    for (uint32_t i = 0; i < STEP_PROMPTS; i++) {
        const struct step_range r = step_prompt_range(i);
        assert_true(r.lo <= r.hi && step_prompt_class(r.lo) == i && step_prompt_class(r.hi) == i);
        assert_int_equal(r.lo, i == 0 ? 0 : step_prompt_range(i - 1).hi + 1);
    }
    assert_int_equal(step_decode_class(UINT32_MAX), STEP_DECODES - 1);
    assert_int_equal(step_decode_range(4).lo, 5);
    assert_int_equal(step_prompt_range(3).hi, 256);
    assert_int_equal(step_prompt_range(4).hi, 512);
    step_classes_add(all, &(struct serve_step){ .end_ps = (uint64_t)(10e-3 * PS_PER_S), .n = 10, .n_decode = 6, .bytes = 100, .flop = 7 });
    step_classes_add(all, &(struct serve_step){ .start_ps = 1, .end_ps = 1 + (uint64_t)(2e-3 * PS_PER_S), .n = 1, .n_decode = 8 });
    step_classes_add(all, &(struct serve_step){ .end_ps = (uint64_t)PS_PER_S, .n = 1, .n_decode = 8, .n_prompt = 300 });
    const struct step_class *c = &all->at[step_decode_class(7)][0];
    assert_int_equal(c->n, 11);
    assert_near(c->decode_tok, 68, 1e-9);
    assert_near(c->s, 12e-3, 1e-12);
    assert_true(c->bytes == 100 && c->flop == 7 && c->prompt_tok == 0);
    assert_int_equal(all->at[step_decode_class(8)][step_prompt_class(512)].n, 1);
    free(all);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_known), cmocka_unit_test(test_random), cmocka_unit_test(test_classes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
