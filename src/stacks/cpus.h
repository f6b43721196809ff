/*
 * cpus: cost of engines' kernels on CPU cores: instructions per weight, and the kernel of each weight type. Counted in the kernels; a fit
 * multiplies factors. Source: methods.md (41).
 */
#ifndef STACKS_CPUS_H
#define STACKS_CPUS_H

#include "stacks/units.h"

/* Operations of one token's product with one weight, in FP32 multiply-adds of the machine. */
double cpu_ops_weight(const struct stack_traits *f, double bits);
/* The same for one weight with all n_tok tokens of a step; experts: n_tok is the mean of one expert. */
double cpu_ops_several(const struct stack_traits *f, enum math math, double bits, double n_tok, bool experts);
/* Math unit of products of a pass of many tokens; experts have small batches and may have their own kernels. */
struct unit_use cpu_product(const struct stack_traits *f, enum math math, double bits, bool experts);

#endif
