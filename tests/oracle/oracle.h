/* What the two sides of the oracle share: the engine's and the analytical one's internals do not go into one file. */
#ifndef TESTS_ORACLE_ORACLE_H
#define TESTS_ORACLE_ORACLE_H

#include "model/op.h"

/*
 * Prints a line about an op whose operands are in no cache: name, weights, bytes by cost_op(), and by
 * roofline_level_bytes() with two levels of cache, bytes read into the first, read from memory, written to memory.
 */
int oracle_price(const char *name, const struct op *op, const struct pass *p, double d1_bytes, double ll_bytes,
                 struct error *err);

#endif
