/* How many different experts a pass reads. methods.md (16) */
#include "cost/internal.h"
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

/* Equal ops of many layers are priced as one: the mean over layers, by which their bytes add up exactly. */
static double recorded(const struct routing *r, double n_tok)
{
    const size_t layers = r->n_layer > 0 ? r->n_layer : 1, n = layers * r->n;
    double touched = 0;
    for (size_t i = 0; i < n; i++)
        touched += r->popularity[i] < 1 ? -expm1(n_tok * log1p(-r->popularity[i])) : 1;
    return touched / (double)layers;
}

int routing_check(const struct routing *r, const struct hparams *hp, struct error *err)
{
    if (!r || !r->popularity)
        return 0;
    if (r->n != hp->n_expert || (r->n_used > 0 && r->n_used != hp->n_expert_used))
        return error_set(err, ERROR_USAGE, "cannot predict: the recorded routing is of %u of %u experts a token, the model has %u of %u",
                         r->n_used, r->n, hp->n_expert_used, hp->n_expert);
    return 0;
}

double experts_touched(const struct routing *r, double n, double k, double n_tok)
{
    if (n_tok <= 1 || k >= n) /* exact: k are distinct */
        return n_tok > 0 ? k : 0;
    if (r && r->popularity && r->n == n)
        return recorded(r, n_tok);
    return r && r->zipf > 0 ? zipf(r->zipf, n, k, n_tok) : uniform(n, k, n_tok);
}
