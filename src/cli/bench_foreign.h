/* bench_foreign.h: llama-bench's options without a counterpart in roofcast bench. */
#ifndef CLI_BENCH_FOREIGN_H
#define CLI_BENCH_FOREIGN_H

#include "cli/cli.h"

enum bench_foreign {
    FOREIGN_GPU_LAYERS, FOREIGN_CPU_MOE, FOREIGN_SPLIT_MODE, FOREIGN_MAIN_GPU, FOREIGN_NO_KV_OFFLOAD, FOREIGN_FLASH_ATTN, FOREIGN_DEVICE,
    FOREIGN_MMAP, FOREIGN_DIRECT_IO, FOREIGN_EMBEDDINGS, FOREIGN_TENSOR_SPLIT, FOREIGN_OVERRIDE, FOREIGN_NO_OP_OFFLOAD, FOREIGN_CPU_MASK,
    FOREIGN_CPU_STRICT, FOREIGN_POLL, FOREIGN_PRIO, FOREIGN_RPC, FOREIGN_HF_REPO, FOREIGN_FIT_TARGET, FOREIGN_FIT_CONTEXT,
    FOREIGN_LIST_DEVICES, FOREIGN_NO_HOST,
};
enum { CLI_OPT_FOREIGN = 4096 };
/* Rows of an option table: the short name and llama-bench's long one. */
/* clang-format off */
#define BENCH_FOREIGN(short_name, long_name, which, arg)                            \
    { short_name, CLI_OPT_FOREIGN + (which), arg, OPTION_HIDDEN | CLI_AGAIN, NULL, 0 }, \
    { long_name, 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 }
#define BENCH_FOREIGN_OPTIONS                                                  \
    BENCH_FOREIGN("ngl", "n-gpu-layers", FOREIGN_GPU_LAYERS, "N"),             \
    BENCH_FOREIGN("ncmoe", "n-cpu-moe", FOREIGN_CPU_MOE, "N"),                 \
    BENCH_FOREIGN("sm", "split-mode", FOREIGN_SPLIT_MODE, "X"),                \
    BENCH_FOREIGN("mg", "main-gpu", FOREIGN_MAIN_GPU, "N"),                    \
    BENCH_FOREIGN("nkvo", "no-kv-offload", FOREIGN_NO_KV_OFFLOAD, "N"),        \
    BENCH_FOREIGN("fa", "flash-attn", FOREIGN_FLASH_ATTN, "X"),                \
    BENCH_FOREIGN("dev", "device", FOREIGN_DEVICE, "X"),                       \
    BENCH_FOREIGN("mmp", "mmap", FOREIGN_MMAP, "N"),                           \
    BENCH_FOREIGN("dio", "direct-io", FOREIGN_DIRECT_IO, "N"),                 \
    BENCH_FOREIGN("embd", "embeddings", FOREIGN_EMBEDDINGS, "N"),              \
    BENCH_FOREIGN("ts", "tensor-split", FOREIGN_TENSOR_SPLIT, "X"),            \
    BENCH_FOREIGN("ot", "override-tensors", FOREIGN_OVERRIDE, "X"),            \
    BENCH_FOREIGN("nopo", "no-op-offload", FOREIGN_NO_OP_OFFLOAD, "N"),        \
    BENCH_FOREIGN("C", "cpu-mask", FOREIGN_CPU_MASK, "X"),                     \
    { "cpu-strict", CLI_OPT_FOREIGN + FOREIGN_CPU_STRICT, "N", OPTION_HIDDEN, NULL, 0 }, \
    { "poll", CLI_OPT_FOREIGN + FOREIGN_POLL, "N", OPTION_HIDDEN, NULL, 0 },   \
    { "prio", CLI_OPT_FOREIGN + FOREIGN_PRIO, "N", OPTION_HIDDEN, NULL, 0 },   \
    { "rpc", CLI_OPT_FOREIGN + FOREIGN_RPC, "X", OPTION_HIDDEN, NULL, 0 },     \
    BENCH_FOREIGN("hf", "hf-repo", FOREIGN_HF_REPO, "X"),                      \
    BENCH_FOREIGN("fitt", "fit-target", FOREIGN_FIT_TARGET, "X"),              \
    BENCH_FOREIGN("fitc", "fit-ctx", FOREIGN_FIT_CONTEXT, "X"),                \
    { "list-devices", CLI_OPT_FOREIGN + FOREIGN_LIST_DEVICES, NULL, OPTION_HIDDEN, NULL, 0 }, \
    { "no-host", CLI_OPT_FOREIGN + FOREIGN_NO_HOST, NULL, OPTION_HIDDEN, NULL, 0 }
/* clang-format on */
/* Handles one of them; CLI_UNKNOWN for other keys. */
int bench_foreign_option(int key, const char *arg, struct error *err);

#endif
