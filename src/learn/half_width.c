#include "learn/half_width.h"
#include <math.h>
#include <stdlib.h>

static const double level = 0.9;
enum {
    PARTS = 10,   /* steps of the split of the excluded 10 % between both ends */
    ENOUGH = 400, /* rows for four per part */
};

/* Error of a row in half-widths: negative if faster. */
static double relative_error(const struct half_width_row *r)
{
    return r->faster ? -exp(r->ln_out) : exp(r->ln_out);
}

static int by_place(const void *a, const void *b)
{
    const double x = relative_error(a), y = relative_error(b);
    return (x > y) - (x < y);
}

static int by_distance(const void *a, const void *b)
{
    const struct half_width_row *x = a, *y = b;
    return (x->ln_out > y->ln_out) - (x->ln_out < y->ln_out);
}

/* The first of the sorted rows at which the cumulative weight is that share. */
static const struct half_width_row *at_share(const struct half_width_row *row, size_t n, double share)
{
    double goal = 0, sum = 0;
    size_t i = 0;
    for (size_t k = 0; k < n; k++)
        goal += share * row[k].weight;
    for (; i + 1 < n; i++) {
        sum += row[i].weight;
        if (sum >= goal)
            break;
    }
    return &row[i];
}

/* Sum of ln interval length in seconds, relative to the prediction. */
static double length(const struct half_width_row *row, size_t n, double slower, double faster)
{
    static const double most = 5; /* cap of ln: lengths are finite */
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double half = exp(row[i].ln_half);
        sum += row[i].weight * log(exp(fmin(slower * half, most)) - exp(-faster * half));
    }
    return sum;
}

double half_width_within(struct half_width_row *row, size_t n)
{
    qsort(row, n, sizeof *row, by_distance);
    return at_share(row, n, level)->ln_out;
}

struct half_width half_width_shortest(struct half_width_row *row, size_t n)
{
    double shortest = INFINITY;
    const double both = half_width_within(row, n);
    struct half_width best = { both, both };
    if (n < ENOUGH)
        return best;
    qsort(row, n, sizeof *row, by_place);
    for (int part = 1; part < PARTS; part++) {
        const double below = (1 - level) * part / PARTS, faster = -relative_error(at_share(row, n, below)),
                     slower = relative_error(at_share(row, n, below + level));
        if (!(faster > 0 && slower > 0))
            continue;
        const double now = length(row, n, slower, faster);
        if (now < shortest) {
            shortest = now;
            best = (struct half_width){ .slower = log(slower), .faster = log(faster) };
        }
    }
    return best;
}
