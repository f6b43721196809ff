/* family_constants.h: constants of families of kernels for predictions: hwprofiles/stacks/kernels.json, read once. methods.md (107) */
#ifndef STACKS_FAMILY_CONSTANTS_H
#define STACKS_FAMILY_CONSTANTS_H

#include "stacks/family.h"

/* Loads the file, once; called by priors_load(). Without the file: priors. errors: unreadable or invalid: file, field, expected and found */
int family_constants_load(struct error *err);
/* parameter [f->n_parameter]: logarithms for these values of its dimensions; what the file does not have is the family's prior. */
void family_parameters(const struct family *f, const family_value dim[FAMILY_DIMENSIONS], double *parameter);
/* The file has a constant of that value of a dimension: 4, "h200-sxm" of collectives. */
bool family_constants_have(const struct family *f, int dimension, const char *value);

#endif
