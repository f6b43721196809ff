/* run/counts.c: "counts", "counting" and "certificate" of a run: event counts per test, counter overhead, calibration of the
 * events. Optional. */
#include "run/internal.h"

#include <math.h>
#include <string.h>

static json_t *text_or_null(const char *s)
{
    return *s ? json_text(s) : json_null();
}

/* Steals v; NULL v or failure gives NULL. */
static int set(json_t *o, const char *key, json_t *v)
{
    return json_object_set_new(o, key, v);
}

static json_t *count_json(const struct run_count *c)
{
    json_t *o = json_object();
    const int bad = set(o, "test", json_text(c->test)) | set(o, "phase", json_text(c->phase)) |
                    set(o, "role", text_or_null(c->role)) | set(o, "field", json_text(c->field)) |
                    set(o, "value", json_num(c->value)) | set(o, "per_s", json_num(c->per_s)) |
                    set(o, "source", text_or_null(c->source)) | set(o, "reason", text_or_null(c->reason));
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *counting_json(const struct run_counting *c)
{
    json_t *o = json_object();
    const int bad = set(o, "test", json_text(c->test)) | set(o, "phase", json_text(c->phase)) |
                    set(o, "backend", json_text(c->backend)) | set(o, "n_set", json_integer(c->n_set)) |
                    set(o, "plain_s", json_num(c->plain_s)) | set(o, "counted_s", json_num(c->counted_s)) |
                    set(o, "slowdown", json_num(c->slowdown));
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

int run_counts_to_json(const struct run *r, json_t *doc)
{
    json_t *counts = json_array(), *counting = json_array();
    int bad = 0;
    for (size_t i = 0; i < r->n_count; i++)
        bad |= json_array_append_new(counts, count_json(&r->count[i]));
    for (size_t i = 0; i < r->n_counting; i++)
        bad |= json_array_append_new(counting, counting_json(&r->counting[i]));
    bad |= set(doc, "counts", counts);
    bad |= set(doc, "counting", counting);
    bad |= r->certificate ? json_object_set(doc, "certificate", r->certificate) : set(doc, "certificate", json_array());
    return bad;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int get_text(char *out, size_t size, const json_t *o, const char *ctx, const char *key, bool needed, struct error *err)
{
    const char *s = NULL;
    if ((needed ? json_get_str : json_get_str_opt)(o, ctx, key, &s, err) != 0)
        return -1;
    if (s && strlen(s) >= size)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": %zu bytes, expected at most %zu", ctx, key, strlen(s), size - 1);
    snprintf(out, size, "%s", s ? s : "");
    return 0;
}

/* Non-negative, or null. */
static int get_amount(double *out, const json_t *o, const char *ctx, const char *key, struct error *err)
{
    *out = NAN;
    if (json_get_num_opt(o, ctx, key, out, err) != 0)
        return -1;
    if (*out < 0 || *out > 1e24)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected 0 to 1e24, found %g", ctx, key, *out);
    return 0;
}

static int get_phase(char *out, size_t size, const json_t *o, const char *ctx, struct error *err)
{
    if (get_text(out, size, o, ctx, "phase", true, err) != 0)
        return -1;
    if (strcmp(out, "prefill") == 0 || strcmp(out, "decode") == 0)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"phase\": expected \"prefill\" or \"decode\", found \"%s\"", ctx, out);
}

static int read_count(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_count c;
    memset(&c, 0, sizeof c);
    if (get_text(c.test, sizeof c.test, o, ctx, "test", true, err) != 0 || get_phase(c.phase, sizeof c.phase, o, ctx, err) != 0 ||
        get_text(c.role, sizeof c.role, o, ctx, "role", false, err) != 0 ||
        get_text(c.field, sizeof c.field, o, ctx, "field", true, err) != 0 ||
        get_amount(&c.value, o, ctx, "value", err) != 0 || get_amount(&c.per_s, o, ctx, "per_s", err) != 0 ||
        get_text(c.source, sizeof c.source, o, ctx, "source", false, err) != 0 ||
        get_text(c.reason, sizeof c.reason, o, ctx, "reason", false, err) != 0)
        return -1;
    return run_add_count(r, &c, err);
}

static int read_counting(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_counting c;
    int64_t n_set;
    memset(&c, 0, sizeof c);
    if (get_text(c.test, sizeof c.test, o, ctx, "test", true, err) != 0 || get_phase(c.phase, sizeof c.phase, o, ctx, err) != 0 ||
        get_text(c.backend, sizeof c.backend, o, ctx, "backend", true, err) != 0 ||
        json_get_int(o, ctx, "n_set", 1, 1000, &n_set, err) != 0 || get_amount(&c.plain_s, o, ctx, "plain_s", err) != 0 ||
        get_amount(&c.counted_s, o, ctx, "counted_s", err) != 0 || get_amount(&c.slowdown, o, ctx, "slowdown", err) != 0)
        return -1;
    c.n_set = (int)n_set;
    return run_add_counting(r, &c, err);
}

/* The certificate stays JSON; only the fields that are used are checked. */
static int read_certificate(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const classes[] = { "unchecked", "exact", "scaled", "polluted", "dead" };
    const char *s = NULL;
    double ratio = NAN;
    (void)r;
    if (json_get_str(o, ctx, "backend", &s, err) != 0 || json_get_str(o, ctx, "event", &s, err) != 0 ||
        json_get_str(o, ctx, "field", &s, err) != 0 || json_get_str(o, ctx, "source", &s, err) != 0 ||
        get_amount(&ratio, o, ctx, "ratio", err) != 0 || json_get_str(o, ctx, "class", &s, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strcmp(s, classes[i]) == 0)
            return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"class\": found \"%.32s\", expected unchecked, exact, scaled, polluted or dead",
                     ctx, s);
}

int run_read_list(struct run *r, const json_t *doc, const char *name, const char *key, run_read_fn *read,
                  struct error *err)
{
    const json_t *a = json_object_get(doc, key);
    char ctx[320];
    if (a && !json_is_array(a))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an array", name, key);
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *o = json_array_get(a, i);
        snprintf(ctx, sizeof ctx, "%.280s: %s[%zu]", name, key, i);
        if (!json_is_object(o))
            return error_set(err, ERROR_INPUT, "%s: expected an object", ctx);
        if (read(r, o, ctx, err) != 0)
            return -1;
    }
    return 0;
}

int run_read_counts(struct run *r, const json_t *doc, const char *name, struct error *err)
{
    if (run_read_list(r, doc, name, "counts", read_count, err) != 0 ||
        run_read_list(r, doc, name, "counting", read_counting, err) != 0 ||
        run_read_list(r, doc, name, "certificate", read_certificate, err) != 0)
        return -1;
    r->certificate = json_incref(json_object_get(doc, "certificate"));
    return 0;
}
