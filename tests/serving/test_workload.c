/* Workloads that are made: distributions of arrivals and lengths, sessions and what a prefix cache finds of them, text forms. */
#include "../test.h"
#include "serving/describe.h"
#include "serving/draw.h"
#include "serving/generate.h"
#include "serving/simulate.h"
#include <math.h>
#include <unistd.h>

static const struct serve_workload_options at_10 = { .arrivals = { .rate_s = 10 }, .n = 20000, .seed = 7 };

static struct serve_workload_description made(const char *text, const struct serve_workload_options *o)
{
    struct serve_workload w;
    struct error err;
    struct serve_workload_description d;
    assert_ok(serve_workload_from_text(&w, text, o, NULL, &err), err);
    assert_ok(serve_workload_describe(&d, &w, 16, &err), err);
    serve_workload_free(&w);
    return d;
}

static void near(double found, double want, double rel)
{
    if (!(fabs(found - want) <= rel * fabs(want)))
        fail_msg("%g: expected %g within %g", found, want, rel);
}

static void test_arrivals(void **state)
{
    struct serve_workload_options o = at_10;
    (void)state;
    struct serve_workload_description d = made("random", &o);
    near(d.rate_s, 10, 0.03);
    near(d.gap_cv, 1, 0.03);
    o.arrivals.burstiness = 0.25;
    d = made("random", &o);
    near(d.rate_s, 10, 0.05);
    near(d.gap_cv, 2, 0.06);
    o.arrivals.burstiness = 4;
    near(made("random", &o).gap_cv, 0.5, 0.03);
    o.arrivals.rescale = true;
    near(made("random", &o).duration_s, 2000, 1e-9); /* n / rate */
    o.arrivals.burstiness = INFINITY;
    d = made("random", &o);
    near(d.duration_s, 2000, 1e-9);
    assert_true(d.gap_cv < 1e-9);
    o.arrivals.rate_s = INFINITY;
    assert_true(isinf(made("random", &o).rate_s));
    o.arrivals = (struct arrival_plan){ .rate_s = 10 };
    o.n = 0;
    o.duration_s = 50;
    assert_int_equal(made("random", &o).n, 500);
}

/* Gamma moments by shape: mean 1, variance 1 / shape, skewness 2 / sqrt(shape). */
static void test_gamma(void **state)
{
    static const double shape[] = { 0.3, 1, 2.5, 40 };
    enum { N = 200000 };
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(shape); k++) {
        double s1 = 0, s2 = 0, s3 = 0;
        for (uint64_t i = 0; i < N; i++) {
            const double x = draw_gamma(3, DRAW_GAP, i, shape[k]) - 1;
            s1 += x;
            s2 += x * x;
            s3 += x * x * x;
        }
        assert_true(fabs(s1 / N) < 5 / sqrt(shape[k] * N));
        near(s2 / N, 1 / shape[k], 0.04);
        near(s3 / N / pow(s2 / N, 1.5), 2 / sqrt(shape[k]), 0.12);
    }
}

static void test_ramps(void **state)
{
    uint64_t ps[1001];
    struct error err;
    (void)state;
    struct arrival_plan a = { .burstiness = INFINITY, .ramp = RAMP_LINEAR, .ramp_from_s = 1, .ramp_to_s = 5 };
    assert_ok(arrival_times(ps, 1001, &a, 1, &err), err);
    near((double)ps[0] / PS_PER_S, 1, 1e-9);
    near((double)(ps[500] - ps[499]) / PS_PER_S, 1.0 / 3, 1e-6);
    near((double)(ps[1000] - ps[999]) / PS_PER_S, 0.2, 1e-6);
    a.ramp = RAMP_EXPONENTIAL;
    a.ramp_to_s = 4;
    assert_ok(arrival_times(ps, 1001, &a, 1, &err), err);
    near((double)(ps[500] - ps[499]) / PS_PER_S, 0.5, 1e-6);
    a.ramp_from_s = 0;
    assert_fails(arrival_times(ps, 1001, &a, 1, &err), err, "the ramp's first rate is 0");
    a = (struct arrival_plan){ .rate_s = -1 };
    assert_fails(arrival_times(ps, 1001, &a, 1, &err), err, "the rate is -1");
    a = (struct arrival_plan){ .rate_s = 1e-9 };
    assert_fails(arrival_times(ps, 1001, &a, 1, &err), err, "arrivals last");
}

static void test_lengths(void **state)
{
    (void)state;
    struct serve_workload_description d = made("random:in=100,out=11,range=0.5", &at_10);
    near(d.in.mean, 100, 0.01);
    assert_true(d.in.most == 150 && d.out.most == 17);
    near(d.in.p50, 100, 0.02);
    d = made("lognormal:in=512,out=200,sigma=0.8", &at_10);
    near(d.in.mean, 512, 0.03);
    near(d.in.p50, 512 * exp(-0.32), 0.03);
    near(d.out.mean, 200, 0.03);
    d = made("lognormal:in-p50=300,in-p95=2k,out-p50=150,out-p95=600,in-max=3k", &at_10);
    near(d.in.p50, 300, 0.04);
    near(d.in.p95, 2000, 0.06);
    near(d.out.p95, 600, 0.06);
    assert_true(d.in.most == 3000);
    d = made("random:in=1k,out=1,prefix=64", &at_10);
    assert_true(d.in.mean == 1064 && d.out.mean == 1);
    assert_true(d.hit_tok == 64.0 * 19999);
    d = made("random:in=10,out=1,prefix=32,prefixes=4", &at_10);
    assert_true(d.hit_tok == 32.0 * (20000 - 4));
    assert_true(made("random:in=0,out=1,prefix=32", &at_10).hit_tok == 16.0 * 19999); /* the last token is always computed */
}

/* A turn's prompt is the one before, its output, and new tokens. */
static void test_sessions(void **state)
{
    struct serve_workload w;
    struct error err;
    struct serve_workload_options o = at_10;
    (void)state;
    o.n = 7;
    assert_ok(serve_workload_from_text(&w, "session:turns=3,in=100,new=20,out=30,think=10s,think-dist=fixed,prefix=40", &o, NULL, &err), err);
    assert_int_equal(w.n, 7);
    static const uint32_t n_in[] = { 140, 190, 240 };
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(w.r[i].n_in, n_in[i % 3]);
        assert_int_equal(w.r[i].parent, i % 3 ? i - 1 : SERVE_NO_PARENT);
        if (i % 3)
            assert_true(w.r[i].after_ps == 10 * PS_PER_S);
    }
    struct serve_workload_description d;
    assert_ok(serve_workload_describe(&d, &w, 16, &err), err);
    /* Second turn: 170 known tokens, 160 in full blocks; third: 220, 208. Later sessions: 32 of the prefix. */
    assert_true(d.hit_tok == 160 + 208 + (32 + 160 + 208) + 32);
    serve_workload_free(&w);
    o.n = 20000;
    d = made("session:turns=5,turns-dist=geometric,think=2min", &o);
    near(d.turns, 5, 0.04);
    near(d.think_mean_s, 120, 0.03);
}

/* The scheduler's own cache finds as much, with blocks enough and one request at a time. */
static void test_sessions_hit(void **state)
{
    struct serve_workload w;
    struct error err;
    struct policy p;
    struct step_price price;
    struct serve_result r;
    struct serve_workload_description d;
    (void)state;
    const struct serve_workload_options o = { .arrivals = { .rate_s = 0.001 }, .n = 60, .seed = 3 };
    assert_ok(serve_workload_from_text(&w, "session:turns=6,in=200,new=33,out=45,sigma=0.5,prefix=100,think=1s", &o, NULL, &err), err);
    assert_ok(policy_init(&p, "vllm-0.27", &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err), err);
    p.max_model_len = 1 << 20;
    assert_ok(step_price_alloc(&price, &p, &err), err);
    for (uint32_t i = 0; i <= price.max_decode; i++)
        price.decode_ps[i] = 1000;
    for (uint32_t i = 0; i <= price.max_tok; i++)
        price.mixed_ps[i] = 1000;
    const struct serve_options s = { .policy = &p, .price = &price, .n_block = 100000, .max_concurrency = 1 };
    assert_ok(serve_simulate(&r, &w, &s, &err), err);
    assert_ok(serve_workload_describe(&d, &w, p.block_size, &err), err);
    assert_true((double)r.t.n_hit_tok == d.hit_tok);
    assert_true(d.hit_share > 0.5);
    serve_result_free(&r);
    step_price_free(&price);
    serve_workload_free(&w);
}

/* The same requests at another rate, by a plan or by scaling; more requests begin with the same ones. */
static void test_common_numbers(void **state)
{
    struct serve_workload a, b, c;
    struct error err;
    struct serve_workload_options o = at_10;
    (void)state;
    o.n = 500;
    assert_ok(serve_workload_from_text(&a, "lognormal:in=100,out=20", &o, NULL, &err), err);
    o.arrivals.rate_s = 40;
    o.n = 800;
    assert_ok(serve_workload_from_text(&b, "lognormal:in=100,out=20", &o, NULL, &err), err);
    assert_ok(serve_workload_copy(&c, &a, &err), err);
    assert_ok(serve_workload_scale_rate(&c, 4, &err), err);
    near(serve_workload_rate(&c), 4 * serve_workload_rate(&a), 1e-9);
    for (size_t i = 0; i < a.n; i++) {
        assert_true(a.r[i].n_in == b.r[i].n_in && a.r[i].n_out == b.r[i].n_out);
        assert_true(llabs((long long)(b.r[i].after_ps - c.r[i].after_ps)) <= 2);
    }
    assert_fails(serve_workload_scale_rate(&c, 0, &err), err, "expected a number above 0");
    serve_workload_free(&c);
    assert_true(!serve_workload_identified(&a));
    assert_ok(serve_workload_identify(&a, &err), err);
    assert_true(serve_workload_identified(&a));
    assert_int_equal(a.r[3].n_run, 1);
    assert_int_equal(a.run[a.r[3].run0].n, (a.r[3].n_in + a.r[3].n_out + 15) / 16);
    assert_true(a.run[a.r[3].run0].first != a.run[a.r[4].run0].first);
    serve_workload_free(&a);
    o.seed = 8;
    assert_ok(serve_workload_from_text(&a, "lognormal:in=100,out=20", &o, NULL, &err), err);
    assert_true(a.r[0].n_in != b.r[0].n_in || a.r[1].n_in != b.r[1].n_in);
    serve_workload_free(&a);
    serve_workload_free(&b);
}

static void fails(const char *text, const char *why)
{
    struct serve_workload_plan p;
    struct error err;
    assert_fails(serve_workload_plan_parse(&p, text, NULL, &err), err, why);
    assert_int_equal(err.kind, ERROR_USAGE);
}

static void test_text(void **state)
{
    struct serve_workload_plan p;
    struct error err;
    (void)state;
    assert_ok(serve_workload_plan_parse(&p, "session:turns=6,in=2k,new=300,out=200,think=1500ms,prefix=1024", NULL, &err), err);
    assert_true(p.in.mean == 2000 && p.fresh.mean == 300 && p.think_s.mean == 1.5 && p.prefix == 1024 && p.turns.mean == 6);
    fails("no-such", "no such file or name: expected a file, azure-conv");
    fails("azure-conv", "AzureLLMInferenceTrace_conv.csv is in no data folder");
    fails("random:in=1024,outt=3", "workload \"random\": unknown key \"outt\": expected in, out, range, prefix, prefixes");
    fails("random:in=-3", "in is \"-3\": expected tokens, with k or M, 0 to");
    fails("random:in=1.5", "in is \"1.5\": expected a whole number");
    fails("random:in=nan", "in is \"nan\"");
    fails("random:in=0x10", "in is \"0x10\"");
    fails("random:in=1e99", "in is \"1e99\"");
    fails("random:in=5,in=6", "in is given twice");
    fails("random:in=0", "in is 0");
    fails("random:in=5,", "unknown key \"\"");
    fails("random:range=1", "range is \"1\"");
}

static void test_text_more(void **state)
{
    (void)state;
    fails("session:think=10d", "think is \"10d\": expected a time with ms, s, min or h");
    fails("session:think-dist=normal", "expected fixed, uniform, lognormal, exponential or geometric");
    fails("session:think-dist=uniform", "think-dist: expected fixed, exponential or lognormal");
    fails("lognormal:in-p50=3", "expected both in-p50 and in-p95");
    fails("lognormal:in-p50=3,in-p95=2", "in-p95 is 2: expected at least in-p50, 3");
    fails("lognormal:in-p50=3,in-p95=4,in=5", "by percentiles and by mean");
    fails("session:range=0.5,sigma=1", "range and sigma");
    for (size_t i = 0; serve_workload_plan_name(i); i++)
        assert_non_null(serve_workload_plan_help(i));
}

static char path[64];

static const char *file(const char *text)
{
    snprintf(path, sizeof path, "workload-%d.csv", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static void test_files(void **state)
{
    struct serve_workload w;
    struct error err;
    struct serve_workload_options o = { .arrivals = { .rate_s = NAN }, .seed = 1 };
    char text[96];
    (void)state;
    file("arrival_s,in,out\n0,10,1\n2,20,2\n4,30,3\n8,40,4\n");
    assert_ok(serve_workload_from_text(&w, path, &o, NULL, &err), err);
    assert_true(w.n == 4 && w.r[3].after_ps == 8 * PS_PER_S && w.r[0].end == SERVE_END_STOP);
    serve_workload_free(&w);
    o.arrivals = (struct arrival_plan){ .rate_s = 4, .own_times = true };
    o.end = PLAN_END_LENGTH;
    assert_ok(serve_workload_from_text(&w, path, &o, NULL, &err), err);
    near(serve_workload_rate(&w), 4, 1e-9);
    near((double)w.r[1].after_ps / PS_PER_S, 0.1875, 1e-9); /* 3 gaps in 8 s, then in 0.75 s */
    assert_int_equal(w.r[0].end, SERVE_END_LENGTH);
    serve_workload_free(&w);
    o.duration_s = 0.6;
    assert_ok(serve_workload_from_text(&w, path, &o, NULL, &err), err);
    assert_int_equal(w.n, 3);
    serve_workload_free(&w);
    o.duration_s = 0;
    o.n = 5;
    assert_fails(serve_workload_from_text(&w, path, &o, NULL, &err), err, "has 4 requests: expected 5");
    o.n = 2;
    o.arrivals = (struct arrival_plan){ .rate_s = 1, .burstiness = INFINITY };
    assert_ok(serve_workload_from_text(&w, path, &o, NULL, &err), err);
    assert_true(w.n == 2 && w.r[1].after_ps == 2 * PS_PER_S);
    serve_workload_free(&w);
    snprintf(text, sizeof text, "empirical:%s", path);
    o.n = 20000;
    const struct serve_workload_description d = made(text, &o);
    near(d.in.mean, 25, 0.02);
    assert_true(d.in.most == 40);
    snprintf(text, sizeof text, "azure:%s", path);
    assert_fails(serve_workload_from_text(&w, text, &o, NULL, &err), err, ":2: no TIMESTAMP");
    /* A session that begins too late goes with all its turns. */
    file("{\"session_id\":1,\"input_length\":5,\"output_length\":1,\"timestamp\":0}{\"session_id\":2,\"input_length\":6,\"output_length\":1,\"timestamp\":9000}"
         "{\"session_id\":2,\"input_length\":7,\"output_length\":1,\"delay\":1}{\"session_id\":1,\"input_length\":8,\"output_length\":1,\"delay\":1}");
    o = (struct serve_workload_options){ .arrivals = { .rate_s = NAN }, .duration_s = 5 };
    assert_ok(serve_workload_from_text(&w, path, &o, NULL, &err), err);
    assert_true(w.n == 2 && w.r[1].parent == 0 && w.r[1].n_in == 14);
    serve_workload_free(&w);
    o.duration_s = 0;
    file("in,out\n5,6\n");
    o.arrivals = (struct arrival_plan){ .rate_s = 1, .own_times = true };
    o.n = 0;
    assert_fails(serve_workload_from_text(&w, path, &o, NULL, &err), err, "has no arrival times");
    remove(path);
}

static void test_names(void **state)
{
    struct serve_workload w;
    struct error err;
    char dir[4300];
    const char *dirs[] = { "/nonexistent", dir, NULL };
    const struct serve_workload_options o = { .arrivals = { .rate_s = NAN }, .dirs = dirs };
    (void)state;
    if (!shared_dir()) {
        print_message("no shared data: traces by name are not checked\n");
        skip();
    }
    snprintf(dir, sizeof dir, "%s/data", shared_dir());
    for (const char *const *name = (const char *const[]){ "azure-conv", "azure-code", "mooncake", "agentic", NULL }; *name; name++) {
        assert_ok(serve_workload_from_text(&w, *name, &o, NULL, &err), err);
        assert_string_equal(w.name, *name);
        serve_workload_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrivals), cmocka_unit_test(test_gamma),    cmocka_unit_test(test_ramps),
        cmocka_unit_test(test_lengths),  cmocka_unit_test(test_sessions), cmocka_unit_test(test_sessions_hit),
        cmocka_unit_test(test_common_numbers), cmocka_unit_test(test_text), cmocka_unit_test(test_text_more),
        cmocka_unit_test(test_files),    cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
