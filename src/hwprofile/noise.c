/* Stability of a machine during measurement. Source: methods.md (71). */
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* upper quartile of the ceilings' between_rounds */
static const double QUIET_BELOW = 0.01, NOISY_FROM = 0.05;

static const char *const names[] = { [HW_QUIET] = "quiet", [HW_UNSTEADY] = "unsteady", [HW_NOISY] = "noisy" };

const char *hw_steadiness_name(enum hw_steadiness s)
{
    return names[s];
}

struct hw_noise hwprofile_noise(const struct hwprofile *h)
{
    struct hw_noise n = { .verdict = HW_NOISE_UNKNOWN, .between = NAN, .worst_between = NAN };
    double *between = malloc((h->n_ceiling + 1) * sizeof *between);
    if (!between)
        return n;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        if (c->n_samples < 2 || isnan(c->value) || isnan(c->between_rounds))
            continue;
        between[n.n_ceilings++] = c->between_rounds;
        if (!(c->between_rounds <= n.worst_between)) {
            n.worst_between = c->between_rounds;
            snprintf(n.worst, sizeof n.worst, "%s", c->name);
        }
    }
    n.between = stats_quantile(between, (size_t)n.n_ceilings, 0.75);
    free(between);
    if (n.n_ceilings > 0)
        n.verdict = n.between < QUIET_BELOW ? HW_QUIET : n.between < NOISY_FROM ? HW_UNSTEADY : HW_NOISY;
    return n;
}

int hw_parse_noise(struct hwprofile *h, const json_t *o, const char *pctx, struct error *err)
{
    static const char *const known[] = { "verdict", "between_rounds", "n_ceilings", "worst", "worst_between_rounds" };
    struct hw_noise *n = &h->noise;
    const json_t *j;
    char verdict[16] = "", ctx[HW_CTX];
    int64_t count = 0;
    *n = (struct hw_noise){ .verdict = HW_NOISE_UNKNOWN, .between = NAN, .worst_between = NAN };
    snprintf(ctx, sizeof ctx, "%s: noise", pctx);
    if (hw_get_object(o, pctx, "noise", &j, err) != 0)
        return -1;
    if (!j)
        return 0;
    if (hw_check_fields(j, ctx, known, ARRAY_LEN(known), err) != 0 ||
        hw_get_text(j, ctx, "verdict", true, verdict, sizeof verdict, err) != 0 ||
        hw_get_text(j, ctx, "worst", false, n->worst, sizeof n->worst, err) != 0 ||
        json_get_num(j, ctx, "between_rounds", &n->between, err) != 0 ||
        json_get_num_opt(j, ctx, "worst_between_rounds", &n->worst_between, err) != 0 ||
        json_get_int_opt(j, ctx, "n_ceilings", 0, 1 << 20, &count, err) != 0)
        return -1;
    if (!(n->between >= 0))
        return error_set(err, ERROR_INPUT, "%s: field \"between_rounds\": expected at least 0, found %g", ctx, n->between);
    const int at = hw_check_choice(verdict, names + HW_QUIET, ARRAY_LEN(names) - HW_QUIET, ctx, "verdict", err);
    if (at < 0)
        return -1;
    n->verdict = (enum hw_steadiness)(at + HW_QUIET);
    n->n_ceilings = (int)count;
    return 0;
}
