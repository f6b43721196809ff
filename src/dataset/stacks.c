/* Forms of the tables of hwprofiles/stacks/rules.json, and their lookup. */
#include "dataset/stacks.h"
#include "dataset/workload.h"
#include <string.h>

static bool is_stack(const char *name)
{
    return stack_named(name) != NULL;
}

const char *const stack_makers[] = { "NVIDIA", "AMD", "Intel", "Apple", "other", NULL };
static const char *const kinds[] = { [HW_CPU] = "CPU", [HW_GPU] = "GPU", [HW_APU] = "APU", [HW_NPU] = "NPU", NULL };
static const char *const families[] = { "llama.cpp", "ik_llama.cpp", "mlx", "compiled", "server", "pytorch", "cpu", "npu", "other", NULL };
static const char *const back_ends[] = { "CUDA", "ROCm", "Vulkan", "SYCL", "other", NULL };
static const char *const generations[] = { "other", "before Volta", "Volta", "Turing", "Turing without matrix units", "GA100", "Hopper",
                                           "H20", "datacenter Blackwell", "before RDNA3 and CDNA", NULL };
/* Machines that share a design: what a prediction of one learns from another. */
const char *const machine_lineages[] = { "other", "Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell", "GCN", "RDNA 1",
                                         "RDNA 2", "RDNA 3", "RDNA 3.5", "RDNA 4", "CDNA 1", "CDNA 2", "CDNA 3", "CDNA 4", "Alchemist",
                                         "Battlemage", "Ponte Vecchio", "Xe-LP", "Apple M1", "Apple M2", "Apple M3", "Apple M4", "Apple M5",
                                         "Zen 2", "Zen 3", "Zen 4", "Zen 5", "AVX2 Xeon", "AVX-512 Xeon", "AMX Xeon", "Core",
                                         "Arm before SVE", "Arm with SVE", NULL };
static const char *const ops[] = { "product", "experts", "attention", "cache", "norm", "gated", "other", NULL };
static const char *const units[] = { "matrix", "integer", "dot", "vector", "grid", NULL };
static const char *const peaks[] = { "FP32", "FP16", "FP16 sums", "BF16", "own", "FP4", NULL };
static const char *const cpu_kernels[] = { "rows", "tiles", "lookup", "other", NULL };
static const char *const weights[] = { "GGUF", "plain", "checkpoint", NULL };
const char *const stack_defaults[] = { "other", "roofcast", "llama.cpp-cpu", "llama.cpp-cuda", "llama.cpp-rocm", "llama.cpp-sycl", "llama.cpp-vulkan",
                                       "llama.cpp-metal", "vllm", "jetstream", "neuronx", "tt-metal", NULL };
const char *const stack_attends[] = { "fa2", "fa2-heads", "fa3", "fa3-mma", "flashinfer", "flashinfer-simt", "triton", "xqa", "xqa-wgmma", "mmha",
                                      "mmha-convert", "trtllm-gen", NULL };
static const char *const libraries[] = { "FlashAttention 2", "FlashAttention 3", "FlashInfer", "Triton", "TensorRT-LLM", "trtllm-gen", NULL };

static const struct rule_key keys[KEY_COUNT] = {
    [KEY_BITS] = { .name = "bits", .kind = RULE_NUMBER, .late = true },
    [KEY_TOKENS] = { .name = "tokens", .kind = RULE_NUMBER, .late = true },
    [KEY_HEAD_DIM] = { .name = "head_dim", .kind = RULE_NUMBER, .late = true },
    [KEY_GROUP] = { .name = "group", .kind = RULE_NUMBER, .late = true },
    [KEY_BF16] = { .name = "bf16", .kind = RULE_FLAG, .late = true },
    [KEY_EXPERTS] = { .name = "experts", .kind = RULE_FLAG, .late = true },
    [KEY_OP] = { .name = "op", .kind = RULE_ONE, .late = true, .words = ops },
    [KEY_NARROW] = { .name = "narrow_cache", .kind = RULE_FLAG, .late = true },
    [KEY_WINDOWED] = { .name = "windowed", .kind = RULE_FLAG, .late = true },
    [KEY_SERVING] = { .name = "serving", .kind = RULE_FLAG, .late = true },
    [KEY_LIBRARY] = { .name = "library", .kind = RULE_ONE, .late = true, .words = libraries },
    [KEY_MAKER] = { .name = "maker", .kind = RULE_ONE, .words = stack_makers },
    [KEY_VENDOR] = { .name = "vendor", .kind = RULE_TEXT },
    [KEY_CLASS] = { .name = "class", .kind = RULE_TEXT },
    [KEY_KIND] = { .name = "kind", .kind = RULE_ONE, .words = kinds },
    [KEY_NAME] = { .name = "name", .kind = RULE_PART },
    [KEY_WORD] = { .name = "word", .kind = RULE_WORD },
    [KEY_FP16_RATE] = { .name = "fp16_rate", .kind = RULE_NUMBER },
    [KEY_ANY_FP16_RATE] = { .name = "any_fp16_rate", .kind = RULE_NUMBER },
    [KEY_FP4_PEAK] = { .name = "fp4_peak", .kind = RULE_FLAG },
    [KEY_FLOP_CYCLE] = { .name = "flop_cycle", .kind = RULE_NUMBER },
    [KEY_GENERATION] = { .name = "generation", .kind = RULE_ONE, .words = generations },
    [KEY_MATRIX] = { .name = "matrix_units", .kind = RULE_FLAG },
    [KEY_STACK] = { .name = "stack", .kind = RULE_TEXT, .known = is_stack },
    [KEY_FAMILY] = { .name = "family", .kind = RULE_ONE, .words = families },
    [KEY_FUSED] = { .name = "fused", .kind = RULE_FLAG },
    [KEY_BUILD] = { .name = "build", .kind = RULE_NUMBER },
    [KEY_DATED] = { .name = "dated", .kind = RULE_FLAG },
    [KEY_BACK_END] = { .name = "back_end", .kind = RULE_ONE, .words = back_ends },
    [KEY_PRODUCTS] = { .name = "products", .kind = RULE_ONE, .words = back_ends },
    [KEY_OLD] = { .name = "old", .kind = RULE_FLAG },
    [KEY_FLASH] = { .name = "flash", .kind = RULE_FLAG },
    [KEY_CPU_KERNELS] = { .name = "cpu_kernels", .kind = RULE_ONE, .words = cpu_kernels },
    [KEY_MONTH] = { .name = "month", .kind = RULE_NUMBER },
    [KEY_MOE] = { .name = "moe", .kind = RULE_FLAG },
    [KEY_BEHIND] = { .name = "behind", .kind = RULE_FLAG },
    [KEY_TYPE] = { .name = "type", .kind = RULE_PREFIX },
    [KEY_TYPE_HAS] = { .name = "type_has", .kind = RULE_LIKE },
    [KEY_PRICED] = { .name = "priced_type", .kind = RULE_PART },
    [KEY_QUANT] = { .name = "quant", .kind = RULE_PART },
    [KEY_ENGINE] = { .name = "engine", .kind = RULE_PART },
    [KEY_VERSION] = { .name = "version", .kind = RULE_PREFIX },
    [KEY_NOTES] = { .name = "notes", .kind = RULE_PART },
    [KEY_SCHEME] = { .name = "scheme", .kind = RULE_LIKE },
    [KEY_KERNEL] = { .name = "kernel", .kind = RULE_PART },
    [KEY_ORIGIN] = { .name = "origin", .kind = RULE_PREFIX },
    [KEY_RELEASE] = { .name = "release", .kind = RULE_PART },
    [KEY_MODE] = { .name = "mode", .kind = RULE_TEXT },
    [KEY_DP] = { .name = "dp", .kind = RULE_NUMBER },
    [KEY_USERS] = { .name = "users", .kind = RULE_NUMBER },
    [KEY_WEIGHTS] = { .name = "weights", .kind = RULE_ONE, .words = weights },
    [KEY_PROFILED] = { .name = "profiled", .kind = RULE_FLAG },
};

#define BIT(key) (UINT64_C(1) << (key))
#define NAMES (BIT(KEY_MAKER) | BIT(KEY_VENDOR) | BIT(KEY_CLASS) | BIT(KEY_KIND) | BIT(KEY_NAME) | BIT(KEY_WORD))
#define RATES (BIT(KEY_FP16_RATE) | BIT(KEY_ANY_FP16_RATE) | BIT(KEY_FP4_PEAK) | BIT(KEY_FLOP_CYCLE) | BIT(KEY_GENERATION))
#define MACHINE (NAMES | RATES | BIT(KEY_MATRIX))
#define STACK (BIT(KEY_STACK) | BIT(KEY_FAMILY) | BIT(KEY_FUSED))
#define DATED (STACK | BIT(KEY_BUILD) | BIT(KEY_DATED) | BIT(KEY_NOTES))
#define ENGINE (DATED | BIT(KEY_BACK_END) | BIT(KEY_PRODUCTS) | BIT(KEY_OLD) | BIT(KEY_FLASH) | BIT(KEY_MOE))
#define TEXTS (BIT(KEY_TYPE) | BIT(KEY_TYPE_HAS) | BIT(KEY_PRICED) | BIT(KEY_QUANT) | BIT(KEY_ENGINE) | BIT(KEY_VERSION) | BIT(KEY_SCHEME))
#define ROW (MACHINE | ENGINE | TEXTS)
#define PRODUCT (BIT(KEY_BITS) | BIT(KEY_TOKENS) | BIT(KEY_BF16))

static const struct rule_table_form tables[TABLE_COUNT] = {
    [TABLE_BUILDS] = { .name = "builds", .keys = BIT(KEY_MONTH), .value = { "build" } },
    [TABLE_RELEASES] = { .name = "releases", .keys = BIT(KEY_STACK) | BIT(KEY_RELEASE), .value = { "month" } },
    [TABLE_LINEAGES] = { .name = "lineages", .keys = NAMES, .value = { "lineage" }, .words = { machine_lineages } },
    [TABLE_GENERATIONS] = { .name = "generations", .keys = NAMES, .value = { "generation" }, .words = { generations } },
    [TABLE_MATRIX_UNITS] = { .name = "matrix_units", .keys = NAMES | RATES, .value = { "has" } },
    [TABLE_LANES] = { .name = "lanes", .keys = NAMES | RATES, .value = { "issued" } },
    [TABLE_ISSUE] = { .name = "issue", .keys = NAMES | RATES, .value = { "integers", "in_turns" } },
    [TABLE_HALF_SUMS] = { .name = "half_sums", .keys = NAMES | RATES, .value = { "faster" } },
    [TABLE_CHECK_BYTES] = { .name = "check_bytes", .keys = NAMES | RATES, .value = { "crosses" } },
    [TABLE_RANKS] = { .name = "ranks", .keys = NAMES, .value = { "device" } },
    [TABLE_MMA_ROWS] = { .name = "mma_rows", .keys = NAMES | RATES, .value = { "rows" } },
    [TABLE_CORES] = { .name = "cores", .keys = NAMES | RATES, .value = { "x86", "flop", "instructions" } },
    [TABLE_BACK_ENDS] = { .name = "back_ends", .keys = STACK, .value = { "back_end" }, .words = { back_ends } },
    [TABLE_PRODUCTS] = { .name = "products", .keys = MACHINE | STACK | BIT(KEY_BACK_END), .value = { "products" }, .words = { back_ends } },
    [TABLE_OLD] = { .name = "old", .keys = DATED, .value = { "old" } },
    [TABLE_FLASH] = { .name = "flash", .keys = DATED | BIT(KEY_OLD) | BIT(KEY_BEHIND), .value = { "flash" } },
    [TABLE_LAUNCHES] = { .name = "launches", .keys = ROW, .value = { "factor" } },
    [TABLE_EXCHANGES] = { .name = "exchanges", .keys = ROW, .value = { "one_step", "once_bytes" } },
    [TABLE_MACHINE_BUILDS] = { .name = "machine_builds", .keys = BIT(KEY_KIND) | BIT(KEY_VENDOR), .value = { "stack" }, .words = { stack_defaults } },
    [TABLE_SCRIPTS] = { .name = "scripts", .keys = BIT(KEY_STACK) | BIT(KEY_ORIGIN), .value = { "pass_tokens" } },
    [TABLE_ENGINES] = { .name = "engines", .keys = STACK,
                        .value = { "copies", "borders", "absorbed", "own_files", "gguf", "by_layer", "quantizes_head", "sequences" } },
    [TABLE_SERVERS] = { .name = "servers", .keys = STACK | BIT(KEY_KIND), .value = { "serves", "together" } },
    [TABLE_DEFAULTS] = { .name = "defaults",
                         .keys = BIT(KEY_KIND) | BIT(KEY_VENDOR) | BIT(KEY_CLASS) | BIT(KEY_GENERATION) | BIT(KEY_WEIGHTS) | BIT(KEY_PROFILED),
                         .value = { "stack", "fallback" }, .words = { stack_defaults } },
    [TABLE_LIBRARY_REACH] = { .name = "library_reach", .keys = ROW, .value = { "products", "attention", "on_matrix" } },
    [TABLE_RECEIVE] = { .name = "receive", .keys = ROW | BIT(KEY_ORIGIN) | BIT(KEY_MODE) | BIT(KEY_DP) | BIT(KEY_USERS), .value = { "steps" } },
    [TABLE_OWN_KERNELS] = { .name = "own_kernels", .keys = ROW, .value = { "part" } },
    [TABLE_CPU_KERNELS] = { .name = "cpu_kernels", .keys = ROW, .value = { "kernels" }, .words = { cpu_kernels } },
    [TABLE_SERVER_ATTENTION] = { .name = "server_attention", .keys = ROW, .value = { "measured" } },
    [TABLE_NARROW_START] = { .name = "narrow_start", .keys = ROW, .value = { "cycles" } },
    [TABLE_NARROW_CACHE] = { .name = "narrow_cache", .keys = BIT(KEY_STACK) | BIT(KEY_KIND) | BIT(KEY_FP4_PEAK) | BIT(KEY_TYPE) | BIT(KEY_BITS) | BIT(KEY_SERVING),
                             .value = { "fp8" } },
    [TABLE_BATCH_LAUNCHES] = { .name = "batch_launches", .keys = ROW | BIT(KEY_TOKENS), .value = { "factor" } },
    [TABLE_UNITS] = { .name = "units", .keys = ROW | PRODUCT, .value = { "unit", "peak", "own", "staged_bytes" }, .words = { units, peaks } },
    [TABLE_ATTENTION] = { .name = "attention", .keys = ROW | BIT(KEY_TOKENS) | BIT(KEY_HEAD_DIM) | BIT(KEY_GROUP),
                          .value = { "unit", "peak", "own" }, .words = { units, peaks } },
    [TABLE_EXPERTS] = { .name = "experts", .keys = ROW | BIT(KEY_BITS) | BIT(KEY_TOKENS), .value = { "seconds" } },
    [TABLE_KERNELS] = { .name = "kernels", .keys = ROW | BIT(KEY_BITS) | BIT(KEY_OP), .value = { "kernels" } },
    [TABLE_CPU_ROWS] = { .name = "cpu_rows", .keys = TEXTS | BIT(KEY_BITS), .value = { "x86", "arm" } },
    [TABLE_CPU_REPACKED] = { .name = "cpu_repacked", .keys = ROW | BIT(KEY_CPU_KERNELS) | BIT(KEY_BITS), .value = { "factor" } },
    [TABLE_CPU_TILES] = { .name = "cpu_tiles", .keys = ROW | BIT(KEY_BITS) | BIT(KEY_BF16), .value = { "instructions", "interleaved" } },
    [TABLE_GPU_WEIGHTS] = { .name = "gpu_weights", .keys = ROW | BIT(KEY_BITS), .value = { "operations", "in_turns" } },
    [TABLE_GPU_ROWS] = { .name = "gpu_rows", .keys = TEXTS | BIT(KEY_BITS), .value = { "one", "more" } },
    [TABLE_TILES] = { .name = "tiles", .keys = ROW | BIT(KEY_BITS) | BIT(KEY_EXPERTS), .value = { "tokens" } },
    [TABLE_STAGED] = { .name = "staged", .keys = ROW | BIT(KEY_BITS) | BIT(KEY_BF16), .value = { "bytes" } },
    [TABLE_HOST] = { .name = "host", .keys = ROW | BIT(KEY_BITS), .value = { "kernels" } },
    [TABLE_LIBRARIES] = { .name = "libraries", .keys = ROW | BIT(KEY_KERNEL) | BIT(KEY_NARROW), .value = { "library" }, .words = { libraries } },
    [TABLE_ATTEND] = { .name = "attention_kernels", .keys = ROW | BIT(KEY_NARROW) | BIT(KEY_WINDOWED) | BIT(KEY_GROUP) | BIT(KEY_LIBRARY),
                       .value = { "kernel" }, .words = { stack_attends } },
};

const struct rules_form stacks_form = { "roofcast.rules", 1, keys, KEY_COUNT, tables, TABLE_COUNT };

static struct rules the;
static struct once reading = ONCE_INIT;

static int read_file(struct error *err)
{
    char path[4096];
    if (!hwprofile_data_file(path, sizeof path, "hwprofiles/stacks", "rules"))
        return error_set(err, ERROR_UNAVAILABLE, "hwprofiles/stacks/rules.json is in none of the data directories");
    return rules_take(&the, &stacks_form, json_load_path(path, err), path, err);
}

int stacks_load(struct error *err)
{
    return read_once(&reading, read_file, err);
}

const struct rules *stacks(void)
{
    struct error unused; /* called per row: not cleared */
    (void)stacks_load(&unused);
    return &the;
}

double stacks_value(enum stack_table t, unsigned value, const struct rule_fact *fact, double none)
{
    const struct rule *row = rules_match(stacks(), t, fact);
    return row ? row->value[value] : none;
}

double stack_trait(const struct stack *s, enum engine_trait t)
{
    const struct rule_fact fact[KEY_COUNT] = { [KEY_STACK] = { .text = s->id }, [KEY_FAMILY] = { .number = s->family }, [KEY_FUSED] = { .number = s->fused } };
    return stacks_value(TABLE_ENGINES, t, fact, 0);
}
