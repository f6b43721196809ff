/* Half-widths of both sides follow the errors of each side, in each situation separately. */
#include "base/environment.h"
#include "learn/spread.h"
#include "tests/fit/toy.h"
#include "tests/test.h"
#include <math.h>

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.12g is not %.12g", value, expected);
}

static const struct stack stack = { .id = "vllm" };
static const struct machine machine = { .class_name = "datacenter GPU" };

static void rate_of(struct workload *p, struct measurement *m, enum measure_metric metric)
{
    *m = (struct measurement){ .kind = MEASURE_RATE, .phase = MEASURE_DECODE, .metric = metric, .source = "", .op = "" };
    *p = (struct workload){ .m = m, .stack = &stack, .machine = &machine };
}

/* Half the rows are slower, as a normal of spread `slow`, half faster, of spread `fast`. */
static void learn(struct fit *f, enum situation s, const struct workload *p, double slow, double fast)
{
    enum { N = 2000 };
    static struct quantile_row r[N];
    struct error err = { 0 };
    fit_init(f);
    for (int i = 0; i < N; i++) {
        const double x = normal(), error = x < 0 ? x * slow : x * fast; /* ln predicted - ln measured */
        assert_int_equal(spread_effects(f, true, s, spread_side(p, error), p, &r[i], &err), 0);
        r[i].ln_ratio = log(fmax(fabs(error), 1e-3));
    }
    assert_ok(quantile_run(f, r, N, 0.9, &err), err);
}

static void test_sides(void **state)
{
    (void)state;
    struct fit f;
    struct measurement m;
    struct workload p;
    seed = 5;
    rate_of(&p, &m, METRIC_TOK_S);
    learn(&f, SITUATION_NEW_MACHINE, &p, 3, 1);
    const double slower = spread_half(&f, SITUATION_NEW_MACHINE, SIDE_SLOWER, &p, 1),
                 faster = spread_half(&f, SITUATION_NEW_MACHINE, SIDE_FASTER, &p, 1);
    assert_true(fabs(slower / (3 * 1.645) - 1) < 0.1);
    assert_true(fabs(faster / 1.645 - 1) < 0.1);
    /* Errors of new machines do not inform about known ones: normal, inflated by the missing information. */
    const double seen = spread_half(&f, SITUATION_SEEN, SIDE_SLOWER, &p, 1);
    assert_near(seen, spread_half(&f, SITUATION_SEEN, SIDE_FASTER, &p, 1), 1e-12);
    assert_true(seen > 1.645 && seen < 4);
    /* A side may be inflated alone. */
    spread_inflate(&f, SITUATION_NEW_MACHINE, SIDE_FASTER, log(2));
    assert_near(spread_half(&f, SITUATION_NEW_MACHINE, SIDE_FASTER, &p, 1), 2 * faster, 1e-9);
    assert_near(spread_half(&f, SITUATION_NEW_MACHINE, SIDE_SLOWER, &p, 1), slower, 1e-9);
    fit_free(&f);
}

/* Times to the first token have one distance: nine in ten of all lie within. */
static void test_first_token(void **state)
{
    (void)state;
    struct fit f;
    struct measurement m;
    struct workload p;
    seed = 6;
    rate_of(&p, &m, METRIC_TTFT);
    learn(&f, SITUATION_NEW_WORK, &p, 3, 1);
    const double half = spread_half(&f, SITUATION_NEW_WORK, SIDE_SLOWER, &p, 1);
    assert_near(half, spread_half(&f, SITUATION_NEW_WORK, SIDE_FASTER, &p, 1), 1e-12);
    assert_true(half > 1.645 && half < 3 * 1.645);
    /* without rows of either side */
    struct error err = { 0 };
    const struct half_width r = { .slower = log(2), .faster = log(0.5) };
    assert_ok(spread_set_half_width(&f, SITUATION_NEW_WORK, &r, 100, &err), err);
    assert_near(spread_half(&f, SITUATION_NEW_WORK, SIDE_SLOWER, &p, 1), 2 * half, 1e-9);
    assert_near(spread_half(&f, SITUATION_NEW_WORK, SIDE_FASTER, &p, 1), half / 2, 1e-9);
    assert_near(spread_half(&f, SITUATION_SEEN, SIDE_FASTER, &p, 1), spread_half(&f, SITUATION_SEEN, SIDE_SLOWER, &p, 1), 1e-12);
    fit_free(&f);
}

/* How far rows lie out that differ in one thing is learned of each by itself. */
static void learn_apart(struct workload *p, double *held)
{
    enum { N = 4000 };
    static struct quantile_row r[N];
    static const double spread[2] = { 1, 0.2 };
    struct error err = { 0 };
    struct fit f;
    fit_init(&f);
    for (int i = 0; i < N; i++) {
        assert_int_equal(spread_effects(&f, true, SITUATION_NEW_MACHINE, SIDE_SLOWER, &p[i % 2], &r[i], &err), 0);
        r[i].ln_ratio = log(fmax(fabs(spread[i % 2] * normal()), 1e-3));
    }
    assert_ok(quantile_run(&f, r, N, 0.9, &err), err);
    held[0] = held[1] = 0;
    for (int i = 0; i < N; i++)
        held[i % 2] += (fabs(spread[i % 2] * normal()) < spread_half(&f, SITUATION_NEW_MACHINE, SIDE_SLOWER, &p[i % 2], 1)) / (N / 2.0);
    fit_free(&f);
}

/* Weights of 4 bits against 16; of a server's seconds no difference. (59) */
static void test_bits(void **state)
{
    (void)state;
    struct measurement m;
    struct workload p[2];
    double held[2];
    seed = 8;
    for (int server = 0; server < 2; server++) {
        rate_of(&p[0], &m, METRIC_TOK_S);
        m.kind = server ? MEASURE_SERVING : MEASURE_RATE;
        p[0].bits_weight = 4.5;
        p[1] = p[0];
        p[1].bits_weight = 16;
        learn_apart(p, held);
        for (int k = 0; k < 2 && !server; k++)
            assert_near(held[k], 0.9, 0.03);
        assert_true(!server || (held[0] < 0.85 && held[1] > 0.97));
    }
}

/* Steps of many sequences against one. (59) */
static void test_batches(void **state)
{
    (void)state;
    struct measurement m;
    struct work_pass pass[2] = { { .at.n_seq = 1 }, { .at.n_seq = 8 } };
    struct workload p[2];
    double held[2];
    seed = 9;
    for (int k = 0; k < 2; k++) {
        rate_of(&p[k], &m, METRIC_TOK_S);
        p[k].pass = &pass[k];
        p[k].n_pass = 1;
    }
    learn_apart(p, held);
    for (int k = 0; k < 2; k++)
        assert_near(held[k], 0.9, 0.03);
}

/* Doubtful rows against others. (59) */
static void test_doubts(void **state)
{
    (void)state;
    struct measurement m[2];
    struct workload p[2];
    double held[2];
    seed = 10;
    for (int k = 0; k < 2; k++)
        rate_of(&p[k], &m[k], METRIC_TOK_S);
    m[0].tags = TAG_ANOMALY;
    learn_apart(p, held);
    for (int k = 0; k < 2; k++)
        assert_near(held[k], 0.9, 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sides), cmocka_unit_test(test_first_token),
                                        cmocka_unit_test(test_bits), cmocka_unit_test(test_batches), cmocka_unit_test(test_doubts) };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
