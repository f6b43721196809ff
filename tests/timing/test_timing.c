/* The time model's derivatives and spread, prices with constants, limits. methods.md (35), (62), (63) */
#include "base/environment.h"
#include "../test.h"
#include "tests/near.h"
#include "predict/limits.h"
#include "tests/source.h"
#include "timing/timing.h"
#include <string.h>

static struct time_features features(void)
{
    struct time_features f;
    time_features_init(&f);
    f.term[f.n_term++] = (struct time_term){ .kind = TIME_PRODUCT, .key = 1, .launched = 64, .compute_s = 1e-3, .memory_s = 4e-3,
                                             .vector_s = 2e-3 };
    f.term[f.n_term++] = (struct time_term){ .kind = TIME_EXPERT_PRODUCT, .key = 2, .launched = 32, .compute_s = 3e-3, .memory_s = 1e-3,
                                             .vector_s = 5e-4 };
    f.term[f.n_term++] = (struct time_term){ .kind = TIME_PRODUCT, .key = 3, .launched = 16, .compute_s = 2e-3, .memory_s = 2e-3 };
    f.term[f.n_term++] = (struct time_term){ .kind = TIME_ATTEND, .launched = 32, .compute_s = 5e-4, .memory_s = 6e-4, .heads_s = 2e-4,
                                             .scanned = 3e4 };
    f.term[f.n_term++] = (struct time_term){ .kind = TIME_OTHER, .launched = 200, .compute_s = 1e-5, .memory_s = 3e-4 };
    f.term[f.n_term++] = (struct time_term){ .kind = TIME_STAGED, .launched = 8, .memory_s = 7e-4 };
    f.host_s = 3e-4;
    f.n_pass = 2;
    f.wire_s = 7e-4;
    f.n_hop = 64;
    f.n_stage_boundary = 3;
    f.hop_s = 3e-6;
    return f;
}

static void test_gradient(void **state)
{
    (void)state;
    const struct time_features f = features();
    for (int i = 0; i < 20; i++) {
        double parameter[TIME_PARAMETER_COUNT], g[TIME_PARAMETER_COUNT];
        source_slots(parameter, i);
        time_gradient(&f, parameter, g, NULL);
        for (int s = 0; s < TIME_PARAMETER_COUNT; s++) {
            const double at = parameter[s], h = 1e-5;
            parameter[s] = at + h;
            const double up = time_ln_seconds(&f, parameter);
            parameter[s] = at - h;
            const double down = time_ln_seconds(&f, parameter);
            parameter[s] = at;
            if (fabs(g[s] - (up - down) / (2 * h)) > 1e-7)
                fail_msg("%s: %.10g, by differences %.10g", time_parameter_name((enum time_parameter)s), g[s], (up - down) / (2 * h));
        }
    }
}

/* Sides and bounds are parts of the seconds: bounds add up to them. */
static void test_sides(void **state)
{
    (void)state;
    const struct time_features f = features();
    double parameter[TIME_PARAMETER_COUNT], g[TIME_PARAMETER_COUNT], sum = 0;
    struct time_sides x;
    source_slots(parameter, 1);
    parameter[TIME_REQUEST] = 0;
    time_gradient(&f, parameter, g, &x);
    for (int b = 0; b < BOUND_COUNT; b++)
        sum += x.bound_s[b];
    assert_near(sum, exp(time_ln_seconds(&f, parameter)), 1e-12);
    assert_true(x.memory_s > 0 && x.compute_s > 0 && x.link_s > 0);
}

/* sd^2 = g' C g + sigma^2: of two parameters that err together 0.5 and 0.2 with spreads of 0.1 and 0.2, 0.05^2 + 0.04^2 + 2 * 0.5 * 0.2 *
 * 0.01, and 0.03^2. */
static void test_spread(void **state)
{
    (void)state;
    struct time_constants k = { .sigma = 0.03 };
    double g[TIME_PARAMETER_COUNT] = { 0 }, share[TIME_PARAMETER_COUNT + 1], sum = 0;
    g[TIME_BANDWIDTH] = 0.5;
    g[TIME_LAUNCH] = 0.2;
    k.cov[TIME_BANDWIDTH][TIME_BANDWIDTH] = 0.01;
    k.cov[TIME_LAUNCH][TIME_LAUNCH] = 0.04;
    k.cov[TIME_BANDWIDTH][TIME_LAUNCH] = k.cov[TIME_LAUNCH][TIME_BANDWIDTH] = 0.01;
    const double variance = 0.0025 + 0.0016 + 2 * 0.5 * 0.2 * 0.01 + 0.0009;
    assert_near(time_spread(&k, g, share), sqrt(variance), 1e-15);
    for (int s = 0; s <= TIME_PARAMETER_COUNT; s++)
        sum += share[s];
    assert_near(sum, 1, 1e-12);
    assert_near(share[TIME_PARAMETER_COUNT], 0.0009 / variance, 1e-12);
    assert_near(share[TIME_BANDWIDTH], (0.0025 + 0.001) / variance, 1e-12);
}

/* ---- products of more shapes than there are terms for --------------------------------------------- */

/* As many products of different widths as make n terms with the others of a phase. */
static struct op_classes many_shapes(struct model *m, struct op_class *c, struct tensor *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        w[i] = (struct tensor){ .type = DTYPE_F16, .rows = 64 * (i + 1), .cols = 4096, .n_mat = 1, .bytes = 64 * (i + 1) * 4096 * 2 };
        c[i] = (struct op_class){ .op = { .kind = OP_MATMUL, .role = ROLE_FFN_UP, .w = &w[i], .rows = (uint32_t)w[i].rows, .cols = 4096 }, .count = 1 };
    }
    return (struct op_classes){ .m = m, .c = c, .n = n };
}

/* One term too many: the others keep their values, and there are no seconds. */
static void one_term_too_many(void **state)
{
    static struct time_features f;
    struct roofs r = { .bytes_s = 1e12 };
    double parameter[TIME_PARAMETER_COUNT];
    (void)state;
    source_slots(parameter, 1);
    for (int i = 0; i < MATH_COUNT; i++)
        r.peak[i].flop_s = 1e14;
    time_features_init(&f);
    for (uint64_t i = 0; i <= TIME_MAX_TERMS; i++) {
        const struct step x = { .kind = OP_MATMUL, .count = 1, .bits = 16, .cost = { .weight_bytes = 1e9 * (double)(i + 1) } };
        assert_true(i == 0 || isfinite(time_ln_seconds(&f, parameter)));
        time_add(&f, &r, &x, &(struct refinement){ .key = i + 1 });
    }
    assert_int_equal(f.n_term, TIME_MAX_TERMS);
    for (int i = 0; i < TIME_MAX_TERMS; i++)
        assert_near(f.term[i].memory_s, 1e-3 * (i + 1), 1e-15);
    assert_true(isnan(time_ln_seconds(&f, parameter)));
}

/* 60 shapes and what else a phase has are 64 terms; a request has 28 in its prompt, and again in its steps. Each of them is predicted, one more is an error
 * that says so, and a bound has no terms. */
static void shapes_of_a_phase(void **state)
{
    enum { PHASE = 60, REQUEST = 28 };
    struct time_constants k = source_constants();
    const struct time_source t = { &k, source_same, NULL, source_whole, NULL };
    struct predict_options o = source_options(&t);
    struct predict_result r;
    struct op_class c[PHASE + 1];
    struct tensor w[PHASE + 1];
    struct op_list none = { .n = 0 };
    struct model m;
    struct hwprofile h;
    struct error err = { 0 };
    (void)state;
    assert_ok(model_load(&m, "llama-3-8b", "F16", &err), err);
    assert_ok(hwprofile_load(&h, "h100-sxm", &err), err);
    struct op_classes l = many_shapes(&m, c, w, PHASE + 1);
    l.ops = &none;
    assert_int_equal(time_check(&l, false, &err), -1);
    assert_int_equal(predict_classes(&r, &l, &h, &o, &err), -1);
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.msg, "products of 61 shapes and types; with constants of software a phase has at most 60"));
    c[PHASE].op.rows = c[0].op.rows; /* no other shape */
    w[PHASE] = w[0];
    assert_ok(predict_classes(&r, &l, &h, &o, &err), err);
    assert_true(r.decode.seconds > 0 && r.prefill.seconds > 0);
    l.n = REQUEST + 1;
    assert_int_equal(time_check(&l, true, &err), -1);
    assert_non_null(strstr(err.msg, "29 shapes and types; with constants of software a request has at most 28"));
    l.n = REQUEST;
    assert_ok(time_check(&l, true, &err), err);
    l = many_shapes(&m, c, w, PHASE + 1);
    l.ops = &none;
    o.roof = true;
    assert_ok(predict_classes(&r, &l, &h, &o, &err), err);
    hwprofile_free(&h);
    model_free(&m);
}

/* ---- constants that are the same everywhere ------------------------------------------------------ */

static void test_predict(void **state)
{
    (void)state;
    struct time_constants k = source_constants();
    const struct time_source t = { &k, source_same, NULL, source_whole, NULL };
    assert_int_equal(time_ubatch(&t, NULL, NULL), PREFILL_WHOLE);
    assert_int_equal(time_ubatch(NULL, NULL, NULL), 512);
    struct predict_options o = source_options(&t);
    struct predict_result r;
    struct model m;
    struct hwprofile h;
    struct error err = { 0 };
    static struct predict_roles of;
    double roles = 0;
    o.roles = &of;
    assert_ok(model_load(&m, "llama-3-8b", "F16", &err), err);
    assert_ok(hwprofile_load(&h, "h100-sxm", &err), err);
    assert_ok(predict(&r, &m, &h, &o, &err), err);
    assert_string_equal(r.stack, "test");
    assert_string_equal(r.basis, "class");
    for (int i = 0; i < ROLE_COUNT; i++)
        roles += r.prefill.role[i].seconds;
    assert_near(roles, r.prefill.seconds, 1e-12);
    assert_near(r.prefill.tok_s, 1200 / r.prefill.seconds, 1e-6);
    /* Decoding waits for memory: its spread is that of the bandwidth and what is left, about. */
    assert_true(r.decode.sd_s / r.decode.seconds > 0.05 && r.decode.sd_s / r.decode.seconds < hypot(0.1, 0.05));
    /* To the faster side half as far; 5 % lie beyond each end. */
    assert_near(r.decode.sd_fast_s, r.decode.sd_s / 2, 1e-12);
    assert_near(r.prefill.sd_fast_s, r.prefill.sd_s / 2, 1e-12);
    const struct prediction_factors f = prediction_factors(r.decode.seconds, r.decode.sd_s, r.decode.sd_fast_s);
    assert_near(f.slower, exp(PREDICT_Z90 * r.decode.sd_s / r.decode.seconds), 1e-12);
    assert_near(f.slower, f.faster * f.faster, 1e-12);
    /* No spread with --roof. */
    o.roof = true;
    assert_ok(predict(&r, &m, &h, &o, &err), err);
    assert_true(isnan(r.decode.sd_s) && isnan(r.decode.sd_fast_s) && !r.stack);
    /* A constant that is set is known for sure; one that is multiplied stays as uncertain. */
    struct predict_result set, times;
    o = source_options(&t);
    o.change[0] = (struct time_change){ TIME_BANDWIDTH, false, 0.5 };
    o.n_change = 1;
    assert_ok(predict(&set, &m, &h, &o, &err), err);
    assert_near(set.decode.sd_s / set.decode.seconds, 0.05, 1e-9);
    assert_near(set.decode.bandwidth_bytes_s, 0.5 * h.mem_bw.value, 1);
    o.change[0].times = true;
    assert_ok(predict(&times, &m, &h, &o, &err), err);
    assert_true(times.decode.sd_s / times.decode.seconds > 0.08);
    hwprofile_free(&h);
    model_free(&m);
}

/* A prompt's passes, of which those alike are one: 512 + 512 + 176 tokens. */
static void test_groups(void **state)
{
    (void)state;
    struct pass_group g[2];
    assert_int_equal(prefill_groups(1200, 100, 512, 1, g), 2);
    assert_true(g[0].n == 2 && g[0].p.n_tok == 512 && g[0].p.n_past == 100 + 256 && g[0].p.n_out == 0);
    assert_true(g[1].n == 1 && g[1].p.n_tok == 176 && g[1].p.n_past == 1124 && g[1].p.n_out == 1);
    assert_int_equal(prefill_groups(300, 0, 512, 1, g), 1);
    assert_true(g[0].n == 1 && g[0].p.n_tok == 300);
}

/* 20 tokens/s, spread of the logarithm 0.1 to the slower side, 0.2 to the faster: at least 20 with 50 %, 17 with 94.8 %, 16 for sure,
 * 25 perhaps, 30 never. */
static void test_limits(void **state)
{
    (void)state;
    const struct limit_phase decode = { .seconds = 0.05, .tok_s = 20, .sd_s = 0.005, .sd_fast_s = 0.01 },
                             prefill = { .seconds = 1, .tok_s = 500, .sd_s = NAN, .sd_fast_s = NAN };
    struct limits l;
    struct error err = { 0 };
    assert_ok(limits_parse(&l, "tok_s>=20", &err), err);
    assert_near(limits_answer(&l, &prefill, &decode).chance, 0.5, 1e-12);
    assert_int_equal(limits_answer(&l, &prefill, &decode).met, LIMIT_UNSURE);
    assert_ok(limits_parse(&l, "tok_s>=17", &err), err);
    assert_near(limits_answer(&l, &prefill, &decode).chance, 0.5 * erfc(-log(20. / 17) / 0.1 / sqrt(2)), 1e-12);
    assert_ok(limits_parse(&l, "tok_s>=16", &err), err);
    assert_int_equal(limits_answer(&l, &prefill, &decode).met, LIMIT_MET);
    assert_ok(limits_parse(&l, "tok_s>=25", &err), err);
    assert_near(limits_answer(&l, &prefill, &decode).chance, 0.5 * erfc(log(25. / 20) / 0.2 / sqrt(2)), 1e-12);
    assert_int_equal(limits_answer(&l, &prefill, &decode).met, LIMIT_UNSURE);
    assert_ok(limits_parse(&l, "itl<=33.3ms", &err), err);
    assert_int_equal(limits_answer(&l, &prefill, &decode).met, LIMIT_MISSED);
    /* Of several the worst; without an interval yes or no. */
    assert_ok(limits_parse(&l, "tok_s>=20,itl<=60ms,ttft<=1s", &err), err);
    assert_int_equal(limits_answer(&l, &prefill, &decode).met, LIMIT_UNSURE);
    assert_near(limits_answer(&l, &prefill, &decode).chance, 0.5, 1e-12);
    assert_ok(limits_parse(&l, "ttft<=0.9s", &err), err);
    assert_int_equal(limits_answer(&l, &prefill, &decode).met, LIMIT_MISSED);
    assert_true(isnan(limits_answer(&l, &prefill, &decode).chance));
    static const char *const wrong[] = { "", "tok_s>20", "tok_s>=0", "itl<=", "fits", "ttft<=1kg", "itl<=50", "ttft<=1e-3", "tok_s>=1," };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(limits_parse(&l, wrong[i], &err), -1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient), cmocka_unit_test(test_sides),  cmocka_unit_test(test_spread),
        cmocka_unit_test(one_term_too_many), cmocka_unit_test(shapes_of_a_phase),
        cmocka_unit_test(test_predict),  cmocka_unit_test(test_groups), cmocka_unit_test(test_limits),
    };
    environment_set_dirs(data_dirs());
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
