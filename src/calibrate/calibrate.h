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

/* The fitted time model, for score: methods.md (73), (74). */
extern const struct time_model time_model_fitted;

/* Constants of params (of time_model_fitted.fit) for rates of such rows as p in a case: what its predict() takes of them. */
void fitted_constants(const void *params, const struct priced *p, unsigned which, struct time_constants *out);
/* Its fit of rates: names, values and spreads. */
const struct fit *fitted_rates(const void *params);
const char *fitted_source(const void *params); /* the files their constants are of */
/* After the last fit: quick to ask. */
int fitted_ready(void *params, struct error *err);

#endif
