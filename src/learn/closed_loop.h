/*
 * closed_loop.h: latencies of a server in a closed loop by simulating it: N users, each of whom sends its next request when the one before has
 * ended, on steps priced with constants of a fit. methods.md (52), doc/notes/servers.md
 */
#ifndef LEARN_CLOSED_LOOP_H
#define LEARN_CLOSED_LOOP_H

#include "dataset/workload.h"
#include "stacks/stack_traits.h"

/* Logarithms of constants, [TIME_PARAMETER_COUNT] each. */
struct closed_loop_constants {
    const double *steps;   /* of passes of a server's steps */
    const double *prompts; /* of its prompts, whose `step` is the taking in of a request; NULL: steps', and nothing is taken in */
};

/* Requests of a benchmark: ten of each user. Source: SemiAnalysisAI/InferenceX, benchmarks/70b_fp8_h100_slurm.sh */
enum { CLOSED_LOOP_ROUNDS = 10 };

/* Means over all requests. */
struct closed_loop {
    double ttft_s, tpot_s;
};

/* NULL: the row of a server's latency can be simulated; else why not. */
const char *closed_loop_why_not(const struct workload *p);
/*
 * x: traits of the row x->p, which closed_loop_why_not() has passed.
 *
 * errors   as of workload_of_pass() and serve_simulate()
 * cost     some milliseconds
 */
int closed_loop_run(struct closed_loop *out, const struct stack_traits *x, const struct closed_loop_constants *k, struct error *err);

#endif
