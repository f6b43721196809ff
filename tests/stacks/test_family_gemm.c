/* Products of servers' engines: a value by hand, monotony, limits of bandwidth and peak. methods.md (108) */
#include "../test.h"
#include "../near.h"
#include "family.h"
#include "stacks/family_gemm.h"

extern const struct family family_gemm;

static double seconds(const char *gpu, const char *type, double m, double n, double k)
{
    double parameter[FAMILY_PARAMETERS];
    const struct family_machine on = family_gpu(gpu);
    struct gemm_features f;
    gemm_features_init(&f, &on, family_type_find(type), m, n, k);
    f.copies = 6;
    family_priors(&family_gemm, parameter);
    return exp(gemm_ln_seconds(&f, parameter));
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
    static const char *const gpus[] = { "A100", "H200", "B200", "L40S" };
    (void)state;
    for (size_t g = 0; g < ARRAY_LEN(gpus); g++)
        for (double m = 1, before = 0; m <= 16384; m *= 2) {
            const double t = seconds(gpus[g], "bfloat16", m, 4096, 4096);
            if (!(t >= before))
                fail_msg("%s: %g tokens take %g s, half of them %g s", gpus[g], m, t, before);
            assert_true(seconds(gpus[g], "bfloat16", m, 8192, 4096) >= t);
            assert_true(seconds(gpus[g], "bfloat16", m, 4096, 16384) >= t);
            before = t;
        }
}

/* At most the roofs times the priors' fractions, and near them where they bind. */
static void within_roofs(void **state)
{
    static const char *const gpus[] = { "A100", "H200", "B200", "L40S" };
    (void)state;
    for (size_t g = 0; g < ARRAY_LEN(gpus); g++) {
        const struct family_machine on = family_gpu(gpus[g]);
        const double n = 65536, k = 16384, read = n * k * 2 / seconds(gpus[g], "bfloat16", 1, n, k);
        assert_true(read < on.memory_bytes_s && read > 0.7 * on.memory_bytes_s);
        const double flop = 2 * 8192. * 8192 * 8192 / seconds(gpus[g], "bfloat16", 8192, 8192, 8192);
        assert_true(flop < on.peak[MATH_BF16] && flop > 0.55 * on.peak[MATH_BF16]);
    }
}

static void narrow_types_take_less(void **state)
{
    (void)state;
    assert_true(seconds("H200", "fp8", 16, 16384, 16384) < 0.7 * seconds("H200", "bfloat16", 16, 16384, 16384));
    assert_true(seconds("B200", "nvfp4", 8192, 8192, 8192) < 0.6 * seconds("B200", "bfloat16", 8192, 8192, 8192));
    assert_true(seconds("A100", "int4_wo", 1, 16384, 16384) < 0.5 * seconds("A100", "bfloat16", 1, 16384, 16384));
    /* activations are rounded by kernels of their own */
    assert_true(seconds("A100", "fp8", 4096, 256, 4096) > seconds("A100", "bfloat16", 4096, 256, 4096));
}

/* A weight that stays in the last cache between calls is read from there. */
static void cached_weights(void **state)
{
    double parameter[FAMILY_PARAMETERS];
    const struct family_machine on = family_gpu("L40S");
    struct gemm_features f;
    (void)state;
    family_priors(&family_gemm, parameter);
    gemm_features_init(&f, &on, family_type_find("bfloat16"), 1, 4096, 4096);
    f.copies = 1;
    const double one = exp(gemm_ln_seconds(&f, parameter));
    f.copies = 6;
    assert_true(exp(gemm_ln_seconds(&f, parameter)) > 1.5 * one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),          cmocka_unit_test(larger_never_takes_less), cmocka_unit_test(within_roofs),
        cmocka_unit_test(narrow_types_take_less), cmocka_unit_test(cached_weights),
    };
    return cmocka_run_group_tests_name("products", tests, NULL, NULL);
}
