/*
 * units: what an engine multiplies with on a machine. One chip has a peak for each of its units; which of them a product or
 * attention runs on is a fact of the engine's back end, of its age and of the machine's generation, not a constant to be fitted.
 * Source: methods.md (43).
 */
#ifndef STACKS_UNITS_H
#define STACKS_UNITS_H

#include "stacks/facts.h"

enum unit {
    UNIT_MATRIX,  /* 16-bit (or 8-bit float) products of tensor, WMMA, MFMA and XMX units */
    UNIT_INTEGER, /* 8-bit integer products of the same */
    UNIT_DOT,     /* four 8-bit products in a lane: dp4a */
    UNIT_VECTOR,  /* multiply-adds of floats */
    UNIT_GRID,    /* Apple's simdgroup matrices: they multiply on the vector units, and feed them well */
    UNIT_CPU,     /* tiles of products on a CPU */
    UNIT_STEPS,   /* a CPU's products of a row by a token, counted in instructions (cpus.h) */
    UNIT_COUNT,
};
const char *unit_name(enum unit u); /* "matrix" */

enum { QUANTIZED = 12 };  /* bits of a weight below which it is */
enum { MMVQ_MOST = 8 };   /* tokens of llama.cpp's kernels of rows: MMVQ_MAX_BATCH_SIZE; Vulkan's mul_mat_vec_max_cols */

struct unit_use {
    enum unit unit;
    double flop_s;        /* its peak; 0: the one of the operands' type */
    double staged_bytes;  /* of the operand that a kernel before writes a weight as, and the product reads; 0: the weight itself */
};

/* Products of weights of so many bits by n_tok tokens, math: the type that the cost model has for them. */
struct unit_use unit_of_product(const struct facts *f, enum math math, double bits, double n_tok);
/* Of heads of head_dim elements, group of which share a key. flop_s as above; staged_bytes: that a score takes through memory between
 * the products; 0: scores stay on the chip. */
struct unit_use unit_of_attention(const struct facts *f, double head_dim, double group, double n_tok);
/* Tokens that a product takes the time of, over the n_tok it has: tiles are computed whole. n_matrix: matrices they are spread over at
 * random (a layer's experts); 1: one. */
double unit_padding(const struct facts *f, double n_tok, double n_matrix);
/* Seconds that an expert's product takes beside its arithmetic and bytes, of matrices of so many rows: those of starting it by itself;
 * 0: all experts of a layer are one kernel. To a third, from tables of two pull requests a maker. (44) */
double unit_expert_s(const struct facts *f, enum math math, double bits, double n_tok, double rows);

/* Kernels that the host launches for an op of a prompt; 0: its queue takes any number. (45) */
double unit_kernels(const struct facts *f, enum op_kind kind, enum math math, double bits, double n_tok, double rows);

#endif
