/*
 * step.h: seconds of a step. Laid out over devices, a class of ops is a form (cost.h); under a machine's roofs, a form and a pass give
 * seconds. Another batch, context or machine evaluates some thirty classes.
 */
#ifndef TIMING_STEP_H
#define TIMING_STEP_H

#include "timing/roofs.h"

/* What a device does in a step, and how long it takes: sums over the classes. */
struct step_sum {
    struct cost cost;
    double seconds, memory_s, compute_s, link_s;
    double sd_s, sd_fast_s;      /* spread of the seconds to the slower and to the faster side; NaN: unknown. Of several sums: as if
                                    fully correlated. (62) */
    struct error_parts parts;    /* with roofs.parts */
    unsigned which;              /* with constants: their case */
    double bound_s[BOUND_COUNT]; /* seconds spent under each bound */
    double n_kernel;             /* kernels the host launches for a pass; 0: launches do not limit */
    double n_whole;              /* passes, in units of the largest by tokens, with constants (45) */
    double least_s;              /* seconds of it at the roofs; of a scenario: those at which its tok_s are the bound's. (27) */
    double longest_least_s;      /* the same of the longest pass */
    double tok_s;                /* of a scenario: tokens of all groups of devices in a second */
};

/* Adds n times *s: cost, seconds, spreads as if fully correlated, bounds; the case of constants is that of *s. */
void step_sum_add(struct step_sum *to, const struct step_sum *s, double n);
/* Of a scenario's sum; with measured kernels one residual only. */
struct error_parts step_error_parts(const struct step_sum *s, const struct roofs *r);
/* The bound under which most of it is spent. */
enum bound step_bound(const struct step_sum *s);
/* fn, when not NULL, is called for every class that runs; its step has no shape yet (step_shape()). With constants (r->time) seconds are
 * those of the fused total, which per-op times need not add up to.
 * n_steps > 1: the mean of so many decode steps, of which *p is the first. (21) */
typedef void step_fn(void *ctx, const struct step *x);
bool step_is_small_batch(uint32_t n_prompt, uint32_t n_ubatch); /* fewer than TIME_PROMPT tokens at a time */
/* A pass of a prompt; few: step_is_small_batch() of it. */
struct step_sum step_price_prompt(const struct step_model *s, const struct roofs *r, const struct pass *p, bool small_batch, step_fn *fn, void *ctx);
struct step_sum step_price(const struct step_model *s, const struct roofs *r, const struct pass *p, uint32_t n_steps,
                           step_fn *fn, void *ctx);

/* The sequences, prompts and generations of a prediction. */
struct scenario {
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    bool continued; /* more of the prompt follows: no pass has logits */
};

/* The passes of the prompt, and the mean decode step, through the layout: work of a device, and seconds until all is done. A pipeline
 * works on several passes, or groups of sequences, at once. (21), (24) */
struct step_sum step_prefill(const struct step_model *s, const struct roofs *r, const struct scenario *o, step_fn *fn,
                             void *ctx);
struct step_sum step_decode(const struct step_model *s, const struct roofs *r, const struct scenario *o, step_fn *fn,
                            void *ctx);
/* With constants (r->time), no pipeline: seconds, spreads and bounds of a prompt and steps->n_gen steps from steps->n_depth on, with the
 * constants of whole requests; its cost is not filled in. (50) */
struct step_sum step_request(const struct step_model *s, const struct roofs *r, const struct scenario *prompt,
                             const struct scenario *steps);

/* step.c: caps the spread to the fast side so that the interval ends at least_s. (27) */
double spread_within(double seconds, double sd_fast_s, double least_s);
/* Caps a sum and the fast end of its interval at so many tokens/s, unless the machine is a guess. (27) */
void step_keep_below(struct step_sum *sum, const struct roofs *r, double bound_tok_s);

#endif
