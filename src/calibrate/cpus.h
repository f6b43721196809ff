/*
 * cpus: what engines' kernels take of a CPU's cores: instructions for a weight, and which kernel a type of weights has. Facts of the
 * kernels, counted; a fit takes them times factors of its own. Source: methods.md (110).
 */
#ifndef CALIBRATE_CPUS_H
#define CALIBRATE_CPUS_H

#include "calibrate/units.h"

/* FP32 multiply-adds of the machine in the time that one token's product with one weight takes. */
double cpu_ops_weight(const struct facts *f, double bits);
/* The same of a step's several tokens; of experts those that each of them has. */
double cpu_ops_several(const struct facts *f, double bits, double n_tok, bool experts);
/* Products of a pass of many tokens. */
struct unit_use cpu_product(const struct facts *f, enum math math, double bits, bool experts);

#endif
