/*
 * software: fitted constants as predictions take them (timing/timing.h): of a stack on a machine, with weights of a type.
 * The same constants and the same sums as score's fitted model has for a row of that machine, stack and type: methods.md
 * (57), (35), (62). What was measured on a machine (anchors) narrows its constants as it does there.
 */
#ifndef LEARN_SOFTWARE_H
#define LEARN_SOFTWARE_H

#include "dataset/workload.h"

/* What engines load: GGUF's block types; 16 and 32 bits, which all do; checkpoints of other schemes (AWQ, GPTQ, FP8, NVFP4, ...). */
enum weights { WEIGHTS_GGUF, WEIGHTS_PLAIN, WEIGHTS_CHECKPOINT, WEIGHTS_COUNT };
enum weights software_weights(const struct model *m);
/* The default stack of a machine: one that loads such weights, if there is one for this machine. Never NULL. (62) */
const struct stack *software_default(const struct hwprofile *h, enum weights w);
bool software_loads(const struct stack *s, const struct model *m);
/* "AMD GPU, Intel datacenter GPU": whose default it is, "" nobody's. */
const char *software_default_for(const char *stack, char *buf, size_t size);

struct software;
/* stack NULL: that of the machine's anchors, of a machine without any its default. materialized: attention's scores pass through
 * memory (cost/cost.h), as in a row that says it ran without FlashAttention; false: as in one that says it ran with it. anchor:
 * rows measured, with their work: of one machine, they narrow the constants of any; of several, each machine's its own.
 * NULL: *err. */
struct software *software_new(const struct stack *stack, bool materialized, const struct priced *const *anchor, size_t n_anchor,
                              struct error *err);
void software_free(struct software *s);
/* For predict_options.time; lives as long as s. Several threads may ask. */
const struct time_source *software_source(const struct software *s);

#endif
