/* Summary statistics: methods.md (70). */
#include "base/base.h"
#include "base/notify.h"
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
        return notify_out_of_memory();
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
    if (!s) {
        notify_out_of_memory();
        return;
    }
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

/* Start index of each block, then the end of the last. */
static size_t find_blocks(size_t *start, const int *block, size_t n)
{
    size_t n_block = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || block[i] != block[i - 1])
            start[n_block++] = i;
    start[n_block] = n;
    return n_block;
}

void stats_median_block_ci(const double *x, const int *block, size_t n, double *lo, double *hi)
{
    enum { RESAMPLES = 1000 };
    *lo = *hi = NAN;
    if (n == 0)
        return;
    size_t *start = malloc((n + 1) * sizeof *start);
    if (!start) {
        notify_out_of_memory();
        return;
    }
    const size_t n_block = find_blocks(start, block, n);
    size_t longest = 0;
    for (size_t b = 0; b < n_block; b++)
        longest = start[b + 1] - start[b] > longest ? start[b + 1] - start[b] : longest;
    double *s = malloc((n_block * longest + RESAMPLES) * sizeof *s);
    if (!s) {
        free(start);
        notify_out_of_memory();
        return;
    }
    if (n_block < 2) {
        free(s);
        free(start);
        stats_median_ci(x, n, lo, hi); /* no variance between blocks */
        return;
    }
    double *med = s + n_block * longest;
    struct rng r;
    rng_init(&r, 1);
    for (int k = 0; k < RESAMPLES; k++) {
        size_t m = 0;
        for (size_t b = 0; b < n_block; b++) {
            const size_t which = rng_u64(&r) % n_block, len = start[which + 1] - start[which];
            memcpy(s + m, x + start[which], len * sizeof *s);
            m += len;
        }
        qsort(s, m, sizeof *s, by_value);
        med[k] = quantile_sorted(s, m, 0.5);
    }
    qsort(med, RESAMPLES, sizeof *med, by_value);
    *lo = quantile_sorted(med, RESAMPLES, 0.025);
    *hi = quantile_sorted(med, RESAMPLES, 0.975);
    free(s);
    free(start);
}

double stats_between_blocks(const double *x, const int *block, size_t n)
{
    const double mean = stats_mean(x, n);
    double within = 0, between = 0, squares = 0;
    size_t n_block = 0;
    for (size_t i = 0, end; i < n; i = end, n_block++) {
        for (end = i; end < n && block[end] == block[i]; end++)
            ;
        const size_t len = end - i;
        const double m = stats_mean(x + i, len), sd = stats_sd(x + i, len);
        within += sd * sd * (double)(len - 1);
        between += (double)len * (m - mean) * (m - mean);
        squares += (double)len * (double)len;
    }
    if (n_block < 2 || n <= n_block)
        return NAN;
    within /= (double)(n - n_block);
    between /= (double)(n_block - 1);
    const double per_block = ((double)n - squares / (double)n) / (double)(n_block - 1);
    return sqrt(fmax(0, (between - within) / per_block)) / fabs(mean);
}
