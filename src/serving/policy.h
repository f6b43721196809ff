/*
 * policy.h: the rules by which a server forms batches, as data. A policy has a name and a version, for servers change: "vllm-0.15",
 * "vllm-0.27", "llama-server", and two that teach: "one-by-one", "static".
 */
#ifndef SERVING_POLICY_H
#define SERVING_POLICY_H

#include "model/kv_groups.h"

struct hwprofile;

enum policy_kind {
    POLICY_VLLM,         /* one token budget for prompts and decode; scheduler.c */
    POLICY_LLAMA_SERVER, /* slots; slots.c */
};

enum { POLICY_MAX_GROUPS = KV_MAX_GROUPS, POLICY_MAX_DRAFT = 16, SERVE_MAX_BATCH_TOKENS = 1 << 20 };

/* Field names are vLLM's options. */
struct policy {
    const char *name;
    enum policy_kind kind;
    unsigned release;                /* of vLLM, memory_release_find(): of its scheduler and of its memory; 0: another server */
    uint32_t max_num_seqs;           /* running at once; of llama-server: slots */
    uint32_t max_num_batched_tokens; /* token budget of a step; of llama-server: n_batch */
    uint32_t n_ubatch;               /* of llama-server: tokens of a pass */
    uint32_t max_model_len;          /* positions of a sequence */
    uint32_t block_size;             /* positions of a KV block */
    uint32_t long_prefill_token_threshold; /* prompt tokens of a request in a step; 0: no limit */
    bool enable_chunked_prefill;
    bool enable_prefix_caching;
    bool async_scheduling;           /* step N + 1 is formed while step N runs */
    bool scheduler_reserve_full_isl; /* a request is admitted only when all its known tokens fit the free blocks */
    bool priority;                   /* waiting requests by (priority, arrival) in place of arrival */
    bool batch_until_empty;          /* static batching: nothing is admitted while something runs */
    double watermark;                /* fraction of the blocks that admission leaves free while something runs */
    uint32_t num_speculative_tokens; /* drafted tokens of a decode step; 0: no speculation */
    uint32_t n_host_block;           /* KV blocks kept in host memory as well: a hit there is loaded, not computed; 0: none */
    uint32_t look_ahead;             /* block slots reserved beyond a step's tokens: of draft models as many as they draft, of n-grams 0 */
    /* Layer groups that share one pool of blocks (hybrid models): attention window in positions, 0: all. One group of 0 by default. */
    uint32_t n_group, window[POLICY_MAX_GROUPS];
    uint32_t n_layer[POLICY_MAX_GROUPS]; /* attention layers of a group; 0: not told, all alike */
};

/* Device traits that defaults depend on. Source: vLLM's EngineArgs (vllm/engine/arg_utils.py) (confidence: medium). */
struct policy_device {
    double memory_bytes; /* of one device */
    bool is_gpu;
    bool is_a100;        /* has the defaults of a small device */
    bool engine;         /* this program's engine on a CPU: short steps, so that a prompt does not hold up the others for long, and nothing to
                            hide behind a step; in place of vLLM's defaults */
};

struct policy_device policy_device_of(const struct hwprofile *h);
/* Defaults of a named policy on a device. "vllm" is the first of the names; "static" and "one-by-one" are vLLM's of that release but for
 * their scheduling. errors: ERROR_USAGE, an unknown name, with the nearest. */
int policy_init(struct policy *p, const char *name, const struct policy_device *d, struct error *err);
/* Names in order; NULL past the end. */
const char *policy_name(size_t i);
/* One line: what it is. */
const char *policy_help(size_t i);
/* errors   ERROR_USAGE  a field out of range, fields that contradict each other: names both, found and expected */
int policy_check(const struct policy *p, struct error *err);
/* Positions of a sequence at most; without chunked prefill a step has room for as long a prompt. */
void policy_set_model_len(struct policy *p, uint32_t max_model_len);

/* CUDA-graph sizes: tokens of a batch as executed. Source: vLLM's cudagraph_capture_sizes (vllm/config) (confidence: medium). */
uint32_t policy_graph_max(const struct policy *p, bool blackwell);
/* Smallest captured size of at least n_tok (1, 2, 4, 8 to 248 by 8, 256 to max by 16); n_tok itself beyond max. */
uint32_t policy_graph_size(uint32_t n_tok, uint32_t max);

#endif
