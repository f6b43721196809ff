/* explain.h: derivation of a predicted number: every class of ops with its formulas, every constant with its source. */
#ifndef PREDICT_EXPLAIN_H
#define PREDICT_EXPLAIN_H

#include "predict/request.h"

enum { EXPLAIN_TEXT = 160 };

/* Equal ops over all passes of a phase; the steps of a request as their mean. Texts are formulas with their numbers, "" where a side is
 * 0. */
struct explain_class {
    struct op op;
    struct step sum;              /* ops a pass on a device; cost and seconds are of all of them: count x passes */
    double n_pass;                /* passes that run it */
    enum phase phase;
    double times;                 /* multiplicity of the phase: the steps of a request, else 1 */
    double launch_s;
    double bound_s[BOUND_COUNT];
    enum roof_class roof_class;   /* of its operands (27) */
    bool act_in_cache;            /* activations are cached, in the largest pass */
    char roof[96];                /* kernel roof of the last pass; "": bandwidth and peak (29) */
    char weight[EXPLAIN_TEXT], act[EXPLAIN_TEXT], kv[EXPLAIN_TEXT], flop[EXPLAIN_TEXT], link[EXPLAIN_TEXT];
};

/* A constant behind the seconds. */
struct explain_constant {
    char name[48];
    double value;
    const char *unit; /* "B/s", "FLOP/s", "s", "B", "" */
    char source[224];
    const char *formula; /* number in methods.md */
    double spread;       /* ×/÷ one standard deviation; NaN: unknown, or exact */
    double share;        /* fraction of the variance of ln seconds; NaN: none */
};

struct explain {
    struct explain_class *c;
    size_t n;
    struct explain_constant *k;
    size_t n_k;
    double n_pass;
    double sum_s;    /* sum over the classes, times their multiplicity */
    double pipeline; /* factor of a pipeline and, with constants, of passes' own cost: seconds = sum_s x pipeline; 1: none */
    double seconds;  /* seconds of predict() */
};

int explain_init(struct explain *e, const struct model *m, const struct hwprofile *h, const struct predict_options *o,
                 enum phase phase, struct error *err);
/* The same for a whole request of predict_request(): classes of its prompt and of its mean step, and the constants' shares of the
 * request's interval. errors: as predict_request(), out of memory */
int explain_request(struct explain *e, const struct model *m, const struct hwprofile *h, const struct predict_options *o,
                    const struct request *request, struct error *err);
void explain_free(struct explain *e);

#endif
