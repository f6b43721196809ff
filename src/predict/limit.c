/* Limits of a prediction (an SLO, "30 tokens/s?"): met, missed, or a probability where the interval contains the limit. methods.md (63) */
#include "predict/limits.h"
#include <math.h>
#include <string.h>

static int grammar(const char *text, struct error *err)
{
    return error_set(err, ERROR_USAGE, "--slo: expected limits such as tok_s>=30,itl<=50ms,ttft<=1s, found \"%.64s\"", text);
}

static bool takes(const char **at, const char *what)
{
    const size_t n = strlen(what);
    if (strncmp(*at, what, n) != 0)
        return false;
    *at += n;
    return true;
}

int limit_seconds(const char *text, const char *what, double *out, struct error *err)
{
    const size_t n = strlen(text);
    const bool unit = n > 0 && text[n - 1] == 's';
    *out = unit ? units_parse(text, "s") : NAN;
    return *out > 0 && *out < 1e9
               ? 0
               : error_set(err, ERROR_USAGE, "%s: expected seconds with their unit, such as 50ms or 1s, found \"%.32s\"", what, text);
}

static int parse_one(struct limit *l, const char *text, struct error *err)
{
    const char *at = text;
    if (takes(&at, "tok_s>=")) {
        l->metric = SOLVE_TOK_S;
        return parse_double(at, 1e-9, 1e15, "--slo tok_s", &l->value, err);
    }
    if (takes(&at, "itl<="))
        l->metric = SOLVE_ITL;
    else if (takes(&at, "ttft<="))
        l->metric = SOLVE_TTFT;
    else
        return grammar(text, err);
    return limit_seconds(at, "--slo", &l->value, err);
}

int limits_parse(struct limits *l, const char *text, struct error *err)
{
    *l = (struct limits){ .n = 0 };
    for (const char *at = text;; at++) {
        char one[64];
        const size_t n = strcspn(at, ",");
        if (l->n == LIMITS_MAX)
            return error_set(err, ERROR_USAGE, "--slo: at most %d limits", LIMITS_MAX);
        if (n >= sizeof one)
            return grammar(at, err);
        snprintf(one, sizeof one, "%.*s", (int)n, at);
        if (parse_one(&l->l[l->n++], one, err) != 0)
            return -1;
        at += n;
        if (!*at)
            return 0;
    }
}

const char *limit_met_name(enum limit_met m)
{
    switch (m) {
    case LIMIT_MET:
        return "yes";
    case LIMIT_MISSED:
        return "no";
    case LIMIT_UNSURE:
        return "unsure";
    case LIMIT_UNKNOWN:
        break;
    }
    return "?";
}

/* The limit of a rate or of seconds, relative to the predicted seconds. */
static double allowed(const struct limit *l, const struct limit_phase *p)
{
    return l->metric == SOLVE_TOK_S ? p->tok_s / l->value : l->value / p->seconds;
}

struct limit_answer limit_answer(const struct limit *l, const struct limit_phase *p)
{
    const double x = allowed(l, p), sd = (x > 1 ? p->sd_s : p->sd_fast_s) / p->seconds;
    if (!(x > 0))
        return (struct limit_answer){ LIMIT_UNKNOWN, NAN, NAN };
    const double slack = 1e-12; /* rounding tolerance for limits met exactly */
    const enum limit_met by_value = x >= 1 - slack ? LIMIT_MET : LIMIT_MISSED;
    if (!(sd > 0))
        return (struct limit_answer){ by_value, NAN, NAN };
    const double z = log(x) / sd;
    return (struct limit_answer){ fabs(z) < PREDICT_Z90 ? LIMIT_UNSURE : by_value, 0.5 * erfc(-z / sqrt(2)), z };
}
