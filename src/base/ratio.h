/*
 * ratio.h: whether two series of measured speeds differ: the ratio of the speeds, its 95 % interval, p of equal speeds. Values are logarithms, so
 * that differences are ratios. methods.md (106)
 */
#ifndef BASE_RATIO_H
#define BASE_RATIO_H

#include "base/base.h"

/* Values a series that tests look at: longer series are means of as many adjacent parts. */
enum { RATIO_VALUES = 32 };

struct ratio {
    double ratio, lo, hi; /* speed of B over that of A; NaN: too few values for a 95 % interval */
    double p;             /* two-sided; NaN: too few values for a test */
    double correlation;   /* lag 1, of adjacent values, at least 0: it widens the interval */
};

/* d[n]: ln(B / A) of pairs that were measured in turn: Wilcoxon's signed ranks, exact. */
struct ratio ratio_paired(const double *d, size_t n);
/* ln of the speeds of A and B, measured at different times: Wilcoxon's rank sum, exact. */
struct ratio ratio_unpaired(const double *a, size_t n_a, const double *b, size_t n_b);
/* ln(B / A) = mean with that standard deviation, of df degrees of freedom (INFINITY: known): Student's t. */
struct ratio ratio_of_sd(double mean, double sd, double df);
/* Degrees of freedom of a difference with variances v_a, v_b of n_a, n_b values (Welch); 0: a variance counts as known. */
double ratio_welch_df(double v_a, size_t n_a, double v_b, size_t n_b);
/* p[n] becomes Holm's adjusted p; NaN entries are no tests and stay. errors: out of memory */
int ratio_holm(double *p, size_t n, struct error *err);
/* Pairs that can reach p < level in each of n_test rows. */
size_t ratio_least_pairs(size_t n_test, double level);

#endif
