/*
 * calibrate: what software reaches of a machine's roofs, learned from measurements. A constant is a sum of effects (fit.h):
 * what all share, of the class of machine, of the engine, of the type of the weights, of the machine itself; a machine or
 * an engine nobody measured has the sum without its own, and the wider interval that comes with it.
 */
#ifndef CALIBRATE_CALIBRATE_H
#define CALIBRATE_CALIBRATE_H

#include "calibrate/fit.h"
#include "score/score.h"

/* The fitted time model, for score: methods.md (73), (74). */
extern const struct time_model time_model_fitted;

#endif
