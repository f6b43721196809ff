/*
 * Plateaus of a curve: piecewise flat or sloped segmentation in log-log scale by the Bayesian information criterion. Source: methods.md
 * (76).
 */
#include "ceilings/memory.h"
#include <math.h>
#include <stdlib.h>

static const double MIN_NOISE = 0.015, MAX_NOISE = 0.08; /* octaves; 1 % and 6 % */
static const double FLAT = 0.12;  /* flat below this slope, octaves per octave: 8 % per doubling */
static const double ALIKE = 0.2;  /* neighbours closer than this (octaves) merge: 15 % */
enum { MIN_LEVEL = 3 };           /* points per plateau */

/* Prefix sums; any segment follows by difference. */
struct sums {
    double u, v, uu, uv, vv;
};

struct piece {
    double slope, rss;
};

/* Least squares over points [a, b). */
static struct piece fit(const struct sums *s, size_t a, size_t b, bool sloped)
{
    const double n = (double)(b - a);
    const double u = s[b].u - s[a].u, v = s[b].v - s[a].v;
    const double suu = s[b].uu - s[a].uu - u * u / n, suv = s[b].uv - s[a].uv - u * v / n;
    const double svv = s[b].vv - s[a].vv - v * v / n;
    const double slope = suu > 0 ? suv / suu : 0;
    return (struct piece){ slope, fmax(sloped ? svv - slope * suv : svv, 0) };
}

/* Scatter from differences to the neighbours' mean, which cancels slopes. */
static double noise(const struct hw_point *p, size_t n, double *room)
{
    for (size_t i = 1; i + 1 < n; i++)
        room[i - 1] = fabs(log2(p[i].value) - (log2(p[i - 1].value) + log2(p[i + 1].value)) / 2);
    /* median |normal| is 0.6745 sd; the difference has sd sqrt(3/2) */
    const double sd = n > 2 ? stats_median(room, n - 2) / 0.6745 / sqrt(1.5) : 0;
    return fmin(fmax(sd, MIN_NOISE), MAX_NOISE);
}

static double middle(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* log2 of values, median-filtered over three points (ends: first and last three). Monotonic curves are unchanged. */
static void smooth(const struct hw_point *p, size_t n, double *v)
{
    for (size_t i = 0; i < n; i++) {
        const size_t at = i == 0 ? 1 : i + 1 == n ? n - 2 : i;
        v[i] = log2(n < 3 ? p[i].value : middle(p[at - 1].value, p[at].value, p[at + 1].value));
    }
}

/* Optimal segmentation: the segment that ends before point i starts at from[i]; sloped[i]: its kind. */
static void divide(const struct sums *s, size_t n, double sd, double *cost, size_t *from, bool *sloped)
{
    cost[0] = 0;
    for (size_t b = 1; b <= n; b++) {
        cost[b] = INFINITY;
        for (size_t a = 0; a < b; a++)
            for (int k = 0; k < 2; k++) {
                if (k == 0 && b - a < MIN_LEVEL)
                    continue;
                const double c = cost[a] + fit(s, a, b, k != 0).rss / (sd * sd) + (k + 2) * log((double)n);
                if (c < cost[b]) {
                    cost[b] = c;
                    from[b] = a;
                    sloped[b] = k != 0;
                }
            }
    }
}

/* Crossing of the geometric mean of two plateaus' values. */
static double edge(const struct hw_point *p, const struct plateau *a, const struct plateau *b)
{
    const double half = (log2(a->value) + log2(b->value)) / 2;
    const bool falls = b->value < a->value;
    for (size_t i = a->last; i < b->first; i++) {
        const double v0 = log2(p[i].value), v1 = log2(p[i + 1].value);
        if (falls ? v1 > half : v1 < half)
            continue;
        const double part = v1 != v0 ? fmin(fmax((half - v0) / (v1 - v0), 0), 1) : 0;
        return exp2(log2(p[i].x) + part * (log2(p[i + 1].x) - log2(p[i].x)));
    }
    return sqrt(p[a->last].x * p[b->first].x);
}

/* Edge of the last plateau: where the curve halves or doubles. */
static double last_edge(const struct hw_point *p, size_t n, const struct plateau *l)
{
    for (size_t i = l->last; i + 1 < n; i++)
        if (p[i + 1].value <= l->value / 2 || p[i + 1].value >= l->value * 2) {
            const double v0 = log2(p[i].value / l->value), v1 = log2(p[i + 1].value / l->value);
            const double part = fmin(fmax(((v1 < 0 ? -1 : 1) - v0) / (v1 - v0), 0), 1);
            return exp2(log2(p[i].x) + part * (log2(p[i + 1].x) - log2(p[i].x)));
        }
    return NAN;
}

static void describe(struct plateau *l, const struct hw_point *p, size_t first, size_t last, double *room)
{
    for (size_t i = first; i <= last; i++)
        room[i - first] = p[i].value;
    *l = (struct plateau){ .first = first, .last = last, .from_x = p[first].x, .to_x = p[last].x, .edge_x = NAN };
    l->value = stats_median(room, last - first + 1);
}

static size_t collect(const struct hw_point *p, size_t n, const struct sums *s, const size_t *from, const bool *sloped,
                      double *room, struct plateau *out)
{
    struct plateau all[PLATEAUS_MAX];
    size_t k = 0;
    /* last segment to first */
    for (size_t b = n; b > 0; b = from[b]) {
        const size_t a = from[b];
        struct plateau l;
        if (b - a < MIN_LEVEL || (sloped[b] && fabs(fit(s, a, b, true).slope) > FLAT))
            continue;
        describe(&l, p, a, b - 1, room);
        if (k > 0 && fabs(log2(all[k - 1].value / l.value)) < ALIKE)
            describe(&all[k - 1], p, a, all[k - 1].last, room);
        else if (k < PLATEAUS_MAX)
            all[k++] = l;
    }
    for (size_t i = 0; i < k; i++)
        out[i] = all[k - 1 - i];
    for (size_t i = 0; i + 1 < k; i++)
        out[i].edge_x = edge(p, &out[i], &out[i + 1]);
    if (k)
        out[k - 1].edge_x = last_edge(p, n, &out[k - 1]);
    return k;
}

int plateaus_find(const struct hw_point *p, size_t n, struct plateau *out, size_t *n_found, struct error *err)
{
    int rc = 0;
    *n_found = 0;
    struct sums *s = calloc(n + 1, sizeof *s);
    double *cost = calloc(3 * (n + 1), sizeof *cost);
    size_t *from = calloc(n + 1, sizeof *from);
    bool *sloped = calloc(n + 1, sizeof *sloped);
    if (s && cost && from && sloped) {
        double *room = cost + n + 1, *v = room + n + 1;
        smooth(p, n, v);
        for (size_t i = 0; i < n; i++) {
            const double u = log2(p[i].x);
            s[i + 1] = (struct sums){ s[i].u + u, s[i].v + v[i], s[i].uu + u * u, s[i].uv + u * v[i], s[i].vv + v[i] * v[i] };
        }
        divide(s, n, noise(p, n, room), cost, from, sloped);
        *n_found = collect(p, n, s, from, sloped, room, out);
    } else {
        rc = error_oom(err, n * sizeof *s, "the levels of a curve");
    }
    free(s);
    free(cost);
    free(from);
    free(sloped);
    return rc;
}

/* doc/notes/charts.md. */
double plateaus_saturation(const struct hw_point *p, size_t n, double share)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, p[i].value);
    for (size_t i = 0; i < n; i++)
        if (p[i].value >= share * most)
            return p[i].x;
    return NAN;
}
