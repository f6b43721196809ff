/* options.h: what decides a price besides the machine and the scenario. */
#ifndef PREDICT_OPTIONS_H
#define PREDICT_OPTIONS_H

#include "cost/classes.h"

/* What decides a price besides machine and scenario: options that predict, sweep and their kin have in common. */
struct pricing_options {
    const char *type; /* -q */
    char type_named[24]; /* where it was another name of a type */
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
