/* ahead.h: what a user's prompt waits for in a closed loop, counted in prompts, for fits of TTFT. methods.md (52), doc/notes/servers.md */
#ifndef LEARN_AHEAD_H
#define LEARN_AHEAD_H

#include "dataset/workload.h"

/*
 * Sets n_ahead of a row of TTFT that closed_loop_why_not() passes: simulated TTFT over the seconds of its prompt alone, less one, both with the
 * constants of priors.json. Fits of all folds thus see the same count, and none of measurements. Other rows stay as they are, as do rows
 * without a simulation.
 *
 * errors   out of memory, interrupted, priors that cannot be read
 * cost     some milliseconds a row
 */
int ahead_set(struct workload *p, struct error *err);
/* The same of [n] rows. */
int ahead_set_rows(struct workload *rows, size_t n, struct error *err);

#endif
