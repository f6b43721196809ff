/* Workloads by text: NAME:key=value,... or a file. */
#include "serving/generate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum unit { UNIT_TOKENS, UNIT_NUMBER, UNIT_SECONDS, UNIT_SPREAD };
enum { RANDOM = 1, LOGNORMAL = 2, SESSION = 4, ALL = RANDOM | LOGNORMAL | SESSION };

/* Values of keys, before they become a plan. */
enum key_id { K_IN, K_OUT, K_RANGE, K_IN_SIGMA, K_OUT_SIGMA, K_SIGMA, K_IN_P50, K_IN_P95, K_OUT_P50, K_OUT_P95, K_IN_MAX, K_OUT_MAX, K_PREFIX,
              K_PREFIXES, K_TURNS, K_TURNS_DIST, K_NEW, K_THINK, K_THINK_DIST, K_THINK_SIGMA, K_COUNT };

static const struct key {
    const char *name;
    enum unit unit;
    double lo, hi;
    unsigned kinds;
    double otherwise;
} keys[K_COUNT] = {
    [K_IN] = { "in", UNIT_TOKENS, 0, SERVE_MAX_TOKENS, ALL, 1024 },
    [K_OUT] = { "out", UNIT_TOKENS, 1, SERVE_MAX_TOKENS, ALL, 128 },
    [K_RANGE] = { "range", UNIT_NUMBER, 0, 0.999999, RANDOM | SESSION, 0 },
    [K_IN_SIGMA] = { "in-sigma", UNIT_NUMBER, 0, 5, LOGNORMAL | SESSION, NAN },
    [K_OUT_SIGMA] = { "out-sigma", UNIT_NUMBER, 0, 5, LOGNORMAL | SESSION, NAN },
    [K_SIGMA] = { "sigma", UNIT_NUMBER, 0, 5, LOGNORMAL | SESSION, NAN },
    [K_IN_P50] = { "in-p50", UNIT_TOKENS, 1, SERVE_MAX_TOKENS, LOGNORMAL, NAN },
    [K_IN_P95] = { "in-p95", UNIT_TOKENS, 1, SERVE_MAX_TOKENS, LOGNORMAL, NAN },
    [K_OUT_P50] = { "out-p50", UNIT_TOKENS, 1, SERVE_MAX_TOKENS, LOGNORMAL, NAN },
    [K_OUT_P95] = { "out-p95", UNIT_TOKENS, 1, SERVE_MAX_TOKENS, LOGNORMAL, NAN },
    [K_IN_MAX] = { "in-max", UNIT_TOKENS, 1, SERVE_MAX_TOKENS, LOGNORMAL | SESSION, 0 },
    [K_OUT_MAX] = { "out-max", UNIT_TOKENS, 1, SERVE_MAX_TOKENS, LOGNORMAL | SESSION, 0 },
    [K_PREFIX] = { "prefix", UNIT_TOKENS, 0, SERVE_MAX_TOKENS, ALL, 0 },
    [K_PREFIXES] = { "prefixes", UNIT_TOKENS, 1, 1 << 30, ALL, 1 },
    [K_TURNS] = { "turns", UNIT_TOKENS, 1, GENERATE_MOST_TURNS, SESSION, 4 },
    [K_TURNS_DIST] = { "turns-dist", UNIT_SPREAD, 0, 0, SESSION, SPREAD_FIXED },
    [K_NEW] = { "new", UNIT_TOKENS, 1, SERVE_MAX_TOKENS, SESSION, 256 },
    [K_THINK] = { "think", UNIT_SECONDS, 0, 4e6, SESSION, 10 },
    [K_THINK_DIST] = { "think-dist", UNIT_SPREAD, 0, 0, SESSION, SPREAD_EXPONENTIAL },
    [K_THINK_SIGMA] = { "think-sigma", UNIT_NUMBER, 0, 5, SESSION, 1 },
};

static const struct kind {
    const char *name;
    unsigned bit;
    const char *help;
} kinds[] = {
    { "random", RANDOM, "lengths fixed or uniform: random:in=1024,out=128[,range=0.5][,prefix=256]" },
    { "lognormal", LOGNORMAL, "lognormal lengths: lognormal:in=512,out=200,sigma=0.8, or in-p50=300,in-p95=2000,out-p50=150,out-p95=600" },
    { "session", SESSION, "conversations: session:turns=6,in=2000,new=300,out=200,think=10s,prefix=1024" },
};

/* Files by name: below one of the folders, as they are published. */
static const struct named_file {
    const char *name, *file, *help;
} files[] = {
    { "azure-conv", "AzureLLMInferenceTrace_conv.csv", "Azure's conversation service, November 2023" },
    { "azure-code", "AzureLLMInferenceTrace_code.csv", "Azure's code service, November 2023" },
    { "mooncake", "mooncake_conversation_trace.jsonl", "Mooncake's conversations (FAST'25), with shared prefixes" },
    { "agentic", "agentic_sessions.csv", "sessions of coding agents, with shared prefixes" },
};

enum { N_KIND = ARRAY_LEN(kinds), N_FILE = ARRAY_LEN(files) };

const char *serve_workload_plan_name(size_t i)
{
    return i < N_KIND ? kinds[i].name : i < N_KIND + N_FILE ? files[i - N_KIND].name : i == N_KIND + N_FILE ? "empirical" : NULL;
}

const char *serve_workload_plan_help(size_t i)
{
    return i < N_KIND ? kinds[i].help : i < N_KIND + N_FILE ? files[i - N_KIND].help
           : i == N_KIND + N_FILE ? "lengths drawn from a file's requests: empirical:FILE" : NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------------------ */

static const struct suffix {
    const char *name;
    double factor;
} suffixes[][5] = {
    [UNIT_TOKENS] = { { "k", 1e3 }, { "K", 1e3 }, { "M", 1e6 } },
    [UNIT_NUMBER] = { { NULL, 0 } },
    [UNIT_SECONDS] = { { "ms", 1e-3 }, { "s", 1 }, { "min", 60 }, { "h", 3600 } },
};
static const char *const unit_help[] = { "tokens, with k or M", "a number", "a time with ms, s, min or h", "" };

static const struct {
    const char *name;
    enum spread_kind kind;
} spreads[] = { { "fixed", SPREAD_FIXED }, { "uniform", SPREAD_UNIFORM }, { "lognormal", SPREAD_LOGNORMAL },
                { "exponential", SPREAD_EXPONENTIAL }, { "geometric", SPREAD_GEOMETRIC } };

static double parse_spread(const char *s)
{
    for (size_t i = 0; i < ARRAY_LEN(spreads); i++)
        if (strcmp(s, spreads[i].name) == 0)
            return spreads[i].kind;
    return NAN;
}

/* NAN: no number of that unit. */
static double parse_value(const char *s, enum unit unit)
{
    char *end;
    if (unit == UNIT_SPREAD)
        return parse_spread(s);
    if (!((*s >= '0' && *s <= '9') || *s == '.') || s[strspn(s, "0123456789.")] == 'x')
        return NAN;
    const double v = strtod(s, &end);
    if (*end == '\0')
        return unit == UNIT_SECONDS || isfinite(v) ? v : NAN;
    for (size_t i = 0; i < ARRAY_LEN(suffixes[unit]) && suffixes[unit][i].name; i++)
        if (strcmp(end, suffixes[unit][i].name) == 0)
            return v * suffixes[unit][i].factor;
    return NAN;
}

static int unknown_key(const struct kind *k, const char *key, size_t n, struct error *err)
{
    char known[256];
    size_t m = 0;
    for (size_t i = 0; i < K_COUNT && m < sizeof known; i++)
        if (keys[i].kinds & k->bit)
            m += (size_t)snprintf(known + m, sizeof known - m, "%s%s", m ? ", " : "", keys[i].name);
    return error_set(err, ERROR_USAGE, "workload \"%s\": unknown key \"%.*s\": expected %s", k->name, (int)(n < 40 ? n : 40), key, known);
}

static int parse_pair(const struct kind *k, const char *s, size_t n, double *value, struct error *err)
{
    char text[64];
    const char *eq = memchr(s, '=', n);
    const size_t n_key = eq ? (size_t)(eq - s) : n;
    size_t i = 0;
    while (i < K_COUNT && !(keys[i].kinds & k->bit && strlen(keys[i].name) == n_key && memcmp(keys[i].name, s, n_key) == 0))
        i++;
    if (i == K_COUNT)
        return unknown_key(k, s, n_key, err);
    snprintf(text, sizeof text, "%.*s", eq ? (int)(n - n_key - 1) : 0, eq ? eq + 1 : "");
    const double v = parse_value(text, keys[i].unit);
    if (keys[i].unit == UNIT_SPREAD && isnan(v))
        return error_set(err, ERROR_USAGE, "workload \"%s\": %s is \"%s\": expected fixed, uniform, lognormal, exponential or geometric", k->name,
                         keys[i].name, text);
    if (keys[i].unit != UNIT_SPREAD && !(v >= keys[i].lo && v <= keys[i].hi))
        return error_set(err, ERROR_USAGE, "workload \"%s\": %s is \"%s\": expected %s, %.7g to %.7g", k->name, keys[i].name, text,
                         unit_help[keys[i].unit], keys[i].lo, keys[i].hi);
    if (keys[i].unit == UNIT_TOKENS && v != floor(v))
        return error_set(err, ERROR_USAGE, "workload \"%s\": %s is \"%s\": expected a whole number", k->name, keys[i].name, text);
    if (!isnan(value[i]))
        return error_set(err, ERROR_USAGE, "workload \"%s\": %s is given twice", k->name, keys[i].name);
    value[i] = v;
    return 0;
}

/* ---- plans ------------------------------------------------------------------------------------------------------------------- */

static double given(const double *value, enum key_id k)
{
    return isnan(value[k]) ? keys[k].otherwise : value[k];
}

/* Lengths by mean and sigma, by percentiles, by range, or fixed. */
static int length_spread(const struct kind *k, const double *value, bool in, struct spread *s, struct error *err)
{
    const double p50 = value[in ? K_IN_P50 : K_OUT_P50], p95 = value[in ? K_IN_P95 : K_OUT_P95];
    const double own = value[in ? K_IN_SIGMA : K_OUT_SIGMA], sigma = isnan(own) ? value[K_SIGMA] : own;
    const char *side = in ? "in" : "out";
    *s = (struct spread){ .mean = given(value, in ? K_IN : K_OUT), .spread = given(value, K_RANGE) };
    s->kind = s->spread > 0 ? SPREAD_UNIFORM : SPREAD_FIXED;
    if (isnan(p50) != isnan(p95))
        return error_set(err, ERROR_USAGE, "workload \"%s\": expected both %s-p50 and %s-p95", k->name, side, side);
    if (!isnan(p50)) {
        if (!(p95 >= p50))
            return error_set(err, ERROR_USAGE, "workload \"%s\": %s-p95 is %g: expected at least %s-p50, %g", k->name, side, p95, side, p50);
        if (!isnan(value[in ? K_IN : K_OUT]) || !isnan(own))
            return error_set(err, ERROR_USAGE, "workload \"%s\": %s by percentiles and by mean or sigma: expected one of them", k->name, side);
        *s = spread_from_percentiles(p50, p95);
    } else if (k->bit == LOGNORMAL || !isnan(sigma)) {
        if (s->spread > 0)
            return error_set(err, ERROR_USAGE, "workload \"%s\": range and sigma: expected one of them", k->name);
        *s = (struct spread){ SPREAD_LOGNORMAL, s->mean, isnan(sigma) ? 1 : sigma, 0 };
    }
    s->most = given(value, in ? K_IN_MAX : K_OUT_MAX);
    return 0;
}

static int session_plan(struct serve_workload_plan *p, const double *value, struct error *err)
{
    p->turns = (struct spread){ (enum spread_kind)given(value, K_TURNS_DIST), given(value, K_TURNS), 0.5, GENERATE_MOST_TURNS };
    p->think_s = (struct spread){ (enum spread_kind)given(value, K_THINK_DIST), given(value, K_THINK), given(value, K_THINK_SIGMA), 0 };
    p->fresh = p->in;
    p->fresh.mean = given(value, K_NEW);
    if (p->think_s.kind == SPREAD_GEOMETRIC || p->think_s.kind == SPREAD_UNIFORM)
        return error_set(err, ERROR_USAGE, "workload \"session\": think-dist: expected fixed, exponential or lognormal");
    if (p->turns.kind == SPREAD_EXPONENTIAL)
        return error_set(err, ERROR_USAGE, "workload \"session\": turns-dist: expected fixed, uniform, geometric or lognormal");
    return 0;
}

static int parse_kind(struct serve_workload_plan *p, const struct kind *k, const char *s, struct error *err)
{
    double value[K_COUNT];
    for (size_t i = 0; i < K_COUNT; i++)
        value[i] = NAN;
    while (*s) {
        const size_t n = strcspn(s, ",");
        if (parse_pair(k, s, n, value, err) != 0)
            return -1;
        s += n;
        if (*s && *++s == '\0')
            return unknown_key(k, "", 0, err);
    }
    p->source = k->bit == SESSION ? SOURCE_SESSIONS : SOURCE_LENGTHS;
    p->prefix = (uint32_t)given(value, K_PREFIX);
    p->n_prefix = (uint32_t)given(value, K_PREFIXES);
    if (length_spread(k, value, true, &p->in, err) != 0 || length_spread(k, value, false, &p->out, err) != 0)
        return -1;
    if (p->in.mean < 1 && p->prefix == 0)
        return error_set(err, ERROR_USAGE, "workload \"%s\": in is 0: expected at least 1 token, or a prefix", k->name);
    return k->bit == SESSION ? session_plan(p, value, err) : 0;
}

/* DIR/FILE, DIR/traces/FILE. */
static bool find_file(char *path, size_t size, const char *file, const char *const *dirs)
{
    static const char *const under[] = { "", "traces/" };
    for (size_t i = 0; dirs && dirs[i]; i++)
        for (size_t k = 0; k < ARRAY_LEN(under); k++)
            if ((size_t)snprintf(path, size, "%s/%s%s", dirs[i], under[k], file) < size && file_exists(path))
                return true;
    return false;
}

static int set_path(struct serve_workload_plan *p, const char *path, struct error *err)
{
    if ((size_t)snprintf(p->path, sizeof p->path, "%s", path) >= sizeof p->path)
        return error_set(err, ERROR_USAGE, "workload: a path of %zu characters: expected fewer than %zu", strlen(path), sizeof p->path);
    p->source = SOURCE_TRACE;
    return 0;
}

static int unknown_workload(const char *text, struct error *err)
{
    char formats[256];
    size_t m = 0;
    for (size_t i = 0; trace_format(i) && m < sizeof formats; i++)
        m += (size_t)snprintf(formats + m, sizeof formats - m, "%s%s", i ? ", " : "", trace_format(i)->name);
    return error_set(err, ERROR_USAGE,
                     "workload \"%.80s\": no such file or name: expected a file, azure-conv, azure-code, mooncake, agentic, "
                     "random:in=1024,out=128[,range=0.5], lognormal:in=512,out=200,sigma=0.8, "
                     "session:turns=6,in=2000,new=300,out=200,think=10s,prefix=1024, empirical:FILE, or FORMAT:FILE (%s)",
                     text, formats);
}

int serve_workload_plan_parse(struct serve_workload_plan *p, const char *text, const char *const *dirs, struct error *err)
{
    char head[32];
    *p = (struct serve_workload_plan){ .n_prefix = 1 };
    snprintf(p->name, sizeof p->name, "%s", text);
    const size_t n = strcspn(text, ":");
    snprintf(head, sizeof head, "%.*s", (int)(n < 31 ? n : 31), text);
    const char *rest = text[n] ? text + n + 1 : "";
    for (size_t i = 0; i < N_KIND; i++)
        if (strcmp(head, kinds[i].name) == 0)
            return parse_kind(p, &kinds[i], rest, err);
    for (size_t i = 0; i < N_FILE; i++)
        if (strcmp(text, files[i].name) == 0) {
            char path[1024];
            if (find_file(path, sizeof path, files[i].file, dirs))
                return set_path(p, path, err);
            return error_set(err, ERROR_USAGE, "workload \"%s\": %s is in no data folder: give the file's path", text, files[i].file);
        }
    if (*rest && (strcmp(head, "empirical") == 0 || (p->format = trace_find(head)))) {
        if (set_path(p, rest, err) != 0)
            return -1;
        p->source = p->format ? SOURCE_TRACE : SOURCE_EMPIRICAL;
        return 0;
    }
    if (!file_exists(text))
        return unknown_workload(text, err);
    return set_path(p, text, err);
}
