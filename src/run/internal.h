/* run/internal.h: what the files of this module share. */
#ifndef RUN_INTERNAL_H
#define RUN_INTERNAL_H

#include "run/run.h"

/* routing.c: the array "routing" of a run; NULL: out of memory. */
json_t *run_routings_json(const struct run *r);
/* The document's, where it has one; name: of the file. */
int run_read_routing(struct run *r, const json_t *doc, const char *name, struct error *err);

/* counts.c: "counts", "counting" and "certificate"; not 0: out of memory. */
int run_counts_to_json(const struct run *r, json_t *doc);
int run_read_counts(struct run *r, const json_t *doc, const char *name, struct error *err);

#endif
