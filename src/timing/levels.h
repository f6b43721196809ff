/*
 * levels.h: bytes an op moves at each cache level of a machine, for rooflines with an intensity per level. An analytical model: an op is a
 * few streams (its operands in the access order of the engine's kernels), and a stream comes from the first level that still holds it. No
 * counter is read; reports tag these numbers LEVELS_SOURCE. methods.md (34)
 */
#ifndef TIMING_LEVELS_H
#define TIMING_LEVELS_H

#include "cost/cost.h"

#define LEVELS_SOURCE "cache simulation"

enum { LEVELS_MAX = 5 };

/*
 * Bytes of one op in one pass, all threads together. level[0], "L1": loads and stores of the cores; level[i], named after the level that
 * serves it ("L2", "L3", "DRAM"): bytes between it and the level before. The last one is "DRAM".
 * read: toward the core, including lines fetched only to be written (write-allocate; non-temporal stores are not modelled);
 * write: toward memory, dirty lines.
 */
struct level_traffic {
    char name[8];
    double read_bytes, write_bytes;
};
struct level_bytes {
    struct level_traffic level[LEVELS_MAX];
    int n;
};

/* Reuse distance of the op's operands when it starts. */
struct level_state {
    int n_threads;       /* 0: 1 */
    /* Bytes that all ops touch between two runs of this op: a cache of that size still holds its weights, keys and values. 0: they come
     * from memory. A decode step: the sum of cost_bytes() over its ops. */
    double pass_bytes;
    /* Bytes touched between the ops that wrote this one's activations, or last used its buffers, and this one: mostly cost_bytes() of
     * the previous op. 0: activations come from memory and results go there. */
    double near_bytes;
};

/*
 * Both states 0: caches are empty, so "DRAM" is each operand once, and once more to fetch lines that are only written (compare cost_op()).
 * Ops of the engine follow the blocking of its kernels; kinds without a kernel and collectives take each operand once. link_bytes are not
 * included.
 *
 * o        as in cost_op(); act_elem_bytes 4: the engine's
 * h        a CPU whose caches and their sizes are known, at most LEVELS_MAX - 1 levels of them; else ERROR_INPUT
 * error of the prediction against a simulated cache: methods.md (34), tests/oracle
 */
int roofline_level_bytes(struct level_bytes *out, const struct op *op, const struct pass *p, const struct cost_options *o,
                         const struct hwprofile *h, const struct level_state *s, struct error *err);
/* a += b, level by level; a may be zeros. Both of one machine. */
void level_bytes_add(struct level_bytes *a, const struct level_bytes *b);

#endif
