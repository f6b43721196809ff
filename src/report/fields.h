/* fields.h: what several documents have, as fields of JSON objects. */
#ifndef REPORT_FIELDS_H
#define REPORT_FIELDS_H

#include "base/json.h"
#include "cost/classes.h"

/* Types of the KV cache as fields of j; not 0: out of memory. */
int fields_kv_types(json_t *j, enum dtype k, enum dtype v);
/* The machine's id in buf, marked with * if it has no profile and is one of its class by its name. (56) */
const char *fields_machine_name(char *buf, size_t size, const struct hwprofile *h);
/* Bytes, FLOP and their ratio as fields of j; not 0: out of memory, as jansson says it. */
int fields_cost(json_t *j, const struct cost *c);

#endif
