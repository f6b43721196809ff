/* Which units an engine multiplies with, by machine, age, type and tokens: the cases of methods.md (43), figures by hand. */
#include "base/environment.h"
#include "../test.h"
#include "dataset/internal.h"
#include "stacks/effects.h"
#include "stacks/units.h"
#include "timing/timing.h"
#include <math.h>

#define assert_near(a, b, rel)                                                        \
    do {                                                                              \
        if (!(fabs((a) - (b)) <= (rel) * fabs((double)(b))))                            \
            fail_msg("%s = %.9g, expected %.9g", #a, (double)(a), (double)(b));       \
    } while (0)

/* A machine of these teraflops (0: it has no such figure) and a row of that engine on it. */
struct row {
    struct workload p;
    struct measurement m;
    struct machine machine;
    struct roofs roofs;
};

static void put(struct peak *to, double tflops, double borrowed)
{
    *to = (struct peak){ .flop_s = (tflops > 0 ? tflops : borrowed) * 1e12, .derived = !(tflops > 0) };
}

static struct row *on(const char *hardware, const char *class_name, double fp32, double fp16, double int8, const char *engine,
                      const char *date, const char *notes)
{
    static struct row r;
    r = (struct row){ .m = { .hardware = hardware, .engine = engine, .date = date, .notes = notes } };
    snprintf(r.machine.hardware, sizeof r.machine.hardware, "%s", hardware);
    snprintf(r.machine.class_name, sizeof r.machine.class_name, "%s", class_name);
    measure_read_notes(&r.m);
    r.p.m = &r.m;
    r.p.machine = &r.machine;
    r.p.roofs = &r.roofs;
    r.machine.h.kind = HW_GPU;
    r.p.stack = stack_find(engine, hardware);
    put(&r.roofs.peak[MATH_FP32], fp32, 0);
    put(&r.roofs.peak[MATH_FP16], fp16, fp32);
    put(&r.roofs.peak[MATH_BF16], fp16, fp32);
    put(&r.roofs.peak[MATH_INT8], int8, 0);
    return &r;
}

static struct row *rtx3090(const char *date)
{
    return on("NVIDIA RTX 3090", "consumer GPU", 35.6, 71.2, 284, "llama.cpp", date, "");
}

static struct stack_traits stack_traits_of(const struct row *r)
{
    struct stack_traits f;
    stack_traits_init(&f, &r->p);
    return f;
}

static struct unit_use product(const struct row *r, enum math math, double bits, double n_tok)
{
    const struct stack_traits f = stack_traits_of(r);
    return unit_of_product(&f, math, bits, n_tok);
}

static struct unit_use attention_of(const struct row *r, double head_dim, double group)
{
    const struct stack_traits f = stack_traits_of(r);
    return unit_of_attention(&f, head_dim, group, 512);
}

static struct unit_use attention(const struct row *r, double n_tok)
{
    const struct stack_traits f = stack_traits_of(r);
    return unit_of_attention(&f, 128, 4, n_tok);
}

static double expert_s(const struct row *r, double bits, double n_tok)
{
    const struct stack_traits f = stack_traits_of(r);
    return unit_expert_s(&f, bits, n_tok);
}

static double padding(const struct row *r, double n_tok, double n_matrix)
{
    const struct stack_traits f = stack_traits_of(r);
    return unit_padding(&f, n_tok, n_matrix);
}

static void expect(struct unit_use u, enum unit unit, double tflops, double staged)
{
    assert_string_equal(unit_name(u.unit), unit_name(unit));
    assert_near(u.flop_s, tflops * 1e12, 1e-3);
    assert_near(u.staged_bytes, staged, 1e-9);
}

/* GeForce's 16-bit figure is for 32-bit sums; cuBLAS adds in 16 bits for llama.cpp. Other cards have one rate. */
static void test_geforce(void **state)
{
    (void)state;
    expect(product(rtx3090("2025-06"), MATH_FP16, 16, 512), UNIT_MATRIX, 142.4, 0);
    expect(product(rtx3090("2025-06"), MATH_BF16, 16, 512), UNIT_MATRIX, 71.2, 0);
    struct row *a40 = on("NVIDIA A40", "datacenter GPU", 37.4, 149.7, 299, "llama.cpp", "", "");
    expect(product(a40, MATH_FP16, 16, 512), UNIT_MATRIX, 149.7, 0);
    /* a file that has the figure for 16-bit sums already */
    struct row *given = on("NVIDIA RTX 4070", "consumer GPU", 29.15, 116.6, 233, "llama.cpp", "", "");
    expect(product(given, MATH_FP16, 16, 512), UNIT_MATRIX, 116.6, 0);
    struct row *vllm = on("NVIDIA RTX 3090", "consumer GPU", 35.6, 71.2, 284, "vLLM 0.9", "", "");
    expect(product(vllm, MATH_FP16, 16, 512), UNIT_MATRIX, 71.2, 0);
}

/* Quantized weights on CUDA: made FP16 first, until MMQ had tensor cores; without tensor cores on dp4a. 64 products of a block and 4
 * instructions for its scales: 64 / (64 / 284 + 8 / 35.6) Tflop/s. */
static void test_quantized(void **state)
{
    (void)state;
    expect(product(rtx3090("May 2024; build 4426e298 (2824)"), MATH_FP16, 4.5, 512), UNIT_MATRIX, 142.4, 2);
    expect(product(rtx3090("2024-06 (PR value)"), MATH_FP16, 4.5, 512), UNIT_INTEGER, 142.2, 0);
    expect(product(rtx3090(""), MATH_FP16, 4.5, 6), UNIT_INTEGER, 142.2, 0);
    struct row *volta = on("NVIDIA V100 PCIe", "datacenter GPU", 15.7, 125, 0, "llama.cpp", "", ""); /* has no integers there */
    expect(product(volta, MATH_FP16, 4.5, 512), UNIT_MATRIX, 125, 2);
    struct row *pascal = on("NVIDIA GTX 1050 Ti", "consumer GPU", 2.1, 0, 0, "llama.cpp", "", "");
    expect(product(pascal, MATH_FP16, 4.5, 512), UNIT_DOT, 5.6, 0);
    expect(product(pascal, MATH_FP16, 16, 512), UNIT_VECTOR, 2.1, 0);
}

static void test_other_makers(void **state)
{
    (void)state;
    struct row *b70 = on("Intel Arc Pro B70", "workstation GPU", 22.9, 184, 367, "llama.cpp (sycl)", "build 74d6248f7 (9039)", "fa=1");
    expect(product(b70, MATH_BF16, 16, 512), UNIT_VECTOR, 22.9, 4);
    expect(product(b70, MATH_FP16, 16, 512), UNIT_MATRIX, 184, 0);
    expect(product(b70, MATH_FP16, 4.5, 512), UNIT_MATRIX, 184, 2);
    expect(attention(b70, 512), UNIT_VECTOR, 22.9, 0);
    struct row *rdna2 = on("AMD RX 6800 XT", "consumer GPU", 20.74, 41.5, 83, "llama.cpp (ROCm)", "2024-01-22", "");
    expect(product(rdna2, MATH_FP16, 6.6, 512), UNIT_DOT, 55.307, 0); /* 64 / (64 / 82.96 + 8 / 20.74) */
    expect(product(rdna2, MATH_FP16, 16, 512), UNIT_VECTOR, 41.5, 0);
    struct row *rdna3 = on("AMD Radeon 8060S", "unified SoC GPU", 59, 59, 0, "llama.cpp (ROCm)", "build a4575513 (5863)", "");
    put(&rdna3->roofs.peak[MATH_FP16], 118, 0);
    expect(product(rdna3, MATH_FP16, 4.5, 63), UNIT_DOT, 59 * 8 / 6.0, 0); /* 64 / (64 / 118 + 8 / 29.5) */
    expect(product(rdna3, MATH_FP16, 4.5, 64), UNIT_MATRIX, 118, 2);       /* hipBLAS */
    rdna3->m.date = "build 0253fb21f (9187)";
    expect(product(rdna3, MATH_FP16, 4.5, 64), UNIT_INTEGER, 128 / (128 / 236.0 + 16 / 29.5), 0);
    struct row *old = on("AMD RX 6800 XT", "consumer GPU", 20.74, 41.5, 83, "llama.cpp (Vulkan)", "2024-01-22", "");
    expect(product(old, MATH_FP16, 6.6, 512), UNIT_VECTOR, 20.74, 0);
    struct row *m2 = on("Apple M2 Ultra (76-core GPU)", "Apple GPU", 26.98, 26.98, 0, "mlx-lm 0.28.2", "", "");
    expect(product(m2, MATH_FP16, 4.5, 2048), UNIT_GRID, 26.98, 0);
    struct row *f32 = on("Intel Arc Pro B70", "workstation GPU", 22.9, 184, 367, "llama.cpp (sycl)", "build 74d6248f7 (9039)", "GGML_SYCL_F16=OFF");
    expect(product(f32, MATH_FP16, 4.5, 512), UNIT_VECTOR, 22.9, 4);
}

/* Neural accelerators of the M5's GPU: products of prompts in MLX and llama.cpp's tensor API, since both have kernels for them. */
static void test_neural_accelerators(void **state)
{
    (void)state;
    static const struct {
        const char *hardware, *engine, *date;
        double n_tok;
        enum unit unit;
    } cases[] = {
        { "Apple M5 Max", "mlx-lm 0.31.0", "", 512, UNIT_MATRIX },
        { "Apple M5 Max", "mlx-lm 0.31.0", "", 8, UNIT_GRID },
        { "Apple M5 Max", "mlx-lm 0.28.2", "", 512, UNIT_GRID },
        { "Apple M5 Max", "llama.cpp (Metal)", "b9592", 512, UNIT_MATRIX },
        { "Apple M5 Max", "llama.cpp (Metal)", "b6900", 512, UNIT_GRID },
        { "Apple M5 Max", "LM Studio", "2026-06", 512, UNIT_GRID },
        { "Apple M5 Max", "ollama", "2026-06", 512, UNIT_GRID },
        { "Apple M4 Max", "mlx-lm 0.31.0", "", 512, UNIT_GRID },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct row *m5 = on(cases[i].hardware, "Apple GPU", 16.2, 64.6, 0, cases[i].engine, cases[i].date, "fa=1");
        const bool matrix = cases[i].unit == UNIT_MATRIX;
        const char *const version = strchr(cases[i].engine, '0');
        m5->m.version = version ? version : "";
        expect(product(m5, MATH_FP16, 4.5, cases[i].n_tok), cases[i].unit, matrix ? 64.6 : 16.2, 0);
        expect(attention(m5, cases[i].n_tok), UNIT_GRID, 16.2, 0);
    }
}

/* MXFP4 weights on FP4 tensor cores of compute capability 12, twice the rate of 8 bits and no scales on the vector units. */
static void test_fp4(void **state)
{
    (void)state;
    struct row *spark = on("NVIDIA DGX Spark (GB10)", "unified SoC GPU", 31, 124, 248, "llama.cpp (CUDA)", "b7600", "");
    spark->m.quant = "MXFP4_MOE";
    spark->machine.h.peak[MATH_FP4].value = 500e12;
    put(&spark->roofs.peak[MATH_FP4], 500, 0);
    expect(product(spark, MATH_FP16, 4.25, 512), UNIT_INTEGER, 500, 0);
    expect(product(spark, MATH_FP16, 8.5, 512), UNIT_INTEGER, 64 / (64 / 248.0 + 8 / 31.0), 0); /* the others of its file */
    spark->m.date = "b7400";
    expect(product(spark, MATH_FP16, 4.25, 512), UNIT_INTEGER, 64 / (64 / 248.0 + 8 / 31.0), 0);
}

/* RDNA attends on its matrix units since build 7700; without flash attention scores go through memory. */
static void test_attention(void **state)
{
    (void)state;
    struct row *r = on("AMD Radeon AI PRO R9700", "workstation GPU", 47.8, 191, 383, "llama.cpp (rocm7.1.1)", "build 2aa45ef9e (7423)",
                       "tags=; fa=1");
    expect(attention(r, 512), UNIT_VECTOR, 47.8, 0);
    r->m.date = "build 0253fb21f (9187)";
    expect(attention(r, 512), UNIT_MATRIX, 191, 0);
    expect(attention_of(r, 128, 1), UNIT_VECTOR, 47.8, 0); /* no heads to share a key */
    expect(attention_of(r, 256, 4), UNIT_VECTOR, 47.8, 0); /* wide heads */
    r->m.flash = false;
    expect(attention(r, 512), UNIT_MATRIX, 191, 16);
    struct row *vulkan = on("AMD RX 9070 XT", "consumer GPU", 48.7, 194.6, 389, "llama.cpp (Vulkan)", "", "fa=1");
    expect(attention(vulkan, 512), UNIT_VECTOR, 48.7, 0);
    struct row *ada = on("NVIDIA RTX 4090", "consumer GPU", 82.6, 165.2, 660, "llama.cpp (Vulkan)", "", "fa=1");
    expect(attention(ada, 512), UNIT_MATRIX, 165.2, 0);
}

/* Hopper's own kernels of llama.cpp multiply by an instruction that attains 0.63 of its peak; cuBLAS by another. (doc/notes/stacks.md) */
static void test_hopper(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double part;
    } gpus[] = { { "NVIDIA H100 80GB SXM", 0.63 }, { "NVIDIA GH200 480GB", 0.63 }, { "NVIDIA H20", 1 }, { "NVIDIA B200", 1 }, { "NVIDIA A100", 1 } };
    for (size_t i = 0; i < ARRAY_LEN(gpus); i++) {
        struct row *r = on(gpus[i].name, "datacenter GPU", 67, 989, 1979, "llama.cpp (cuda)", "2026-09", "fa=1");
        assert_near(product(r, MATH_FP16, 4.5, 512).flop_s, 64 / (64 / (gpus[i].part * 1979e12) + 8 / 67e12), 1e-3);
        assert_near(product(r, MATH_FP16, 16, 512).flop_s, 989e12, 1e-3);
        assert_near(attention(r, 512).flop_s, gpus[i].part * 989e12, 1e-3);
        r = on(gpus[i].name, "datacenter GPU", 67, 989, 1979, "llama.cpp (cuda)", "2026-09", "fa=0");
        assert_near(attention(r, 512).flop_s, 989e12, 1e-3);
        r = on(gpus[i].name, "datacenter GPU", 67, 989, 1979, "llama.cpp (vulkan)", "2026-09", "fa=1");
        assert_near(product(r, MATH_FP16, 4.5, 512).flop_s, gpus[i].part * 989e12, 1e-3);
        r = on(gpus[i].name, "datacenter GPU", 67, 989, 1979, "vLLM 0.9", "2026-09", "");
        assert_near(attention(r, 512).flop_s, 989e12, 1e-3);
    }
}

/* Default of fused attention, where rows do not state it: llama.cpp's benchmark from May 2026 on, measurements of prompts at a depth
 * always; other engines have no other. */
static void test_flash(void **state)
{
    static const struct {
        const char *engine, *date, *notes;
        enum measure_phase phase;
        double context;
        bool flash;
    } cases[] = {
        { "llama.cpp (CUDA)", "build 2aa45ef9e (9436)", "", MEASURE_PREFILL, 0, false },
        { "llama.cpp (CUDA)", "build 2aa45ef9e (9437)", "", MEASURE_PREFILL, 0, true },
        { "llama.cpp (CUDA)", "", "", MEASURE_PREFILL, 0, true },
        { "llama.cpp (CUDA)", "2025-11 (PR value)", "", MEASURE_PREFILL, 32768, true },
        { "llama.cpp (CUDA)", "2025-11 (PR value)", "", MEASURE_DECODE, 32768, false },
        { "llama.cpp (CUDA)", "2025-11 (PR value)", "tags=; no FA", MEASURE_PREFILL, 32768, false },
        { "llama.cpp (CUDA)", "2024-05", "", MEASURE_PREFILL, 4096, false },
        { "llama.cpp (CUDA)", "2024-05", "tags=; fa=1", MEASURE_PREFILL, 4096, true },
        { "vllm", "2024-05", "", MEASURE_PREFILL, 0, true },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct stack_traits f;
        struct row *r = on("NVIDIA RTX 3090", "consumer GPU", 35.6, 71.2, 284, cases[i].engine, cases[i].date, cases[i].notes);
        r->m.phase = cases[i].phase;
        r->m.context = cases[i].context;
        stack_traits_init(&f, &r->p);
        if (f.flash != cases[i].flash)
            fail_msg("case %zu: flash %d", i, f.flash);
    }
}

/* Experts started one by one: 16-bit ones of several tokens, quantized ones before kernels for all, and SYCL's but those of one token. */
static void test_experts(void **state)
{
    (void)state;
    static const struct {
        const char *hardware, *engine, *date;
        double bits, n_tok, us;
    } cases[] = {
        { "NVIDIA RTX 3090", "llama.cpp", "", 16, 1, 0 },          { "NVIDIA RTX 3090", "llama.cpp", "", 16, 128, 0 },
        { "NVIDIA RTX 3090", "llama.cpp", "", 16, 129, 18 },       { "NVIDIA RTX 3090", "llama.cpp", "", 4.5, 512, 0 },
        { "NVIDIA RTX 3090", "llama.cpp", "b6799", 16, 2, 18 },    { "NVIDIA RTX 3090", "llama.cpp", "b6800", 16, 2, 0 },
        { "NVIDIA RTX 3090", "llama.cpp", "b5159", 4.5, 1, 18 },   { "NVIDIA RTX 3090", "llama.cpp", "b5160", 4.5, 1, 0 },
        { "NVIDIA RTX 3090", "llama.cpp", "b5249", 4.5, 512, 18 }, { "NVIDIA RTX 3090", "llama.cpp", "b5250", 4.5, 512, 0 },
        { "AMD RX 9070 XT", "llama.cpp (ROCm)", "", 16, 1, 0 },    { "AMD RX 9070 XT", "llama.cpp (ROCm)", "", 16, 129, 18 },
        { "AMD RX 9070 XT", "llama.cpp (ROCm)", "2025-03", 4.5, 1, 18 },
        { "AMD RX 9070 XT", "llama.cpp (ROCm)", "2025-03", 4.5, 512, 18 },
        { "AMD RX 9070 XT", "llama.cpp (ROCm)", "b7423", 4.5, 512, 0 },
        { "AMD RX 9070 XT", "llama.cpp (Vulkan)", "", 16, 512, 0 },
        { "Intel Arc Pro B70", "llama.cpp (sycl)", "b9039", 4.8, 1, 0 },
        { "Intel Arc Pro B70", "llama.cpp (sycl)", "b9039", 4.8, 512, 40 },
        { "Intel Arc Pro B70", "llama.cpp (sycl)", "b9039", 16, 1, 40 },
        { "Intel Arc Pro B70", "llama.cpp (sycl)", "2026-01", 4.8, 1, 40 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct row *r = on(cases[i].hardware, "consumer GPU", 48.7, 194.6, 389, cases[i].engine, cases[i].date, "");
        const double us = 1e6 * expert_s(r, cases[i].bits, cases[i].n_tok);
        if (fabs(us - cases[i].us) > 1e-9)
            fail_msg("case %zu: %g us", i, us);
    }
    /* SYCL's kernel for all experts of a token is of some types. */
    struct row *sycl = on("Intel Arc Pro B70", "workstation GPU", 22.9, 184, 367, "llama.cpp (sycl)", "build 74d6248f7 (9039)", "");
    snprintf(sycl->p.type, sizeof sycl->p.type, "MXFP4");
    assert_near(expert_s(sycl, 4.25, 1), 40e-6, 1e-9);
    snprintf(sycl->p.type, sizeof sycl->p.type, "IQ4_XS");
    assert_near(expert_s(sycl, 4.25, 1), 40e-6, 1e-9);
}

/* 48 tokens are two tiles of 32; 100 on 4 experts leave half a tile unused on each: (100 + 4 * 16) / 100. */
static void test_padding(void **state)
{
    (void)state;
    struct row *r = rtx3090("");
    assert_near(padding(r, 48, 1), 64.0 / 48, 1e-12);
    assert_near(padding(r, 512, 1), 1, 1e-12);
    assert_near(padding(r, 8, 1), 1, 1e-12);
    assert_near(padding(r, 100, 4), 1.64, 1e-12);
    r->machine.h.kind = HW_CPU;
    assert_near(padding(r, 48, 1), 1, 1e-12);
}

/*
 * One product of 2e12 FLOP at 1e12 FLOP/s of its own units, half of which is attained: 4 s. 3e9 bytes pass before it at 1e9 B/s, three
 * quarters of which are: 4 s. The host takes 1 s. Nothing else: 9 s; of two stages that work at once, three quarters.
 */
static void test_seconds(void **state)
{
    (void)state;
    double parameter[TIME_PARAMETER_COUNT];
    for (int i = 0; i < TIME_PARAMETER_COUNT; i++)
        parameter[i] = log(1e-12);
    parameter[TIME_BANDWIDTH] = log(0.75);
    parameter[TIME_COMPUTE] = log(0.5);
    parameter[TIME_REQUEST] = 0;
    parameter[TIME_OVERLAP] = log(40);
    struct roofs r = { .bytes_s = 1e9 };
    r.peak[MATH_FP16].flop_s = 5e12; /* not those */
    r.peak[MATH_FP32].flop_s = 1e12;
    const struct step c = { .kind = OP_MATMUL, .math = MATH_FP16, .count = 1, .bits = 16, .cost = { .flop = 2e12, .weight_bytes = 1e3 } };
    const struct refinement o = { .key = 1, .flop_s = 1e12, .staged_bytes = 3e9, .host_s = 1 };
    struct time_features f = { .n_pass = 1 };
    time_add(&f, &r, &c, &o);
    assert_near(exp(time_ln_seconds(&f, parameter)), 9, 2e-3); /* e_b's smooth cap: 0.75 is 0.7494 */
    f.pipelined = 0.75;
    assert_near(exp(time_ln_seconds(&f, parameter)), 6.75, 2e-3);
}

/* What one kernel of a prompt writes the next one reads from the last cache, if that holds both's tensors. (doc/notes/stacks.md) */
static void test_cached_acts(void **state)
{
    static const struct {
        enum hw_kind kind;
        double cache, act, reads;
    } cases[] = { { HW_GPU, 72e6, 44e6, 0.4 * 44e6 }, { HW_GPU, 72e6, 72e6, 0.4 * 72e6 }, { HW_GPU, 72e6, 73e6, 73e6 },
                  { HW_GPU, NAN, 1e6, 1e6 },          { HW_CPU, 72e6, 1e6, 1e6 } };
    const struct step_pass at = { .phase = PHASE_PREFILL, .n_tok = 512, .n_seq = 1 };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct row *r = on("NVIDIA RTX 4090", "consumer GPU", 82.6, 165.2, 660, "llama.cpp", "", "fa=1");
        struct refinement o = { .key = 0 };
        struct step c = { .kind = OP_GLU, .count = 1, .n_tok = 512, .cost = { .act_bytes = cases[i].act } };
        struct stack_traits f;
        r->machine.h.kind = cases[i].kind;
        r->machine.h.cache_bytes.value = cases[i].cache;
        stack_traits_init(&f, &r->p);
        fitted_refine(&f, &at, false, &c, &o);
        assert_near(c.cost.act_bytes, cases[i].reads, 1e-12);
        c.cost.act_bytes = cases[i].act; /* steps have none to speak of: their constants know nothing of it */
        fitted_refine(&f, &at, true, &c, &o);
        assert_near(c.cost.act_bytes, cases[i].act, 1e-12);
    }
}

/*
 * Llama-3-70B's prompts through devices that have layers each: 80 layers of 7 products, attention, a cache's store, two norms, two rotations, two sums
 * and a gate. By a library quantized products are 4 kernels and others 3, attention 10: 50 kernels a layer and 43, of which a stream takes some 1000
 * before its host waits. (45)
 */
static void test_pipeline(void **state)
{
    static const struct {
        const char *engine, *date;
        double bits, passes;
        int devices;
        double part;
    } cases[] = {
        { "llama.cpp (CUDA)", "2024-05", 4.5, 8, 4, 1 },           /* 1000 kernels a device: a pass fills its queue */
        { "llama.cpp (CUDA)", "2024-05", 4.5, 8, 2, 1 },
        { "llama.cpp (CUDA)", "2024-05", 16, 8, 4, 17 / 32.0 },    /* 860: two passes at once, four times four and one */
        { "llama.cpp (CUDA)", "2024-05", 16, 2, 4, 5 / 8.0 },
        { "llama.cpp (CUDA)", "2024-05", 4.5, 8, 8, 33 / 64.0 },   /* 500 */
        { "llama.cpp (CUDA)", "2024-05", 16, 8, 20, 43 / 160.0 },  /* 172: there are buffers for four */
        { "llama.cpp (CUDA)", "2025-11", 4.5, 8, 4, 17 / 32.0 },   /* quantized on integer units, 2 kernels: 660 */
        { "llama.cpp (CUDA)", "2025-11", 4.5, 8, 6, 20 / 48.0 },   /* 440: three at once */
        { "llama.cpp (ROCm)", "2024-05", 4.5, 8, 4, 11 / 32.0 },
        { "llama.cpp (CUDA)", "2024-05", 4.5, 1, 4, 1 },           /* one pass overlaps with none */
    };
    struct step c[] = {
        { .kind = OP_MATMUL, .math = MATH_FP16, .count = 560, .n_tok = 512, .rows = 8192, .cols = 8192 },
        { .kind = OP_ATTENTION, .math = MATH_FP16, .count = 80, .n_tok = 512, .n_head = 64, .head_dim = 128, .group = 8 },
        { .kind = OP_KV_STORE, .count = 80 },
        { .kind = OP_RMS_NORM, .count = 160 },
        { .kind = OP_ROPE, .count = 160 },
        { .kind = OP_ADD, .count = 160 },
        { .kind = OP_GLU, .count = 80 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct row *r = on("NVIDIA A100", "datacenter GPU", 19.5, 312, 624, cases[i].engine, cases[i].date, "no flash attention");
        struct stack_traits f;
        c[0].bits = cases[i].bits;
        stack_traits_init(&f, &r->p);
        double n_kernel = 0;
        for (size_t k = 0; k < ARRAY_LEN(c); k++)
            n_kernel += c[k].count * unit_kernels(&f, c[k].kind, c[k].bits, c[k].n_tok);
        const double part = time_overlap(cases[i].passes, cases[i].devices, f.copies, n_kernel);
        if (fabs(part / cases[i].part - 1) > 1e-9)
            fail_msg("case %zu: %.6g, expected %.6g", i, part, cases[i].part);
    }
    assert_near(time_overlap(8, 8, 0, 0), 15 / 64.0, 1e-12); /* servers have buffers for all */
    /* 2495 kernels a pass: four devices have two passes under way, 9 / 16, five three, which fit 12 / 20 */
    assert_near(time_overlap(4, 4, 4, 2495), 9 / 16.0, 1e-12);
    assert_near(time_overlap(4, 5, 4, 2495), 9 / 16.0, 1e-12);
    /* a short last pass: a round of its own length */
    assert_near(time_overlap(1.25, 4, 4, 0), 4.25 / 5, 1e-12);
    assert_near(time_overlap(4.25, 4, 4, 2495), (4 * 2.25 + 1) / 17, 1e-12);
}

static void expect_build(const struct measurement *m, int build)
{
    if (stack_traits_build(m) != build)
        fail_msg("%s, %d, \"%s\", \"%s\": build %d, expected %d", m->engine, m->build, m->date, m->notes, stack_traits_build(m), build);
}

static void test_builds(void **state)
{
    (void)state;
    static const struct {
        const char *date;
        int build;
    } cases[] = { { "build 2aa45ef9e (7423)", 7423 }, { "b9174-g0253fb21f", 9174 }, { "May 2024; build 4426e298 (2824)", 2824 },
                  { "May 2024", 2300 },               { "2024-06 (PR value)", 3100 }, { "2024-01-22", 1590 },
                  { "2026 (PR value)", 9440 },        { "2023-05", 1 },               { "", 0 }, { "v0.5", 0 },
                  { "build 2824", 2824 },             { "4426e298 (9000)", 9000 },    { "2026-06; build 9436", 9436 }, { "build 4426e298", 0 },
                  { "build 12345678", 0 },            { "2025-11 (PR value)", 6660 },
                  { "build: 9436", 9436 },            { "build=9436", 9436 },         { "Build #b9436", 9436 },      { "build: 4426e298 (2824)", 2824 },
                  { "b10830", 10830 },                { "b9436", 9436 },              { "rebuild 9436", 0 },         { "b94361234", 0 },
                  { "jan 2025", 4230 },               { "JAN 2025", 4230 },           { "January 2025", 4230 },      { "15 january 2025", 4230 },
                  { "Sept. 3, 2025", 6060 },          { "2025/01/15", 4230 },         { "2025-13-45", 0 },           { "1970-01-01T00:00:00Z", 0 },
                  { "2024-05-10 b2048", 2048 } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct measurement m = { .engine = "llama.cpp (CUDA)", .date = cases[i].date, .notes = "" };
        expect_build(&m, cases[i].build);
    }
}

/* A program's own number comes first, then the date, notes, and the month; forks and programs around llama.cpp count their own. */
static void test_whose_builds(void **state)
{
    (void)state;
    static const struct {
        const char *engine, *date, *notes;
        int own, build;
    } cases[] = {
        { "llama.cpp (CUDA)", "2026-11-02T03:04:05Z", "", 2824, 2824 },
        { "llama.cpp (CUDA)", "2026-11-02", "tags=; build: 9436", 0, 9436 },
        { "llama-bench", "2026-11-02", "tags=; build=9436, -fa 1", 0, 9436 },
        { "llama.cpp", "2026-11-02", "tags=; prebuilt llama.cpp b9535, best of 5", 0, 9535 },
        { "llama.cpp", "build 7423", "tags=; b9535", 0, 7423 },
        { "llama.cpp", "2026-11-02", "tags=; -b 2048, b2048, commit abc (1234)", 0, 11000 },
        { "", "build 7423", "", 0, 7423 },
        { "ik_llama.cpp (CUDA)", "build 3f2b1c (4001)", "", 0, 0 },
        { "ik_llama.cpp", "b4001", "tags=; build 4001", 0, 0 },
        { "ik_llama.cpp", "2025-11; build 4001", "", 0, 6660 },
        { "ollama", "build 1234", "", 0, 0 },
        { "LM Studio", "build 1234", "", 0, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct measurement m = { .engine = cases[i].engine, .date = cases[i].date, .notes = cases[i].notes, .build = cases[i].own };
        expect_build(&m, cases[i].build);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geforce),   cmocka_unit_test(test_quantized), cmocka_unit_test(test_other_makers), cmocka_unit_test(test_neural_accelerators), cmocka_unit_test(test_fp4),
        cmocka_unit_test(test_attention), cmocka_unit_test(test_experts),   cmocka_unit_test(test_builds), cmocka_unit_test(test_whose_builds),
        cmocka_unit_test(test_flash),    cmocka_unit_test(test_hopper),
        cmocka_unit_test(test_pipeline), cmocka_unit_test(test_cached_acts),
        cmocka_unit_test(test_padding),   cmocka_unit_test(test_seconds),
    };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
