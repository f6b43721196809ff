/* Exact rank tests of two series, widened by their autocorrelation; Holm's correction. methods.md (106) */
#include "base/ratio.h"
#include "base/notify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAIRS = RATIO_VALUES * (RATIO_VALUES + 1) / 2,
    DIFFERENCES = RATIO_VALUES * RATIO_VALUES,
    SUMS = RATIO_VALUES * (RATIO_VALUES + 1) + 1,    /* of doubled ranks of a series */
    BOTH = 2 * RATIO_VALUES,                         /* values of two series */
    BOTH_SUMS = RATIO_VALUES * (3 * RATIO_VALUES + 1) + 1, /* doubled ranks of the largest RATIO_VALUES of BOTH, summed */
};
static const double TAIL = 0.025;

/* ---- series --------------------------------------------------------------------------------------------- */

/* At most RATIO_VALUES means of adjacent values into out. Returns their number. */
static size_t condense(double out[RATIO_VALUES], const double *x, size_t n)
{
    const size_t m = n < RATIO_VALUES ? n : RATIO_VALUES;
    for (size_t i = 0; i < m; i++) {
        const size_t from = i * n / m, to = (i + 1) * n / m;
        out[i] = stats_mean(x + from, to - from);
    }
    return m;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Twice the rank of each x[i] among all, equal values sharing their mean rank. */
static void double_ranks(int *rank, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        rank[i] = 1;
        for (size_t k = 0; k < n; k++)
            rank[i] += x[k] < x[i] ? 2 : x[k] == x[i];
    }
}

/* Adds lag-1 products and squares of a series' ranks about their mean: ranks, so that a jump of the machine does not hide the correlation. */
static void add_products(const double *x, size_t n, double *products, double *squares)
{
    int rank[RATIO_VALUES];
    double_ranks(rank, x, n);
    for (size_t i = 0; i < n; i++) {
        const double from_mean = rank[i] - (double)(n + 1);
        *squares += from_mean * from_mean;
        if (i + 1 < n)
            *products += from_mean * (rank[i + 1] - (double)(n + 1));
    }
}

/* Lag-1 correlation of series of n values each, without its bias -(1 + 3 r) / n; in [0, 0.9]. */
static double correlation_of(double products, double squares, size_t n)
{
    const double r = squares > 0 ? products / squares : 0;
    return fmin(0.9, fmax(0, r + (1 + 3 * r) / (double)n));
}

/* What the correlation multiplies the standard deviation of a mean by. */
static double inflation(double r)
{
    return sqrt((1 + r) / (1 - r));
}

/* ---- the normal and Student's distribution -------------------------------------------------------------------- */

static double normal_two_sided(double z)
{
    return erfc(fabs(z) * M_SQRT1_2);
}

/* Incomplete beta function's continued fraction (Lentz). Source: Abramowitz and Stegun 1964, 26.5.8 */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), f;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    f = d;
    for (int m = 1; m <= 500; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int k = 0; k < 2; k++) {
            const double t = k ? odd : even;
            d = 1 + t * d;
            c = 1 + t / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            f *= d * c;
        }
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return f;
}

static double student_two_sided(double t, double df)
{
    if (isinf(df) || df > 1e7)
        return normal_two_sided(t);
    if (isinf(t))
        return 0;
    const double x = df / (df + t * t), a = df / 2, b = 0.5;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x >= 1 ? 1 : x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* t with that two-sided p. */
static double student_quantile(double p, double df)
{
    double lo = 0, hi = 1;
    while (student_two_sided(hi, df) > p && hi < 1e12)
        hi *= 2;
    for (int i = 0; i < 100; i++) {
        const double mid = (lo + hi) / 2;
        *(student_two_sided(mid, df) > p ? &lo : &hi) = mid;
    }
    return (lo + hi) / 2;
}

/* p of a statistic whose standard deviation is `by` times what p assumes. */
static double widen(double p, double by)
{
    return by > 1 && p < 1 ? normal_two_sided(student_quantile(p, INFINITY) / by) : p;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

/* v[n] sorted: the estimate is its median, the interval from its k-th smallest to its k-th largest value; k 0: none. */
static struct ratio result(const double *v, size_t n, size_t k, double p, double correlation)
{
    const double by = inflation(correlation), mid = stats_median(v, n);
    struct ratio r = { exp(mid), NAN, NAN, widen(p, by), correlation };
    if (k > 0) {
        r.lo = exp(mid + by * (v[k - 1] - mid));
        r.hi = exp(mid + by * (v[n - k] - mid));
    }
    return r;
}

/* The number of values of a distribution p[n] from the least on whose sum is at most TAIL. */
static size_t tail_values(const double *p, size_t n)
{
    double sum = 0;
    size_t k = 0;
    while (k < n && (sum += p[k]) <= TAIL * (1 + 1e-12))
        k++;
    return k;
}

/* Twice the smaller of both tails of a distribution p[n], each with `at`. */
static double two_sided(const double *p, size_t n, size_t at)
{
    double low = 0, high = 0;
    for (size_t i = 0; i < n; i++) {
        low += i <= at ? p[i] : 0;
        high += i >= at ? p[i] : 0;
    }
    return fmin(1, 2 * fmin(low, high));
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

/* Distribution of the sum of ranks, each with probability 1/2. p[sum of rank + 1]. Returns its size. */
static size_t signed_distribution(double *p, const int *rank, size_t n)
{
    size_t top = 0;
    p[0] = 1;
    for (size_t i = 0; i < n; i++) {
        const size_t r = (size_t)rank[i];
        memset(p + top + 1, 0, r * sizeof *p);
        top += r;
        for (size_t s = top + 1; s-- > 0;)
            p[s] = 0.5 * p[s] + (s >= r ? 0.5 * p[s - r] : 0);
    }
    return top + 1;
}

struct ratio ratio_paired(const double *d, size_t n)
{
    double x[RATIO_VALUES], size[RATIO_VALUES], mean[PAIRS], p[SUMS];
    int rank[RATIO_VALUES], plain[RATIO_VALUES];
    size_t n_mean = 0, m = 0, sum = 0;
    const size_t n_x = condense(x, d, n);
    double products = 0, squares = 0, value = 1;
    if (n_x == 0)
        return (struct ratio){ NAN, NAN, NAN, NAN, NAN };
    add_products(x, n_x, &products, &squares);
    for (size_t i = 0; i < n_x; i++) {
        for (size_t k = i; k < n_x; k++)
            mean[n_mean++] = (x[i] + x[k]) / 2;
        plain[i] = (int)i + 1;
        if (x[i] != 0) /* equal pairs say nothing of the sign */
            size[m++] = fabs(x[i]);
    }
    qsort(mean, n_mean, sizeof *mean, by_value);
    const size_t k = tail_values(p, signed_distribution(p, plain, n_x));
    double_ranks(rank, size, m);
    for (size_t i = 0, at = 0; i < n_x; i++) {
        sum += x[i] > 0 ? (size_t)rank[at] : 0;
        at += x[i] != 0;
    }
    if (m > 0)
        value = two_sided(p, signed_distribution(p, rank, m), sum);
    return result(mean, n_mean, k, n_x < 2 ? NAN : value, correlation_of(products, squares, n_x));
}

/* ---- two series --------------------------------------------------------------------------------------------------- */

/*
 * Distribution of the sum of m ranks of n, drawn without replacement: p[sum - least] for the sums from `least` on, which is that of the m smallest.
 * rank ascending. work: [m + 1][BOTH_SUMS]. Returns its size.
 */
static size_t sum_distribution(double *p, const int *rank, size_t n, size_t m, size_t *least, double (*work)[BOTH_SUMS])
{
    size_t top = 0, from = 0;
    memset(work, 0, (m + 1) * sizeof *work);
    work[0][0] = 1;
    for (size_t i = 0; i < m; i++) {
        from += (size_t)rank[i];
        top += (size_t)rank[n - 1 - i];
    }
    for (size_t i = 0; i < n; i++) {
        const size_t r = (size_t)rank[i];
        for (size_t k = i + 1 < m ? i + 1 : m; k > 0; k--)
            for (size_t s = r; s <= top; s++)
                work[k][s] += work[k - 1][s - r];
    }
    double all = 0;
    for (size_t s = from; s <= top; s++)
        all += work[m][s];
    for (size_t s = from; s <= top; s++)
        p[s - from] = work[m][s] / all;
    *least = from;
    return top - from + 1;
}

static int by_rank(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

struct ratio ratio_unpaired(const double *a, size_t n_a, const double *b, size_t n_b)
{
    double x[BOTH], difference[DIFFERENCES], p[BOTH_SUMS], products = 0, squares = 0;
    int rank[BOTH], sorted[BOTH];
    size_t n = 0, sum = 0, least;
    double(*const work)[BOTH_SUMS] = malloc((RATIO_VALUES + 1) * sizeof *work);
    const size_t m_a = condense(x, a, n_a), m_b = condense(x + m_a, b, n_b), m = m_a + m_b;
    struct ratio none = { NAN, NAN, NAN, NAN, NAN };
    if (!work)
        notify_out_of_memory();
    if (!work || m_a == 0 || m_b == 0) {
        free(work);
        return none;
    }
    add_products(x, m_a, &products, &squares);
    add_products(x + m_a, m_b, &products, &squares);
    for (size_t i = 0; i < m_a; i++)
        for (size_t k = 0; k < m_b; k++)
            difference[n++] = x[m_a + k] - x[i];
    qsort(difference, n, sizeof *difference, by_value);
    for (size_t i = 0; i < m; i++)
        sorted[i] = 2 * ((int)i + 1);
    const size_t size = sum_distribution(p, sorted, m, m_b, &least, work);
    const size_t k = (tail_values(p, size) + 1) / 2; /* untied sums are even: U = (sum - least) / 2 */
    double_ranks(rank, x, m);
    for (size_t i = 0; i < m_b; i++)
        sum += (size_t)rank[m_a + i];
    memcpy(sorted, rank, m * sizeof *rank);
    qsort(sorted, m, sizeof *sorted, by_rank);
    const size_t tied = sum_distribution(p, sorted, m, m_b, &least, work);
    const double value = two_sided(p, tied, sum - least);
    free(work);
    return result(difference, n, k, m_a < 2 || m_b < 2 ? NAN : value, correlation_of(products, squares, (m_a + m_b) / 2));
}

/* ---- one value a side ------------------------------------------------------------------------------------------ */

struct ratio ratio_of_sd(double mean, double sd, double df)
{
    struct ratio r = { exp(mean), NAN, NAN, NAN, 0 };
    if (!(sd >= 0) || !(df > 0))
        return r;
    const double t = student_quantile(2 * TAIL, df);
    r.lo = exp(mean - t * sd);
    r.hi = exp(mean + t * sd);
    r.p = sd > 0 ? student_two_sided(mean / sd, df) : mean == 0;
    return r;
}

double ratio_welch_df(double v_a, size_t n_a, double v_b, size_t n_b)
{
    const double part_a = n_a > 1 ? v_a * v_a / (double)(n_a - 1) : 0, part_b = n_b > 1 ? v_b * v_b / (double)(n_b - 1) : 0;
    return part_a + part_b > 0 ? (v_a + v_b) * (v_a + v_b) / (part_a + part_b) : INFINITY;
}

/* ---- many rows ----------------------------------------------------------------------------------------------------- */

int ratio_holm(double *p, size_t n, struct error *err)
{
    size_t m = 0;
    double *sorted = malloc((n + 1) * sizeof *sorted), *adjusted = malloc((n + 1) * sizeof *adjusted);
    if (!sorted || !adjusted) {
        free(sorted);
        free(adjusted);
        return error_oom(err, 2 * (n + 1) * sizeof *sorted, "the p values");
    }
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i]))
            sorted[m++] = p[i];
    qsort(sorted, m, sizeof *sorted, by_value);
    for (size_t i = 0; i < m; i++)
        adjusted[i] = fmin(1, fmax(i > 0 ? adjusted[i - 1] : 0, (double)(m - i) * sorted[i]));
    for (size_t i = 0; i < n; i++) {
        const double *const at = isnan(p[i]) ? NULL : bsearch(&p[i], sorted, m, sizeof *sorted, by_value);
        p[i] = at ? adjusted[at - sorted] : p[i]; /* equal ones have equal adjusted values */
    }
    free(sorted);
    free(adjusted);
    return 0;
}

size_t ratio_least_pairs(size_t n_test, double level)
{
    size_t n = 2;
    while (n < RATIO_VALUES && 2 * pow(0.5, (double)n) * (double)n_test >= level)
        n++;
    return n;
}
