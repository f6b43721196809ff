/*
 * series.h: estimates from one run of a simulation, whose values are correlated: means and percentiles with 90 % intervals by batch means.
 * A series stands in the order of arrival. methods.md (102). Source: Law, Simulation Modeling and
 * Analysis, 5th ed., ch. 9.
 */
#ifndef SERVING_SERIES_H
#define SERVING_SERIES_H

#include "base/base.h"

/* Batches of a series: 10 to 30 suffice (Schmeiser, Operations Research 30, 1982). Below two values a batch there is no interval. */
enum { SERIES_BATCHES = 20, SERIES_LEAST = 2 * SERIES_BATCHES };

/* A number and what chance alone does to it. */
struct sampled {
    double value;       /* NaN: there is none, reason says why */
    double lo, hi;      /* 90 % interval: more requests narrow it; NaN: none, reason says why */
    double n_eff;       /* independent values that would tell as much; NaN: unknown */
    const char *reason; /* why something is NaN, or the interval too narrow; NULL. Static text */
};
struct sampled sampled_none(double value, const char *reason);

/* Ascending; values are at least 0. scratch [n] */
void series_sort(double *x, double *scratch, size_t n);
/* Of a sorted series, linear between order statistics, as numpy's default; NaN for n == 0. */
double series_quantile(const double *sorted, size_t n, double q);
/* Student's t: exceeded with probability 0.05, n >= 1 degrees of freedom. */
double student_t_95(size_t n);

/*
 * sum(num) / sum(den) over n values, den NULL: ones, in k batches of consecutive values; n >= k >= 2. The half-width is
 *
 *     t_95(k - 1) * sqrt(k / (k - 1) * sum(z_i^2)) / sum(den) * sqrt((1 + r) / (1 - r)),   z_i = num_i - value * den_i of batch i
 *
 * with the lag-1 correlation r of z where it is positive: batches that are too short correlate. Neighbours are joined while r > 0.25, down to
 * five batches; with r > 0.5 there is no interval.
 *
 * source   ratio estimator: Law, 9.5.3; correlation: Tafazzoli et al., Skart, IIE Transactions 43 (2011)
 */
struct sampled series_ratio(const double *num, const double *den, size_t n, size_t k);
/*
 * The mean of x in SERIES_BATCHES batches, with the interval on a logarithmic scale: times are skewed. n_eff: variance of x over that of the
 * mean; below 12 there is no interval.
 *
 * It holds the mean wait of an M/M/1 queue in 92 % of the runs at a load of 0.5 (10,000 requests; 1,000: 88 %), 86 % at 0.8 (79 %),
 * 79 % at 0.9: near saturation one run is too short to tell, replications are not.
 */
struct sampled series_mean(const double *x, size_t n);
/*
 * A percentile: its interval has the values at q -/+ half-width of the share of values at most the estimate, which is a mean. None where
 * fewer than five independent values lie beyond the percentile, or the half-width is more than 0.6 of their share.
 *
 * x, sorted  the same values, by arrival and ascending
 * source     Woodruff, JASA 47 (1952), on batch means
 */
struct sampled series_percentile(const double *x, const double *sorted, size_t n, double q);

/*
 * Warm-up: how many of the first values to drop so that the mean of the rest has the least standard error, in fives; at most half.
 * *found false: the least is at half of the series, which has no steady part. source: MSER-5, White, Cobb and Spratt, WSC 2000
 */
size_t series_warmup(const double *x, size_t n, bool *found);

#endif
