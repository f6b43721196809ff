/*
 * What the jobs of the engine's kernels share (kernel_jobs.c, kernel_product.c, kernel_vector.c): at one number of threads,
 * memory whose bytes are weights of any type, activations, and each thread's own things. methods.md (78)
 */
#ifndef CEILINGS_KERNEL_BENCH_H
#define CEILINGS_KERNEL_BENCH_H

#include "ceilings/ceilings.h"
#include "ceilings/job.h"
#include "kernels/pack.h"
#include "kernels/share.h"

enum {
    BENCH_COLS = 2048,   /* of a matrix, of an activation row: between the widths of small and of large models */
    BENCH_L1_COLS = 256, /* of a matrix that is to stay in L1: a panel of F32 takes 16 KiB */
    BENCH_TOKENS = 512,  /* rows of activations */
    BENCH_PLACES = 4,    /* for the rows of a prompt: other ops' have driven them out of a core's cache when they are read again */
    BENCH_PIECE = 64,    /* columns of a row that stay with one thread */
    BENCH_WIDTH = 4096,  /* of a product's results, of one or few threads */
    BENCH_STRIP = 1024,  /* of a thread at least: 2 MiB of 512 tokens */
    BENCH_FEW_TOKENS = 8, /* of a product that may wait for its weights */
    BENCH_OUT = 1 << 16, /* results that a thread has room for */
    BENCH_HEAD_DIM = 128,
    BENCH_KEYS = 4096,
    BENCH_FEW_KEYS = 128,   /* from memory: how a call begins there */
    BENCH_CACHED_KEYS = 512,
    BENCH_LOAD_BYTES = 1 << 20, /* that a thread loads at once */
    BENCH_BESIDE = 4,           /* such units before a sample from memory, and after it */
};

/* A thread's own, on lines of its own. */
struct bench_lane {
    _Alignas(64) atomic_uint next; /* units taken from its part in this sample */
    size_t at;                     /* repetitions of samples before */
    size_t to;                     /* bytes of its memory up to where those that walked it came */
    void *scratch;
    float *out;                    /* [BENCH_OUT] */
    struct work walked;            /* as attention counts it */
    double spent_s;                /* of this sample, on what is measured */
};

struct kernel_bench {
    int n_job;        /* that hold it */
    int n_threads;
    struct team *team;
    struct kernels k;
    size_t want_bytes, chunk_bytes; /* of weights: in all; of a thread */
    size_t kept_bytes;              /* of a thread, behind the chunks of all: what a cache is to hold, which no walk over memory meets */
    unsigned char *map, *w;         /* NULL until the first job prepares */
    size_t map_bytes;
    size_t level_bytes[4];          /* that a thread may use of L1, L2, L3; 0: there is no such level */
    unsigned cpu_flags;
    const struct read_kernel *load; /* plain loads of far memory, the fastest as far as is known; NULL: none here */
    size_t loaded;                  /* units of BENCH_LOAD_BYTES that loads beside samples have read */
    float *x, *z;                   /* [BENCH_PLACES][BENCH_TOKENS][BENCH_COLS] */
    float *y;                       /* [BENCH_TOKENS][y_cols] */
    size_t y_cols;
    float row[BENCH_COLS];          /* of such activations */
    float cs[BENCH_HEAD_DIM];       /* cosines and sines of a position */
    float halves[BENCH_HEAD_DIM];   /* as F16 they are bytes that weights have */
    void *act_mem;                  /* activations as kernels want them; keys as the cache has them */
    void *packed_acts;                /* the same in the order in which products of packed weights walk them */
    struct acts acts;
    const struct kernel_job *last;  /* the job whose act_mem it is */
    struct bench_lane *lane;
};

struct kernel_job;
typedef void bench_fn(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n);

/* A roof in the making: what is called, on what, and how it is counted. */
struct kernel_job {
    struct kernel_bench *b;
    const char *kind, *op, *unit;
    char dtype[16];
    int level;         /* 0 to 3: L1, L2, L3, DRAM; -1: means nothing */
    int n_tok;         /* 0: means nothing */
    bench_fn *run;     /* n repetitions on thread tid */
    bool inside;       /* run does more than what is measured, and says how long that took: bench_lane.spent_s */
    double amount;     /* of a repetition, all threads: bytes, FLOP; 1: a latency */
    double footprint_bytes; /* of a thread */
    char text[48];     /* struct ceiling.kernel */
    /* products */
    const struct matmul_slot *slot;
    enum dtype type;
    size_t cols, row_bytes, rows; /* rows of a unit (DRAM), else of all that a thread walks */
    size_t walk_bytes;  /* of memory, that a repetition walks; 0: none, or not one after the other */
    size_t n_unit;      /* from a cache: units, a repetition each, that are walked round and round; else 0 */
    bool beside;        /* plain loads are timed before and after each sample */
    bool tiles;         /* as struct job has it */
    bool shared;        /* threads have equal parts here, where the engine's help each other: struct sample.shared_s is its time */
    int n_variant;      /* of bench_load: kernels to choose from; else 0 */
    enum act_kind act;  /* that the job wants prepared, with x; ACT_KIND_COUNT: none */
    /* attention */
    uint32_t n_query, n_head; /* tokens of a call, heads that share a key */
    uint32_t n_key;           /* that the last of the tokens sees */
    int head_dim;             /* elements of a key; 0: no attention */
    bool rounded;             /* as struct attention_args has it */
    bool again;               /* keys and values that a call has just read: those of a prompt's next tokens read them, too */
    bool apart;               /* keys and values of a call do not follow each other, nor those of the call before */
};

/* For the caches under the first n_threads of o's CPUs; NULL: no memory. The caller holds it as a job does. */
struct kernel_bench *bench_new(int n_threads, const struct ceilings_options *o, struct error *err);
void bench_release(struct kernel_bench *b);
/* The weights, each thread's part touched by it. */
int bench_map(struct kernel_bench *b, struct team *t, struct error *err);
/* Bytes that are weights of any type. */
void bench_fill(unsigned char *to, size_t bytes, uint64_t seed);
/* After n repetitions of j: samples go on behind what they walked. */
void bench_go_on(struct kernel_bench *b, const struct kernel_job *j, uint64_t n);
/* x as the job's kernel wants it, unless the last sample was of it. */
void bench_prepare(struct kernel_bench *b, const struct kernel_job *j);

/* Of kernel_product.c and kernel_vector.c: fill in *j for a type. False: there is no such kernel. */
bool bench_matvec(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int level, bool file);
bool bench_matmat(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int n_tok, int level, bool file);
bool bench_load(struct kernel_bench *b, struct kernel_job *j);
/* The i-th kernel of plain loads of far memory that these flags allow; NULL: there are no more. */
const struct read_kernel *bench_load_at(unsigned cpu_flags, int i);
/* Unit i of BENCH_BESIDE that plain loads on thread tid read next: of memory that loads before have not read, in the half of it where
 * the sample does not begin. */
const unsigned char *bench_beside(const struct kernel_bench *b, int tid, size_t i);
void bench_load_beside(const struct kernel_bench *b, int tid);
/* Activations of n_tok tokens put in the order in which products with packed weights of type t walk them. False: they walk them as
 * they are. */
bool bench_arrange(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int n_tok);
bool bench_embed(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int n_tok);
bool bench_attention(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int n_query, int n_head, int head_dim);
/* *j, an attention or a call of it, as the engine computes it where it may round. False: it does not. methods.md (95) */
bool bench_attention_rounded(const struct kernel_bench *b, struct kernel_job *j);
/* *j, rows of several tokens against keys from memory, as a pass's next tokens find these keys. */
void bench_attention_again(struct kernel_job *j);
/* A call that sees few keys, from memory or in a cache: what it costs beyond its keys. */
bool bench_attention_call(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int n_query, int n_head, int head_dim, int n_key,
                          bool memory);
/* i from 0; false: past the last one. */
bool bench_vector(struct kernel_bench *b, struct kernel_job *j, size_t i, int n_tok);
bool bench_dispatch(struct kernel_bench *b, struct kernel_job *j);

/* Activations of repetition i: [n_tok][BENCH_COLS] floats that begin so far behind b->x and b->z. What reads rows of a prompt finds them
 * where other ops have left them: not in its core's cache. */
static inline size_t bench_place(const struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t i)
{
    return j->n_tok > 1 ? (b->lane[tid].at + i) % BENCH_PLACES * BENCH_TOKENS * BENCH_COLS : 0;
}
/* Thread tid's columns of n_tok rows, stride floats apart, become those of row [BENCH_COLS]; BENCH_PIECE at least, so that some threads may
 * have none. */
void bench_write_columns(float *rows, size_t stride, const float *row, size_t n_tok, int tid, int n_threads);
/* Rows of a prompt, to be read row by row, written as products write them: each thread some columns of all. All threads call it, and
 * meet there. One token: nothing. */
void bench_write(struct kernel_bench *b, const struct kernel_job *j, int tid, float *rows);

/* A sample of a job whose data is a kernel_job: n repetitions, struct job_class.sample. */
void bench_sample(struct job *job, struct meter *m, int variant, uint64_t n, struct sample *s);

/* Weights of thread tid's memory, unit by unit of so many bytes, which begin again at the end. */
static inline const unsigned char *bench_unit(const struct kernel_bench *b, int tid, size_t unit, size_t unit_bytes)
{
    const size_t n = b->chunk_bytes / unit_bytes;
    return b->w + (size_t)tid * b->chunk_bytes + unit % (n ? n : 1) * unit_bytes;
}

/* The first unit that samples before have not walked. However long theirs were, the next begins where the last one ended: a large
 * cache may hold what was walked just before. */
static inline size_t bench_first(const struct kernel_bench *b, int tid, size_t unit_bytes)
{
    return (b->lane[tid].to + unit_bytes - 1) / unit_bytes;
}

/* What a cache of thread tid is to hold begins here. */
static inline unsigned char *bench_kept(const struct kernel_bench *b, int tid)
{
    return b->w + (size_t)b->n_threads * b->chunk_bytes + (size_t)tid * b->kept_bytes;
}

#endif
