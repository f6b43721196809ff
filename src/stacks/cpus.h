/*
 * cpus: what engines' kernels take of a CPU's cores: instructions for a weight, and which kernel a type of weights has. Facts of the
 * kernels, counted; a fit takes them times factors of its own. Source: methods.md (41).
 */
#ifndef STACKS_CPUS_H
#define STACKS_CPUS_H

#include "stacks/units.h"

/* FP32 multiply-adds of the machine in the time that one token's product with one weight takes. */
double cpu_ops_weight(const struct facts *f, double bits);
/* The same of one weight with all n_tok tokens of a step; of experts n_tok is what each has, on average. */
double cpu_ops_several(const struct facts *f, enum math math, double bits, double n_tok, bool experts);
/* Products of a pass of many tokens; experts, whose tokens are few, may have kernels of their own. */
struct unit_use cpu_product(const struct facts *f, enum math math, double bits, bool experts);

#endif
