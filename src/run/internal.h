/* run/internal.h: what the files of this module share. */
#ifndef RUN_INTERNAL_H
#define RUN_INTERNAL_H

#include "run/run.h"

/* One object of a list; ctx names it in messages. */
typedef int run_read_fn(struct run *r, const json_t *o, const char *ctx, struct error *err);
/* The list `key` of the document, where it has one, object by object; name: of the file. counts.c */
int run_read_list(struct run *r, const json_t *doc, const char *name, const char *key, run_read_fn *read, struct error *err);

/* routing.c: the array "routing" of a run; NULL: out of memory. */
json_t *run_routings_json(const struct run *r);
/* The document's, where it has one; name: of the file. */
int run_read_routing(struct run *r, const json_t *doc, const char *name, struct error *err);

/* counts.c: "counts", "counting" and "certificate"; not 0: out of memory. */
int run_counts_to_json(const struct run *r, json_t *doc);
int run_read_counts(struct run *r, const json_t *doc, const char *name, struct error *err);

#endif
