/*
 * offload.h: a model larger than its GPU: which tensors and caches stay in the host's memory, by llama.cpp's options. Source: ggml-org/llama.cpp:
 * src/llama-model.cpp (load_tensors), common/arg.cpp, common/common.h (LLM_FFN_EXPS_REGEX). methods.md (111)
 */
#ifndef MODEL_OFFLOAD_H
#define MODEL_OFFLOAD_H

#include "model/op.h"

enum offload_device { OFFLOAD_GPU, OFFLOAD_HOST, OFFLOAD_DEVICES };

enum { OFFLOAD_COPIED_TOKENS = 32, OFFLOAD_AUTO = -1, OFFLOAD_ALL = 1 << 20, OFFLOAD_PATTERNS = 32 };

/* Options as given. OFFLOAD_RULE_NONE: all of it on the GPU. */
struct offload_rule {
    int n_gpu_layers;     /* -ngl: the output layer and the last N - 1 blocks are on the GPU; OFFLOAD_ALL; OFFLOAD_AUTO: the most that fit */
    int n_cpu_moe;        /* --n-cpu-moe: the experts of the first N blocks stay on the host; 0: none; OFFLOAD_AUTO: the fewest that fit */
    const char *override[OFFLOAD_PATTERNS]; /* -ot: "REGEX=CPU,REGEX=CUDA0,...", not owned; the first match of a name applies */
    size_t n_override;
    bool host_kv;         /* --no-kv-offload: the KV cache of all blocks on the host, and their attention */
    bool host_multiplies; /* --no-op-offload: prompts are multiplied where their weights are */
    double copied_tokens; /* of a pass from which on the GPU multiplies host weights (offload_copied_tokens()); 0: OFFLOAD_COPIED_TOKENS */
    bool pinned;          /* --no-mmap: host weights in page-locked memory, which the GPU copies faster */
};
#define OFFLOAD_RULE_NONE { .n_gpu_layers = OFFLOAD_ALL }

/* Some option that may keep a tensor or a cache on the host is given. */
bool offload_is_given(const struct offload_rule *r);
/* "-ngl 20 --n-cpu-moe 8 --no-kv-offload" */
const char *offload_text(char *buf, size_t size, const struct offload_rule *r);

/*
 * Where the tensors of a model are.
 *
 * tensor   [m->n_tensors] the device of each. Embedding tables are on the host, which looks their rows up; a tied table is also on the device of
 *          the output layer
 * errors   ERROR_USAGE: a pattern that is no regular expression or has no device, several GPUs, a number that is still OFFLOAD_AUTO
 */
struct offload_places {
    const struct model *m;
    enum offload_device *tensor, *block, output; /* block [n_layer]: of its KV cache and states */
};

int offload_places_init(struct offload_places *p, const struct offload_rule *r, const struct model *m, struct error *err);
void offload_places_free(struct offload_places *p);
/* Device of the weights or cache that decides where the op runs while the host multiplies what it holds; -1: neither. */
int offload_place_of(const struct offload_places *p, const struct op *op);
/* Tokens of a pass from which on an engine copies host weights to the GPU: llama.cpp 32; ik_llama.cpp 32 for each expert (its pull request 520). */
double offload_copied_tokens(const char *stack, const struct hparams *hp);
/* Experts of routed mixtures: what --n-cpu-moe and --cpu-moe keep on the host. */
bool offload_is_expert(const char *tensor);
/* Blocks, and blocks with such experts: the largest useful values of -ngl (one more: the output layer) and --n-cpu-moe. */
int offload_last_expert_block(const struct model *m);

#endif
