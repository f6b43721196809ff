/* Filter, order and groups of `roofcast list`. */
#include "config.h"
#include "report/list.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* ---- filter ------------------------------------------------------------------------ */

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static bool has_word(const char *name, const char *word)
{
    char a[256], b[256];
    name_fold(a, sizeof a, name, NULL);
    name_fold(b, sizeof b, word, NULL);
    return strstr(a, b) != NULL;
}

static bool row_has_word(const struct list_row *row, const char *word)
{
    const char *const names[] = { row->id, row->name, row->kind, row->vendor, row->arch };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (has_word(or_empty(names[i]), word))
            return true;
    for (size_t i = 0; i < json_array_size(row->nested); i++)
        if (has_word(json_string_value(json_array_get(row->nested, i)), word))
            return true;
    return false;
}

/* All words occur: "nvidia 80gb". */
static bool row_has_text(const struct list_row *row, const char *text)
{
    char word[128];
    int used;
    for (; text && sscanf(text, " %127s%n", word, &used) == 1; text += used)
        if (!row_has_word(row, word))
            return false;
    return true;
}

/* Unknown numbers are outside every range. */
static bool in_range(double v, double lo, double hi)
{
    return (isnan(lo) && isnan(hi)) || (!isnan(v) && !(v < lo) && !(v > hi));
}

static bool keeps(const struct list_filter *f, const struct list_row *row)
{
    return (!f->kind || strcmp(or_empty(row->kind), f->kind) == 0) && (!f->arch || strcasecmp(or_empty(row->arch), f->arch) == 0) &&
           in_range(row->memory_bytes, f->min_memory_bytes, NAN) && in_range(row->bandwidth_bytes_s, f->min_bandwidth_bytes_s, NAN) &&
           in_range(row->n_params, f->min_params, f->max_params) && row_has_text(row, f->text.s);
}

/* ---- order ------------------------------------------------------------------ */

/* This machine first, then by kind. */
static int kind_rank(const struct list_row *row)
{
    static const int ranks[] = { [HW_GPU] = 0, [HW_APU] = 1, [HW_NPU] = 2, [HW_CPU] = 3 };
    const int kind = hw_kind_find(or_empty(row->kind));
    return row->id && strcmp(row->id, "this") == 0 ? -1 : kind < 0 ? (int)ARRAY_LEN(ranks) : ranks[kind];
}

/* Name for the command line. */
static const char *id_of(const struct list_row *row)
{
    return row->id ? row->id : row->name;
}

static int by_name(const void *a, const void *b)
{
    return strcasecmp(id_of(a), id_of(b));
}

static int by_group(const void *a, const void *b)
{
    const struct list_row *x = a, *y = b;
    int d = kind_rank(x) - kind_rank(y);
    if (!d)
        d = strcasecmp(or_empty(x->vendor), or_empty(y->vendor));
    if (!d)
        d = strcmp(or_empty(x->arch), or_empty(y->arch));
    return d ? d : by_name(a, b);
}

/* Descending, unknown numbers last. */
static int by_number(const struct list_row *a, const struct list_row *b, double x, double y)
{
    const double v = isnan(x) ? -1 : x, w = isnan(y) ? -1 : y;
    return v > w ? -1 : v < w ? 1 : by_name(a, b);
}

static int by_bandwidth(const void *a, const void *b)
{
    const struct list_row *x = a, *y = b;
    return by_number(x, y, x->bandwidth_bytes_s, y->bandwidth_bytes_s);
}

static int by_memory(const void *a, const void *b)
{
    const struct list_row *x = a, *y = b;
    return by_number(x, y, x->memory_bytes, y->memory_bytes);
}

static int by_params(const void *a, const void *b)
{
    const struct list_row *x = a, *y = b;
    return by_number(x, y, x->n_params, y->n_params);
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

int list_select(struct table_rows *rows, const struct list_filter *f, const char *list, struct error *err)
{
    struct list_row *v = rows->v;
    const size_t n = rows->n;
    rows->n = 0;
    for (size_t i = 0; i < n; i++)
        if (keeps(f, &v[i]))
            v[rows->n++] = v[i];
    if (rows->n == 0 && n > 0)
        return error_set(err, ERROR_INPUT, "list %s: none of %zu matches", list, n);
    if (rows->n > 0)
        qsort(v, rows->n, sizeof *v, order_of(f->sort));
    return 0;
}

void list_group(char *out, size_t size, const struct list_row *row)
{
    const char *kind = row->kind;
    if (row->id && strcmp(row->id, "this") == 0)
        snprintf(out, size, "This machine");
    else if (kind)
        snprintf(out, size, "%c%c%c%s%s", toupper((unsigned char)kind[0]), toupper((unsigned char)kind[1]), toupper((unsigned char)kind[2]),
                 row->vendor ? ", " : "", or_empty(row->vendor));
    else
        snprintf(out, size, "%s", row->arch);
}
