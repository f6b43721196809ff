/* fields.h: what several documents have, as fields of JSON objects. */
#ifndef REPORT_FIELDS_H
#define REPORT_FIELDS_H

#include "base/json.h"
#include "cost/classes.h"

/* Types of the KV cache as fields of j; not 0: out of memory. */
int fields_kv_types(json_t *j, enum dtype k, enum dtype v);
/* The machine as `hw`, marked with * where its name is all that is known of it, and what it is taken for as `guess`; not 0: out of memory. (56) */
int fields_machine(json_t *j, const struct hwprofile *h);
const char *fields_machine_name(char *buf, size_t size, const struct hwprofile *h);
/* Devices and how they divide the work, as fields of j; not 0: out of memory. */
int fields_layout(json_t *j, const struct layout *l);
/* Bytes, FLOP and their ratio as fields of j; not 0: out of memory, as jansson says it. */
int fields_cost(json_t *j, const struct cost *c);

#endif
