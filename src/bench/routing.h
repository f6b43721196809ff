/* routing.h: expert routing: recorded in a run, and read back for cost. */
#ifndef BENCH_ROUTING_H
#define BENCH_ROUTING_H

#include "bench/setup.h"
#include "cost/cost.h"
#include "report/output.h"

/* Adds the engine's counters since its reset to the run's routing of this model; nothing for dense models. */
int routing_record(struct run *r, const struct engine *e, const struct model *m, struct error *err);
/* Loads a run file's routing: popularity of every expert in every layer. *mem is the caller's to free. */
int routing_load(struct routing *r, double **mem, const char *path, struct error *err);

#endif
