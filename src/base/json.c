/* jansson with errors that name the file and the field. */
#include "base/json.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_MAX_BYTES = 64 << 20 };

const char *json_type_name(const json_t *j)
{
    if (!j)
        return "nothing";
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

json_t *json_load_mem(const char *name, const void *data, size_t size, struct error *err)
{
    return json_load_mem_at(name, data, size, 1, err);
}

/* ---- NaN and infinity ---- */

/* Python's spelling; not JSON. */
static const char *const not_finite[] = { "-Infinity", "Infinity", "NaN" };

/* Index of the first such word at or after text[i] outside strings, *at its position; -1: none. *string: whether i is inside a
 * string. */
static int next_not_finite(const char *text, size_t size, size_t i, bool *string, size_t *at)
{
    for (; i < size; i++) {
        *string ^= text[i] == '"';
        i += *string && text[i] == '\\' && i + 1 < size;
        for (size_t k = 0; k < ARRAY_LEN(not_finite) && !*string; k++) {
            const size_t n = strlen(not_finite[k]);
            if (size - i < n || memcmp(text + i, not_finite[k], n) != 0)
                continue;
            *at = i;
            return (int)k;
        }
    }
    return -1;
}

/*
 * A copy with these words quoted as strings. *copy NULL: the text has none. -1: out of memory.
 */
static int quote_not_finite(const char *text, size_t *size, char **copy, struct error *err)
{
    bool string = false;
    size_t at, done = 0, len = 0;
    int k = next_not_finite(text, *size, 0, &string, &at);
    *copy = NULL;
    if (k < 0)
        return 0;
    char *out = malloc(2 * *size); /* 3 bytes become at most 5 */
    if (!out)
        return error_oom(err, 2 * *size, "a JSON text");
    for (; k >= 0; k = next_not_finite(text, *size, done, &string, &at)) {
        const size_t n = strlen(not_finite[k]);
        memcpy(out + len, text + done, at - done);
        len += at - done;
        len += (size_t)sprintf(out + len, "\"%s\"", not_finite[k]);
        done = at + n;
    }
    memcpy(out + len, text + done, *size - done);
    *size = len + *size - done;
    *copy = out;
    return 0;
}

bool json_is_none(const json_t *v)
{
    if (!v || json_is_null(v))
        return true;
    for (size_t k = 0; json_is_string(v) && k < ARRAY_LEN(not_finite); k++)
        if (strcmp(json_string_value(v), not_finite[k]) == 0)
            return true;
    return false;
}

/* ---- documents ---------------------------------------------------------------------------------------- */

json_t *json_load_mem_at(const char *name, const void *data, size_t size, size_t line, struct error *err)
{
    const char *text = data;
    char *copy;
    if (size > JSON_MAX_BYTES) {
        error_set(err, ERROR_INPUT, "%s: line %zu, column 1: %zu bytes of JSON, at most %d are read", name, line, size,
                  JSON_MAX_BYTES);
        return NULL;
    }
    if (text_begin(name, &text, &size, err) != 0 || quote_not_finite(text, &size, &copy, err) != 0)
        return NULL;
    json_error_t je;
    json_t *j = json_loadb(copy ? copy : text, size, JSON_REJECT_DUPLICATES, &je);
    free(copy);
    if (!j)
        error_set(err, ERROR_INPUT, "%s: line %zu, column %d: %s", name, line + (size_t)(je.line > 0 ? je.line - 1 : 0), je.column > 0 ? je.column : 1,
                  je.text);
    return j;
}

json_t *json_load_path(const char *path, struct error *err)
{
    struct filemap m;
    if (filemap_open(&m, path, err) != 0)
        return NULL;
    json_t *j = json_load_mem(path, m.data, m.size, err);
    filemap_close(&m);
    return j;
}

int json_print(const json_t *j, FILE *f, bool compact, struct error *err)
{
    size_t flags = compact ? JSON_COMPACT : JSON_INDENT(2);
    errno = 0;
    if (json_dumpf(j, f, flags | JSON_ENCODE_ANY) == 0 && fputc('\n', f) != EOF && !ferror(f))
        return 0;
    if (errno || ferror(f))
        return error_write(err, errno, "cannot write JSON");
    return error_set(err, ERROR_SYSTEM, "cannot write JSON: not UTF-8, or out of memory"); /* an unencodable document */
}

int json_save_path(const json_t *j, const char *path, struct error *err)
{
    struct outfile o;
    if (outfile_open(&o, path, err) != 0)
        return -1;
    if (json_print(j, o.f, false, err) != 0) {
        outfile_abort(&o);
        return error_prefix(err, "%s", path);
    }
    return outfile_commit(&o, err);
}

static int missing(const char *ctx, const char *key, const char *expected, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: field \"%s\" is missing, expected %s", ctx, key, expected);
}

static int wrong(const char *ctx, const char *key, const char *expected, const json_t *found,
                 struct error *err)
{
    if (json_is_none(found) && json_is_string(found))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected %s, found %s", ctx, key, expected, json_string_value(found));
    return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected %s, found %s", ctx, key, expected,
                     json_type_name(found));
}

bool json_whole(const json_t *v, int64_t *out)
{
    const double exact = 9007199254740992.0, x = json_number_value(v); /* 2^53 */
    if (json_is_integer(v))
        *out = json_integer_value(v);
    else if (json_is_real(v) && x == floor(x) && fabs(x) < exact)
        *out = (int64_t)x;
    else
        return false;
    return true;
}

int json_get_num_opt(const json_t *o, const char *ctx, const char *key, double *out,
                     struct error *err)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_number(v))
        return wrong(ctx, key, "a number", v, err);
    *out = json_number_value(v);
    return 0;
}

int json_get_num(const json_t *o, const char *ctx, const char *key, double *out, struct error *err)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return missing(ctx, key, "a number", err);
    return json_get_num_opt(o, ctx, key, out, err);
}

int json_get_int_opt(const json_t *o, const char *ctx, const char *key, int64_t lo, int64_t hi,
                     int64_t *out, struct error *err)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return 0;
    int64_t i = 0;
    if (json_is_real(v) && !json_whole(v, &i))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected a whole number, found %.15g", ctx, key,
                         json_real_value(v));
    if (!json_whole(v, &i))
        return wrong(ctx, key, "a whole number", v, err);
    if (i < lo || i > hi)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected %lld to %lld, found %lld", ctx,
                         key, (long long)lo, (long long)hi, (long long)i);
    *out = i;
    return 0;
}

int json_get_int(const json_t *o, const char *ctx, const char *key, int64_t lo, int64_t hi,
                 int64_t *out, struct error *err)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return missing(ctx, key, "a whole number", err);
    return json_get_int_opt(o, ctx, key, lo, hi, out, err);
}

int json_get_str_opt(const json_t *o, const char *ctx, const char *key, const char **out,
                     struct error *err)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_string(v))
        return wrong(ctx, key, "a string", v, err);
    *out = json_string_value(v);
    return 0;
}

int json_get_str(const json_t *o, const char *ctx, const char *key, const char **out,
                 struct error *err)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return missing(ctx, key, "a string", err);
    return json_get_str_opt(o, ctx, key, out, err);
}

int json_get_bool_opt(const json_t *o, const char *ctx, const char *key, bool *out,
                      struct error *err)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_boolean(v))
        return wrong(ctx, key, "true or false", v, err);
    *out = json_is_true(v);
    return 0;
}

const char *json_find_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

double json_find_number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

int json_check_object(const json_t *o, const char *ctx, struct error *err)
{
    return json_is_object(o) ? 0 : error_set(err, ERROR_INPUT, "%s: expected an object, found %s", ctx, json_type_name(o));
}

int json_get_array(const json_t *o, const char *ctx, const char *key, size_t most, const json_t **out, struct error *err)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_array(v))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an array, found %s", ctx, key, json_type_name(v));
    if (json_array_size(v) > most)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an array of at most %zu, found %zu", ctx, key, most, json_array_size(v));
    *out = v;
    return 0;
}

int json_check_schema(const json_t *o, const char *ctx, const char *schema, int version,
                      struct error *err)
{
    const char *s;
    int64_t v = 0;
    if (!json_is_object(o))
        return error_set(err, ERROR_INPUT, "%s: expected a JSON object, found %s", ctx, json_type_name(o));
    if (json_get_str(o, ctx, "schema", &s, err) != 0)
        return -1;
    if (strcmp(s, schema) != 0)
        return error_set(err, ERROR_INPUT, "%s: field \"schema\": expected \"%s\", found \"%.64s\"", ctx,
                         schema, s);
    if (json_get_int(o, ctx, "version", 1, INT64_MAX, &v, err) != 0)
        return -1;
    if (v > version)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"version\": this roofcast reads %s up to version %d, found %lld",
                         ctx, schema, version, (long long)v);
    return 0;
}

json_t *json_num(double v)
{
    if (!isfinite(v))
        return json_null();
    if (v == floor(v) && fabs(v) < 9007199254740992.0)
        return json_integer((json_int_t)v);
    return json_real(v);
}

json_t *json_text(const char *s)
{
    json_t *j = s ? json_string(s) : NULL;
    if (j || !s)
        return j;
    struct strbuf b = { 0 };
    for (; *s; s++)
        strbuf_addf(&b, "%c", (unsigned char)*s < 0x80 ? *s : '?');
    s = strbuf_text(&b, "a text", NULL);
    j = s ? json_string(s) : NULL;
    strbuf_free(&b);
    return j;
}
