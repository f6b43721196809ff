/* Decode steps by hand: operations a weight, launches, heads, walks, and the time they come to. methods.md (74), (79) */
#include "calibrate/decode.h"
#include "calibrate/effects.h"
#include "tests/test.h"
#include <math.h>
#include <string.h>

static const struct stack cuda = { "llama.cpp-cuda", STACK_LLAMA_CPP, 512, true },
                          sycl = { "llama.cpp-sycl", STACK_LLAMA_CPP, 512, false },
                          vulkan = { "llama.cpp-vulkan", STACK_LLAMA_CPP, 512, false }, vllm = { "vllm", STACK_SERVER, 8192, true },
                          eager = { "transformers", STACK_PYTORCH, 0, false }, on_cpu = { "llama.cpp-cpu", STACK_CPU, 512, false };

/* A row of one machine, engine, type and date. */
struct fixture {
    struct measurement m;
    struct machine machine;
    struct priced p;
};

static struct priced *row(struct fixture *f, const char *hardware, enum hw_kind kind, const struct stack *s, const char *quant,
                          const char *date)
{
    *f = (struct fixture){ .m = { .quant = quant, .date = date, .notes = "", .phase = MEASURE_DECODE } };
    snprintf(f->machine.hardware, sizeof f->machine.hardware, "%s", hardware);
    snprintf(f->machine.h.vendor, sizeof f->machine.h.vendor, "?");
    f->machine.h.kind = kind;
    f->p = (struct priced){ .m = &f->m, .machine = &f->machine, .stack = s };
    return &f->p;
}

static struct facts facts_of(const struct priced *p)
{
    struct facts f;
    facts_init(&f, p);
    return f;
}

static void test_old(void **state)
{
    struct fixture f;
    (void)state;
    assert_true(facts_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "May 2024; build 4426e298 (2824)")).old);
    assert_false(facts_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "build 2aa45ef9e (7423)")).old);
    assert_true(facts_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2024-01-22")).old);
    assert_false(facts_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2024-08-01")).old);
    assert_false(facts_of(row(&f, "NVIDIA A100", HW_GPU, &vllm, "F16", "2023-10")).old);
    row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2025-01");
    assert_false(facts_of(&f.p).walks);
    f.m.flash_said = true;
    assert_true(facts_of(&f.p).walks);
    f.m.flash = true;
    assert_false(facts_of(&f.p).walks);
    f.m.notes = "tags=; llama-bench tg4096, no FA";
    assert_true(facts_of(&f.p).walks);
    f.machine.h.kind = HW_CPU;
    assert_false(facts_of(&f.p).walks);
}

static bool near(double got, double want)
{
    return fabs(got / want - 1) < 2e-3;
}

static double ops(const char *hardware, enum hw_kind kind, const struct stack *s, const char *quant, const char *date, double bits)
{
    struct fixture f;
    const struct facts x = facts_of(row(&f, hardware, kind, s, quant, date));
    return decode_ops_weight(&x, bits);
}

static void test_ops(void **state)
{
    (void)state;
    const char *old = "2024-05", *now = "2025-05";
    assert_true(ops("NVIDIA A100", HW_GPU, &cuda, "F16", old, 16) == 14);
    assert_true(ops("NVIDIA A100", HW_GPU, &cuda, "F16", now, 16) == 2);
    assert_true(ops("NVIDIA A100", HW_GPU, &vulkan, "F16", old, 16) == 2);
    assert_true(ops("NVIDIA A100", HW_GPU, &cuda, "Q4_K_M", old, 4.5) == 5);
    assert_true(ops("NVIDIA A100", HW_GPU, &cuda, "IQ2_XS", now, 2.31) == 8);
    assert_true(ops("NVIDIA A100", HW_GPU, &cuda, "IQ4_NL", now, 4.5) == 5);
    assert_true(ops("NVIDIA GTX 1080 Ti", HW_GPU, &cuda, "Q4_0", now, 4.5) == 10);
    assert_true(ops("NVIDIA RTX 3080 Ti", HW_GPU, &cuda, "Q8_0", now, 8.5) == 3);
    assert_true(ops("AMD EPYC", HW_CPU, &on_cpu, "Q4_0", old, 4.5) == 2);
    assert_true(ops("AMD EPYC", HW_CPU, &on_cpu, "BF16", old, 16) == 1);
}

static void test_launches(void **state)
{
    struct fixture f;
    (void)state;
    const double graph = facts_of(row(&f, "NVIDIA A100", HW_GPU, &vllm, "F16", "2025")).launches,
                 plain = facts_of(row(&f, "Intel Arc", HW_GPU, &vulkan, "F16", "2025")).launches,
                 python = facts_of(row(&f, "NVIDIA A100", HW_GPU, &eager, "F16", "2025")).launches,
                 before = facts_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2024-05")).launches;
    assert_true(plain == 1 && graph < plain && before > plain && python > 5);
    row(&f, "NVIDIA A100", HW_GPU, &vllm, "F16", "");
    assert_string_equal(facts_of(&f.p).vendor, "NVIDIA");
    snprintf(f.machine.h.vendor, sizeof f.machine.h.vendor, "AMD");
    assert_string_equal(facts_of(&f.p).vendor, "AMD");
}

static double staged(const struct priced *p, enum math math, double bits)
{
    const struct facts f = facts_of(p);
    return decode_staged_bytes(&f, math, bits);
}

/* SYCL writes BF16 weights as FP32 first; F16 and quantized ones it reads as they are, and so do others. */
static void test_staged(void **state)
{
    struct fixture f;
    (void)state;
    row(&f, "Intel Arc Pro B70", HW_GPU, &sycl, "BF16", "2026-05");
    assert_true(staged(&f.p, MATH_BF16, 16) == 4);
    assert_true(staged(&f.p, MATH_FP16, 16) == 0);
    assert_true(staged(&f.p, MATH_BF16, 8.5) == 0);
    row(&f, "Intel Arc Pro B70", HW_GPU, &vulkan, "BF16", "2026-05");
    assert_true(staged(&f.p, MATH_BF16, 16) == 0);
}

/* A refined op of a step: 1e6 BF16 weights are read (2 MB), written (4 MB) and read. */
static void test_staged_step(void **state)
{
    struct fixture f;
    struct time_op o = { .kind = OP_MATMUL, .math = MATH_BF16, .count = 1, .bits = 16, .cost = { .weight_bytes = 2e6 } };
    const struct time_place at = { .phase = PHASE_DECODE, .n_tok = 1, .pass_tok = 1, .n_seq = 1, .rows = 1000, .cols = 1000 };
    (void)state;
    struct facts x = facts_of(row(&f, "Intel Arc Pro B70", HW_GPU, &sycl, "BF16", "2026-05"));
    fitted_refine(&x, &at, true, &o);
    assert_true(near(o.staged_bytes, 6e6) && near(o.cost.weight_bytes, 4e6) && near(o.bits, 32));
    /* Four experts of 1000 x 1000, each started by itself: 160 us of the host. */
    o = (struct time_op){ .kind = OP_EXPERT_MATMUL, .math = MATH_FP16, .count = 1, .bits = 4, .cost = { .weight_bytes = 2e6 } };
    snprintf(f.p.type, sizeof f.p.type, "MXFP4");
    fitted_refine(&x, &at, true, &o);
    assert_true(near(o.host_s, 160e-6));
}

/* A machine of 1 TB/s and 20 TFLOP/s in FP32: 1e13 multiply-adds a second; FP16 100 TFLOP/s. */
static struct roofs machine(void)
{
    struct roofs r = { .bytes_s = 1e12 };
    r.peak[MATH_FP32].flop_s = 2e13;
    r.peak[MATH_FP16].flop_s = 1e14;
    return r;
}

/* Every fraction a half of its peak, every factor 1, no launch, a roof with a corner. */
static void plain_slots(double *slot)
{
    for (int i = 0; i < TIME_SLOT_COUNT; i++)
        slot[i] = 0;
    slot[TIME_BANDWIDTH] = slot[TIME_COMPUTE] = slot[TIME_ATTENTION] = log(0.5);
    slot[TIME_LAUNCH] = slot[TIME_STEP] = log(1e-12);
    slot[TIME_SHARPNESS] = log(999);
}

static double seconds(const struct time_op *o, const double *slot)
{
    const struct roofs r = machine();
    struct time_features f = { .sequential = 1 };
    time_add(&f, &r, o);
    return exp(time_ln_seconds(&f, slot));
}

static void test_time(void **state)
{
    double slot[TIME_SLOT_COUNT];
    (void)state;
    plain_slots(slot);
    /* 1e9 weights of 16 bits: 2 ms of memory at half the bandwidth is 4 ms; 14 operations are 1.4 ms, 60 are 6 ms. */
    struct time_op o = { .kind = OP_MATMUL, .math = MATH_FP16, .count = 1, .bits = 16, .ops_weight = 14, .cost = { .weight_bytes = 2e9 } };
    assert_true(near(seconds(&o, slot), 4e-3));
    o.ops_weight = 60;
    assert_true(near(seconds(&o, slot), 6e-3));
    o.ops_weight = 0; /* 6 operations of 1e10 weights of 4 bits: 6 ms, and 10 ms of memory */
    o.bits = 4;
    o.cost.weight_bytes = 5e9;
    assert_true(near(seconds(&o, slot), 10e-3));
    slot[TIME_VECTOR] = log(2);
    assert_true(near(seconds(&o, slot), 12e-3));
    /* Launches: 100 ops of 8 times 10 us. */
    o = (struct time_op){ .kind = OP_ADD, .math = MATH_FP32, .count = 100, .launches = 8 };
    slot[TIME_LAUNCH] = log(1e-5);
    assert_true(near(seconds(&o, slot), 8e-3));
    /* A cache of 1e9 bytes: 2 ms of memory. Eight heads read its 5e8 elements, 4 operations each: 1.6 ms; 10: 4 ms. Its
     * FLOP say nothing then. 1e5 positions of 16 ns are 1.6 ms more. */
    plain_slots(slot);
    slot[TIME_WALK] = log(16e-9);
    o = (struct time_op){ .kind = OP_ATTENTION, .math = MATH_FP16, .count = 1, .heads = 4e9, .cost = { .kv_bytes = 1e9, .flop = 1e15 } };
    slot[TIME_HEADS] = log(4);
    assert_true(near(seconds(&o, slot), 2e-3));
    slot[TIME_HEADS] = log(10);
    assert_true(near(seconds(&o, slot), 4e-3));
    o.walked = 1e5;
    assert_true(near(seconds(&o, slot), 5.6e-3));
}

static void test_kinds(void **state)
{
    (void)state;
    const struct measurement decode = { .kind = MEASURE_RATE, .phase = MEASURE_DECODE },
                             prefill = { .kind = MEASURE_RATE, .phase = MEASURE_PREFILL }, op = { .kind = MEASURE_OP };
    assert_int_equal(fitted_kind(&decode), FITTED_DECODE);
    assert_int_equal(fitted_kind(&prefill), FITTED_RATE);
    assert_true(fitted_teaches(FITTED_RATE, &decode) && fitted_teaches(FITTED_DECODE, &decode));
    assert_false(fitted_teaches(FITTED_DECODE, &prefill) || fitted_teaches(FITTED_RATE, &op));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old),  cmocka_unit_test(test_ops),   cmocka_unit_test(test_launches),
        cmocka_unit_test(test_time), cmocka_unit_test(test_kinds), cmocka_unit_test(test_staged),
        cmocka_unit_test(test_staged_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
