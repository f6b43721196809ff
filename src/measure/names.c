/*
 * The many names of one thing: engines, types, models, machines. What the presets and profiles know by their own names
 * (model_load, hwprofile_load) is not repeated here.
 */
#include "measure/measure.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void lower(char *out, size_t size, const char *s)
{
    size_t n = 0;
    for (; *s && n + 1 < size; s++)
        out[n++] = (char)tolower((unsigned char)*s);
    out[n] = 0;
}

/* ---- engines ------------------------------------------------------------------------------------------ */

/* Tokens a pass: llama.cpp -ub 512 by default; mlx_lm prefill_step_size 2048; vLLM and SGLang chunk at 8192. */
static const struct stack stacks[] = {
    { "other", STACK_OTHER, 0, false },
    { "llama.cpp", STACK_LLAMA_CPP, 512, false },
    { "llama.cpp-cuda", STACK_LLAMA_CPP, 512, true },
    { "llama.cpp-rocm", STACK_LLAMA_CPP, 512, false },
    { "llama.cpp-vulkan", STACK_LLAMA_CPP, 512, false },
    { "llama.cpp-metal", STACK_LLAMA_CPP, 512, false },
    { "llama.cpp-sycl", STACK_LLAMA_CPP, 512, false },
    { "llama.cpp-cpu", STACK_CPU, 512, false },
    { "ollama", STACK_LLAMA_CPP, 512, false },
    { "ik_llama.cpp", STACK_IK, 512, false },
    { "mlx", STACK_MLX, 2048, false },
    { "calm", STACK_COMPILED, 0, true },
    { "gpt-fast", STACK_COMPILED, 0, true },
    { "exllama", STACK_COMPILED, 0, false },
    { "mlc", STACK_COMPILED, 0, true },
    { "tinychat", STACK_COMPILED, 0, true },
    { "vllm", STACK_SERVER, 8192, true },
    { "sglang", STACK_SERVER, 8192, true },
    { "tensorrt-llm", STACK_SERVER, 0, true },
    { "lmdeploy", STACK_SERVER, 0, true },
    { "qserve", STACK_SERVER, 0, true },
    { "jetstream", STACK_NPU, 0, true },
    { "neuronx", STACK_NPU, 0, true },
    { "tt-metal", STACK_NPU, 0, true },
    { "qnn", STACK_NPU, 0, true },
    { "transformers", STACK_PYTORCH, 0, false },
    { "ctranslate2", STACK_COMPILED, 0, false },
    { "onnxruntime", STACK_COMPILED, 0, false },
    { "openvino", STACK_COMPILED, 0, true },
    { "t-mac", STACK_CPU, 512, false },
    { "executorch", STACK_CPU, 0, true },
    { "litert", STACK_CPU, 0, true },
    { "roofcast", STACK_CPU, 512, true },
};

/* In order: the first word that the name contains. */
static const struct {
    const char *word, *id;
} engines[] = {
    { "roofcast", "roofcast" },
    { "ik_llama", "ik_llama.cpp" },
    { "ollama", "ollama" },
    { "ctransformers", "llama.cpp" },
    { "llama-cpp", "llama.cpp" },
    { "llama.cpp", "llama.cpp" },
    { "llamacpp", "llama.cpp" },
    { "llama-bench", "llama.cpp" },
    { "llama-server", "llama.cpp" },
    { "llama-cli", "llama.cpp" },
    { "koboldcpp", "llama.cpp" },
    { "lm studio (mlx", "mlx" },
    { "lmstudio (mlx", "mlx" },
    { "lm studio", "llama.cpp" },
    { "lmstudio", "llama.cpp" },
    { "llamafile", "llama.cpp" },
    { "gpt4all", "llama.cpp" },
    { "ramalama", "llama.cpp" },
    { "rapid-mlx", "mlx" },
    { "mlx", "mlx" },
    { "calm", "calm" },
    { "gpt-fast", "gpt-fast" },
    { "exllama", "exllama" },
    { "tabbyapi", "exllama" },
    { "mlc", "mlc" },
    { "webllm", "mlc" },
    { "tinychat", "tinychat" },
    { "vllm", "vllm" },
    { "sglang", "sglang" },
    { "tensorrt", "tensorrt-llm" },
    { "trtllm", "tensorrt-llm" },
    { "trt-llm", "tensorrt-llm" },
    { "optimum nvidia", "tensorrt-llm" },
    { "lmdeploy", "lmdeploy" },
    { "turbomind", "lmdeploy" },
    { "qserve", "qserve" },
    { "jetstream", "jetstream" },
    { "neuronx", "neuronx" },
    { "tt-metal", "tt-metal" },
    { "qnn", "qnn" },
    { "genie", "qnn" },
    { "hexagon", "qnn" },
    { "ctranslate", "ctranslate2" },
    { "openvino", "openvino" },
    { "onnx", "onnxruntime" },
    { "t-mac", "t-mac" },
    { "executorch", "executorch" },
    { "litert", "litert" },
    { "mediapipe", "litert" },
    { "ktransformers", "other" }, /* experts on the CPU */
    { "transformers", "transformers" },
    { "pytorch", "transformers" },
    { "autoawq", "transformers" },
    { "autogptq", "transformers" },
    { "deepspeed", "transformers" },
    { "hugging", "transformers" },
};

/* Back ends of llama.cpp, in its name. */
static const struct {
    const char *word, *id;
} backends[] = {
    { "vulkan", "llama.cpp-vulkan" }, { "radv", "llama.cpp-vulkan" }, { "rocm", "llama.cpp-rocm" },
    { "hip", "llama.cpp-rocm" },      { "sycl", "llama.cpp-sycl" },   { "metal", "llama.cpp-metal" },  { "mtl", "llama.cpp-metal" },
    { "cuda", "llama.cpp-cuda" },     { "cublas", "llama.cpp-cuda" }, { "opencl", "llama.cpp" },
    { "clblast", "llama.cpp" },       { "cpu", "llama.cpp-cpu" },     { "blas", "llama.cpp-cpu" },
};

/* What its builds use by default on such a machine. A processor's name that says its GPU means that, and the profile's kind and maker
 * say which back end (stack_on). */
static const struct {
    const char *word, *id;
} machines[] = {
    { "[cpu]", "llama.cpp-cpu" },   { "(cpu)", "llama.cpp-cpu" },    { "apple", "llama.cpp-metal" },
    { "nvidia", "llama.cpp-cuda" }, { "geforce", "llama.cpp-cuda" }, { "rtx", "llama.cpp-cuda" },
    { "gtx", "llama.cpp-cuda" },    { "tesla", "llama.cpp-cuda" },   { "radeon", "llama.cpp-rocm" },
    { "instinct", "llama.cpp-rocm" }, { "amd rx", "llama.cpp-rocm" }, { "amd mi", "llama.cpp-rocm" },
    { "arc", "llama.cpp-sycl" },    { "iphone", "llama.cpp-metal" }, { "igpu", "llama.cpp" },
    { "gpu)", "llama.cpp" },        { "[gpu]", "llama.cpp" },        { "raspberry", "llama.cpp-cpu" },
    { "xeon", "llama.cpp-cpu" },    { "epyc", "llama.cpp-cpu" },     { "ryzen", "llama.cpp-cpu" },
};

const struct stack *stack_at(size_t i)
{
    return i < ARRAY_LEN(stacks) ? &stacks[i] : NULL;
}

const struct stack *stack_named(const char *id)
{
    for (size_t i = 0; i < ARRAY_LEN(stacks); i++)
        if (strcmp(stacks[i].id, id) == 0)
            return &stacks[i];
    return NULL;
}

static const struct stack *stack_of(const char *id)
{
    const struct stack *s = stack_named(id);
    return s ? s : &stacks[0];
}

const struct stack *stack_find(const char *engine, const char *hardware)
{
    char name[256], on[256];
    const char *id = NULL;
    lower(name, sizeof name, engine);
    lower(on, sizeof on, hardware);
    for (size_t i = 0; i < ARRAY_LEN(engines) && !id; i++)
        if (strstr(name, engines[i].word))
            id = engines[i].id;
    if (!id || strcmp(id, "llama.cpp") != 0)
        return stack_of(id ? id : "other");
    for (size_t i = 0; i < ARRAY_LEN(backends); i++)
        if (strstr(name, backends[i].word))
            return stack_of(backends[i].id);
    for (size_t i = 0; i < ARRAY_LEN(machines); i++)
        if (strstr(on, machines[i].word))
            return stack_of(machines[i].id);
    return stack_of(id);
}

/* ---- types ---------------------------------------------------------------------------------------------- */

/*
 * Types that model_load() does not know by this name. Bits: GGUF's from its block layouts (docs of ggml), mixtures of
 * i-quants as llama.cpp's quantize --help has them for Llama-3-8B; MLX's are bits + 32 / group (a scale and a bias of 16
 * bits); gpt-fast's int4 has groups of 32; gf4 is 8 weights in 32 bits.
 */
static const struct {
    const char *name, *type;
    double bits; /* 0: the type's own */
} quants[] = {
    { "fp16", "F16", 0 },          { "float16", "F16", 0 },      { "half", "F16", 0 },
    { "bfloat16", "BF16", 0 },     { "mlx-bf16", "BF16", 0 },    { "fp32", "F32", 0 },
    { "mlx-fp16", "F16", 0 },      { "e4m3", "FP8", 0 },         { "e5m2", "FP8_W8A16", 0 },
    { "fp8_e4m3", "FP8", 0 },      { "awq-int4", "AWQ", 0 },     { "awq-int4-g128", "AWQ", 0 },
    { "awq-4bit", "AWQ", 0 },      { "gptq-int4", "GPTQ", 0 },   { "gptq-4bit-128g", "GPTQ", 0 },
    { "gptq-int8", "INT8_W8A16", 8.16 }, { "int4", "W4A16", 4.5 },     { "int4-g32", "W4A16", 5 },
    { "int4-g128", "W4A16", 0 },   { "int4-g256", "W4A16", 4.07 }, { "gf4", "W4A16", 4 },
    { "nf4", "W4A16", 4.5 },       { "bnb-4bit", "W4A16", 4.5 }, { "q4f16_1", "W4A16", 4.5 },
    { "q4f16", "W4A16", 4.5 },     { "fp4", "NVFP4", 0 },        { "w4a8kv4", "W4A8_INT8", 0 },
    { "w4a4", "NVFP4", 0 },        { "w8a16", "INT8_W8A16", 0 }, { "bfp8", "FP8_W8A16", 8.5 },
    { "bfp4", "W4A16", 4.5 },      { "bfloat8_b", "FP8_W8A16", 8.5 }, { "bfloat4_b", "W4A16", 4.5 },
    { "q4_k_xl", "Q4_K_M", 0 },    { "q5_k_xl", "Q5_K_M", 0 },   { "q6_k_xl", "Q6_K", 0 },
    { "q8_k_xl", "Q8_0", 0 },      { "q3_k_xl", "Q3_K_L", 0 },   { "q2_k_xl", "Q2_K", 0 },
    { "q4_k", "Q4_K_M", 0 },       { "q5_k", "Q5_K_M", 0 },      { "q3_k", "Q3_K_M", 0 },
    { "q2_k_l", "Q2_K", 0 },       { "q4_k_l", "Q4_K_M", 0 },    { "q5_k_l", "Q5_K_M", 0 },
    { "q6_k_l", "Q6_K", 0 },       { "mxfp4_moe", "MXFP4_MOE", 0 }, { "fp8 e4m3", "FP8", 0 },
    { "fp8-dynamic", "FP8", 0 }, { "fp8_dynamic", "FP8", 0 },
    { "q4_k - medium", "Q4_K_M", 0 }, { "q5_k - medium", "Q5_K_M", 0 }, { "q3_k - medium", "Q3_K_M", 0 },
    { "q4_k - small", "Q4_K_S", 0 }, { "q5_k - small", "Q5_K_S", 0 }, { "q3_k - small", "Q3_K_S", 0 }, { "q3_k - large", "Q3_K_L", 0 },
    { "iq1_s", "Q2_K", 1.56 },    { "iq1_m", "Q2_K", 1.75 },
    { "iq2_xxs", "Q2_K", 2.06 },   { "iq2_xs", "Q2_K", 2.31 },   { "iq2_s", "Q2_K", 2.5 },
    { "iq2_m", "Q2_K", 2.7 },      { "iq3_xxs", "Q3_K_S", 3.06 }, { "iq3_xs", "Q3_K_S", 3.3 },
    { "iq3_s", "Q3_K_S", 3.44 },   { "iq3_m", "Q3_K_S", 3.66 },  { "tq1_0", "Q2_K", 1.69 },
    { "tq2_0", "Q2_K", 2.06 },     { "q8_1", "Q8_0", 9 },
};

/* Packings of one type for another kernel, and makers of a mixture: at the end and at the beginning of its name. */
static const char *const packings[] = { "_r4", "_r8", "_r16", "_4_4", "_4_8", "_8_8", " (custom)", " (guessed)", " ud" };
static const char *const makers[] = { "ud-", "i1-", "gguf-", "gguf ", "mlx-community/" };

static void cut_ends(char *s)
{
    for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
        const size_t n = strlen(makers[i]);
        if (strncmp(s, makers[i], n) == 0)
            memmove(s, s + n, strlen(s + n) + 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(packings); i++) {
        const size_t n = strlen(s), k = strlen(packings[i]);
        if (n > k && strcmp(s + n - k, packings[i]) == 0)
            s[n - k] = 0;
    }
}

/* The number that ends at p, digits and points. */
static double number_before(const char *s, const char *p)
{
    const char *q = p;
    while (q > s && (isdigit((unsigned char)q[-1]) || q[-1] == '.'))
        q--;
    return q < p ? strtod(q, NULL) : NAN;
}

/* Bits that a name says: "EXL2-4.0bpw", "4-bit", "4bit", "mlx-q4-g32", "int4", "w4". */
static double named_bits(const char *s)
{
    static const char *const before[] = { "int", "uint", "q", "w", "fp", "mxfp", "iq" };
    const char *p = strstr(s, "bpw");
    if (p)
        return number_before(s, p);
    if ((p = strstr(s, "bit")) != NULL)
        return number_before(s, p > s && (p[-1] == '-' || p[-1] == ' ' || p[-1] == '_') ? p - 1 : p);
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        for (p = strstr(s, before[i]); p; p = strstr(p + 1, before[i])) {
            const char *digits = p + strlen(before[i]);
            if ((p == s || !isalnum((unsigned char)p[-1])) && isdigit((unsigned char)*digits))
                return strtod(digits, NULL);
        }
    return NAN;
}

/* Bits with what a group of weights shares: 32 of them for each group; MLX's groups are of 64. */
static double group_bits(const char *s, double bits)
{
    const char *p = strstr(s, "-g");
    const double group = p && isdigit((unsigned char)p[2]) ? strtod(p + 2, NULL) : 64;
    return bits + 32 / fmax(group, 8);
}

static struct quant_name named(const char *type, double bits, bool known)
{
    struct quant_name q = { .bits = bits > 0 ? bits : NAN, .known = known };
    snprintf(q.type, sizeof q.type, "%s", type);
    return q;
}

static const char *gguf_type(double bits)
{
    return bits < 2.5 ? "Q2_K" : bits < 3.5 ? "Q3_K_M" : bits < 4.5 ? "Q4_0" : bits < 5.5 ? "Q5_K_M" : bits < 7 ? "Q6_K" : "Q8_0";
}

static bool reads_gguf(const struct stack *k)
{
    return k->family == STACK_CPU || k->family == STACK_LLAMA_CPP || k->family == STACK_IK;
}

/*
 * Types with more around them than the table has: "NVFP4+FP8KV", "AWQ-Marlin", "bnb-nf4", "FP8-dynamic". The first word that stands
 * in the name says it.
 */
static const struct {
    const char *word, *type;
    double bits;
} inside[] = {
    { "nvfp4", "NVFP4", 0 }, { "mxfp4", "MXFP4", 0 },    { "mxfp8", "FP8", 0 },      { "awq", "AWQ", 0 },
    { "nf4", "W4A16", 4.5 }, { "bnb-int8", "INT8_W8A16", 0 }, { "w8a8", "W8A8", 0 }, { "smoothquant", "W8A8", 0 },
    { "fp8", "FP8", 0 },     { "q8_k", "Q8_0", 0 },      { "ternary", "Q2_K", 2.06 }, { "dwq", "W4A16", 4.5 },
};

static struct quant_name by_word(const char *s)
{
    for (size_t i = 0; i < ARRAY_LEN(inside); i++)
        if (strstr(s, inside[i].word))
            return named(inside[i].type, inside[i].bits, false); /* unless model_load() knows the whole name */
    return named("", NAN, false);
}

static struct quant_name usual(const struct stack *s);

static struct quant_name by_bits(const char *s, const struct stack *k)
{
    const double bits = named_bits(s);
    /* These say all there is to say. */
    const bool mlx = strncmp(s, "mlx-", 4) == 0, known = mlx || strncmp(s, "exl", 3) == 0;
    if (!(bits >= 1 && bits <= 32))
        return reads_gguf(k) ? usual(k) : named("", NAN, false); /* "GGUF" */
    if (bits > 9)
        return named(bits > 16 ? "F32" : "F16", NAN, known);
    if (reads_gguf(k))
        return named(gguf_type(bits), NAN, known);
    if (bits >= 7)
        return named("INT8_W8A16", mlx ? group_bits(s, bits) : NAN, known);
    return named("W4A16", strstr(s, "bpw") ? bits : group_bits(s, bits), known);
}

/* Nothing is said: what most people run. ollama's tags are Q4_K_M unless they say otherwise; Tenstorrent's demos use
 * block floats. */
static struct quant_name usual(const struct stack *s)
{
    if (reads_gguf(s))
        return named("Q4_K_M", NAN, false);
    return strcmp(s->id, "tt-metal") == 0 ? named("FP8_W8A16", 8.5, false) : named("F16", NAN, false);
}

struct quant_name quant_find(const char *quant, const struct stack *s)
{
    char name[64], whole[64];
    lower(whole, sizeof whole, quant);
    snprintf(name, sizeof name, "%s", whole);
    cut_ends(name);
    if (!*name)
        return usual(s);
    /* Weights alone in 8 bits: these multiply them as 16-bit numbers. */
    const bool weight_only = strcmp(s->id, "gpt-fast") == 0 || strcmp(s->id, "calm") == 0;
    if (weight_only && strcmp(name, "int8") == 0)
        return named("INT8_W8A16", NAN, true);
    if (weight_only && strcmp(name, "fp8") == 0)
        return named("FP8_W8A16", NAN, true);
    if (strcmp(s->id, "gpt-fast") == 0 && strcmp(name, "int4") == 0)
        return named("W4A16", 5, true);
    for (size_t i = 0; i < ARRAY_LEN(quants); i++)
        if (strcmp(name, quants[i].name) == 0)
            return named(quants[i].type, quants[i].bits, true);
    if (strcmp(name, whole) != 0 && strlen(name) < sizeof ((struct quant_name *)0)->type)
        return named(name, NAN, true); /* a type with something around it */
    const struct quant_name q = by_word(name);
    return *q.type ? q : by_bits(name, s);
}

const char *quant_in_name(char *buf, size_t size, const char *model)
{
    static const char *const words[] = { "fp8", "awq", "gptq", "nvfp4", "mxfp4", "fp4", "w4a16", "w8a8", "w8a16", "int4", "int8", "bf16" };
    const struct stack *server = stack_named("vllm");
    *buf = 0;
    for (const char *p = model; *p; p++) {
        if (p == model || !strchr("-_.", p[-1]))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
            const size_t n = strlen(words[i]);
            if (strncasecmp(p, words[i], n) != 0 || (p[n] && !strchr("-_.", p[n])))
                continue;
            snprintf(buf, size, "%s", p); /* "GPTQ-Int4"; of what is no name, the word */
            if (strlen(p) >= size || !quant_find(p, server).known)
                snprintf(buf, size, "%.*s", (int)n, p);
            return buf;
        }
    }
    return buf;
}

/* ---- models ------------------------------------------------------------------------------------------------ */

/* Same shape, another training, or a name that is not the preset's. */
static const struct {
    const char *name, *preset; /* name: folded, the beginning of what is asked for where it ends in '*' */
} models[] = {
    { "deepseekr1distillqwen1.5b", "qwen2.5-1.5b" },
    { "deepseekr1distillqwen7b", "qwen2.5-7b" },
    { "deepseekr1distillqwen14b", "qwen2.5-14b" },
    { "deepseekr1distillqwen32b", "qwen2.5-32b" },
    { "deepseekr1distillllama8b", "llama-3.1-8b" },
    { "deepseekr1distillllama70b", "llama-3.3-70b" },
    { "deepseekr11.5b*", "qwen2.5-1.5b" }, /* ollama's names of the distilled ones */
    { "deepseekr17b*", "qwen2.5-7b" },
    { "deepseekr18b*", "llama-3.1-8b" },
    { "deepseekr114b*", "qwen2.5-14b" },
    { "deepseekr132b*", "qwen2.5-32b" },
    { "deepseekr170b*", "llama-3.3-70b" },
    { "deepseekr1*", "deepseek-v3" },
    { "deepseekv3.1*", "deepseek-v3" },
    { "qwq32b*", "qwen2.5-32b" },
    { "qwen1.572b*", "qwen2.5-72b" },
    { "qwen3coder30ba3b*", "qwen3-30b-a3b" },
    { "qwen330ba3b*", "qwen3-30b-a3b" },
    { "qwen34b*", "qwen3-4b" },
    { "qwen3235ba22b*", "qwen3-235b-a22b" },
    { "qwen3.627b*", "qwen3.5-27b" },
    { "qwen3.635ba3b*", "qwen3.5-35b-a3b" },
    { "qwen3.635b*", "qwen3.5-35b-a3b" },
    { "minimaxm2*", "minimax-m2" },
    { "mistral7b*", "mistral-7b" },
    { "vicuna7b*", "llama-1-7b" },
    { "vicuna13b*", "llama-1-13b" },
    { "kimik2.5*", "kimi-k2.5" },
    { "kimik2*", "kimi-k2" },
    { "llama27b*", "llama-2-7b" },
    { "llama213b*", "llama-2-13b" },
    { "llama270b*", "llama-2-70b" },
    { "llamav27b*", "llama-2-7b" }, /* "LLaMA v2 7B mostly Q4_0", llama-bench's of 2023 */
    { "llamav213b*", "llama-2-13b" },
    { "llamav270b*", "llama-2-70b" },
    { "gptoss20b*", "gpt-oss-20b" },
    { "gptoss120b*", "gpt-oss-120b" },
};

/* Parameters a token of a mixture of experts uses, of models whose name does not say. */
static const struct {
    const char *name;
    double active;
} actives[] = {
    { "glm4.7flash*", 3e9 }, /* 30B-A3B, by its model card; recalled */
    { "qwen3.635b*", 3e9 },
    { "lingflash2.0*", 6.1e9 },  /* these, too, by model cards; recalled */
    { "lingmini2.0*", 1.4e9 },
    { "step3.5flash*", 11e9 },
    { "granite4.0hsmall*", 9e9 },
    { "dots.llm1*", 14e9 },
};

/* Lower case, only what tells models apart, without the owner on the hub. */
static void fold(char *out, size_t size, const char *s)
{
    const char *slash = strrchr(s, '/');
    size_t n = 0;
    for (s = slash ? slash + 1 : s; *s && n + 1 < size; s++)
        if (isalnum((unsigned char)*s) || *s == '.')
            out[n++] = (char)tolower((unsigned char)*s);
    out[n] = 0;
}

static bool matches(const char *folded, const char *pattern)
{
    const size_t n = strlen(pattern);
    return n && pattern[n - 1] == '*' ? strncmp(folded, pattern, n - 1) == 0 : strcmp(folded, pattern) == 0;
}

const char *model_alias(const char *model)
{
    char name[128];
    fold(name, sizeof name, model);
    for (size_t i = 0; i < ARRAY_LEN(models); i++)
        if (matches(name, models[i].name))
            return models[i].preset;
    return "";
}

/* "3B", "800M" at s, ended by what is no letter or digit: parameters; NaN: none. *end: behind it. */
static double size_at(const char *s, const char **end)
{
    char *e;
    if (!isdigit((unsigned char)*s))
        return NAN;
    const double v = strtod(s, &e);
    const int unit = tolower((unsigned char)*e);
    if ((unit != 'b' && unit != 'm') || isalnum((unsigned char)e[1]))
        return NAN;
    *end = e + 1;
    return v * (unit == 'b' ? 1e9 : 1e6);
}

double model_active_params(const char *model)
{
    char name[128];
    const char *end;
    for (const char *p = model; *p; p++) {
        const bool begins = p == model || !isalnum((unsigned char)p[-1]);
        const double v = begins && (*p == 'A' || *p == 'a') ? size_at(p + 1, &end) : NAN;
        if (v > 0)
            return v;
    }
    fold(name, sizeof name, model);
    for (size_t i = 0; i < ARRAY_LEN(actives); i++)
        if (matches(name, actives[i].name))
            return actives[i].active;
    return NAN;
}

/* "8x7B" at s: the copies, and the parameters of one; NaN: not that. */
static double copies_at(const char *s, double *each)
{
    char *x;
    const char *end;
    const double copies = strtod(s, &x);
    *each = (*x == 'x' || *x == 'X') ? size_at(x + 1, &end) : NAN;
    return *each > 0 ? copies : NAN;
}

/* May a number begin at p? */
static bool begins_number(const char *model, const char *p)
{
    return isdigit((unsigned char)*p) && (p == model || !(isalnum((unsigned char)p[-1]) || p[-1] == '.'));
}

double model_named_experts(const char *model)
{
    double each;
    for (const char *p = model; *p; p++) {
        const double copies = begins_number(model, p) ? copies_at(p, &each) : NAN;
        if (copies > 0)
            return copies;
    }
    return NAN;
}

double model_named_params(const char *model)
{
    const char *end;
    for (const char *p = model; *p; p++) {
        double each;
        if (!begins_number(model, p))
            continue;
        const double v = size_at(p, &end);
        if (v > 0)
            return v;
        const double copies = copies_at(p, &each);
        if (copies > 0)
            return copies * each;
    }
    return NAN;
}

/* ---- machines -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *profile; /* name: as in the models' table */
} hardware[] = {
    { "a100dgx", "a100-sxm-80gb" },
    { "a100pairwisenvlink", "a100-pcie-80gb" },
    { "h100dgx", "h100-sxm" },
    { "h100pairwisenvlink", "h100-nvl" },
    { "tenstorrentwormhole*", "tenstorrent-n150" },
    { "awsinferentia2*", "inferentia2" },
    { "googletpuv5e*", "tpu-v5e" },
    { "amdradeongraphicsradvgfx1151", "strix-halo-395" }, /* what Mesa calls it */
    { "amdradeongraphicsradvgfx1150", "strix-point-hx370" },
};

const char *hardware_alias(const char *name)
{
    char folded[128];
    fold(folded, sizeof folded, name);
    for (size_t i = 0; i < ARRAY_LEN(hardware); i++)
        if (matches(folded, hardware[i].name))
            return hardware[i].profile;
    return "";
}
