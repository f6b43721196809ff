/* What the files of predict share. */
#ifndef PREDICT_INTERNAL_H
#define PREDICT_INTERNAL_H

#include "predict/estimator.h"
#include "predict/predict.h"
#include "timing/timing.h"

/* State of adding up a phase. */
struct phase_pricing {
    const struct roofs *roofs;
    struct prediction *out;
    double times; /* multiplicity of a class in the current pass: 1 */
    double role_bound_s[ROLE_COUNT][BOUND_COUNT];
    double largest_flop; /* of the op with the reported roofs */
    double units_flop_s; /* its throughput; NaN: no arithmetic */
};

/* Empties *out, except for the roofs; adds a class to its role (ctx: the phase_pricing); fills in the sums, n_tok: tokens processed or
 * generated. */
void phase_begin(struct phase_pricing *x, const struct roofs *r, struct prediction *out);
void phase_add(void *ctx, const struct step *c);
void phase_end(struct phase_pricing *x, const struct step_sum *sum, double n_tok);

#endif
