/*
 * counters/known_work.h: work of which it is known how much there is: instructions, floating-point operations of a width, lines
 * that caches have to fetch, bytes that memory has to deliver. Events are calibrated with it. methods.md (85)
 */
#ifndef COUNTERS_KNOWN_WORK_H
#define COUNTERS_KNOWN_WORK_H

#include "counters/counters.h"

struct known_work; /* a row of a table */

/* NULL: no work of that name. */
const struct known_work *known_work_find(const char *name);
/* Can this CPU do it, and this process? Else why not. */
bool known_work_possible(const struct known_work *w, char *why, size_t size);

/* Memory for the works that walk it; zeroed: none yet. */
struct work_memory {
    unsigned char *data;
    size_t size;
    bool chained; /* holds a cycle of pointers */
    size_t chain; /* bytes that it goes round */
};
void work_memory_free(struct work_memory *m);

/* What is needed beside the work itself, before counting begins: memory, its first touch, warm caches. -1: no memory. */
int known_work_prepare(const struct known_work *w, struct work_memory *m, struct error *err);
/* Do the work at a size, 0 to COUNTER_CHECK_SIZES - 1, and say how much it was: units of the field. */
double known_work_run(const struct known_work *w, struct work_memory *m, int size);
/* Other work in the memory that was prepared, with how many units of the field: 0 for most, and an event that counts in it counts
 * something else; more than 0: the event has to count it at the ratio of the known work; NaN: there is no such work, and none was
 * done. */
double known_work_control(const struct known_work *w, struct work_memory *m);
/* Which part of that ratio the control may be off by: how much is in the control is known less well than in the work. */
double known_work_control_within(const struct known_work *w);

#endif
