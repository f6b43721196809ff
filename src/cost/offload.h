/*
 * offload.h: the ops of a pass on a GPU and its host, where the host's memory holds part of the weights: which of them each runs, what crosses the
 * bus between them, and what each holds. Ops are placed as by ggml's scheduler. Source: ggml-org/llama.cpp ggml/src/ggml-backend.cpp
 * (ggml_backend_sched_split_graph, ..._compute_splits), ggml-cuda.cu (offload_op). methods.md (111)
 */
#ifndef COST_OFFLOAD_H
#define COST_OFFLOAD_H

#include "cost/classes.h"
#include "model/offload.h"

/* Passes of one kind: of few tokens, each op where its weights are; of many, products on the GPU. */
struct offload_passes {
    struct model_classes on[OFFLOAD_DEVICES]; /* what each runs */
    struct model_classes copied;              /* ops on the GPU with weights or keys on the host */
    double n_split;     /* changes of the device in a pass */
    double moved_elems; /* activations that cross at them, elements a token */
    double copied_most_bytes; /* of one op: its place on the GPU */
};

/* Not to be copied: classes point to their op lists. */
struct offload_split {
    struct offload_places places;
    struct offload_passes few, many; /* many.n_split < 0: as few (--no-op-offload) */
    double many_tokens;      /* of a pass, from which on it is one of many */
    double weight_bytes[OFFLOAD_DEVICES]; /* of tensors; a tied table on both counts twice */
    bool alone; /* all but the embedding's table is on the GPU: as without offload */
};

/* errors: as offload_places_init(); out of memory */
int offload_split_init(struct offload_split *s, const struct offload_rule *r, const struct model *m, const struct op_list *ops, struct error *err);
void offload_split_free(struct offload_split *s);
/* The passes of n_tok tokens. */
const struct offload_passes *offload_passes_of(const struct offload_split *s, double n_tok);

/* What crosses the bus in one pass. */
struct offload_traffic {
    double act_bytes;    /* activations */
    double copied_bytes; /* weights and keys */
    double n_split;
};
/* o: type of the cache, routing. Activations cross in FP32. */
struct offload_traffic offload_traffic(const struct offload_passes *x, const struct cost_options *o, const struct pass *p);

#endif
