#include "serving/distance.h"
#include <math.h>

/* ---- shares within a time ------------------------------------------------------------------------------- */

/* Share of the times below s, or with `upto` at most s: they differ where several points have that time. */
static double share_at(const struct cdf *c, double s, bool upto)
{
    size_t i = 0; /* points below s, or up to it */
    while (i < c->n && (upto ? c->p[i].s <= s : c->p[i].s < s))
        i++;
    if (i == 0)
        return 0;
    if (i == c->n)
        return 1;
    const struct cdf_point *p = &c->p[i - 1], *q = &c->p[i];
    return p->share + (q->share - p->share) * (s - p->s) / (q->s - p->s);
}

double cdf_kolmogorov(const struct cdf *a, const struct cdf *b, double *at_s)
{
    double most = 0;
    *at_s = a->p[0].s;
    for (int k = 0; k < 2; k++) {
        const struct cdf *c = k == 0 ? a : b;
        for (size_t i = 0; i < c->n; i++)
            for (int upto = 0; upto < 2; upto++) {
                const double d = fabs(share_at(a, c->p[i].s, upto) - share_at(b, c->p[i].s, upto));
                if (d > most) {
                    most = d;
                    *at_s = c->p[i].s;
                }
            }
    }
    return most;
}

/* ---- times at a share ------------------------------------------------------------------------------------- */

/* Time at a share, within the points i - 1 and i. */
static double time_at(const struct cdf *c, size_t i, double share)
{
    const struct cdf_point *p = &c->p[i - 1], *q = &c->p[i];
    return q->share > p->share ? p->s + (q->s - p->s) * (share - p->share) / (q->share - p->share) : q->s;
}

/* Integral of |d| over a width, d linear from d0 to d1. */
static double area(double d0, double d1, double width)
{
    const double sum = fabs(d0) + fabs(d1);
    if (d0 * d1 >= 0 || !(sum > 0))
        return width * sum / 2;
    return width * (d0 * d0 + d1 * d1) / sum / 2;
}

double cdf_wasserstein_s(const struct cdf *a, const struct cdf *b)
{
    double sum = 0, from = 0;
    size_t i = 1, k = 1;
    while (i < a->n && k < b->n) {
        const double to = fmin(a->p[i].share, b->p[k].share);
        if (to > from)
            sum += area(time_at(a, i, from) - time_at(b, k, from), time_at(a, i, to) - time_at(b, k, to), to - from);
        from = fmax(from, to);
        const bool next_a = a->p[i].share <= to, next_b = b->p[k].share <= to;
        i += next_a;
        k += next_b;
    }
    return sum;
}
