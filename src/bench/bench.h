/* bench.h: measurement of one test of `roofcast bench`, and its output. SI units. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/lists.h"
#include "bench/setup.h"
#include "ceilings/ceilings.h"
#include "counters/energy.h"
#include "report/output.h"

/* ---- pages.c: paged KV caches -------------------------------------------------------------- */

/* An engine with one form of KV cache. Paged: every sequence has its blocks, which lie in random order in the pool. */
struct bench_cache {
    struct engine *e;
    uint32_t block_size; /* 0: contiguous */
    uint32_t n_group;
    uint32_t *block;         /* [n_seq][n_group][blocks of n_ctx] */
    const uint32_t **table;  /* [n_seq][n_group] into block */
};
/*
 * An engine with eo, whose n_ctx, n_seq and n_ubatch say what the cache has to hold: of a windowed layer group the blocks of the window and one
 * pass. block_size 0: contiguous. errors: engine_new's
 */
int bench_cache_init(struct bench_cache *c, const struct model *m, const struct engine_options *eo, uint32_t block_size, struct error *err);
void bench_cache_free(struct bench_cache *c);
/* Tables of a sequence, for engine_run.table; NULL: contiguous. */
static inline const uint32_t *const *bench_cache_tables(const struct bench_cache *c, uint32_t seq)
{
    return c && c->table ? c->table + (size_t)seq * c->n_group : NULL;
}

struct bench_test {
    const struct bench_cache *cache; /* NULL: contiguous, of the engine of struct bench */
    bool prefill;
    uint32_t n, depth; /* n: prompt or generated tokens per sequence; depth: context before them */
    uint32_t n_batch;  /* concurrent sequences */
    uint32_t n_ubatch;
    enum dtype type_k, type_v; /* KV cache of e */
    int reps;
    double delay_s; /* pause before the test */
    bool no_warmup;
    bool ops; /* adds a repetition with every op timed */
};

/* This machine and its stored profile (`roofcast profile`). */
struct bench_stored {
    struct hwprofile host, profile; /* profile: if available */
    bool there;
    char reason[160];   /* why there is no comparison with the profile; "" */
    double cache_bytes; /* all last-level caches */
};
int bench_stored_open(struct bench_stored *s, struct error *err);
void bench_stored_close(struct bench_stored *s);
/*
 * Lets probes read the engine's packed weights, or its KV cache, if those exceed four times cache_bytes: bandwidth depends on the page
 * backing. full: passes read the whole, filled KV cache. whole: smaller weights are read completely each time, so that the LLC hit fraction
 * is included; returns their bytes. Otherwise 0, and without packed weights probes use separate memory.
 */
size_t bench_share_memory(struct ceilings_options *o, const struct engine *e, double cache_bytes, bool full, bool whole);

/* Common to the tests of a model. */
struct bench {
    struct engine *e;
    const struct model *m;
    const struct setup *machine;
    struct ceilings_prober *prober;
    struct energy *energy;
    struct run *run; /* routing and repetitions are recorded here */
    const struct bench_stored *stored;
    const struct marker_tool *markers; /* NULL: no counting tool */
};
/* The engine that runs the test. */
static inline struct engine *bench_engine(const struct bench *b, const struct bench_test *t)
{
    return t->cache ? t->cache->e : b->e;
}

/*
 * Warm-up, then `reps` repetitions with a ceiling probe before, between and after them; adds one row (and its ops) to r. e's context holds
 * depth + n positions. A repetition runs the n_t <= BENCH_MOST_TESTS tests (equal reps) one after another: those of a cache are consecutive, the
 * same of every cache, and each repetition begins with the next cache. median_s[n_t]: median seconds of each.
 */
enum { BENCH_MOST_CACHES = 8, BENCH_MOST_TESTS = 2 * BENCH_MOST_CACHES };
int bench_run(struct run *r, const struct bench *b, const struct bench_test *t, size_t n_t, double *median_s,
              struct error *err);

/* Called after every step of n_tok tokens per sequence; included in the seconds, not in the latencies. -1 ends the repetition. */
struct bench_between {
    int (*step)(void *ctx, uint32_t n_tok, bool last, struct error *err);
    void *ctx;
};
/* One repetition of a test on its n * n_batch tokens. itl: [n] latencies (decode), or NULL. between: callback between steps, or NULL. */
int bench_repetition(struct engine *e, const struct bench_test *t, const int32_t *tok, double *itl, double *seconds,
                     const struct bench_between *between, struct error *err);
/* "memory" or "compute"; "": unknown roof. */
const char *bench_bound(double bytes, double flop, double bytes_s, double flop_s);
/* Prints time lost versus the roofline by op, one line per test: share * (1 - fraction of roof) of each role. */
int bench_print_lost(const struct run *roles, struct error *err);
/* ops.c: an additional repetition with every op timed: ops to r, its roofs to row. */
int bench_ops(struct run *r, struct run_row *row, const struct bench *b, const struct bench_test *t, const int32_t *tok,
              struct error *err);

/*
 * counts.c: untimed repetitions with counters: counts, counter overhead and calibration certificate to r, memory bytes to row. Does nothing
 * without a counting backend.
 */
int bench_count(struct run *r, struct run_row *row, const struct bench *b, const struct bench_test *t, const int32_t *tok,
                struct error *err);
/* Prints the lines on counts under the tables. */
void bench_print_counts(const struct run *r);

/* ---- conditions.c: what the machine was like ------------------------------------ */

/*
 * CPU share below which a repetition was disturbed. Threads with a barrier after every op lose more than their share: with another process
 * on half of one of two CPUs (share 0.74) a batch of 4 runs at half speed, on both (0.42) at a third.
 */
#define BENCH_MIN_CPU_SHARE 0.9

struct bench_watch {
    struct cpu_ticks ticks;
    double preemptions, cpu_s;
    uint64_t start_ns;
};
void bench_watch_begin(struct bench_watch *w, const struct setup *machine);
/* Sets steal, n_switch, cpu_share and clock_hz (measured in some 10 ms) of a repetition of `seconds`. */
void bench_watch_end(const struct bench_watch *w, const struct setup *machine, double seconds, struct run_rep *rep);
/* Conditions of a row, from its n repetitions and the adjacent bandwidth probes. */
void bench_conditions(struct run_row *row, const struct run_rep *rep, size_t n, const double *probe, size_t n_probe);
/* Utilization of the stored profile's roofs for as many threads. */
void bench_compare_stored(struct run_row *row, const struct bench_stored *s, enum math math);
/* Adds points above their roofs to r->findings. */
int bench_findings(struct run *r, const struct bench_stored *s, struct error *err);
void bench_print_findings(const struct run *r);
void bench_print_conditions(const struct run *r);

/* Adds a line of llama-batched-bench's table: B prompts of PP tokens, then TG tokens each; seconds of both parts. */
void bench_add_batch(struct table_rows *rows, const struct run_row *pp, const struct run_row *tg, double pp_s, double tg_s);
extern const size_t bench_batch_size;
extern const struct table_fields bench_batch_fields;

/* ---- grid.c: tests of a grid ------------------------------------------------------- */

/* Output of a bench: rows, ops and roles (run/run.h); lines of the table of batches. */
struct bench_results {
    struct run run, roles;
    struct table_rows batches; /* element size: bench_batch_size */
};
/* Lists of the tests: of prompts, generations, depths, threads, sequences, ubatches, KV caches. */
enum { BENCH_MOST_PAIRS = 64 };
struct bench_grid {
    struct str_list model;
    struct int_list p, n, d, t, b, ub;
    struct int_list block; /* positions of a block of the KV cache, 0: contiguous; the same tests in each */
    struct int_list pair[BENCH_MOST_PAIRS]; /* of two: prompt, generated */
    size_t n_pair;
};
/* How each is done. */
struct bench_how {
    int64_t reps;
    double delay_s;
    const char *counters; /* "auto", "null", ... */
    struct setup_options engine;
    bool uncalibrated, brief, no_warmup, ops;
    const struct marker_tool *markers; /* NULL: no counting tool */
    struct energy *energy;
    struct bench_stored stored;
};
/*
 * Every test of one model, thread count and ubatch: one engine serves them all. Prompts and generations apart, as llama-bench has them; with
 * numbers of sequences above 1 the generation goes on after the prompt, as in llama-batched-bench. A test is in res whole or not at all.
 */
int bench_grid_run(struct bench_results *res, const struct model *m, const struct bench_grid *g, const struct bench_how *o,
                   const struct setup *machine, uint32_t n_ubatch, struct error *err);

/* ---- bench_print.c: the output ------------------------------------------------------- */
/* Options of the output. error_format: also on standard error. */
struct bench_print {
    FILE *also;
    enum report_format format, also_format;
    bool ops, by_layer;
};
/* Prints to standard output; rows are in SI units. errors: out of memory, a failed write */
int bench_print(struct bench_results *res, const struct bench_print *o, struct error *err);

/* Dominant operand type of the model's products on this engine, for the compute probe. */
enum math bench_math(const struct engine *e);

/* Appends one row per role to out->op: ops [first_op, end) of a test (row), summed over layers. */
int bench_roles(struct run *out, const struct run *in, size_t first_op, size_t end, const struct run_row *row,
                struct error *err);

#endif
