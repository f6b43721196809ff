/*
 * measure.h: published measurements as rows: tokens/s, latencies, seconds of ops. Readers of CSV files and of the outputs of other
 * benchmarks, and the table of names of engines, types, models and machines. SI units. Files: doc/formats.md.
 */
#ifndef DATASET_MEASURE_H
#define DATASET_MEASURE_H

#include "base/base.h"
#include "base/json.h"
#include "dataset/csv.h"
#include "model/model.h"

enum measure_kind {
    MEASURE_RATE,       /* tokens/s of a phase: throughput.csv, llama-bench, runs */
    MEASURE_SERVING,    /* latency of a server under load: serving_silicon.csv, vLLM, AIPerf */
    MEASURE_OP,         /* seconds of one op: gpu_ops.csv */
    MEASURE_ALL_REDUCE, /* seconds of an all-reduce: all_reduce.csv */
    MEASURE_KERNEL,     /* seconds of one kernel of a server's engine: gpu_kernels */
};

enum measure_phase { MEASURE_PREFILL, MEASURE_DECODE, MEASURE_REQUEST, MEASURE_NO_PHASE };
const char *measure_phase_name(enum measure_phase p); /* "prefill" "decode" "serving" "-" */

enum measure_metric { METRIC_TOK_S, METRIC_TTFT, METRIC_TPOT, METRIC_SECONDS };
const char *measure_metric_name(enum measure_metric m); /* "tok_s" "ttft" "tpot" "seconds" */

/* Tags of a row. */
enum measure_tag {
    TAG_DERIVED = 1 << 0,
    TAG_E2E = 1 << 1,
    TAG_TTFT_BASED = 1 << 2,
    TAG_TOTAL_TOKENS = 1 << 3, /* (prompt + generated) / time */
    TAG_PER_GPU = 1 << 4,
    TAG_MAX_THROUGHPUT = 1 << 5,
    TAG_LAYER_SPLIT = 1 << 6,
    TAG_TENSOR_PARALLEL = 1 << 7,
    TAG_DATA_PARALLEL = 1 << 8,
    TAG_PCIE = 1 << 9,
    TAG_BATCH_CURVE = 1 << 10,
    TAG_MOE = 1 << 11,
    TAG_HYBRID = 1 << 12,
    TAG_CPU = 1 << 13,
    TAG_POWER_LIMITED = 1 << 14,
    TAG_WEAK_HOST = 1 << 15,
    TAG_ROUNDED = 1 << 16,
    TAG_ANOMALY = 1 << 17,
    TAG_COMMUNITY = 1 << 18,
    TAG_SUMMARY = 1 << 19,
    TAG_SLOW_BACKEND = 1 << 20,
    TAG_MEMORY_PRESSURE = 1 << 21,
    TAG_PARTIAL_OFFLOAD = 1 << 22,
    TAG_VENDOR = 1 << 23,
    TAG_SHAREGPT = 1 << 24,
    TAG_AMBIGUOUS = 1 << 25,
    TAG_SMALL_MODEL = 1 << 26,
    TAG_COLD_START = 1 << 27,
    TAG_INCONSISTENT = 1 << 28,
    TAG_NUMA2 = 1 << 29,
    TAG_BATCHED = 1 << 30,
    /* Tags of suspect measurements. */
    TAG_SUSPECT = TAG_ANOMALY | TAG_MEMORY_PRESSURE | TAG_PARTIAL_OFFLOAD | TAG_COLD_START | TAG_INCONSISTENT | TAG_SLOW_BACKEND |
                   TAG_WEAK_HOST | TAG_AMBIGUOUS,
};

/* Parallelism of a server; 0: not stated. */
struct measure_layout {
    int tp, pp, dp, ep, workers; /* dp: attention data parallelism; workers: independent replicas */
    double batch;                /* maximum batch of a worker; NaN: not stated */
};

/* A run with a part of the model in its host's memory: llama.cpp's options. */
struct measure_offload {
    bool stated;          /* n_cpu_moe, override or the flags are */
    int n_cpu_moe;        /* --n-cpu-moe; 0: none */
    const char *override; /* -ot, as model/offload.h takes it; NULL or "": none */
    const char *host;     /* CPU; NULL or "": not named */
    double host_bytes_s;  /* bandwidth of its memory as it is populated; 0: the profile's */
    int n_threads;        /* of the host; 0: not stated */
    bool host_kv, host_multiplies, pinned; /* --no-kv-offload, --no-op-offload, --no-mmap */
};

/* One measured value. Texts are never NULL; "" and NaN: not stated. */
struct measurement {
    enum measure_kind kind;
    enum measure_phase phase;
    enum measure_metric metric;
    const char *assumed; /* assumptions of the reader; "": none */
    const char *remark;  /* remarks, such as contradictions between fields; "": none */
    double value;      /* tokens/s or seconds, all devices (per_gpu rates multiplied) */
    double sd;         /* of repetitions, in the unit of value; NaN: not stated */
    const double *sample; /* [n_sample] value of each repetition; n_sample 0: not stated */
    size_t n_sample;
    double ln_sd;      /* standard deviation of ln value, if derived from other values; 0: measured */
    size_t line;       /* line of its file; 0: none */
    size_t file;       /* index of its file among several */
    const char *id, *source, *hardware, *engine, *version, *model, *quant, *date, *notes;
    const char *quant_experts; /* weight type of experts; "": as the others */
    const char *label;  /* another name of the model, as printed by the program */
    const char *named;  /* the machine as printed by the program, also where hardware is the caller's; "": not printed */
    int n_devices;
    unsigned tags;
    bool server_step; /* a decode step of a server, without its requests: taught with servers' latencies (52) */
    int n_threads;      /* threads=N; 0: not stated */
    int n_ubatch;       /* tokens per pass; 0: not stated */
    int n_gpu_layers;   /* layers on the GPU; 0: not stated */
    struct measure_offload offload;
    double params_b, weight_gib;
    double prompt, context, batch, out; /* tokens, tokens, sequences, generated tokens per request */
    double shortest;    /* of requests whose lengths are spread: the shortest over the stated one; 0: not known */
    double concurrency; /* users of a closed loop */
    double step_tokens; /* tokens per decode step and sequence; above 1: speculative decoding */
    double read_bytes;  /* weight bytes read per step, or prompt, as counted by the program; NaN: not stated */
    const char *type_k, *type_v; /* KV cache types */
    bool flash, flash_stated;
    bool other_gpus;    /* other GPUs ran a part of the model */
    int build;          /* llama.cpp build number; 0: not stated */

    /* MEASURE_OP: m tokens by a [k, n] weight */
    const char *op;
    double m, k, n;
    double query_width, kv_width; /* query and KV elements per device, from other rows of the model; NaN */
    int gated;                    /* 1: gated feed-forward, 0: not gated, -1: unknown */
    double tick_s;                /* timer resolution in seconds; 0: fine enough */
    /* MEASURE_KERNEL: op; attention: batch sequences with context cached positions and one new token */
    const char *kernel;           /* library, as named by the file; NULL or "": not stated */
    double n_head, n_kv, head_dim; /* per device */
    double window;                /* attention window; 0: none */
    double n_tensor, n_ep;        /* devices over which heads or experts are split, and experts shared out; NaN: not stated */
    double n_ranks;               /* devices of a collective of that many bytes */
    double n_expert, n_expert_used, skew; /* experts of m tokens, of width n; exponent of their power law, 0: even */

    /* MEASURE_ALL_REDUCE */
    const char *topology;
    double per_node, bytes;
    /* MEASURE_SERVING */
    const char *mode;            /* "agg" "disagg" */
    struct measure_layout prefill, decode;
    int n_merged;                /* number of rows that this is the median of */
};

enum measure_file {
    FILE_THROUGHPUT,
    FILE_GPU_OPS,
    FILE_ALL_REDUCE,
    FILE_SERVING,
    FILE_GPU_KERNELS,
    FILE_LLAMA_BENCH,
    FILE_RUN,
    FILE_VLLM,
    FILE_AIPERF,
    FILE_BATCHED_BENCH,
    FILE_GUIDELLM,
};
/* Who published a row: "XiongjieDai/GPU-Benchmarks-on-LLM-Inference README.md" -> the repository. */
const char *measure_publisher(const struct measurement *m, char *buf, size_t size);
const char *measure_file_name(enum measure_file f); /* "throughput.csv", "llama-bench", ... */

struct measurements {
    enum measure_file file;
    char name[256];
    char note[256]; /* note on ignored columns; "": none */
    struct measurement *row;
    size_t n;
    /* texts point into these */
    struct csv csv;
    struct csv *table; /* [n_table]: tables before csv */
    size_t n_table;
    char **text; /* and samples */
    size_t n_text;
};

/* Year and month (0: none) of a text. MEASURE_FALSE_DATE: a date by form only, as "2025-13-45". */
enum measure_date_kind { MEASURE_NO_DATE, MEASURE_DATE, MEASURE_FALSE_DATE };
enum { MEASURE_FIRST_YEAR = 2000 }; /* unset clocks read 1970 */
enum measure_date_kind measure_date(const char *text, int *year, int *month);

/* Context of a file, for what it does not state; NULL or "": unknown. */
struct measure_context {
    const char *hardware; /* machine, for outputs without a profile name (--hw) */
    const char *model;    /* model, for outputs without one */
    bool model_is_query; /* model is the query's: outputs that name a model keep theirs */
    /* servers' outputs only; 0: not stated */
    const char *type;     /* weight type */
    double input_len, output_len, batch;
    int tp;
};

/* Reads a file of any kind, detected by header or fields. errors: invalid input, with line and column; out of memory */
int measure_load(struct measurements *l, const char *path, const struct measure_context *x, struct error *err);
int measure_parse(struct measurements *l, const char *name, const void *data, size_t size,
                  const struct measure_context *x, struct error *err); /* fuzzed */
void measure_free(struct measurements *l);

/* ---- machines of a file: hardware.csv ---------------------------------------------------------- */

struct measure_hw {
    const char *hardware, *class_name, *spec_source, *comment;
    double bytes_s, fp32, fp16, int8, fp8; /* B/s, dense FLOP/s; NaN: not stated */
};
struct measure_hws {
    struct csv csv;
    struct measure_hw *row;
    size_t n;
};
int measure_hws_load(struct measure_hws *l, const char *path, struct error *err);
int measure_hws_parse(struct measure_hws *l, const char *name, const void *data, size_t size, struct error *err);
void measure_hws_free(struct measure_hws *l);
const struct measure_hw *measure_hws_find(const struct measure_hws *l, const char *hardware); /* NULL: unknown */

/* ---- names (names.c): one table ------------------------------------------------------------------ */

enum stack_family { STACK_LLAMA_CPP, STACK_IK, STACK_MLX, STACK_COMPILED, STACK_SERVER, STACK_PYTORCH, STACK_CPU, STACK_NPU, STACK_OTHER };
struct stack {
    const char *id; /* "llama.cpp-vulkan", "vllm", "calm" */
    enum stack_family family;
    int n_ubatch;   /* default tokens per pass of a prompt; 0: the whole prompt */
    bool fused;     /* kernel launches of a decode step are fused (graphs, compiler) */
};
/* Stack of an engine's name on such a machine: "vLLM 0.6.3", "llama.cpp (vulkan_radv)". Never NULL: "other". */
const struct stack *stack_find(const char *engine, const char *hardware);
const struct stack *stack_at(size_t i);           /* i-th of the table; NULL past the end */
const struct stack *stack_named(const char *id);  /* NULL: unknown id */

/* Weight type in the name of a checkpoint: "FP8" of "org/Model-8B-Instruct-FP8"; "": none. */
const char *quant_in_name(char *buf, size_t size, const char *model);
/* Weight type of a name for a stack: model_type_named(), or guessed. */
struct quant_name quant_find(const char *quant, const struct stack *s);

/* GGUF architecture of a llama-bench label ("gemma4 ?B", "qwen3moe 30B.A3B Q4_K - Medium"); false: not a label. */
bool label_arch(char *arch, size_t size, const char *label);
/* Family prefix of a model's name, version included: "gemma4" of "gemma-4-26B"; "": none. */
const char *model_family(char *buf, size_t size, const char *model);
/* Kind of a model without a preset, by name and parameters (NaN: unknown). */
enum model_kind { KIND_UNKNOWN, KIND_EITHER, KIND_MIXTURE }; /* KIND_EITHER: the family has dense models and mixtures of that size */
enum model_kind model_named_kind(const char *model, double params);
/* Active parameters: "Qwen3-30B-A3B" -> 3e9; "…-A800M" -> 0.8e9; NaN: not stated. */
double model_active_params(const char *model);
/* Parameters: "70B" -> 70e9, "8x7B" -> 56e9; NaN: not stated. */
double model_named_params(const char *model);
/* Experts: "8x7B" -> 8; NaN: not stated. */
double model_named_experts(const char *model);
/*
 * One device and the number of devices of "2x RTX 3090", "RTX 3090 x2" or "Dual RTX 3090". Processors (sockets are one machine) and other
 * names: the name, and 1.
 */
const char *hardware_one(char *buf, size_t size, const char *name, int *n);
/* Sockets that the name of a processor says: "2x Intel Xeon Gold 6430", "Dual EPYC 9654": 2; else 1. */
int hardware_sockets(const char *name);
/* Profile name of a machine that the profiles' own names do not match; "": none. */
const char *hardware_alias(const char *hardware);

/* ---- context of files, from options ---- */
/* Context given by options; NULL and 0: not given. */
struct measured_options {
    const char *hw, *model, *type;
    int64_t input_len, output_len, batch, tp;
};
/* Resolves --hw this to the profile's path. errors: no profile of this machine */
int measured_context(struct measure_context *x, const struct measured_options *o, struct error *err);

#endif
