/*
 * decode.h: work of engines' kernels per weight in a decode step, in addition to reading it. Traits of the kernels, rounded; a fit
 * multiplies factors. Source: methods.md (36), doc/notes/stacks.md.
 */
#ifndef STACKS_DECODE_H
#define STACKS_DECODE_H

#include "stacks/stack_traits.h"

/* Vector operations per weight of so many bits, in FP32 multiply-adds of the machine. */
double decode_ops_weight(const struct stack_traits *f, double bits);
/* The same for a product of several tokens; 0: unknown. (37) */
double decode_ops_several(const struct stack_traits *f, double bits, double n_tok);
/* Tokens computed by a product of a small batch: tiles of matrix units are computed whole. 1: row kernels, the tokens there are. (40) */
double decode_tile(const struct stack_traits *f, double bits, bool experts);
/* Bytes per weight that a conversion kernel writes and the product reads; 0: it reads the weight itself. (doc/notes/stacks.md) */
double decode_staged_bytes(const struct stack_traits *f, enum math math, double bits);

/* Host seconds per product of weights of so many bits, during which the device is idle; 0: none. (doc/notes/stacks.md) */
double decode_host_s(const struct stack_traits *f, double bits);

#endif
