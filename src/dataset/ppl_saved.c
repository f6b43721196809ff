/* Measured perplexities as files. */
#include "dataset/ppl_saved.h"
#include "base/column.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PPL_SAVED_SCHEMA "roofcast.quality_measured"
enum { PPL_SAVED_VERSION = 1, MAX_ROWS = 10000, CTX = 400 };

/* ---- a row ---------------------------------------------------------------------------------------------------- */

#define AT(m) COLUMN_AT(struct ppl_saved, m)
static const struct column columns[] = {
    { "model", NULL, COL_TEXT, NULL, COL_MAJOR, AT(model), EMPTY_VALUE, NULL, NULL },
    { "n_params", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(n_params), EMPTY_VALUE, NULL, NULL },
    { "type", NULL, COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_VALUE, NULL, NULL },
    { "base_type", NULL, COL_TEXT, NULL, COL_MAJOR, AT(base_type), EMPTY_NULL, NULL, NULL },
    { "text", NULL, COL_TEXT, NULL, COL_MAJOR, AT(text), EMPTY_VALUE, NULL, NULL },
    { "date", NULL, COL_TEXT, NULL, COL_MAJOR, AT(date), EMPTY_VALUE, NULL, NULL },
    { "n_ctx", NULL, COL_INT, NULL, COL_MAJOR, AT(n_ctx), EMPTY_VALUE, NULL, NULL },
    { "n_tokens", NULL, COL_INT, NULL, COL_MAJOR, AT(n_tokens), EMPTY_VALUE, NULL, NULL },
    { "ppl", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(ppl), EMPTY_VALUE, NULL, NULL },
    { "ppl_se", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(ppl_se), EMPTY_NULL, NULL, NULL },
    { "ln_ppl_ratio", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(ln_ratio), EMPTY_NULL, NULL, NULL },
    { "ln_ppl_ratio_se", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(ln_ratio_se), EMPTY_NULL, NULL, NULL },
    { "kl", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(kl), EMPTY_NULL, NULL, NULL },
    { "kl_se", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(kl_se), EMPTY_NULL, NULL, NULL },
};
#undef AT

static int read_column(struct ppl_saved *s, const json_t *o, const struct column *c, const char *ctx, struct error *err)
{
    void *at = (char *)s + c->offset;
    const bool optional = c->empty == EMPTY_NULL;
    if (c->field == FIELD_DOUBLE) {
        double *v = at;
        *v = NAN;
        return (optional ? json_get_num_opt : json_get_num)(o, ctx, c->key, v, err);
    }
    const char *text = "";
    if ((optional ? json_get_str_opt : json_get_str)(o, ctx, c->key, &text, err) != 0)
        return -1;
    if (strlen(text) >= c->size)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected at most %zu bytes, found %zu", ctx, c->key, c->size - 1, strlen(text));
    snprintf(at, c->size, "%s", text);
    return 0;
}

static int read_row(struct ppl_saved *s, const json_t *o, const char *ctx, struct error *err)
{
    if (json_check_object(o, ctx, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (read_column(s, o, &columns[i], ctx, err) != 0)
            return -1;
    if (!(s->n_params > 0 && s->n_params < 1e16 && s->ppl >= 1 && s->ppl < 1e30 && !(fabs(s->ln_ratio) > 50) && !(s->kl < -1e-6) && !(s->kl > 1000)))
        return error_set(err, ERROR_INPUT, "%s: expected parameters above 0, a perplexity of at least 1, |ln_ppl_ratio| up to 50 and a KL of 0 to 1000, found %g, %g, %g, %g",
                         ctx, s->n_params, s->ppl, s->ln_ratio, s->kl);
    return 0;
}

static json_t *row_json(const struct ppl_saved *s)
{
    json_t *o = json_object();
    for (size_t i = 0; o && i < ARRAY_LEN(columns); i++) {
        const struct cell v = column_cell(&columns[i], s);
        if (json_object_set_new(o, columns[i].key, cell_json(&v)) != 0) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static int append(struct ppl_saved_list *l, const struct ppl_saved *s, struct error *err)
{
    struct ppl_saved *v = realloc(l->v, (l->n + 1) * sizeof *v);
    if (!v)
        return error_oom(err, (l->n + 1) * sizeof *v, "measured perplexities");
    l->v = v;
    l->v[l->n++] = *s;
    return 0;
}

static int take(struct ppl_saved_list *l, json_t *doc, const char *name, struct error *err)
{
    const json_t *rows = NULL;
    int rc = doc && json_check_object(doc, name, err) == 0 && json_check_schema(doc, name, PPL_SAVED_SCHEMA, PPL_SAVED_VERSION, err) == 0
                 ? json_get_array(doc, name, "rows", MAX_ROWS, &rows, err)
                 : -1;
    for (size_t i = 0; rc == 0 && i < json_array_size(rows); i++) {
        char ctx[CTX];
        struct ppl_saved s = { .n_params = NAN };
        snprintf(ctx, sizeof ctx, "%.300s: rows[%zu]", name, i);
        rc = read_row(&s, json_array_get(rows, i), ctx, err);
        if (rc == 0)
            rc = append(l, &s, err);
    }
    json_decref(doc);
    return rc;
}

int ppl_saved_parse(struct ppl_saved_list *l, const char *name, const void *data, size_t size, struct error *err)
{
    *l = (struct ppl_saved_list){ 0 };
    const int rc = take(l, json_load_mem(name, data, size, err), name, err);
    if (rc != 0)
        ppl_saved_free(l);
    return rc;
}

int ppl_saved_load(struct ppl_saved_list *l, const char *dir, struct error *err)
{
    const char *const dirs[] = { dir, NULL };
    char **name;
    size_t n;
    *l = (struct ppl_saved_list){ 0 };
    if (name_list(&name, &n, dirs, "quality", err) != 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        char path[4352];
        if (name_file(path, sizeof path, dirs, "quality", name[i]))
            rc = take(l, json_load_path(path, err), path, err);
    }
    name_list_free(name, n);
    if (rc != 0)
        ppl_saved_free(l);
    return rc;
}

void ppl_saved_free(struct ppl_saved_list *l)
{
    free(l->v);
    *l = (struct ppl_saved_list){ 0 };
}

static bool same_row(const struct ppl_saved *a, const struct ppl_saved *b)
{
    return strcmp(a->model, b->model) == 0 && strcasecmp(a->type, b->type) == 0 && strcasecmp(a->base_type, b->base_type) == 0 &&
           strcmp(a->text, b->text) == 0 && a->n_ctx == b->n_ctx;
}

static int merge(struct ppl_saved_list *l, const struct ppl_saved *row, struct error *err)
{
    for (size_t i = 0; i < l->n; i++)
        if (same_row(&l->v[i], row)) {
            l->v[i] = *row;
            return 0;
        }
    return append(l, row, err);
}

static int save(const struct ppl_saved_list *l, const char *path, struct error *err)
{
    json_t *rows = json_array(), *doc = NULL;
    int rc = rows ? 0 : -1;
    for (size_t i = 0; i < l->n && rc == 0; i++)
        rc = json_array_append_new(rows, row_json(&l->v[i]));
    if (rc == 0)
        doc = json_pack("{s:s, s:i, s:O}", "schema", PPL_SAVED_SCHEMA, "version", PPL_SAVED_VERSION, "rows", rows);
    rc = doc ? json_save_path(doc, path, err) : error_oom(err, 0, "measured perplexities");
    json_decref(rows);
    json_decref(doc);
    return rc;
}

int ppl_saved_add(const char *dir, const struct ppl_saved *row, size_t n, char *path, size_t size, struct error *err)
{
    char name[64], folder[4096];
    struct ppl_saved_list l = { 0 };
    if (n == 0)
        return 0;
    name_fold(name, sizeof name, row[0].model, NULL);
    snprintf(folder, sizeof folder, "%s/quality", dir);
    if ((size_t)snprintf(path, size, "%s/%s.json", folder, *name ? name : "model") >= size)
        return error_set(err, ERROR_INPUT, "%.200s/quality: the path is too long", dir);
    int rc = dir_make(folder, err);
    if (rc == 0 && file_exists(path))
        rc = take(&l, json_load_path(path, err), path, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = merge(&l, &row[i], err);
    if (rc == 0)
        rc = save(&l, path, err);
    ppl_saved_free(&l);
    return rc;
}

/* ---- look-up ------------------------------------------------------------------------------------------------------ */

bool ppl_saved_of(const struct ppl_saved *s, const char *model, double n_params)
{
    char a[128], b[128];
    name_fold(a, sizeof a, s->model, NULL);
    name_fold(b, sizeof b, model, NULL);
    return *a && *b && (strstr(a, b) || strstr(b, a)) && fabs(s->n_params / n_params - 1) < 0.01;
}

const struct ppl_saved *ppl_saved_find(const struct ppl_saved_list *l, const char *model, double n_params, const char *type)
{
    const struct ppl_saved *best = NULL;
    for (size_t i = 0; i < l->n; i++) {
        const struct ppl_saved *s = &l->v[i];
        if (strcasecmp(s->type, type) != 0 || !ppl_saved_of(s, model, n_params))
            continue;
        const bool better = !best || (isnan(best->ln_ratio) && !isnan(s->ln_ratio)) || (isnan(best->ln_ratio) == isnan(s->ln_ratio) && s->n_tokens > best->n_tokens);
        best = better ? s : best;
    }
    return best;
}
