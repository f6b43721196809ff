/* fitted.h: the fitted time model. methods.md (57), (35) */
#ifndef LEARN_FITTED_H
#define LEARN_FITTED_H

#include "stacks/effects.h"
#include "learn/score.h"

/* The fitted time model, for score: methods.md (57), (35). */
extern const struct time_model time_model_fitted;
/* The same, with latencies of servers in a closed loop simulated with its constants: (52). */
extern const struct time_model time_model_simulated;
/* Constants of params (of time_model_fitted.fit) for rates of rows like x->p in a case, as used by predict(). */
void fitted_constants(const void *params, const struct stack_traits *x, unsigned which, struct time_constants *out);
/* One of its fits: names, values and spreads; source: the files its constants are from (constants_from()). */
const struct fit *fitted_fit_of(const void *params, enum fitted_kind kind);
const char *fitted_source(const void *params, enum fitted_kind kind);

#endif
