/* run/json.c: a run to and from JSON. One field table per struct drives both the writer and the reader. */
#include "run/internal.h"

#include <math.h>
#include <string.h>

#define RUN_SCHEMA  "roofcast.run"
#define RUN_VERSION 1
#define NUMBER_MAX  1e24 /* plausibility limit of counts, rates and times */

enum field_kind {
    FIELD_STR,      /* char[], never null */
    FIELD_STR_NULL, /* char[], "" is null */
    FIELD_INT,      /* int */
    FIELD_U64,      /* uint64_t */
    FIELD_NUM,      /* double; NaN is null */
    FIELD_TIME,     /* double, seconds > 0; NaN and 0 are null */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset, size;
    int64_t lo; /* lower limit of integers; 0: a number that cannot be negative */
    bool newer; /* optional: absent in older files, reads as null */
};

/* clang-format off */
#define FIELD_LO(s, kind, name, lo) \
    { #name, kind, offsetof(struct s, name), sizeof(((struct s *)0)->name), lo, false }
#define FIELD_NEWER(s, kind, name) \
    { #name, kind, offsetof(struct s, name), sizeof(((struct s *)0)->name), 0, true }
/* clang-format on */
#define FIELD(s, kind, name) FIELD_LO(s, kind, name, 0)

static const struct field prov_fields[] = {
    FIELD(provenance, FIELD_STR, version),
    FIELD(provenance, FIELD_STR, compiler),
    FIELD(provenance, FIELD_STR, cflags),
    FIELD(provenance, FIELD_STR, cpu),
    FIELD(provenance, FIELD_STR, isa),
    FIELD(provenance, FIELD_STR, counters),
    FIELD(provenance, FIELD_STR_NULL, profile),
    FIELD(provenance, FIELD_STR, date),
    FIELD(provenance, FIELD_STR_NULL, cpus),
    FIELD(provenance, FIELD_STR, command),
    FIELD_LO(provenance, FIELD_INT, n_threads, 1),
};

static const struct field row_fields[] = {
    FIELD(run_row, FIELD_STR, model),
    FIELD(run_row, FIELD_STR, type),
    FIELD_LO(run_row, FIELD_INT, n_threads, 1),
    FIELD(run_row, FIELD_STR, test),
    FIELD(run_row, FIELD_STR, phase),
    FIELD(run_row, FIELD_INT, n_prompt),
    FIELD(run_row, FIELD_INT, n_gen),
    FIELD(run_row, FIELD_INT, n_depth),
    FIELD_LO(run_row, FIELD_INT, n_batch, 1),
    FIELD_LO(run_row, FIELD_INT, n_ubatch, 1),
    FIELD_LO(run_row, FIELD_INT, n_reps, 1),
    FIELD(run_row, FIELD_NUM, tok_s_mean),
    FIELD(run_row, FIELD_NUM, tok_s_sd),
    FIELD(run_row, FIELD_NUM, ttft_s),
    FIELD(run_row, FIELD_NUM, itl_p50_s),
    FIELD(run_row, FIELD_NUM, itl_p99_s),
    FIELD(run_row, FIELD_NUM, bytes_s),
    FIELD(run_row, FIELD_NUM, ceiling_bytes_s),
    FIELD(run_row, FIELD_NUM, mbu),
    FIELD(run_row, FIELD_NUM, flop_s),
    FIELD(run_row, FIELD_NUM, ceiling_flop_s),
    FIELD(run_row, FIELD_NUM, mfu),
    FIELD(run_row, FIELD_STR_NULL, bound),
    FIELD(run_row, FIELD_STR, counters),
    FIELD(run_row, FIELD_NUM, dram_bytes_s),
    FIELD(run_row, FIELD_NUM, mbu_dram),
    FIELD(run_row, FIELD_STR_NULL, dram_source),
    FIELD(run_row, FIELD_STR_NULL, dram_reason),
    FIELD_NEWER(run_row, FIELD_NUM, energy_j),
    FIELD_NEWER(run_row, FIELD_NUM, j_tok),
    FIELD_NEWER(run_row, FIELD_STR_NULL, energy_source),
    FIELD_NEWER(run_row, FIELD_STR_NULL, energy_reason),
    FIELD(run_row, FIELD_NUM, weight_bytes),
    FIELD(run_row, FIELD_NUM, act_bytes),
    FIELD(run_row, FIELD_NUM, kv_bytes),
    FIELD(run_row, FIELD_NUM, flop),
    FIELD(run_row, FIELD_TIME, seconds),
    FIELD(run_row, FIELD_STR, type_k),
    FIELD(run_row, FIELD_STR, type_v),
    FIELD_NEWER(run_row, FIELD_STR_NULL, act_scales),
    FIELD(run_row, FIELD_NUM, experts_touched),
    FIELD(run_row, FIELD_STR_NULL, ceiling_source),
    FIELD_NEWER(run_row, FIELD_NUM, roof_moved),
    FIELD_NEWER(run_row, FIELD_NUM, profile_bytes_s),
    FIELD_NEWER(run_row, FIELD_NUM, mbu_profile),
    FIELD_NEWER(run_row, FIELD_NUM, profile_flop_s),
    FIELD_NEWER(run_row, FIELD_NUM, mfu_profile),
    FIELD_NEWER(run_row, FIELD_STR_NULL, profile_reason),
    FIELD_NEWER(run_row, FIELD_NUM, steal),
    FIELD_NEWER(run_row, FIELD_NUM, n_switch),
    FIELD_NEWER(run_row, FIELD_NUM, clock_hz),
    FIELD_NEWER(run_row, FIELD_NUM, cpu_share),
    FIELD_NEWER(run_row, FIELD_NUM, cache_bytes),
    FIELD_NEWER(run_row, FIELD_NUM, ops_ceiling_bytes_s),
    FIELD_NEWER(run_row, FIELD_NUM, ops_ceiling_flop_s),
    FIELD_NEWER(run_row, FIELD_NUM, ops_lowest_bytes_s),
    FIELD_NEWER(run_row, FIELD_NUM, ops_highest_bytes_s),
};

static const struct field rep_fields[] = {
    FIELD(run_rep, FIELD_STR, model),
    FIELD(run_rep, FIELD_STR, test),
    FIELD_LO(run_rep, FIELD_INT, n_threads, 1),
    FIELD(run_rep, FIELD_INT, repetition),
    FIELD(run_rep, FIELD_TIME, seconds),
    FIELD(run_rep, FIELD_NUM, tok_s),
    FIELD(run_rep, FIELD_NUM, ceiling_bytes_s),
    FIELD(run_rep, FIELD_NUM, mbu),
    FIELD(run_rep, FIELD_NUM, ceiling_flop_s),
    FIELD(run_rep, FIELD_NUM, mfu),
    FIELD_NEWER(run_rep, FIELD_NUM, after_bytes_s),
    FIELD_NEWER(run_rep, FIELD_NUM, after_flop_s),
    FIELD_NEWER(run_rep, FIELD_NUM, cpu_share),
    FIELD(run_rep, FIELD_NUM, steal),
    FIELD(run_rep, FIELD_NUM, n_switch),
    FIELD(run_rep, FIELD_NUM, clock_hz),
};

static const struct field op_fields[] = {
    FIELD(run_op, FIELD_STR, test),
    FIELD(run_op, FIELD_STR, phase),
    FIELD_LO(run_op, FIELD_INT, layer, -1),
    FIELD(run_op, FIELD_STR, role),
    FIELD(run_op, FIELD_STR, op),
    FIELD(run_op, FIELD_STR, type),
    FIELD(run_op, FIELD_U64, rows),
    FIELD(run_op, FIELD_U64, cols),
    FIELD(run_op, FIELD_U64, n_tok),
    FIELD(run_op, FIELD_NUM, weight_bytes),
    FIELD(run_op, FIELD_NUM, act_bytes),
    FIELD(run_op, FIELD_NUM, kv_bytes),
    FIELD(run_op, FIELD_NUM, flop),
    FIELD(run_op, FIELD_NUM, ai),
    FIELD(run_op, FIELD_NUM, share),
    FIELD(run_op, FIELD_TIME, seconds),
    FIELD(run_op, FIELD_NUM, bytes_s),
    FIELD(run_op, FIELD_NUM, flop_s),
    FIELD(run_op, FIELD_NUM, roof_fraction),
    FIELD(run_op, FIELD_STR_NULL, bound),
};

static const struct field loading_fields[] = {
    FIELD(run_loading, FIELD_STR, model),
    FIELD(run_loading, FIELD_STR, type),
    FIELD_LO(run_loading, FIELD_INT, n_threads, 1),
    FIELD(run_loading, FIELD_NUM, packed_bytes),
    FIELD(run_loading, FIELD_TIME, pack_s),
    FIELD(run_loading, FIELD_NUM, pack_bytes_s),
    FIELD_NEWER(run_loading, FIELD_STR_NULL, act_scales),
    FIELD(run_loading, FIELD_NUM, peak_bytes),
    FIELD(run_loading, FIELD_STR_NULL, peak_reason),
    FIELD_NEWER(run_loading, FIELD_NUM, probe_bytes),
};

/* ---- writing -------------------------------------------------------------------- */

static json_t *field_json(const struct field *f, const void *base)
{
    const char *p = (const char *)base + f->offset;
    switch (f->kind) {
    case FIELD_STR:
        return json_text(p);
    case FIELD_STR_NULL:
        return *p ? json_text(p) : json_null();
    case FIELD_INT: {
        int v;
        memcpy(&v, p, sizeof v);
        return json_integer(v);
    }
    case FIELD_U64: {
        uint64_t v;
        memcpy(&v, p, sizeof v);
        return json_integer((json_int_t)u64_min(v, INT64_MAX));
    }
    case FIELD_NUM: {
        double v;
        memcpy(&v, p, sizeof v);
        return json_num(v);
    }
    case FIELD_TIME: { /* below the clock's resolution: not measured */
        double v;
        memcpy(&v, p, sizeof v);
        return json_num(v > 0 ? v : NAN);
    }
    }
    return NULL;
}

static json_t *struct_json(const struct field *f, size_t n, const void *base)
{
    json_t *o = json_object();
    for (size_t i = 0; o && i < n; i++) {
        if (json_object_set_new(o, f[i].name, field_json(&f[i], base)) != 0) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

json_t *run_row_json(const struct run_row *r)
{
    return struct_json(row_fields, ARRAY_LEN(row_fields), r);
}

json_t *run_op_json(const struct run_op *o)
{
    return struct_json(op_fields, ARRAY_LEN(op_fields), o);
}

json_t *run_loading_json(const struct run_loading *l)
{
    return struct_json(loading_fields, ARRAY_LEN(loading_fields), l);
}

json_t *run_provenance_json(const struct provenance *p)
{
    return struct_json(prov_fields, ARRAY_LEN(prov_fields), p);
}

json_t *run_to_json(const struct run *r, struct error *err)
{
    json_t *doc = json_object(), *rows = json_array(), *ops = json_array(), *loads = json_array(),
           *reps = json_array();
    int bad = 0; /* jansson's setters steal the reference and reject NULL */
    for (size_t i = 0; i < r->n_row; i++)
        bad |= json_array_append_new(rows, run_row_json(&r->row[i]));
    for (size_t i = 0; i < r->n_op; i++)
        bad |= json_array_append_new(ops, run_op_json(&r->op[i]));
    for (size_t i = 0; i < r->n_rep; i++)
        bad |= json_array_append_new(reps, struct_json(rep_fields, ARRAY_LEN(rep_fields), &r->rep[i]));
    for (size_t i = 0; i < r->n_loading; i++)
        bad |= json_array_append_new(loads, run_loading_json(&r->loading[i]));
    bad |= json_object_set_new(doc, "schema", json_string(RUN_SCHEMA));
    bad |= json_object_set_new(doc, "version", json_integer(RUN_VERSION));
    bad |= json_object_set_new(doc, "provenance", run_provenance_json(&r->prov));
    bad |= json_object_set_new(doc, "loads", loads);
    bad |= json_object_set_new(doc, "rows", rows);
    bad |= json_object_set_new(doc, "repetitions", reps);
    bad |= json_object_set_new(doc, "ops", ops);
    bad |= run_counts_to_json(r, doc);
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

static int read_text(const json_t *o, const char *ctx, const struct field *f, char *out,
                     struct error *err)
{
    const char *s = NULL;
    int rc = f->kind == FIELD_STR ? json_get_str(o, ctx, f->name, &s, err)
                                  : json_get_str_opt(o, ctx, f->name, &s, err);
    if (rc != 0)
        return -1;
    size_t len = s ? strlen(s) : 0;
    if (len >= f->size)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"%s\": %zu bytes, expected at most %zu", ctx, f->name,
                         len, f->size - 1);
    memcpy(out, s ? s : "", len + 1);
    return 0;
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

static int read_number(const json_t *o, const char *ctx, const struct field *f, char *out,
                       struct error *err)
{
    double v = NAN;
    if (json_get_num_opt(o, ctx, f->name, &v, err) != 0)
        return -1;
    if (check_range(ctx, f->name, v, f->kind == FIELD_TIME, err) != 0)
        return -1;
    memcpy(out, &v, sizeof v);
    return 0;
}

static int read_field(const json_t *o, const char *ctx, const struct field *f, void *base,
                      struct error *err)
{
    char *out = (char *)base + f->offset;
    int64_t i = 0;
    if (!json_object_get(o, f->name) && !f->newer)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\" is missing", ctx, f->name);
    switch (f->kind) {
    case FIELD_STR:
    case FIELD_STR_NULL:
        return read_text(o, ctx, f, out, err);
    case FIELD_INT:
        if (json_get_int(o, ctx, f->name, f->lo, INT32_MAX, &i, err) != 0)
            return -1;
        memcpy(out, &(int){ (int)i }, sizeof(int));
        return 0;
    case FIELD_U64:
        if (json_get_int(o, ctx, f->name, 0, INT64_MAX, &i, err) != 0)
            return -1;
        memcpy(out, &(uint64_t){ (uint64_t)i }, sizeof(uint64_t));
        return 0;
    case FIELD_NUM:
    case FIELD_TIME:
        return read_number(o, ctx, f, out, err);
    }
    return 0;
}

static int read_struct(const json_t *o, const char *ctx, const struct field *f, size_t n,
                       void *base, struct error *err)
{
    if (!json_is_object(o))
        return error_set(err, ERROR_INPUT, "%s: expected an object", ctx);
    for (size_t i = 0; i < n; i++) {
        if (read_field(o, ctx, &f[i], base, err) != 0)
            return -1;
    }
    return 0;
}

static int check_phase(const char *ctx, const char *phase, struct error *err)
{
    if (!strcmp(phase, "prefill") || !strcmp(phase, "decode"))
        return 0;
    return error_set(
        err, ERROR_INPUT,
        "%s: field \"phase\": expected \"prefill\" or \"decode\", found \"%s\"", ctx,
        phase);
}

/* Array `key` of the document; NULL with an error. */
static const json_t *get_array(const json_t *doc, const char *name, const char *key,
                               struct error *err)
{
    const json_t *a = json_object_get(doc, key);
    if (json_is_array(a))
        return a;
    error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an array", name, key);
    return NULL;
}

/* Reads the fields of element i of array `key` into *item; phase must be valid. */
static int read_item(void *item, const char *phase, const json_t *a, size_t i, const struct field *fields,
                     size_t n_fields, const char *name, const char *key, struct error *err)
{
    char ctx[320];
    snprintf(ctx, sizeof ctx, "%.280s: %s[%zu]", name, key, i);
    if (read_struct(json_array_get(a, i), ctx, fields, n_fields, item, err) != 0)
        return -1;
    return check_phase(ctx, phase, err);
}

static int read_rows(struct run *r, const json_t *doc, const char *name, struct error *err)
{
    const json_t *a = get_array(doc, name, "rows", err);
    for (size_t i = 0; i < json_array_size(a); i++) {
        struct run_row row;
        memset(&row, 0, sizeof row);
        if (read_item(&row, row.phase, a, i, row_fields, ARRAY_LEN(row_fields), name, "rows", err) != 0 ||
            run_add_row(r, &row, err) != 0)
            return -1;
    }
    return a ? 0 : -1;
}

static int read_ops(struct run *r, const json_t *doc, const char *name, struct error *err)
{
    const json_t *a = get_array(doc, name, "ops", err);
    for (size_t i = 0; i < json_array_size(a); i++) {
        struct run_op op;
        memset(&op, 0, sizeof op);
        if (read_item(&op, op.phase, a, i, op_fields, ARRAY_LEN(op_fields), name, "ops", err) != 0 ||
            run_add_op(r, &op, err) != 0)
            return -1;
    }
    return a ? 0 : -1;
}

static int read_load(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_loading l;
    memset(&l, 0, sizeof l);
    return read_struct(o, ctx, loading_fields, ARRAY_LEN(loading_fields), &l, err) != 0 ? -1 : run_add_loading(r, &l, err);
}

static int read_rep(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_rep rep;
    memset(&rep, 0, sizeof rep);
    return read_struct(o, ctx, rep_fields, ARRAY_LEN(rep_fields), &rep, err) != 0 ? -1 : run_add_rep(r, &rep, err);
}

/* A ceiling as in a profile; unmeasured ones have no entry, so values are not null. */
static int check_ceiling(const json_t *c, const char *ctx, struct error *err)
{
    const char *kind, *s = NULL;
    int64_t n;
    double v;
    if (!json_is_object(c))
        return error_set(err, ERROR_INPUT, "%s: expected an object", ctx);
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

/* Ceilings stay JSON: charts read them as part of a hwprofile. */
static int read_ceilings(struct run *r, const json_t *doc, const char *name, struct error *err)
{
    const json_t *a = get_array(doc, name, "ceilings", err);
    if (!a)
        return -1;
    for (size_t i = 0; i < json_array_size(a); i++) {
        char ctx[320];
        snprintf(ctx, sizeof ctx, "%.280s: ceilings[%zu]", name, i);
        if (check_ceiling(json_array_get(a, i), ctx, err) != 0)
            return -1;
    }
    r->ceilings = json_incref(json_object_get(doc, "ceilings"));
    return 0;
}

static int read_doc(struct run *r, const json_t *doc, const char *name, struct error *err)
{
    char ctx[320];
    snprintf(ctx, sizeof ctx, "%.280s: provenance", name);
    const json_t *prov = json_object_get(doc, "provenance");
    if (!prov)
        return error_set(err, ERROR_INPUT, "%s: field \"provenance\" is missing", name);
    if (read_struct(prov, ctx, prov_fields, ARRAY_LEN(prov_fields), &r->prov, err) != 0 ||
        run_read_list(r, doc, name, "loads", read_load, err) != 0 || run_read_routing(r, doc, name, err) != 0 ||
        read_rows(r, doc, name, err) != 0 || run_read_list(r, doc, name, "repetitions", read_rep, err) != 0 || read_ops(r, doc, name, err) != 0 ||
        run_read_counts(r, doc, name, err) != 0)
        return -1;
    return read_ceilings(r, doc, name, err);
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
