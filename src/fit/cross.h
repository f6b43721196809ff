/*
 * cross: predictions of rows by a fit without them, without fitting again. Leaving n rows out changes the normal equations by a matrix
 * of rank n; parameters and covariance follow from the fit's inverse by Woodbury's identity.
 *
 * source   methods.md (58)
 */
#ifndef FIT_CROSS_H
#define FIT_CROSS_H

#include "fit/fit.h"

/* The rows of a fit, each with its derivatives at the minimum. */
struct cross;
/* f is fitted to row [n], which outlive the result. NULL with *err: out of memory, or a value that is not finite. */
struct cross *cross_new(const struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n, struct error *err);
void cross_free(struct cross *c);

struct cross_row {
    double error; /* ln predicted - ln measured, by a fit without the rows left out */
    double sd;    /* of ln predicted, from the spread of that fit's parameters */
};
/*
 * Leaves rows out together and predicts them.
 *
 * member   [n] indices of rows
 * sigma    [n] or NULL: where > 0 the row stays, with this standard deviation
 * apart    sd takes parameters as independent, as a file of constants has them
 * out      [n]
 * errors   out of memory; a model value that is not finite
 */
int cross_leave_out(struct cross *c, const size_t *member, size_t n, const double *sigma, bool apart, struct cross_row *out,
                    struct error *err);

/* The same with a few Gauss-Newton steps without the rows: for many rows, where one linear step is not enough. */
int cross_fit_again(struct cross *c, const size_t *member, size_t n, const double *sigma, bool apart, struct cross_row *out,
                    struct error *err);

#endif
