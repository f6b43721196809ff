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

static int read_verdict(void *p, const json_t *o, const char *ctx, struct error *err)
{
    char verdict[16] = "";
    if (hw_get_text(o, ctx, "verdict", true, verdict, sizeof verdict, err) != 0)
        return -1;
    const int at = hw_check_choice(verdict, names + HW_QUIET, ARRAY_LEN(names) - HW_QUIET, ctx, "verdict", err);
    if (at < 0)
        return -1;
    ((struct hw_noise *)p)->verdict = (enum hw_steadiness)(at + HW_QUIET);
    return 0;
}

static int put_verdict(json_t *o, const void *p)
{
    return hw_put(o, "verdict", json_string(hw_steadiness_name(((const struct hw_noise *)p)->verdict)));
}

static const struct hw_field noise_fields[] = {
    HW_CHILD_FIELD("verdict", read_verdict, put_verdict),
    HW_NUMBER_FIELD("between_rounds", struct hw_noise, between, HW_REQUIRED | HW_ALWAYS),
    HW_INT_FIELD("n_ceilings", struct hw_noise, n_ceilings, HW_ALWAYS, 0, 1 << 20),
    HW_TEXT_FIELD("worst", struct hw_noise, worst, HW_ALWAYS),
    HW_NUMBER_FIELD("worst_between_rounds", struct hw_noise, worst_between, HW_ALWAYS),
};

int hw_read_noise(void *p, const json_t *o, const char *pctx, struct error *err)
{
    struct hw_noise *n = &((struct hwprofile *)p)->noise;
    const json_t *j;
    char ctx[HW_CTX];
    *n = (struct hw_noise){ .verdict = HW_NOISE_UNKNOWN, .between = NAN, .worst_between = NAN };
    snprintf(ctx, sizeof ctx, "%s: noise", pctx);
    if (hw_get_object(o, pctx, "noise", &j, err) != 0)
        return -1;
    if (!j)
        return 0;
    if (hw_read_fields(n, noise_fields, ARRAY_LEN(noise_fields), j, ctx, err) != 0)
        return -1;
    return n->between >= 0 ? 0 : error_set(err, ERROR_INPUT, "%s: field \"between_rounds\": expected at least 0, found %g", ctx, n->between);
}

int hw_put_noise(json_t *o, const void *p)
{
    const struct hw_noise *n = &((const struct hwprofile *)p)->noise;
    return n->verdict == HW_NOISE_UNKNOWN ? 0 : hw_put(o, "noise", hw_fields_to_json(n, noise_fields, ARRAY_LEN(noise_fields)));
}
