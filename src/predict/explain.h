/* explain.h: where a predicted number comes from: every class of ops with its formulas, every constant with its source. */
#ifndef PREDICT_EXPLAIN_H
#define PREDICT_EXPLAIN_H

#include "predict/request.h"

enum { EXPLAIN_TEXT = 160 };

/* Equal ops over all passes of a phase; of a request's steps, over one that is their mean. The texts are formulas with their numbers, "" where a side is 0. */
struct explain_class {
    struct op op;
    struct step sum;              /* ops a pass on a device; cost and seconds are of all of them: count x passes */
    double n_pass;                /* passes that run it */
    enum phase phase;
    double times;                 /* such phases: of a request its steps, else 1 */
    double launch_s;
    double bound_s[BOUND_COUNT];
    enum roof_class roof_class;   /* of its operands (27) */
    bool act_in_cache;            /* its activations stay in the cache, in its largest pass */
    char roof[96];                /* the engine's kernel it was priced with, in the last pass; "": bandwidth and peak (29) */
    char weight[EXPLAIN_TEXT], act[EXPLAIN_TEXT], kv[EXPLAIN_TEXT], flop[EXPLAIN_TEXT], link[EXPLAIN_TEXT];
};

/* A number the seconds rest on. */
struct explain_constant {
    char name[48];
    double value;
    const char *unit; /* "B/s", "FLOP/s", "s", "B", "" */
    char source[224];
    const char *formula; /* number in methods.md */
    double spread;       /* factor by which it may be off either way, one standard deviation; NaN: not known, or none */
    double share;        /* of the variance of the logarithm of the seconds; NaN: no say in it */
};

struct explain {
    struct explain_class *c;
    size_t n;
    struct explain_constant *k;
    size_t n_k;
    double n_pass;
    double sum_s;    /* of the classes, one after another, each its times */
    double pipeline; /* what a pipeline, and with constants what passes cost beside their ops, makes of them: seconds =
                        sum_s x pipeline; 1: nothing */
    double seconds;  /* as predict() says */
};

int explain_init(struct explain *e, const struct model *m, const struct hwprofile *h, const struct predict_options *o,
                 enum phase phase, struct error *err);
/* The same of a whole request, as predict_request() prices it: its prompt's classes and its mean step's, and the constants' shares of
 * the request's interval. */
int explain_request(struct explain *e, const struct model *m, const struct hwprofile *h, const struct predict_options *o,
                    const struct request *request, struct error *err);
void explain_free(struct explain *e);

#endif
