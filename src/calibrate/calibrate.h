/*
 * calibrate: what software reaches of a machine's roofs, learned from measurements. A constant is a sum of effects (fit.h):
 * what all share, of the class of machine, of the engine, of the type of the weights, of the machine itself; a machine or
 * an engine nobody measured has the sum without its own, and the wider interval that comes with it.
 */
#ifndef CALIBRATE_CALIBRATE_H
#define CALIBRATE_CALIBRATE_H

#include "calibrate/fit.h"
#include "roofline/timing.h"
#include "score/score.h"

/* Rows of one kind are fitted together: what a kernel alone reaches is not what an engine does. */
enum fitted_kind {
    FITTED_RATE,       /* whole requests, and prompts that pass few tokens at a time */
    FITTED_DECODE,
    FITTED_PROMPT,
    FITTED_OP,
    FITTED_ALL_REDUCE,
    FITTED_TPOT,       /* of servers */
    FITTED_TTFT,
    FITTED_KIND_COUNT,
};

/* The fitted time model, for score: methods.md (73), (74). */
extern const struct time_model time_model_fitted;

/* Constants of params (of time_model_fitted.fit) for rates of such rows as p in a case: what its predict() takes of them. */
void fitted_constants(const void *params, const struct priced *p, unsigned which, struct time_constants *out);
/* One of its fits: names, values and spreads; the files its constants are of (constants_from()). */
const struct fit *fitted_fit_of(const void *params, enum fitted_kind kind);
const char *fitted_source(const void *params, enum fitted_kind kind);

#endif
