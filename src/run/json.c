/* run/json.c: a run to and from JSON, by the columns of columns.c. */
#include "run/internal.h"

#include <math.h>
#include <string.h>

#define RUN_SCHEMA  "roofcast.run"
#define RUN_VERSION 1
#define NUMBER_MAX  1e24 /* plausibility limit of counts, rates and times */

/* ---- writing -------------------------------------------------------------------- */

static json_t *struct_json(const struct table_fields *f, const void *base)
{
    json_t *o = json_object();
    for (size_t i = 0; o && i < f->n; i++) {
        const struct cell v = column_cell(&f->cols[i], base);
        if (json_object_set_new(o, f->cols[i].key, cell_json(&v)) != 0) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

/* A list of n structs. */
static json_t *list_json(const struct table_fields *f, const void *v, size_t n, size_t size)
{
    json_t *a = json_array();
    for (size_t i = 0; a && i < n; i++)
        if (json_array_append_new(a, struct_json(f, (const char *)v + i * size)) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

json_t *run_row_json(const struct run_row *r)
{
    return struct_json(&run_row_fields, r);
}

json_t *run_op_json(const struct run_op *o)
{
    return struct_json(&run_op_fields, o);
}

json_t *run_loading_json(const struct run_loading *l)
{
    return struct_json(&run_loading_fields, l);
}

json_t *run_provenance_json(const struct provenance *p)
{
    return struct_json(&run_prov_fields, p);
}

json_t *run_to_json(const struct run *r, struct error *err)
{
    json_t *doc = json_object();
    int bad = 0; /* jansson's setters steal the reference and reject NULL */
    bad |= json_object_set_new(doc, "schema", json_string(RUN_SCHEMA));
    bad |= json_object_set_new(doc, "version", json_integer(RUN_VERSION));
    bad |= json_object_set_new(doc, "provenance", run_provenance_json(&r->prov));
    bad |= json_object_set_new(doc, "loads", list_json(&run_loading_fields, r->loading, r->n_loading, sizeof *r->loading));
    bad |= json_object_set_new(doc, "rows", list_json(&run_row_fields, r->row, r->n_row, sizeof *r->row));
    bad |= json_object_set_new(doc, "repetitions", list_json(&run_rep_fields, r->rep, r->n_rep, sizeof *r->rep));
    bad |= json_object_set_new(doc, "ops", list_json(&run_op_fields, r->op, r->n_op, sizeof *r->op));
    bad |= json_object_set_new(doc, "counts", list_json(&run_count_fields, r->count, r->n_count, sizeof *r->count));
    bad |= json_object_set_new(doc, "counting", list_json(&run_counting_fields, r->counting, r->n_counting, sizeof *r->counting));
    bad |= r->certificate ? json_object_set(doc, "certificate", r->certificate) : json_object_set_new(doc, "certificate", json_array());
    if (*r->incomplete)
        bad |= json_object_set_new(doc, "incomplete", json_text(r->incomplete));
    if (r->findings)
        bad |= json_object_set(doc, "findings", r->findings);
    if (r->n_routing > 0)
        bad |= json_object_set_new(doc, "routing", run_routings_json(r));
    bad |= r->ceilings ? json_object_set(doc, "ceilings", r->ceilings)
                       : json_object_set_new(doc, "ceilings", json_array());
    if (!bad)
        return doc;
    json_decref(doc);
    error_oom(err, 0, "a run as JSON");
    return NULL;
}

int run_save(const struct run *r, const char *path, struct error *err)
{
    json_t *doc = run_to_json(r, err);
    if (!doc)
        return -1;
    int rc = json_save_path(doc, path, err);
    json_decref(doc);
    return rc;
}

/* ---- reading -------------------------------------------------------------------- */

static int check_phase(const char *ctx, const char *phase, struct error *err)
{
    if (!strcmp(phase, "prefill") || !strcmp(phase, "decode"))
        return 0;
    return error_set(
        err, ERROR_INPUT,
        "%s: field \"phase\": expected \"prefill\" or \"decode\", found \"%s\"", ctx,
        phase);
}

static int read_text(const json_t *o, const char *ctx, const struct column *c, char *out,
                     struct error *err)
{
    const char *s = NULL;
    int rc = c->empty == EMPTY_VALUE ? json_get_str(o, ctx, c->key, &s, err)
                                     : json_get_str_opt(o, ctx, c->key, &s, err);
    if (rc != 0)
        return -1;
    size_t len = s ? strlen(s) : 0;
    if (len >= c->size)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"%s\": %zu bytes, expected at most %zu", ctx, c->key,
                         len, c->size - 1);
    memcpy(out, s ? s : "", len + 1);
    return strcmp(c->key, "phase") == 0 ? check_phase(ctx, out, err) : 0;
}

/* NaN (not measured) passes. */
static int check_range(const char *ctx, const char *key, double v, bool above_0, struct error *err)
{
    if (v < 0 || (above_0 && v == 0))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected %s, found %g", ctx, key,
                         above_0 ? "more than 0" : "0 or more", v);
    if (v > NUMBER_MAX)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected at most %g, found %g", ctx,
                         key, NUMBER_MAX, v);
    return 0;
}

static int read_number(const json_t *o, const char *ctx, const struct column *c, char *out,
                       struct error *err)
{
    double v = NAN;
    if (json_get_num_opt(o, ctx, c->key, &v, err) != 0 || check_range(ctx, c->key, v, c->empty == EMPTY_ZERO, err) != 0)
        return -1;
    memcpy(out, &v, sizeof v);
    return 0;
}

static int read_field(const json_t *o, const char *ctx, const struct column *c, void *base,
                      struct error *err)
{
    char *out = (char *)base + c->offset;
    int64_t i = 0;
    if (!json_object_get(o, c->key) && c->empty != EMPTY_OPTIONAL)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\" is missing", ctx, c->key);
    if (c->field == FIELD_CHARS)
        return read_text(o, ctx, c, out, err);
    if (c->field == FIELD_DOUBLE)
        return read_number(o, ctx, c, out, err);
    if (json_get_int(o, ctx, c->key, c->empty == EMPTY_NEVER ? 1 : c->empty == EMPTY_MINUS_1 ? -1 : 0,
                     c->field == FIELD_U64 ? INT64_MAX : INT32_MAX, &i, err) != 0)
        return -1;
    if (c->field == FIELD_U64)
        memcpy(out, &(uint64_t){ (uint64_t)i }, sizeof(uint64_t));
    else
        memcpy(out, &(int){ (int)i }, sizeof(int));
    return 0;
}

/* *base is cleared first. */
static int read_struct(void *base, size_t size, const json_t *o, const char *ctx, const struct table_fields *f, struct error *err)
{
    memset(base, 0, size);
    if (!json_is_object(o))
        return error_set(err, ERROR_INPUT, "%s: expected an object", ctx);
    for (size_t i = 0; i < f->n; i++) {
        if (read_field(o, ctx, &f->cols[i], base, err) != 0)
            return -1;
    }
    return 0;
}

static int need_array(const json_t *doc, const char *name, const char *key, struct error *err)
{
    return json_is_array(json_object_get(doc, key)) ? 0 : error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an array", name, key);
}

static int read_row(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_row row;
    return read_struct(&row, sizeof row, o, ctx, &run_row_fields, err) != 0 ? -1 : run_add_row(r, &row, err);
}

static int read_op(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_op op;
    return read_struct(&op, sizeof op, o, ctx, &run_op_fields, err) != 0 ? -1 : run_add_op(r, &op, err);
}

static int read_load(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_loading l;
    return read_struct(&l, sizeof l, o, ctx, &run_loading_fields, err) != 0 ? -1 : run_add_loading(r, &l, err);
}

static int read_rep(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_rep rep;
    return read_struct(&rep, sizeof rep, o, ctx, &run_rep_fields, err) != 0 ? -1 : run_add_rep(r, &rep, err);
}

static int read_count(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_count c;
    return read_struct(&c, sizeof c, o, ctx, &run_count_fields, err) != 0 ? -1 : run_add_count(r, &c, err);
}

static int read_counting(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_counting c;
    return read_struct(&c, sizeof c, o, ctx, &run_counting_fields, err) != 0 ? -1 : run_add_counting(r, &c, err);
}

/* The certificate stays JSON; only the fields that are used are checked. */
static int check_certificate(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const classes[] = { "unchecked", "exact", "scaled", "polluted", "dead" };
    const char *s = NULL;
    double ratio = NAN;
    (void)r;
    if (json_get_str(o, ctx, "backend", &s, err) != 0 || json_get_str(o, ctx, "event", &s, err) != 0 ||
        json_get_str(o, ctx, "field", &s, err) != 0 || json_get_str(o, ctx, "source", &s, err) != 0 ||
        json_get_num_opt(o, ctx, "ratio", &ratio, err) != 0 || check_range(ctx, "ratio", ratio, false, err) != 0 ||
        json_get_str(o, ctx, "class", &s, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strcmp(s, classes[i]) == 0)
            return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"class\": found \"%.32s\", expected unchecked, exact, scaled, polluted or dead",
                     ctx, s);
}

/* A ceiling as in a profile; unmeasured ones have no entry, so values are not null. */
static int check_ceiling(struct run *r, const json_t *c, const char *ctx, struct error *err)
{
    const char *kind, *s = NULL;
    int64_t n;
    double v;
    (void)r;
    if (json_get_str(c, ctx, "name", &s, err) != 0 || json_get_str(c, ctx, "kind", &kind, err) != 0 ||
        json_get_str(c, ctx, "unit", &s, err) != 0 ||
        json_get_num(c, ctx, "value", &v, err) != 0 || check_range(ctx, "value", v, true, err) != 0 ||
        json_get_int(c, ctx, "n_threads", 1, 1 << 20, &n, err) != 0 ||
        json_get_str_opt(c, ctx, "test", &s, err) != 0 || json_get_str_opt(c, ctx, "isa", &s, err) != 0)
        return -1;
    bool compute = strcmp(kind, "compute") == 0;
    if (!compute && strcmp(kind, "bandwidth") != 0)
        return error_set(
            err, ERROR_INPUT,
            "%s: field \"kind\": expected \"compute\" or \"bandwidth\", found \"%.64s\"", ctx, kind);
    return json_get_str(c, ctx, compute ? "dtype" : "level", &s, err);
}

typedef int read_fn(struct run *r, const json_t *o, const char *ctx, struct error *err);

/* Calls read for each object of the list `key`, which may be absent. */
static int read_list(struct run *r, const json_t *doc, const char *name, const char *key, read_fn *read, struct error *err)
{
    const json_t *a = json_object_get(doc, key);
    char ctx[320];
    if (a && need_array(doc, name, key, err) != 0)
        return -1;
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

static int read_doc(struct run *r, const json_t *doc, const char *name, struct error *err)
{
    static const struct {
        const char *key;
        read_fn *read;
        bool required;
    } lists[] = {
        { "loads", read_load, false },   { "rows", read_row, true },          { "repetitions", read_rep, false },
        { "ops", read_op, true },        { "counts", read_count, false },     { "counting", read_counting, false },
        { "certificate", check_certificate, false }, { "ceilings", check_ceiling, true }, { "routing", run_read_routing, false },
    };
    char ctx[320];
    snprintf(ctx, sizeof ctx, "%.280s: provenance", name);
    const json_t *prov = json_object_get(doc, "provenance");
    if (!prov)
        return error_set(err, ERROR_INPUT, "%s: field \"provenance\" is missing", name);
    if (read_struct(&r->prov, sizeof r->prov, prov, ctx, &run_prov_fields, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if ((lists[i].required && need_array(doc, name, lists[i].key, err) != 0) || read_list(r, doc, name, lists[i].key, lists[i].read, err) != 0)
            return -1;
    /* Ceilings stay JSON: charts read them as part of a hwprofile. */
    r->certificate = json_incref(json_object_get(doc, "certificate"));
    r->ceilings = json_incref(json_object_get(doc, "ceilings"));
    return 0;
}

int run_from_json(struct run *r, const json_t *doc, const char *name, const char *schema,
                  struct error *err)
{
    memset(r, 0, sizeof *r);
    int rc = json_check_schema(doc, name, schema, RUN_VERSION, err);
    rc = rc ? rc : read_doc(r, doc, name, err);
    if (rc != 0)
        run_free(r);
    return rc;
}

static int from_loaded(struct run *r, json_t *doc, const char *name, struct error *err)
{
    memset(r, 0, sizeof *r);
    if (!doc)
        return -1;
    int rc = run_from_json(r, doc, name, RUN_SCHEMA, err);
    json_decref(doc);
    return rc;
}

int run_load(struct run *r, const char *path, struct error *err)
{
    return from_loaded(r, json_load_path(path, err), path, err);
}

int run_parse(struct run *r, const char *name, const void *data, size_t size, struct error *err)
{
    return from_loaded(r, json_load_mem(name, data, size, err), name, err);
}
