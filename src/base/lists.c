#include "base/lists.h"
#include <stdlib.h>
#include <string.h>

int str_list_parse(struct str_list *l, const char *s, const char *what, struct error *err)
{
    *l = (struct str_list){ 0 };
    size_t n = 1;
    for (const char *p = s; *p; p++)
        n += *p == ',';
    l->v = calloc(n, sizeof *l->v);
    if (!l->v)
        return error_oom(err, n * sizeof *l->v, what);
    for (const char *p = s; l->n < n; p++) {
        const char *end = strchr(p, ',');
        size_t len = end ? (size_t)(end - p) : strlen(p);
        const char *const next = p + len;
        for (; len > 0 && *p == ' '; len--)
            p++;
        while (len > 0 && p[len - 1] == ' ')
            len--;
        if (len == 0) {
            error_set(err, ERROR_USAGE, "%s: empty item in \"%s\"", what, s);
            goto fail;
        }
        l->v[l->n] = strndup(p, len);
        if (!l->v[l->n]) {
            error_oom(err, len + 1, what);
            goto fail;
        }
        l->n++;
        p = next;
    }
    return 0;
fail:
    str_list_free(l);
    return -1;
}

void str_list_free(struct str_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct str_list){ 0 };
}

/* "8", "1-8", "0-4096+512", "1-128*2": llama-bench's range syntax. */
struct range {
    int64_t first, last, step;
    bool multiply;
};

static int parse_range(struct range *r, const char *item, int64_t lo, int64_t hi, const char *what, struct error *err)
{
    char text[64];
    *r = (struct range){ .step = 1 };
    const char *dash = *item ? strchr(item + 1, '-') : NULL;
    if (!dash) {
        if (parse_int(item, lo, hi, what, &r->first, err) != 0)
            return -1;
        r->last = r->first;
        return 0;
    }
    if (strlen(item) >= sizeof text)
        return error_set(err, ERROR_USAGE, "%s: expected a range such as 1-8, found \"%.32s...\"", what, item);
    if (!dash[1])
        return error_set(err, ERROR_USAGE, "%s: expected a range such as 1-8, found \"%s\"", what, item);
    char *step = strpbrk(strcpy(text, item), "+*");
    if (step) {
        r->multiply = *step == '*';
        *step++ = 0;
        if (parse_int(step, r->multiply ? 2 : 1, INT32_MAX, what, &r->step, err) != 0)
            return -1;
    }
    text[dash - item] = 0;
    if (parse_int(text, lo, hi, what, &r->first, err) != 0 ||
        parse_int(text + (dash - item) + 1, lo, hi, what, &r->last, err) != 0)
        return -1;
    if (r->last < r->first || (r->multiply && r->first == 0))
        return error_set(err, ERROR_USAGE, "%s: the range \"%s\" %s", what, item,
                         r->multiply && r->first == 0 ? "multiplies 0" : "ends before it begins");
    return 0;
}

static int add_range(struct int_list *l, const struct range *r, const char *what, struct error *err)
{
    enum { MOST = 1000000 };
    for (int64_t v = r->first; v <= r->last; v = r->multiply ? v * r->step : v + r->step) {
        if (l->n >= MOST)
            return error_set(err, ERROR_USAGE, "%s: more than %d values", what, MOST);
        if ((l->n & (l->n - 1)) == 0) {
            const size_t cap = l->n ? 2 * l->n : 1;
            int64_t *p = realloc(l->v, cap * sizeof *p);
            if (!p)
                return error_oom(err, cap * sizeof *p, what);
            l->v = p;
        }
        l->v[l->n++] = v;
    }
    return 0;
}

int int_list_parse(struct int_list *l, const char *s, int64_t lo, int64_t hi, const char *what,
                   struct error *err)
{
    *l = (struct int_list){ 0 };
    struct str_list items;
    if (str_list_parse(&items, s, what, err) != 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < items.n; i++) {
        struct range r;
        rc = parse_range(&r, items.v[i], lo, hi, what, err);
        if (rc == 0)
            rc = add_range(l, &r, what, err);
    }
    str_list_free(&items);
    if (rc != 0)
        int_list_free(l);
    return rc;
}

int64_t int_list_largest(const struct int_list *l)
{
    int64_t most = 0;
    for (size_t i = 0; i < l->n; i++)
        most = l->v[i] > most ? l->v[i] : most;
    return most;
}

void int_list_free(struct int_list *l)
{
    free(l->v);
    *l = (struct int_list){ 0 };
}
