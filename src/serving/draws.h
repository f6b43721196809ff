/*
 * draws.h: a simulation and how sure it is: one run with the central constants of the time model, whose sampling intervals are its own, and
 * runs with draws of the constants on the same random numbers, for the model's spread. methods.md (101)
 */
#ifndef SERVING_DRAWS_H
#define SERVING_DRAWS_H

#include "serving/deployment.h"
#include "serving/metrics.h"

struct draws_options {
    uint32_t n_draw;      /* 0: no model spread; nor without a time model, whose constants are drawn */
    uint32_t n_thread;    /* 0: one */
    uint32_t most;        /* requests of a draw at most: the first ones; 0: all */
    uint64_t seed;
};
/* Called after each draw, from the calling thread; NULL: not. */
typedef void draws_progress_fn(void *ctx, uint32_t n_done, uint32_t n);

/*
 * Adds the draws to s, which has its central run. run: as for that; m: its options without a timeline. d's prices are those of the means
 * afterwards. The result does not depend on n_thread. A draw whose prices cannot be simulated has no part in it: s->n_draw_without counts them.
 *
 * errors   out of memory. ERROR_INTERRUPTED: s has the draws that were done
 */
int serve_draws(struct serve_study *s, struct deployment *d, const struct serve_workload *w, const struct serve_options *run,
                const struct serve_metrics_options *m, const struct draws_options *o, draws_progress_fn *fn, void *ctx, struct error *err);

#endif
