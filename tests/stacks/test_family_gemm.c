/* Products of servers' engines: a value by hand, monotony, limits of bandwidth and peak. methods.md (108) */
#include "../test.h"
#include "../near.h"
#include "family.h"
#include "stacks/family_gemm.h"

extern const struct family family_gemm;

struct product {
    const char *type;
    double n, k;
};

static double seconds(const char *gpu, double m, const void *at)
{
    const struct product *w = at;
    const struct family_machine on = family_gpu(gpu);
    struct gemm_features f;
    gemm_features_init(&f, &on, family_type_find(w->type), m, w->n, w->k);
    f.copies = 6;
    return family_seconds(&family_gemm, &f);
}

/* The product takes less than a fraction of the seconds with BF16. */
static bool is_below(double fraction, const char *gpu, double m, struct product w)
{
    const struct product bf16 = { "bfloat16", w.n, w.k };
    return seconds(gpu, m, &w) < fraction * seconds(gpu, m, &bf16);
}

/* Two multiprocessors at 1.9 GHz where only latencies count: 1 us each of start, a block, a step of 64 elements, adding parts. */
static double by_latency(double units, double k)
{
    const double tiny = log(1e-12), us = log(1e-6);
    /* start bandwidth compute cache step split wave host quantize row */
    const double parameter[] = { us, 0, 0, 0, us, us, us, tiny, tiny, tiny };
    const struct gemm_features f = { .n_unit = units, .clock_hz = 1.9e9, .memory_bytes_s = 1e30, .cache_bytes = 1, .cache_bytes_s = 1e30,
                                     .peak = 1e30, .m = 16, .n = 32, .k = k, .weight_bytes = 2, .act_bytes = 2, .copies = 1 };
    return exp(gemm_ln_seconds(&f, parameter)) * 1e6;
}

static void by_hand(void **state)
{
    (void)state;
    assert_near(by_latency(2, 64), 1 + 1 + 1, 1e-6);        /* one block, one step */
    assert_near(by_latency(2, 448), 1 + 1 + 7, 1e-6);       /* seven steps: too few for two parts */
    assert_near(by_latency(2, 512), 1 + 1 + 4 + 1, 1e-6);   /* two blocks of four steps, added */
    assert_near(by_latency(1, 512), 1 + 1 + 8, 1e-6);       /* one multiprocessor runs both parts in turn: not split */
}

static void larger_never_takes_less(void **state)
{
    static const struct product one = { "bfloat16", 4096, 4096 }, wide = { "bfloat16", 8192, 4096 }, deep = { "bfloat16", 4096, 16384 };
    (void)state;
    family_check_grows(seconds, &one, 1, 16384, 0);
    family_check_no_less(seconds, &wide, &one, 1, 16384, 0);
    family_check_no_less(seconds, &deep, &one, 1, 16384, 0);
}

/* At most the roofs times the priors' fractions, and near them where they bind. */
static void within_roofs(void **state)
{
    static const struct product weight = { "bfloat16", 65536, 16384 }, square = { "bfloat16", 8192, 8192 };
    (void)state;
    for (size_t g = 0; g < ARRAY_LEN(family_gpus); g++) {
        const struct family_machine on = family_gpu(family_gpus[g]);
        family_check_within(on.name, weight.n * weight.k * 2 / seconds(on.name, 1, &weight), on.memory_bytes_s, 0.7);
        family_check_within(on.name, 2 * 8192. * square.n * square.k / seconds(on.name, 8192, &square), on.peak[MATH_BF16], 0.55);
    }
}

static void narrow_types_take_less(void **state)
{
    static const struct product fp8 = { "fp8", 256, 4096 }, bf16 = { "bfloat16", 256, 4096 };
    (void)state;
    assert_true(is_below(0.7, "H200", 16, (struct product){ "fp8", 16384, 16384 }));
    assert_true(is_below(0.6, "B200", 8192, (struct product){ "nvfp4", 8192, 8192 }));
    assert_true(is_below(0.5, "A100", 1, (struct product){ "int4_wo", 16384, 16384 }));
    /* activations are rounded by kernels of their own */
    assert_true(seconds("A100", 4096, &fp8) > seconds("A100", 4096, &bf16));
}

/* A weight that stays in the last cache between calls is read from there. */
static void cached_weights(void **state)
{
    const struct family_machine on = family_gpu("L40S");
    struct gemm_features f;
    (void)state;
    gemm_features_init(&f, &on, family_type_find("bfloat16"), 1, 4096, 4096);
    f.copies = 1;
    const double one = family_seconds(&family_gemm, &f);
    f.copies = 6;
    assert_true(family_seconds(&family_gemm, &f) > 1.5 * one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),          cmocka_unit_test(larger_never_takes_less), cmocka_unit_test(within_roofs),
        cmocka_unit_test(narrow_types_take_less), cmocka_unit_test(cached_weights),
    };
    return cmocka_run_group_tests_name("products", tests, NULL, NULL);
}
