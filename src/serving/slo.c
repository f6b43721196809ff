#include "serving/slo.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct metric_name {
    const char *key, *name;
} metric_names[SERVE_METRICS] = {
    [SERVE_TTFT] = { "ttft", "TTFT" },
    [SERVE_ITL] = { "itl", "ITL" },
    [SERVE_TPOT] = { "tpot", "TPOT" },
    [SERVE_E2E] = { "e2e", "E2E" },
    [SERVE_QUEUE] = { "queue", "queue" },
    [SERVE_CLIENT_QUEUE] = { "client_queue", "client queue" },
    [SERVE_E2E_CLIENT] = { "e2e_client", "E2E with client queue" },
};

const char *serve_metric_key(enum serve_metric m)
{
    return metric_names[m].key;
}

const char *serve_metric_name(enum serve_metric m)
{
    return metric_names[m].name;
}

#define FORMS "expected \"ttft=1s,tpot=50ms\", \"95%%:ttft=1s\", \"p99:ttft=1s,itl=50ms\" or \"mean:ttft=1s\""

static int bad(const char *text, const char *what, const char *part, size_t n, struct error *err)
{
    return error_set(err, ERROR_USAGE, "--slo %.200s: %s \"%.*s\": " FORMS, text, what, (int)(n < 40 ? n : 40), part);
}

/* A number between what stands before it and the end of the part; false: none, or more. */
static bool number(const char *s, const char *end, double *v)
{
    char buf[32], *stop;
    const size_t n = (size_t)(end - s);
    if (n == 0 || n >= sizeof buf || strspn(s, "0123456789.eE+-") < n || !strchr("0123456789.", *s))
        return false;
    memcpy(buf, s, n);
    buf[n] = 0;
    *v = strtod(buf, &stop);
    return *stop == 0 && isfinite(*v);
}

/* What stands before ':'. */
static int parse_reading(struct serve_slo *s, const char *from, const char *to, const char *text, struct error *err)
{
    double v = NAN;
    if (to - from == 4 && memcmp(from, "mean", 4) == 0) {
        s->reading = SLO_MEAN;
        s->share = NAN;
        return 0;
    }
    const bool percentile = to > from && *from == 'p';
    const bool share = to > from && to[-1] == '%';
    if (percentile == share || !number(from + percentile, to - share, &v))
        return bad(text, "reading", from, (size_t)(to - from), err);
    if (!(v > 0 && v < 100))
        return bad(text, "not between 0 and 100: reading", from, (size_t)(to - from), err);
    s->reading = percentile ? SLO_PERCENTILE : SLO_JOINT;
    s->share = v / 100;
    return 0;
}

static int parse_time(double *s, const char *from, const char *to, const char *text, struct error *err)
{
    static const struct {
        const char *unit;
        double s;
    } units[] = { { "ms", 1e-3 }, { "us", 1e-6 }, { "s", 1 } };
    double v;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        const size_t n = strlen(units[i].unit);
        if ((size_t)(to - from) <= n || memcmp(to - n, units[i].unit, n) != 0)
            continue;
        if (!number(from, to - n, &v))
            break;
        if (!(v > 0 && v * units[i].s < 1e7))
            return bad(text, "not above 0 and below 1e7 s: time", from, (size_t)(to - from), err);
        *s = v * units[i].s;
        return 0;
    }
    return bad(text, "not a time in s, ms or us:", from, (size_t)(to - from), err);
}

static int find_metric(enum serve_metric *m, const char *from, size_t n, const char *text, struct error *err)
{
    static const struct {
        const char *word;
        enum serve_metric m;
    } words[] = { { "ttft", SERVE_TTFT }, { "itl", SERVE_ITL }, { "tpot", SERVE_TPOT }, { "e2e", SERVE_E2E }, { "e2el", SERVE_E2E } };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(words[i].word) == n && memcmp(words[i].word, from, n) == 0) {
            *m = words[i].m;
            return 0;
        }
    return bad(text, "not ttft, itl, tpot or e2e:", from, n, err);
}

static int parse_limit(struct serve_slo *s, const char *from, const char *to, const char *text, struct error *err)
{
    const char *eq = memchr(from, '=', (size_t)(to - from));
    struct slo_limit l;
    if (!eq)
        return bad(text, "no '=' in", from, (size_t)(to - from), err);
    if (find_metric(&l.metric, from, (size_t)(eq - from), text, err) != 0 || parse_time(&l.limit_s, eq + 1, to, text, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n; i++)
        if (s->limit[i].metric == l.metric)
            return bad(text, "given twice:", from, (size_t)(to - from), err);
    if (s->reading == SLO_JOINT && l.metric == SERVE_ITL)
        return error_set(err, ERROR_USAGE, "--slo %.200s: itl is of all requests' gaps, not of a request: take tpot, or a percentile of each metric, p99:itl=50ms", text);
    s->limit[s->n++] = l; /* at most one a metric: SLO_MOST */
    return 0;
}

int serve_slo_parse(struct serve_slo *s, const char *text, struct error *err)
{
    const char *from = text, *colon = strchr(text, ':');
    *s = (struct serve_slo){ .reading = SLO_JOINT, .share = 0.99 };
    if (strlen(text) >= sizeof s->text)
        return error_set(err, ERROR_USAGE, "--slo: longer than %zu characters", sizeof s->text - 1);
    snprintf(s->text, sizeof s->text, "%s", text);
    if (colon) {
        if (parse_reading(s, text, colon, text, err) != 0)
            return -1;
        from = colon + 1;
    }
    for (const char *to;; from = to + 1) {
        to = from + strcspn(from, ",");
        if (parse_limit(s, from, to, text, err) != 0)
            return -1;
        if (!*to)
            return 0;
    }
}
