/* fields.h: JSON fields common to several documents. */
#ifndef REPORT_FIELDS_H
#define REPORT_FIELDS_H

#include "base/json.h"
#include "cost/classes.h"

/* Types of the KV cache as fields of j; not 0: out of memory. */
int fields_kv_types(json_t *j, enum dtype k, enum dtype v);
/* The machine's id in buf, with a trailing * if it has no profile. (56) */
const char *fields_machine_name(char *buf, size_t size, const struct hwprofile *h);
/* Bytes, FLOP and their ratio as fields of j; not 0: out of memory. */
int fields_cost(json_t *j, const struct cost *c);

#endif
