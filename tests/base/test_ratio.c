/* Tests of equal speeds: known values; how often they are wrong, and right, on a machine whose speed drifts, doubles and halves. */
#include "base/ratio.h"
#include "../test.h"
#include "../near.h"
#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The same values in an order without positive autocorrelation: smallest, largest, next smallest, ... */
static void alternate(double *to, const double *from, size_t n)
{
    double s[64];
    memcpy(s, from, n * sizeof *s);
    qsort(s, n, sizeof *s, by_value);
    for (size_t i = 0; i < n; i++)
        to[i] = s[i % 2 ? n - 1 - i / 2 : i / 2];
}

static void test_known_pairs(void **state)
{
    /* Hollander and Wolfe 1973, page 29: p of one side 0.01953 */
    static const double before[] = { 1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30 }, after[] = { 0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29 };
    double d[9], x[9];
    (void)state;
    for (int i = 0; i < 9; i++)
        d[i] = before[i] - after[i];
    alternate(x, d, 9);
    const struct ratio r = ratio_paired(x, 9);
    assert_near(r.p, 0.0390625, 1e-12);
    assert_near(log(r.ratio), 0.46, 1e-9);  /* R 4: wilcox.test(conf.int = TRUE) */
    assert_near(log(r.lo), 0.010, 1e-9);
    assert_near(log(r.hi), 0.786, 1e-9);
    for (int i = 0; i < 6; i++)
        x[i] = 0.01 * (1 + (i * 5) % 7);
    assert_near(ratio_paired(x, 6).p, 2 / 64.0, 1e-12);
    const struct ratio few = ratio_paired(x, 5);
    assert_near(few.p, 2 / 32.0, 1e-12);
    assert_true(isnan(few.lo) && isnan(few.hi)); /* five pairs have no 95 % interval */
    const double none[] = { 0, 0, 0 }, one[] = { 0.5 };
    assert_true(ratio_paired(none, 3).p == 1 && ratio_paired(none, 3).ratio == 1);
    assert_true(isnan(ratio_paired(one, 1).p));
    const double ties[] = { -1, 1, -2, 2, -2, 3 }; /* ranks 1.5, 1.5, 4, 4, 4, 6: W = 11.5 of 21 */
    assert_near(ratio_paired(ties, 6).p, 2 * 29 / 64.0, 1e-12);
}

static void test_known_series(void **state)
{
    /* Hollander and Wolfe 1973, page 69: W = 35, p of one side 0.1272 */
    static const double term[] = { 0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46 }, early[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };
    double a[10], b[10];
    (void)state;
    alternate(a, term, 10);
    alternate(b, early, 5);
    const struct ratio r = ratio_unpaired(a, 10, b, 5), back = ratio_unpaired(b, 5, a, 10);
    assert_near(r.p, 0.2544, 5e-5);
    assert_near(log(r.ratio), -0.305, 1e-9);
    assert_near(r.ratio * back.ratio, 1, 1e-12);
    assert_near(r.p, back.p, 1e-12);
    for (int i = 0; i < 5; i++) {
        a[i] = (i * 3) % 5;
        b[i] = 10 + (i * 3) % 5;
    }
    assert_near(ratio_unpaired(a, 5, b, 5).p, 2 / 252.0, 1e-12);
    assert_true(isnan(ratio_unpaired(a, 3, b, 3).lo) && !isnan(ratio_unpaired(a, 4, b, 4).lo));
    assert_true(ratio_unpaired(a, 5, a, 5).p == 1);
    assert_true(isnan(ratio_unpaired(a, 1, b, 5).p));
    /* values in order: the interval is wider, p larger */
    for (int i = 0; i < 10; i++) {
        a[i] = i;
        b[i] = i + 4;
    }
    const struct ratio slow = ratio_unpaired(a, 10, b, 10);
    alternate(a, a, 10);
    alternate(b, b, 10);
    const struct ratio mixed = ratio_unpaired(a, 10, b, 10);
    assert_true(slow.correlation > 0.5 && mixed.correlation == 0);
    assert_true(slow.p > 5 * mixed.p && slow.lo < mixed.lo && slow.hi > mixed.hi && slow.ratio == mixed.ratio);
}

static void test_known_means(void **state)
{
    double p[] = { 0.01, NAN, 0.04, 0.03, 0.005 }, equal[] = { 0.02, 0.02, 0.5 };
    struct error err = { 0 };
    (void)state;
    const struct ratio t = ratio_of_sd(2.306004, 1, 8), far = ratio_of_sd(50, 1, 4), z = ratio_of_sd(1.959964, 1, INFINITY), low = ratio_of_sd(0.1, 1, 3);
    assert_near(t.p, 0.05, 1e-6);
    assert_near(log(t.lo), 0, 1e-5);
    assert_near(z.p, 0.05, 1e-6);
    assert_near(far.p, 9.5e-7, 1e-8);  /* R: 2 * pt(-50, 4) = 9.58e-07 */
    assert_near(low.p, 0.92665, 1e-4); /* 2 * pt(-0.1, 3) */
    assert_true(isnan(ratio_of_sd(1, NAN, 4).p) && isnan(ratio_of_sd(1, 1, 0).p));
    assert_near(ratio_welch_df(1, 5, 1, 5), 8, 1e-12);
    assert_true(isinf(ratio_welch_df(1, 0, 0, 5)));
    assert_int_equal(ratio_holm(p, 5, &err), 0); /* Holm 1979 */
    assert_near(p[4], 0.02, 1e-12);
    assert_near(p[0], 0.03, 1e-12);
    assert_near(p[3], 0.06, 1e-12);
    assert_near(p[2], 0.06, 1e-12);
    assert_true(isnan(p[1]));
    assert_int_equal(ratio_holm(equal, 3, &err), 0);
    assert_true(fabs(equal[0] - 0.06) < 1e-12 && equal[1] == equal[0] && equal[2] == 0.5);
    assert_int_equal(ratio_least_pairs(1, 0.05), 6);
    assert_int_equal(ratio_least_pairs(4, 0.05), 8);
}

/* ---- size and power ------------------------------------------------------------------------------------------ */

/* A machine whose speed doubles or halves in `change` of its steps, and repetitions whose errors are an AR(1) of sd 1 %. */
struct machine {
    struct rng rng;
    double change, speed, error, correlation;
};
static const double SD = 0.01;

/* A repetition: ln of its speed, and of the mean of the probes before and after it. */
static void repeat(struct machine *m, double *ln_speed, double *ln_probe)
{
    const double before = m->speed, at = rng_uniform(&m->rng);
    if (rng_uniform(&m->rng) < m->change)
        m->speed = m->speed > 1 ? 1 : 2;
    m->error = m->correlation * m->error + SD * sqrt(1 - m->correlation * m->correlation) * rng_normal(&m->rng);
    *ln_speed = log(at * before + (1 - at) * m->speed) + m->error;
    *ln_probe = log((before + m->speed) / 2) + 0.003 * rng_normal(&m->rng);
}

enum design { RUNS_BY_PROBES, RUNS_ALONE, ROUNDS };

/* p of one comparison, B by `effect` faster. */
static double compare_once(struct machine *m, enum design design, size_t n, double effect)
{
    double x[2][RATIO_VALUES], y[2][RATIO_VALUES], probe[2][RATIO_VALUES], d[RATIO_VALUES];
    for (size_t i = 0; i < 2 * n; i++) {
        const size_t side = design != ROUNDS ? i >= n : (i / 2 + i) % 2, k = design != ROUNDS ? i % n : i / 2;
        repeat(m, &x[side][k], &probe[side][k]);
        x[side][k] += side ? effect : 0;
        y[side][k] = x[side][k] - probe[side][k];
    }
    if (design == RUNS_BY_PROBES)
        return ratio_unpaired(y[0], n, y[1], n).p;
    if (design == RUNS_ALONE) {
        const double v_a = pow(stats_sd(x[0], n), 2), v_b = pow(stats_sd(x[1], n), 2);
        return ratio_of_sd(stats_mean(x[1], n) - stats_mean(x[0], n), sqrt(v_a + v_b), ratio_welch_df(v_a, n, v_b, n)).p;
    }
    for (size_t k = 0; k < n; k++)
        d[k] = x[1][k] - x[0][k];
    return ratio_paired(d, n).p;
}

/* The share of comparisons that tell B and A apart. */
static double told(enum design design, size_t n, double correlation, double change, double effect)
{
    enum { TRIALS = 1000 };
    struct machine m = { .change = change, .speed = 1, .correlation = correlation };
    int n_told = 0;
    rng_init(&m.rng, 7);
    for (int i = 0; i < TRIALS; i++)
        n_told += compare_once(&m, design, n, effect) < 0.05;
    return (double)n_told / TRIALS;
}

/* 1000 trials: a share of 0.05 is within 0.07, 3 standard deviations. */
static void test_false_positives(void **state)
{
    static const double MOST = 0.07;
    (void)state;
    assert_true(told(RUNS_BY_PROBES, 5, 0, 0.05, 0) <= MOST);
    assert_true(told(RUNS_BY_PROBES, 5, 0.3, 0.05, 0) <= MOST);
    assert_true(told(RUNS_BY_PROBES, 10, 0.3, 0.05, 0) <= MOST);
    assert_true(told(RUNS_ALONE, 5, 0.6, 0, 0) <= MOST);
    assert_true(told(RUNS_ALONE, 5, 0.6, 0.05, 0) <= MOST);
    assert_true(told(ROUNDS, 8, 0.6, 0.05, 0) <= MOST);
    assert_true(told(ROUNDS, 20, 0.6, 0.05, 0) <= MOST);
    assert_true(told(ROUNDS, 5, 0, 0, 0) == 0); /* five pairs cannot reach 0.05 */
}

/* B is by 5 % faster; the errors of a repetition have a standard deviation of 1 %. */
static void test_power(void **state)
{
    (void)state;
    assert_true(told(RUNS_BY_PROBES, 5, 0, 0.05, 0.05) >= 0.6);
    assert_true(told(RUNS_BY_PROBES, 10, 0.3, 0.05, 0.05) >= 0.9);
    assert_true(told(RUNS_ALONE, 5, 0, 0, 0.05) >= 0.9);
    assert_true(told(ROUNDS, 10, 0, 0, 0.05) >= 0.8);
    assert_true(told(ROUNDS, 10, 0.3, 0.05, 0.05) >= 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_pairs),
        cmocka_unit_test(test_known_series),
        cmocka_unit_test(test_known_means),
        cmocka_unit_test(test_false_positives),
        cmocka_unit_test(test_power),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
