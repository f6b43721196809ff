/*
 * least: Levenberg-Marquardt over sparse normal equations. A row depends on a few of hundreds of parameters: J'J is assembled from small
 * blocks, and rarely used parameters are eliminated first (little fill-in). cminpack's lmder and lmstr would triangulate a dense m x n Jacobian. Step
 * control, trust region and stopping tests are lmder's (Moré 1978); cminpack's lmpar computes the step.
 *
 * source   methods.md (57)
 */
#ifndef FIT_LEAST_H
#define FIT_LEAST_H

#include "base/base.h"

struct least_problem {
    size_t n; /* unknowns */
    void *ctx;
    /* Sum of the squares of the residuals f at x. -1: not a finite number */
    int (*square)(void *ctx, const double *x, double *sum);
    /* jj [n][n] += J'J (upper triangle) and jf [n] += J'f at x; both are 0 on entry. -1: not a finite number */
    int (*normal)(void *ctx, const double *x, double *jj, double *jf);
};

/* x [n]: start, on return the minimum; inverse [n][n]: of J'J there. errors: out of memory, a value that is not finite, J'J not positive
 * definite */
int least_run(const struct least_problem *p, double *x, double *inverse, struct error *err);

/* Cholesky factor U (U'U = a) in the upper triangle of a [n][n], row-major; zero blocks are skipped. -1: not positive definite. */
int least_cholesky(double *a, size_t n);
/* x [n] = (U'U)^-1 x */
void least_solve(const double *u, size_t n, double *x);
/* u = U^-1 in place; out [n][n] = (U'U)^-1 */
void least_inverse(double *u, size_t n, double *out);

#endif
