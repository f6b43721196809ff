#include "serving/series.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES_LEAST = 5 };
enum { RADIX_BITS = 11, RADIX = 1 << RADIX_BITS, RADIX_FROM = 512 };
/* Lag-1 correlation of batches above which they are joined to longer ones, and above which there is no interval. */
#define CORRELATED 0.25
#define CORRELATED_MOST 0.5
/* Independent values: of a series whose mean has an interval, and beyond a percentile that has one. */
#define N_EFF_LEAST 12
#define BEYOND_LEAST 5
/* Share of the values beyond a percentile that its interval may take: more, and the values there are too few. */
#define TAIL_MOST 0.6

struct sampled sampled_none(double value, const char *reason)
{
    return (struct sampled){ .value = value, .lo = NAN, .hi = NAN, .n_eff = NAN, .reason = reason };
}

/* ---- order statistics ---------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* Doubles of at least 0 are in the order of their bits: by digits, the least first. */
void series_sort(double *x, double *scratch, size_t n)
{
    if (n < RADIX_FROM) {
        if (n > 1)
            qsort(x, n, sizeof *x, by_value);
        return;
    }
    double *from = x, *to = scratch;
    for (int shift = 0; shift < 64; shift += RADIX_BITS) {
        size_t count[RADIX] = { 0 }, sum = 0;
        for (size_t i = 0; i < n; i++)
            count[bits_of(from[i]) >> shift & (RADIX - 1)]++;
        if (count[bits_of(from[0]) >> shift & (RADIX - 1)] == n)
            continue; /* one digit */
        for (size_t d = 0; d < RADIX; d++) {
            const size_t here = count[d];
            count[d] = sum;
            sum += here;
        }
        for (size_t i = 0; i < n; i++)
            to[count[bits_of(from[i]) >> shift & (RADIX - 1)]++] = from[i];
        double *t = from;
        from = to;
        to = t;
    }
    if (from != x)
        memcpy(x, from, n * sizeof *x);
}

double series_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0)
        return NAN;
    const double h = q * (double)(n - 1);
    const size_t i = (size_t)h;
    return i + 1 >= n ? sorted[n - 1] : sorted[i] + (h - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* Source: any table of the distribution; beyond it Cornish and Fisher's expansion, to 1e-4. */
double student_t_95(size_t n)
{
    static const double table[] = { 6.3138, 2.9200, 2.3534, 2.1318, 2.0150, 1.9432, 1.8946, 1.8595, 1.8331, 1.8125 };
    if (n <= ARRAY_LEN(table))
        return n > 0 ? table[n - 1] : NAN;
    const double z = 1.6448536, z3 = z * z * z, z5 = z3 * z * z, v = (double)n;
    return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) + (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

/* ---- batch means ----------------------------------------------------------------------------------- */

/* What a batch adds: its sums, and their difference from the ratio of all. */
static void batch_sums(const double *num, const double *den, size_t from, size_t to, double *n, double *d)
{
    *n = *d = 0;
    for (size_t i = from; i < to; i++) {
        *n += num[i];
        *d += den ? den[i] : 1;
    }
}

/* Lag-1 correlation of z, whose mean is about 0. */
static double lag_one(const double *z, size_t k)
{
    double c0 = 0, c1 = 0;
    for (size_t i = 0; i < k; i++) {
        c0 += z[i] * z[i];
        c1 += i > 0 ? z[i] * z[i - 1] : 0;
    }
    return c0 > 0 ? c1 / c0 : 0;
}

/* Adds neighbours: half as many batches, each of twice the length. */
static size_t join_batches(double *z, size_t k)
{
    for (size_t i = 0; i < k / 2; i++)
        z[i] = z[2 * i] + z[2 * i + 1] + (2 * i + 3 == k ? z[k - 1] : 0);
    return k / 2;
}

/* z, of k batches, is lost. NaN where batches correlate at any length. */
static double half_width(double *z, size_t k, double den, const char **reason)
{
    double r = lag_one(z, k), ss = 0;
    while (r > CORRELATED && k / 2 >= BATCHES_LEAST) {
        k = join_batches(z, k);
        r = lag_one(z, k);
    }
    if (r > CORRELATED_MOST) {
        *reason = "the run is too short: its parts still correlate";
        return NAN;
    }
    for (size_t i = 0; i < k; i++)
        ss += z[i] * z[i];
    const double se = sqrt((double)k / (double)(k - 1) * ss) / den;
    return student_t_95(k - 1) * se * (r > 0 ? sqrt((1 + r) / (1 - r)) : 1);
}

enum { MOST_BATCHES = 128 };

struct sampled series_ratio(const double *num, const double *den, size_t n, size_t k)
{
    double z[MOST_BATCHES], d[MOST_BATCHES], sum_n = 0, sum_d = 0;
    k = k < MOST_BATCHES ? k : MOST_BATCHES;
    if (k < 2 || n < k)
        return sampled_none(NAN, "too few values for batches");
    for (size_t i = 0; i < k; i++) {
        batch_sums(num, den, n * i / k, n * (i + 1) / k, &z[i], &d[i]);
        sum_n += z[i];
        sum_d += d[i];
    }
    if (!(sum_d > 0))
        return sampled_none(NAN, "nothing to relate it to");
    struct sampled e = { .value = sum_n / sum_d, .n_eff = NAN };
    for (size_t i = 0; i < k; i++)
        z[i] -= e.value * d[i];
    const double half = half_width(z, k, sum_d, &e.reason);
    e.lo = e.value - half;
    e.hi = e.value + half;
    return e;
}

static double variance(const double *x, size_t n, double mean)
{
    double ss = 0;
    for (size_t i = 0; i < n; i++)
        ss += (x[i] - mean) * (x[i] - mean);
    return ss / (double)n;
}

struct sampled series_mean(const double *x, size_t n)
{
    if (n == 0)
        return sampled_none(NAN, "no value");
    if (n < SERIES_LEAST)
        return sampled_none(stats_mean(x, n), "fewer than 40 values: no interval");
    struct sampled e = series_ratio(x, NULL, n, SERIES_BATCHES);
    const double half = (e.hi - e.lo) / 2, se = half / student_t_95(SERIES_BATCHES - 1);
    e.n_eff = se > 0 ? fmin((double)n, variance(x, n, e.value) / (se * se)) : se >= 0 ? (double)n : NAN;
    if (e.n_eff < N_EFF_LEAST)
        return (struct sampled){ e.value, NAN, NAN, e.n_eff, "the run is too short: it tells as much as fewer than 12 independent values" };
    if (e.value > 0) {
        e.lo = e.value * exp(-half / e.value);
        e.hi = e.value * exp(half / e.value);
    }
    return e;
}

struct sampled series_percentile(const double *x, const double *sorted, size_t n, double q)
{
    const double value = series_quantile(sorted, n, q);
    double z[SERIES_BATCHES];
    if (n == 0)
        return sampled_none(NAN, "no value");
    if (n < SERIES_LEAST)
        return sampled_none(value, "fewer than 40 values: no interval");
    double share = 0; /* of values at most the estimate: about q */
    for (size_t b = 0; b < SERIES_BATCHES; b++) {
        z[b] = 0;
        for (size_t i = n * b / SERIES_BATCHES; i < n * (b + 1) / SERIES_BATCHES; i++)
            z[b] += x[i] <= value;
        share += z[b];
    }
    share /= (double)n;
    for (size_t b = 0; b < SERIES_BATCHES; b++)
        z[b] -= share * (double)(n * (b + 1) / SERIES_BATCHES - n * b / SERIES_BATCHES);
    struct sampled e = { .value = value };
    const double around = series_mean(x, n).n_eff; /* of the whole series */
    if (sorted[0] < sorted[n - 1] && !(around * fmin(q, 1 - q) >= BEYOND_LEAST))
        return sampled_none(value, "too few independent values for an interval of this percentile");
    const double half = half_width(z, SERIES_BATCHES, (double)n, &e.reason), se = half / student_t_95(SERIES_BATCHES - 1);
    e.n_eff = se > 0 ? fmin((double)n, q * (1 - q) / (se * se)) : (double)n;
    if (sorted[0] >= sorted[n - 1]) {
        e.lo = e.hi = value; /* all alike */
        return e;
    }
    if (!(half <= TAIL_MOST * fmin(q, 1 - q)))
        return sampled_none(value, e.reason ? e.reason : "too few values for an interval of this percentile");
    e.lo = series_quantile(sorted, n, q - half);
    e.hi = series_quantile(sorted, n, q + half);
    return e;
}

/* ---- warm-up ------------------------------------------------------------------------------------------ */

size_t series_warmup(const double *x, size_t n, bool *found)
{
    enum { FIVE = 5 };
    const size_t m = n / FIVE;
    double sum = 0, squares = 0, least = INFINITY;
    size_t best = 0;
    /* From the end to the front, sums of the fives from d on. */
    for (size_t d = m; d-- > 0;) {
        double y = 0;
        for (size_t i = 0; i < FIVE; i++)
            y += x[FIVE * d + i] / FIVE;
        sum += y;
        squares += y * y;
        const double left = (double)(m - d), score = (squares - sum * sum / left) / (left * left);
        if (d <= m / 2 && score <= least) {
            least = score;
            best = d;
        }
    }
    *found = m >= 4 && best < m / 2;
    return m >= 4 ? FIVE * best : 0;
}
