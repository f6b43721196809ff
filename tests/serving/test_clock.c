/* Prices of a server's steps against measured ones, and against those by the constants of single runs. */
#include "../test.h"
#include "base/environment.h"
#include "learn/anchors.h"
#include "model/model.h"
#include "serving/deployment.h"
#include <math.h>
#include <string.h>

struct subject {
    struct model m;
    struct model_classes classes;
    struct hwprofile h;
    struct software *software;
    struct predict_options o;
    struct deployment d;
};

static void deploy(struct subject *x, const char *model, const char *hw, uint32_t tp, const char *policy, bool served)
{
    struct error err = { 0 };
    const struct software_options so = { .stack = "vllm" };
    char *name = (char *)(uintptr_t)hw;
    const struct str_list list = { .v = &name, .n = 1 };
    const struct software_query q = { .hw = &list, .model = model, .type = "BF16", .tp = (int)tp };
    memset(x, 0, sizeof *x);
    environment_set_dirs(data_dirs());
    assert_ok(model_load(&x->m, model, "BF16", &err), err);
    assert_ok(model_classes_init(&x->classes, &x->m, &err), err);
    assert_ok(hwprofile_open(&x->h, hw, &err), err);
    assert_ok(software_load(&x->software, &so, &q, &err), err);
    if (served)
        software_serve(x->software);
    x->o = (struct predict_options){ .time = software_source(x->software), .weights_bytes = NAN, .type_k = DTYPE_F16, .type_v = DTYPE_F16,
                                     .layout = { .tp = tp }, .n_ubatch = 8192, .n_batch = 1, .n_prompt = 512, .server = true };
    struct deployment_options o = DEPLOYMENT_DEFAULTS;
    o.policy = policy;
    o.max_num_seqs = 128;
    o.max_num_batched_tokens = 2048;
    assert_ok(deployment_init(&x->d, &x->classes.classes, &x->h, &x->o, &o, NULL, &err), err);
}

static void undeploy(struct subject *x)
{
    deployment_free(&x->d);
    software_free(x->software);
    hwprofile_free(&x->h);
    model_classes_free(&x->classes);
    model_free(&x->m);
}

/* n sequences with `context` positions each. */
static double step_ms(const struct subject *x, uint32_t n, uint64_t context)
{
    const struct step_load l = { .n_decode = n, .context = { n * context } };
    return (double)step_price_ps(&x->d.price, &l) / 1e9;
}

/* Sources: doc/notes/servers.md. A batch on the 4090 that no constant has seen; on H100s constants of large batches are shared with others. */
static void test_measured(void **state)
{
    (void)state;
    static const struct {
        const char *model, *hw, *policy;
        uint32_t tp, n;
        uint64_t context;
        double ms, within;
    } points[] = {
        { "llama-3.1-8b", "rtx-4090", "vllm-0.19", 1, 39, 1060, 25.6, 0.05 },
        { "llama-2-70b", "h100-sxm", "vllm-0.15", 4, 45, 641, 18.67, 0.08 },
        { "llama-2-70b", "h100-sxm", "vllm-0.15", 4, 124, 526, 21.71, 0.17 },
        { "codellama-34b", "h100-sxm", "vllm-0.15", 2, 29, 654, 14.82, 0.10 },
    };
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct subject x;
        deploy(&x, points[i].model, points[i].hw, points[i].tp, points[i].policy, true);
        const double ms = step_ms(&x, points[i].n, points[i].context);
        print_message("%s, %u sequences: %.2f ms, measured %.2f\n", points[i].model, points[i].n, ms, points[i].ms);
        assert_true(fabs(ms / points[i].ms - 1) < points[i].within);
        undeploy(&x);
    }
}

/* A chunk of 2,048 tokens at the rate of a second of nothing else; a step grows with its tokens, and a few of a prompt's cost little. */
static void test_mixed(void **state)
{
    (void)state;
    struct subject x;
    deploy(&x, "llama-3.1-8b", "rtx-4090", 1, "vllm-0.19", true);
    struct step_load chunk = { 0 };
    step_load_prompt(&chunk, &x.d.price, 0, 2048);
    assert_true(fabs((double)step_price_ps(&x.d.price, &chunk) / 1e12 / (2048.0 / 11749) - 1) < 0.1);
    for (uint32_t n = 2; n <= x.d.price.max_tok; n++)
        assert_true(x.d.price.mixed_ps[n] >= x.d.price.mixed_ps[n - 1]);
    assert_true(x.d.price.mixed_ps[72] < 1.2 * (double)x.d.price.decode_ps[64]);
    undeploy(&x);
}

static void test_single_runs(void **state)
{
    (void)state;
    struct subject served, single;
    deploy(&served, "llama-2-70b", "h100-sxm", 4, "vllm-0.15", true);
    deploy(&single, "llama-2-70b", "h100-sxm", 4, "vllm-0.15", false);
    assert_true(step_ms(&served, 100, 600) < 0.9 * step_ms(&single, 100, 600));
    undeploy(&single);
    undeploy(&served);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_measured), cmocka_unit_test(test_mixed), cmocka_unit_test(test_single_runs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
