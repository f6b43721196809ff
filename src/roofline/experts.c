/* How many different experts a pass reads. methods.md (35) */
#include "roofline/roofline.h"
#include <math.h>

/* Every expert with the same chance k / n. */
static double uniform(double n, double k, double n_tok)
{
    return -n * expm1(n_tok * log1p(-k / n));
}

/* Zipf: popularity c i^-s, c such that they add up to k, none above 1. The ones above are 1, and the rest share what is
 * left: n_one grows until nothing exceeds it. */
static double zipf(double s, double n, double k, double n_tok)
{
    double n_one = 0, rest = 0, touched = 0;
    for (double i = 1; i <= n; i++)
        rest += pow(i, -s);
    while (n_one < k && (k - n_one) * pow(n_one + 1, -s) >= rest) {
        rest -= pow(n_one + 1, -s);
        n_one++;
    }
    touched = n_one;
    for (double i = n_one + 1; i <= n; i++)
        touched -= expm1(n_tok * log1p(-(k - n_one) * pow(i, -s) / rest));
    return touched;
}

static double recorded(const struct routing *r, double n_tok)
{
    double touched = 0;
    for (uint32_t i = 0; i < r->n; i++)
        touched += r->popularity[i] < 1 ? -expm1(n_tok * log1p(-r->popularity[i])) : 1;
    return touched;
}

double experts_touched(const struct routing *r, double n, double k, double n_tok)
{
    if (n_tok <= 1 || k >= n) /* exact: k are distinct */
        return n_tok > 0 ? k : 0;
    if (r && r->popularity && r->n == n)
        return recorded(r, n_tok);
    return r && r->zipf > 0 ? zipf(r->zipf, n, k, n_tok) : uniform(n, k, n_tok);
}
