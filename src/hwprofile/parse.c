/*
 * A hwprofile JSON text to struct hwprofile, strictly: a field nobody knows, a unit that does not
 * fit, a number that is not positive is an error with the file and the field in it. The same rules
 * read profiles typed from a datasheet and profiles measured by `roofcast profile`.
 */
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CTX = 512, MAX_CEILINGS = 10000 };

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
        const char *best = NULL;
        size_t best_d = SIZE_MAX;
        for (size_t i = 0; i < n && best_d; i++) {
            size_t d = hw_edit_distance(key, known[i]);
            if (strcmp(key, known[i]) == 0)
                d = 0;
            else if (d == 0)
                d = 1;
            if (d < best_d) {
                best_d = d;
                best = known[i];
            }
        }
        if (best_d != 0 && !field_free(key))
            return error_set(err, ERROR_INPUT,
                             "%s: unknown field \"%.64s\"; the nearest known one is \"%s\" (fields "
                             "that start with \"_\" are ignored)",
                             ctx, key, best);
    }
    return 0;
}

/* A string field into a fixed array; what does not fit is an error. */
static int get_text(const json_t *o, const char *ctx, const char *key, bool required, char *buf,
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

static int get_object(const json_t *o, const char *ctx, const char *key, const json_t **out,
                      struct error *err)
{
    *out = json_object_get(o, key);
    if (json_is_null(*out))
        *out = NULL;
    if (*out && !json_is_object(*out))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected a JSON object", ctx, key);
    return 0;
}

/* How a quantity may be written. */
struct quantity {
    const char *unit[5]; /* accepted spellings, the first one named in messages; "" for a fraction */
    double lo, hi;       /* lo itself only where lo_ok */
    bool lo_ok;
};

static const struct quantity q_bytes = { { "B" }, 0, 1e18, false };
static const struct quantity q_bytes_s = { { "B/s" }, 0, 1e18, false };
static const struct quantity q_flop_s = { { "FLOP/s", "OP/s", "FLOPS", "OPS" }, 0, 1e24, false };
static const struct quantity q_watt = { { "W" }, 0, 1e9, false };
static const struct quantity q_fraction = { { "" }, 0, 1, false };
static const struct quantity q_seconds = { { "s" }, 0, 3600, true };

/* NaN: the unit does not fit. */
static double parse_units(const char *text, const struct quantity *q)
{
    for (size_t i = 0; i < ARRAY_LEN(q->unit) && q->unit[i]; i++) {
        double v = units_parse(text, q->unit[i]);
        if (!isnan(v))
            return v;
    }
    return NAN;
}

/* "3350 GB/s": the unit must be there. */
static int value_from_text(double *out, const char *text, const struct quantity *q,
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
static int value_from_number(double *out, double v, const char *unit, const struct quantity *q,
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
        /* The scale of the unit alone, so that the number itself is not rounded. */
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

/* {"value": 3.35e12, "unit": "B/s", "source": ".."}, {"value": "3350 GB/s", ..} or "3350 GB/s". */
static int get_value(struct hw_value *v, const json_t *parent, const char *pctx, const char *key,
                     const struct quantity *q, struct error *err)
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
            get_text(o, ctx, "unit", false, unit, sizeof unit, err) != 0 ||
            get_text(o, ctx, "source", false, source, sizeof source, err) != 0)
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
                             "%s: field \"value\": expected a number with \"unit\" beside it, or "
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

int hw_parse_efficiency(struct hw_efficiency *e, const json_t *o, const char *ctx,
                        struct error *err)
{
    static const char *const known[] = { "compute", "bandwidth", "launch_s" };
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        get_value(&e->compute, o, ctx, "compute", &q_fraction, err) != 0 ||
        get_value(&e->bandwidth, o, ctx, "bandwidth", &q_fraction, err) != 0 ||
        get_value(&e->launch_s, o, ctx, "launch_s", &q_seconds, err) != 0)
        return -1;
    return 0;
}

static int parse_spec(struct hwprofile *h, const json_t *o, const char *pctx, struct error *err)
{
    static const char *const known[] = { "memory_bytes", "memory_bandwidth", "peaks", "tdp_w" };
    const char *maths[MATH_COUNT];
    char ctx[CTX];
    const json_t *peaks;
    snprintf(ctx, sizeof ctx, "%s: spec", pctx);
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        get_value(&h->mem_bytes, o, ctx, "memory_bytes", &q_bytes, err) != 0 ||
        get_value(&h->mem_bw, o, ctx, "memory_bandwidth", &q_bytes_s, err) != 0 ||
        get_value(&h->tdp_w, o, ctx, "tdp_w", &q_watt, err) != 0 ||
        get_object(o, ctx, "peaks", &peaks, err) != 0)
        return -1;
    if (!peaks)
        return 0;
    for (int i = 0; i < MATH_COUNT; i++)
        maths[i] = math_name((enum math)i);
    snprintf(ctx, sizeof ctx, "%s: spec.peaks", pctx);
    if (hw_check_fields(peaks, ctx, maths, MATH_COUNT, err) != 0)
        return -1;
    for (int i = 0; i < MATH_COUNT; i++)
        if (get_value(&h->peak[i], peaks, ctx, maths[i], &q_flop_s, err) != 0)
            return -1;
    return 0;
}

static int parse_cache(struct hw_cache *c, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const known[] = { "level", "size_bytes", "n_instances", "line_bytes",
                                         "n_sharing" };
    int64_t level = 0, n = 0, line = 0, sharing = 0;
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        json_get_int(o, ctx, "level", 1, 9, &level, err) != 0 ||
        json_get_num(o, ctx, "size_bytes", &c->size_bytes, err) != 0 ||
        json_get_int(o, ctx, "n_instances", 1, 1 << 20, &n, err) != 0 ||
        json_get_int_opt(o, ctx, "line_bytes", 1, 1 << 20, &line, err) != 0 ||
        json_get_int_opt(o, ctx, "n_sharing", 1, 1 << 20, &sharing, err) != 0)
        return -1;
    if (!(c->size_bytes > 0 && c->size_bytes <= q_bytes.hi))
        return error_set(err, ERROR_INPUT, "%s: field \"size_bytes\": expected more than 0, found %g",
                         ctx, c->size_bytes);
    c->level = (int)level;
    c->n_instances = (int)n;
    c->line_bytes = (int)line;
    c->n_sharing = (int)sharing;
    return 0;
}

static int parse_caches(struct hwprofile *h, const json_t *a, const char *pctx, struct error *err)
{
    if (!a || json_is_null(a))
        return 0;
    if (!json_is_array(a))
        return error_set(err, ERROR_INPUT, "%s: field \"caches\": expected an array", pctx);
    size_t n = json_array_size(a);
    if (n == 0)
        return 0;
    h->cache = calloc(n, sizeof *h->cache);
    if (!h->cache)
        return error_oom(err, n * sizeof *h->cache, "caches");
    for (size_t i = 0; i < n; i++) {
        char ctx[CTX + 32];
        snprintf(ctx, sizeof ctx, "%s.caches[%zu]", pctx, i);
        if (parse_cache(&h->cache[i], json_array_get(a, i), ctx, err) != 0)
            return -1;
        h->n_cache = i + 1;
    }
    return 0;
}

static int parse_topology(struct hwprofile *h, const json_t *o, const char *pctx,
                          struct error *err)
{
    static const char *const known[] = { "cpu",    "isa",    "n_packages", "n_cores",
                                         "n_pus", "n_numa", "caches" };
    char ctx[CTX];
    int64_t packages = 0, cores = 0, pus = 0, numa = 0;
    snprintf(ctx, sizeof ctx, "%s: topology", pctx);
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        get_text(o, ctx, "cpu", false, h->cpu_model, sizeof h->cpu_model, err) != 0 ||
        get_text(o, ctx, "isa", false, h->isa, sizeof h->isa, err) != 0 ||
        json_get_int_opt(o, ctx, "n_packages", 1, 1 << 20, &packages, err) != 0 ||
        json_get_int_opt(o, ctx, "n_cores", 1, 1 << 20, &cores, err) != 0 ||
        json_get_int_opt(o, ctx, "n_pus", 1, 1 << 20, &pus, err) != 0 ||
        json_get_int_opt(o, ctx, "n_numa", 1, 1 << 20, &numa, err) != 0)
        return -1;
    h->n_packages = (int)packages;
    h->n_cores = (int)cores;
    h->n_pus = (int)pus;
    h->n_numa = (int)numa;
    return parse_caches(h, json_object_get(o, "caches"), ctx, err);
}

static int check_choice(const char *text, const char *const *known, size_t n, const char *ctx,
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

static int check_ceiling(const struct ceiling *c, const char *ctx, struct error *err)
{
    static const char *const kinds[] = { "compute", "bandwidth" };
    static const char *const levels[] = { "L1", "L2", "L3", "DRAM" };
    int kind = check_choice(c->kind, kinds, ARRAY_LEN(kinds), ctx, "kind", err);
    if (kind < 0)
        return -1;
    if (kind == 1 && check_choice(c->level, levels, ARRAY_LEN(levels), ctx, "level", err) < 0)
        return -1;
    if (kind == 0 && math_find(c->dtype) < 0)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"dtype\": expected an arithmetic such as fp32, found \"%s\"",
                         ctx, c->dtype);
    bool fits = kind == 1 ? strcmp(c->unit, "B/s") == 0 :
                            strcmp(c->unit, "FLOP/s") == 0 || strcmp(c->unit, "OP/s") == 0;
    if (!fits)
        return error_set(err, ERROR_INPUT, "%s: field \"unit\": expected \"%s\", found \"%s\"", ctx,
                         kind == 1 ? "B/s" : "FLOP/s", c->unit);
    const double number[] = { c->value, c->ci_lo, c->ci_hi, c->clock_hz };
    static const char *const key[] = { "value", "ci_lo", "ci_hi", "clock_hz" };
    for (size_t i = 0; i < ARRAY_LEN(number); i++)
        if (!isnan(number[i]) && !(number[i] > 0 && number[i] <= q_flop_s.hi))
            return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected more than 0, found %g",
                             ctx, key[i], number[i]);
    if (c->ci_lo > c->value || c->ci_hi < c->value)
        return error_set(err, ERROR_INPUT, "%s: value %g lies outside its interval %g to %g", ctx,
                         c->value, c->ci_lo, c->ci_hi);
    return 0;
}

static int parse_ceiling(struct ceiling *c, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const known[] = { "name", "kind",  "dtype",     "isa",    "level",
                                         "n_threads", "value", "unit", "ci_lo", "ci_hi",
                                         "n_samples", "kernel", "clock_hz", "cpus", "date" };
    int64_t n_threads = 0, n_samples = 0;
    *c = (struct ceiling){ .value = NAN, .ci_lo = NAN, .ci_hi = NAN, .clock_hz = NAN };
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        get_text(o, ctx, "name", true, c->name, sizeof c->name, err) != 0 ||
        get_text(o, ctx, "kind", true, c->kind, sizeof c->kind, err) != 0 ||
        get_text(o, ctx, "dtype", false, c->dtype, sizeof c->dtype, err) != 0 ||
        get_text(o, ctx, "isa", false, c->isa, sizeof c->isa, err) != 0 ||
        get_text(o, ctx, "level", false, c->level, sizeof c->level, err) != 0 ||
        get_text(o, ctx, "unit", true, c->unit, sizeof c->unit, err) != 0 ||
        get_text(o, ctx, "kernel", false, c->kernel, sizeof c->kernel, err) != 0 ||
        get_text(o, ctx, "cpus", false, c->cpus, sizeof c->cpus, err) != 0 ||
        get_text(o, ctx, "date", false, c->date, sizeof c->date, err) != 0 ||
        json_get_int(o, ctx, "n_threads", 1, 1 << 20, &n_threads, err) != 0 ||
        json_get_int_opt(o, ctx, "n_samples", 0, 1 << 30, &n_samples, err) != 0 ||
        json_get_num_opt(o, ctx, "value", &c->value, err) != 0 ||
        json_get_num_opt(o, ctx, "ci_lo", &c->ci_lo, err) != 0 ||
        json_get_num_opt(o, ctx, "ci_hi", &c->ci_hi, err) != 0 ||
        json_get_num_opt(o, ctx, "clock_hz", &c->clock_hz, err) != 0)
        return -1;
    c->n_threads = (int)n_threads;
    c->n_samples = (int)n_samples;
    return check_ceiling(c, ctx, err);
}

static int parse_ceilings(struct hwprofile *h, const json_t *a, const char *pctx,
                          struct error *err)
{
    if (!a || json_is_null(a))
        return 0;
    if (!json_is_array(a))
        return error_set(err, ERROR_INPUT, "%s: field \"ceilings\": expected an array", pctx);
    if (json_array_size(a) > MAX_CEILINGS)
        return error_set(err, ERROR_INPUT, "%s: field \"ceilings\": expected at most %d, found %zu",
                         pctx, MAX_CEILINGS, json_array_size(a));
    for (size_t i = 0; i < json_array_size(a); i++) {
        struct ceiling c;
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%s: ceilings[%zu]", pctx, i);
        if (parse_ceiling(&c, json_array_get(a, i), ctx, err) != 0 ||
            hwprofile_add_ceiling(h, &c, err) != 0)
            return -1;
    }
    return 0;
}

static int parse_aliases(struct hwprofile *h, const json_t *a, const char *ctx, struct error *err)
{
    if (!a || json_is_null(a))
        return 0;
    if (!json_is_array(a))
        return error_set(err, ERROR_INPUT, "%s: field \"aliases\": expected an array of strings",
                         ctx);
    size_t n = json_array_size(a);
    if (n == 0)
        return 0;
    h->alias = calloc(n, sizeof *h->alias);
    if (!h->alias)
        return error_oom(err, n * sizeof *h->alias, "aliases");
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(a, i));
        if (!s || !*s)
            return error_set(err, ERROR_INPUT, "%s: field \"aliases\"[%zu]: expected a name", ctx, i);
        h->alias[i] = strdup(s);
        if (!h->alias[i])
            return error_oom(err, strlen(s) + 1, "aliases");
        h->n_alias = i + 1;
    }
    return 0;
}

/* The one thing a prediction cannot do without. A machine that was looked at (topology known) may
 * lack it: `roofcast profile` can be interrupted. */
static int check_complete(const struct hwprofile *h, const char *ctx, struct error *err)
{
    bool peak = false, bandwidth = !isnan(h->mem_bw.value) || hwprofile_bandwidth(h, "DRAM", 1);
    for (int i = 0; i < MATH_COUNT; i++)
        peak |= !isnan(h->peak[i].value) || hwprofile_peak(h, (enum math)i, 1);
    if (h->n_pus > 0)
        return 0;
    if (!bandwidth)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"spec.memory_bandwidth\" is missing, expected {\"value\": .., "
                         "\"unit\": \"B/s\", \"source\": ..}",
                         ctx);
    if (!peak)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"spec.peaks\" is missing or empty, expected at least one peak "
                         "such as \"fp16\": {\"value\": .., \"unit\": \"FLOP/s\", \"source\": ..}",
                         ctx);
    return 0;
}

static int parse_profile(struct hwprofile *h, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const known[] = { "schema", "version",  "id",       "name",       "kind",
                                         "vendor", "aliases",  "spec",     "topology",   "ceilings",
                                         "efficiency", "date" };
    char kind[16], ectx[CTX];
    const json_t *spec, *topology, *efficiency;
    if (json_check_schema(o, ctx, HWPROFILE_SCHEMA, HWPROFILE_VERSION, err) != 0 ||
        hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        get_text(o, ctx, "id", false, h->id, sizeof h->id, err) != 0 ||
        get_text(o, ctx, "name", true, h->name, sizeof h->name, err) != 0 ||
        get_text(o, ctx, "kind", true, kind, sizeof kind, err) != 0 ||
        get_text(o, ctx, "vendor", false, h->vendor, sizeof h->vendor, err) != 0 ||
        get_text(o, ctx, "date", false, h->date, sizeof h->date, err) != 0 ||
        get_object(o, ctx, "spec", &spec, err) != 0 ||
        get_object(o, ctx, "topology", &topology, err) != 0 ||
        get_object(o, ctx, "efficiency", &efficiency, err) != 0)
        return -1;
    int k = check_choice(kind, hw_kind_names, ARRAY_LEN(hw_kind_names), ctx, "kind", err);
    if (k < 0)
        return -1;
    h->kind = (enum hw_kind)k;
    snprintf(ectx, sizeof ectx, "%s: efficiency", ctx);
    if (parse_aliases(h, json_object_get(o, "aliases"), ctx, err) != 0 ||
        (spec && parse_spec(h, spec, ctx, err) != 0) ||
        (topology && parse_topology(h, topology, ctx, err) != 0) ||
        parse_ceilings(h, json_object_get(o, "ceilings"), ctx, err) != 0 ||
        (efficiency && hw_parse_efficiency(&h->eff, efficiency, ectx, err) != 0))
        return -1;
    return check_complete(h, ctx, err);
}

/* "hwprofiles/h100-sxm.json" -> "h100-sxm" */
static void id_from_name(char *id, size_t size, const char *name)
{
    const char *slash = strrchr(name, '/');
    snprintf(id, size, "%.*s", (int)size - 1, slash ? slash + 1 : name);
    size_t n = strlen(id);
    if (n > 5 && strcmp(id + n - 5, ".json") == 0)
        id[n - 5] = 0;
}

int hwprofile_parse(struct hwprofile *h, const char *name, const void *data, size_t size,
                    struct error *err)
{
    char ctx[CTX / 2];
    hwprofile_init(h);
    /* The end of a long path says more than its start. */
    size_t n = strlen(name);
    snprintf(ctx, sizeof ctx, "%s", n < sizeof ctx ? name : name + n - (sizeof ctx - 1));
    json_t *o = json_load_mem(name, data, size, err);
    if (!o)
        return -1;
    int rc = parse_profile(h, o, ctx, err);
    json_decref(o);
    if (rc != 0) {
        hwprofile_free(h);
        return -1;
    }
    if (!h->id[0])
        id_from_name(h->id, sizeof h->id, name);
    return 0;
}
