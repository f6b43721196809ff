/* A server's latencies by hand: steps that newcomers' prompts lengthen, a queue, users who wait for a place, the network. */
#include "base/environment.h"
#include "stacks/effects.h"
#include "tests/test.h"
#include <math.h>
#include <stdlib.h>

/*
 * 1 TB/s, 100 TFLOP/s. A decode step reads 1 GB, a prompt takes 1 TFLOP; half of both roofs is attained: 2 ms and 20 ms. A pass
 * costs 1 ms more, a sequence of a step 10 us. 10 sequences of 100 tokens.
 */
struct toy {
    struct machine machine;
    struct roofs roofs;
    struct hw_link link;
    struct measurement m;
    struct step step[2], prompt;
    struct work_pass pass[2];
    struct workload p;
    double parameter[TIME_PARAMETER_COUNT];
};

static void make(struct toy *t, enum measure_metric metric, const char *mode)
{
    *t = (struct toy){ .link = { .n_devices = 8 } };
    t->machine.h.link = &t->link;
    t->machine.h.n_link = 1;
    t->m = (struct measurement){ .kind = MEASURE_SERVING, .metric = metric, .mode = mode, .hardware = "", .source = "",
                                 .date = "", .engine = "vLLM", .notes = "", .quant = "" };
    t->step[0] = (struct step){ .kind = OP_MATMUL, .count = 1, .bits = 8, .math = MATH_FP8, .cost.weight_bytes = 1e9 };
    t->step[1] = (struct step){ .kind = OP_ALL_REDUCE, .count = 100, .n_comm = 16 }; /* 100 exchanges of nothing */
    t->prompt = (struct step){ .kind = OP_MATMUL, .count = 1, .bits = 8, .math = MATH_FP8, .rows = 1, .cost.flop = 1e12 };
    t->pass[0] = (struct work_pass){ .at.phase = PHASE_PREFILL, .times = 1, .c = &t->prompt, .n = 1 };
    t->pass[1] = (struct work_pass){ .at.phase = PHASE_DECODE, .times = 1, .c = t->step, .n = 1 };
    t->p = (struct workload){ .m = &t->m, .machine = &t->machine, .roofs = &t->roofs, .stack = stack_named("vllm"), .pass = t->pass, .n_pass = 2, .batch = 10, .n_users = 10, .n_ahead = NAN,
                            .out = 100, .layout = { .tp = 1, .dp = 1, .ep = 1 } };
    t->roofs.bytes_s = 1e12;
    t->roofs.link_bytes_s = 1e12;
    t->roofs.peak[MATH_FP8].flop_s = 1e14;
    t->roofs.peak[MATH_FP32].flop_s = 1e3; /* unpacking a weight would take years */
    t->parameter[TIME_BANDWIDTH] = t->parameter[TIME_COMPUTE] = log(0.5);
    t->parameter[TIME_OVERLAP] = 4;
    t->parameter[TIME_LAUNCH] = -100;
    t->parameter[TIME_STEP] = log(1e-3);
    t->parameter[TIME_SEQUENCE] = log(1e-5);
    t->parameter[TIME_QUEUE] = log(0.1);
}

static double milliseconds(const struct toy *t)
{
    struct time_features f = { .sequential = 1 }, wait;
    struct stack_traits x;
    stack_traits_init(&x, &t->p);
    serving_features(&f, &wait, &x);
    return 1e3 * exp(time_ln_seconds(&f, t->parameter));
}

#define assert_ms(t, ms)                                                             \
    do {                                                                             \
        const double is = milliseconds(t);                                           \
        if (!(fabs(is - (ms)) <= 1e-3 * (ms)))                                       \
            fail_msg("%.9g ms, expected %.9g", is, (double)(ms));                    \
    } while (0)

static void test_step(void **state)
{
    (void)state;
    struct toy t;
    make(&t, METRIC_TPOT, "agg");
    assert_ms(&t, 2 + 0.1 * 20 + 1.1 * 1 + 10 * 0.01); /* one prompt joins every tenth step */
    t.p.layout.dp = 2; /* 5 sequences a group */
    assert_ms(&t, 2 + 0.05 * 20 + 1.05 * 1 + 5 * 0.01);
    make(&t, METRIC_TPOT, "disagg");
    assert_ms(&t, 2 + 1 + 10 * 0.01); /* prompts are processed elsewhere */
}

/* Prompts of the matrices of the steps: a prompt's arithmetic does not hide a step's bytes. */
static void test_joined(void **state)
{
    (void)state;
    struct toy t;
    make(&t, METRIC_TPOT, "agg");
    t.prompt.rows = t.step[0].rows; /* the same matrix */
    assert_ms(&t, 2 + 0.1 * 20 + 1.1 * 1 + 10 * 0.01);
}

/* A step by itself is taught with servers' latencies: one step a collective, what sequences cost, no prompts. */
static void test_step_alone(void **state)
{
    (void)state;
    struct toy t;
    struct fitted_row r;
    make(&t, METRIC_TOK_S, "");
    t.m.kind = MEASURE_RATE;
    t.m.phase = MEASURE_DECODE;
    t.p.pass = &t.pass[1];
    t.p.n_pass = 1;
    assert_int_equal(fitted_kind(&t.m), FITTED_DECODE);
    t.m.server_step = true;
    assert_int_equal(fitted_kind(&t.m), FITTED_TPOT);
    assert_true(fitted_learns_from(FITTED_TPOT, &t.m) && !fitted_learns_from(FITTED_RATE, &t.m) && !fitted_learns_from(FITTED_DECODE, &t.m));
    assert_true(fitted_row_init(&r, &t.p, FITTED_TPOT));
    const double ms = 1e3 * exp(time_ln_seconds(&r.f, t.parameter));
    assert_true(fabs(ms - (2 + 1 + 10 * 0.01)) < 1e-3 * ms);
    assert_true(r.f.one_step && !r.f.decode);
}

static void test_first_token(void **state)
{
    (void)state;
    struct toy t;
    make(&t, METRIC_TTFT, "agg");
    assert_ms(&t, (20 + 1) * (1 + 0.1 * 9));
    t.m.prefill.dp = 2; /* 5 users a group */
    assert_ms(&t, (20 + 1) * (1 + 0.1 * 4));
    make(&t, METRIC_TTFT, "agg");
    t.p.n_users = 15; /* half an answer's steps until there is a place; 10 run */
    assert_ms(&t, (20 + 1) * (1 + 0.1 * 9) + 0.5 * 100 * (2 + 0.1 * 20));
    make(&t, METRIC_TTFT, "disagg");
    t.p.n_users = 15; /* the number of replicas is not stated */
    assert_ms(&t, (20 + 1) * (1 + 0.1 * 9));
}

/* Prompts before its own are counted by a simulation: they replace the fitted queue, and the wait for a place. */
static void test_ahead(void **state)
{
    (void)state;
    struct toy t;
    make(&t, METRIC_TTFT, "agg");
    t.p.n_ahead = 0.5;
    assert_ms(&t, (20 + 1) * 1.5);
    t.p.n_users = 15;
    assert_ms(&t, (20 + 1) * 1.5);
    t.m.mode = "disagg";
    t.m.decode.workers = 1; /* users without a place in the steps' workers wait there */
    assert_ms(&t, (20 + 1) * 1.5 + 0.5 * 100 * 2);
    make(&t, METRIC_TTFT, "agg");
    t.p.n_ahead = 0;
    t.p.stack = stack_named("sglang");
    t.m.source = "db-dump/2026-04-27; silicon_concurrency=10";
    t.machine.h.peak[MATH_FP4].value = 1e15;
    t.parameter[TIME_LAUNCH] = log(1e-3); /* of a prompt's op; a step's is captured in a graph */
    assert_ms(&t, 20 + 1 + 1 + 5 * (2 + 0.1 + 0.1 * (20 + 0.1)));
}

/* An arrival between two polls waits for half the steps between them: where the source's script does so. (52) */
static void test_steps_apart(void **state)
{
    (void)state;
    struct toy t;
    const double alone = (20 + 1) * (1 + 0.1 * 9), step = 2 + 0.1 * 20;
    make(&t, METRIC_TTFT, "agg");
    t.p.stack = stack_named("sglang");
    t.m.source = "db-dump/2026-04-27; silicon_concurrency=10";
    assert_ms(&t, alone); /* an H100's script looks each step */
    t.machine.h.peak[MATH_FP4].value = 1e15;
    assert_ms(&t, alone + 5 * step);
    t.p.n_users = 16; /* 6 of whom have no place */
    assert_ms(&t, alone + (0.6 * 100 + 15) * step);
    t.p.n_users = 10;
    t.m.source = "another script";
    assert_ms(&t, alone);
    make(&t, METRIC_TTFT, "agg");
    t.p.stack = stack_named("tensorrt-llm");
    t.m.source = "source_file=2026-03-25.csv";
    assert_ms(&t, alone);
    t.p.layout.dp = 2; /* attention is split by requests: 5 of a group, each with half the newcomers */
    assert_ms(&t, alone + 30 * (2 + 0.05 * 20));
}

static void test_exchanges(void **state)
{
    (void)state;
    struct toy t;
    make(&t, METRIC_TPOT, "disagg");
    t.pass[1].n = 2;
    assert_ms(&t, 3.1 + 100 * 8e-3); /* one step each, however many devices */
    t.p.layout.tp = 16;
    assert_ms(&t, 3.1 + 100 * 8 * 8e-3); /* a board has 8 */
    assert_string_equal(serving_link(&t.p), "network");
    t.link.n_devices = 72;
    assert_string_equal(serving_link(&t.p), "board");
}

/* All to all in one round below 2 MiB / n (TensorRT-LLM: 4 MB / n), more bytes than in two: 100 all-reduces among 4 at 0.5 TB/s. (47) */
static void test_rounds(void **state)
{
    (void)state;
    struct toy t;
    make(&t, METRIC_TPOT, "disagg");
    snprintf(t.machine.h.vendor, sizeof t.machine.h.vendor, "NVIDIA");
    t.parameter[TIME_LINK] = log(0.5);
    t.pass[1].n = 2;
    t.step[1].n_comm = 4;
    t.step[1].rounds_bytes = 1.5 * 500e3;
    assert_ms(&t, 3.1 + 0.8 + 100 * 2 * 2 * 0.75e-3);
    t.step[1].rounds_bytes = 1.5 * 600e3;
    assert_ms(&t, 3.1 + 0.8 + 100 * 2 * 0.9e-3);
    t.p.stack = stack_named("tensorrt-llm");
    assert_ms(&t, 3.1 + 0.8 + 100 * 2 * 2 * 0.9e-3);
}

/* A fit without rows predicts from the priors. */
static void test_unfitted(void **state)
{
    (void)state;
    struct fit f;
    struct fit_row row;
    double parameter[TIME_PARAMETER_COUNT];
    struct toy t;
    make(&t, METRIC_TPOT, "agg");
    static const struct stack stack = { .id = "vllm" };
    t.p.stack = &stack;
    struct fitted_row *r = calloc(1, sizeof *r);
    assert_true(fitted_row_init(r, &t.p, fitted_kind(t.p.m)));
    fit_init(&f);
    fitted_row_predict(&f, r, &row);
    fit_parameters(&f, &fitted_model, &row, parameter);
    assert_true(fabs(exp(parameter[TIME_BANDWIDTH]) - 0.8) < 1e-9 && fabs(exp(parameter[TIME_SEQUENCE]) - 5e-6) < 1e-12);
    assert_true(parameter[TIME_VECTOR] == 0 && row.prior_var[TIME_BANDWIDTH] > 0);
    fit_free(&f);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step), cmocka_unit_test(test_joined), cmocka_unit_test(test_step_alone),
        cmocka_unit_test(test_first_token),
        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_steps_apart),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_unfitted),
    };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
