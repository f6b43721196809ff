/*
 * decode.h: what engines' kernels do with a weight in a step of decoding, beside reading it. Facts of the kernels, rounded; a fit
 * takes them times factors of its own. Source: methods.md (36), doc/notes/stacks.md.
 */
#ifndef STACKS_DECODE_H
#define STACKS_DECODE_H

#include "stacks/facts.h"

/* Operations of the vector units that a weight of so many bits takes, in FP32 multiply-adds of the machine. */
double decode_ops_weight(const struct facts *f, double bits);
/* The same of a product of several tokens; 0: nothing is known. (37) */
double decode_ops_several(const struct facts *f, double bits, double n_tok);
/* Tokens that a product of few takes the arithmetic of: tiles of matrix units are computed whole. 1: kernels of rows, as many as there are. (40) */
double decode_tile(const struct facts *f, double bits, bool experts);
/* Bytes that a kernel before the product writes a weight as, and the product reads; 0: it reads the weight itself. (doc/notes/stacks.md) */
double decode_staged_bytes(const struct facts *f, enum math math, double bits);

/* Seconds that the host takes for a product of weights of so many bits, and the device waits; 0: it keeps ahead. (doc/notes/stacks.md) */
double decode_host_s(const struct facts *f, double bits);

#endif
