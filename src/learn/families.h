/*
 * families.h: the families of kernels (stacks/family.h) fitted to measurements of single kernels: constants, and intervals from the errors of
 * machines left out. Their file is hwprofiles/stacks/kernels.json (roofcast.constants). methods.md (107)
 */
#ifndef LEARN_FAMILIES_H
#define LEARN_FAMILIES_H

#include "learn/constants.h"
#include "learn/score.h"
#include "stacks/family.h"

struct families;

/*
 * Constants of kernels.json where they are not of the group left out, then a fit to the rows of single kernels among rows[n]; others are
 * skipped. errors: out of memory; a file that is invalid; a value that is not finite
 */
int families_fit(struct families **out, const struct workload *const *rows, size_t n, const struct fit_scope *scope, bool shipped, struct error *err);
void families_free(struct families *x); /* may be NULL */
/* Seconds of the row of a single kernel. errors: ERROR_UNAVAILABLE, no family has it, or the reason of its family */
int families_predict(const struct families *x, const struct workload *p, struct estimate *out, struct error *err);
/* Rows of single kernels and of all-reduces, which families price. */
bool families_price(const struct measurement *m);
/* A row that a family learns from. */
bool families_learn_from(const struct measurement *m);
/* The fitted constants, into f->kind[FITTED_KIND_COUNT + i] of family i. */
int families_constants(const struct families *x, struct constants_file *f, const char *source, struct error *err);
/* The name is one of an interval of a family: "interval side=slower", "interval side=faster type=fp8". */
bool families_is_interval(const struct family *f, const char *name);

#endif
