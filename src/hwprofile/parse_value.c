/* Field readers: text, objects, numbers with unit and source. */
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CTX = HW_CTX };

static bool field_free(const char *key)
{
    return key[0] == '_' || strcmp(key, "notes") == 0;
}

int hw_check_fields(const json_t *o, const char *ctx, const char *const *known, size_t n,
                    struct error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(o))
        return error_set(err, ERROR_INPUT, "%s: expected a JSON object", ctx);
    json_object_foreach((json_t *)(uintptr_t)o, key, value)
    {
        size_t at = 0;
        while (at < n && strcmp(key, known[at]) != 0)
            at++;
        if (at < n || field_free(key))
            continue;
        const char *best = known[0];
        for (size_t i = 1; i < n; i++)
            if (edit_distance(key, known[i]) < edit_distance(key, best))
                best = known[i];
        return error_set(err, ERROR_INPUT,
                         "%s: unknown field \"%.64s\"; the nearest known one is \"%s\" (fields that start with \"_\" are ignored)", ctx, key,
                         best);
    }
    return 0;
}

int hw_get_text(const json_t *o, const char *ctx, const char *key, bool required, char *buf,
                size_t size, struct error *err)
{
    const char *s = NULL;
    if (required ? json_get_str(o, ctx, key, &s, err) : json_get_str_opt(o, ctx, key, &s, err))
        return -1;
    if (!s)
        return 0;
    if (required && !*s)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\" is empty", ctx, key);
    if (strlen(s) >= size)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"%s\": expected at most %zu bytes, found %zu", ctx, key,
                         size - 1, strlen(s));
    memcpy(buf, s, strlen(s) + 1);
    return 0;
}

int hw_get_object(const json_t *o, const char *ctx, const char *key, const json_t **out,
                  struct error *err)
{
    *out = json_object_get(o, key);
    if (json_is_null(*out))
        *out = NULL;
    if (*out && !json_is_object(*out))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected a JSON object", ctx, key);
    return 0;
}

int hw_check_choice(const char *text, const char *const *known, size_t n, const char *ctx,
                    const char *key, struct error *err)
{
    char list[128] = "";
    for (size_t i = 0, len = 0; i < n; i++) {
        if (strcmp(text, known[i]) == 0)
            return (int)i;
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "", known[i]);
        if (len >= sizeof list)
            break;
    }
    return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected one of %s, found \"%.64s\"", ctx,
                     key, list, text);
}

/* Lower limits catch unit mistakes: any machine that runs a model has a million of these. */
const struct hw_quantity hw_q_bytes = { { "B" }, 1e6, 1e18, true };
const struct hw_quantity hw_q_bytes_s = { { "B/s" }, 1e6, 1e18, true };
const struct hw_quantity hw_q_flop_s = { { "FLOP/s", "OP/s", "FLOPS", "OPS" }, 1e6, 1e24, true };
const struct hw_quantity hw_q_watt = { { "W" }, 0, 1e9, false };
const struct hw_quantity hw_q_fraction = { { "" }, 0, 1, false };
const struct hw_quantity hw_q_seconds = { { "s" }, 0, 3600, true };
const struct hw_quantity hw_q_count = { { "" }, 1, 1e6, true };
const struct hw_quantity hw_q_hz = { { "Hz" }, 1e6, 1e12, true };
const struct hw_quantity hw_q_usd_h = { { "USD/h" }, 0, 1e6, true };

/* NaN: wrong unit. */
static double parse_units(const char *text, const struct hw_quantity *q)
{
    for (size_t i = 0; i < ARRAY_LEN(q->unit) && q->unit[i]; i++) {
        double v = units_parse(text, q->unit[i]);
        if (!isnan(v))
            return v;
    }
    return NAN;
}

/* "3350 GB/s": unit required. */
static int value_from_text(double *out, const char *text, const struct hw_quantity *q,
                           const char *ctx, struct error *err)
{
    char *end;
    (void)strtod(text, &end);
    bool bare = end[strspn(end, " ")] == 0;
    *out = bare && q->unit[0][0] ? NAN : parse_units(text, q);
    if (isnan(*out))
        return error_set(err, ERROR_INPUT,
                         "%s: expected a number with a unit such as \"1.5 T%s\", found \"%.64s\"",
                         ctx, q->unit[0], text);
    return 0;
}

/* 3350 and "GB/s" */
static int value_from_number(double *out, double v, const char *unit, const struct hw_quantity *q,
                             const char *ctx, struct error *err)
{
    char text[128];
    *out = v;
    if (!q->unit[0][0])
        return *unit && strcmp(unit, "1") != 0 ?
                   error_set(err, ERROR_INPUT, "%s: a fraction has no unit, found \"%.64s\"", ctx,
                             unit) :
                   0;
    if (!*unit)
        return error_set(err, ERROR_INPUT, "%s: field \"unit\" is missing, expected \"%s\"", ctx,
                         q->unit[0]);
    if (strlen(unit) < 32) {
        /* Scale of the unit alone, so that the number is not rounded. */
        snprintf(text, sizeof text, "1 %s", unit);
        double scale = parse_units(text, q);
        if (!isnan(scale)) {
            *out = v * scale;
            return 0;
        }
    }
    return error_set(err, ERROR_INPUT, "%s: unknown unit \"%.64s\", expected \"%s\"", ctx, unit,
                     q->unit[0]);
}

int hw_get_value(struct hw_value *v, const json_t *parent, const char *pctx, const char *key,
                 const struct hw_quantity *q, struct error *err)
{
    static const char *const known[] = { "value", "unit", "source" };
    const json_t *o = json_object_get(parent, key);
    if (!o || json_is_null(o))
        return 0;
    char ctx[CTX];
    snprintf(ctx, sizeof ctx, "%s.%s", pctx, key);
    double x;
    char source[sizeof v->source] = "no source given";
    if (json_is_string(o)) {
        if (value_from_text(&x, json_string_value(o), q, ctx, err) != 0)
            return -1;
    } else if (json_is_object(o)) {
        char unit[64] = "";
        const json_t *value = json_object_get(o, "value");
        if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
            hw_get_text(o, ctx, "unit", false, unit, sizeof unit, err) != 0 ||
            hw_get_text(o, ctx, "source", false, source, sizeof source, err) != 0)
            return -1;
        if (!value || json_is_null(value))
            return error_set(err, ERROR_INPUT, "%s: field \"value\" is missing, expected a number",
                             ctx);
        if (json_is_string(value) && !*unit) {
            if (value_from_text(&x, json_string_value(value), q, ctx, err) != 0)
                return -1;
        } else if (json_is_number(value)) {
            if (value_from_number(&x, json_number_value(value), unit, q, ctx, err) != 0)
                return -1;
        } else {
            return error_set(err, ERROR_INPUT,
                             "%s: field \"value\": expected a number with \"unit\" next to it, or "
                             "text such as \"1.5 T%s\" without",
                             ctx, q->unit[0]);
        }
    } else {
        return error_set(err, ERROR_INPUT,
                         "%s: expected {\"value\": .., \"unit\": \"%s\", \"source\": ..}, or text "
                         "such as \"1.5 T%s\"",
                         ctx, q->unit[0], q->unit[0]);
    }
    if (!isfinite(x) || x < q->lo || x > q->hi || (x <= q->lo && !q->lo_ok))
        return error_set(err, ERROR_INPUT, "%s: expected %s %g and at most %g %s, found %g", ctx,
                         q->lo_ok ? "at least" : "more than", q->lo, q->hi, q->unit[0], x);
    v->value = x;
    memcpy(v->source, *source ? source : "no source given",
           strlen(*source ? source : "no source given") + 1);
    return 0;
}
