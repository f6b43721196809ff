/*
 * histogram.h: counts of times in logarithmic bins of less than 0.1 % width, from 1 ns to 12 days, for percentiles of samples that are too many
 * to keep. Sums are exact. Bins as in HdrHistogram: a power of two is divided into equal ones.
 */
#ifndef SERVING_HISTOGRAM_H
#define SERVING_HISTOGRAM_H

#include "base/base.h"

struct histogram {
    uint64_t *count;
    uint64_t n;
    unsigned __int128 sum_ps;
    uint64_t least_ps, most_ps;
};

/* errors: out of memory */
int histogram_init(struct histogram *h, struct error *err);
void histogram_free(struct histogram *h);
void histogram_add(struct histogram *h, uint64_t ps, uint64_t times);
/* times samples of each of first, first + by, ..., first + (n - 1) by. */
void histogram_add_run(struct histogram *h, uint64_t first_ps, uint64_t by_ps, uint64_t n, uint64_t times);
/* Seconds; NaN without samples. q in [0, 1]: linear between the samples around rank q (n - 1), each at the middle of its bin and within the
 * extremes. */
double histogram_quantile_s(const struct histogram *h, double q);
double histogram_mean_s(const struct histogram *h);
/* Standard deviation of the population, samples at the middles of their bins. */
double histogram_sd_s(const struct histogram *h);
/* Share of the samples of at most ps, by whole bins; NaN without samples. */
double histogram_share(const struct histogram *h, uint64_t ps);

#endif
