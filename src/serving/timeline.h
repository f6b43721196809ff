/*
 * timeline.h: a simulation over time, in bounded memory: what its steps had, in at most TIMELINE_POINTS equal intervals, whose width doubles
 * when the run outgrows them; how long requests waited for what; and the gaps between tokens in slices of the run, for intervals of their
 * percentiles. timeline_step is serve_options.step.
 */
#ifndef SERVING_TIMELINE_H
#define SERVING_TIMELINE_H

#include "serving/simulate.h"

/* Slices: at least half of TIMELINE_SLICES once the run is longer than as many of TIMELINE_LEAST_PS. */
enum { TIMELINE_POINTS = 2048, TIMELINE_SLICES = 64, TIMELINE_LEAST_PS = 1000000, GAP_SUB = 32, GAP_BINS = 64 * GAP_SUB };

/* Integrals over an interval, in s and units x s. */
struct timeline_point {
    double busy_s, prompt_s; /* in steps; in steps with prompts' tokens */
    double running_s, waiting_s, block_s;
    double n_prompt, n_decode; /* tokens */
    double bytes, flop;        /* of a device, summed over replicas */
};

/* Why requests that wait after a step was formed were not in it. */
enum serve_wait {
    WAIT_NONE,   /* none waits */
    WAIT_SEQS,   /* max_num_seqs run */
    WAIT_BUDGET, /* the step has max_num_batched_tokens */
    WAIT_BATCH,  /* static batching: the batch is not done */
    WAIT_BLOCKS, /* the first of them does not fit the free KV blocks */
    SERVE_WAITS,
};

struct timeline_slice {
    uint64_t n, count[GAP_BINS]; /* of gaps, logarithmic bins of 3 % */
};

struct timeline {
    struct policy policy;
    uint64_t width_ps, slice_ps;      /* of a point; of a slice */
    size_t n, n_slice;                /* begun */
    struct timeline_point *point;     /* [TIMELINE_POINTS] */
    struct timeline_slice *slice;     /* [TIMELINE_SLICES] */
    double wait_s[SERVE_WAITS];       /* busy seconds by it */
    double decode_s, mixed_s;         /* steps of decoding sequences alone; with prompts' tokens */
};

/* Several that listen to the steps: step_tee with ctx a struct step_tee. */
struct step_tee {
    serve_step_fn *fn[4];
    void *ctx[4];
    size_t n;
};
void step_tee(void *ctx, const struct serve_step *x);

/* errors: out of memory; t is then as freed. */
int timeline_init(struct timeline *t, const struct policy *p, struct error *err);
void timeline_free(struct timeline *t);
/* ctx: struct timeline */
void timeline_step(void *ctx, const struct serve_step *x);
/* Means of a point: divided by its seconds. The last one ends with the run. */
double timeline_width_s(const struct timeline *t);
/* Gaps of a slice of at most s seconds. */
double timeline_gaps_within(const struct timeline_slice *x, double s);
/* The longest wait but WAIT_NONE; WAIT_NONE: less than a tenth of busy time. */
enum serve_wait timeline_bound(const struct timeline *t);

#endif
