/* cli internals: what `roofcast analyze` and `roofcast predict` say alike. */
#ifndef CLI_PRICING_H
#define CLI_PRICING_H

#include "cli/cli.h"
#include "roofline/roofline.h"

/* model_load of the model on the command line; NULL: says what would be one. */
int pricing_model(struct model *m, const char *spec, const char *type, struct error *err);
/* --kv-type: keys and values alike. */
int pricing_kv_type(enum dtype *k, enum dtype *v, const char *arg, struct error *err);
/* Types of the KV cache as fields of j; not 0: out of memory. */
int pricing_put_kv_types(json_t *j, enum dtype k, enum dtype v);
/* The weight's shape as a tensor: all rows of an embedding table, stacked matrices one below the other. */
void pricing_shape(const struct op *op, uint64_t *rows, uint64_t *cols);
/* Matrices stacked in it: experts, heads; else 1. */
uint32_t pricing_n_mat(const struct op *op);
/* Bytes, FLOP and their ratio as fields of j; not 0: out of memory, as jansson says it. */
int pricing_put_cost(json_t *j, const struct cost *c);
/* "pp512", "tg128@d4096", "pp512x8": as bench names its tests. n: tokens of the prompt, or generated. */
void pricing_test_name(char *buf, size_t size, enum phase p, uint32_t n, uint32_t n_batch, uint32_t n_depth);

#endif
