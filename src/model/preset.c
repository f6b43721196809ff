/* Models by name: models/NAME.json in the data directories. Names match without regard to case,
 * spaces, dashes and underscores; a file lists the other names people use under "aliases". */
#include "model/internal.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Set once by main() before any load: the one piece of state this module keeps. */
static const char *const *data_dirs;

void model_set_dirs(const char *const *dirs)
{
    data_dirs = dirs;
}

enum { MAX_NAME = 128 };

struct name_list {
    char **v;
    size_t n;
};

static void name_list_free(struct name_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct name_list){ 0 };
}

static int name_list_add(struct name_list *l, const char *s, size_t len, struct error *err)
{
    char **v = realloc(l->v, (l->n + 1) * sizeof *v);
    if (!v)
        return error_oom(err, (l->n + 1) * sizeof *v, "the list of models");
    l->v = v;
    v[l->n] = strndup(s, len);
    if (!v[l->n])
        return error_oom(err, len + 1, "a model's name");
    l->n++;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of DIR/models/ *.json added to l; a directory that is not there has none. */
static int scan_dir(struct name_list *l, const char *dir, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/models", dir);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : error_set(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    int rc = 0;
    struct dirent *e;
    while (rc == 0 && (e = readdir(d))) {
        size_t n = strlen(e->d_name);
        if (n > 5 && n < MAX_NAME && e->d_name[0] != '.' && strcmp(e->d_name + n - 5, ".json") == 0)
            rc = name_list_add(l, e->d_name, n - 5, err);
    }
    closedir(d);
    return rc;
}

int model_list(char ***names, size_t *n, struct error *err)
{
    struct name_list l = { 0 };
    *names = NULL;
    *n = 0;
    for (const char *const *d = data_dirs; d && *d; d++)
        if (scan_dir(&l, *d, err) != 0) {
            name_list_free(&l);
            return -1;
        }
    if (l.n == 0)
        return 0;
    qsort(l.v, l.n, sizeof *l.v, by_text);
    size_t kept = 1;
    for (size_t i = 1; i < l.n; i++)
        if (strcmp(l.v[i], l.v[kept - 1]) == 0)
            free(l.v[i]); /* the same name in two directories: the first one found is loaded */
        else
            l.v[kept++] = l.v[i];
    *names = l.v;
    *n = kept;
    return 0;
}

/* ---- matching ---------------------------------------------------------------------------- */

static void fold(char *out, size_t n, const char *s)
{
    size_t k = 0;
    for (; *s && k + 1 < n; s++)
        if (*s != ' ' && *s != '-' && *s != '_')
            out[k++] = (char)tolower((unsigned char)*s);
    out[k] = 0;
}

/* Edits (insert, delete, replace a character) between two folded names. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[MAX_NAME + 1];
    size_t n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 0; a[i]; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < n; j++) {
            unsigned best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (row[j + 1] + 1 < best)
                best = row[j + 1] + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            row[j + 1] = best;
        }
    }
    return row[n];
}

/* The preset whose name or alias is nearest to what was asked for. */
struct match {
    const char *folded;
    unsigned best;         /* edits to the nearest name so far; 0: it is this one */
    char name[MAX_NAME];   /* its preset */
    char path[4352];
};

static void consider(struct match *x, const char *alias, const char *name, const char *path)
{
    char f[MAX_NAME];
    fold(f, sizeof f, alias);
    unsigned d = distance(x->folded, f);
    if (d < x->best) {
        x->best = d;
        snprintf(x->name, sizeof x->name, "%s", name);
        snprintf(x->path, sizeof x->path, "%s", path);
    }
}

/* The first directory that has models/NAME.json. */
static void find_file(char *path, size_t n, const char *name)
{
    for (const char *const *d = data_dirs; d && *d; d++) {
        snprintf(path, n, "%s/models/%s.json", *d, name);
        if (file_exists(path))
            return;
    }
}

/* Every file name first (no file is read when one is meant), then the aliases inside. */
static int find_best(struct match *x, const struct name_list *l, struct error *err)
{
    char path[4352] = "";
    for (size_t i = 0; i < l->n && x->best; i++) {
        find_file(path, sizeof path, l->v[i]);
        consider(x, l->v[i], l->v[i], path);
    }
    for (size_t i = 0; i < l->n && x->best; i++) {
        find_file(path, sizeof path, l->v[i]);
        json_t *j = json_load_path(path, err);
        if (!j)
            return -1;
        const json_t *aliases = json_object_get(j, "aliases"), *a;
        size_t k;
        json_array_foreach(aliases, k, a) if (json_is_string(a))
            consider(x, json_string_value(a), l->v[i], path);
        json_decref(j);
    }
    return 0;
}

static int unknown_model(const char *spec, const struct match *x, struct error *err)
{
    char hint[MAX_NAME + 32] = "";
    if (!x->name[0])
        return error_set(err, ERROR_INPUT,
                         "no file called \"%.128s\", and no models by name: %s has no models/*.json "
                         "(ROOFCAST_DATA names the directory)",
                         spec, data_dirs && *data_dirs ? *data_dirs : "the data directory");
    /* A suggestion more than half rewritten would be noise. */
    if (2 * x->best <= strlen(x->folded))
        snprintf(hint, sizeof hint, "; did you mean %s?", x->name);
    return error_set(err, ERROR_INPUT,
                     "no file and no model called \"%.128s\"%s (`roofcast list models` prints the names; "
                     "a .gguf or a config.json is given by its path)",
                     spec, hint);
}

int preset_load(struct model *m, const char *spec, const char *type, struct error *err)
{
    struct name_list l = { 0 };
    char folded[MAX_NAME];
    /* "meta-llama/Llama-3.1-8B": the hub's owner is not part of the name. */
    const char *base = strrchr(spec, '/');
    fold(folded, sizeof folded, base ? base + 1 : spec);
    struct match x = { .folded = folded, .best = UINT32_MAX };
    json_t *j = NULL;
    struct hparams hp;
    const char *arch;
    int rc = model_list(&l.v, &l.n, err);
    if (rc == 0)
        rc = find_best(&x, &l, err);
    if (rc == 0 && x.best != 0)
        rc = unknown_model(spec, &x, err);
    if (rc == 0 && !(j = json_load_path(x.path, err)))
        rc = -1;
    if (rc == 0)
        rc = config_parse(j, x.path, &hp, &arch, err);
    if (rc == 0)
        rc = model_from_hparams(m, x.name, arch, &hp, type, err);
    json_decref(j);
    name_list_free(&l);
    return rc;
}
