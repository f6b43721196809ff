/*
 * least: least squares by Levenberg and Marquardt's method over the normal equations. A row of a fit touches a few of its
 * hundreds of constants, so J'J is made of small squares, and constants that few rows touch are eliminated first and fill
 * little. cminpack's lmder wants the whole Jacobian, its lmstr every row of it whole: both triangulate m n^2 numbers, nearly
 * all of them 0. Steps, trust region and ends are lmder's (Moré 1978); cminpack's lmpar finds the step. Source: methods.md (57).
 */
#ifndef FIT_LEAST_H
#define FIT_LEAST_H

#include "base/base.h"

struct least_problem {
    size_t n; /* unknowns */
    void *ctx;
    /* Sum of the squares of the residuals f at x. -1: not a finite number */
    int (*square)(void *ctx, const double *x, double *sum);
    /* jj [n][n] += J'J, its upper triangle (row <= column), and jf [n] += J'f at x; both come as 0. -1: not a finite number */
    int (*normal)(void *ctx, const double *x, double *jj, double *jf);
};

/* x [n], where to start, becomes the minimum; inverse [n][n]: of J'J there, whole. errors: out of memory, no finite number, or
 * J'J not positive definite */
int least_run(const struct least_problem *p, double *x, double *inverse, struct error *err);

/* a [n][n]'s upper triangle, symmetric and positive definite, becomes U with U'U = a, rows above. -1: it is not. What is 0 costs
 * nothing. */
int least_cholesky(double *a, size_t n);
/* x [n] becomes (U'U)^-1 x. */
void least_solve(const double *u, size_t n, double *x);
/* Of such a U: inv(U) in its place, and the whole inverse of U'U into out. */
void least_inverse(double *u, size_t n, double *out);

#endif
