/* Decode steps by hand: operations a weight, launches, heads, sequential scans, and their seconds. methods.md (35), (36) */
#include "base/environment.h"
#include "stacks/decode.h"
#include "stacks/effects.h"
#include "tests/stacks/rows.h"
#include "tests/test.h"
#include <math.h>
#include <string.h>

/* A step of decoding, and a product of 1000 x 1000 weights in one. */
static const struct step_pass one_token = { PHASE_DECODE, 1, 0, 1 };

static struct step product(enum math math, double bits, double weight_bytes, double flop)
{
    return (struct step){ .kind = OP_MATMUL, .math = math, .count = 1, .n_tok = 1, .rows = 1000, .cols = 1000, .bits = bits,
                          .cost = { .weight_bytes = weight_bytes, .flop = flop } };
}

static void test_old(void **state)
{
    struct fixture f;
    (void)state;
    assert_true(stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "May 2024; build 4426e298 (2824)")).old);
    assert_false(stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "build 2aa45ef9e (7423)")).old);
    assert_true(stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2024-01-22")).old);
    assert_false(stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2024-08-01")).old);
    assert_false(stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &vllm, "F16", "2023-10")).old);
    row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2025-01");
    assert_false(stack_traits_of(&f.p).scans);
    f.m.flash_stated = true;
    assert_true(stack_traits_of(&f.p).scans);
    f.m.flash = true;
    assert_false(stack_traits_of(&f.p).scans);
    f.m.flash = false;
    assert_true(stack_traits_of(&f.p).scans);
    f.machine.h.kind = HW_CPU;
    assert_false(stack_traits_of(&f.p).scans);
}

static void test_ops(void **state)
{
    (void)state;
    const char *old = "2024-05", *now = "2025-05";
    assert_true(ops("NVIDIA A100", HW_GPU, &cuda, "F16", old, 16) == 14);
    assert_true(ops("NVIDIA A100", HW_GPU, &cuda, "F16", now, 16) == 5);
    assert_true(ops("NVIDIA A100", HW_GPU, &vulkan, "F16", old, 16) == 5);
    assert_true(ops("Intel Arc", HW_GPU, &vulkan, "Q4_K_M", now, 4.5) == 5);
    assert_true(ops("NVIDIA A100", HW_GPU, &vllm, "AWQ-int4", now, 4.16) == 2); /* two halves in an instruction */
    assert_true(ops("NVIDIA A100", HW_GPU, &vllm, "GPTQ-int8", now, 8.16) == 2);
    assert_true(ops("NVIDIA A100", HW_GPU, &eager, "bnb-4bit", now, 4.5) == 5);
}

/* Instructions of CUDA's kernel of rows, where integers have lanes of their own 0.6 of one each, before Volta two. (37) */
static void test_rows_kernel(void **state)
{
    static const struct {
        const char *hardware, *quant;
        double bits, one, more, integers; /* time of an instruction with integers */
    } cases[] = {
        { "NVIDIA H100", "Q4_0", 4.5, 4.8, 0.8, 1 },
        { "NVIDIA H100", "Q5_1", 6, 4.8, 0.8, 1 },
        { "NVIDIA H100", "MXFP4", 4.25, 4.8, 0.8, 1 },
        { "NVIDIA H100", "UD-IQ2_XXS", 2.06, 4.8, 0.8, 1 },
        { "NVIDIA H100", "Q2_K", 2.625, 6.5, 3, 1 }, /* 3.3, but tiles are faster */
        { "NVIDIA H100", "Q4_K_M", 4.5, 6.5, 3, 1 },
        { "NVIDIA H100", "Q4_K_M", 6.5625, 6.5, 3, 1 }, /* its matrices of Q6_K */
        { "NVIDIA H100", "Q4_0", 6.5625, 6.5, 3, 1 },
        { "NVIDIA H100", "Q8_0", 8.5, 3.1, 1.1, 1 },
        { "NVIDIA H100", "F32", 32, 5, 0, 0 }, /* no such kernel */
        { "NVIDIA RTX 3080 Ti", "Q8_0", 8.5, 3.1, 1.1, 1 },
        { "NVIDIA A100", "Q4_K_M", 4.5, 6.5, 3, 0.6 },
        { "NVIDIA T4", "Q8_0", 8.5, 3.1, 1.1, 0.6 },
        { "NVIDIA V100", "Q4_0", 4.5, 4.8, 0.8, 0.6 },
        { "NVIDIA RTX 2080 Ti", "Q4_0", 4.5, 4.8, 0.8, 0.6 },
        { "NVIDIA RTX A1000", "Q4_0", 4.5, 4.8, 0.8, 1 },   /* neither an A100 */
        { "NVIDIA RTX 2000 Ada", "Q4_0", 4.5, 4.8, 0.8, 1 }, /* nor Turing */
        { "NVIDIA GTX 1080 Ti", "Q4_0", 4.5, 4.8, 0.8, 2 },
        { "AMD RX 7900 XTX", "Q4_0", 4.5, 4.8, 0.8, 2 }, /* its peak counts two instructions a cycle */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        const struct stack *s = strncmp(cases[i].hardware, "AMD", 3) == 0 ? &rocm : &cuda;
        const struct stack_traits x = stack_traits_of(row(&f, cases[i].hardware, HW_GPU, s, cases[i].quant, i % 2 ? "2025-12" : "2024-05"));
        const double one = decode_ops_weight(&x, cases[i].bits), two = decode_ops_several(&x, cases[i].bits, 2), eight = decode_ops_several(&x, cases[i].bits, 8),
                     integers = cases[i].integers;
        if (!near(one, integers > 0 ? cases[i].one * integers : cases[i].one) || !near(two, one + cases[i].more * integers) || !near(eight, one + 3 * integers))
            fail_msg("%s %s: %g, %g, %g", cases[i].hardware, cases[i].quant, one, two, eight);
    }
    /* What is predicted, and not a row of a file, has its type where a row has what it was priced as. */
    struct fixture f;
    row(&f, "NVIDIA H100", HW_GPU, &cuda, "", "2025-12");
    snprintf(f.p.type, sizeof f.p.type, "Q4_K");
    const struct stack_traits x = stack_traits_of(&f.p);
    assert_true(near(decode_ops_weight(&x, 4.5), 6.5));
}

/* A product of several tokens, in a step and in a prompt: a further token by rows takes 0.8 instructions a weight, a tile of any number three more
 * than one token; experts' as one token's. (37) */
static void test_rows_several(void **state)
{
    static const struct {
        const char *date;
        enum op_kind kind;
        double n_tok, ops, launches;
    } cases[] = {
        { "2025-12", OP_MATMUL, 1, 4.8, 0.6 },  { "2025-12", OP_MATMUL, 2, 5.6, 1.25 }, { "2025-12", OP_MATMUL, 4, 7.2, 1.25 },
        { "2025-12", OP_MATMUL, 5, 7.8, 1.25 }, { "2025-12", OP_EXPERT_MATMUL, 8, 4.8, 1.25 },
        { "2026-06", OP_MATMUL, 4, 7.2, 0.6 },  { "", OP_MATMUL, 512, 7.8, 0.6 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        row(&f, "NVIDIA H100", HW_GPU, &cuda, "Q4_0", cases[i].date);
        f.roofs.peak[MATH_FP32].flop_s = 67e12;
        f.roofs.peak[MATH_FP16].flop_s = 990e12;
        f.roofs.peak[MATH_INT8].flop_s = 1980e12;
        const struct stack_traits x = stack_traits_of(&f.p);
        for (int decode = 0; decode < 2; decode++) {
            const struct step_pass at = { .phase = decode ? PHASE_DECODE : PHASE_PREFILL, .n_tok = cases[i].n_tok, .n_seq = 1 };
            struct step c = product(MATH_INT8, 4.5, 562500, 16e6);
            struct refinement o = { .key = 0 };
            c.kind = cases[i].kind;
            c.n_tok = cases[i].n_tok;
            const bool counted = decode || cases[i].kind == OP_MATMUL; /* else the default */
            fitted_refine(&x, &at, decode, &c, &o);
            if (counted ? !near(o.ops_weight, cases[i].ops) : o.ops_weight != 0)
                fail_msg("%zu, %d: %g operations", i, decode, o.ops_weight);
            if (decode && !near(o.launches, cases[i].launches))
                fail_msg("%zu: %g launches", i, o.launches);
        }
    }
    struct fixture f;
    struct stack_traits x = stack_traits_of(row(&f, "AMD Radeon AI PRO R9700", HW_GPU, &vulkan, "Q4_K_M", "2025-12")); /* floats, whatever the build */
    assert_true(near(decode_ops_several(&x, 4.5, 1), 5) && near(decode_ops_several(&x, 4.5, 8), 12) && near(decode_ops_several(&x, 4.5, 64), 12));
    x = stack_traits_of(row(&f, "NVIDIA A40", HW_GPU, &cuda, "F16", "2024-05")); /* as of one token */
    assert_true(near(decode_ops_several(&x, 16, 1), 14) && near(decode_ops_several(&x, 16, 64), 14));
    x = stack_traits_of(row(&f, "NVIDIA V100", HW_GPU, &cuda, "Q4_K_M", ""));
    assert_true(near(decode_ops_several(&x, 4.5, 8), 0.6 * (6.5 + 3)));
    /* no such kernel */
    const struct stack_traits server = stack_traits_of(row(&f, "NVIDIA H100", HW_GPU, &vllm, "Q4_K_M", "2025-12"));
    assert_true(decode_ops_several(&server, 4.5, 4) == 0);
}

/* Seconds that Python takes for a product of eight bits: 14 kernels, 30 us each; of four 4 kernels. (doc/notes/stacks.md) */
static void test_host(void **state)
{
    (void)state;
    struct fixture f;
    struct stack_traits x = stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &eager, "int8", "2023-11"));
    assert_true(near(decode_host_s(&x, 8.5), 420e-6) && near(decode_host_s(&x, 4.5), 120e-6) && decode_host_s(&x, 16) == 0);
    f.m.engine = "AutoAWQ";
    x = stack_traits_of(&f.p);
    assert_true(decode_host_s(&x, 4.5) == 0);
    x = stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &vllm, "int8", "2023-11"));
    assert_true(decode_host_s(&x, 8.5) == 0);
    /* A step of one product waits for it. */
    struct step c = product(MATH_FP32, 8.5, 1e6, 0);
    struct refinement o = { .key = 0 };
    x = stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &eager, "int8", "2023-11"));
    fitted_refine(&x, &one_token, true, &c, &o);
    assert_true(near(o.host_s, 420e-6));
}

static void test_expert_launches(void **state)
{
    (void)state;
    static const struct stack sglang = { "sglang", STACK_SERVER, 8192, true };
    static const struct {
        const char *engine, *quant;
        bool moe;
        double launches;
    } cases[] = {
        { "SGLang 0.4.6.post1", "GPTQ-int4", true, 8 },   { "SGLang 0.4.6.post1", "GPTQ-int4", false, 0.6 },
        { "SGLang 0.4.6.post1", "FP8", true, 0.6 },       { "SGLang 0.5.9", "GPTQ-int4", true, 0.6 },
        { "SGLang", "GPTQ-int4", true, 0.6 }, /* an engine without a version is current */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        row(&f, "NVIDIA H20", HW_GPU, &sglang, cases[i].quant, "");
        f.m.engine = cases[i].engine;
        f.p.moe = cases[i].moe;
        if (!near(stack_traits_of(&f.p).launches, cases[i].launches))
            fail_msg("%zu: %g", i, stack_traits_of(&f.p).launches);
    }
}

static void test_launches(void **state)
{
    struct fixture f;
    (void)state;
    const double graph = stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &vllm, "F16", "2025")).launches,
                 plain = stack_traits_of(row(&f, "Intel Arc", HW_GPU, &vulkan, "F16", "2025")).launches,
                 python = stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &eager, "F16", "2025")).launches,
                 before = stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2024-05")).launches;
    /* Graphs: old builds for passes of one token. (37) */
    struct stack_traits x = stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2025-12"));
    assert_true(stack_traits_launches(&x, 1) == graph && stack_traits_launches(&x, 2) == before);
    x = stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &cuda, "F16", "2026-08"));
    assert_true(stack_traits_launches(&x, 2) == graph && stack_traits_launches(&x, 32) == graph);
    x = stack_traits_of(row(&f, "NVIDIA A100", HW_GPU, &vllm, "F16", "2025-12"));
    assert_true(stack_traits_launches(&x, 2) == graph);
    /* CUDA's were for Ampere and later, are for Volta and Turing, and never were for Pascal. (36) */
    static const struct {
        const char *name, *date;
        bool graphs;
    } cards[] = { { "NVIDIA T4", "2026-05", false },       { "NVIDIA T4", "2026-09", true },        { "NVIDIA RTX 2080 Ti", "2025-12", false },
                  { "NVIDIA Quadro RTX 8000", "", true },  { "NVIDIA V100", "2026-05", false },     { "NVIDIA Tesla P40", "2026-09", false },
                  { "NVIDIA RTX A4000", "2025-12", true }, { "NVIDIA RTX 2000 Ada", "2025-12", true } };
    f.p.moe = false;
    for (size_t i = 0; i < ARRAY_LEN(cards); i++)
        if ((stack_traits_of(row(&f, cards[i].name, HW_GPU, &cuda, "Q4_0", cards[i].date)).launches == graph) != cards[i].graphs)
            fail_msg("%s, %s", cards[i].name, cards[i].date);
    assert_true(plain == 1 && graph < plain && before > plain && python > 5);
    row(&f, "NVIDIA A100", HW_GPU, &vllm, "F16", "");
    assert_string_equal(stack_traits_of(&f.p).vendor, "NVIDIA");
    snprintf(f.machine.h.vendor, sizeof f.machine.h.vendor, "AMD");
    assert_string_equal(stack_traits_of(&f.p).vendor, "AMD");
}

static double staged(const struct workload *p, enum math math, double bits)
{
    const struct stack_traits f = stack_traits_of(p);
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
    struct step c = product(MATH_BF16, 16, 2e6, 0);
    struct refinement o = { .key = 0 };
    (void)state;
    struct stack_traits x = stack_traits_of(row(&f, "Intel Arc Pro B70", HW_GPU, &sycl, "BF16", "2026-05"));
    fitted_refine(&x, &one_token, true, &c, &o);
    assert_true(near(o.staged_bytes, 6e6) && near(c.cost.weight_bytes, 4e6) && near(c.bits, 32));
    /* Four experts of 1000 x 1000, each started by itself: 160 us of the host. */
    c = product(MATH_FP16, 16, 8e6, 0);
    c.kind = OP_EXPERT_MATMUL;
    o = (struct refinement){ .key = 0 };
    fitted_refine(&x, &one_token, true, &c, &o);
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
static void plain_slots(double *parameter)
{
    for (int i = 0; i < TIME_PARAMETER_COUNT; i++)
        parameter[i] = 0;
    parameter[TIME_BANDWIDTH] = parameter[TIME_COMPUTE] = parameter[TIME_ATTENTION] = log(0.5);
    parameter[TIME_LAUNCH] = parameter[TIME_STEP] = log(1e-12);
    parameter[TIME_OVERLAP] = log(999);
}

static double seconds(const struct step *c, const struct refinement *o, const double *parameter)
{
    const struct roofs r = machine();
    struct time_features f = { .sequential = 1 };
    time_add(&f, &r, c, o);
    return exp(time_ln_seconds(&f, parameter));
}

static void test_time(void **state)
{
    double parameter[TIME_PARAMETER_COUNT];
    (void)state;
    plain_slots(parameter);
    /* 1e9 weights of 16 bits: 2 ms of memory at half the bandwidth is 4 ms; 14 operations are 1.4 ms, 60 are 6 ms. */
    struct step c = product(MATH_FP16, 16, 2e9, 0);
    struct refinement o = { .ops_weight = 14 };
    assert_true(near(seconds(&c, &o, parameter), 4e-3));
    o.ops_weight = 60;
    assert_true(near(seconds(&c, &o, parameter), 6e-3));
    o.ops_weight = 0; /* 6 operations of 1e10 weights of 4 bits: 6 ms, and 10 ms of memory */
    c.bits = 4;
    c.cost.weight_bytes = 5e9;
    assert_true(near(seconds(&c, &o, parameter), 10e-3));
    parameter[TIME_VECTOR] = log(2);
    assert_true(near(seconds(&c, &o, parameter), 12e-3));
    /* Launches: 100 ops of 8 times 10 us. */
    c = (struct step){ .kind = OP_ADD, .math = MATH_FP32, .count = 100 };
    o = (struct refinement){ .launches = 8 };
    parameter[TIME_LAUNCH] = log(1e-5);
    assert_true(near(seconds(&c, &o, parameter), 8e-3));
    /* A cache of 1e9 bytes: 2 ms of memory. Eight heads read its 5e8 elements, 4 operations each: 1.6 ms; 10: 4 ms. Its
     * FLOP do not count then. 1e5 positions of 16 ns are 1.6 ms more. */
    plain_slots(parameter);
    parameter[TIME_SCAN] = log(16e-9);
    c = (struct step){ .kind = OP_ATTENTION, .math = MATH_FP16, .count = 1, .cost = { .kv_bytes = 1e9, .flop = 1e15 } };
    o = (struct refinement){ .heads = 4e9 };
    parameter[TIME_HEADS] = log(4);
    assert_true(near(seconds(&c, &o, parameter), 2e-3));
    parameter[TIME_HEADS] = log(10);
    assert_true(near(seconds(&c, &o, parameter), 4e-3));
    o.scanned = 1e5;
    assert_true(near(seconds(&c, &o, parameter), 5.6e-3));
}

/* 2 TB/s and 64 multiprocessors of 2048 threads, half of them with 16 bytes in flight for 0.8 us: 1.31 TB/s. Only steps are latency-bound, and
 * not machines without these traits. (38) */
static void test_latency_bound(void **state)
{
    struct hwprofile h;
    struct error err = { 0 };
    struct predict_options o = { .weights_bytes = NAN };
    struct roofs r;
    (void)state;
    const char *const text = "{\"schema\":\"roofcast.hwprofile\",\"version\":1,\"name\":\"x\",\"kind\":\"gpu\",\"vendor\":\"NVIDIA\",\"spec\":{"
                             "\"memory_bandwidth\":{\"value\":2e12,\"unit\":\"B/s\",\"source\":\"t\"},"
                             "\"peaks\":{\"fp32\":{\"value\":4e13,\"unit\":\"FLOP/s\",\"source\":\"t\"}},"
                             "\"units\":{\"value\":64,\"source\":\"t\"},\"unit_threads\":{\"value\":2048,\"source\":\"t\"}}}";
    assert_ok(hwprofile_parse(&h, "x", text, strlen(text), &err), err);
    assert_ok(roofs_init(&r, &h, &o, &err), err);
    assert_true(near(r.units.flight_bytes_s, 64 * 2048 / 2 * 32 / 0.8e-6));
    const struct step op = product(MATH_FP32, 16, 2e9, 0);
    const struct refinement unrefined = { .key = 0 };
    struct time_features step = { .decode = true }, prompt = { .prompt = true };
    time_add(&step, &r, &op, &unrefined);
    time_add(&prompt, &r, &op, &unrefined);
    assert_true(near(prompt.term[0].memory_s, 1e-3));
    assert_true(near(step.term[0].memory_s, 1e-3 * pow(1 + pow(2e12 / r.units.flight_bytes_s, 8), 1 / 8.0)));
    r.units.flight_bytes_s = 0;
    struct time_features unknown = { .decode = true };
    time_add(&unknown, &r, &op, &unrefined);
    assert_true(near(unknown.term[0].memory_s, 1e-3));
    hwprofile_free(&h);
}

/* Servers compute whole tiles for one token: 64 of an H20, 16 of an A100, of weights that are converted and of experts. (40) */
static void test_tiles(void **state)
{
    static const struct {
        const char *hardware;
        const struct stack *stack;
        const char *type;
        double bits;
        bool experts;
        double tile;
    } cases[] = {
        { "NVIDIA H20 96GB", &vllm, "BF16", 16, false, 64 },    { "NVIDIA H20 96GB", &vllm, "FP8", 8, false, 64 },
        { "NVIDIA H20 96GB", &vllm, "AWQ", 4.16, false, 16 },   { "NVIDIA H20 96GB", &vllm, "INT8_W8A16", 8.16, false, 16 },
        { "NVIDIA H20 96GB", &vllm, "BF16", 16, true, 16 },     { "NVIDIA A100 80GB", &vllm, "BF16", 16, false, 16 },
        { "NVIDIA A100 80GB", &eager, "F16", 16, false, 16 },   { "NVIDIA H20 96GB", &cuda, "F16", 16, false, 1 },
        { "NVIDIA H20 96GB", &vllm, "F32", 32, false, 1 },      { "Google TPU v5e", &vllm, "BF16", 16, false, 1 },
    };
    struct fixture f;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        row(&f, cases[i].hardware, HW_GPU, cases[i].stack, cases[i].type, "2025-05");
        snprintf(f.p.type, sizeof f.p.type, "%s", cases[i].type);
        f.roofs.peak[MATH_FP32].flop_s = 2e13;
        f.roofs.peak[MATH_FP16].flop_s = 1e14;
        const struct stack_traits x = stack_traits_of(&f.p);
        assert_true(decode_tile(&x, cases[i].bits, cases[i].experts) == cases[i].tile);
    }
    /* 1e6 weights by one token take the arithmetic of 64, at 0.9 of the peak where the parameter is 0.5; by 100 tokens their own. */
    struct step_pass pass = one_token;
    struct step c = product(MATH_FP16, 16, 2e6, 2e6);
    struct refinement o = { .key = 0 };
    row(&f, "NVIDIA H20 96GB", HW_GPU, &vllm, "BF16", "2025-05");
    f.roofs.peak[MATH_FP32].flop_s = 2e13;
    f.roofs.peak[MATH_FP16].flop_s = 1e14;
    const struct stack_traits x = stack_traits_of(&f.p);
    fitted_refine(&x, &pass, true, &c, &o);
    assert_true(near(c.cost.flop, 2e6 * 64 * 0.5 / 0.9));
    pass.n_tok = pass.n_seq = c.n_tok = 100;
    c.cost.flop = 2e8;
    fitted_refine(&x, &pass, true, &c, &o);
    assert_true(near(c.cost.flop, 2e8));
}

/* A request's prompt and steps: equal products are terms apart, and seconds are the sum of both; steps have the facts of decoding. (50) */
static void test_request(void **state)
{
    double parameter[TIME_PARAMETER_COUNT];
    struct step once = product(MATH_FP16, 16, 2e6, 2e12), again = product(MATH_FP16, 16, 2e6, 2e6);
    struct work_pass pass[] = { { .at = { PHASE_PREFILL, 1000, 0, 1 }, .times = 1, .c = &once, .n = 1 },
                                { .at = one_token, .times = 1000, .c = &again, .n = 1 } };
    struct fixture f;
    struct fitted_row r;
    (void)state;
    row(&f, "NVIDIA A100 80GB", HW_GPU, &cuda, "F16", "2024-05");
    f.m.phase = MEASURE_REQUEST;
    f.roofs = machine();
    f.p.pass = pass;
    f.p.n_pass = 2;
    assert_true(fitted_row_init(&r, &f.p, FITTED_RATE));
    assert_int_equal(r.f.n_term, 2);
    plain_slots(parameter);
    /* 2e12 FLOP at half of 1e14 are 40 ms; a thousand steps of 2 us at half the bandwidth 4 ms, and 14 operations a weight 1.4 us each. */
    assert_true(near(exp(time_ln_seconds(&r.f, parameter)), 44e-3));
    assert_true(near(r.f.term[1].vector_s, 1000 * 14e6 / 1e13));
    assert_true(near(r.f.term[1].launched, 1250) && near(r.f.term[0].launched, 1));
}

/* Servers' devices exchange by one kernel, in the gradient too; chips of AWS are two ranks each. (47) */
static void test_exchange(void **state)
{
    double parameter[TIME_PARAMETER_COUNT], g[TIME_PARAMETER_COUNT];
    struct time_features f = { .sequential = 1, .one_step = true };
    const struct roofs r = { .bytes_s = 1e12, .link_bytes_s = 1e11, .link_latency_s = 3e-6 };
    struct step c = { .kind = OP_ALL_REDUCE, .math = MATH_FP32, .count = 100, .n_comm = 8, .cost = { .link_bytes = 1e6 } };
    struct refinement o = { .key = 0 };
    struct fixture fx;
    (void)state;
    plain_slots(parameter);
    parameter[TIME_LINK] = log(0.5);
    time_add(&f, &r, &c, &o);
    assert_true(near(exp(time_ln_seconds(&f, parameter)), 100 * (1e6 / 5e10 + 8e-6)));
    time_gradient(&f, parameter, g, NULL);
    assert_true(near(g[TIME_HOP], 8e-6 / (1e6 / 5e10 + 8e-6)));
    struct stack_traits x = stack_traits_of(row(&fx, "NVIDIA H100", HW_GPU, &vllm, "F16", "2025-05"));
    assert_true(x.one_step && x.ranks == 1);
    x = stack_traits_of(row(&fx, "NVIDIA H100", HW_GPU, &cuda, "F16", "2025-05"));
    assert_false(x.one_step);
    x = stack_traits_of(row(&fx, "AWS Inferentia2", HW_NPU, &npu, "BF16", "2025-05"));
    assert_false(x.one_step);
    fitted_refine(&x, &one_token, true, &c, &o);
    assert_int_equal(c.n_comm, 16);
}

/* Check bits of a server's GDDR6 cross the bus: a byte for fifteen, with as many weights; of no other memory. (39) */
static void test_check_bytes(void **state)
{
    static const struct {
        const char *hardware, *class_name;
        bool checked;
    } cases[] = { { "NVIDIA A40", "datacenter GPU", true },      { "NVIDIA Tesla T4", "datacenter GPU", true },
                  { "NVIDIA A100 40GB", "datacenter GPU", false }, { "NVIDIA RTX A40", "workstation GPU", false },
                  { "NVIDIA H200", "datacenter GPU", false } };
    struct fixture f;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        row(&f, cases[i].hardware, HW_GPU, &cuda, "F16", "2025-01");
        snprintf(f.machine.class_name, sizeof f.machine.class_name, "%s", cases[i].class_name);
        const struct stack_traits x = stack_traits_of(&f.p);
        struct step c = product(MATH_FP16, 16, 3e6, 0);
        struct refinement o = { .key = 0 };
        fitted_refine(&x, &one_token, true, &c, &o);
        assert_true(near(c.cost.weight_bytes, cases[i].checked ? 3.2e6 : 3e6));
        assert_true(near(c.cost.weight_bytes * 8 / c.bits, 1.5e6));
    }
}

/* An engine on a machine has effects of its own, in addition to the machine's and the engine's: one of them teaches less about
 * another. (57) */
static void test_cpu_topology(void **state)
{
    struct fixture f;
    struct fit fit;
    struct fit_row out;
    struct fitted_row r;
    struct error err = { 0 };
    (void)state;
    fit_init(&fit);
    const struct stack *const stacks[] = { &cuda, &vllm };
    for (size_t i = 0; i < ARRAY_LEN(stacks); i++) {
        row(&f, "NVIDIA A100", HW_GPU, stacks[i], "F16", "2025-01");
        f.m.kind = MEASURE_RATE;
        f.m.topology = f.m.op = f.m.mode = "";
        const struct stack_traits x = stack_traits_of(&f.p);
        fitted_row_of_case(&r, &x, 0);
        assert_ok(fitted_row_effects(&fit, &r, &out, &err), err);
    }
    const char *const once[] = { "bandwidth hardware=NVIDIA A100", "launch place=llama.cpp-cuda NVIDIA A100", "launch place=vllm NVIDIA A100" };
    for (size_t i = 0; i < ARRAY_LEN(once); i++)
        if (fit_find(&fit, once[i]) == FIT_NO_EFFECT)
            fail_msg("no effect \"%s\"", once[i]);
    fit_free(&fit);
}

/* Attention in one kernel and in three are learned apart; in one on CUDA's tensor cores its prior is that of servers. (doc/notes/attention.md) */
static void test_attention_kernels(void **state)
{
    struct step c = { .kind = OP_ATTENTION, .math = MATH_FP16, .count = 1, .n_tok = 512, .n_head = 32, .head_dim = 128, .group = 4,
                            .cost = { .flop = 1e12 } };
    struct work_pass pass = { .at = { PHASE_PREFILL, 512, 0, 1 }, .times = 1, .c = &c, .n = 1 };
    static const struct {
        const struct stack *stack;
        const char *hardware, *effect;
        bool flash;
        double value;
    } cases[] = {
        { &cuda, "NVIDIA RTX 3090", "attention kernel=llama.cpp-cuda matrix", true, 2 },
        { &cuda, "NVIDIA RTX 3090", "attention kernel=llama.cpp-cuda matrix apart", false, 1 },
        { &ik, "NVIDIA RTX 3090", "attention kernel=ik_llama.cpp matrix", true, 2 },
        { &vulkan, "NVIDIA RTX 3090", "attention kernel=llama.cpp-vulkan matrix", true, 1 },
        { &vllm, "NVIDIA RTX 3090", "attention kernel=vllm matrix", true, 2 },
        { &cuda, "NVIDIA GTX 1080", "attention kernel=llama.cpp-cuda vector", true, 1 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct fit fit;
        struct fit_row out;
        struct fitted_row r;
        struct error err = { 0 };
        fit_init(&fit);
        row(&f, cases[i].hardware, HW_GPU, cases[i].stack, "F16", "2025-11");
        f.m.topology = f.m.op = f.m.mode = "";
        f.m.phase = MEASURE_PREFILL;
        f.m.prompt = 512;
        f.m.flash_stated = true;
        f.m.flash = cases[i].flash;
        f.roofs = machine();
        f.p.pass = &pass;
        f.p.n_pass = 1;
        assert_true(fitted_row_init(&r, &f.p, FITTED_PROMPT));
        assert_ok(fitted_row_effects(&fit, &r, &out, &err), err);
        const uint16_t e = fit_find(&fit, cases[i].effect);
        if (e == FIT_NO_EFFECT)
            fail_msg("no effect \"%s\"", cases[i].effect);
        assert_true(near(exp(fit.effect[e].value), cases[i].value));
        fit_free(&fit);
    }
}

static void test_kinds(void **state)
{
    (void)state;
    const struct measurement decode = { .kind = MEASURE_RATE, .phase = MEASURE_DECODE },
                             prefill = { .kind = MEASURE_RATE, .phase = MEASURE_PREFILL },
                             prompt = { .kind = MEASURE_RATE, .phase = MEASURE_PREFILL, .prompt = 512 }, op = { .kind = MEASURE_OP };
    assert_int_equal(fitted_kind(&decode), FITTED_DECODE);
    assert_int_equal(fitted_kind(&prefill), FITTED_RATE);
    assert_true(fitted_learns_from(FITTED_RATE, &decode) && fitted_learns_from(FITTED_DECODE, &decode));
    assert_true(fitted_learns_from(FITTED_RATE, &prompt) && fitted_learns_from(FITTED_PROMPT, &prompt));
    assert_false(fitted_learns_from(FITTED_DECODE, &prefill) || fitted_learns_from(FITTED_PROMPT, &decode) || fitted_learns_from(FITTED_RATE, &op));
}

/* Traits of an NVIDIA GPU by name, whose FP16 is twice its FP32: tensor cores, integers' own lanes, Volta's shared memory. */
static void test_generations(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool before_volta, volta, integers_apart, has_matrix;
    } gpus[] = {
        { "NVIDIA GeForce GTX 1080 Ti", true, false, false, false }, { "NVIDIA Tesla P40", true, false, false, false },
        { "NVIDIA GeForce MX150", true, false, false, false },       { "NVIDIA GeForce GT 1030", true, false, false, false },
        { "NVIDIA Jetson AGX Xavier", false, true, true, true },     { "NVIDIA V100", false, true, true, true },
        { "NVIDIA GeForce GTX 1660 SUPER", false, false, true, false }, { "NVIDIA T1000 8GB", false, false, true, false },
        { "NVIDIA GeForce MX450", false, false, true, false },       { "NVIDIA T4", false, false, true, true },
        { "NVIDIA RTX 2080", false, false, true, true },             { "NVIDIA Quadro RTX 8000", false, false, true, true },
        { "NVIDIA RTX A4000", false, false, false, true },           { "NVIDIA RTX 4060", false, false, false, true },
    };
    for (size_t i = 0; i < 2 * ARRAY_LEN(gpus); i++) {
        const size_t n = i / 2;
        struct fixture f;
        row(&f, i % 2 ? "a-profile" : gpus[n].name, HW_GPU, &cuda, "Q4_K_M", "2026-01");
        if (i % 2) { /* as predict has it: a profile's id, and its name */
            snprintf(f.machine.h.name, sizeof f.machine.h.name, "%s", gpus[n].name);
            snprintf(f.machine.h.vendor, sizeof f.machine.h.vendor, "NVIDIA");
        }
        f.roofs.peak[MATH_FP32].flop_s = 5e12;
        f.roofs.peak[MATH_FP16].flop_s = 10e12;
        const struct stack_traits x = stack_traits_of(&f.p);
        const bool before = x.generation == GENERATION_BEFORE_VOLTA, volta = x.generation == GENERATION_VOLTA, apart = x.integers < 1;
        if (before != gpus[n].before_volta || volta != gpus[n].volta || apart != gpus[n].integers_apart || x.has_matrix != gpus[n].has_matrix)
            fail_msg("%s: before Volta %d, Volta %d, integers apart %d, tensor cores %d", gpus[n].name, before, volta, apart, x.has_matrix);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_old),  cmocka_unit_test(test_ops),   cmocka_unit_test(test_launches),
        cmocka_unit_test(test_rows_kernel), cmocka_unit_test(test_rows_several),
        cmocka_unit_test(test_host), cmocka_unit_test(test_expert_launches),
        cmocka_unit_test(test_time), cmocka_unit_test(test_kinds), cmocka_unit_test(test_staged),
        cmocka_unit_test(test_staged_step), cmocka_unit_test(test_latency_bound), cmocka_unit_test(test_check_bytes), cmocka_unit_test(test_attention_kernels),
        cmocka_unit_test(test_cpu_topology),
        cmocka_unit_test(test_tiles), cmocka_unit_test(test_request), cmocka_unit_test(test_exchange),
    };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
