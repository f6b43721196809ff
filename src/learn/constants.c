#include "learn/constants.h"
#include "base/json.h"
#include "learn/families.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONSTANTS_SCHEMA "roofcast.constants"
enum { CONSTANTS_VERSION = 1, MAX_CONSTANTS = 20000, CTX = 320 };

void constants_free(struct constants_file *f)
{
    for (int k = 0; k < CONSTANTS_FITS; k++) {
        free(f->kind[k].c);
        free(f->kind[k].interval);
        for (size_t i = 0; i < f->kind[k].n_group; i++)
            free(f->kind[k].group[i]);
        free(f->kind[k].group);
    }
    *f = (struct constants_file){ 0 };
}

/* ---- files --------------------------------------------------------------------------------- */

enum { MAX_FROM = 62 }; /* further files count as the last one */
static const char comma[] = ", ";

/* Next of comma-separated names, at *at; returns its length, 0: none left. */
static size_t next_name(const char **at)
{
    *at += strspn(*at, comma);
    return strcspn(*at, ",");
}

const char *constants_from(char *buf, size_t size, const char *source, uint64_t from)
{
    size_t len = 0, n;
    snprintf(buf, size, "%s", "");
    int i = 0;
    for (const char *at = source; (n = next_name(&at)) > 0; at += n, i += i < MAX_FROM)
        if (from >> i & 1 && len < size)
            len += (size_t)snprintf(buf + len, size - len, "%s%.*s", len ? comma : "", (int)n, at);
    if (from & CONSTANTS_SHOWN && len < size)
        len += (size_t)snprintf(buf + len, size - len, "%s--anchor", len ? comma : "");
    return buf;
}

static uint64_t all_of(const char *source)
{
    uint64_t bits = 0;
    size_t n;
    int i = 0;
    for (const char *at = source; (n = next_name(&at)) > 0; at += n, i += i < MAX_FROM)
        bits |= UINT64_C(1) << i;
    return bits;
}

/* The bits of those names; names not in the source: all. */
static uint64_t bits_of(const char *source, const char *from)
{
    uint64_t bits = 0;
    size_t n;
    for (const char *name = from; (n = next_name(&name)) > 0; name += n) {
        const uint64_t before = bits;
        size_t m;
        int i = 0;
        for (const char *at = source; (m = next_name(&at)) > 0; at += m, i += i < MAX_FROM)
            if (m == n && strncmp(at, name, n) == 0)
                bits |= UINT64_C(1) << i;
        if (bits == before)
            return all_of(source);
    }
    return bits;
}

static void keep_files(struct constant *c, size_t n, const char *all, const char *kept)
{
    char from[CONSTANTS_SOURCE];
    for (size_t i = 0; i < n; i++)
        c[i].from = bits_of(kept, constants_from(from, sizeof from, all, c[i].from));
}

void constants_keep_files(struct constants *c)
{
    char kept[sizeof c->source];
    uint64_t any = 0;
    for (size_t i = 0; i < c->n; i++)
        any |= c->c[i].from;
    if (!any)
        return;
    constants_from(kept, sizeof kept, c->source, any);
    keep_files(c->c, c->n, c->source, kept);
    keep_files(c->interval, c->n_interval, c->source, kept);
    snprintf(c->source, sizeof c->source, "%s", kept);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* The family of a fit; NULL: it is of a kind of rows, or there is none. */
static const struct family *fit_family(int k)
{
    return k >= FITTED_KIND_COUNT ? family_at((size_t)(k - FITTED_KIND_COUNT)) : NULL;
}

/* Name of a fit; NULL: none. */
static const char *fit_name(int k)
{
    return k < FITTED_KIND_COUNT ? fitted_kind_names[k] : fit_family(k) ? fit_family(k)->name : NULL;
}

static int known_interval(const struct family *f, const char *name, const char *ctx, struct error *err)
{
    if (f ? families_is_interval(f, name) : interval_is_name(name))
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"name\": expected \"interval\" or such as \"interval novelty=machine side=slower\", found \"%.64s\"",
                     ctx, name);
}

static int known_name(const struct family *f, const char *name, const char *ctx, struct error *err)
{
    char parameter[32];
    snprintf(parameter, sizeof parameter, "%.*s", (int)fmin(strcspn(name, " "), sizeof parameter - 1), name);
    if ((f ? family_parameter_find(f, parameter) : time_parameter_find(parameter)) >= 0)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"name\": expected a constant such as \"bandwidth\" or \"launch stack=vllm\", found \"%.64s\"",
                     ctx, name);
}

static int read_constant(struct constant *c, const json_t *o, const char *ctx, const char *source, struct error *err)
{
    const char *name, *from = source;
    double value, spread;
    int64_t n = 0;
    if (json_check_object(o, ctx, err) != 0 || json_get_str(o, ctx, "name", &name, err) != 0 || json_get_num(o, ctx, "value", &value, err) != 0 ||
        json_get_num(o, ctx, "spread", &spread, err) != 0 || json_get_int_opt(o, ctx, "n_rows", 0, INT64_MAX, &n, err) != 0 ||
        json_get_str_opt(o, ctx, "from", &from, err) != 0)
        return -1;
    if (strlen(name) >= sizeof c->name)
        return error_set(err, ERROR_INPUT, "%s: field \"name\": expected at most %zu bytes, found %zu", ctx, sizeof c->name - 1,
                         strlen(name));
    if (!(value > 1e-12 && value < 1e12))
        return error_set(err, ERROR_INPUT, "%s: field \"value\": expected 1e-12 to 1e12, found %g", ctx, value);
    if (!(spread > 1 && spread < 1e6))
        return error_set(err, ERROR_INPUT, "%s: field \"spread\": expected a factor above 1, found %g", ctx, spread);
    snprintf(c->name, sizeof c->name, "%s", name);
    c->value = log(value);
    c->sd = log(spread);
    c->n_row = (size_t)n;
    c->from = bits_of(source, from);
    return 0;
}

/* Reads a list of constants under `key`, each with a name accepted by `known`. */
static int read_list(struct constant **out, size_t *n, const json_t *list, const char *ctx, const char *key, const char *source,
                     const struct family *f, int (*known)(const struct family *f, const char *name, const char *ctx, struct error *err),
                     struct error *err)
{
    if (!json_is_array(list) || json_array_size(list) > MAX_CONSTANTS)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an array of at most %d", ctx, key, MAX_CONSTANTS);
    *out = calloc(json_array_size(list) + 1, sizeof **out);
    if (!*out)
        return error_oom(err, json_array_size(list) * sizeof **out, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char at[CTX + 64];
        snprintf(at, sizeof at, "%.*s: %s[%zu]", CTX, ctx, key, i);
        if (read_constant(&(*out)[i], json_array_get(list, i), at, source, err) != 0 || known(f, (*out)[i].name, at, err) != 0)
            return -1;
        *n = i + 1;
    }
    return 0;
}

static int read_groups(struct constants *c, const json_t *o, const char *ctx, struct error *err)
{
    const json_t *list = json_object_get(o, "groups");
    const size_t n = json_array_size(list);
    if (list && !json_is_array(list))
        return error_set(err, ERROR_INPUT, "%s: field \"groups\": expected an array, found %s", ctx, json_type_name(list));
    c->group = calloc(n + 1, sizeof *c->group);
    if (!c->group)
        return error_oom(err, n * sizeof *c->group, "groups");
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(list, i));
        if (!s || !strchr(s, '='))
            return error_set(err, ERROR_INPUT, "%s: groups[%zu]: expected a text such as \"hardware=NVIDIA RTX 4090\"", ctx, i);
        if (!(c->group[i] = strdup(s)))
            return error_oom(err, strlen(s), "groups");
        c->n_group = i + 1;
    }
    return 0;
}

static int read_kind(struct constants *c, const json_t *o, const struct family *f, const char *ctx, struct error *err)
{
    const json_t *intervals = json_object_get(o, "intervals");
    const char *source = "";
    int64_t n_row = 0;
    if (json_check_object(o, ctx, err) != 0 || json_get_num(o, ctx, "sigma", &c->sigma, err) != 0 || json_get_int_opt(o, ctx, "n_rows", 0, INT64_MAX, &n_row, err) != 0 ||
        json_get_str_opt(o, ctx, "source", &source, err) != 0)
        return -1;
    if (!(c->sigma > 0 && c->sigma < 1e3))
        return error_set(err, ERROR_INPUT, "%s: field \"sigma\": expected more than 0, found %g", ctx, c->sigma);
    c->n_row = (size_t)n_row;
    snprintf(c->source, sizeof c->source, "%s", source);
    if (read_list(&c->c, &c->n, json_object_get(o, "constants"), ctx, "constants", c->source, f, known_name, err) != 0)
        return -1;
    if (intervals && read_list(&c->interval, &c->n_interval, intervals, ctx, "intervals", c->source, f, known_interval, err) != 0)
        return -1;
    return read_groups(c, o, ctx, err);
}

static int from_json(struct constants_file *f, const json_t *doc, const char *name, struct error *err)
{
    const json_t *fits = json_object_get(doc, "fits");
    if (json_check_schema(doc, name, CONSTANTS_SCHEMA, CONSTANTS_VERSION, err) != 0)
        return -1;
    if (!json_is_object(fits))
        return error_set(err, ERROR_INPUT, "%s: field \"fits\": expected an object", name);
    for (int k = 0; k < CONSTANTS_FITS; k++) {
        const json_t *o = fit_name(k) ? json_object_get(fits, fit_name(k)) : NULL;
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%.240s: fits.%s", name, fit_name(k) ? fit_name(k) : "");
        if (o && read_kind(&f->kind[k], o, fit_family(k), ctx, err) != 0)
            return -1;
    }
    return 0;
}

static int take(struct constants_file *f, json_t *doc, const char *name, struct error *err)
{
    *f = (struct constants_file){ 0 };
    if (!doc)
        return -1;
    const int rc = from_json(f, doc, name, err);
    json_decref(doc);
    if (rc != 0)
        constants_free(f);
    return rc;
}

int constants_load(struct constants_file *f, const char *path, struct error *err)
{
    return take(f, json_load_path(path, err), path, err);
}

int constants_parse(struct constants_file *f, const char *name, const void *data, size_t size, struct error *err)
{
    return take(f, json_load_mem(name, data, size, err), name, err);
}

int constants_find(struct constants_file *f, const char *name, struct error *err)
{
    char path[4096];
    *f = (struct constants_file){ 0 };
    if (!hwprofile_data_file(path, sizeof path, "hwprofiles/stacks", name))
        return error_set(err, ERROR_UNAVAILABLE, "hwprofiles/stacks/%s.json is in none of the data directories", name);
    return constants_load(f, path, err);
}

int constants_digest(char out[17], struct error *err)
{
    static const char *const files[] = { "constants", "kernels" };
    char text[2 * 16 + 1] = "";
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[4096];
        struct filemap m;
        if (!hwprofile_data_file(path, sizeof path, "hwprofiles/stacks", files[i])) {
            if (i > 0)
                break;
            return error_set(err, ERROR_UNAVAILABLE, "hwprofiles/stacks/%s.json is in none of the data directories", files[i]);
        }
        if (filemap_open(&m, path, err) != 0)
            return -1;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%016llx", (unsigned long long)hash_bytes(m.data, m.size));
        filemap_close(&m);
    }
    snprintf(out, 17, "%016llx", (unsigned long long)hash_bytes(text, strlen(text)));
    return 0;
}

bool constants_saw(const struct constants *c, const char *key, const char *value)
{
    char text[300];
    snprintf(text, sizeof text, "%s=%.256s", key, value);
    for (size_t i = 0; i < c->n_group; i++)
        if (strcmp(c->group[i], text) == 0)
            return true;
    return false;
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* Five digits, the precision of a fit. */
enum { PRINT_FLAGS = JSON_ENCODE_ANY | JSON_REAL_PRECISION(5) };

/* from: omitted where it is all of the files. */
static json_t *list_to_json(const struct constant *c, size_t n, const char *source)
{
    char from[CONSTANTS_SOURCE];
    json_t *list = json_array();
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        json_t *j = json_object();
        rc |= json_object_set_new(j, "name", json_text(c[i].name));
        rc |= json_object_set_new(j, "value", json_real(exp(c[i].value)));
        rc |= json_object_set_new(j, "spread", json_real(exp(c[i].sd)));
        rc |= json_object_set_new(j, "n_rows", json_integer((json_int_t)c[i].n_row));
        if (c[i].from && c[i].from != all_of(source))
            rc |= json_object_set_new(j, "from", json_text(constants_from(from, sizeof from, source, c[i].from)));
        rc |= json_array_append_new(list, j);
    }
    if (rc == 0)
        return list;
    json_decref(list);
    return NULL;
}

/* A list under a key, an element a line; with a width: as many elements a line as fit in that many columns. */
static int print_list(FILE *f, const char *key, json_t *list, size_t width)
{
    const size_t n = json_array_size(list);
    size_t column = 0;
    int rc = list ? 0 : -1;
    fprintf(f, ",\n      \"%s\": [", key);
    for (size_t i = 0; i < n && rc == 0; i++) {
        char *text = json_dumps(json_array_get(list, i), PRINT_FLAGS);
        const size_t len = text ? strlen(text) : 0;
        const bool fits = column > 0 && column + len + 2 <= width;
        rc = text ? 0 : -1;
        fprintf(f, "%s%s%s", i ? "," : "", fits ? " " : "\n        ", text ? text : "");
        column = fits ? column + len + 2 : len + 9;
        free(text);
    }
    fprintf(f, "%s]", n ? "\n      " : "");
    json_decref(list);
    return rc;
}

static json_t *groups_to_json(const struct constants *c)
{
    json_t *groups = json_array();
    int rc = groups ? 0 : -1;
    for (size_t i = 0; i < c->n_group; i++)
        rc |= json_array_append_new(groups, json_text(c->group[i]));
    if (rc == 0)
        return groups;
    json_decref(groups);
    return NULL;
}

/* A line for each constant; groups, intervals and constants of families, which are many, share lines. */
static int print_kind(FILE *f, const char *name, const struct constants *c, bool family)
{
    enum { WIDTH = 160, INTERVALS_WIDTH = 250 };
    json_t *sigma = json_real(c->sigma), *source = json_text(c->source);
    char *number = json_dumps(sigma, PRINT_FLAGS), *files = json_dumps(source, PRINT_FLAGS);
    int rc = number && files ? 0 : -1;
    fprintf(f, "    \"%s\": {\n      \"n_rows\": %zu,\n      \"sigma\": %s,\n      \"source\": %s", name, c->n_row, number ? number : "", files ? files : "");
    json_decref(sigma);
    json_decref(source);
    free(number);
    free(files);
    rc |= print_list(f, "groups", groups_to_json(c), WIDTH);
    rc |= print_list(f, "constants", list_to_json(c->c, c->n, c->source), family ? INTERVALS_WIDTH : 0);
    rc |= print_list(f, "intervals", list_to_json(c->interval, c->n_interval, c->source), INTERVALS_WIDTH);
    fprintf(f, "\n    }");
    return rc;
}

static int print_file(FILE *f, const struct constants_file *c)
{
    const char *separator = "\n";
    int rc = fprintf(f, "{\n  \"schema\": \"%s\",\n  \"version\": %d,\n  \"fits\": {", CONSTANTS_SCHEMA, CONSTANTS_VERSION) < 0;
    for (int k = 0; k < CONSTANTS_FITS && rc == 0; k++) {
        if (c->kind[k].n == 0)
            continue;
        fputs(separator, f);
        rc = print_kind(f, fit_name(k), &c->kind[k], fit_family(k) != NULL);
        separator = ",\n";
    }
    fputs("\n  }\n}\n", f);
    return rc;
}

int constants_save(const struct constants_file *f, const char *path, struct error *err)
{
    struct outfile o;
    if (outfile_open(&o, path, err) != 0)
        return -1;
    errno = 0;
    if (print_file(o.f, f) == 0 && !ferror(o.f))
        return outfile_commit(&o, err);
    const int rc = ferror(o.f) ? error_write(err, errno, "%s: cannot write", path) : error_oom(err, 0, "constants");
    outfile_abort(&o);
    return rc;
}
