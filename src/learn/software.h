/*
 * software: fitted constants for predictions (timing/timing.h): of a stack on a machine, with weights of a type. The same constants and
 * sums as for a row of that machine, stack and type in score's fitted model: methods.md (57), (35), (62). Anchors narrow the constants of
 * their machine likewise.
 */
#ifndef LEARN_SOFTWARE_H
#define LEARN_SOFTWARE_H

#include "dataset/workload.h"

/* Weight formats of engines: GGUF block types; 16 and 32 bits, which all load; checkpoints of other schemes (AWQ, GPTQ, FP8, NVFP4,
 * ...). */
enum weights { WEIGHTS_GGUF, WEIGHTS_PLAIN, WEIGHTS_CHECKPOINT, WEIGHTS_COUNT };
enum weights software_weights(const struct model *m);
/* The default stack of a machine: one that loads such weights, if there is one. Never NULL. (62) */
const struct stack *software_default(const struct hwprofile *h, enum weights w);
bool software_loads(const struct stack *s, const struct model *m);
/* "AMD GPU, Intel datacenter GPU": machines with that default, "": none. */
const char *software_default_for(const char *stack, char *buf, size_t size);

struct software;
/* stack NULL: that of the machine's anchors, without anchors its default. materialized: attention scores pass through memory (roofs.h),
 * as in a row without FlashAttention; false: as in one with it. anchor: measured rows with their work: of one machine, they narrow the
 * constants of all; of several, each machine's own. NULL: *err. */
struct software *software_new(const struct stack *stack, bool materialized, const struct workload *const *anchor, size_t n_anchor,
                              struct error *err);
void software_free(struct software *s);
/* From now on the constants of a server's steps, from the latencies of servers under load, in place of those of single runs;
 * of a stack that is no server's, nothing changes. (52) */
void software_serve(struct software *s);
/* Of machines without measured kernels this stack where software_new() was given none: what serves models on others than this program's engine. */
void software_set_server(struct software *s, const struct stack *server);
/* A second one over s, which does not change and outlives it. NULL: *err. */
struct software *software_serving(const struct software *s, struct error *err);
/* For predict_options.time; valid as long as s. Thread-safe. */
const struct time_source *software_source(const struct software *s);

#endif
