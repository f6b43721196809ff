/*
 * barriers.h: where the threads of a team meet in a pass, from the op list alone. The engine executes it (engine/plan.c); a prediction counts it
 * (cost/classes.c).
 */
#ifndef MODEL_BARRIERS_H
#define MODEL_BARRIERS_H

#include "model/op.h"

/* Ops done in one go, a range of rows at a time, while the rows are in the cache. */
enum fuse {
    FUSE_NONE,
    FUSE_ADD, /* a product, and the addition of its result to the residual */
    FUSE_GLU, /* two products with the same activations, and their gate */
};

/* What one op is to the team; [1]: in passes of one token. */
struct op_sync {
    bool act_shared; /* MATMUL, EXPERT_MATMUL: the op before prepared the same activations. Set by the caller; the others by barriers_plan() */
    enum fuse fuse;  /* what goes together from here on, unless ops are timed one by one */
    bool in_fused;   /* done by an op before */
    bool own;        /* RMS_NORM, when the pass is one token: every thread does it for itself. MATMUL: reads that */
    bool prepares[2]; /* activations that all threads share, which meet when they are prepared */
    bool barrier[2]; /* threads meet before this op: it touches what another thread wrote since the last barrier, or writes what one read */
};

/* Whether op i works on the same rows of activations as the op before, which has not overwritten them. */
bool barriers_same_source(const struct op_list *l, size_t i);
/* sync [l->n] */
void barriers_plan(const struct op_list *l, struct op_sync *sync);
/* From op i on nobody reads what buf holds before it is written anew. */
bool barriers_unread(const struct op_list *l, size_t i, enum op_buf buf);
/* The buffer's rows are grouped by expert, n_expert_used of them a token. */
bool buf_is_grouped(enum op_buf b);

#endif
