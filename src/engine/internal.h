/* engine internals: the state that engine.c owns and exec.c walks. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include "engine/engine.h"
#include <stdatomic.h>

/* What executing an op needs beyond the op itself; decided once, when the engine is made. */
struct plan {
    enum act_kind act;  /* MATMUL: activations its kernel wants */
    bool act_shared;    /* MATMUL: the op before prepared the same activations */
    bool src_tail;      /* reads the last n_out rows of src (written for all tokens) */
    bool barrier;       /* threads meet before this op: it touches what an op since the last
                           barrier wrote, or writes what one read */
};

/* One thread's own memory. */
struct thread_state {
    struct work *work;  /* of each op, this pass */
    void *scratch;      /* kernels' scratch: matrix products and attention in turn */
    struct acts acts[ACT_KIND_COUNT]; /* activations of one token, prepared by and for this thread */
    void *act_mem[ACT_KIND_COUNT];
    struct counter_sample *counters; /* of each op, summed; NULL when nothing is counted */
};

struct engine {
    const struct model *m;
    struct engine_options o;
    struct op_list ops;
    struct plan *plan;
    struct kernels k;
    struct team *team;
    struct counters *c;
    struct counter_source published;
    bool counting; /* the backend counts something: read it at op boundaries */

    float *buf[BUF_COUNT];
    struct acts acts[ACT_KIND_COUNT]; /* activations of a pass of several tokens, shared */
    void *act_mem[ACT_KIND_COUNT];
    uint16_t *kv_k, *kv_v; /* [n_layer][n_ctx][n_head_kv * head_dim] f16 */
    size_t kv_bytes;       /* of one of the two */
    float *rope;           /* [n_ubatch][n_rot/2][cos, sin] of the pass */
    double *rope_freq;     /* [n_rot/2] radians a position */
    struct thread_state *thread;
    atomic_uint *next;     /* work handed out, an op */

    bool per_op;
    struct op_sample *sample;
    struct work total;

    /* the pass being run */
    const int32_t *tokens;
    struct pass pass;
    uint64_t clock_ns; /* when the op being timed began (thread 0) */
};

/* Positions of one layer's cache. */
static inline size_t engine_kv_stride(const struct engine *e)
{
    return (size_t)e->m->hp.n_head_kv * e->m->hp.head_dim;
}

enum { ENGINE_TOKEN_TILE = 64 }; /* tokens of one attention call in prefill */

/* Run e->pass on the team; samples and totals are updated. */
void engine_run_pass(struct engine *e);
int engine_plan(struct engine *e, struct error *err);

#endif
