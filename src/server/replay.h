/* replay.h: a workload served by the engine: what simulate.h is for a model of a machine, on the wall clock. */
#ifndef SERVER_REPLAY_H
#define SERVER_REPLAY_H

#include "server/loop.h"

struct replay_options {
    const struct serve_options *serve; /* policy, gap_scale, max_concurrency, step: as of a simulation */
    struct loop_options loop;          /* poll and step are the replay's */
    void (*progress)(void *ctx, size_t n_done, size_t n); /* after each request's end; NULL */
    void *progress_ctx;
};

/*
 * Serves all requests of w and returns when the last has ended. Tokens are made of the identities of the workload, so that prompts that share some
 * there share them here, and outputs are the workload's, whatever the model says; lengths are those of the workload.
 *
 * *r       serve_result_free()
 * stats    of the loop at its end
 * errors   a request that can never run; the engine's; ERROR_INTERRUPTED: *r has what was done so far, to be freed by the caller
 */
int replay(struct serve_result *r, struct loop_stats *stats, struct engine *e, const struct serve_workload *w, const struct replay_options *o,
           struct error *err);

#endif
