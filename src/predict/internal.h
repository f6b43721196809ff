/* What the files of predict share. */
#ifndef PREDICT_INTERNAL_H
#define PREDICT_INTERNAL_H

#include "predict/predict.h"
#include "timing/timing.h"

/* What adding up a phase needs. */
struct phase_pricing {
    const struct roofs *roofs;
    struct prediction *out;
    double times; /* how often a class counts of the pass being priced: 1 */
    double role_bound_s[ROLE_COUNT][BOUND_COUNT];
    double largest_flop; /* of the op whose roofs are reported */
    double units_flop_s; /* that it reaches; NaN: it computes nothing */
};

/* Empties *out, but for the roofs; adds a class to its role (ctx: the phase_pricing); fills in the sums, n_tok tokens having
 * been processed or generated. */
void phase_begin(struct phase_pricing *x, const struct roofs *r, struct prediction *out);
void phase_add(void *ctx, const struct step *c);
void phase_end(struct phase_pricing *x, const struct step_sum *sum, double n_tok);

/* What predictions of a model on a machine are made with. */
struct estimator {
    struct roofs roofs;
    struct timing timing;
    struct step_model step;
};

/* Everything that *o may ask for is there, or the error says what is not. */
int estimator_init(struct estimator *e, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o, struct error *err);
void estimator_free(struct estimator *e);

#endif
