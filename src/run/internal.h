/* run/internal.h: shared by the files of this module. */
#ifndef RUN_INTERNAL_H
#define RUN_INTERNAL_H

#include "run/run.h"

/* Reads one object of a list; ctx names it in messages. */
typedef int run_read_fn(struct run *r, const json_t *o, const char *ctx, struct error *err);
/* counts.c: calls read for each object of the optional list `key`; name: of the file. */
int run_read_list(struct run *r, const json_t *doc, const char *name, const char *key, run_read_fn *read, struct error *err);

/* routing.c: the array "routing"; NULL: out of memory. */
json_t *run_routings_json(const struct run *r);
/* Reads the optional "routing"; name: of the file. */
int run_read_routing(struct run *r, const json_t *doc, const char *name, struct error *err);

/* counts.c: adds "counts", "counting" and "certificate"; not 0: out of memory. */
int run_counts_to_json(const struct run *r, json_t *doc);
int run_read_counts(struct run *r, const json_t *doc, const char *name, struct error *err);

#endif
