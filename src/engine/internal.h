/* engine internals: state shared by its files. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "kernels/share.h"
#include "model/barriers.h"
#include "model/nextn.h"

/* Pass sizes for which fused intermediates use thread scratch (128 KiB to 1 MiB). Smaller ones stay in L2 anyway, larger ones
 * exceed it. */
enum { ENGINE_SCRATCH_MIN_TOKENS = 64, ENGINE_SCRATCH_MAX_TOKENS = 512 };

/* Execution plan of an op, made once. */
struct plan {
    const struct matmul_slot *slot; /* products: kernels */
    const unsigned char *w;         /* products: weights, file layout or packed */
    bool packed;
    enum act_kind act;       /* products: activation format */
    pack_acts_fn *pack_acts; /* packs the activations; NULL: not packed */
    bool pack_by_row;        /* packed row by row, directly from float (kernels_packs_acts_rows) */
    bool packed_by_glu;      /* packed by the preceding fused GLU */
    bool rounded;            /* ATTENTION: the consumer rounds the output, so attention may too. methods.md (95) */
    bool src_tail;           /* reads the last n_out rows of src, which has all tokens */
    bool scratch_results;    /* intermediates of fusion are dead afterwards: they may stay in thread scratch */
};

/* Thread-private memory. */
struct thread_state {
    struct work *work;                /* [ops.n] of this pass */
    void *scratch;                    /* kernel scratch: products and attention alternate */
    struct acts acts[ACT_KIND_COUNT]; /* prepared by this thread: one token or one head */
    void *act_mem[ACT_KIND_COUNT];
    struct acts shared[ACT_KIND_COUNT]; /* views of the engine's act_mem */
    float *row;                      /* replicated norm: longest row */
    float *fused;                    /* intermediates of fusion: [2][tokens][size_row_floats(SHARE_GEMM_ROWS)] */
    atomic_uint *next;               /* [ops.n] units claimed from this thread's part (part 0: or from all) */
    float *tile;                     /* MLA: one head's matrix, latents and products; NULL without */
    struct counter_sample *counters; /* [ops.n] summed; NULL: not counted */
    struct counter_sample counted;   /* whole passes since the reset */
};

/* Keys and values of one layer. Contiguous: of sequence 0, a ring buffer for windowed attention. Paged: of block 0, without a table. */
struct kv_layer {
    struct kv_rows k, v; /* v.data NULL: values are part of the keys (MLA) */
    size_t k_at, v_at;   /* offsets in the mapping */
    uint32_t n_head_kv, head_dim, head_dim_v;
    uint32_t window;
    uint32_t group;      /* paged: of the layer */
};

/* Rows of a pass grouped by expert. methods.md (15) */
struct routing {
    uint32_t *first;   /* [n_expert + 1] first row of each expert */
    uint32_t *row_of;  /* [n_tok * used] row of token t's s-th expert */
    uint32_t *token;   /* [n_tok * used] token of a row */
    uint32_t *touched; /* [n_touched] experts with rows, ascending */
    uint32_t n_touched;
};

struct engine {
    const struct model *m;
    struct engine_options o;
    struct op_list ops;
    struct plan *plan;
    struct op_sync *sync; /* of each op: what goes together, where threads meet */
    struct kernels k;
    struct team *team;
    struct counters *c;
    struct counter_source published, published_before; /* now, and at the start of the pass */
    bool counting;      /* reading was requested and the backend counts something */
    uint64_t n_counted; /* counted passes since the reset */

    unsigned char *packed; /* mapping of packed weights; NULL: none */
    size_t packed_bytes, packed_map;
    double packed_seconds;

    float *buf[BUF_COUNT];
    size_t stride[BUF_COUNT];      /* row stride of buf, floats */
    void *act_mem[ACT_KIND_COUNT]; /* shared activations of a pass of several tokens */
    void *packed_acts;             /* the same, packed for products (kernels.pack_acts) */
    void *packed_glu;              /* packed by a GLU, while packed_acts holds the GLU's own input */
    uint32_t n_layer;              /* of ops: op.layer is below */
    struct kv_layer *kv;           /* [n_layer] */
    unsigned char *kv_mem;
    size_t kv_bytes;                       /* all sequences */
    size_t kv_seq_bytes;                   /* contiguous: stride between sequences */
    uint32_t *kv_lost;                     /* [n_seq] positions below were overwritten in some ring */
    struct kv_rows expanded_k, expanded_v; /* MLA expanded: keys and values of every head, for one layer at a time */
    size_t expanded_bytes, expanded_seq_bytes;
    bool expanded_shared;                  /* that of options.shared: passes run in turn */
    float *rope[ROPE_MAX];       /* [n_ubatch][n_rot/2][cos, sin] of the pass */
    double *rope_freq[ROPE_MAX]; /* [n_rot/2] radians per position */
    double rope_amplitude[ROPE_MAX];
    struct routing routing;
    uint64_t **expert_uses; /* [ops.n] ROUTE: tokens per expert since the reset; else NULL */
    struct thread_state *thread;
    float *part;            /* attention: partial results of key parts */
    atomic_uint *part_done; /* [ENGINE_PARTS] finished parts, per run and KV head */

    struct regions *regions; /* NULL: no marker tool */
    bool per_op;
    struct op_sample *sample;
    struct work total;

    /* the current pass */
    const int32_t *tokens;
    struct pass pass;
    struct engine_run *run; /* [n_seq], n_run used */
    uint32_t n_run;
    uint32_t *run_first; /* [n_seq + 1] first token */
    uint32_t *run_shared; /* [n_seq] paged MLA: positions of the first blocks that an earlier run of the pass has too, and expands */
    uint32_t *run_of;    /* [n_ubatch] run of a token */
    uint32_t *out_row;   /* [n_out_max] token of each logits row */
    uint64_t clock_ns;   /* start of the op being timed (thread 0) */
};

enum {
    ENGINE_TOKEN_TILE = 64,          /* positions expanded at once */
    ENGINE_ATTENTION_ROWS = 256,     /* rows (head and token) per attention call, which share key tiles */
    ENGINE_ATTENTION_MIN_UNITS = 16, /* minimum units, or tokens per unit, before calls get smaller */
    ENGINE_PARTS = 128,              /* target number of units for a pass of one token */
    ENGINE_PART_KEYS = 512,          /* minimum keys per part */
};

/* ---- kv.c ----------------------------------------------------------------------------- */
int kv_init(struct engine *e, struct error *err);
/* Makes the pool of a paged cache resident: a page is cleared where it is touched first, in the middle of a step otherwise, of which it can take half. */
int kv_populate(struct engine *e, struct error *err);
void kv_free(struct engine *e);

/* ---- plan.c ---------------------------------------------------------------------------- */
int engine_plan(struct engine *e, struct error *err);

/* ---- repack.c --------------------------------------------------------------------------- */
/* Choose slot and packing of each product; sets plan's slot, w, packed. */
void repack_plan(struct engine *e);
/* Pack on the team; sets w of packed products. */
int repack(struct engine *e, struct error *err);
void repack_free(struct engine *e);

/* ---- regions.c --------------------------------------------------------------------------- */
int regions_init(struct engine *e, struct error *err);
void regions_free(struct engine *e);
bool regions_by_role(const struct engine *e);
/* Region of op i's role, on the calling thread, if roles are enabled. */
void regions_op_start(const struct engine *e, size_t i);
void regions_op_stop(const struct engine *e, size_t i);

/* ---- exec.c: a pass, and what its parts share -------------------------------------------- */
/* Run e->pass on the team; updates samples and totals. */
void engine_run_pass(struct engine *e);

static inline float *engine_row(const struct engine *e, enum op_buf b, size_t row, uint32_t at)
{
    return e->buf[b] + row * e->stride[b] + at;
}

/* Position of a token of the pass in its sequence. */
static inline uint32_t engine_position(const struct engine *e, size_t t)
{
    const uint32_t r = e->run_of[t];
    return e->run[r].n_past + (uint32_t)t - e->run_first[r];
}

/* Rows of a run in a layer of that group: r is of sequence or block 0. */
static inline struct kv_rows engine_rows_of(const struct kv_rows *r, const struct engine_run *run, uint32_t group, size_t seq_bytes)
{
    struct kv_rows s = *r;
    if (s.block_bytes > 0)
        s.table = run->table[group];
    else if (s.data)
        s.data += run->seq * seq_bytes;
    return s;
}
/* Positions of a run's block that are its own to write: the row of a head, writable because the cache is the engine's. */
static inline unsigned char *engine_kv_row(const struct kv_rows *r, size_t head, uint32_t pos)
{
    return (unsigned char *)(uintptr_t)kv_at(r, head, pos);
}

static inline size_t engine_split(size_t n, size_t align, int tid, int n_threads)
{
    return share_split(n, align, tid, n_threads);
}

static inline uint32_t engine_take(struct engine *e, size_t i)
{
    return atomic_fetch_add_explicit(&e->thread[0].next[i], 1, memory_order_relaxed);
}

/* Claim up to `most` of n units of op i: own part first, then work stealing (kernels/share.h). False: none left. */
static inline bool engine_claim(struct engine *e, size_t i, size_t n, size_t most, int tid, int nt, struct share_run *run)
{
    for (int k = 0; k < nt; k++) {
        const int owner = (tid + k) % nt;
        if (share_steal(&e->thread[owner].next[i], n, owner, nt, most, run))
            return true;
    }
    return false;
}

/* Execute this thread's part of op i and add its work to *w. */
typedef void exec_fn(struct engine *e, size_t i, struct work *w, int tid, int nt);
/* exec_dense.c */
exec_fn exec_embed, exec_norm, exec_matmul, exec_glu, exec_add, exec_softcap;
/* Rows [r0, r1) of W, w_row in the tensor, times the rows of a->x, plus bias; counted. */
void exec_rows(const struct engine *e, const struct matmul_slot *slot, const struct matmul_args *a, const struct op *op, const float *bias,
               size_t r0, size_t r1, struct work *w);
/* exec_attention.c */
exec_fn exec_rope, exec_kv_store, exec_attention;
int attention_init(struct engine *e, struct error *err);
void attention_free(struct engine *e);
/* exec_mla.c */
exec_fn exec_head_matmul, exec_kv_expand;
/* exec_experts.c */
exec_fn exec_route, exec_expert_matmul, exec_expert_sum;

#endif
