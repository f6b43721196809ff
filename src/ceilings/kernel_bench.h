/*
 * Shared by the engine-kernel benchmarks (kernel_benchmarks.c, kernel_product.c, kernel_vector.c) of one thread count: weight memory
 * valid for any type, activations, thread state. methods.md (78)
 */
#ifndef CEILINGS_KERNEL_BENCH_H
#define CEILINGS_KERNEL_BENCH_H

#include "ceilings/ceilings.h"
#include "ceilings/benchmark.h"
#include "kernels/pack.h"
#include "kernels/share.h"

enum {
    BENCH_COLS = 2048,    /* of matrices and activation rows: between small and large models */
    BENCH_L1_COLS = 256,  /* of an L1-resident matrix: a panel of F32 takes 16 KiB */
    BENCH_TOKENS = 512,   /* rows of activations */
    BENCH_BUFFERS = 4,    /* buffers in rotation: rows are not in a core's cache when read again, as in a prompt */
    BENCH_PIECE = 64,     /* columns written by one thread */
    BENCH_WIDTH = 4096,   /* result columns of a product with few threads */
    BENCH_STRIP = 1024,   /* per thread at least: 2 MiB of 512 tokens */
    BENCH_FEW_TOKENS = 8, /* largest batch that may be bandwidth-bound */
    BENCH_OUT = 1 << 16,  /* results per thread */
    BENCH_HEAD_DIM = 128,
    BENCH_KEYS = 4096,
    BENCH_FEW_KEYS = 128, /* short context: start-up cost of a call */
    BENCH_CACHED_KEYS = 512,
    BENCH_LOAD_BYTES = 1 << 20, /* unit of plain loads, per thread */
    BENCH_ADJACENT_UNITS = 4,   /* such units before and after a DRAM sample */
};

/* Thread state on its own cache lines. */
struct bench_thread {
    _Alignas(64) atomic_uint next; /* units claimed in this sample */
    size_t at;                     /* repetitions so far */
    size_t to;                     /* end of the last scan, bytes */
    void *scratch;
    float *out;         /* [BENCH_OUT] */
    struct work walked; /* counted by attention */
    double spent_s;     /* measured time within this sample */
};

struct kernel_bench {
    int n_benchmark; /* users */
    int n_threads;
    struct team *team;
    struct kernels k;
    size_t want_bytes, chunk_bytes; /* of weights: total, per thread */
    size_t cached_bytes;            /* per thread, after all chunks: cache-resident data outside the scans */
    unsigned char *map, *w;         /* NULL until the first prepare */
    size_t map_bytes;
    size_t level_bytes[4]; /* usable share per thread of L1, L2, L3; 0: no such level */
    unsigned cpu_flags;
    const struct read_kernel *load; /* fastest known plain-load kernel; NULL: none */
    size_t loaded;                  /* units of BENCH_LOAD_BYTES read by adjacent probes */
    float *x, *z;                   /* [BENCH_BUFFERS][BENCH_TOKENS][BENCH_COLS] */
    float *y;                       /* [BENCH_TOKENS][y_cols] */
    size_t y_cols;
    float row[BENCH_COLS];        /* one activation row */
    float cs[BENCH_HEAD_DIM];     /* cosines and sines of a position */
    float halves[BENCH_HEAD_DIM]; /* as F16 their bytes are valid weights */
    void *act_mem;                /* prepared activations; keys in cache layout */
    void *packed_acts;            /* the same, packed for products */
    struct acts acts;
    const struct kernel_benchmark *last; /* benchmark that act_mem is prepared for */
    struct bench_thread *thread;
};

struct kernel_benchmark;
typedef void bench_fn(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n);

/* One kernel roof: function, operands, accounting. */
struct kernel_benchmark {
    struct kernel_bench *b;
    const char *kind, *op, *unit;
    char dtype[16];
    int level;              /* 0 to 3: L1, L2, L3, DRAM; -1: n/a */
    int n_tok;              /* 0: n/a */
    bench_fn *run;          /* n repetitions on thread tid */
    bool inside;            /* run times itself: bench_thread.spent_s */
    double amount;          /* per repetition, all threads: bytes or FLOP; 1: latency */
    double footprint_bytes; /* per thread */
    char text[48];          /* struct ceiling.kernel */
    /* products */
    const struct matmul_slot *slot;
    enum dtype type;
    size_t cols, row_bytes, rows; /* rows of a unit (DRAM), else of the whole scan */
    size_t walk_bytes;            /* memory scanned per repetition; 0: none, or not sequential */
    size_t n_unit;                /* cached: units in rotation, one per repetition; else 0 */
    bool adjacent;                /* adjacent plain-load probes around each sample */
    bool tiles;                   /* as in struct benchmark */
    bool shared;                  /* equal parts per thread, where the engine balances load: timed by struct sample.shared_s */
    int n_variant;                /* of bench_load: candidate kernels; else 0 */
    enum act_kind act;            /* prepared activations needed, with x; ACT_KIND_COUNT: none */
    /* attention */
    uint32_t n_query, n_head; /* tokens per call, heads that share a key */
    uint32_t n_key;           /* seen by the last token */
    int head_dim;             /* key elements; 0: no attention */
    bool rounded;             /* as in struct attention_args */
    bool again;               /* keys and values just read by a call, as for a prompt's next tokens */
    bool apart;               /* scattered keys and values */
};

/* For the caches of the first n_threads of o's CPUs; NULL: no memory. Reference-counted by benchmarks. */
struct kernel_bench *bench_new(int n_threads, const struct ceilings_options *o, struct error *err);
void bench_release(struct kernel_bench *b);
/* Allocates the weights, first touched by their threads. */
int bench_map(struct kernel_bench *b, struct team *t, struct error *err);
/* Random bytes, valid as weights of any type. */
void bench_fill(unsigned char *to, size_t bytes, uint64_t seed);
/* After n repetitions of j: later samples continue from there. */
void bench_advance(struct kernel_bench *b, const struct kernel_benchmark *j, uint64_t n);
/* Prepares x for the kernel, unless the last sample's preparation fits. */
void bench_prepare(struct kernel_bench *b, const struct kernel_benchmark *j);

/* kernel_product.c, kernel_vector.c: fill *j for a type. False: no such kernel. */
bool bench_matvec(struct kernel_bench *b, struct kernel_benchmark *j, enum dtype t, int level, bool file);
bool bench_matmat(struct kernel_bench *b, struct kernel_benchmark *j, enum dtype t, int n_tok, int level, bool file);
bool bench_load(struct kernel_bench *b, struct kernel_benchmark *j);
/* i-th plain-load kernel for DRAM with these flags; NULL: past the end. */
const struct read_kernel *bench_load_at(unsigned cpu_flags, int i);
/* Next unit i of BENCH_ADJACENT_UNITS for thread tid's plain loads: not recently read by probes, and in the half where the sample does not
 * start. */
const unsigned char *bench_adjacent(const struct kernel_bench *b, int tid, size_t i);
void bench_load_adjacent(const struct kernel_bench *b, int tid);
/* Packing of n_tok tokens' activations for products with packed weights of type t. False: not packed. */
bool bench_pack_acts(struct kernel_bench *b, struct kernel_benchmark *j, enum dtype t, int n_tok);
bool bench_embed(struct kernel_bench *b, struct kernel_benchmark *j, enum dtype t, int n_tok);
bool bench_attention(struct kernel_bench *b, struct kernel_benchmark *j, enum dtype t, int n_query, int n_head, int head_dim);
/* *j, an attention, in the engine's rounded (BF16) form. False: not available. methods.md (95) */
bool bench_attention_rounded(const struct kernel_bench *b, struct kernel_benchmark *j);
/* *j over keys that are in cache from the previous tokens' call. */
void bench_attention_reread(struct kernel_benchmark *j);
/* Attention over a short context, from memory or cache: fixed cost of a call. */
bool bench_attention_call(struct kernel_bench *b, struct kernel_benchmark *j, enum dtype t, int n_query, int n_head, int head_dim, int n_key,
                          bool memory);
/* i-th vector op; false: past the last. */
bool bench_vector(struct kernel_bench *b, struct kernel_benchmark *j, size_t i, int n_tok);
bool bench_dispatch(struct kernel_bench *b, struct kernel_benchmark *j);

/* Offset of repetition i's activations [n_tok][BENCH_COLS] in b->x and b->z, rotating so that rows of a prompt are not in the
 * core's cache. */
static inline size_t bench_buffer_at(const struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t i)
{
    return j->n_tok > 1 ? (b->thread[tid].at + i) % BENCH_BUFFERS * BENCH_TOKENS * BENCH_COLS : 0;
}
/* Thread tid's columns of n_tok rows (stride in floats) are set from row [BENCH_COLS]; pieces of BENCH_PIECE columns, so some
 * threads may have none. */
void bench_write_columns(float *rows, size_t stride, const float *row, size_t n_tok, int tid, int n_threads);
/* Rows of a prompt written by columns across threads, as products do. All threads call it; ends with a barrier. One token: no-op. */
void bench_write(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, float *rows);

/* struct benchmark_class.sample of kernel benchmarks. */
void bench_sample(struct benchmark *bm, struct harness *m, int variant, uint64_t n, struct sample *s);

/* Address of a unit in thread tid's memory, wrapping around. */
static inline const unsigned char *bench_unit(const struct kernel_bench *b, int tid, size_t unit, size_t unit_bytes)
{
    const size_t n = b->chunk_bytes / unit_bytes;
    return b->w + (size_t)tid * b->chunk_bytes + unit % (n ? n : 1) * unit_bytes;
}

/* First unit after those of earlier samples, which a large cache may still hold. */
static inline size_t bench_first(const struct kernel_bench *b, int tid, size_t unit_bytes)
{
    return (b->thread[tid].to + unit_bytes - 1) / unit_bytes;
}

/* Thread tid's cache-resident data. */
static inline unsigned char *bench_cached(const struct kernel_bench *b, int tid)
{
    return b->w + (size_t)b->n_threads * b->chunk_bytes + (size_t)tid * b->cached_bytes;
}

#endif
