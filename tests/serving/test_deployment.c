/* A model served on a machine: its layer groups, its blocks, and prices of steps against the time model that they are made from. */
#include "../test.h"
#include "base/environment.h"
#include "learn/anchors.h"
#include "model/model.h"
#include "serving/capacity.h"
#include "serving/draws.h"
#include "serving/generate.h"
#include <math.h>

struct served {
    struct model m;
    struct model_classes classes;
    struct hwprofile h;
    struct software *software;
    struct predict_options o;
    struct deployment d;
};

static void serve(struct served *x, const char *model, const char *type, const char *hw, const struct deployment_options *given)
{
    struct error err;
    char *name = (char *)hw;
    const struct str_list machines = { .v = &name, .n = 1 };
    const struct software_options so = { .stack = "vllm" };
    const struct software_query query = { .hw = &machines, .model = model, .type = type, .tp = 1 };
    environment_set_dirs(data_dirs());
    assert_ok(model_load(&x->m, model, type, &err), err);
    assert_ok(model_classes_init(&x->classes, &x->m, &err), err);
    assert_ok(hwprofile_open(&x->h, hw, &err), err);
    assert_ok(software_load(&x->software, &so, &query, &err), err);
    x->o = (struct predict_options){ .time = software_time(x->software), .weights_bytes = NAN, .n_ubatch = PREFILL_WHOLE, .server = true,
                                     .type_k = DTYPE_F16, .type_v = DTYPE_F16, .n_prompt = 1, .n_gen = 1, .n_batch = 1 };
    assert_ok(deployment_init(&x->d, &x->classes.classes, &x->h, &x->o, given, NULL, &err), err);
}

static void finish(struct served *x)
{
    deployment_free(&x->d);
    software_free(x->software);
    hwprofile_free(&x->h);
    model_classes_free(&x->classes);
    model_free(&x->m);
}

/* Gemma 3 27B: 10 layers of all positions, 52 of 1,024: groups of 10, blocks of a 6.2th of all layers. */
static void test_groups(void **state)
{
    (void)state;
    struct served x;
    const struct deployment_options given = DEPLOYMENT_DEFAULTS;
    serve(&x, "gemma-3-27b", "FP8", "h100-sxm", &given);
    const struct policy *p = &x.d.policy;
    assert_int_equal(p->n_group, 7);
    assert_int_equal(p->window[0], 0);
    assert_int_equal(p->n_layer[0], 10);
    assert_int_equal(p->window[6], 1024);
    assert_int_equal(p->n_layer[6], 2);
    assert_true(fabs(x.d.n_block + 1 - x.d.plan.blocks * 6.2) <= 6.2);
    assert_true(x.d.price.context_ps[x.d.price.n_group * 8] > 0);
    finish(&x);
    serve(&x, "llama-3.1-8b", "BF16", "h100-sxm", &given);
    assert_int_equal(x.d.policy.n_group, 1);
    assert_int_equal(x.d.n_block + 1, (int)x.d.plan.blocks);
    finish(&x);
}

/* The price is linear between the two contexts it is made from, and equals the estimator's at both. */
static void test_prices(void **state)
{
    (void)state;
    struct served x;
    struct deployment_options given = DEPLOYMENT_DEFAULTS;
    given.cuda_graphs = CHOICE_OFF;
    serve(&x, "llama-3.1-8b", "BF16", "h100-sxm", &given);
    const struct step_price *p = &x.d.price;
    for (uint32_t n = 1; n <= 64; n *= 4)
        for (uint32_t context = 512; context <= 1536; context += 1024) {
            struct step_load load = { 0 };
            for (uint32_t i = 0; i < n; i++)
                step_load_decode(&load, p, context, 1);
            const struct scenario s = { .n_gen = 1, .n_depth = context, .n_batch = n, .n_ubatch = PREFILL_WHOLE };
            const double want = step_decode(&x.d.estimator.step, &x.d.estimator.roofs, &s, NULL, NULL).seconds, got = (double)step_price_ps(p, &load) / PS_PER_S;
            if (!(fabs(got / want - 1) < 0.01))
                fail_msg("%u sequences of %u positions: %g s, the estimator has %g s", n, context, got, want);
        }
    for (uint32_t n = 1; n < p->max_tok; n++)
        assert_true(p->mixed_ps[n] <= p->mixed_ps[n + 1]);
    finish(&x);
}

/* A draw is repeatable, moves the price, and leaves no trace. */
static void test_draws(void **state)
{
    (void)state;
    struct served x;
    struct error err;
    const struct deployment_options given = DEPLOYMENT_DEFAULTS;
    serve(&x, "llama-3.1-8b", "BF16", "h100-sxm", &given);
    const uint64_t mean = x.d.price.decode_ps[8];
    double slower = 0;
    for (uint64_t i = 1; i <= 40; i++) {
        assert_ok(deployment_draw(&x.d, i, 7, &err), err);
        slower += x.d.price.decode_ps[8] > mean;
        if (i == 1) {
            const uint64_t first = x.d.price.decode_ps[8];
            assert_ok(deployment_draw(&x.d, 1, 7, &err), err);
            assert_true(x.d.price.decode_ps[8] == first && first != mean);
        }
    }
    assert_true(slower > 8 && slower < 32); /* of 40: the mean is near the median */
    assert_ok(deployment_draw(&x.d, 0, 7, &err), err);
    assert_true(x.d.price.decode_ps[8] == mean);
    finish(&x);
}

/* Constants with which steps take no time that a simulation has: an error, not a step of 0 s. */
static void test_no_time(void **state)
{
    (void)state;
    static const double ln_s[] = { NAN, 1000, -1000 };
    struct served x;
    struct error err;
    const struct deployment_options given = DEPLOYMENT_DEFAULTS;
    for (size_t i = 0; i < ARRAY_LEN(ln_s); i++) {
        serve(&x, "llama-3.1-8b", "BF16", "h100-sxm", &given);
        for (int c = 0; c < TIME_CASES; c++)
            for (int k = 0; x.d.estimator.timing.of[c] && k < TIME_PARAMETER_COUNT; k++)
                x.d.estimator.timing.of[c]->parameter[k] = ln_s[i];
        assert_fails(deployment_draw(&x.d, 0, 7, &err), err, "expected more than 0 and less than");
        finish(&x);
    }
}

/* "vllm" is one release, of its scheduler as of its memory; so are the policies that are compared with it. */
static void test_release(void **state)
{
    (void)state;
    static const char *const names[] = { "vllm-0.27", "vllm", "static", "one-by-one", "vllm-0.30" };
    uint32_t n_block = 0, budget = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct served x;
        struct deployment_options given = DEPLOYMENT_DEFAULTS;
        given.policy = names[i];
        given.max_model_len = 8192;
        if (i == 2 || i == 3)
            given.max_num_batched_tokens = 8192;
        serve(&x, "llama-3.1-8b", "BF16", "b200-sxm", &given);
        if (i == 0) {
            n_block = x.d.n_block;
            budget = x.d.policy.max_num_batched_tokens;
        }
        assert_int_equal(x.d.policy.release, i < 4 ? 27 : 30);
        assert_int_equal(x.d.memory.o.release, i < 4 ? 27 : 30);
        if (i == 1)
            assert_true(x.d.n_block == n_block && x.d.policy.max_num_batched_tokens == budget);
        finish(&x);
    }
}

static void test_device(void **state)
{
    (void)state;
    static const struct {
        const char *id, *name;
        enum hw_kind kind;
        bool is_gpu, is_a100;
    } of[] = { { "a100-sxm-80gb", "", HW_GPU, true, true }, { "this", "NVIDIA A100-SXM4-80GB", HW_GPU, true, true },
               { "h100-sxm", "NVIDIA H100 SXM", HW_GPU, true, false }, { "tpu-v5p", "", HW_NPU, true, false }, { "epyc", "", HW_CPU, false, false } };
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        struct hwprofile h = { .kind = of[i].kind };
        snprintf(h.id, sizeof h.id, "%s", of[i].id);
        snprintf(h.name, sizeof h.name, "%s", of[i].name);
        const struct policy_device d = policy_device_of(&h);
        assert_true(d.is_gpu == of[i].is_gpu && d.is_a100 == of[i].is_a100);
    }
}

/* Generated requests get identities of their own where a run preempts. */
static void test_identify(void **state)
{
    (void)state;
    struct served x;
    struct error err;
    struct serve_workload w;
    const struct deployment_options given = DEPLOYMENT_DEFAULTS;
    const struct serve_workload_options wo = { .arrivals = { .rate_s = INFINITY }, .n = 40 };
    serve(&x, "llama-3.1-8b", "BF16", "h100-sxm", &given);
    assert_ok(serve_workload_from_text(&w, "random:in=512,out=256", &wo, NULL, &err), err);
    struct serve_options run = deployment_serve_options(&x.d, &given, 0);
    assert_ok(deployment_identify(&w, &run, &err), err);
    assert_int_equal(w.n_run, 0);
    run.n_block = 400;
    assert_ok(deployment_identify(&w, &run, &err), err);
    assert_int_equal(w.n_run, 40);
    serve_workload_free(&w);
    finish(&x);
}

static void near_work(const char *what, double got, double want, double part)
{
    if (!(fabs(got - want) <= part * want))
        fail_msg("%s: %g, the step model has %g", what, got, want);
}

/* Bytes and FLOP of steps are those of the step model's passes; of alike steps their sum; of the device's peaks a part. */
static void test_work(void **state)
{
    (void)state;
    static const struct {
        const char *model, *type;
        enum math math;
    } of[] = { { "llama-3.1-8b", "BF16", MATH_BF16 }, { "qwen3-30b-a3b", "FP8", MATH_FP8 }, { "gemma-3-27b", "FP8", MATH_FP8 } };
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        struct served x;
        struct error err;
        const struct deployment_options given = DEPLOYMENT_DEFAULTS;
        serve(&x, of[i].model, of[i].type, "h100-sxm", &given);
        assert_ok(deployment_count_work(&x.d, &err), err);
        const struct step_work *w = &x.d.work;
        const struct step_price *p = &x.d.price;
        assert_true(w->peak_bytes_s == x.d.estimator.roofs.bytes_s && w->peak_flop_s == x.d.estimator.roofs.peak[of[i].math].flop_s);
        for (uint32_t n = 1; n <= 64; n *= 8) {
            struct step_load load = { 0 };
            double bytes = 0, flop = 0, one[2] = { 0 }, all[2] = { 0 };
            for (uint32_t k = 0; k < n; k++)
                step_load_decode(&load, p, 3000, 1);
            step_work_add(w, p, &load, NULL, 1, &bytes, &flop);
            const struct scenario s = { .n_gen = 1, .n_depth = 3000, .n_batch = n, .n_ubatch = PREFILL_WHOLE };
            const struct cost c = step_decode(&x.d.estimator.step, &x.d.estimator.roofs, &s, NULL, NULL).cost;
            near_work("bytes of a decode step", bytes, c.weight_bytes + c.kv_bytes, 0.03);
            near_work("its FLOP", flop, c.flop, 0.01);
            const uint32_t grows[POLICY_MAX_GROUPS] = { n };
            step_work_add(w, p, &load, grows, 10, &all[0], &all[1]);
            for (int k = 0; k < 10; k++, load.context[0] += n)
                step_work_add(w, p, &load, NULL, 1, &one[0], &one[1]);
            near_work("bytes of ten steps", all[0], one[0], 1e-12);
            near_work("their FLOP", all[1], one[1], 1e-12);
        }
        for (uint32_t past = 0; past <= 16384; past += 8192) {
            struct step_load load = { 0 };
            double bytes = 0, flop = 0;
            step_load_prompt(&load, p, past, 1000);
            step_work_add(w, p, &load, NULL, 1, &bytes, &flop);
            const struct scenario s = { .n_prompt = 1000, .n_depth = past, .n_batch = 1, .n_ubatch = PREFILL_WHOLE };
            const struct cost c = step_prefill(&x.d.estimator.step, &x.d.estimator.roofs, &s, NULL, NULL).cost;
            near_work("bytes of a prompt", bytes, c.weight_bytes + c.kv_bytes, 0.05);
            near_work("its FLOP", flop, c.flop, 0.03);
        }
        finish(&x);
    }
}

/* With drafts: of the verification and of the drafter's passes. */
static void test_work_of_drafts(void **state)
{
    (void)state;
    enum { DRAFTS = 3 };
    struct served x;
    struct error err;
    struct model m;
    struct model_classes draft;
    environment_set_dirs(data_dirs());
    assert_ok(model_load(&m, "llama-3.2-1b", "BF16", &err), err);
    assert_ok(model_classes_init(&draft, &m, &err), err);
    struct deployment_options given = DEPLOYMENT_DEFAULTS;
    given.num_speculative_tokens = given.look_ahead = DRAFTS;
    given.draft = &draft.classes;
    for (uint32_t i = 0; i < POLICY_MAX_DRAFT; i++)
        given.accept[i] = 0.9;
    serve(&x, "llama-3.1-8b", "BF16", "h100-sxm", &given);
    assert_ok(deployment_count_work(&x.d, &err), err);
    assert_true(fabs(x.d.clock.draft_first - (1 + 0.729)) < 1e-12);
    for (uint32_t n = 1; n <= 64; n *= 8) {
        const struct pass verify = { .n_tok = n * (1 + DRAFTS), .n_past = 3000, .n_seq = n, .n_out = n * (1 + DRAFTS) };
        const struct draft_passes p = draft_passes_of(n, 3000, DRAFTS, x.d.clock.draft_first);
        const struct estimator *e = &x.d.estimator, *d = &x.d.draft;
        struct cost c = step_price(&e->step, &e->roofs, &verify, 1, NULL, NULL).cost;
        double bytes = 0, flop = 0, want_bytes = c.weight_bytes + c.kv_bytes, want_flop = c.flop;
        for (uint32_t k = 0; k < p.n; k++) {
            c = step_price(&d->step, &d->roofs, &p.pass[k], 1, NULL, NULL).cost;
            want_bytes += p.times[k] * (c.weight_bytes + c.kv_bytes);
            want_flop += p.times[k] * c.flop;
        }
        struct step_load load = { 0 };
        for (uint32_t k = 0; k < n; k++)
            step_load_decode(&load, &x.d.price, 3000, 1 + DRAFTS);
        step_work_add(&x.d.work, &x.d.price, &load, NULL, 1, &bytes, &flop);
        near_work("bytes of a step with drafts", bytes, want_bytes, 0.03);
        near_work("its FLOP", flop, want_flop, 0.01);
    }
    finish(&x);
    model_classes_free(&draft);
    model_free(&m);
}

/* A draw that cannot be simulated has no rate, and stops no search. */
static void test_draw_without_rate(void **state)
{
    (void)state;
    struct served x;
    struct error err = { 0 };
    struct serve_slo slo;
    struct serve_workload w;
    double rate = 0;
    const struct deployment_options given = DEPLOYMENT_DEFAULTS;
    const struct serve_workload_options wo = { .arrivals = { .rate_s = 1 }, .n = 50 };
    const struct capacity_options co = { .slo = &slo, .n_draw = 1, .precision = 0.01 };
    serve(&x, "llama-3.1-8b", "BF16", "h100-sxm", &given);
    assert_ok(serve_slo_parse(&slo, "p99:ttft=1s", &err), err);
    assert_ok(serve_workload_from_text(&w, "random:in=64,out=8", &wo, NULL, &err), err);
    struct serve_options run = deployment_serve_options(&x.d, &given, 0);
    assert_ok(capacity_draw(&rate, &x.d, 1, &w, &run, &co, &err), err);
    assert_true(rate > 0);
    run.n_block = 1;
    assert_ok(capacity_draw(&rate, &x.d, 1, &w, &run, &co, &err), err);
    assert_true(isnan(rate) && err.kind == ERROR_NONE);
    serve_workload_free(&w);
    finish(&x);
}

/* No simulation counts draws that cannot be simulated, nor stops at one. */
static void test_draws_without_run(void **state)
{
    (void)state;
    struct served x;
    struct error err = { 0 };
    struct serve_workload w;
    struct serve_result r;
    const struct deployment_options given = DEPLOYMENT_DEFAULTS;
    const struct serve_workload_options wo = { .arrivals = { .rate_s = 1 }, .n = 50 };
    struct serve_metrics *m = malloc(sizeof *m);
    struct serve_study *s = malloc(sizeof *s);
    assert_true(m && s);
    serve(&x, "llama-3.1-8b", "BF16", "h100-sxm", &given);
    assert_ok(serve_workload_from_text(&w, "random:in=64,out=8", &wo, NULL, &err), err);
    struct serve_options run = deployment_serve_options(&x.d, &given, 0);
    const struct serve_metrics_options mo = { .options = &run, .hit_infinite = NAN };
    assert_ok(serve_simulate(&r, &w, &run, &err), err);
    assert_ok(serve_metrics(m, &r, &w, &mo, &err), err);
    serve_study_runs(s, m, 1);
    assert_ok(serve_draws(s, &x.d, &w, &run, &mo, &(struct draws_options){ .n_draw = 12 }, NULL, NULL, &err), err);
    assert_int_equal(s->n_draw, 12);
    assert_int_equal(s->n_draw_without, 0);
    /* Seconds of a step with which some draws last too long, not all. */
    for (double ln_s = 6; s->n_draw_without == 0 || s->n_draw == 0; ln_s += 0.1) {
        for (int c = 0; c < TIME_CASES; c++)
            if (x.d.estimator.timing.of[c])
                x.d.estimator.timing.of[c]->parameter[TIME_STEP] = ln_s;
        assert_ok(serve_draws(s, &x.d, &w, &run, &mo, &(struct draws_options){ .n_draw = 12, .n_thread = 2 }, NULL, NULL, &err), err);
        assert_int_equal(s->n_draw + s->n_draw_without, 12);
        assert_true(ln_s < 20);
    }
    serve_result_free(&r);
    serve_workload_free(&w);
    free(m);
    free(s);
    finish(&x);
}

static void test_refuses(void **state)
{
    (void)state;
    struct served x;
    struct error err;
    struct deployment_options given = DEPLOYMENT_DEFAULTS;
    serve(&x, "llama-3.1-8b", "BF16", "h100-sxm", &given);
    deployment_free(&x.d);
    given.max_num_seqs = 5000;
    given.max_num_batched_tokens = 100;
    assert_fails(deployment_init(&x.d, &x.classes.classes, &x.h, &x.o, &given, NULL, &err), err, "at least max-num-seqs, 5000");
    given = (struct deployment_options)DEPLOYMENT_DEFAULTS;
    given.gpu_memory_utilization = 0.05;
    assert_fails(deployment_init(&x.d, &x.classes.classes, &x.h, &x.o, &given, NULL, &err), err, "leaves no memory for a KV cache on h100-sxm");
    software_free(x.software);
    hwprofile_free(&x.h);
    model_classes_free(&x.classes);
    model_free(&x.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_groups), cmocka_unit_test(test_prices), cmocka_unit_test(test_draws),
                                        cmocka_unit_test(test_release), cmocka_unit_test(test_device),
                                        cmocka_unit_test(test_identify), cmocka_unit_test(test_no_time), cmocka_unit_test(test_work), cmocka_unit_test(test_work_of_drafts),
                                        cmocka_unit_test(test_draw_without_rate), cmocka_unit_test(test_draws_without_run), cmocka_unit_test(test_refuses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
