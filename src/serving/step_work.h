/*
 * step_work.h: bytes and FLOP of a server's steps on one device, for MBU and MFU over time: linear in the tokens of a step and in the positions
 * that they attend to, but for the weights, of which a mixture reads more the more tokens a step has. methods.md (28)
 */
#ifndef SERVING_STEP_WORK_H
#define SERVING_STEP_WORK_H

#include "serving/model_clock.h"

/* Of one model's passes. */
struct pass_work {
    double *weight_bytes;  /* [max_tok + 1]: of a pass of so many tokens; NULL: work is not counted */
    uint32_t max_tok;
    double token_bytes;    /* keys and values written, a token */
    double decode_flop, prompt_flop; /* a token, without attention's positions */
    double position_bytes[POLICY_MAX_GROUPS], position_flop[POLICY_MAX_GROUPS]; /* a position read; a pair of a token and a position */
};

struct step_work {
    struct pass_work model, draft; /* draft: of what drafts, if it has passes */
    uint32_t n_draft;              /* drafts of a decoding sequence in a step, one a pass */
    double draft_first;            /* as in struct clock_options */
    double peak_bytes_s, peak_flop_s; /* of the device: memory, and the operands of the largest product; NaN: unknown */
};

/* Steps under p as e counts them; of o the drafter and the context. errors: out of memory. cost: some 60 passes of either model */
int step_work_init(struct step_work *w, const struct estimator *e, const struct policy *p, const struct clock_options *o, struct error *err);
void step_work_free(struct step_work *w);
/* Adds n >= 1 steps of one pass, of which l is the first, as in step_price_run_ps(); grows may be NULL where n is 1. */
void step_work_add(const struct step_work *w, const struct step_price *x, const struct step_load *l, const uint32_t *grows, uint64_t n, double *bytes,
                   double *flop);

#endif
