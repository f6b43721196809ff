/*
 * capacity.h: the highest rate at which a deployment meets a service level objective. Rates are found by bisection on common random
 * numbers, on which whether the objective is met is nearly monotone in the rate; a machine's uncertainty gives a distribution of rates, of
 * which the 10th, 50th and 90th percentile are the rates that meet it with probability 0.9, 0.5 and 0.1.
 * methods.md (103)
 */
#ifndef SERVING_CAPACITY_H
#define SERVING_CAPACITY_H

#include "serving/deployment.h"
#include "serving/slo.h"

enum { CAPACITY_90, CAPACITY_50, CAPACITY_10, CAPACITY_RATES };

struct capacity_options {
    const struct serve_slo *slo;
    uint32_t n_draw;  /* of the constants; 0, or without a time model: no probabilities */
    uint64_t seed;
    double precision; /* relative, of a rate: 0.01 */
};

/* At a rate. Percentiles of requests' times are order statistics; ITL: of all gaps. */
struct capacity_at {
    double rate;      /* arrivals/s: of requests, or of sessions where requests have turns */
    double in_tok_s, out_tok_s;
    double user_tok_s; /* 1 / mean TPOT */
    double ttft_p50_s, ttft_p99_s, tpot_mean_s, itl_p99_s, e2e_mean_s;
    double batch, kv;  /* mean over busy time; fraction of the blocks */
    double good_request_s, good_tok_s; /* of requests that meet all limits */
};

struct capacity {
    double saturation;   /* arrivals/s served when all are sent at once, the drain at the end and think times included */
    double rate;         /* by the central constants; 0: the objective is not met by a single request */
    double probable[CAPACITY_RATES]; /* NaN: of fewer than 10 draws a rate was found */
    struct capacity_at at; /* at `rate`; NaN at 0 */
    uint32_t n_sim;      /* simulations */
    bool unsteady;       /* the workload has too few requests for a steady state at higher rates, its arrivals take less than twice the drain
                            after them: the rate may be too high or too low */
};

/* Rate of w's own arrivals, which are scaled to the rates tried. errors: ERROR_USAGE, all requests are due at once. */
int capacity_own_rate(double *rate, const struct serve_workload *w, struct error *err);
/* All numbers NaN. */
struct capacity capacity_none(void);

/*
 * w        requests in the order of their arrival, with times between them: scaled to each rate tried. After deployment_identify() a preempted one
 *          finds its blocks again; without, which is faster to simulate, it computes them again
 * run      deployment_serve_options()
 * errors   ERROR_USAGE  all requests are due at once; those of serve_simulate()
 * cost     some ten simulations of w, and ten a draw
 */
int serve_capacity(struct capacity *c, struct deployment *d, const struct serve_workload *w, const struct serve_options *run,
                   const struct capacity_options *o, struct error *err);

/* Its parts, for many threads: by the prices of run, without probabilities; the highest rate of a draw, from 1, whose prices d has
 * afterwards (run: of d), NaN where the draw's prices cannot be simulated; probabilities from the finite ones of rate[n_draw], which are moved
 * to its front: with fewer than 10 they stay as they are. */
int capacity_central(struct capacity *c, const struct serve_workload *w, const struct serve_options *run, const struct capacity_options *o,
                     struct error *err);
int capacity_draw(double *rate, struct deployment *d, uint32_t draw, const struct serve_workload *w, const struct serve_options *run,
                  const struct capacity_options *o, struct error *err);
void capacity_probable(struct capacity *c, double *rate, uint32_t n_draw);

/* Percentiles of TTFT and of ITL at a rate, in seconds: by the central constants, and their 5 % and 95 % points over the draws. */
struct capacity_point {
    double rate; /* given */
    double ttft_s, ttft_lo_s, ttft_hi_s, itl_s, itl_lo_s, itl_hi_s;
};
/* The q-th percentiles at n rates; lo and hi NaN without draws. d's prices are those of the means afterwards. */
int capacity_curve(struct capacity_point *p, size_t n, double q, struct deployment *d, const struct serve_workload *w,
                   const struct serve_options *run, const struct capacity_options *o, struct error *err);

/* The objective holds over all requests and over the younger half of them, so that a growing queue does not pass for a short one. */
bool capacity_meets(const struct serve_result *r, const struct serve_workload *w, const struct serve_slo *slo);

#endif
