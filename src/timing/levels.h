/*
 * levels.h: what an op moves at each level of a machine's caches: for rooflines with an intensity a level. A simulation on
 * paper: an op is a handful of streams (its operands as the engine's kernels walk them), and a stream comes from the first
 * level that still holds it. No counter is read, so reports tag these numbers LEVELS_SOURCE. methods.md (34)
 */
#ifndef TIMING_LEVELS_H
#define TIMING_LEVELS_H

#include "cost/cost.h"

#define LEVELS_SOURCE "cache simulation"

enum { LEVELS_MAX = 5 };

/*
 * Bytes of one op in one pass, all threads together. level[0], "L1", is what the cores load and store; level[i], named for
 * the level that serves it ("L2", "L3", "DRAM"), what crosses between it and the level before. The last one is "DRAM".
 * read: into the core's side, lines fetched only to be written included (write-allocate, as if nothing were written past the caches);
 * write: towards memory, dirty lines.
 */
struct level_traffic {
    char name[8];
    double read_bytes, write_bytes;
};
struct level_bytes {
    struct level_traffic level[LEVELS_MAX];
    int n;
};

/* How far the op's operands are when it starts. */
struct level_state {
    int n_threads;       /* 0: 1 */
    /* Bytes that all ops touch between one run of this op and the next: a cache that holds as much still has its weights and
     * its keys and values. 0: it has not, they come from memory. A decode step: the sum of cost_bytes() over its ops. */
    double pass_bytes;
    /* Bytes touched between the ops that wrote this one's activations, or last used its buffers, and this one: mostly
     * cost_bytes() of the op before. 0: these come from memory too, and what is written goes there. */
    double near_bytes;
};

/*
 * Both states 0: nothing is in any cache, so "DRAM" is what every operand costs once, and once more to fetch lines that are
 * only written (compare cost_op()). Ops of the engine follow its kernels' blocking; kinds that it refuses, and what devices
 * exchange, take each operand once. link_bytes are not in it.
 *
 * o        as in cost_op(); act_elem_bytes 4: the engine's
 * h        a CPU whose caches and their sizes are known, at most LEVELS_MAX - 1 levels of them; else ERROR_INPUT
 * error of the prediction against a simulated cache: methods.md (34), tests/oracle
 */
int roofline_level_bytes(struct level_bytes *out, const struct op *op, const struct pass *p, const struct cost_options *o,
                         const struct hwprofile *h, const struct level_state *s, struct error *err);
/* read + write of the level of that name; NaN: there is none. */
double level_bytes_find(const struct level_bytes *b, const char *name);
/* a += b, level by level; a may be zeros. Both of one machine. */
void level_bytes_add(struct level_bytes *a, const struct level_bytes *b);

#endif
