/* Models by name: models/NAME.json in the data directories. Names match without regard to case,
 * spaces, dashes, underscores and colons; a file lists the other names people use under "aliases". */
#include "model/internal.h"
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

/* The preset whose name or alias is nearest to what was asked for. */
struct match {
    char folded[NAME_SIZE];
    char asked[NAME_SIZE]; /* as it was written */
    unsigned best;        /* name_distance of the nearest name so far; 0: it is this one */
    char name[NAME_SIZE]; /* its preset */
    char path[4352];
};

static void consider(struct match *x, const char *alias, const char *name, const char *path)
{
    char f[NAME_SIZE];
    alias_fold(f, sizeof f, alias);
    unsigned d = strcmp(x->folded, f) == 0 ? 0 : name_distance(x->asked, alias);
    if (d == 0 && strcmp(x->folded, f) != 0)
        d = 1; /* "3.1" and "31" look alike */
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
    if (!name_far(x->asked, x->best))
        snprintf(hint, sizeof hint, "; did you mean %s?", x->name);
    return error_set(err, ERROR_INPUT,
                     "no file and no model called \"%.128s\"%s (`roofcast list models` prints the names; "
                     "a .gguf or a config.json is given by its path)",
                     spec, hint);
}

/* The preset that a name without a type means, or the nearest. */
static int find(struct match *x, const char *base, char **names, size_t n, struct error *err)
{
    char folded[NAME_SIZE], name[NAME_SIZE];
    alias_fold(folded, sizeof folded, base);
    *x = (struct match){ .best = UINT32_MAX };
    snprintf(x->folded, sizeof x->folded, "%s", folded);
    snprintf(x->asked, sizeof x->asked, "%s", base);
    /* A label is written with spaces; "llama-7b" is the repository of that name. */
    if (strchr(base, ' ') && alias_label(data_dirs, folded, name, sizeof name) &&
        name_file(x->path, sizeof x->path, data_dirs, "models", name)) {
        snprintf(x->name, sizeof x->name, "%s", name);
        x->best = 0;
        return 0;
    }
    if (find_best(x, names, n, err) != 0)
        return -1;
    if (x->best != 0 && alias_label(data_dirs, folded, name, sizeof name) &&
        name_file(x->path, sizeof x->path, data_dirs, "models", name)) {
        snprintf(x->name, sizeof x->name, "%s", name);
        x->best = 0;
    }
    return 0;
}

/* As it is, then without a type at its end, which *type gets where it is NULL. */
static int find_typed(struct match *x, const char *base, char **names, size_t n, const char **type, char *buf, size_t size,
                      struct error *err)
{
    char head[NAME_SIZE], found[32];
    struct match y;
    if (find(x, base, names, n, err) != 0)
        return -1;
    if (x->best != 0 && alias_bnb(base))
        return error_set(err, ERROR_INPUT, "\"%.128s\": the 4-bit types of bitsandbytes (bnb) are not supported; leave \"-bnb-4bit\" "
                         "out and name the type to price with -q", base);
    const size_t typed = alias_type(base, found, sizeof found), len = alias_file(base, typed);
    if (x->best == 0 || !base[len] || len >= sizeof head)
        return 0;
    snprintf(head, sizeof head, "%.*s", (int)len, base);
    if (find(&y, head, names, n, err) != 0)
        return -1;
    if (y.best < x->best)
        *x = y;
    if (y.best == 0 && !*type && base[typed]) {
        snprintf(buf, size, "%s", found);
        *type = buf;
    }
    return 0;
}

int preset_load(struct model *m, const char *spec, const char *type, struct error *err)
{
    char **names, typed[32];
    size_t n;
    /* "meta-llama/Llama-3.1-8B": the hub's owner is not part of the name. */
    const char *base = strrchr(spec, '/');
    struct match x = { 0 };
    json_t *j = NULL;
    struct hparams hp;
    const char *arch;
    int rc = model_list(&names, &n, err);
    if (rc == 0)
        rc = find_typed(&x, base ? base + 1 : spec, names, n, &type, typed, sizeof typed, err);
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
