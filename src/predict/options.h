/* options.h: options of predictions, apart from machine and scenario. */
#ifndef PREDICT_OPTIONS_H
#define PREDICT_OPTIONS_H

#include "cost/classes.h"

/* Options common to predict, sweep and similar commands. */
struct pricing_options {
    const char *type; /* -q */
    char type_named[24]; /* the alias given for the type */
    enum dtype type_k, type_v;
    bool kv_type_given; /* by an option */
    struct layout layout;
    struct routing routing;
    bool materialized;
    double *recorded; /* its popularity, from a file */
};
#define PRICING_DEFAULTS { .type_k = DTYPE_F16, .type_v = DTYPE_F16 }
void pricing_free(struct pricing_options *o);

#endif
