/* describe.h: a workload in figures: lengths, arrivals, and how much of the prompts a prefix cache could hold. */
#ifndef SERVING_DESCRIBE_H
#define SERVING_DESCRIBE_H

#include "serving/workload.h"

struct describe_lengths {
    double mean, p50, p90, p95, p99, most; /* percentiles: methods.md (70) */
};

struct serve_workload_description {
    size_t n, n_root;
    struct describe_lengths in, out, fresh; /* tokens of a request: prompt; output; prompt tokens that no earlier request had */
    double duration_s;  /* from the start to the last arrival of a root */
    double rate_s;      /* roots a second; INFINITY: all at once */
    double gap_cv;      /* standard deviation of the gaps between roots over their mean: 1 Poisson, 0 constant; NAN: fewer than two gaps */
    double burstiness;  /* the shape of a gamma distribution with that cv, 1 / cv^2 */
    double turns;       /* requests a root */
    double think_p50_s, think_mean_s; /* before later turns; NAN: there are none */
    double hit_share;   /* of all prompt tokens, those that a prefix cache without end would hold: an upper bound */
    double hit_tok;
};

/*
 * block_size  positions of a KV block: only full blocks hit, and never a prompt's last token
 * errors      ERROR_USAGE, a block size of 0; out of memory
 * cost        some 10 ns a block of requests with identities
 */
int serve_workload_describe(struct serve_workload_description *d, const struct serve_workload *w, uint32_t block_size, struct error *err);

#endif
