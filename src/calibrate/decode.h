/*
 * decode.h: what engines do in a step of decoding, beside reading the weights: operations that make an operand of a weight,
 * kernels started, how attention walks the cache. Facts of their kernels, rounded; a fit takes them times factors of its
 * own. Source: methods.md (79).
 */
#ifndef CALIBRATE_DECODE_H
#define CALIBRATE_DECODE_H

#include "calibrate/calibrate.h"

/* llama.cpp of before August 2024 (build 3500): every op launched by itself, no attention kernel of its own, 16-bit weights
 * widened one by one. */
bool decode_is_old(const struct priced *p);
/* Operations of the vector units that a weight of so many bits takes, in FP32 multiply-adds of the machine. */
double decode_ops_weight(const struct priced *p, double bits);
/* Bytes that a kernel before the product writes a weight as, and the product reads; 0: it reads the weight itself. (91) */
double decode_staged_bytes(const struct priced *p, enum math math, double bits);
/* Time that starting an op costs, over that of an engine that launches a kernel for each from compiled code. */
double decode_launches(const struct priced *p);
/* Attention as a product, a softmax and a product: one block of threads walks along a head's scores. */
bool decode_walks(const struct priced *p);
/* "NVIDIA", "Apple", ...; "CPU" of every processor: whose memory it is, not who made it, says what loads reach. */
const char *decode_vendor(const struct priced *p, char *buf, size_t size);

#endif
