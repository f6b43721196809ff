/*
 * campaign.h: the capacity of many deployments on one workload, by threads, and of each of several processes a part. What is found for a
 * deployment depends on it alone: not on the number of threads, processes or other deployments.
 */
#ifndef SERVING_CAMPAIGN_H
#define SERVING_CAMPAIGN_H

#include "serving/capacity.h"

/* A deployment. Pointers must outlive the campaign. */
struct campaign_cell {
    const struct op_classes *classes;
    const struct hwprofile *h;
    struct predict_options predict;
    struct deployment_options deploy;
    uint32_t group; /* cells of a group, which stand one after the other, differ in `deploy` alone */
};

/* What is found. Its bytes may be sent to another process, where campaign_restore() makes policy.name valid. */
struct campaign_result {
    struct capacity c;
    struct policy policy; /* as it is served */
    uint64_t n_block;     /* of a replica */
    bool done;
    enum error_kind kind; /* of the reason */
    char reason[240];     /* why there is no rate; "": there is one */
};

typedef void campaign_progress_fn(void *ctx, double fraction);
struct campaign {
    const struct serve_workload *w;
    const struct serve_options *run;        /* what is no deployment's: acceptance, routing, the client's limit, ... */
    const struct capacity_options *search;
    const struct campaign_cell *cell;       /* [n] */
    struct campaign_result *result;         /* [n] */
    size_t n;
    uint32_t n_thread;                      /* 0: one */
    uint32_t part, n_part;                  /* of the processes, this one; n_part 0: 1 */
    campaign_progress_fn *progress;         /* from the calling thread; NULL */
    void *ctx;
};

/* Rates by the central constants, into the results of this part; what has been found by an interrupt is done. errors:
 * ERROR_INTERRUPTED; out of memory. What a deployment cannot have is its result's reason. */
int campaign_rates(struct campaign *k, struct error *err);
/* The highest rates of all draws of n_which of the cells: rate[n_which][search->n_draw]; those of other parts stay. NaN: not found. */
int campaign_draws(struct campaign *k, const uint32_t *which, size_t n_which, double *rate, struct error *err);
/* Is cell i, or item i of rate[][], of this part? */
bool campaign_is_mine(const struct campaign *k, size_t i);
/* policy.name of the i-th result, after it came from another process. */
void campaign_restore(struct campaign *k, size_t i);

#endif
