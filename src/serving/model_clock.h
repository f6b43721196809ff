/*
 * model_clock.h: the seconds of a server's steps from the time model: a step's price (step_price.h) fitted to an estimator's passes.
 * methods.md (100)
 */
#ifndef SERVING_MODEL_CLOCK_H
#define SERVING_MODEL_CLOCK_H

#include "predict/estimator.h"
#include "serving/step_price.h"

struct clock_options {
    const struct estimator *draft; /* of a draft model, which drafts the policy's num_speculative_tokens of a step; NULL: drafts take no time */
    double draft_first;            /* mean tokens of a sequence that its first pass after a step with drafts computes: spec_first_tokens() */
    uint32_t context;    /* positions of a sequence around which the price is linear: the workload's mean; 0: 1024 */
    bool graphs;         /* decode steps are padded to the sizes of captured graphs */
    bool blackwell;      /* whose graphs go up to 1024 tokens */
    /* A draw of the constants of the time model from their covariance, with the inflation of its intervals; 0: their means. Draw i is the
     * same for every policy, workload and batch. */
    uint64_t draw, seed;
};

/*
 * Steps under p as e prices them; x from step_price_alloc(x, p). e's constants are changed during the call and restored.
 *
 * errors   ERROR_INPUT  a pass takes no time, or a million seconds and more; x is then not to be used. ERROR_INTERRUPTED
 * cost     some 300 passes (budget 8192), of a draw twice as many
 */
int model_clock(struct step_price *x, struct estimator *e, const struct policy *p, const struct clock_options *o, struct error *err);

/* Two contexts of a sequence: around the workload's mean (0: 1024), but where some layers have all positions and others a window, beyond the
 * window. */
void model_clock_contexts(const struct policy *p, uint32_t mean, uint32_t *low, uint32_t *high);
/* Layers of group g over those of groups without a window, whose positions the difference of two long contexts is. */
double model_clock_share(const struct policy *p, uint32_t g);

#endif
