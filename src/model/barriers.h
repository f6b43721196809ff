/*
 * barriers.h: fusion and thread barriers of a pass, from the op list alone. Executed by engine/plan.c, counted by cost/classes.c.
 */
#ifndef MODEL_BARRIERS_H
#define MODEL_BARRIERS_H

#include "model/op.h"

/* Op fusion, by row ranges while they are in cache. */
enum fuse {
    FUSE_NONE,
    FUSE_ADD, /* product, then residual add */
    FUSE_GLU, /* two products of the same activations, then GLU */
};

/* Synchronisation of an op; [1]: passes of one token. */
struct op_sync {
    bool reuses_acts; /* MATMUL, EXPERT_MATMUL: prepared by the previous op. Set by the caller, other fields by barriers_plan() */
    enum fuse fuse;   /* ops fused from here, unless ops are timed */
    bool fused_away;  /* executed by an earlier op */
    bool replicated;  /* passes of one token: RMS_NORM replicated on every thread; MATMUL that reads it */
    bool prepares[2]; /* prepares shared activations, with a barrier after */
    bool barrier[2];  /* barrier before this op: data dependence between threads since the last barrier */
};

/* Op i reads the same rows of activations as the previous op, not overwritten since. */
bool barriers_same_source(const struct op_list *l, size_t i);
/* sync[l->n] */
void barriers_plan(const struct op_list *l, struct op_sync *sync);
/* buf is dead from op i on: overwritten before it is read. */
bool barriers_is_dead(const struct op_list *l, size_t i, enum op_buf buf);
/* Rows are grouped by expert, n_expert_used per token. */
bool buf_is_grouped(enum op_buf b);

#endif
