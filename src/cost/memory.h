/*
 * memory.h: what a deployment takes of its devices' memory: weights, activations, the runtime's own, and the KV cache, in
 * pages or in one piece a sequence; how many pages, sequences and positions there is room for. methods.md (25)
 */
#ifndef COST_MEMORY_H
#define COST_MEMORY_H

#include "base/rules.h"
#include "cost/classes.h"

struct memory_options {
    unsigned release;            /* of the server that the defaults are of, memory_release_find(); MEMORY_ALONE: one program by itself */
    struct layout layout;
    enum dtype type_k, type_v;   /* of the KV cache */
    double act_elem_bytes;       /* of activations */
    uint32_t block;              /* positions of a page of the cache; 1: no pages, a cache in one piece for each sequence */
    uint32_t max_batched_tokens; /* of a pass */
    uint32_t max_seqs;           /* whose logits a pass makes; 0: all there are, and a pass has a token of each at least */
    double utilization;          /* of what the driver leaves: what the program takes */
    double reserved;             /* of the profile's memory: what the driver and error correction keep */
    double logit_bytes;          /* an element of a row of logits, with the copies that sampling makes */
    bool experts_stay;           /* the workspace of routed experts is there while logits are sampled */
    bool compiles;               /* at this start, not before: kernels are tuned on a copy of the embedding */
    bool rotations;              /* tables of cosines and sines of all positions are kept */
    double context_bytes;        /* of the runtime, on a device */
    double comm_bytes;           /* and where devices share the matrices of a layer */
    uint32_t max_captured;       /* tokens of the largest pass that has a graph */
    double graph_layer_bytes;    /* what a graph takes for each layer; 0: set aside for none */
};
/* Releases of vLLM as numbers that grow: 0.30 is 30, 1.2 is 1002. */
enum { MEMORY_ALONE = 0, MEMORY_OLDEST = 1, MEMORY_NEWEST = 30 };
/* "0.19", "v0.19.1", "vllm-0.19", "vLLM 0.19.0" -> 19; 0: nothing like a release. */
unsigned memory_release_find(const char *text);
/* "vLLM 0.19" */
const char *memory_release_name(char *buf, size_t size, unsigned release);
/* As that release of vLLM has them on the machine (server.c: fraction of the memory, tokens and sequences of a pass, what its runtime
 * and its graphs take), or one program by itself (all of the memory, no pages, passes of 512 tokens). Machines without memory of
 * their own for the accelerator have no driver's share and no context. */
struct memory_options memory_defaults(const struct hwprofile *h, unsigned release);
/* Reads the rules that a server's are from (hwprofiles/stacks/servers.json), once; memory_model_init() does. */
int memory_rules_load(struct error *err);
extern const struct rules_form memory_rules_form;

/* Bytes on one device. */
struct memory_need {
    double weight_bytes, kv_bytes, act_bytes, runtime_bytes, graph_bytes;
    double total_bytes;
};

/* What decides how much one group of devices needs. */
struct memory_load {
    double n_seq, n_tok; /* of the largest pass */
    double n_row;        /* of logits */
    double n_expanded;   /* positions that MLA's expanded form has at once */
    uint64_t n_ctx;
};
/* n_seq sequences of n_ctx positions over all groups. */
struct memory_load memory_load_of(const struct memory_options *o, uint64_t n_seq, uint64_t n_ctx);
/* What a device of each of n_stage pipeline stages holds (stages_new()); memory_need_of() is that of the fullest. */
struct stage;
struct memory_need memory_need_of(const struct stage *s, uint32_t n_stage, const struct memory_options *o, const struct memory_load *l);
/* One for each of pp stages; free with free(). NULL: out of memory. */
struct stage *stages_new(const struct op_classes *l, const struct layout *lay, const struct cost_options *o);

/* The memory model of a layout on a machine. */
struct memory_model {
    struct memory_options o;
    struct stage *stage; /* one a pipeline stage */
    uint32_t n_stage;
    double memory_bytes, reserved_bytes, usable_bytes; /* usable: by this program; NaN, all three: the profile has no size */
};
/* ERROR_USAGE: a layout that does not divide, a type the cache cannot have, options out of range. */
int memory_model_init(struct memory_model *m, const struct op_classes *l, const struct hwprofile *h,
                      const struct memory_options *o, struct error *err);
void memory_model_free(struct memory_model *m);

/* On the fullest device, with n_seq sequences over all groups of devices, each of n_ctx positions. */
struct memory_need memory_need(const struct memory_model *m, uint64_t n_seq, uint64_t n_ctx);
/* 1 yes, 0 no, -1 unknown. */
int memory_fits(const struct memory_model *m, uint64_t n_seq, uint64_t n_ctx);

/* The device that has room for the fewest pages. */
struct memory_plan {
    struct memory_need need;  /* without a cache */
    double free_bytes;        /* left for the cache; negative: what is missing. NaN: unknown */
    double kv_token_bytes;    /* a position of one sequence while no window is full */
    double kv_state_bytes;    /* a sequence, of recurrences */
    double block_bytes;
    double blocks, tokens;    /* whole ones; tokens = blocks * block. NaN: unknown, or no bytes per position */
    double waste_tokens;      /* of a sequence's last page, unused, on average: at most (block - 1) / 2 */
};
struct memory_plan memory_plan(const struct memory_model *m);

/* The most sequences of n_ctx positions, and the longest context of n_seq sequences: exactly, by bisection. 0: not even
 * one. NaN: unknown. INFINITY: any, for recurrences and windows do not grow. */
double memory_max_batch(const struct memory_model *m, uint64_t n_ctx);
double memory_max_context(const struct memory_model *m, uint64_t n_seq);
/* The fewest devices of tensor parallelism that divide the model and hold n_seq sequences of n_ctx positions, the rest of
 * the layout as it is. */
struct tp_needed {
    uint32_t tp;     /* that a link of the machine joins; 0: none up to 1024, or unknown */
    uint32_t apart;  /* where there is none: those that would do if a link joined them; 0: none either */
    uint32_t joined; /* the most devices that a link joins; 1: there is no link, UINT32_MAX: any number */
};
struct tp_needed memory_tp_needed(const struct op_classes *l, const struct hwprofile *h, const struct memory_options *o,
                                  uint64_t n_seq, uint64_t n_ctx);

#endif
