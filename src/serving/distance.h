/* distance.h: how far two distributions of times lie apart. methods.md (104) */
#ifndef SERVING_DISTANCE_H
#define SERVING_DISTANCE_H

#include "serving/metrics.h"

/* Points of a distribution: shares ascend from 0 to 1, times ascend with them; between two points the share is linear in the time. n >= 2 */
struct cdf {
    const struct cdf_point *p;
    size_t n;
};

/* Kolmogorov-Smirnov: the largest difference of the shares within a time; *at_s: that time. In [0, 1] */
double cdf_kolmogorov(const struct cdf *a, const struct cdf *b, double *at_s);
/* Wasserstein, of order 1: the mean difference of the times at equal shares, in seconds. */
double cdf_wasserstein_s(const struct cdf *a, const struct cdf *b);

#endif
