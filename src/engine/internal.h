/* engine internals: the state that engine.c and kv.c own and the exec_*.c files walk. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "kernels/share.h"
#include "model/barriers.h"

/* Tokens of a pass whose fused results stay near: 256 rows of two products of as many are 128 KiB to 1 MiB. Fewer are in the L2 cache
 * when they are used up, wherever they are; more would not fit it. */
enum { ENGINE_NEAR_LEAST = 64, ENGINE_NEAR_MOST = 512 };

/* What executing an op needs beyond the op itself; decided once, when the engine is made. */
struct plan {
    const struct matmul_slot *slot; /* products: the kernels that read w */
    const unsigned char *w;         /* their weights: as in the file, or packed */
    bool packed;
    enum act_kind act;  /* products: activations their kernel wants */
    pack_acts_fn *arrange; /* of those; NULL: not */
    bool by_rows;        /* and nobody needs them but as they are arranged: row by row, where that can be (kernels_packs_acts_rows) */
    bool from_gate;      /* so arranged by the gate before, where that is fused */
    bool rounded;       /* ATTENTION: what reads its output rounds it anyway, so attention may, too. methods.md (95) */
    bool src_tail;      /* reads the last n_out rows of src (written for all tokens) */
    bool near;          /* nobody else reads the results that fuse uses up: they may stay in memory of the thread's own */
};

/* One thread's own memory. */
struct thread_state {
    struct work *work;  /* of each op, this pass */
    void *scratch;      /* kernels' scratch: matrix products and attention in turn */
    struct acts acts[ACT_KIND_COUNT]; /* activations prepared by and for this thread: of one token, or of one head */
    void *act_mem[ACT_KIND_COUNT];
    struct acts shared[ACT_KIND_COUNT]; /* this thread's view of the engine's act_mem */
    float *row;         /* a norm of its own: the longest row */
    float *near;        /* results of two products that something fused uses up: [2][tokens][size_row_floats(SHARE_GEMM_ROWS)] */
    atomic_uint *next;  /* of each op: units taken from this thread's part (part 0: or from all) */
    float *tile;        /* MLA: a head's matrix, latents and what comes of them; NULL without */
    struct counter_sample *counters; /* of each op, summed; NULL when nothing is counted */
    struct counter_sample counted;   /* of whole passes since the reset */
};

/* Keys and values of one layer. Rows are a ring where a window bounds them. */
struct kv_layer {
    struct kv_rows k, v; /* of sequence 0; v.data NULL: no values of their own (MLA) */
    size_t k_at, v_at;   /* where they begin in the mapping */
    uint32_t n_head_kv, head_dim, head_dim_v;
    uint32_t window;
};

/* The experts of a pass: rows of the expert buffers are grouped by expert. methods.md (15) */
struct routing {
    uint32_t *first;   /* [n_expert + 1] first row of each expert */
    uint32_t *row_of;  /* [n_tok * used] row of a token's s-th expert */
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
    struct counter_source published, published_before; /* now, and when the pass began */
    bool counting; /* the backend counts something, and reading it was asked for */
    uint64_t n_counted; /* passes since the reset that it was read around */

    unsigned char *packed; /* mapping of the packed weights; NULL: none */
    size_t packed_bytes, packed_map;
    double packed_seconds;

    float *buf[BUF_COUNT];
    size_t stride[BUF_COUNT]; /* floats from row to row of buf */
    void *act_mem[ACT_KIND_COUNT]; /* activations of a pass of several tokens, shared */
    void *act_tiles; /* the same, or they alone, as products that ask for it walk them (kernels.pack_acts) */
    void *gate_tiles; /* those of products from_gate, while act_tiles has the gate's own */
    struct kv_layer *kv;  /* [n_layer] */
    unsigned char *kv_mem;
    size_t kv_bytes;      /* of all sequences */
    size_t kv_seq_bytes;  /* from one sequence's cache to the next one's */
    uint32_t *kv_lost;    /* of each sequence: positions below were overwritten in some ring */
    struct kv_rows wide_k, wide_v; /* MLA expanded: keys and values of every head, one layer at a time */
    size_t wide_bytes, wide_seq_bytes;
    float *rope[ROPE_MAX];        /* [n_ubatch][n_rot/2][cos, sin] of the pass */
    double *rope_freq[ROPE_MAX];  /* [n_rot/2] radians a position */
    double rope_amplitude[ROPE_MAX];
    struct routing routing;
    uint64_t **expert_uses; /* [ops.n] ROUTE: how many tokens used each of its experts since the reset; else NULL */
    struct thread_state *thread;
    float *part;            /* attention: what parts of a token's keys give */
    atomic_uint *part_done; /* [ENGINE_PARTS] parts done, of each run's KV heads */

    struct regions *regions; /* NULL: no outside tool */
    bool per_op;
    struct op_sample *sample;
    struct work total;

    /* the pass being run */
    const int32_t *tokens;
    struct pass pass;
    struct engine_run *run; /* [n_seq] runs of the pass, n_run of them */
    uint32_t n_run;
    uint32_t *run_first;    /* [n_seq + 1] first token of each */
    uint32_t *run_of;       /* [n_ubatch] run of a token */
    uint32_t *out_row;      /* [n_out_max] token that each row of logits follows */
    uint64_t clock_ns; /* when the op being timed began (thread 0) */
};

enum {
    ENGINE_TOKEN_TILE = 64, /* positions expanded at once */
    ENGINE_ATTENTION_ROWS = 256, /* rows (a head of a token each) of one attention call: they share tiles of keys */
    ENGINE_ATTENTION_LEAST = 16, /* units, or else tokens a unit, that fewer rows are a better deal than */
    ENGINE_PARTS = 128,     /* units that the keys of a pass of one token are cut into, about */
    ENGINE_PART_KEYS = 512, /* keys below which a cut costs more than it gives */
};

/* ---- kv.c ----------------------------------------------------------------------------- */
int kv_init(struct engine *e, struct error *err);
void kv_free(struct engine *e);

/* ---- plan.c ---------------------------------------------------------------------------- */
int engine_plan(struct engine *e, struct error *err);

/* ---- repack.c --------------------------------------------------------------------------- */
/* Choose each product's slot and whether its weights are packed; sets plan's slot, w, packed. */
void repack_plan(struct engine *e);
/* Pack, on the team; sets the w of packed products. */
int repack(struct engine *e, struct error *err);
void repack_free(struct engine *e);

/* ---- regions.c --------------------------------------------------------------------------- */
int regions_init(struct engine *e, struct error *err);
void regions_free(struct engine *e);
bool regions_by_role(const struct engine *e);
/* Of op i's role, on the calling thread, where roles are regions. */
void regions_op_start(const struct engine *e, size_t i);
void regions_op_stop(const struct engine *e, size_t i);

/* ---- exec.c: a pass, and what its parts share -------------------------------------------- */
/* Run e->pass on the team; samples and totals are updated. */
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

/* The rows of a cache that belong to a sequence. */
static inline struct kv_rows engine_rows_of(const struct kv_rows *r, size_t seq, size_t seq_bytes)
{
    struct kv_rows s = *r;
    s.data = s.data ? s.data + seq * seq_bytes : NULL;
    return s;
}

static inline size_t engine_split(size_t n, size_t align, int tid, int n_threads)
{
    return share_split(n, align, tid, n_threads);
}

static inline uint32_t engine_take(struct engine *e, size_t i)
{
    return atomic_fetch_add_explicit(&e->thread[0].next[i], 1, memory_order_relaxed);
}

/* The next of n units of op i for thread tid, at most so many at once, of its own part and then of the others' (kernels/share.h).
 * False: nothing is left. */
static inline bool engine_claim(struct engine *e, size_t i, size_t n, size_t most, int tid, int nt, struct share_run *run)
{
    for (int k = 0; k < nt; k++) {
        const int owner = (tid + k) % nt;
        if (share_steal(&e->thread[owner].next[i], n, owner, nt, most, run))
            return true;
    }
    return false;
}

/* Each executes its part of op i on thread tid of nt and adds what it walked to *w. */
typedef void exec_fn(struct engine *e, size_t i, struct work *w, int tid, int nt);
/* exec_dense.c */
exec_fn exec_embed, exec_norm, exec_matmul, exec_glu, exec_add, exec_softcap;
/* Rows [r0, r1) of W, at w_row of the tensor, for the rows of a->x; with the bias; counted. */
void exec_rows(const struct matmul_slot *slot, const struct matmul_args *a, const struct op *op, const float *bias,
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
