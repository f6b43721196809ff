/*
 * units: math unit of an engine on a machine. A chip has a peak for each unit; the unit of a product or of attention follows from the
 * engine's back end, its version and the machine's generation, and is not fitted. Source: methods.md (43).
 */
#ifndef STACKS_UNITS_H
#define STACKS_UNITS_H

#include "stacks/stack_traits.h"

enum unit {
    UNIT_MATRIX,  /* 16-bit (or 8-bit float) products of tensor, WMMA, MFMA and XMX units */
    UNIT_INTEGER, /* 8-bit integer products of the same */
    UNIT_DOT,     /* four 8-bit products in a lane: dp4a */
    UNIT_VECTOR,  /* multiply-adds of floats */
    UNIT_GRID,    /* Apple's simdgroup matrices, executed on the vector units */
    UNIT_CPU,     /* tiles of products on a CPU */
    UNIT_STEPS,   /* a CPU's products of a row by a token, counted in instructions (cpus.h) */
    UNIT_COUNT,
};
const char *unit_name(enum unit u); /* "matrix" */

enum { QUANTIZED = 12 };  /* bits of a weight below which it is quantized */
enum { MMVQ_MOST = 8 };   /* tokens of llama.cpp's row kernels: MMVQ_MAX_BATCH_SIZE; Vulkan's mul_mat_vec_max_cols */

struct unit_use {
    enum unit unit;
    double flop_s;        /* its peak; 0: that of the operands' type */
    double staged_bytes;  /* of the operand as written by a conversion kernel and read by the product; 0: the weight itself */
};

/* Products of weights of so many bits by n_tok tokens, math: the type in the cost model. */
struct unit_use unit_of_product(const struct stack_traits *f, enum math math, double bits, double n_tok);
/* Attention with heads of head_dim elements, group of which share a key. flop_s as above; staged_bytes: memory traffic per score between
 * the products; 0: scores stay on chip. */
struct unit_use unit_of_attention(const struct stack_traits *f, double head_dim, double group, double n_tok);
/* Tokens computed over tokens n_tok: tiles are computed whole. n_matrix: matrices among which tokens are spread at random (a layer's
 * experts); 1: one. */
double unit_padding(const struct stack_traits *f, double n_tok, double n_matrix);
/* Seconds of an expert's product in addition to arithmetic and bytes: separate launches; 0: all experts of a layer are one kernel.
 * Accuracy one third (confidence: low). (44) */
double unit_expert_s(const struct stack_traits *f, double bits, double n_tok);

/* Kernels the host launches for an op of a prompt; 0: launches do not limit. (45) */
double unit_kernels(const struct stack_traits *f, enum op_kind kind, double bits, double n_tok);

#endif
