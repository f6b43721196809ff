/* estimator.h: what prices the passes of one model on one machine, set up once for many passes. */
#ifndef PREDICT_ESTIMATOR_H
#define PREDICT_ESTIMATOR_H

#include "timing/timing.h"

/* Roofs, time model and step model of predictions of a model on a machine. */
struct estimator {
    struct roofs roofs;
    struct timing timing;
    struct step_model step;
};

/* Sets up all that *o requires. errors: options that the model or machine cannot have, no roof, out of memory */
int estimator_init(struct estimator *e, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o, struct error *err);
void estimator_free(struct estimator *e);

#endif
