/* Families of machines by name: cores, clock, channels of memory and instruction set of machines without a profile. methods.md (56) */
#include "dataset/families.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAMILIES = 1000, MOST_WORDS = 100, MOST_MODELS = 500, CTX = 512 };

static const char *const cycles[] = { "fp32_cycle", "fp16_cycle", "bf16_cycle", "int8_cycle" };

/* ---- reading ------------------------------------------------------------------------------------------------- */

static int read_positive(const json_t *o, const char *ctx, const char *key, bool optional, double *out, struct error *err)
{
    *out = 0;
    if (optional && !json_object_get(o, key))
        return 0;
    if (json_get_num(o, ctx, key, out, err) != 0)
        return -1;
    if (*out > 0 && *out < 1e18)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected more than 0, found %g", ctx, key, *out);
}

static int check_words(const json_t *words, const char *ctx, struct error *err)
{
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *s = json_string_value(json_array_get(words, i));
        if (!s || !*s)
            return error_set(err, ERROR_INPUT, "%s: words[%zu]: expected a word, found %s", ctx, i, s ? "\"\"" : json_type_name(json_array_get(words, i)));
    }
    return json_array_size(words) > 0 ? 0 : error_set(err, ERROR_INPUT, "%s: field \"words\": expected at least one word, found none", ctx);
}

static int check_models(const json_t *models, const char *ctx, struct error *err)
{
    for (size_t i = 0; i < json_array_size(models); i++) {
        const json_t *o = json_array_get(models, i);
        char at[CTX + 32];
        double v;
        const char *word;
        snprintf(at, sizeof at, "%.*s.models[%zu]", CTX, ctx, i);
        if (json_check_object(o, at, err) != 0 || json_get_str(o, at, "word", &word, err) != 0 || read_positive(o, at, "cores", false, &v, err) != 0 ||
            read_positive(o, at, "clock", false, &v, err) != 0)
            return -1;
        if (!*word)
            return error_set(err, ERROR_INPUT, "%s: field \"word\": expected a word, found \"\"", at);
    }
    return 0;
}

static int read_family(struct machine_family *f, const json_t *o, const char *ctx, struct error *err)
{
    *f = (struct machine_family){ .vendor = "" };
    if (json_check_object(o, ctx, err) != 0 || json_get_str(o, ctx, "name", &f->name, err) != 0 || json_get_str(o, ctx, "class", &f->class_name, err) != 0 ||
        json_get_str(o, ctx, "memory", &f->memory, err) != 0 || json_get_str_opt(o, ctx, "vendor", &f->vendor, err) != 0 ||
        json_get_array(o, ctx, "words", MOST_WORDS, &f->words, err) != 0 || check_words(f->words, ctx, err) != 0 ||
        class_read_prior(o, ctx, "bandwidth", &f->bytes_s, &f->ln_sd, &f->source, err) != 0 ||
        read_positive(o, ctx, "cores", false, &f->cores, err) != 0 || read_positive(o, ctx, "cores_ln_sd", false, &f->cores_ln_sd, err) != 0 ||
        read_positive(o, ctx, "clock", false, &f->clock_hz, err) != 0)
        return -1;
    for (int c = 0; c < FAMILY_CYCLE_COUNT; c++)
        if (read_positive(o, ctx, cycles[c], c != FAMILY_FP32, &f->cycle[c], err) != 0)
            return -1;
    f->models = json_object_get(o, "models");
    if (!f->models)
        return 0;
    return json_get_array(o, ctx, "models", MOST_MODELS, &f->models, err) != 0 ? -1 : check_models(f->models, ctx, err);
}

int families_read(struct machine_family **out, size_t *n, const json_t *doc, const char *file, struct error *err)
{
    const json_t *list;
    *out = NULL;
    *n = 0;
    if (!json_object_get(doc, "families"))
        return 0;
    if (json_get_array(doc, file, "families", MOST_FAMILIES, &list, err) != 0)
        return -1;
    *out = calloc(json_array_size(list) + 1, sizeof **out);
    if (!*out)
        return error_oom(err, json_array_size(list) * sizeof **out, "families of machines");
    for (; *n < json_array_size(list); ++*n) {
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%.400s: families[%zu]", file, *n);
        if (read_family(&(*out)[*n], json_array_get(list, *n), ctx, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static bool has_any(const char *name, const json_t *words)
{
    for (size_t i = 0; i < json_array_size(words); i++)
        if (class_has_model(name, json_string_value(json_array_get(words, i))))
            return true;
    return false;
}

/* The model with the longest word that the name has: "7900x" before "7900". NULL: none */
static const json_t *model_of(const struct machine_family *f, const char *name)
{
    const json_t *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < json_array_size(f->models); i++) {
        const json_t *o = json_array_get(f->models, i);
        const char *word = json_string_value(json_object_get(o, "word"));
        if (strlen(word) > most && class_has_model(name, word)) {
            best = o;
            most = strlen(word);
        }
    }
    return best;
}

bool family_of_name(struct class_guess *out, const struct machine_family *f, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (f[i].class != out->class || !has_any(name, f[i].words))
            continue;
        const json_t *model = model_of(&f[i], name);
        out->family = &f[i];
        out->vendor = *f[i].vendor ? f[i].vendor : out->vendor;
        out->bytes_s = f[i].bytes_s;
        out->source = f[i].source;
        out->known_model = model != NULL;
        out->cores = model ? json_number_value(json_object_get(model, "cores")) : f[i].cores;
        out->clock_hz = model ? json_number_value(json_object_get(model, "clock")) : f[i].clock_hz;
        out->ln_sd = model ? f[i].ln_sd : hypot(f[i].ln_sd, f[i].cores_ln_sd);
        return true;
    }
    return false;
}

double family_flop_s(const struct class_guess *g, enum family_cycle c)
{
    return g->family ? g->cores * g->clock_hz * g->family->cycle[c] : 0;
}

void family_text(char *buf, size_t size, const struct class_guess *g)
{
    snprintf(buf, size, "%s: %g %s%s x %.3g GHz, %s", g->family->name, g->cores, g->class->kind == HW_CPU ? "cores" : "units",
             g->known_model ? "" : " (assumed)", g->clock_hz / 1e9, g->family->memory);
}
