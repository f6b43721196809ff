/* Machine classes: of a profile, of a name, and their priors. methods.md (56) */
#include "dataset/families.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the file --------------------------------------------------------------------------------------------- */

#define MACHINES_SCHEMA "roofcast.machines"
enum { MACHINES_VERSION = 1, MAX_LIST = 1000, CTX = 512 };

/* A word of machine names, at a word boundary; '#' matches a digit, '$' the end of a word. */
struct class_word {
    const char *word, *vendor;
    const struct machine_class *class;
    double bytes_s, ln_sd; /* NaN: those of the class */
    const char *source;
};

struct classes {
    json_t *doc; /* owns the texts */
    struct machine_class *class;
    size_t n_class;
    struct class_word *word;
    size_t n_word;
    struct machine_family *family;
    size_t n_family;
};

static void classes_free(struct classes *k)
{
    free(k->class);
    free(k->word);
    free(k->family);
    json_decref(k->doc);
    *k = (struct classes){ 0 };
}

/* Vendors as spelled in profiles: class vendors are compared exactly. */
static const char *const makers[] = { "NVIDIA", "AMD", "Intel", "Apple", "Google", "AWS", "Qualcomm", "Tenstorrent", "Ampere", "Broadcom", "CIX" };

static int read_vendor(const json_t *o, const char *ctx, const char **vendor, struct error *err)
{
    if (json_get_str_opt(o, ctx, "vendor", vendor, err) != 0)
        return -1;
    bool known = !json_object_get(o, "vendor");
    for (size_t i = 0; i < ARRAY_LEN(makers); i++)
        known |= strcmp(*vendor, makers[i]) == 0;
    if (known)
        return 0;
    char list[160] = "";
    for (size_t i = 0, n = 0; i < ARRAY_LEN(makers); i++, n = strlen(list))
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", makers[i]);
    return error_set(err, ERROR_INPUT, "%s: field \"vendor\": expected one of %s, found \"%.32s\"", ctx, list, *vendor);
}

int class_read_prior(const json_t *o, const char *ctx, const char *key, double *value, double *sd, const char **source, struct error *err)
{
    const json_t *v = json_object_get(o, key);
    const char *const expected = sd ? "B/s" : "FLOP/B", *unit = expected;
    char at[CTX + 64];
    snprintf(at, sizeof at, "%.*s.%s", CTX, ctx, key);
    if (json_check_object(v, at, err) != 0 || json_get_num(v, at, "value", value, err) != 0 || json_get_str(v, at, "source", source, err) != 0 ||
        json_get_str_opt(v, at, "unit", &unit, err) != 0 ||
        (sd && json_get_num(v, at, "ln_sd", sd, err) != 0))
        return -1;
    if (!(*value > 1e-6 && *value < 1e18))
        return error_set(err, ERROR_INPUT, "%s: field \"value\": expected 1e-6 to 1e18, found %g", at, *value);
    if (strcmp(unit, expected) != 0)
        return error_set(err, ERROR_INPUT, "%s: field \"unit\": expected %s, found \"%.32s\"", at, expected, unit);
    if (!**source)
        return error_set(err, ERROR_INPUT, "%s: field \"source\": expected where the figure is from, found \"\"", at);
    if (sd && !(*sd > 0 && *sd < 10))
        return error_set(err, ERROR_INPUT, "%s: field \"ln_sd\": expected more than 0 and less than 10, found %g", at, *sd);
    return 0;
}

static int read_class(struct machine_class *c, const json_t *o, const char *ctx, struct error *err)
{
    const json_t *ids = json_object_get(o, "ids");
    const char *kind;
    *c = (struct machine_class){ .vendor = "", .profiles = true };
    if (json_check_object(o, ctx, err) != 0 || json_get_str(o, ctx, "name", &c->name, err) != 0 || json_get_str(o, ctx, "kind", &kind, err) != 0 ||
        read_vendor(o, ctx, &c->vendor, err) != 0 || json_get_bool_opt(o, ctx, "profiles", &c->profiles, err) != 0 ||
        json_get_bool_opt(o, ctx, "name_first", &c->name_first, err) != 0)
        return -1;
    const int k = hw_kind_find(kind);
    if (k < 0)
        return error_set(err, ERROR_INPUT, "%s: field \"kind\": expected cpu, gpu, apu or npu, found \"%.32s\"", ctx, kind);
    c->kind = (enum hw_kind)k;
    if (ids && !json_is_array(ids))
        return error_set(err, ERROR_INPUT, "%s: field \"ids\": expected an array, found %s", ctx, json_type_name(ids));
    if (json_array_size(ids) > ARRAY_LEN(c->ids))
        return error_set(err, ERROR_INPUT, "%s: field \"ids\": expected at most %zu, found %zu", ctx, ARRAY_LEN(c->ids), json_array_size(ids));
    for (size_t i = 0; i < json_array_size(ids); i++)
        if (!(c->ids[i] = json_string_value(json_array_get(ids, i))))
            return error_set(err, ERROR_INPUT, "%s: ids[%zu]: expected a string", ctx, i);
    if (class_read_prior(o, ctx, "balance", &c->balance, NULL, &c->source, err) != 0)
        return -1;
    return class_read_prior(o, ctx, "bandwidth", &c->bytes_s, &c->ln_sd, &c->source, err);
}

static const struct machine_class *find(const struct classes *k, const char *name)
{
    for (size_t i = 0; i < k->n_class; i++)
        if (strcasecmp(k->class[i].name, name) == 0)
            return &k->class[i];
    return NULL;
}

static int read_word(const struct classes *k, struct class_word *w, const json_t *o, const char *ctx, struct error *err)
{
    const char *class;
    *w = (struct class_word){ .vendor = "", .bytes_s = NAN, .ln_sd = NAN };
    if (json_check_object(o, ctx, err) != 0 || json_get_str(o, ctx, "word", &w->word, err) != 0 || json_get_str(o, ctx, "class", &class, err) != 0 ||
        read_vendor(o, ctx, &w->vendor, err) != 0)
        return -1;
    if (!*w->word)
        return error_set(err, ERROR_INPUT, "%s: field \"word\": expected a word, found \"\"", ctx);
    w->class = find(k, class);
    if (!w->class)
        return error_set(err, ERROR_INPUT, "%s: field \"class\": expected a name of \"classes\", found \"%.64s\"", ctx, class);
    return json_object_get(o, "bandwidth") ? class_read_prior(o, ctx, "bandwidth", &w->bytes_s, &w->ln_sd, &w->source, err) : 0;
}

static int read_lists(struct classes *k, const char *name, struct error *err)
{
    char ctx[CTX];
    const json_t *classes, *words;
    if (json_get_array(k->doc, name, "classes", MAX_LIST, &classes, err) != 0 || json_get_array(k->doc, name, "names", MAX_LIST, &words, err) != 0)
        return -1;
    k->class = calloc(json_array_size(classes) + 1, sizeof *k->class);
    k->word = calloc(json_array_size(words) + 1, sizeof *k->word);
    if (!k->class || !k->word)
        return error_oom(err, json_array_size(words) * sizeof *k->word, "classes of machines");
    for (size_t i = 0; i < json_array_size(classes); i++, k->n_class++) {
        snprintf(ctx, sizeof ctx, "%.400s: classes[%zu]", name, i);
        if (read_class(&k->class[i], json_array_get(classes, i), ctx, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < json_array_size(words); i++, k->n_word++) {
        snprintf(ctx, sizeof ctx, "%.400s: names[%zu]", name, i);
        if (read_word(k, &k->word[i], json_array_get(words, i), ctx, err) != 0)
            return -1;
    }
    if (families_read(&k->family, &k->n_family, k->doc, name, err) != 0)
        return -1;
    for (size_t i = 0; i < k->n_family; i++) {
        struct machine_family *f = &k->family[i];
        snprintf(ctx, sizeof ctx, "%.400s: families[%zu]", name, i);
        f->class = find(k, f->class_name);
        if (!f->class)
            return error_set(err, ERROR_INPUT, "%s: field \"class\": expected a name of \"classes\", found \"%.64s\"", ctx, f->class_name);
        if (read_vendor(json_array_get(json_object_get(k->doc, "families"), i), ctx, &f->vendor, err) != 0)
            return -1;
    }
    return 0;
}

/* Takes ownership of doc. */
static int take(struct classes *k, json_t *doc, const char *name, struct error *err)
{
    *k = (struct classes){ .doc = doc };
    if (!doc)
        return -1;
    if (json_check_schema(doc, name, MACHINES_SCHEMA, MACHINES_VERSION, err) == 0 && read_lists(k, name, err) == 0)
        return 0;
    classes_free(k);
    return -1;
}

int classes_check(const char *name, const void *data, size_t size, struct error *err)
{
    struct classes k;
    const int rc = take(&k, json_load_mem(name, data, size, err), name, err);
    if (rc == 0)
        classes_free(&k);
    return rc;
}

static struct classes the;
static struct once reading = ONCE_INIT;

static int read_file(struct error *err)
{
    char path[4096];
    if (!hwprofile_data_file(path, sizeof path, "hwprofiles/priors", "machines"))
        return error_set(err, ERROR_UNAVAILABLE, "hwprofiles/priors/machines.json is in none of the data directories");
    return take(&the, json_load_path(path, err), path, err);
}

int classes_load(struct error *err)
{
    return read_once(&reading, read_file, err);
}

/* Empty without the file: errors are reported by classes_load(). */
static const struct classes *classes(void)
{
    struct error unused;
    (void)classes_load(&unused);
    return &the;
}

/* ---- profiles --------------------------------------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

const struct machine_class *class_find(const char *name)
{
    return find(classes(), name);
}

static bool takes(const struct machine_class *c, const struct hwprofile *h)
{
    bool any = !c->ids[0];
    for (size_t k = 0; k < ARRAY_LEN(c->ids) && c->ids[k]; k++)
        any |= begins(h->id, c->ids[k]);
    return any && c->profiles && c->kind == h->kind && (!*c->vendor || strcmp(c->vendor, h->vendor) == 0);
}

const char *machine_class(const struct hwprofile *h)
{
    const struct classes *k = classes();
    struct class_guess named;
    if (*h->guess_class)
        return h->guess_class;
    for (size_t i = 0; i < k->n_class; i++) {
        if (!takes(&k->class[i], h))
            continue;
        /* Without a matching id prefix the name decides, before the server class. */
        if (k->class[i].name_first && class_of_name(&named, h->name) && named.class->kind == h->kind)
            return named.class->name;
        return k->class[i].name;
    }
    return "";
}

/* ---- names ------------------------------------------------------------------------------------------------ */

/* The text of s after the word with which it begins; NULL: it does not. */
static const char *after_word(const char *s, const char *word)
{
    for (; *word; s++, word++) {
        if (*word == '$')
            return isalnum((unsigned char)*s) ? NULL : s;
        if (*word == '#' ? !isdigit((unsigned char)*s) : tolower((unsigned char)*s) != *word)
            return NULL;
    }
    return s;
}

/* whole: a number that ends the word ends in the name too. */
static bool has_word(const char *name, const char *word, bool whole)
{
    for (const char *p = name; *p; p++) {
        const char *const end = p == name || !isalnum((unsigned char)p[-1]) ? after_word(p, word) : NULL;
        if (end && !(whole && end > p && isdigit((unsigned char)end[-1]) && isdigit((unsigned char)*end)))
            return true;
    }
    return false;
}

bool class_has_word(const char *name, const char *word)
{
    return has_word(name, word, false);
}

bool class_has_model(const char *name, const char *word)
{
    return has_word(name, word, true);
}

/* Replaces trademarks and punctuation by blanks: "Intel(R) Arc(TM) B580" -> "Intel Arc B580". */
static void normalize(char *out, size_t size, const char *name)
{
    size_t n = 0;
    for (const char *s = name; *s && n + 1 < size;) {
        const char *const mark = strncasecmp(s, "(R)", 3) == 0 ? "(R)" : strncasecmp(s, "(TM)", 4) == 0 ? "(TM)" : NULL;
        if (mark) {
            s += strlen(mark);
            continue;
        }
        const char c = strchr("_-,/", *s) ? ' ' : *s;
        s++;
        if (c != ' ' || (n && out[n - 1] != ' '))
            out[n++] = c;
    }
    out[n] = 0;
}

bool class_of_name(struct class_guess *out, const char *hardware)
{
    char name[256];
    normalize(name, sizeof name, hardware);
    const bool cpu = strcasestr(name, "[cpu]") != NULL;
    const struct classes *k = classes();
    for (size_t i = 0; i < k->n_word; i++) {
        const struct class_word *w = &k->word[i];
        if (!class_has_word(name, w->word) || (cpu && w->class->kind != HW_CPU))
            continue;
        const bool own = w->bytes_s > 0;
        *out = (struct class_guess){ .class = w->class, .vendor = w->vendor, .bytes_s = own ? w->bytes_s : w->class->bytes_s,
                                     .ln_sd = own ? w->ln_sd : w->class->ln_sd, .source = own ? w->source : w->class->source };
        (void)family_of_name(out, k->family, k->n_family, name);
        return true;
    }
    return false;
}
