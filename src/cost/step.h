/*
 * step.h: equal ops of one pass as one step: what they are, their count, and the cost and seconds of one of them on one device. A pass has
 * some thirty steps. Predictions, roles, explanations and the work of measurements are lists and sums of steps.
 */
#ifndef COST_STEP_H
#define COST_STEP_H

#include "cost/cost.h"

enum bound { BOUND_MEMORY, BOUND_COMPUTE, BOUND_LAUNCH, BOUND_LINK, BOUND_COUNT };

/* The pass that steps are of. */
struct step_pass {
    enum phase phase;
    double n_tok, n_past, n_seq;
};

struct op_class;    /* classes.h */
struct kernel_roof; /* timing/roofs.h */

struct step {
    const struct op_class *of; /* the class of a step model, which this must not outlive; NULL: of none */

    /* what they are */
    enum op_kind kind;
    enum op_role role;
    enum math math;            /* of the operands: MATH_FP32 where nothing is multiplied, MATH_COUNT where several are */
    uint32_t n_comm;           /* devices of the collective; 0: no traffic */
    double count;              /* ops a pass */

    /* their shape, by step_shape() */
    double n_tok;              /* rows that one works on */
    double rows, cols;         /* of its matrix; 0: none */
    double bits;               /* of a weight; 0: no weights */
    double n_head, head_dim, group; /* attention's: heads, elements of one, heads that share a key; 0: another op */

    /* of one of them */
    struct cost cost;          /* link_bytes: sent per device by the algorithm of the collective */
    double rounds_bytes;       /* of an all-reduce: sent per device in two rounds, whatever the algorithm (24) */
    double pass_read_bytes;       /* weights and keys that the pass reads, all classes; 0: unknown */
    double seconds, memory_s, compute_s, link_s;
    double least_s;            /* at the machine's roofs (27) */
    double sd;                 /* of ln seconds, from the measurement; 0 with constants */
    enum bound bound;

    /* what seconds rest on: roofs.h */
    const struct kernel_roof *kernel; /* of the roofs; NULL: bandwidth and peak */
    const char *alone;                /* a software kernel with its own constants (46); NULL: none */
    double kernel_tok;                /* the tokens its rate was taken at */
    double kernel_bytes_s, llc_hit;      /* products: stored bytes a second, and the LLC hit fraction of weights; 0: not measured */
};

/* What op x->of is in the pass. */
void step_shape(struct step *x, const struct pass *p);

#endif
