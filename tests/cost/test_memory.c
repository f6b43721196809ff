/* Memory of a deployment: what servers print of themselves, and figures worked out by hand. methods.md (25) */
#include "base/environment.h"
#include "../test.h"
#include "tests/config.h"
#include "cost/memory.h"
#include "tests/near.h"
#include "predict/predict.h"
#include <stdlib.h>

static const double GiB = 1073741824;

static struct hwprofile machine(enum hw_kind kind, double bytes)
{
    struct hwprofile h = { .kind = kind };
    snprintf(h.id, sizeof h.id, "test-machine");
    h.mem_bytes.value = bytes;
    return h;
}

/* A model with its op list, compiled. */
struct subject {
    struct model m;
    struct op_list ops;
    struct op_classes classes;
};

static void compile(struct subject *s)
{
    struct error err = { 0 };
    assert_ok(op_list_build(&s->ops, &s->m, &err), err);
    assert_ok(op_classes_init(&s->classes, &s->m, &s->ops, &err), err);
}

static void subject_config(struct subject *s, const char *config)
{
    s->m = from_config(config, "F16");
    compile(s);
}

static void subject_preset(struct subject *s, const char *name)
{
    struct error err = { 0 };
    environment_set_dirs(data_dirs());
    assert_ok(model_load(&s->m, name, "F16", &err), err);
    compile(s);
}

static void subject_free(struct subject *s)
{
    op_classes_free(&s->classes);
    op_list_free(&s->ops);
    model_free(&s->m);
}

static struct memory_model model_of(const struct subject *s, const struct hwprofile *h, const struct memory_options *o)
{
    struct memory_model m;
    struct error err = { 0 };
    assert_ok(memory_model_init(&m, &s->classes, h, o, &err), err);
    return m;
}

static struct memory_plan plan_of(const struct subject *s, const struct hwprofile *h, const struct memory_options *o)
{
    struct memory_model m = model_of(s, h, o);
    const struct memory_plan p = memory_plan(&m);
    memory_model_free(&m);
    return p;
}

/* A server on a machine that reserves nothing: pages of 16, passes of 32 tokens, logits of 8 sequences. */
static struct memory_options bare(void)
{
    const struct hwprofile h = machine(HW_GPU, 80 * GiB);
    struct memory_options o = memory_defaults(&h, 15);
    o.max_batched_tokens = 32;
    o.max_seqs = 8;
    o.utilization = 1;
    o.logit_bytes = 16;
    o.reserved = o.context_bytes = o.comm_bytes = 0;
    o.compiles = o.rotations = false;
    return o;
}

/* ---- what vLLM prints --------------------------------------------------------------------------- */

static void say_name(struct hwprofile *h, const char *name)
{
    snprintf(h->name, sizeof h->name, "%s", name);
    snprintf(h->vendor, sizeof h->vendor, "NVIDIA");
}

/*
 * Blocks of 16 tokens at a utilization of 0.9 that vLLM printed. 0.15 on H100s with 128 sequences: BLIS' training runs,
 * inference-sim/inference-sim@04da4f7 testdata/roofline_goldendataset.json, which has 15 runs of 8 deployments, and the same
 * project's @9293b22 hypotheses/h-stepml/round4, enriched_steps.parquet (CodeLlama, Llama-2-70B). 0.19: an RTX 4090 of 25,250,627,584 B by
 * default (LLMServingSim's bench), and an A100-SXM4-40GB by default whose compiler found its kernels in a cache.
 * Left out: Llama-4-Scout in FP8, tp 2, 8,253 blocks, whose file has a vision tower and attention in BF16 that the preset lacks.
 */
static void blocks_of_vllm(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        double gib;
        unsigned release;
        uint32_t tp, max_batched_tokens, max_seqs; /* 0: by default */
        bool compiled;
        double blocks, within;
    } points[] = {
        { "llama-2-7b", "NVIDIA H100 80GB HBM3", 80, 15, 1, 2048, 128, false, 7463, 0.005 },
        { "mistral-nemo-12b", "NVIDIA H100 80GB HBM3", 80, 15, 1, 2048, 128, false, 19251, 0.005 },
        { "mistral-nemo-12b", "NVIDIA H100 80GB HBM3", 80, 15, 2, 1024, 128, false, 48009, 0.005 },
        { "qwen2.5-7b", "NVIDIA H100 80GB HBM3", 80, 15, 1, 2048, 128, false, 65368, 0.005 },
        { "qwen2.5-7b", "NVIDIA H100 80GB HBM3", 80, 15, 1, 1024, 128, false, 65368, 0.005 },
        { "yi-34b", "NVIDIA H100 80GB HBM3", 80, 15, 2, 2048, 128, false, 20793, 0.005 },
        { "llama-3.1-70b", "NVIDIA H100 80GB HBM3", 80, 15, 4, 2048, 128, false, 30425, 0.005 },
        { "llama-3.1-70b", "NVIDIA H100 80GB HBM3", 80, 15, 4, 8192, 128, false, 30425, 0.005 },
        { "codellama-34b", "NVIDIA H100 80GB HBM3", 80, 15, 2, 2048, 128, false, 26602, 0.005 },
        { "llama-2-70b", "NVIDIA H100 80GB HBM3", 80, 15, 4, 2048, 128, false, 31356, 0.005 },
        { "llama-3.1-8b", "NVIDIA GeForce RTX 4090", 24, 19, 1, 0, 0, false, 2588, 0.02 },
        { "qwen3-8b", "NVIDIA A100-SXM4-40GB", 40, 19, 1, 0, 0, true, 8810, 0.01 },
    };
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct subject s;
        struct hwprofile h = machine(HW_GPU, points[i].gib * GiB);
        say_name(&h, points[i].machine);
        struct memory_options o = memory_defaults(&h, points[i].release);
        o.layout.tp = points[i].tp;
        o.compiles = !points[i].compiled;
        if (points[i].max_batched_tokens > 0) {
            o.max_batched_tokens = points[i].max_batched_tokens;
            o.max_seqs = points[i].max_seqs;
        }
        subject_preset(&s, points[i].model);
        const struct memory_plan p = plan_of(&s, &h, &o);
        print_message("%s tp%u, %u tokens, %s: %.0f blocks, vLLM has %.0f\n", points[i].model, points[i].tp, o.max_batched_tokens, h.name,
                      p.blocks, points[i].blocks);
        assert_near(p.blocks / points[i].blocks, 1, points[i].within);
        subject_free(&s);
    }
}

/* What torch reports of devices' memory, in GiB: sources in doc/notes/servers.md. */
static void reserved_by_driver(void **state)
{
    (void)state;
    static const struct {
        double gib, reported;
    } points[] = { { 24, 23.516 }, { 24, 23.56 }, { 32, 31.36 }, { 40, 39.49 }, { 48, 47.37 }, { 80, 79.19 }, { 141, 139.81 } };
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        const struct hwprofile h = machine(HW_GPU, points[i].gib * GiB);
        const struct memory_options o = memory_defaults(&h, 19);
        assert_near((1 - o.reserved) * points[i].gib / points[i].reported, 1, 0.005);
    }
}

/*
 * What vLLM logged as peak of activations and as memory outside of its allocator, on an H100: the first from
 * vllm-project/vllm#10511, the others from llm-d-benchmark, config_explorer/empirical-vllm-memory-results.md, where 1024
 * sequences are sampled together. Not used for any constant but the copies that sampling makes.
 */
static void activations_of_vllm(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint32_t tp, max_seqs;
        double act_gib;
    } points[] = {
        { "llama-3-8b", 1, 256, 1.26 },   { "llama-3-8b", 2, 256, 1.26 },  { "llama-3.1-8b", 1, 1024, 4.76 },
        { "qwen3-0.6b", 1, 1024, 5.56 },  { "qwen3-32b", 1, 1024, 5.64 },  { "gpt-oss-20b", 1, 1024, 7.38 },
        { "llama-3.3-70b", 2, 1024, 4.84 },
    };
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct subject s;
        const struct hwprofile h = machine(HW_GPU, 80 * GiB);
        struct memory_options o = memory_defaults(&h, 11);
        o.layout.tp = points[i].tp;
        o.max_seqs = points[i].max_seqs;
        subject_preset(&s, points[i].model);
        const struct memory_plan p = plan_of(&s, &h, &o);
        print_message("%s: activations of %.2f GiB, vLLM has %.2f\n", points[i].model, p.need.act_bytes / GiB, points[i].act_gib);
        assert_near(p.need.act_bytes / GiB / points[i].act_gib, 1, 0.02);
        if (i == 0)
            assert_near(p.need.weight_bytes / GiB, 14.96, 0.005);
        subject_free(&s);
    }
}

/*
 * By release, on an H100 of 79.19 GiB at a utilization of 0.95, all else by default: peak of activations and memory for the cache
 * that vLLM logged (llm-d-incubation/llm-d-planner@f3265ef accuracy/accuracy_report.md), and the first of the tokens there.
 */
static void releases_of_vllm(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        unsigned release;
        uint32_t tp;
        double act_gib, free_gib; /* 0: not stated */
    } points[] = {
        { "llama-3.1-8b", 19, 1, 1.89, 58.11 }, { "llama-3.1-8b", 19, 2, 1.89, 63.76 }, { "llama-3.1-8b", 19, 4, 1.89, 67.44 },
        { "qwen2.5-7b", 19, 1, 2.21, 58.53 },   { "qwen3-8b", 19, 1, 2.21, 0 },         { "gemma-2-9b", 19, 1, 3.65, 0 },
        { "gemma-2-27b", 19, 1, 3.66, 0 },      { "phi-4", 19, 1, 1.52, 0 },            { "codellama-7b", 19, 1, 0.77, 0 },
        { "qwen3-30b-a3b", 19, 1, 2.68, 0 },    { "deepseek-v2-lite", 19, 1, 1.93, 0 }, { "qwen2.5-72b", 19, 2, 2.29, 0 },
        { "qwen3-14b", 15, 1, 5.64, 41.94 },    { "qwen3-14b", 16, 1, 5.64, 41.94 },    { "qwen3-14b", 17, 1, 2.23, 45.34 },
        { "qwen3-14b", 18, 1, 2.23, 45.23 },
    };
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct subject s;
        struct hwprofile h = machine(HW_GPU, 79.19 * GiB);
        say_name(&h, "NVIDIA H100 80GB HBM3");
        struct memory_options o = memory_defaults(&h, points[i].release);
        o.reserved = 0;
        o.utilization = 0.95;
        o.layout.tp = points[i].tp;
        subject_preset(&s, points[i].model);
        const struct memory_plan p = plan_of(&s, &h, &o);
        print_message("%s tp%u, 0.%u: activations of %.2f GiB, vLLM has %.2f; cache %.2f GiB, %.2f\n", points[i].model, points[i].tp,
                      points[i].release, p.need.act_bytes / GiB, points[i].act_gib, p.free_bytes / GiB, points[i].free_gib);
        assert_near(p.need.act_bytes / GiB / points[i].act_gib, 1, 0.03);
        if (points[i].free_gib > 0)
            assert_near(p.free_bytes / GiB / points[i].free_gib, 1, 0.003);
        if (i == 0)
            assert_near(p.tokens / 476016, 1, 0.01);
        subject_free(&s);
    }
}

/*
 * Llama-3.3-70B in FP8 on an H200 that reports 139.8 GiB, at 0.9: 174,336 tokens (llm-d/llm-d-benchmark#345, before 0.17). What a lab
 * estimates for Llama-3.1-8B with 0.30 (not measured), with half a GiB for graphs and activations without the residual stream: 2,363
 * blocks on an L4 that reports 22.49 GiB, 28,648 on an H100 that reports 79.65.
 */
static void capacities_by_device(void **state)
{
    (void)state;
    static const struct {
        const char *model, *type, *name;
        double gib;
        unsigned release;
        double utilization, tokens, within; /* utilization 0: by default */
    } points[] = {
        { "llama-3.3-70b", "FP8", "NVIDIA H200", 139.8, 16, 0.9, 174336, 0.02 },
        { "llama-3.3-70b", "FP8", "NVIDIA H200", 139.8, 30, 0.9, 174336, 0.02 },
        { "llama-3.1-8b", "F16", "NVIDIA H100 80GB HBM3", 79.65, 30, 0, 28648 * 16, 0.03 },
        { "llama-3.1-8b", "F16", "NVIDIA L4", 22.49, 30, 0, 2363 * 16, 0.07 },
    };
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct subject s;
        struct error err = { 0 };
        struct hwprofile h = machine(HW_GPU, points[i].gib * GiB);
        say_name(&h, points[i].name);
        struct memory_options o = memory_defaults(&h, points[i].release);
        o.reserved = 0;
        o.compiles = false;
        if (points[i].utilization > 0)
            o.utilization = points[i].utilization;
        environment_set_dirs(data_dirs());
        assert_ok(model_load(&s.m, points[i].model, points[i].type, &err), err);
        compile(&s);
        const struct memory_plan p = plan_of(&s, &h, &o);
        print_message("%s on %s, 0.%u: %.0f tokens, there %.0f\n", points[i].model, points[i].name, points[i].release, p.tokens,
                      points[i].tokens);
        assert_near(p.tokens / points[i].tokens, 1, points[i].within);
        subject_free(&s);
    }
}

/* Tokens and sequences of a pass by the device's memory and name, the fraction of it and the graphs by release. */
static void defaults_by_device(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double gib;
        unsigned release;
        uint32_t tokens, seqs;
        double utilization;
        bool graphs;
    } points[] = {
        { "NVIDIA H100 SXM5", 80, 15, 8192, 1024, 0.9, false },  { "NVIDIA H100 SXM5", 80, 21, 8192, 1024, 0.9, true },
        { "NVIDIA H100 SXM5", 80, 26, 8192, 1024, 0.9, true },   { "NVIDIA H100 SXM5", 80, 27, 8192, 1024, 0.92, true },
        { "NVIDIA A100-SXM4-80GB", 80, 30, 2048, 256, 0.92, true }, { "NVIDIA L40S", 48, 30, 2048, 256, 0.92, true },
        { "NVIDIA A800-SXM4-80GB", 80, 20, 8192, 1024, 0.9, false }, { "NVIDIA B200", 180, 29, 8192, 1024, 0.92, true },
        { "NVIDIA B200", 180, 30, 16384, 1024, 0.92, true },     { "NVIDIA H200", 141, 30, 8192, 1024, 0.92, true },
        { "almost large", 69.9, 30, 2048, 256, 0.92, true },     { "large", 70, 30, 8192, 1024, 0.92, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct hwprofile h = machine(HW_GPU, points[i].gib * GiB);
        say_name(&h, points[i].name);
        const struct memory_options o = memory_defaults(&h, points[i].release);
        assert_int_equal(o.max_batched_tokens, points[i].tokens);
        assert_int_equal(o.max_seqs, points[i].seqs);
        assert_near(o.utilization, points[i].utilization, 0);
        assert_int_equal(o.graph_layer_bytes > 0, points[i].graphs);
    }
}

/* ---- by hand: a dense model ------------------------------------------------------------------------- */

#define DENSE(layers, more)                                                                                              \
    "{\"model_type\": \"mistral\", \"hidden_size\": 64, \"num_hidden_layers\": " layers ", \"num_attention_heads\": 4, " \
    "\"num_key_value_heads\": 2, \"intermediate_size\": 96, \"vocab_size\": 300, \"hidden_act\": \"silu\"" more "}"

/*
 * A layer in F16: q and output 64 x 64, k and v 32 x 64, three of 96 x 64: 30,720 weights, 61,440 B; two norms of 64 in
 * F32, 512 B. Embeddings and head 300 x 64, 38,400 B each; the last norm 256 B.
 */
enum {
    MATRICES = 61440,
    LAYER = MATRICES + 512,
    TABLE = 38400,
    NORM = 256,
    PASS = 32 * 2 * (3 * 64 + 2 * 64 + 2 * 32 + 2 * 96), /* x, norm, out; q, attention; k, v; gate, up */
    SAMPLING = 8 * 300 * 16 + 32 * 2 * 64, /* logits, and the residual stream of the pass; more than PASS */
    KV = 2 * 2 * 16 * 2, /* a position of a layer: K and V, 2 heads of 16 */
};

/* Two layers: 1, 2, 4, 8 to 248 by 8, 256 to 512 by 16 are 51 sizes for prompts; those of decode end at the sequences. */
static void graphs_of_sizes(void **state)
{
    (void)state;
    static const struct {
        uint32_t tokens, seqs, most;
        double graphs;
    } points[] = { { 8192, 1024, 512, 51 + 51 }, { 2048, 256, 512, 51 + 35 }, { 8192, 1024, 1024, 83 + 83 }, { 2048, 8, 512, 5 + 4 },
                   { 100, 64, 512, 15 + 11 },    { 2048, 1, 512, 2 + 1 } };
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    const struct hwprofile h = machine(HW_GPU, 1e9);
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct memory_options o = bare();
        o.max_batched_tokens = points[i].tokens;
        o.max_seqs = points[i].seqs;
        o.max_captured = points[i].most;
        o.graph_layer_bytes = 1000;
        assert_near(plan_of(&s, &h, &o).need.graph_bytes, 2 * 1000 * points[i].graphs, 0);
    }
    subject_free(&s);
}

static void release_names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned release;
    } points[] = { { "0.19", 19 },   { "v0.19.1", 19 }, { "vllm-0.27", 27 }, { "vLLM 0.8.4", 8 }, { "0.19.2rc1.dev8+g4b7f5ea1a", 19 },
                   { "1.2", 1002 },  { "", 0 },         { "vllm", 0 },       { "19", 0 },         { "0.", 0 },
                   { "9999.1", 0 },  { "b3400, 1.2", 0 } };
    for (size_t i = 0; i < ARRAY_LEN(points); i++)
        assert_int_equal(memory_release_find(points[i].text), points[i].release);
    char buf[32];
    assert_string_equal(memory_release_name(buf, sizeof buf, 19), "vLLM 0.19");
}

static void dense(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    const double fixed = 2 * LAYER + 2 * TABLE + NORM + SAMPLING, page = 16 * 2 * KV;
    struct hwprofile h = machine(HW_GPU, fixed + 11 * page - 1);
    struct memory_options o = bare();
    struct memory_model m = model_of(&s, &h, &o);
    const struct memory_plan p = memory_plan(&m);
    assert_near(p.need.weight_bytes, 2 * LAYER + 2 * TABLE + NORM, 0);
    assert_near(p.need.act_bytes, SAMPLING, 0);
    assert_near(p.need.runtime_bytes, 0, 0);
    assert_near(p.kv_token_bytes, 2 * KV, 0);
    assert_near(p.block_bytes, page, 0);
    assert_near(p.blocks, 10, 0); /* a byte is missing for the 11th */
    assert_near(p.tokens, 160, 0);
    assert_near(p.waste_tokens, 7.5, 0);
    assert_near(memory_max_batch(&m, 33), 3, 0); /* 3 pages each */
    assert_near(memory_max_batch(&m, 160), 1, 0);
    assert_near(memory_max_batch(&m, 161), 0, 0);
    assert_near(memory_max_context(&m, 3), 48, 0); /* 3 pages each, one left over */
    assert_near(memory_max_context(&m, 10), 16, 0);
    assert_near(memory_max_context(&m, 11), 0, 0);
    assert_near(memory_need(&m, 3, 33).total_bytes, fixed + 9 * page, 0);
    memory_model_free(&m);
    h.mem_bytes.value++;
    assert_near(plan_of(&s, &h, &o).blocks, 11, 0);
    o.type_k = DTYPE_Q8_0; /* 32 elements in 34 B: heads of 16 do not make a block */
    struct error err = { 0 };
    assert_int_equal(memory_model_init(&m, &s.classes, &h, &o, &err), -1);
    subject_free(&s);
}

/* The program's share: 0.5 of what the driver leaves, which reserves a quarter; 1000 B of context, 500 B more where devices talk. */
static void shares_of_the_memory(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    const struct hwprofile h = machine(HW_GPU, 1e6);
    struct memory_options o = bare();
    o.reserved = 0.25;
    o.utilization = 0.5;
    o.context_bytes = 1000;
    o.comm_bytes = 500;
    struct memory_model m = model_of(&s, &h, &o);
    assert_near(m.reserved_bytes, 250000, 1e-6);
    assert_near(m.usable_bytes, 375000, 1e-6);
    assert_near(memory_plan(&m).need.runtime_bytes, 1000, 0);
    assert_near(memory_plan(&m).free_bytes, 375000 - (2 * LAYER + 2 * TABLE + NORM + SAMPLING + 1000), 1e-6);
    memory_model_free(&m);
    o.layout.tp = 2;
    assert_near(plan_of(&s, &h, &o).need.runtime_bytes, 1500, 0);
    o.layout = (struct layout){ .dp = 2 }; /* copies, which need not talk */
    assert_near(plan_of(&s, &h, &o).need.runtime_bytes, 1000, 0);
    subject_free(&s);
}

/*
 * Two devices: half of all matrices and of the cache, norms whole. Four: the two heads of keys and values have two copies,
 * so half of k, v and the cache, a quarter of the rest. Tables are divided by rows as far as keys are not: a half, a quarter.
 */
static void tensor_parallel(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    const struct hwprofile h = machine(HW_GPU, 1e6);
    struct memory_options o = bare();
    o.max_seqs = 1;
    o.layout.tp = 2;
    struct memory_plan p = plan_of(&s, &h, &o);
    assert_near(p.need.weight_bytes, 2 * (MATRICES / 2 + 512) + TABLE + NORM, 0);
    assert_near(p.need.act_bytes, 32 * 2 * (3 * 64 + 64 + 32 + 96), 0);
    assert_near(p.kv_token_bytes, KV, 0);
    o.layout.tp = 4;
    p = plan_of(&s, &h, &o);
    const double kv_matrices = 2 * 32 * 64 * 2;
    assert_near(p.need.weight_bytes, 2 * ((MATRICES - kv_matrices) / 4 + kv_matrices / 2 + 512) + TABLE / 2.0 + NORM, 0);
    assert_near(p.need.act_bytes, 32 * 2 * (3 * 64 + 32 + 32 + 48), 0);
    assert_near(p.kv_token_bytes, KV, 0);
    subject_free(&s);
}

/*
 * Five layers on two stages: three and the embeddings, two and the head; 3 and 2 layers' cache. The first has fewer pages
 * until sampling takes more than a layer.
 */
static void pipeline_that_does_not_divide(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("5", ""));
    struct hwprofile h = machine(HW_GPU, 3 * LAYER + TABLE + PASS + 20 * 16 * 3 * KV);
    struct memory_options o = bare();
    o.layout.pp = 2;
    struct memory_plan p = plan_of(&s, &h, &o);
    assert_near(p.need.weight_bytes, 3 * LAYER + TABLE, 0);
    assert_near(p.need.act_bytes, PASS, 0); /* no logits there */
    assert_near(p.blocks, 20, 0);
    o.max_batched_tokens = o.max_seqs = 64; /* 600,000 - 162,560 - 315,392 = 122,048 = 29.8 * 4096 */
    h.mem_bytes.value = 600000;
    struct memory_model m = model_of(&s, &h, &o);
    p = memory_plan(&m);
    assert_near(p.need.weight_bytes, 2 * LAYER + TABLE + NORM, 0);
    assert_near(p.need.act_bytes, 64 * 300 * 16 + 64 * 2 * 64, 0);
    assert_near(p.blocks, 29, 0);
    assert_near(memory_max_batch(&m, 16), 29, 0);
    memory_model_free(&m);
    subject_free(&s);
    /* A table that embedding and head share is on both stages. */
    subject_config(&s, DENSE("4", ", \"tie_word_embeddings\": true"));
    o = bare();
    o.layout.pp = 2;
    assert_near(step_weight_bytes(&s.classes, &o.layout), 2 * LAYER + TABLE + NORM, 0);
    assert_near(step_weight_bytes(&s.classes, &(struct layout){ 0 }), 4 * LAYER + TABLE + NORM, 0);
    subject_free(&s);
}

/* The groups share the sequences: twice the batch, what each holds stays. */
static void data_parallel(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    const struct hwprofile h = machine(HW_GPU, 2 * LAYER + 2 * TABLE + NORM + SAMPLING + 10 * 16 * 2 * KV);
    struct memory_options o = bare();
    o.layout.dp = 2;
    struct memory_model m = model_of(&s, &h, &o);
    assert_near(memory_plan(&m).blocks, 10, 0);
    assert_near(memory_max_batch(&m, 33), 6, 0);
    assert_near(memory_max_context(&m, 5), 48, 0); /* the larger group has 3 */
    memory_model_free(&m);
    subject_free(&s);
}

/* ---- windows, latents, experts ----------------------------------------------------------------------------- */

/*
 * Two layers, window 64 = 4 pages; pages of both layers 4096 B. Of 1000 positions a sequence occupies 4 pages and touches a
 * fifth, and a pass brings 32 tokens = 2 pages more, in any sequence: 3 * 5 + 2 = 17. Within the window: ceil(64 / 16).
 * At 65 positions all are resident. In one piece: window and pass, 96 positions each.
 */
static void windows(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ", \"sliding_window\": 64, \"max_position_embeddings\": 4096"));
    const double page = 16 * 2 * KV;
    const struct hwprofile h = machine(HW_GPU, 2 * LAYER + 2 * TABLE + NORM + SAMPLING + 17 * page);
    struct memory_options o = bare();
    struct memory_model m = model_of(&s, &h, &o);
    assert_near(memory_need(&m, 3, 1000).kv_bytes, 17 * page, 0);
    assert_near(memory_need(&m, 3, 64).kv_bytes, 12 * page, 0);
    assert_near(memory_need(&m, 3, 65).kv_bytes, 15 * page, 0);
    assert_near(memory_need(&m, 1, 65).kv_bytes, 5 * page, 0);
    assert_near(memory_max_batch(&m, 1000), 3, 0);
    assert_near(memory_max_batch(&m, 64), 4, 0);
    assert_true(isinf(memory_max_context(&m, 3)));
    assert_near(memory_max_context(&m, 4), 64, 0); /* 16 pages; from 65 on 20 or more */
    memory_model_free(&m);
    o.block = 1;
    m = model_of(&s, &h, &o);
    assert_near(memory_need(&m, 3, 1000).kv_bytes, 3 * 96 * 2 * KV, 0);
    assert_near(memory_need(&m, 3, 80).kv_bytes, 3 * 80 * 2 * KV, 0);
    memory_model_free(&m);
    subject_free(&s);
}

/* Latents of 64 + 8 in F16, two layers: 288 B a position on every device, whatever tp; the workspace is divided by heads:
 * 4 * (16 + 8 + 16) halves, 320 B a position. */
static void latents(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s,
                   "{\"model_type\": \"deepseek_v3\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
                   "\"num_key_value_heads\": 4, \"q_lora_rank\": null, \"kv_lora_rank\": 64, \"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 8, "
                   "\"v_head_dim\": 16, \"intermediate_size\": 96, \"moe_intermediate_size\": 32, \"n_routed_experts\": 8, "
                   "\"num_experts_per_tok\": 2, \"n_shared_experts\": 1, \"first_k_dense_replace\": 1, \"vocab_size\": 300, "
                   "\"hidden_act\": \"silu\"}");
    const struct hwprofile h = machine(HW_GPU, 1e9);
    for (uint32_t tp = 1; tp <= 4; tp *= 2) {
        struct memory_options o = bare();
        o.layout.tp = tp;
        assert_near(plan_of(&s, &h, &o).kv_token_bytes, 288, 0);
        o.max_seqs = 0; /* alone: the workspace has all positions */
        o.block = 1;
        struct memory_model m = model_of(&s, &h, &o);
        assert_near(memory_need(&m, 2, 1100).act_bytes - memory_need(&m, 2, 1000).act_bytes, 2 * 100 * 320.0 / tp, 1e-6);
        assert_near(memory_need(&m, 2, 1100).kv_bytes, 2 * 1100 * 288, 0);
        memory_model_free(&m);
    }
    subject_free(&s);
}

/* 8 experts of 3 * 1024 * 512 in F16 are 25,165,824 B; the rest is whole on every device without tp, divided by it with. */
static void experts(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, "{\"model_type\": \"mixtral\", \"hidden_size\": 512, \"num_hidden_layers\": 1, \"num_attention_heads\": 8, "
                       "\"num_key_value_heads\": 2, \"intermediate_size\": 1024, \"vocab_size\": 1000, \"num_local_experts\": 8, "
                       "\"num_experts_per_tok\": 2, \"hidden_act\": \"silu\"}");
    const struct hwprofile h = machine(HW_GPU, 1e9);
    const double all = 25165824;
    struct memory_options o = bare();
    const double whole = plan_of(&s, &h, &o).need.weight_bytes;
    o.layout.dp = o.layout.ep = 4;
    assert_near(plan_of(&s, &h, &o).need.weight_bytes, whole - all * 3 / 4, 0);
    /* A group of two: half the matrices of each of its 4 experts. */
    o.layout = (struct layout){ .tp = 2 };
    const double two = plan_of(&s, &h, &o).need.weight_bytes;
    o.layout = (struct layout){ .tp = 2, .ep = 2 };
    assert_near(plan_of(&s, &h, &o).need.weight_bytes, two, 0);
    o.layout = (struct layout){ .tp = 2, .dp = 4, .ep = 8 };
    assert_near(plan_of(&s, &h, &o).need.weight_bytes, two - all / 2 + all / 8, 0);
    subject_free(&s);
}

/* ---- by itself, and as predict sees it ------------------------------------------------------------------ */

/* CPUs: all of the memory, F32 activations, no driver, no context; 512 tokens a pass. The same as a prediction of it. */
static void alone(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    const double fixed = 2 * LAYER + 2 * TABLE + NORM + 2.0 * 16 * PASS, row = 300 * 4;
    struct hwprofile h = machine(HW_CPU, fixed + 4 * (row + 1000 * 2 * KV));
    const struct memory_options o = memory_defaults(&h, MEMORY_ALONE);
    struct memory_model m = model_of(&s, &h, &o);
    assert_near(m.usable_bytes, h.mem_bytes.value, 0);
    assert_near(memory_need(&m, 4, 1000).total_bytes, h.mem_bytes.value, 0);
    assert_near(memory_max_batch(&m, 1000), 4, 0);
    assert_near(memory_max_context(&m, 4), 1000, 0);
    memory_model_free(&m);
    h.mem_bw.value = 1e11;
    h.peak[MATH_FP32].value = 1e12;
    for (int i = 0; i < MATH_COUNT; i++)
        if (i != MATH_FP32)
            h.peak[i].value = NAN;
    h.eff.compute.value = h.eff.bandwidth.value = h.eff.launch_s.value = NAN;
    struct predict_options po = { .weights_bytes = NAN, .n_prompt = 900, .n_gen = 100, .n_batch = 4, .n_ubatch = 512,
                                  .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct predict_result r;
    struct error err = { 0 };
    assert_ok(predict_classes(&r, &s.classes, &h, &po, &err), err);
    assert_near(r.need_bytes, h.mem_bytes.value, 0);
    assert_int_equal(r.fits, 1);
    po.n_gen = 101;
    assert_ok(predict_classes(&r, &s.classes, &h, &po, &err), err);
    assert_int_equal(r.fits, 0);
    subject_free(&s);
}

/* A prediction for a server needs the memory of the model with its defaults, of the same share, with and without tokens of a pass. */
static void served(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    struct hwprofile h = machine(HW_GPU, 4e9);
    say_name(&h, "NVIDIA H100");
    h.mem_bw.value = 1e12;
    for (int i = 0; i < MATH_COUNT; i++)
        h.peak[i].value = i == MATH_FP16 ? 1e14 : NAN;
    h.eff.compute.value = h.eff.bandwidth.value = h.eff.launch_s.value = NAN;
    for (uint32_t n = 0; n <= 512; n += 512) {
        struct memory_options o = memory_defaults(&h, MEMORY_NEWEST);
        if (n > 0)
            o.max_batched_tokens = n;
        if (o.max_seqs > o.max_batched_tokens)
            o.max_seqs = o.max_batched_tokens;
        struct memory_model m = model_of(&s, &h, &o);
        const double most = memory_max_batch(&m, 1000);
        assert_true(most > 100);
        for (uint32_t more = 0; more < 2; more++) {
            struct predict_options po = { .weights_bytes = NAN, .n_prompt = 600, .n_gen = 300, .n_depth = 100, .n_batch = (uint32_t)most + more,
                                          .n_ubatch = 512, .server = true, .n_batched = n, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
            struct predict_result r;
            struct error err = { 0 };
            assert_ok(predict_classes(&r, &s.classes, &h, &po, &err), err);
            assert_near(r.need_bytes, memory_need(&m, po.n_batch, 1000).total_bytes, 0);
            assert_near(r.usable_bytes, m.usable_bytes, 0);
            assert_int_equal(r.fits, !more);
        }
        memory_model_free(&m);
    }
    subject_free(&s);
}

/* ---- orders ------------------------------------------------------------------------------------------------ */

/* One more never fits; more of one never leaves room for more of the other. */
static void check_orders(const struct memory_model *m)
{
    double before = INFINITY;
    for (uint64_t n = 1; n < 200000; n = n * 3 / 2 + 1) {
        const double batch = memory_max_batch(m, n);
        assert_true(batch <= before);
        assert_true(batch == 0 || memory_fits(m, (uint64_t)batch, n) == 1);
        assert_int_equal(memory_fits(m, (uint64_t)batch + 1, n), 0);
        before = batch;
    }
    before = INFINITY;
    for (uint64_t n = 1; n < 5000; n = n * 3 / 2 + 1) {
        const double context = memory_max_context(m, n);
        assert_true(context <= before);
        if (isfinite(context)) {
            assert_true(context == 0 || memory_fits(m, n, (uint64_t)context) == 1);
            assert_int_equal(memory_fits(m, n, (uint64_t)context + 1), 0);
        }
        before = context;
    }
}

static void monotonous(void **state)
{
    (void)state;
    static const char *const names[] = { "llama-3.1-8b", "gemma-3-4b", "gpt-oss-20b", "deepseek-v2-lite", "qwen3-30b-a3b" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct subject s;
        subject_preset(&s, names[i]);
        for (int served = 0; served <= 1; served++) {
            const struct hwprofile h = machine(HW_GPU, 80 * GiB), larger = machine(HW_GPU, 141 * GiB);
            struct memory_options o = memory_defaults(&h, served ? MEMORY_NEWEST : MEMORY_ALONE);
            struct memory_model m = model_of(&s, &h, &o);
            check_orders(&m);
            memory_model_free(&m);
            const double one = plan_of(&s, &h, &o).blocks;
            assert_true(plan_of(&s, &larger, &o).blocks > one);
            o.layout.tp = 2;
            assert_true(plan_of(&s, &h, &o).blocks > one);
        }
        subject_free(&s);
    }
}

/* ---- what cannot be -------------------------------------------------------------------------------------------- */

/* tp 2: 101,120 B of weights, 42,496 B of sampling and a page of 2,048 B. tp 4: 55,296 B of weights, the same. */
static void devices_needed(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    const struct memory_options o = bare();
    const double two = 101120 + SAMPLING + 2048;
    struct hwprofile h = machine(HW_GPU, two);
    struct hw_link link = { .n_devices = 8 };
    h.link = &link;
    h.n_link = 1;
    assert_int_equal(memory_tp_needed(&s.classes, &h, &o, 1, 1).tp, 2);
    assert_int_equal(memory_tp_needed(&s.classes, &h, &o, 1, 17).tp, 4);
    assert_near(plan_of(&s, &h, &o).blocks, 0, 0);
    assert_true(plan_of(&s, &h, &o).free_bytes < 0);
    h.mem_bytes.value = two - 1;
    assert_int_equal(memory_tp_needed(&s.classes, &h, &o, 1, 1).tp, 4);
    h.mem_bytes.value = 55296 + SAMPLING + 2048 - 1; /* and 8 do not divide 4 heads */
    assert_int_equal(memory_tp_needed(&s.classes, &h, &o, 1, 1).tp, 0);
    assert_int_equal(memory_tp_needed(&s.classes, &h, &o, 1, 1).apart, 0);
    /* Four would do, and links join two, none, or any number. */
    h.mem_bytes.value = two - 1;
    link.n_devices = 2;
    struct tp_needed n = memory_tp_needed(&s.classes, &h, &o, 1, 1);
    assert_true(n.tp == 0 && n.apart == 4 && n.joined == 2);
    h.n_link = 0;
    n = memory_tp_needed(&s.classes, &h, &o, 1, 1);
    assert_true(n.tp == 0 && n.apart == 4 && n.joined == 1);
    h.n_link = 1;
    link.n_devices = 0;
    n = memory_tp_needed(&s.classes, &h, &o, 1, 1);
    assert_true(n.tp == 4 && n.apart == 0 && n.joined == UINT32_MAX);
    h.mem_bytes.value = 1;
    struct memory_model m = model_of(&s, &h, &o);
    assert_near(memory_max_batch(&m, 1), 0, 0);
    assert_near(memory_max_context(&m, 1), 0, 0);
    memory_model_free(&m);
    subject_free(&s);
}

static void unknown_memory(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    const struct hwprofile h = machine(HW_GPU, NAN);
    const struct memory_options o = bare();
    struct memory_model m = model_of(&s, &h, &o);
    const struct memory_plan p = memory_plan(&m);
    assert_true(isnan(m.memory_bytes) && isnan(m.usable_bytes) && isnan(p.free_bytes) && isnan(p.blocks) && isnan(p.tokens));
    assert_near(p.need.weight_bytes, 2 * LAYER + 2 * TABLE + NORM, 0); /* known all the same */
    assert_true(isnan(memory_max_batch(&m, 1)) && isnan(memory_max_context(&m, 1)));
    assert_int_equal(memory_fits(&m, 1, 1), -1);
    assert_int_equal(memory_tp_needed(&s.classes, &h, &o, 1, 1).tp, 0);
    memory_model_free(&m);
    subject_free(&s);
}

static void refused(void **state)
{
    (void)state;
    struct subject s;
    subject_config(&s, DENSE("2", ""));
    const struct hwprofile h = machine(HW_GPU, 1e6);
    struct memory_options bad[9];
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        bad[i] = bare();
    bad[0].block = 0;
    bad[1].max_batched_tokens = 0;
    bad[2].max_seqs = 33; /* of 32 tokens */
    bad[3].utilization = 0;
    bad[4].utilization = 1.01;
    bad[5].reserved = 1;
    bad[6].layout.tp = 3;
    bad[7].layout.pp = 3;
    bad[8].layout.ep = 2;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct memory_model m;
        struct error err = { 0 };
        assert_int_equal(memory_model_init(&m, &s.classes, &h, &bad[i], &err), -1);
        assert_int_equal(err.kind, ERROR_USAGE);
    }
    subject_free(&s);
}

/* Tensors of a file's multi-token prediction layer, which the model's pass does not read, are divided as the layer's own op list is. */
static void nextn_divided(void **state)
{
    static const struct layout layouts[] = { { .tp = 1 }, { .tp = 2 }, { .tp = 8 }, { .tp = 8, .ep = 8 }, { .tp = 4, .dp = 4, .ep = 16 }, { .tp = 2, .pp = 2 } };
    struct subject without, with;
    struct error err = { 0 };
    struct nextn x;
    struct op_classes layer;
    (void)state;
    subject_preset(&without, "deepseek-v3");
    assert_ok(model_load(&with.m, "deepseek-v3", "F16", &err), err);
    assert_ok(nextn_add_tensors(&with.m, 1, &err), err);
    compile(&with);
    assert_ok(nextn_init(&x, &with.m, &err), err);
    assert_true(x.own);
    assert_ok(nextn_classes_init(&layer, &x, &with.m, &err), err);
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
        const struct layout one = { .tp = layouts[i].tp, .dp = layouts[i].dp, .ep = layouts[i].ep };
        const double more = step_weight_bytes(&with.classes, &layouts[i]) - step_weight_bytes(&without.classes, &layouts[i]);
        const double norm = 4.0 * with.m.hp.n_embd, want = step_weight_bytes(&layer, &one) + norm; /* of the layer's own last norm */
        if (layouts[i].pp <= 1)
            assert_near(more, want, 1);
        else
            assert_true(more <= want + 1); /* the last stage may hold less than another */
    }
    assert_true(step_weight_bytes(&layer, &layouts[1]) < 0.51 * step_weight_bytes(&layer, &layouts[0]));
    op_classes_free(&layer);
    nextn_free(&x);
    subject_free(&with);
    subject_free(&without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_vllm), cmocka_unit_test(reserved_by_driver),
        cmocka_unit_test(activations_of_vllm),
        cmocka_unit_test(releases_of_vllm),
        cmocka_unit_test(capacities_by_device),
        cmocka_unit_test(defaults_by_device),
        cmocka_unit_test(graphs_of_sizes),
        cmocka_unit_test(release_names),
        cmocka_unit_test(dense),
        cmocka_unit_test(shares_of_the_memory),
        cmocka_unit_test(tensor_parallel),
        cmocka_unit_test(pipeline_that_does_not_divide),
        cmocka_unit_test(data_parallel),
        cmocka_unit_test(windows),
        cmocka_unit_test(latents),
        cmocka_unit_test(experts),
        cmocka_unit_test(nextn_divided),
        cmocka_unit_test(alone),
        cmocka_unit_test(served),
        cmocka_unit_test(monotonous),
        cmocka_unit_test(devices_needed),
        cmocka_unit_test(unknown_memory),
        cmocka_unit_test(refused),
    };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
