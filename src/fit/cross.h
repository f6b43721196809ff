/*
 * cross: rows as a fit that had not seen them would predict them, without fitting again. Leaving rows out of a least squares
 * problem changes its normal equations by a matrix of their number's rank; the constants and their spread without them follow
 * from the inverse that the fit has (Woodbury's identity), and the rows are predicted from those. Source: methods.md (58).
 */
#ifndef FIT_CROSS_H
#define FIT_CROSS_H

#include "fit/fit.h"

/* The rows of a fit, each with its derivatives at the minimum. */
struct cross;
/* f has been fitted to row[n], which stay where they are while c is used. NULL with *err: out of memory, no number. */
struct cross *cross_new(const struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n, struct error *err);
void cross_free(struct cross *c);

struct cross_row {
    double error; /* ln predicted - ln measured, by constants that the rows left out had no say in */
    double sd;    /* of the logarithm predicted, from the spread of those constants */
};
/*
 * Leaves rows member[n] (numbers of rows) out together, and predicts them into out[n]. sigma (may be NULL): where above 0 the row is not left out but
 * has this spread instead of its own. apart: sd takes constants as independent, as those of a file are.
 * errors: out of memory, or a model that gives no finite number.
 */
int cross_leave_out(struct cross *c, const size_t *member, size_t n, const double *sigma, bool apart, struct cross_row *out,
                    struct error *err);

/* The same, the errors by a few more steps of the fit without them: of many rows, whose absence moves constants further than one step
 * says. */
int cross_fit_again(struct cross *c, const size_t *member, size_t n, const double *sigma, bool apart, struct cross_row *out,
                    struct error *err);

#endif
