/* Which rows of `roofcast list` are shown, in which order, and the heading each stands under. */
#include "config.h"
#include "report/list.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int list_add_row(json_t *rows, json_t *row, struct error *err)
{
    if (!row || json_array_append_new(rows, row) != 0)
        return error_set(err, ERROR_SYSTEM, "list: out of memory, or a name that is not UTF-8");
    return 0;
}

int list_parse_bytes(double *to, const char *arg, const char *option, struct error *err)
{
    static const char *const units[] = { "", "B", "B/s" };
    *to = NAN;
    for (size_t i = 0; i < ARRAY_LEN(units) && isnan(*to); i++)
        *to = units_parse(arg, units[i]);
    if (*to >= 0)
        return 0;
    return error_set(err, ERROR_USAGE, "%s \"%s\": expected bytes such as 80G, 24GiB or 1.5T", option, arg);
}

int list_parse_count(double *to, const char *arg, const char *option, struct error *err)
{
    static const struct {
        const char *suffix;
        double scale;
    } known[] = { { "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "B", 1e9 }, { "G", 1e9 }, { "T", 1e12 } };
    char *end;
    double v = strtod(arg, &end);
    for (size_t i = 0; end != arg && v >= 0 && isfinite(v) && i < ARRAY_LEN(known); i++)
        if (strcasecmp(end, known[i].suffix) == 0) {
            *to = v * known[i].scale;
            return 0;
        }
    return error_set(err, ERROR_USAGE, "%s \"%s\": expected a number of parameters such as 7B or 500M", option, arg);
}

/* ---- which ------------------------------------------------------------------------ */

static const char *text_of(const json_t *row, const char *key)
{
    const char *s = json_string_value(json_object_get(row, key));
    return s ? s : "";
}

static bool has_word(const char *name, const char *word)
{
    char a[256], b[256];
    name_fold(a, sizeof a, name, NULL);
    name_fold(b, sizeof b, word, NULL);
    return strstr(a, b) != NULL;
}

static bool row_has_word(const json_t *row, const char *word)
{
    static const char *const keys[] = { "id", "name", "kind", "vendor", "arch" };
    const json_t *aliases = json_object_get(row, "aliases");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (has_word(text_of(row, keys[i]), word))
            return true;
    for (size_t i = 0; i < json_array_size(aliases); i++)
        if (has_word(json_string_value(json_array_get(aliases, i)), word))
            return true;
    return false;
}

/* Every word somewhere: "nvidia 80gb". */
static bool row_has_text(const json_t *row, const char *text)
{
    char word[128];
    int used;
    for (; text && sscanf(text, " %127s%n", word, &used) == 1; text += used)
        if (!row_has_word(row, word))
            return false;
    return true;
}

/* An unknown number is in no range. */
static bool in_range(const json_t *row, const char *key, double lo, double hi)
{
    if (isnan(lo) && isnan(hi))
        return true;
    const json_t *j = json_object_get(row, key);
    const double v = json_number_value(j);
    return json_is_number(j) && !(v < lo) && !(v > hi);
}

static bool keeps(const struct list_filter *f, const json_t *row)
{
    return (!f->kind || strcmp(text_of(row, "kind"), f->kind) == 0) &&
           (!f->arch || strcasecmp(text_of(row, "arch"), f->arch) == 0) &&
           in_range(row, "memory_bytes", f->min_memory_bytes, NAN) &&
           in_range(row, "bandwidth_bytes_s", f->min_bandwidth_bytes_s, NAN) &&
           in_range(row, "n_params", f->min_params, f->max_params) && row_has_text(row, f->text.s);
}

/* ---- in which order ------------------------------------------------------------------ */

/* This machine, then the devices people ask for first. */
static int kind_rank(const json_t *row)
{
    static const char *const kinds[] = { "gpu", "apu", "npu", "cpu" };
    size_t i = 0;
    if (strcmp(text_of(row, "id"), "this") == 0)
        return -1;
    while (i < ARRAY_LEN(kinds) && strcmp(text_of(row, "kind"), kinds[i]) != 0)
        i++;
    return (int)i;
}

/* "id" of a machine, "name" of a model: what the command line takes. */
static const char *id_of(const json_t *row)
{
    const char *id = text_of(row, "id");
    return *id ? id : text_of(row, "name");
}

static int by_name(const void *a, const void *b)
{
    return strcasecmp(id_of(*(json_t *const *)a), id_of(*(json_t *const *)b));
}

static int by_group(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int d = kind_rank(x) - kind_rank(y);
    if (!d)
        d = strcasecmp(text_of(x, "vendor"), text_of(y, "vendor"));
    if (!d)
        d = strcmp(text_of(x, "arch"), text_of(y, "arch"));
    return d ? d : by_name(a, b);
}

/* The largest first, unknown ones (-1: null has no number) last. */
static int by_number(const void *a, const void *b, const char *key)
{
    const json_t *x = json_object_get(*(json_t *const *)a, key), *y = json_object_get(*(json_t *const *)b, key);
    const double v = json_is_number(x) ? json_number_value(x) : -1, w = json_is_number(y) ? json_number_value(y) : -1;
    return v > w ? -1 : v < w ? 1 : by_name(a, b);
}

static int by_bandwidth(const void *a, const void *b)
{
    return by_number(a, b, "bandwidth_bytes_s");
}

static int by_memory(const void *a, const void *b)
{
    return by_number(a, b, "memory_bytes");
}

static int by_params(const void *a, const void *b)
{
    return by_number(a, b, "n_params");
}

static int (*order_of(const char *sort))(const void *, const void *)
{
    static const struct {
        const char *name;
        int (*order)(const void *, const void *);
    } orders[] = { { "bandwidth", by_bandwidth }, { "memory", by_memory }, { "params", by_params }, { "name", by_name } };
    for (size_t i = 0; sort && i < ARRAY_LEN(orders); i++)
        if (strcmp(sort, orders[i].name) == 0)
            return orders[i].order;
    return by_group;
}

json_t *list_select(const json_t *rows, const struct list_filter *f, const char *list, struct error *err)
{
    const size_t n = json_array_size(rows);
    size_t kept = 0;
    json_t *out = json_array(), **v = calloc(n + 1, sizeof *v);
    for (size_t i = 0; v && i < n; i++)
        if (keeps(f, json_array_get(rows, i)))
            v[kept++] = json_array_get(rows, i);
    int rc = out && v ? 0 : error_oom(err, n * sizeof *v, "a list");
    if (rc == 0 && kept == 0 && n > 0)
        rc = error_set(err, ERROR_INPUT, "list %s: none of %zu matches", list, n);
    if (rc == 0)
        qsort(v, kept, sizeof(json_t *), order_of(f->sort));
    for (size_t i = 0; rc == 0 && i < kept; i++)
        rc = list_add_row(out, json_incref(v[i]), err);
    free(v);
    if (rc == 0)
        return out;
    json_decref(out);
    return NULL;
}

void list_group(char *out, size_t size, const json_t *row)
{
    const char *kind = text_of(row, "kind"), *vendor = text_of(row, "vendor");
    if (strcmp(text_of(row, "id"), "this") == 0)
        snprintf(out, size, "This machine");
    else if (*kind)
        snprintf(out, size, "%c%c%c%s%s", toupper((unsigned char)kind[0]), toupper((unsigned char)kind[1]),
                 toupper((unsigned char)kind[2]), *vendor ? ", " : "", vendor);
    else
        snprintf(out, size, "%s", text_of(row, "arch"));
}
