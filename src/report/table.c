/* Rows and columns, and rows as JSON. */
#include "report/table_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- columns ------------------------------------------------------------------------------------- */

static const struct column *find_column(const struct column *cols, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(cols[i].key, key) == 0)
            return &cols[i];
    return NULL;
}

/* Whether one of the words is the key. */
static bool has_word(const char *words, const char *key)
{
    const size_t n = strlen(key);
    for (const char *p = words; (p = strstr(p, key)) != NULL; p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

void columns_rank(struct column *cols, size_t n, const char *keys, enum column_rank rank)
{
    for (size_t i = 0; i < n; i++)
        if (has_word(keys, cols[i].key))
            cols[i].rank = rank;
}

size_t table_columns(const struct table *t, const struct column **out)
{
    size_t n = 0;
    if (!t->order)
        for (size_t i = 0; i < t->n_cols; i++)
            if (t->cols[i].rank != COL_JSON)
                out[n++] = &t->cols[i];
    for (const char *p = t->order; p && *p && n < t->n_cols;) {
        const size_t len = strcspn(p, " ");
        for (size_t i = 0; i < t->n_cols; i++)
            if (strncmp(t->cols[i].key, p, len) == 0 && !t->cols[i].key[len])
                out[n++] = &t->cols[i];
        p += len + strspn(p + len, " ");
    }
    return n;
}

/* ---- rows ------------------------------------------------------------------------------------------ */

struct table_kept {
    struct table_kept *next;
    json_t *json;
    char s[];
};

void *table_add(struct table_rows *r)
{
    if (r->n == r->cap) {
        const size_t cap = r->cap ? 2 * r->cap : 8;
        void *v = cap > SIZE_MAX / r->size ? NULL : realloc(r->v, cap * r->size);
        if (!v)
            interrupt_end_without_memory();
        r->v = v;
        r->cap = cap;
    }
    return memset((char *)r->v + r->size * r->n++, 0, r->size);
}

void *table_row(const struct table_rows *r, size_t i)
{
    return (char *)r->v + r->size * i;
}

static struct table_kept *keep(struct table_rows *r, size_t n)
{
    struct table_kept *k = malloc(sizeof *k + n);
    if (!k)
        interrupt_end_without_memory();
    *k = (struct table_kept){ .next = r->kept };
    return r->kept = k;
}

json_t *table_keep_json(struct table_rows *r, json_t *j)
{
    return keep(r, 0)->json = j;
}

const char *table_text(struct table_rows *r, const char *s)
{
    json_t *j = s && *s ? json_text(s) : NULL;
    const char *copy = j ? memcpy(keep(r, json_string_length(j) + 1)->s, json_string_value(j), json_string_length(j) + 1) : NULL;
    json_decref(j);
    return copy;
}

void table_rows_free(struct table_rows *r)
{
    while (r->kept) {
        struct table_kept *next = r->kept->next;
        json_decref(r->kept->json);
        free(r->kept);
        r->kept = next;
    }
    free(r->v);
    *r = (struct table_rows){ .size = r->size };
}

bool table_has(const struct table *t, const char *key)
{
    const struct column *c = find_column(t->cols, t->n_cols, key);
    for (size_t i = 0; c && i < t->rows->n; i++) {
        const enum cell_kind kind = column_cell(c, table_row(t->rows, i)).kind;
        if (kind != CELL_NULL && kind != CELL_ABSENT)
            return true;
    }
    return false;
}

void columns_rank_known(struct column *cols, size_t n, const struct table *t, const char *keys, enum column_rank rank)
{
    for (size_t i = 0; i < n; i++)
        if (has_word(keys, cols[i].key) && table_has(t, cols[i].key))
            cols[i].rank = rank;
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static json_t *row_json(const struct table *t, size_t row)
{
    json_t *j = json_object();
    for (size_t i = 0; i < t->n_cols; i++) {
        const struct column *c = &t->cols[i];
        const struct cell v = column_cell(c, table_row(t->rows, row));
        if (v.kind == CELL_ABSENT || (t->order && c->rank != COL_JSON && !has_word(t->order, c->key)))
            continue;
        if (json_object_set_new(j, c->key, cell_json(&v)) != 0)
            interrupt_end_without_memory();
    }
    return j;
}

json_t *table_rows_json(const struct table *t)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < t->rows->n; i++)
        if (json_array_append_new(rows, row_json(t, i)) != 0)
            interrupt_end_without_memory();
    return rows;
}

/* rest: appended members; ownership is taken. */
static json_t *with_schema(const struct table *t, json_t *rest)
{
    json_t *o = json_pack("{s:s, s:i}", "schema", t->schema, "version", t->version);
    if (!o || (rest && json_object_update_missing(o, rest) != 0))
        interrupt_end_without_memory();
    json_decref(rest);
    return o;
}

json_t *table_json(const struct table *t)
{
    json_t *doc = with_schema(t, json_deep_copy(t->meta));
    if (json_object_set_new(doc, "rows", table_rows_json(t)) != 0)
        interrupt_end_without_memory();
    return doc;
}

int table_print_jsonl(FILE *out, const struct table *t, struct error *err)
{
    int rc = 0;
    for (size_t r = 0; r < t->rows->n && rc == 0; r++) {
        json_t *row = with_schema(t, row_json(t, r));
        rc = json_print(row, out, true, err);
        json_decref(row);
    }
    return rc;
}
