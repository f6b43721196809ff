/* Models by name: models/NAME.json in the data directories. Names match ignoring case, blanks, dashes, underscores and colons;
 * "aliases" in a file are alternative names. */
#include "model/internal.h"
#include "base/environment.h"
#include <stdlib.h>
#include <string.h>

int model_list(char ***names, size_t *n, struct error *err)
{
    return name_list(names, n, environment()->data_dirs, "models", err);
}

/* ---- matching ---------------------------------------------------------------------------- */

/* A name or alias of a preset. */
struct preset_name {
    char text[NAME_SIZE];
    size_t preset; /* index in names */
};

/* The preset of a name, or the one with the nearest name or alias, and what it is compared with. */
struct match {
    bool nearest; /* distances are wanted, else only whether a name is the same */
    char **names; /* of presets */
    size_t n_name;
    struct preset_name *alias;
    size_t n_alias;
    bool read;            /* aliases are loaded */
    unsigned best;        /* smallest name_distance so far; 0: exact */
    char name[NAME_SIZE]; /* its preset */
    char asked[NAME_SIZE];
    char type[NAME_SIZE]; /* type suffix of the name; "" */
};

static void match_free(struct match *x)
{
    name_list_free(x->names, x->n_name);
    free(x->alias);
}

/* wanted: alias_fold() of asked. */
static void consider(struct match *x, const char *wanted, const char *asked, const char *alias, const char *preset)
{
    char f[NAME_SIZE];
    alias_fold(f, sizeof f, alias);
    const bool same = strcmp(wanted, f) == 0;
    if (!same && !x->nearest)
        return;
    unsigned d = same ? 0 : name_distance(asked, alias);
    if (d == 0 && !same)
        d = 1; /* "3.1" and "31" fold alike */
    if (d < x->best) {
        x->best = d;
        snprintf(x->name, sizeof x->name, "%s", preset);
        snprintf(x->asked, sizeof x->asked, "%s", asked);
    }
}

static int add_alias(struct match *x, const char *text, size_t preset, struct error *err)
{
    if (x->n_alias == 0 || (x->n_alias >= 64 && (x->n_alias & (x->n_alias - 1)) == 0)) { /* capacity doubles */
        const size_t cap = x->n_alias == 0 ? 64 : 2 * x->n_alias;
        struct preset_name *more = realloc(x->alias, cap * sizeof *more);
        if (!more)
            return error_oom(err, cap * sizeof *more, "names of models");
        x->alias = more;
    }
    struct preset_name *a = &x->alias[x->n_alias++];
    snprintf(a->text, sizeof a->text, "%s", text);
    a->preset = preset;
    return 0;
}

/* An unreadable preset is an error in any search, as it could be the match. */
static int read_aliases(struct match *x, struct error *err)
{
    for (size_t i = 0; i < x->n_name && !x->read; i++) {
        char path[4352] = "";
        if (!name_file(path, sizeof path, environment()->data_dirs, "models", x->names[i]))
            continue;
        json_t *j = json_load_path(path, err);
        if (!j)
            return -1;
        const json_t *a;
        size_t k;
        int rc = 0;
        json_array_foreach(json_object_get(j, "aliases"), k, a) if (rc == 0 && json_is_string(a))
            rc = add_alias(x, json_string_value(a), i, err);
        json_decref(j);
        if (rc != 0)
            return -1;
    }
    x->read = true;
    return 0;
}

/* Preset by a name table; entries may lack a preset file. */
static int in_table(struct match *x, const char *asked, const char *file, bool exact, struct error *err)
{
    const struct alias_table t = { file, exact };
    char path[4352], preset[NAME_SIZE];
    bool found;
    if (x->best == 0)
        return 0;
    if (alias_listed(environment()->data_dirs, &t, asked, preset, &found, err) != 0)
        return -1;
    if (found && name_file(path, sizeof path, environment()->data_dirs, "models", preset)) {
        snprintf(x->name, sizeof x->name, "%s", preset);
        x->best = 0;
    }
    return 0;
}

/* The preset of an unmodified name, or the nearest one (x->best). File names first, without reading files. */
static int find_whole(struct match *x, const char *asked, struct error *err)
{
    char wanted[NAME_SIZE];
    alias_fold(wanted, sizeof wanted, asked);
    /* Labels have blanks; "llama-7b" is a repository name. */
    if (strchr(asked, ' ') && in_table(x, asked, "llama-bench.tsv", false, err) != 0)
        return -1;
    for (size_t i = 0; i < x->n_name && x->best; i++)
        consider(x, wanted, asked, x->names[i], x->names[i]);
    if (x->best && read_aliases(x, err) != 0)
        return -1;
    for (size_t i = 0; i < x->n_alias && x->best; i++)
        consider(x, wanted, asked, x->alias[i].text, x->names[x->alias[i].preset]);
    if (in_table(x, asked, "names.tsv", false, err) != 0 || in_table(x, asked, "ollama.tsv", true, err) != 0)
        return -1;
    return in_table(x, asked, "llama-bench.tsv", false, err);
}

/* Without owner prefix, then removing suffixes one by one. */
static int find_shorter(struct match *x, const char *base, struct error *err)
{
    const char *const bare = alias_owned(base);
    char name[NAME_SIZE];
    for (int i = 0; i < (bare != base ? 2 : 1); i++) {
        const char *const whole = i == 0 ? base : bare;
        x->type[0] = 0;
        if (strlen(whole) >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%s", whole);
        do {
            if (find_whole(x, name, err) != 0)
                return -1;
            if (x->best == 0 && !x->type[0]) /* a table name may end with a type too */
                (void)alias_type(name, x->type, sizeof x->type);
            if (x->best == 0)
                return 0;
        } while (alias_shorten(name, x->type, sizeof x->type));
    }
    return 0;
}

/* A preset's file has this name: it is found without a list of all. Labels have blanks. */
static bool is_file(const char *name)
{
    char path[4352];
    return *name && *name != '.' && strlen(name) < NAME_SIZE && !strchr(name, ' ') && name_file(path, sizeof path, environment()->data_dirs, "models", name);
}

/* nearest: of a name that none has, the nearest one. */
static int find(struct match *x, const char *spec, bool nearest, struct error *err)
{
    const char *const base = strrchr(spec, '/') ? strrchr(spec, '/') + 1 : spec;
    *x = (struct match){ .best = UINT32_MAX };
    snprintf(x->asked, sizeof x->asked, "%s", base);
    if (is_file(base)) {
        x->best = 0;
        snprintf(x->name, sizeof x->name, "%s", base);
        (void)alias_type(base, x->type, sizeof x->type);
        return 0;
    }
    if (model_list(&x->names, &x->n_name, err) != 0 || find_shorter(x, base, err) != 0)
        return -1;
    if (x->best == 0 || !nearest)
        return 0;
    x->nearest = true;
    return find_shorter(x, base, err);
}

static int unknown_model(const char *spec, const struct match *x, struct error *err)
{
    char hint[NAME_SIZE + 32] = "";
    if (x->n_name == 0)
        return error_set(err, ERROR_INPUT,
                         "no file called \"%.128s\", and no models by name: %s has no models/*.json "
                         "(ROOFCAST_DATA names the directory)",
                         spec, environment()->data_dirs && *environment()->data_dirs ? *environment()->data_dirs : "the data directory");
    if (x->name[0] && !name_too_distant(x->asked, x->best))
        snprintf(hint, sizeof hint, "; did you mean %s?", x->name);
    return error_set(err, ERROR_INPUT,
                     "no file and no model called \"%.128s\"%s (`roofcast list models` prints the names; "
                     "a .gguf or a config.json is given by its path)",
                     spec, hint);
}

/* The type in the name, unless the caller gives one. */
static int type_of_name(const struct match *x, const char *spec, char *type, size_t size, struct error *err)
{
    struct quant_name q;
    spec = strrchr(spec, '/') ? strrchr(spec, '/') + 1 : spec;
    if (alias_bnb(spec))
        return error_set(err, ERROR_INPUT, "\"%.128s\": the 4-bit types of bitsandbytes (bnb) are not supported; leave \"-bnb-4bit\" out and name the "
                                           "type with -q", spec);
    if (!model_type_named(&q, x->type)) {
        snprintf(type, size, "%.31s", x->type); /* the model's message lists known types */
        return 0;
    }
    if (q.bits > 0)
        return error_set(err, ERROR_INPUT, "\"%.128s\": %.32s says %g bits per weight, which no supported type has: name one with -q (`roofcast list types`; the "
                         "nearest is %s)", spec, x->type, q.bits, q.type);
    snprintf(type, size, "%s", q.type);
    return 0;
}

static int load_named(struct model *m, const char *name, const char *type, struct error *err)
{
    char path[4352];
    struct hparams hp;
    const char *arch;
    if (!name_file(path, sizeof path, environment()->data_dirs, "models", name))
        return error_set(err, ERROR_SYSTEM, "models/%s.json: the file disappeared", name);
    json_t *j = json_load_path(path, err);
    int rc = j ? config_parse(j, path, &hp, &arch, err) : -1;
    if (rc == 0)
        rc = model_from_config(m, name, j, path, arch, &hp, type, err);
    json_decref(j);
    return rc;
}

int preset_load(struct model *m, const char *spec, const char *type, bool *found, struct error *err)
{
    struct match x;
    char named[32];
    int rc = find(&x, spec, !found, err);
    if (found)
        *found = rc == 0 && x.best == 0;
    if (rc == 0 && x.best != 0 && !found)
        rc = unknown_model(spec, &x, err);
    if (rc == 0 && x.best == 0 && !type && x.type[0] && !found) {
        rc = type_of_name(&x, spec, named, sizeof named, err);
        type = named;
    }
    if (rc == 0 && x.best == 0)
        rc = load_named(m, x.name, type, err);
    match_free(&x);
    return rc;
}

int model_load_preset(struct model *m, const char *name, const char *type, bool *found, struct error *err)
{
    *m = (struct model){ 0 };
    *found = false;
    return *name && strlen(name) < sizeof m->path ? preset_load(m, name, type, found, err) : 0;
}
