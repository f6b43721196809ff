/* Models by name: models/NAME.json in the data directories. Names match without regard to case,
 * spaces, dashes and underscores; a file lists the other names people use under "aliases". */
#include "model/internal.h"
#include <ctype.h>
#include <string.h>

/* Set once by main() before any load: the one piece of state this module keeps. */
static const char *const *data_dirs;

void model_set_dirs(const char *const *dirs)
{
    data_dirs = dirs;
}

int model_list(char ***names, size_t *n, struct error *err)
{
    return name_list(names, n, data_dirs, "models", err);
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

/* The preset whose name or alias is nearest to what was asked for. */
struct match {
    const char *folded;
    unsigned best;        /* edits to the nearest name so far; 0: it is this one */
    char name[NAME_SIZE]; /* its preset */
    char path[4352];
};

static void consider(struct match *x, const char *alias, const char *name, const char *path)
{
    char f[NAME_SIZE];
    fold(f, sizeof f, alias);
    unsigned d = edit_distance(x->folded, f);
    if (d < x->best) {
        x->best = d;
        snprintf(x->name, sizeof x->name, "%s", name);
        snprintf(x->path, sizeof x->path, "%s", path);
    }
}

/* Every file name first (no file is read when one is meant), then the aliases inside. */
static int find_best(struct match *x, char **names, size_t n, struct error *err)
{
    char path[4352] = "";
    for (size_t i = 0; i < n && x->best; i++) {
        name_file(path, sizeof path, data_dirs, "models", names[i]);
        consider(x, names[i], names[i], path);
    }
    for (size_t i = 0; i < n && x->best; i++) {
        name_file(path, sizeof path, data_dirs, "models", names[i]);
        json_t *j = json_load_path(path, err);
        if (!j)
            return -1;
        const json_t *aliases = json_object_get(j, "aliases"), *a;
        size_t k;
        json_array_foreach(aliases, k, a) if (json_is_string(a))
            consider(x, json_string_value(a), names[i], path);
        json_decref(j);
    }
    return 0;
}

static int unknown_model(const char *spec, const struct match *x, struct error *err)
{
    char hint[NAME_SIZE + 32] = "";
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
    char **names;
    size_t n;
    char folded[NAME_SIZE];
    /* "meta-llama/Llama-3.1-8B": the hub's owner is not part of the name. */
    const char *base = strrchr(spec, '/');
    fold(folded, sizeof folded, base ? base + 1 : spec);
    struct match x = { .folded = folded, .best = UINT32_MAX };
    json_t *j = NULL;
    struct hparams hp;
    const char *arch;
    int rc = model_list(&names, &n, err);
    if (rc == 0)
        rc = find_best(&x, names, n, err);
    if (rc == 0 && x.best != 0)
        rc = unknown_model(spec, &x, err);
    if (rc == 0 && !(j = json_load_path(x.path, err)))
        rc = -1;
    if (rc == 0)
        rc = config_parse(j, x.path, &hp, &arch, err);
    if (rc == 0)
        rc = model_from_config(m, x.name, j, x.path, arch, &hp, type, err);
    json_decref(j);
    name_list_free(names, n);
    return rc;
}
