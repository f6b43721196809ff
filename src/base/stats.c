/* Summary statistics: methods.md (20), (21). */
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

double stats_mean(const double *x, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += x[i];
    return n ? s / (double)n : NAN;
}

double stats_sd(const double *x, size_t n)
{
    if (n < 2)
        return 0;
    double m = stats_mean(x, n), s = 0;
    for (size_t i = 0; i < n; i++)
        s += (x[i] - m) * (x[i] - m);
    return sqrt(s / (double)(n - 1));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile_sorted(const double *x, size_t n, double q)
{
    double h = q * (double)(n - 1);
    size_t i = (size_t)h;
    if (i + 1 >= n)
        return x[n - 1];
    return x[i] + (h - (double)i) * (x[i + 1] - x[i]);
}

double stats_quantile(const double *x, size_t n, double q)
{
    if (n == 0)
        return NAN;
    double *s = malloc(n * sizeof *s);
    if (!s)
        return NAN;
    memcpy(s, x, n * sizeof *s);
    qsort(s, n, sizeof *s, by_value);
    double r = quantile_sorted(s, n, q);
    free(s);
    return r;
}

double stats_median(const double *x, size_t n)
{
    return stats_quantile(x, n, 0.5);
}

void stats_median_ci(const double *x, size_t n, double *lo, double *hi)
{
    enum { RESAMPLES = 1000 };
    *lo = *hi = NAN;
    if (n == 0)
        return;
    double *s = malloc((n + RESAMPLES) * sizeof *s);
    if (!s)
        return;
    double *med = s + n;
    struct rng r;
    rng_init(&r, 1);
    for (int k = 0; k < RESAMPLES; k++) {
        for (size_t i = 0; i < n; i++)
            s[i] = x[rng_u64(&r) % n];
        qsort(s, n, sizeof *s, by_value);
        med[k] = quantile_sorted(s, n, 0.5);
    }
    qsort(med, RESAMPLES, sizeof *med, by_value);
    *lo = quantile_sorted(med, RESAMPLES, 0.025);
    *hi = quantile_sorted(med, RESAMPLES, 0.975);
    free(s);
}
