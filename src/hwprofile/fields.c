/* Members of structs as JSON fields: one table is read, checked and written. */
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 40 };

static char *items_of(const struct hw_list *l, const void *at)
{
    char *items = (char *)(uintptr_t)at;
    if (!l->inside)
        memcpy(&items, at, sizeof items);
    return items;
}

/* Objects of the array o[f->key] as items of p. */
static int read_list(const struct hw_field *f, void *p, const json_t *o, const char *pctx, struct error *err)
{
    const struct hw_list *l = f->list;
    size_t *count = (size_t *)((char *)p + l->count);
    char *at = (char *)p + f->offset;
    const json_t *list;
    if (hw_get_list(o, pctx, f->key, l->most, &list, err) != 0)
        return -1;
    const size_t n = json_array_size(list);
    if (n > 0 && !l->inside) {
        void *items = calloc(n, l->size);
        if (!items)
            return error_oom(err, n * l->size, f->key);
        memcpy(at, &items, sizeof items);
    }
    for (size_t i = 0; i < n; i++) {
        char ctx[HW_CTX + 32], *item = items_of(l, at) + i * l->size;
        snprintf(ctx, sizeof ctx, "%s.%s[%zu]", pctx, f->key, i);
        memset(item, 0, l->size);
        if (l->init)
            l->init(item);
        if (hw_read_fields(item, l->fields, l->n_fields, json_array_get(list, i), ctx, err) != 0 || (l->check && l->check(p, i, ctx, err) != 0))
            return -1;
        *count = i + 1;
    }
    return 0;
}

int hw_get_list(const json_t *o, const char *ctx, const char *key, size_t most, const json_t **out, struct error *err)
{
    const json_t *a = json_object_get(o, key);
    *out = json_is_null(a) ? NULL : a;
    if (*out && !json_is_array(a))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an array", ctx, key);
    if (json_array_size(a) > most)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected at most %zu, found %zu", ctx, key, most, json_array_size(a));
    return 0;
}

static int read_field(const struct hw_field *f, void *at, const json_t *o, const char *ctx, struct error *err)
{
    const bool required = f->flags & HW_REQUIRED;
    int64_t n = 0;
    double *number = at;
    switch (f->kind) {
    case HW_TEXT:
        return hw_get_text(o, ctx, f->key, required, at, f->size, err);
    case HW_INT:
        if ((required ? json_get_int(o, ctx, f->key, f->lo, f->hi, &n, err) : json_get_int_opt(o, ctx, f->key, f->lo, f->hi, &n, err)) != 0)
            return -1;
        *(int *)at = (int)n;
        return 0;
    case HW_NUMBER:
        *number = NAN;
        return required ? json_get_num(o, ctx, f->key, number, err) : json_get_num_opt(o, ctx, f->key, number, err);
    case HW_VALUE:
        return hw_get_value(at, o, ctx, f->key, f->quantity, err);
    case HW_LIST:
    case HW_CHILD:
        break;
    }
    return 0;
}

int hw_read_fields(void *p, const struct hw_field *fields, size_t n, const json_t *o, const char *ctx, struct error *err)
{
    const char *known[MAX_FIELDS] = { NULL };
    for (size_t i = 0; i < n; i++)
        known[i] = fields[i].key;
    if (hw_check_fields(o, ctx, known, n, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct hw_field *f = &fields[i];
        if ((f->read              ? f->read(p, o, ctx, err)
             : f->kind == HW_LIST ? read_list(f, p, o, ctx, err)
                                  : read_field(f, (char *)p + f->offset, o, ctx, err)) != 0)
            return -1;
    }
    return 0;
}

int hw_put(json_t *o, const char *key, json_t *v)
{
    return json_object_set_new(o, key, v);
}

int hw_put_value(json_t *o, const char *key, const struct hw_value *v, const char *unit, bool always)
{
    if (isnan(v->value))
        return always ? hw_put(o, key, json_null()) : 0;
    json_t *j = json_object();
    int rc = hw_put(j, "value", json_num(v->value));
    if (*unit)
        rc |= hw_put(j, "unit", json_string(unit));
    rc |= hw_put(j, "source", json_string(v->source));
    return rc | hw_put(o, key, j);
}

static int put_field(const struct hw_field *f, const void *at, json_t *o)
{
    const bool always = f->flags & HW_ALWAYS;
    const char *text = at;
    const double *number = at;
    switch (f->kind) {
    case HW_TEXT:
        if (!*text)
            return f->flags & HW_NULL ? hw_put(o, f->key, json_null()) : always ? hw_put(o, f->key, json_string("")) : 0;
        return hw_put(o, f->key, json_string(text));
    case HW_INT:
        return always || *(const int *)at > 0 ? hw_put(o, f->key, json_integer(*(const int *)at)) : 0;
    case HW_NUMBER:
        return always || (!isnan(*number) && *number != 0) ? hw_put(o, f->key, json_num(*number)) : 0;
    case HW_VALUE:
        return hw_put_value(o, f->key, at, f->quantity->unit[0], always);
    case HW_LIST:
    case HW_CHILD:
        break;
    }
    return 0;
}

static int put_list(const struct hw_field *f, const void *p, json_t *o)
{
    const struct hw_list *l = f->list;
    const size_t n = *(const size_t *)((const char *)p + l->count);
    const char *items = items_of(l, (const char *)p + f->offset);
    if (n == 0 && !(f->flags & HW_ALWAYS))
        return 0;
    json_t *list = json_array();
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        rc |= json_array_append_new(list, hw_fields_to_json(items + i * l->size, l->fields, l->n_fields));
    return rc | hw_put(o, f->key, list);
}

int hw_put_fields(json_t *o, const void *p, const struct hw_field *fields, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hw_field *f = &fields[i];
        rc |= f->put ? f->put(o, p) : f->kind == HW_LIST ? put_list(f, p, o) : put_field(f, (const char *)p + f->offset, o);
    }
    return rc;
}

json_t *hw_fields_to_json(const void *p, const struct hw_field *fields, size_t n)
{
    json_t *o = json_object();
    if (hw_put_fields(o, p, fields, n) == 0)
        return o;
    json_decref(o);
    return NULL;
}
