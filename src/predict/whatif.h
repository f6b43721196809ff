/* whatif.h: a change of the machine or the scenario, as text: "bandwidth=x1.5,b=8". */
#ifndef PREDICT_WHATIF_H
#define PREDICT_WHATIF_H

#include "timing/roofs.h"

enum whatif_key {
    WHATIF_BANDWIDTH,
    WHATIF_COMPUTE, /* all peaks */
    WHATIF_MATH,    /* one, .math */
    WHATIF_MEMORY,
    WHATIF_LINK,
    WHATIF_LATENCY, /* of links */
    WHATIF_LAUNCH,
    WHATIF_E_COMPUTE,
    WHATIF_E_BANDWIDTH,
    WHATIF_TYPE,    /* of the model, which the caller loads again */
    WHATIF_KV_TYPE,
    WHATIF_BATCH,
    WHATIF_DEPTH,
    WHATIF_UBATCH,
    WHATIF_TP,
    WHATIF_PP,
    WHATIF_DP,
    WHATIF_EP,
};

struct whatif_change {
    enum whatif_key key;
    enum math math;
    bool times; /* value multiplies the present one */
    double value;
    enum dtype dtype;
    char text[64]; /* TYPE */
};

enum { WHATIF_MAX = 8 };

struct whatif {
    struct whatif_change c[WHATIF_MAX];
    size_t n;
};

/* "bandwidth=x1.5,b=8". Unknown names suggest the nearest; impossible values are refused. */
int whatif_parse(struct whatif *w, const char *text, struct error *err);
/* The type a model is to be loaded with; NULL: as it is. */
const char *whatif_type(const struct whatif *w);
/* The change is of the machine only: the passes are the same. */
bool whatif_of_machine(const struct whatif *w);
/* Changes h and o in place. Factors apply to the roof that *o selects. errors: ERROR_USAGE; a roof that the profile does not have */
int whatif_apply(const struct whatif *w, struct hwprofile *h, struct predict_options *o, struct error *err);

#endif
