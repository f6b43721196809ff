/* run/internal.h: shared by the files of this module. */
#ifndef RUN_INTERNAL_H
#define RUN_INTERNAL_H

#include "run/run.h"

/* columns.c */
extern const struct table_fields run_prov_fields, run_rep_fields, run_loading_fields, run_count_fields, run_counting_fields;

/* routing.c: the array "routing"; NULL: out of memory. */
json_t *run_routings_json(const struct run *r);
/* Adds one of its objects; ctx names it in messages. */
int run_read_routing(struct run *r, const json_t *o, const char *ctx, struct error *err);

#endif
