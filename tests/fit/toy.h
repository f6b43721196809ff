/* A time model with two parameters, and deviates that repeat: what tests of fits are made of. */
#ifndef TESTS_CALIBRATE_TOY_H
#define TESTS_CALIBRATE_TOY_H

#include "fit/fit.h"
#include "learn/constants.h"
#include <math.h>

/* Seconds of a row: work over a fraction of a rate, and a fixed cost. */
struct work {
    double memory_s, count;
};
enum { RATE, COST, N_SLOT };

static double ln_seconds(const void *features, const double *parameter)
{
    const struct work *w = features;
    return log(w->memory_s / exp(parameter[RATE]) + w->count * exp(parameter[COST]));
}
static const struct fit_model model = { N_SLOT, ln_seconds, NULL };

/* A repeatable normal deviate (Box-Muller over a linear congruential generator). */
static uint64_t seed;
static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}
static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979 * uniform());
}

#endif
