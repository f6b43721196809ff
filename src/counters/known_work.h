/*
 * counters/known_work.h: workloads with a known count of instructions, floating-point operations, cache-line fills or memory bytes, for
 * event calibration. methods.md (85)
 */
#ifndef COUNTERS_KNOWN_WORK_H
#define COUNTERS_KNOWN_WORK_H

#include "counters/counters.h"

struct known_work; /* a row of a table */

/* NULL: unknown name */
const struct known_work *known_work_find(const char *name);
/* True if CPU and process can run it; else the reason. */
bool known_work_possible(const struct known_work *w, char *why, size_t size);

/* Memory of the workloads, allocated on demand; zero-initialise. */
struct work_memory {
    unsigned char *data;
    size_t size;
    bool chained; /* holds a pointer cycle */
    size_t chain; /* bytes of the cycle */
};
void work_memory_free(struct work_memory *m);

/* Before counting: allocates and touches memory, warms caches. -1: out of memory. */
int known_work_prepare(const struct known_work *w, struct work_memory *m, struct error *err);
/* Runs the work at a size (0 to COUNTER_CHECK_SIZES - 1); returns its units of the field. */
double known_work_run(const struct known_work *w, struct work_memory *m, int size);
/* Runs the control on the prepared memory; returns its units of the field: 0 (events that count it are polluted), > 0 (must have
 * the work's ratio), NaN: no control. */
double known_work_control(const struct known_work *w, struct work_memory *m);
/* Relative tolerance of that ratio. */
double known_work_control_within(const struct known_work *w);

#endif
