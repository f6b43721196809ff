/* measuring one test of `roofcast bench` (bench.c), printed by cmd_bench.c. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/lists.h"
#include "bench/setup.h"
#include "ceilings/ceilings.h"
#include "counters/energy.h"
#include "report/output.h"

struct bench_test {
    bool prefill;
    uint32_t n, depth; /* n: prompt or generated tokens, of each sequence */
    uint32_t n_batch;  /* sequences that go together */
    uint32_t n_ubatch;
    enum dtype type_k, type_v; /* of e's KV cache */
    int reps;
    double delay_s; /* before it */
    bool no_warmup;
    bool ops; /* one more repetition with every op timed */
};

/* This machine, and its stored profile (`roofcast profile`). */
struct bench_stored {
    struct hwprofile host, profile; /* profile: when there */
    bool there;
    char reason[160];   /* why the profile is not compared with; "": it is */
    double cache_bytes; /* of the last-level caches */
};
int bench_stored_open(struct bench_stored *s, struct error *err);
void bench_stored_close(struct bench_stored *s);
/* Probes read the very pages that the run walks, where those are four times cache_bytes: what a page gives depends on how the system
 * backs it. full: the passes to come see all of the KV cache, which has been filled, so that it is its pages where they are more than
 * those of the weights. whole: of fewer weights all, each time, so that what the caches keep of them shows; returned is how many
 * bytes these are. Else 0; and if not so many, or without packed weights, probes read memory of their own. */
size_t bench_lend_memory(struct ceilings_options *o, const struct engine *e, double cache_bytes, bool full, bool whole);

/* What the tests of a model share. */
struct bench {
    struct engine *e;
    const struct model *m;
    const struct setup *machine;
    struct ceilings_prober *prober;
    struct energy *energy;
    struct run *run; /* where routing and repetitions are recorded */
    const struct bench_stored *stored;
    const struct marker_tool *markers; /* NULL: no tool counts this program */
};

/*
 * Warm up, then `reps` repetitions with a ceiling probe before, between and after them; adds one row
 * (and its ops) to r. e's context holds depth + n positions. A repetition is one of n_t tests after the other, of as many
 * repetitions each. median_s [n_t]: seconds of a repetition's part.
 */
int bench_run(struct run *r, const struct bench *b, const struct bench_test *t, size_t n_t, double *median_s,
              struct error *err);

/* Called after every step, of n_tok tokens a sequence: not in the latencies, but in the seconds. -1 ends the repetition. */
struct bench_between {
    int (*step)(void *ctx, uint32_t n_tok, bool last, struct error *err);
    void *ctx;
};
/* One repetition of a test on its n * n_batch tokens. itl: n latencies (decode), or NULL. between: NULL, or what stands between
 * steps. */
int bench_repetition(struct engine *e, const struct bench_test *t, const int32_t *tok, double *itl, double *seconds,
                     const struct bench_between *between, struct error *err);
/* "memory" or "compute"; "" where a roof is unknown. */
const char *bench_bound(double bytes, double flop, double bytes_s, double flop_s);
/* Where each percent goes that a test's ops lack to their roofs: share times (1 - of roof) of its roles, a line a test. */
int bench_print_lost(const struct run *roles, struct error *err);
/* ops.c: one more repetition with every op timed: ops to r, its roofs to row. */
int bench_ops(struct run *r, struct run_row *row, const struct bench *b, const struct bench_test *t, const int32_t *tok,
              struct error *err);

/* Repetitions that are counted, not timed: counts, what they cost and the certificate to r, bytes of memory to row. Nothing is
 * done where no backend counts anything. */
int bench_count(struct run *r, struct run_row *row, const struct bench *b, const struct bench_test *t, const int32_t *tok,
                struct error *err);
/* Lines about them under the tables. */
void bench_print_counts(const struct run *r);

/* ---- conditions.c: what the machine was like ------------------------------------ */

/* Of the threads' time, below which a repetition did not have its CPUs for itself. Two threads that meet at every op lose more than
 * their share: where another process takes half of one CPU (a share of 0.74) a batch of 4 falls to half, of both (0.42) to a third. */
#define BENCH_ALONE 0.9

struct bench_watch {
    struct cpu_ticks ticks;
    double preemptions, cpu_s;
    uint64_t start_ns;
};
void bench_watch_begin(struct bench_watch *w, const struct setup *machine);
/* Fills in steal, n_switch, cpu_share and clock_hz, which it measures (some 10 ms), of a repetition of so many seconds. */
void bench_watch_end(const struct bench_watch *w, const struct setup *machine, double seconds, struct run_rep *rep);
/* A row's conditions from those of its n repetitions and from the adjacent probes of DRAM's roof. */
void bench_conditions(struct run_row *row, const struct run_rep *rep, size_t n, const double *probe, size_t n_probe);
/* The row's rates against the stored profile's roofs of as many threads. */
void bench_against_stored(struct run_row *row, const struct bench_stored *s, enum math math);
/* Points above their roofs, into r->findings. */
int bench_findings(struct run *r, const struct bench_stored *s, struct error *err);
void bench_print_findings(const struct run *r);
void bench_print_conditions(const struct run *r);

/* A line of llama-batched-bench's table: B prompts of PP tokens, then TG tokens to each; seconds of both parts. */
void bench_add_batch(struct table_rows *rows, const struct run_row *pp, const struct run_row *tg, double pp_s, double tg_s);
extern const size_t bench_batch_size;
extern const struct table_fields bench_batch_fields;

/* ---- grid.c: tests of a grid ------------------------------------------------------- */

/* What a bench prints: rows, ops and roles (see run/run.h); lines of the table of batches. */
struct bench_results {
    struct run run, roles;
    struct table_rows batches; /* of bench_batch_size */
};
/* Lists of the tests: of prompts, generations, depths, threads, sequences, ubatches. */
enum { BENCH_MOST_PAIRS = 64 };
struct bench_grid {
    struct str_list model;
    struct int_list p, n, d, t, b, ub;
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
    const struct marker_tool *markers; /* NULL: no tool counts this program */
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
/* Options of the output. also: where the tests go a second time, in also_format; NULL: nowhere. */
struct bench_print {
    FILE *also;
    enum report_format format, also_format;
    bool ops, by_layer;
};
/* To standard output; rows in seconds, bytes and FLOP as struct run has them. -1 with *err: out of memory, or a write failed. */
int bench_print(struct bench_results *res, const struct bench_print *o, struct error *err);

/* Arithmetic that dominates the model's products on this engine's kernels: the peak to probe. */
enum math bench_math(const struct engine *e);

/* Ops [first_op, end) of one test, summed over layers: one row a role, appended to out->op. row: the test's. */
int bench_roles(struct run *out, const struct run *in, size_t first_op, size_t end, const struct run_row *row,
                struct error *err);

#endif
