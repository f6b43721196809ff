/*
 * json.h: jansson with errors that name file, field, found and expected value.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/base.h"
#include <jansson.h>

/*
 * Load a file (at most 64 MiB, nesting limited by jansson). NULL on error, which names line and column. A byte-order mark is
 * skipped, UTF-16 refused. NaN, Infinity and -Infinity (Python's output) become strings: refused where a field is read as a number,
 * ignored where it is not read.
 */
json_t *json_load_path(const char *path, struct error *err);
/* The same from memory; `name` stands in messages. */
json_t *json_load_mem(const char *name, const void *data, size_t size, struct error *err);
/* The same for a part of a file that begins at that line. */
json_t *json_load_mem_at(const char *name, const void *data, size_t size, size_t line, struct error *err);
/* Atomic write, indented by 2, key order kept, 17 digits only where needed. */
int json_save_path(const json_t *j, const char *path, struct error *err);
/* Print to f (indent 2 or compact) and a newline. */
int json_print(const json_t *j, FILE *f, bool compact, struct error *err);

/* Absent, null, or not finite (see above). */
bool json_is_none(const json_t *v);
/* A whole number, also when written 4096.0 (below 2^53); false: another value. */
bool json_whole(const json_t *v, int64_t *out);
/* ctx: what the object is, for messages ("hwprofiles/h100.json: memory"). All return 0 / -1.
 * *_opt leave *out as it was when the field is absent or null. Numbers must be finite. */
int json_get_num(const json_t *o, const char *ctx, const char *key, double *out, struct error *err);
int json_get_num_opt(const json_t *o, const char *ctx, const char *key, double *out, struct error *err);
int json_get_int(const json_t *o, const char *ctx, const char *key, int64_t lo, int64_t hi, int64_t *out,
                 struct error *err);
int json_get_int_opt(const json_t *o, const char *ctx, const char *key, int64_t lo, int64_t hi, int64_t *out,
                     struct error *err);
int json_get_str(const json_t *o, const char *ctx, const char *key, const char **out, struct error *err);
int json_get_str_opt(const json_t *o, const char *ctx, const char *key, const char **out, struct error *err);
int json_get_bool_opt(const json_t *o, const char *ctx, const char *key, bool *out, struct error *err);
/* Of a document that was checked: "" and NaN where the field is absent or of another type. The text belongs to the document. */
const char *json_find_text(const json_t *o, const char *key);
double json_find_number(const json_t *o, const char *key);
/* Else "CTX: expected an object, found ...". */
int json_check_object(const json_t *o, const char *ctx, struct error *err);
/* An array of at most `most` elements; borrowed. */
int json_get_array(const json_t *o, const char *ctx, const char *key, size_t most, const json_t **out, struct error *err);
/* The document must carry "schema": schema and an integer "version" <= version. */
int json_check_schema(const json_t *o, const char *ctx, const char *schema, int version, struct error *err);
/* "an object", "a string", ..., NULL: "nothing": for messages. */
const char *json_type_name(const json_t *j);
/* Text from outside (names, command lines) as a string; if it is not UTF-8, "?" replaces every non-ASCII byte. NULL: out of memory. */
json_t *json_text(const char *s);
/* NaN and infinity become null. */
json_t *json_num(double v);

#endif
