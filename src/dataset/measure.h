/*
 * measure: what others measured, as rows: tokens a second, latencies, seconds of ops. Readers of CSV files and of the
 * outputs of other benchmarks; the table that makes one of the many names of an engine, a type, a model or a machine.
 * Reads only: nothing here runs or prices anything.
 */
#ifndef DATASET_MEASURE_H
#define DATASET_MEASURE_H

#include "base/base.h"
#include "base/json.h"
#include "dataset/csv.h"
#include "model/model.h"

enum measure_kind {
    MEASURE_RATE,       /* tokens a second of a phase: throughput.csv, llama-bench, runs */
    MEASURE_SERVING,    /* a latency of a server under load: serving_silicon.csv, vLLM, AIPerf */
    MEASURE_OP,         /* seconds of one op: gpu_ops.csv */
    MEASURE_ALL_REDUCE, /* seconds of an all-reduce: all_reduce.csv */
    MEASURE_KERNEL,     /* seconds of one kernel of a server's engine: gpu_kernels */
};

enum measure_phase { MEASURE_PREFILL, MEASURE_DECODE, MEASURE_REQUEST, MEASURE_NO_PHASE };
const char *measure_phase_name(enum measure_phase p); /* "prefill" "decode" "serving" "-" */

enum measure_metric { METRIC_TOK_S, METRIC_TTFT, METRIC_TPOT, METRIC_SECONDS };
const char *measure_metric_name(enum measure_metric m); /* "tok_s" "ttft" "tpot" "seconds" */

/* What a row says about itself. */
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
    /* The row itself says that something was amiss. */
    TAG_DOUBTFUL = TAG_ANOMALY | TAG_MEMORY_PRESSURE | TAG_PARTIAL_OFFLOAD | TAG_COLD_START | TAG_INCONSISTENT | TAG_SLOW_BACKEND |
                   TAG_WEAK_HOST | TAG_AMBIGUOUS,
};

/* How the devices of a server divide the work; 0: not said. */
struct measure_layout {
    int tp, pp, dp, ep, workers; /* dp: of the attention; workers: independent copies */
    double batch;                /* most sequences at once of one worker; NaN: not said */
};

/* One number somebody measured. Texts are never NULL; "" and NaN: not said. */
struct measurement {
    enum measure_kind kind;
    enum measure_phase phase;
    enum measure_metric metric;
    const char *assumed; /* what of it the reader assumed, in words; "": nothing */
    const char *remark;  /* what of it is to be known beside that, in words: figures that contradict each other; "": nothing */
    double value;      /* tokens/s or seconds, over all devices (per_gpu rates multiplied) */
    double ln_sd;      /* spread of its logarithm, where it is worked out from others; 0: it was measured itself */
    size_t line;       /* in its file; 0: it has none */
    size_t file;       /* of those that are read together, which one: 0 until who reads several says so */
    const char *id, *source, *hardware, *engine, *version, *model, *quant, *date, *notes;
    const char *quant_experts; /* of a server's mixture; "": as all else */
    const char *label;  /* another name of the model, as its program prints it */
    const char *named;  /* the machine, as the program that measured prints it, also where hardware is what the caller said; "": it does not */
    int n_devices;
    unsigned tags;
    bool server_step; /* a decode step of a server, without its requests: taught with servers' latencies (52) */
    int n_threads;      /* threads=N; 0: not said */
    int n_ubatch;       /* tokens a pass; 0: not said */
    int n_gpu_layers;   /* of a model partly on a GPU, and of one that is there whole; 0: not said */
    double params_b, weight_gib;
    double prompt, context, batch, out; /* tokens, tokens, sequences, generated tokens of a request */
    double concurrency; /* users of a closed loop */
    double step_tokens; /* tokens that a decode step makes of a sequence: more than 1 with speculative decoding */
    double read_bytes;  /* of weights in a step, or in a prompt, as the program that measured counted them; NaN: not said */
    const char *type_k, *type_v; /* of the KV cache */
    bool flash, flash_said;
    bool other_gpus;    /* run a part of it that hardware does not name */
    int build;          /* llama.cpp's, as its own program counts them; 0: not said */

    /* MEASURE_OP: m tokens by a [k, n] weight */
    const char *op;
    double m, k, n;
    double query_width, kv_width; /* elements of a device's queries, and of its keys, as other rows of the model have them; NaN */
    int gated;                    /* 1: two matrices up, 0: one; -1: no row says */
    double tick_s;                /* of the clock that timed it: seconds are whole ones; 0: finer than it matters */
    /* MEASURE_KERNEL: op; of attention, batch sequences of context positions behind the one of a step */
    const char *kernel;           /* the library that ran, as the file names it; NULL or "": not said */
    double n_head, n_kv, head_dim; /* of a device */
    double window;                /* 0: none */

    /* MEASURE_ALL_REDUCE */
    const char *topology;
    double per_node, bytes;
    /* MEASURE_SERVING */
    const char *mode;            /* "agg" "disagg" */
    struct measure_layout prefill, decode;
    int n_merged;                /* rows of the file this is the median of */
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
const char *measure_file_name(enum measure_file f); /* "throughput.csv", "llama-bench", ... */

struct measurements {
    enum measure_file file;
    char name[256];
    char note[256]; /* columns of tables that nothing reads, in words for people; "": none */
    struct measurement *row;
    size_t n;
    /* what the texts point into */
    struct csv csv;
    struct csv *table; /* of the file before it */
    size_t n_table;
    char **text;
    size_t n_text;
};

/* What a text says of a date: the year, and the month (0: it does not). "2025-13-45" looks like a whole one and is none. */
enum measure_date_kind { MEASURE_NO_DATE, MEASURE_DATE, MEASURE_FALSE_DATE };
enum { MEASURE_FIRST_YEAR = 2000 }; /* clocks that nobody set say 1970 */
enum measure_date_kind measure_date(const char *text, int *year, int *month);

/* What the rows of such a file take from outside it; NULL or "": nothing. */
struct measure_context {
    const char *hardware; /* of outputs that do not name the machine's profile (--hw) */
    const char *model;    /* of outputs that do not name the model */
    bool asked;           /* model is what is asked about, not what was measured: outputs that name one are of that one */
    /* of servers' outputs that do not say it; 0: not said */
    const char *type;     /* of the weights */
    double input_len, output_len, batch;
    int tp;
};

/* A file of any kind, told by its header or its fields. Malformed ones are refused by line and column. */
int measure_load(struct measurements *l, const char *path, const struct measure_context *x, struct error *err);
int measure_parse(struct measurements *l, const char *name, const void *data, size_t size,
                  const struct measure_context *x, struct error *err); /* fuzzed */
void measure_free(struct measurements *l);

/* ---- machines of a file: hardware.csv ---------------------------------------------------------- */

struct measure_hw {
    const char *hardware, *class_name, *spec_source, *comment;
    double bytes_s, fp32, fp16, int8, fp8; /* B/s, FLOP/s dense; NaN: not said */
};
struct measure_hws {
    struct csv csv;
    struct measure_hw *row;
    size_t n;
};
int measure_hws_load(struct measure_hws *l, const char *path, struct error *err);
int measure_hws_parse(struct measure_hws *l, const char *name, const void *data, size_t size, struct error *err);
void measure_hws_free(struct measure_hws *l);
const struct measure_hw *measure_hws_find(const struct measure_hws *l, const char *hardware); /* NULL: none */

/* ---- names (names.c): one table ------------------------------------------------------------------ */

enum stack_family { STACK_LLAMA_CPP, STACK_IK, STACK_MLX, STACK_COMPILED, STACK_SERVER, STACK_PYTORCH, STACK_CPU, STACK_NPU, STACK_OTHER };
struct stack {
    const char *id; /* "llama.cpp-vulkan", "vllm", "calm" */
    enum stack_family family;
    int n_ubatch;   /* tokens a pass of a prompt where a row does not say; 0: the whole prompt */
    bool fused;     /* graphs or a compiler take the launches of a decode step together */
};
/* "vLLM 0.6.3", "llama.cpp (vulkan_radv)" -> its stack on such a machine; never NULL: "other". */
const struct stack *stack_find(const char *engine, const char *hardware);
const struct stack *stack_at(size_t i);           /* of the table; NULL past the last */
const struct stack *stack_named(const char *id);  /* NULL: none has that id */

/* "FP8" of "org/Model-8B-Instruct-FP8": what the name of a checkpoint says its weights are of; "": nothing. */
const char *quant_in_name(char *buf, size_t size, const char *model);
/* What a type's name means to a program: of its own (model_type_named), or a guess. */
struct quant_name quant_find(const char *quant, const struct stack *s);

/* The architecture of a label of llama-bench ("gemma4 ?B", "qwen3moe 30B.A3B Q4_K - Medium"), as GGUF files name it; false: it is no label. */
bool label_arch(char *arch, size_t size, const char *label);
/* The family a model's name begins with, its version included: "qwen3", "gemma4" of "gemma-4-26B"; "" where it begins with none. */
const char *model_family(char *buf, size_t size, const char *model);
/* What is known of models of that name with so many parameters (NaN: not said) that no preset describes. */
enum model_kind { KIND_UNKNOWN, KIND_EITHER, KIND_MIXTURE }; /* either: its family has dense models and mixtures of that size */
enum model_kind model_named_kind(const char *model, double params);
/* "Qwen3-30B-A3B" -> 3e9; "…-A800M" -> 0.8e9; NaN: not said. */
double model_active_params(const char *model);
/* "8x7B" or "70B" -> 70e9 (products multiplied); NaN: not said. */
double model_named_params(const char *model);
/* "8x7B" -> 8; NaN: not said. */
double model_named_experts(const char *model);
/* One device of "2x RTX 3090", "RTX 3090 x2" or "Dual RTX 3090", and how many; of processors, whose sockets are one machine, and of others the name, and 1. */
const char *hardware_one(char *buf, size_t size, const char *name, int *n);
/* The name of the profile of a machine where the profiles' own names do not say; "" when none. */
const char *hardware_alias(const char *hardware);

/* ---- what is said of files beside them, as options give it ---- */
/* Of files that do not say it; NULL and 0: nobody does. */
struct measured_options {
    const char *hw, *model, *type;
    int64_t input_len, output_len, batch, tp;
};
/* With the profile's path of --hw this. */
int measured_context(struct measure_context *x, const struct measured_options *o, struct error *err);

#endif
