/* analysis.h: prefill and a decode step, a row an op, a layer or a role. */
#ifndef COST_ANALYSIS_H
#define COST_ANALYSIS_H

#include "cost/cost.h"

enum analysis_by { ANALYSIS_BY_OP, ANALYSIS_BY_LAYER, ANALYSIS_BY_ROLE };

struct analysis_options {
    /* n_prompt 0: no prefill; n_gen 0: no decode. */
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    enum analysis_by by;
    struct cost_options cost;
};

struct analysis_row {
    const struct op *first;
    size_t n_ops; /* BY_OP: 1; ops outside the blocks keep rows of their own */
    bool same_type, same_shape;  /* of all its ops */
    uint64_t n_tok[PHASE_COUNT]; /* rows of activations the first op works on, all passes */
    struct cost cost[PHASE_COUNT];
};

struct analysis {
    const struct model *m;
    struct analysis_options o;
    struct op_list ops;
    struct analysis_row *row; /* in op order of their first op */
    size_t n_row;
    struct cost total[PHASE_COUNT];
    struct weight_account weights;
};

int analysis_init(struct analysis *a, const struct model *m,
                  const struct analysis_options *o, struct error *err);
void analysis_free(struct analysis *a);
bool analysis_has(const struct analysis *a, enum phase p);
/* "Q4_K", "mixed", or NULL for ops without weights or cache. */
const char *analysis_type(const struct analysis *a, const struct analysis_row *r);

#endif
