/* which experts tokens used: recorded of a run, and read back to price with. */
#ifndef BENCH_ROUTING_H
#define BENCH_ROUTING_H

#include "bench/setup.h"
#include "cost/cost.h"
#include "report/output.h"

/* The engine's counts since its reset, added to the run's of this model; nothing without experts. */
int routing_record(struct run *r, const struct engine *e, const struct model *m, struct error *err);
/* A run file's: popularity of every expert in every layer. *mem is the caller's to free. */
int routing_load(struct routing *r, double **mem, const char *path, struct error *err);

#endif
