/* Half-widths follow the errors of each side, grow with what is new, and of few publications stay near those of the rest. */
#include "learn/interval.h"
#include "tests/fit/toy.h"
#include "tests/test.h"
#include <math.h>

enum { N_ROW = 3000, ROWS_A_PUBLICATION = 5 };
static const struct stack stack = { .id = "vllm" };
static const struct machine gpu = { .class_name = "datacenter GPU" }, cpu = { .class_name = "CPU" };
static struct measurement decode = { .kind = MEASURE_RATE, .phase = MEASURE_DECODE, .metric = METRIC_TOK_S, .source = "", .op = "" },
                          prefill = { .kind = MEASURE_RATE, .phase = MEASURE_PREFILL, .metric = METRIC_TOK_S, .source = "", .op = "" };
static const struct workload on_gpu = { .m = &decode, .stack = &stack, .machine = &gpu }, on_cpu = { .m = &decode, .stack = &stack, .machine = &cpu },
                             prompt = { .m = &prefill, .stack = &stack, .machine = &gpu };
static struct held_row held[N_ROW];
static size_t n_held;

/* n rows whose errors are normal, of spread `slow` where they are slower and `fast` where faster. */
static void add(const struct workload *p, enum novelty novelty, size_t n, double slow, double fast)
{
    for (size_t i = 0; i < n; i++) {
        const double x = normal();
        assert_true(n_held < N_ROW);
        held[n_held] = (struct held_row){ .p = p, .novelty = novelty, .side = x < 0 ? SIDE_SLOWER : SIDE_FASTER, .ratio = x < 0 ? -x * slow : x * fast,
                                          .alike = (uint32_t)(n_held / ROWS_A_PUBLICATION) };
        n_held++;
    }
}

static double half(const struct fit *f, enum novelty novelty, enum side side, const struct workload *p)
{
    return interval_half(f, novelty, side, p, 1);
}

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value / expected - 1) <= tolerance))
        fail_msg("%.6g is not %.6g", value, expected);
}

static const double normal90 = 1.645;

static void test_sides(void **state)
{
    (void)state;
    struct fit f;
    struct error err = { 0 };
    seed = 5;
    n_held = 0;
    add(&on_gpu, NOVELTY_MACHINE, N_ROW, 3, 1);
    fit_init(&f);
    assert_ok(interval_calibrate(&f, held, n_held, &err), err);
    near(half(&f, NOVELTY_MACHINE, SIDE_SLOWER, &on_gpu), 3 * normal90, 0.1);
    near(half(&f, NOVELTY_MACHINE, SIDE_FASTER, &on_gpu), normal90, 0.1);
    near(interval_half(&f, NOVELTY_MACHINE, SIDE_FASTER, &on_gpu, 0.2), 0.2 * half(&f, NOVELTY_MACHINE, SIDE_FASTER, &on_gpu), 1e-12);
    fit_free(&f);
    fit_init(&f); /* nothing is known: a normal's */
    near(half(&f, NOVELTY_MACHINE, SIDE_FASTER, &on_gpu), normal90, 1e-3);
    fit_free(&f);
}

static void test_novelty(void **state)
{
    (void)state;
    struct fit f;
    struct error err = { 0 };
    seed = 6;
    n_held = 0;
    add(&on_gpu, NOVELTY_PUBLISHER, 1000, 1, 1);
    add(&on_gpu, NOVELTY_GENERATION, 1000, 3, 3);
    add(&prompt, NOVELTY_GENERATION, 900, 6, 6);
    fit_init(&f);
    assert_ok(interval_calibrate(&f, held, n_held, &err), err);
    near(half(&f, NOVELTY_PUBLISHER, SIDE_SLOWER, &on_gpu), normal90, 0.12);
    near(half(&f, NOVELTY_GENERATION, SIDE_SLOWER, &on_gpu), 3 * normal90, 0.12);
    near(half(&f, NOVELTY_GENERATION, SIDE_SLOWER, &prompt), 6 * normal90, 0.12);
    /* A class without rows has its phase's, a level without rows all rows'. */
    near(half(&f, NOVELTY_GENERATION, SIDE_SLOWER, &on_cpu), half(&f, NOVELTY_GENERATION, SIDE_SLOWER, &on_gpu), 0.12);
    assert_true(half(&f, NOVELTY_ENGINE, SIDE_SLOWER, &on_gpu) > 2 * normal90);
    fit_free(&f);
}

/* Two publications of a class tell less of it than all of the phase. */
static void test_few(void **state)
{
    (void)state;
    struct fit f;
    struct error err = { 0 };
    seed = 7;
    n_held = 0;
    add(&on_gpu, NOVELTY_MACHINE, 2000, 1, 1);
    add(&on_cpu, NOVELTY_MACHINE, 2 * ROWS_A_PUBLICATION, 8, 8);
    fit_init(&f);
    assert_ok(interval_calibrate(&f, held, n_held, &err), err);
    const double few = half(&f, NOVELTY_MACHINE, SIDE_SLOWER, &on_cpu);
    assert_true(few > 1.1 * normal90 && few < 3 * normal90);
    fit_free(&f);
}

/* One publisher's thousand rows weigh as some thirty. */
static void test_alike(void **state)
{
    (void)state;
    struct fit f;
    struct error err = { 0 };
    seed = 8;
    n_held = 0;
    add(&on_gpu, NOVELTY_MACHINE, 1000, 1, 1);
    add(&on_gpu, NOVELTY_MACHINE, 1000, 9, 9);
    for (size_t i = 1000; i < n_held; i++)
        held[i].alike = UINT32_MAX;
    fit_init(&f);
    assert_ok(interval_calibrate(&f, held, n_held, &err), err);
    assert_true(half(&f, NOVELTY_MACHINE, SIDE_SLOWER, &on_gpu) < 3 * normal90);
    fit_free(&f);
}

/* Where rows of a publication err alike, of few publications one more may err more than all of them; where they do not, rows count. */
static void test_publications(void **state)
{
    enum { ROWS = 20, MANY = 60 };
    static const struct {
        size_t n; /* publications */
        bool mixed;
        double quantile;
    } cases[] = { { 8, false, 1 }, { MANY, false, 0.9 * 61 / 60 }, { 8, true, 0.9 } };
    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        const size_t n = cases[c].n;
        struct fit f;
        struct error err = { 0 };
        n_held = n * ROWS;
        for (size_t i = 0; i < n_held; i++) /* the k-th publication errs by its rank in all its rows, or each by all ranks */
            held[i] = (struct held_row){ .p = &on_gpu, .novelty = NOVELTY_MACHINE, .ratio = cases[c].mixed ? (double)(i % ROWS + 1) / ROWS : (double)(i / ROWS + 1) / (double)n,
                                         .alike = (uint32_t)(i / ROWS) };
        fit_init(&f);
        assert_ok(interval_calibrate(&f, held, n_held, &err), err);
        const double left = pow(10 / ((double)n + 10), 4); /* of the normal's, after four nodes */
        near(exp((log(half(&f, NOVELTY_MACHINE, SIDE_SLOWER, &on_gpu)) - left * log(normal90)) / (1 - left)), cases[c].quantile, 0.02);
        fit_free(&f);
    }
}

static void test_levels(void **state)
{
    static const struct measurement of_server = { .kind = MEASURE_SERVING }, of_op = { .kind = MEASURE_OP };
    const struct workload served = { .m = &of_server }, op = { .m = &of_op };
    (void)state;
    const unsigned all = SEEN_PUBLICATION | SEEN_WORK | SEEN_ENGINE | SEEN_MACHINE | SEEN_GENERATION | SEEN_CLASS;
    const struct {
        unsigned unseen;
        enum novelty novelty;
    } of[] = { { 0, NOVELTY_NOTHING },
               { SEEN_WORK, NOVELTY_NOTHING },
               { SEEN_PUBLICATION, NOVELTY_PUBLISHER },
               { SEEN_PUBLICATION | SEEN_WORK, NOVELTY_WORK },
               { SEEN_WORK | SEEN_ENGINE, NOVELTY_ENGINE },
               { SEEN_MACHINE | SEEN_ENGINE, NOVELTY_MACHINE },
               { SEEN_MACHINE | SEEN_GENERATION, NOVELTY_GENERATION },
               { SEEN_MACHINE | SEEN_CLASS | SEEN_PUBLICATION, NOVELTY_CLASS } };
    for (size_t i = 0; i < ARRAY_LEN(of); i++)
        assert_int_equal(novelty_from(&served, all & ~of[i].unseen), of[i].novelty);
    /* an op has no engine that could be new */
    assert_int_equal(novelty_from(&op, all & ~(SEEN_ENGINE | SEEN_PUBLICATION)), NOVELTY_PUBLISHER);
    assert_int_equal(novelty_from(&op, all & ~(SEEN_ENGINE | SEEN_PUBLICATION | SEEN_WORK)), NOVELTY_WORK);
    assert_true(interval_is_name("interval") && interval_is_name("interval novelty=work side=slower") && !interval_is_name("intervals"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sides), cmocka_unit_test(test_novelty), cmocka_unit_test(test_few), cmocka_unit_test(test_alike), cmocka_unit_test(test_publications),
                                        cmocka_unit_test(test_levels) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
