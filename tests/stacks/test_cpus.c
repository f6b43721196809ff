/* What engines' kernels take of a CPU's cores, by hand. methods.md (41), (42) */
#include "base/environment.h"
#include "stacks/cpus.h"
#include "stacks/effects.h"
#include "tests/stacks/rows.h"
#include "tests/test.h"
#include <string.h>

/* Instructions a weight (41), at four FP32 multiply-adds each where registers have 32 bytes and five where they have 16. */
static void test_cpu_ops(void **state)
{
    (void)state;
    const char *old = "2024-05", *now = "2025-05";
    assert_true(near(ops("AMD EPYC", HW_CPU, &on_cpu, "Q4_0", old, 4.5), 4 * 0.69));
    assert_true(near(ops("AMD EPYC", HW_CPU, &on_cpu, "Q4_0", now, 4.5), 4 * 0.345)); /* rows are interleaved since */
    assert_true(near(ops("AMD EPYC", HW_CPU, &on_cpu, "Q4_K_M", old, 4.5), 4 * 0.40));
    assert_true(near(ops("AMD EPYC", HW_CPU, &on_cpu, "Q4_K_M", old, 6.56), 4 * 0.51)); /* its matrices of Q6_K */
    assert_true(near(ops("Intel Xeon", HW_CPU, &on_cpu, "IQ3_S", old, 3.44), 4 * 1.40));
    assert_true(near(ops("Raspberry Pi", HW_CPU, &on_cpu, "Q4_K_M", old, 4.5), 5 * 0.55));
    assert_true(near(ops("AMD EPYC", HW_CPU, &ik, "Q4_K_M", old, 4.5), 4 * 0.20));
    assert_true(ops("Raspberry Pi", HW_CPU, &lookup, "2-bit", old, 2) < ops("Raspberry Pi", HW_CPU, &lookup, "4-bit", old, 4));
}

/* Products of prompts on a CPU of 1 TFLOP/s in FP32. */
static struct unit_use on_tera(const struct stack *s, const char *quant, const char *date, double bits, double int8)
{
    struct fixture f;
    row(&f, "AMD EPYC", HW_CPU, s, quant, date);
    f.roofs.peak[MATH_FP32].flop_s = 1e12;
    f.roofs.peak[MATH_INT8] = (struct peak){ .flop_s = int8 > 0 ? int8 : 1e12, .derived = !(int8 > 0) };
    const struct stack_traits x = stack_traits_of(&f.p);
    return cpu_product(&x, MATH_INT8, bits, false);
}

static void test_cpu_product(void **state)
{
    (void)state;
    const struct unit_use rows = on_tera(&on_cpu, "Q4_K_M", "2025-02", 4.5, 0), tiles = on_tera(&ik, "Q4_K_M", "2025-05", 4.5, 0);
    assert_true(rows.unit == UNIT_STEPS && near(rows.flop_s, 1e12 / (4 * 0.40)));
    assert_true(near(on_tera(&on_cpu, "Q4_K_M", "2025-04", 4.5, 0).flop_s, 1e12 / (4 * 0.25))); /* eight rows at once */
    assert_true(near(on_tera(&on_cpu, "Q4_K_M", "2025-04", 6.56, 0).flop_s, 1e12 / (4 * 0.51))); /* not of Q6_K */
    assert_true(near(on_tera(&on_cpu, "IQ4_XS", "2025-12", 4.25, 0).flop_s, 1e12 / (4 * 0.77))); /* nor of other types of four bits */
    assert_true(near(on_tera(&on_cpu, "Q8_0", "2025-05", 8.5, 0).flop_s, 1e12 / (4 * 0.34))); /* tiles */
    assert_true(near(on_tera(&on_cpu, "Q8_0", "2024-01", 8.5, 0).flop_s, 1e12 / (4 * 0.54))); /* not yet */
    assert_true(tiles.unit == UNIT_CPU && near(tiles.flop_s, 1 / (0.75e-12 + 0.8 / 16e12)));
    /* ik_llama.cpp has no tiles of AMX: four products for a lane's one at most. */
    assert_true(near(on_tera(&ik, "Q4_K_M", "2025-05", 4.5, 32e12).flop_s, on_tera(&ik, "Q4_K_M", "2025-05", 4.5, 4e12).flop_s));
}

/* A step of several tokens: rows process tokens one by one, tiles are unpacked once for eight. (41) */
static double several(const struct stack *s, const char *quant, const char *date, double bits, double n_tok)
{
    struct fixture f;
    row(&f, "AMD EPYC", HW_CPU, s, quant, date);
    f.roofs.peak[MATH_FP32].flop_s = 1e12;
    f.roofs.peak[MATH_INT8] = (struct peak){ .flop_s = 4e12 };
    const struct stack_traits x = stack_traits_of(&f.p);
    return cpu_ops_several(&x, strcmp(quant, "BF16") == 0 ? MATH_BF16 : MATH_INT8, bits, n_tok, false);
}

static void test_cpu_several(void **state)
{
    (void)state;
    assert_true(near(several(&on_cpu, "Q6_K", "2025-12", 6.56, 1), 4 * 0.51));
    assert_true(near(several(&on_cpu, "Q6_K", "2025-12", 6.56, 8), 8 * 4 * 0.51));
    assert_true(near(several(&on_cpu, "Q8_0", "2025-12", 8.5, 8), 8 * 4 * 0.34)); /* tiles */
    assert_true(near(several(&on_cpu, "Q4_K_M", "2025-12", 4.5, 3), 3 * 4 * 0.40)); /* rows are interleaved for 4 */
    assert_true(near(several(&on_cpu, "Q4_K_M", "2025-12", 4.5, 4), 4 * 4 * 0.25));
    assert_true(near(several(&on_cpu, "Q4_1", "2025-12", 5, 4), 4 * 4 * 0.40));
    assert_true(near(several(&on_cpu, "MXFP4", "2025-12", 4.25, 4), 4 * 4 * 0.40));
    assert_true(near(several(&on_cpu, "Q2_K", "2025-12", 2.625, 4), 4 * 4 * 0.32)); /* not with registers of 32 bytes */
    assert_true(near(several(&on_cpu, "Q4_0", "2025-12", 6.56, 4), 4 * 4 * 0.51));  /* the LM head */
    assert_true(near(several(&on_cpu, "BF16", "2024-10", 16, 8), 8 * 4 * 0.44)); /* not yet */
    assert_true(near(several(&on_cpu, "F16", "2024-10", 16, 8), 8 * 4 * 0.2));
    assert_true(near(several(&ik, "Q4_K_M", "2025-12", 4.5, 8), 4 * 0.20 + 7 * 2 * 0.25));
    assert_true(near(several(&ik, "Q4_K_M", "2025-12", 4.5, 32), 4 * 4 * 0.20 + 28 * 2 * 0.25));
    assert_true(near(several(&lookup, "4-bit", "2024-10", 4, 3), 3 * several(&lookup, "4-bit", "2024-10", 4, 1)));
}

/* No operations a token more, the more of them there are. */
static void test_cpu_monotone(void **state)
{
    static const struct {
        const char *quant;
        double bits;
    } types[] = { { "Q2_K", 2.625 }, { "Q4_0", 4.5 }, { "Q4_K_M", 4.5 }, { "IQ4_NL", 4.5 }, { "Q6_K", 6.56 }, { "Q8_0", 8.5 }, { "F16", 16 } };
    static const struct stack *const stacks[] = { &on_cpu, &ik, &lookup };
    static const double int8[] = { 0, 4e12 };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(types) * ARRAY_LEN(stacks) * ARRAY_LEN(int8); i++) {
        const size_t t = i % ARRAY_LEN(types), k = i / ARRAY_LEN(types) % ARRAY_LEN(stacks);
        const double peak = int8[i / ARRAY_LEN(types) / ARRAY_LEN(stacks)];
        struct fixture f;
        double before = INFINITY;
        row(&f, "AMD EPYC", HW_CPU, stacks[k], types[t].quant, "2025-12");
        f.roofs.peak[MATH_FP32].flop_s = 1e12;
        f.roofs.peak[MATH_INT8] = (struct peak){ .flop_s = peak > 0 ? peak : 1e12, .derived = !(peak > 0) };
        const struct stack_traits x = stack_traits_of(&f.p);
        for (int n = 1; n <= 64; n++) {
            const double each = cpu_ops_several(&x, MATH_INT8, types[t].bits, n, false) / n;
            if (!(each <= before * (1 + 1e-12)))
                fail_msg("%s, %s: %d tokens take %g operations each, fewer %g", stacks[k]->id, types[t].quant, n, each, before);
            before = each;
        }
    }
}

/* Registers of 64 bytes that double a core's products: interleaved rows take 0.6 of the time there, others an instruction's. Profiles' rates are
 * rounded: 32.003 FLOP a cycle are 32. */
static void test_cpu_wide(void **state)
{
    static const struct {
        const char *hardware, *quant;
        double bits, flop, instructions;
    } cases[] = {
        { "Intel Xeon", "Q4_0", 4.5, 64, 0.45 * 0.6 }, { "Intel Xeon", "Q4_K_M", 4.5, 64, 0.25 * 0.6 }, { "Intel Xeon", "IQ4_NL", 4.5, 64, 0.45 },
        { "Intel Xeon", "Q2_K", 2.625, 64, 0.32 },     { "Intel Xeon", "Q8_0", 8.5, 64, 0.34 },         { "Intel Xeon", "Q6_K", 6.56, 64, 0.51 },
        { "AMD EPYC", "Q4_K_M", 4.5, 32.003, 0.25 },   { "Raspberry Pi", "Q4_K_M", 4.5, 16, 0.23 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        row(&f, cases[i].hardware, HW_CPU, &on_cpu, cases[i].quant, "2025-12");
        f.machine.h.n_cores = 2;
        f.machine.h.clock_hz.value = 1e9;
        f.machine.h.peak[MATH_FP32].value = 2e9 * cases[i].flop;
        const struct stack_traits x = stack_traits_of(&f.p);
        const double lanes = cases[i].flop > 48 ? 8 : cases[i].flop < 32 ? 5 : 4;
        const double got = cpu_ops_several(&x, MATH_INT8, cases[i].bits, 4, false);
        if (!near(got, 4 * lanes * cases[i].instructions))
            fail_msg("%s, %s: %g operations", cases[i].hardware, cases[i].quant, got);
    }
}

/* Neon processes eight rows at once, of Q4_K and Q6_K, since late 2025 and early 2026; steps of fewer than 4 tokens take rows. */
static void test_cpu_arm_rows(void **state)
{
    static const struct {
        const char *quant, *date;
        double bits, n, instructions;
    } cases[] = {
        { "Q4_K_M", "2025-10", 4.5, 4, 0.55 }, { "Q4_K_M", "2025-12", 4.5, 3, 0.55 },   { "Q4_K_M", "2025-12", 6.56, 4, 0.94 },
        { "Q4_K_M", "2026-03", 6.56, 4, 0.36 }, { "Q5_K_M", "2026-03", 5.5, 4, 0.79 },
        { "Q5_0", "2026-03", 5.5, 4, 0.45 },    { "Q8_0", "2026-03", 8.5, 4, 0.34 },
        { "Q4_0", "2026-03", 4.5, 16, 0.083 },  { "IQ4_NL", "2026-03", 4.5, 4, 0.45 },  { "MXFP4", "2026-03", 4.25, 4, 0.55 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        row(&f, "Raspberry Pi", HW_CPU, &on_cpu, cases[i].quant, cases[i].date);
        const struct stack_traits x = stack_traits_of(&f.p);
        const double got = cpu_ops_several(&x, MATH_INT8, cases[i].bits, cases[i].n, false);
        if (!near(got, cases[i].n * 5 * cases[i].instructions))
            fail_msg("%s of %s, %g tokens: %g operations", cases[i].quant, cases[i].date, cases[i].n, got);
    }
}

/* Two experts of a token: each is multiplied by the tokens it has; their rows are not interleaved, in prompts neither. (41) */
static void test_cpu_experts(void **state)
{
    static const struct {
        double n_tok, each;
    } cases[] = { { 1, 1 }, { 64, 16 } };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        row(&f, "AMD EPYC", HW_CPU, &on_cpu, "Q4_K_M", "2025-12");
        f.roofs.peak[MATH_FP32].flop_s = 1e12;
        const struct stack_traits x = stack_traits_of(&f.p);
        const double n = cases[i].n_tok, touched = n * 2 / cases[i].each;
        const struct step_pass at = { .phase = PHASE_DECODE, .n_tok = n, .n_seq = n };
        struct refinement o = { .key = 0 };
        struct step c = { .kind = OP_EXPERT_MATMUL, .math = MATH_INT8, .count = 1, .n_tok = n, .rows = 1000, .cols = 1000, .bits = 4.5,
                          .cost = { .weight_bytes = (uint64_t)(562500 * touched), .flop = (uint64_t)(4e6 * n) } };
        fitted_refine(&x, &at, true, &c, &o);
        if (!near(o.ops_weight, cases[i].each * 4 * 0.40))
            fail_msg("%g tokens: %g operations", n, o.ops_weight);
        assert_true(near(cpu_product(&x, MATH_INT8, 4.5, true).flop_s, 1e12 / (4 * 0.40)));
    }
}

/* 8 cores of 32 FLOP a cycle at 4 GHz, 80 GB/s. (42) */
static void test_cpu_threads(void **state)
{
    static const char text[] = "{\"schema\":\"roofcast.hwprofile\",\"version\":1,\"name\":\"C\",\"kind\":\"cpu\",\"vendor\":\"AMD\","
                               "\"spec\":{\"memory_bandwidth\":\"80 GB/s\",\"clock\":\"4 GHz\",\"peaks\":{\"fp32\":\"1024 GFLOP/s\"}},"
                               "\"topology\":{\"n_cores\":8}}";
    struct hwprofile h;
    struct roofs *r = calloc(1, sizeof *r);
    struct error err = { 0 };
    (void)state;
    assert_non_null(r);
    assert_int_equal(hwprofile_parse(&h, "test", text, sizeof text - 1, &err), 0);
    const int threads[] = { 1, 2, 4, 8 };
    const double bytes_s[] = { 30.72e9, 61.44e9, 80e9, 80e9 }, barrier_scale[] = { 0.25, 0.25, 0.25, 0.5 };
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        const struct predict_options o = { .weights_bytes = NAN, .n_threads = threads[i] };
        assert_int_equal(roofs_init(r, &h, &o, &err), 0);
        assert_true(near(r->bytes_s, bytes_s[i]) && near(r->barrier_scale, barrier_scale[i]));
        assert_true(near(r->peak[MATH_FP32].flop_s, 128e9 * threads[i]));
    }
    hwprofile_free(&h);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_ops),  cmocka_unit_test(test_cpu_product), cmocka_unit_test(test_cpu_several), cmocka_unit_test(test_cpu_monotone),
        cmocka_unit_test(test_cpu_wide), cmocka_unit_test(test_cpu_arm_rows), cmocka_unit_test(test_cpu_experts),
        cmocka_unit_test(test_cpu_threads),
    };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
