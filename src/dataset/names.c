/* Aliases of engines, types, models and machines, in addition to the names of presets and profiles (model_load, hwprofile_load). */
#include "dataset/measure.h"
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

/* Tokens per pass: llama.cpp -ub 512 by default; mlx_lm prefill_step_size 2048; vLLM and SGLang chunk at 8192. */
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

/* In order: the first word contained in the name decides. */
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

/* Back ends in names of llama.cpp. */
static const struct {
    const char *word, *id;
} backends[] = {
    { "vulkan", "llama.cpp-vulkan" }, { "radv", "llama.cpp-vulkan" }, { "rocm", "llama.cpp-rocm" },
    { "hip", "llama.cpp-rocm" },      { "sycl", "llama.cpp-sycl" },   { "metal", "llama.cpp-metal" },  { "mtl", "llama.cpp-metal" },
    { "cuda", "llama.cpp-cuda" },     { "cublas", "llama.cpp-cuda" }, { "opencl", "llama.cpp" },
    { "clblast", "llama.cpp" },       { "cpu", "llama.cpp-cpu" },     { "blas", "llama.cpp-cpu" },
};

/*
 * Default back end by machine name. A processor named with its GPU means that GPU; kind and vendor of the profile determine the back end
 * (stack_on).
 */
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

/* Number (digits and points) that ends at p. */
static double number_before(const char *s, const char *p)
{
    const char *q = p;
    while (q > s && (isdigit((unsigned char)q[-1]) || q[-1] == '.'))
        q--;
    return q < p ? strtod(q, NULL) : NAN;
}

/* Bits in a name: "EXL2-4.0bpw", "4-bit", "4bit", "mlx-q4-g32", "int4", "w4". */
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

/* Bits per weight including 32 bits per group; MLX's default group has 64 weights. */
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

/* Compound type names, by the first word contained: "NVFP4+FP8KV", "AWQ-Marlin", "bnb-nf4", "FP8-dynamic". */
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
            return named(inside[i].type, inside[i].bits, false); /* not exact: model_load() may know the whole name */
    return named("", NAN, false);
}

static struct quant_name usual(const struct stack *s);

static struct quant_name by_bits(const char *s, const struct stack *k)
{
    const double bits = named_bits(s);
    /* Exact names. */
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

/* Default types: ollama's tags are Q4_K_M, Tenstorrent's demos use block floats. */
static struct quant_name usual(const struct stack *s)
{
    if (reads_gguf(s))
        return named("Q4_K_M", NAN, false);
    return strcmp(s->id, "tt-metal") == 0 ? named("FP8_W8A16", 8.5, false) : named("F16", NAN, false);
}

struct quant_name quant_find(const char *quant, const struct stack *s)
{
    char name[64];
    struct quant_name q;
    model_type_plain(name, sizeof name, quant);
    if (!*name)
        return usual(s);
    /* 8-bit weights, multiplied as 16-bit numbers. */
    const bool weight_only = strcmp(s->id, "gpt-fast") == 0 || strcmp(s->id, "calm") == 0;
    if (weight_only && strcmp(name, "int8") == 0)
        return named("INT8_W8A16", NAN, true);
    if (weight_only && strcmp(name, "fp8") == 0)
        return named("FP8_W8A16", NAN, true);
    if (strcmp(s->id, "gpt-fast") == 0 && strcmp(name, "int4") == 0)
        return named("W4A16", 5, true);
    const size_t digits = strspn(name, "0123456789");
    if (digits > 0 && strcmp(name + digits + (name[digits] == '-'), "bit") == 0) /* bits only: the type depends on the program */
        return by_bits(name, s);
    if (model_type_named(&q, quant) && strncmp(q.type, "MLX", 3) != 0) /* MLX types are identified by bits */
        return q;
    q = by_word(name);
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
            snprintf(buf, size, "%s", p); /* "GPTQ-Int4"; if unknown, the word */
            if (strlen(p) >= size || !quant_find(p, server).known)
                snprintf(buf, size, "%.*s", (int)n, p);
            return buf;
        }
    }
    return buf;
}

/* ---- models ------------------------------------------------------------------------------------------------ */

/* Active parameters of mixtures whose name does not state them. Source: model cards. */
static const struct {
    const char *name;
    double active;
} actives[] = {
    { "glm4.7flash*", 3e9 }, /* 30B-A3B, model card (confidence: low) */
    { "qwen3.635b*", 3e9 },
    { "lingflash2.0*", 6.1e9 },  /* this and the following: model cards (confidence: low) */
    { "lingmini2.0*", 1.4e9 },
    { "step3.5flash*", 11e9 },
    { "granite4.0hsmall*", 9e9 },
    { "dots.llm1*", 14e9 },
};

/* Lower case without separators and without the owner on the hub. */
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

/* ---- families ---------------------------------------------------------------------------------------------- */

/*
 * Families of mixtures of experts, by names and llama.cpp's architecture names; first match. from: size of the smallest mixture, smaller
 * models are dense; 0: all are mixtures. Names containing "moe" need no line. Source: model cards (confidence: low).
 */
static const struct {
    const char *name;
    double from;
} mixtures[] = {
    { "gptoss*", 0 },      { "mixtral*", 0 },     { "dbrx*", 0 },         { "grok*", 0 },        { "arctic*", 0 },       { "jamba*", 0 },
    { "qwen3next*", 0 },   { "qwen3codernext*", 0 }, { "qwen3.5*", 34e9 }, { "qwen3.6*", 34e9 },  { "qwen35*", 34e9 },   { "qwen3*", 29e9 },
    { "gemma4*", 25e9 },   { "deepseekv*", 0 },   { "deepseekr1*", 0 },   { "deepseek2*", 0 },   { "deepseek3*", 0 },    { "deepseekcoderv2*", 0 },
    { "glm4.5*", 0 },      { "glm4.6*", 0 },      { "glm4.7*", 0 },       { "glm5*", 0 },        { "glmdsa*", 0 },       { "kimi*", 0 },
    { "minimax*", 0 },     { "llama4*", 0 },      { "ling*", 0 },         { "ring*", 0 },        { "step3*", 0 },        { "mimov2*", 0 },
    { "mimo2*", 0 },       { "longcat*", 0 },     { "dots*", 0 },         { "hunyuan*", 60e9 },  { "ernie4*", 20e9 },    { "nemotron3*", 29e9 },
    { "nvidianemotron3*", 29e9 }, { "granite4*", 6e9 }, { "granitehybrid*", 6e9 }, { "lfm2*", 8e9 }, { "mistrallarge3*", 0 }, { "trinity*", 0 },
};
static const double SIZE_ROUNDED = 0.97; /* "30B" of 30.5e9 */

enum model_kind model_named_kind(const char *model, double params)
{
    char name[128];
    fold(name, sizeof name, model);
    if (strstr(name, "moe"))
        return KIND_MIXTURE;
    for (size_t i = 0; i < ARRAY_LEN(mixtures); i++)
        if (matches(name, mixtures[i].name))
            return mixtures[i].from == 0 ? KIND_MIXTURE : params >= SIZE_ROUNDED * mixtures[i].from ? KIND_EITHER : KIND_UNKNOWN;
    return KIND_UNKNOWN;
}

/* Labels that begin with another architecture's name, of the same text model. */
static const char *const label_archs[][2] = {
    { "qwen3vl", "qwen3" }, { "qwen3vlmoe", "qwen3moe" }, { "qwen2vl", "qwen2" }, { "mistral3", "llama" }, { "nemotron_h_moe", "nemotron_h" },
};

/* "?B", "8B", "0.6B", "30B.A3B", "8x7B", "A2.7B", "E4B" */
static bool is_label_size(const char *s)
{
    s += *s == 'A' || *s == 'E';
    const size_t n = *s == '?' ? 1 : strspn(s, "0123456789.x");
    return n > 0 && (s[n] == 'B' || s[n] == 'M');
}

bool label_arch(char *arch, size_t size, const char *label)
{
    struct arch_info a;
    const size_t n = strcspn(label, " ");
    if (label[n] != ' ' || n >= size || !is_label_size(label + n + 1))
        return false;
    snprintf(arch, size, "%.*s", (int)n, label);
    for (size_t i = 0; i < ARRAY_LEN(label_archs); i++)
        if (strcasecmp(arch, label_archs[i][0]) == 0)
            snprintf(arch, size, "%s", label_archs[i][1]);
    for (size_t i = 0; model_arch_at(i, &a); i++)
        if (strcasecmp(arch, a.name) == 0) {
            snprintf(arch, size, "%s", a.name);
            return true;
        }
    return false;
}

const char *model_family(char *buf, size_t size, const char *model)
{
    const char *s = strrchr(model, '/') ? strrchr(model, '/') + 1 : model;
    size_t n = 0;
    *buf = 0;
    while (isalpha((unsigned char)*s) && n + 1 < size)
        buf[n++] = (char)tolower((unsigned char)*s++);
    if (n == 0)
        return buf;
    const char *const digits = s + (*s == '-' || *s == '_' || *s == ' ' || *s == ':');
    const size_t k = strspn(digits, "0123456789.");
    const bool version = k > 0 && isdigit((unsigned char)*digits) && !isalpha((unsigned char)digits[k]);
    for (size_t i = 0; version && i < k && n + 1 < size; i++)
        buf[n++] = digits[i];
    buf[n] = 0;
    return buf;
}

/* Parameters at s ("3B", "800M"), at a word end; NaN: none. *end: after it. */
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

/* "8x7B" at s: number of experts, *each: parameters of one; NaN: none. */
static double copies_at(const char *s, double *each)
{
    char *x;
    const char *end;
    const double copies = strtod(s, &x);
    *each = (*x == 'x' || *x == 'X') ? size_at(x + 1, &end) : NAN;
    return *each > 0 ? copies : NAN;
}

/* A number may begin at p. */
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
    const char *name, *profile; /* name: as in the table of models */
} hardware[] = {
    { "a100dgx", "a100-sxm-80gb" },
    { "a100pairwisenvlink", "a100-pcie-80gb" },
    { "h100dgx", "h100-sxm" },
    { "h100pairwisenvlink", "h100-nvl" },
    { "tenstorrentwormhole*", "tenstorrent-n150" },
    { "awsinferentia2*", "inferentia2" },
    { "googletpuv5e*", "tpu-v5e" },
    { "amdradeongraphicsradvgfx1151", "strix-halo-395" }, /* Mesa's name */
    { "amdradeongraphicsradvgfx1150", "strix-point-hx370" },
};

static bool is_processor(const char *name)
{
    char on[256];
    lower(on, sizeof on, name);
    for (size_t i = 0; i < ARRAY_LEN(machines); i++)
        if (strcmp(machines[i].id, "llama.cpp-cpu") == 0 && strstr(on, machines[i].word))
            return true;
    return false;
}

/* Length of "x", "X" or the multiplication sign at s; 0: none. */
static size_t times_at(const char *s)
{
    return *s == 'x' || *s == 'X' ? 1 : strncmp(s, "\u00d7", 2) == 0 ? 2 : 0;
}

/* Text after a leading count ("2x ", "2 x ", "4xH100"); NULL: none. */
static const char *after_count(const char *name, int *n)
{
    char *end;
    const long v = isdigit((unsigned char)*name) ? strtol(name, &end, 10) : 0;
    if (v < 1 || v > 1024)
        return NULL;
    end += *end == ' ';
    const size_t times = times_at(end);
    end += times;
    end += strspn(end, " ");
    *n = (int)v;
    return times && isalpha((unsigned char)*end) ? end : NULL;
}

/* Length of the name without a trailing " x2" or " (x2)". */
static size_t before_count(const char *name, int *n)
{
    size_t len = strlen(name);
    const bool open = len > 0 && name[len - 1] == ')';
    size_t i = len - open;
    while (i > 0 && isdigit((unsigned char)name[i - 1]))
        i--;
    const long v = strtol(name + i, NULL, 10);
    for (size_t k = 1; k <= 2 && k < i; k++)
        if (v >= 1 && v <= 1024 && times_at(name + i - k) == k) {
            size_t at = i - k;
            if (open && name[at - 1] != '(')
                return len;
            at -= open;
            if (at < 2 || name[at - 1] != ' ')
                return len;
            *n = (int)v;
            return at - 1;
        }
    return len;
}

static const char dual[] = "dual ";

int hardware_sockets(const char *name)
{
    int n = 1;
    if (!is_processor(name))
        return 1;
    if (strncasecmp(name, dual, sizeof dual - 1) == 0)
        return 2;
    if (!after_count(name, &n))
        (void)before_count(name, &n);
    return n;
}

const char *hardware_one(char *buf, size_t size, const char *name, int *n)
{
    const char *s = is_processor(name) ? NULL : after_count(name, n);
    snprintf(buf, size, "%s", s ? s : name);
    if (s)
        return buf;
    *n = 1;
    if (is_processor(name))
        return buf;
    if (strncasecmp(name, dual, sizeof dual - 1) == 0) {
        *n = 2;
        snprintf(buf, size, "%s", name + sizeof dual - 1);
        return buf;
    }
    const size_t len = before_count(name, n);
    if (len < size)
        buf[len] = 0;
    return buf;
}

const char *hardware_alias(const char *name)
{
    char folded[128];
    fold(folded, sizeof folded, name);
    for (size_t i = 0; i < ARRAY_LEN(hardware); i++)
        if (matches(folded, hardware[i].name))
            return hardware[i].profile;
    return "";
}
