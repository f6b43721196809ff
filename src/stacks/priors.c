#include "stacks/priors.h"
#include "stacks/family_constants.h"
#include "base/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRIORS_SCHEMA "roofcast.priors"
enum { PRIORS_VERSION = 1, MAX_LIST = 1000, CTX = 400 };

static const char *const number_names[PRIOR_NUMBER_COUNT] = {
    [PRIOR_CPU_APART] = "cpu_apart",
    [PRIOR_SCALE_OPS] = "scale_ops",
    [PRIOR_DISPATCH_S] = "dispatch_s",
    [PRIOR_SERVER_NETWORK_BYTES_S] = "server_network_bytes_s",
    [PRIOR_SERVER_NETWORK_HOP] = "server_network_hop",
    [PRIOR_GRAPH_LAUNCH] = "graph_launch",
    [PRIOR_ECC_BYTES] = "ecc_bytes",
    [PRIOR_TILE_OPS] = "tile_ops",
    [PRIOR_VULKAN_MORE] = "vulkan_more",
    [PRIOR_CPU_LOOKED_UP] = "cpu_looked_up",
    [PRIOR_CPU_OTHER] = "cpu_other",
    [PRIOR_CPU_TILE_TOKENS] = "cpu_tile_tokens",
    [PRIOR_CPU_STEPS_REACH] = "cpu_steps_reach",
    [PRIOR_TILE_PART] = "tile_part",
    [PRIOR_CACHED_ACTS] = "cached_acts",
    [PRIOR_UNNAMED_BITS] = "unnamed_bits",
    [PRIOR_ATTEND_BANDWIDTH] = "attend_bandwidth",
    [PRIOR_ATTEND_SPLIT_KEYS] = "attend_split_keys",
    [PRIOR_ATTEND_COMBINE_CYCLES] = "attend_combine_cycles",
    [PRIOR_ATTEND_SPLIT_CYCLES] = "attend_split_cycles",
    [PRIOR_GUESSED_DENSE] = "guessed_dense",
    [PRIOR_GUESSED_DENSE_PROMPT] = "guessed_dense_prompt",
    [PRIOR_GUESSED_MIXTURE] = "guessed_mixture",
    [PRIOR_GUESSED_MIXTURE_PROMPT] = "guessed_mixture_prompt",
    [PRIOR_GUESSED_ACTIVE] = "guessed_active",
    [PRIOR_KERNELS_LEFT] = "kernels_left",
    [PRIOR_KERNELS_LEFT_PROBED] = "kernels_left_probed",
};

/* ---- pieces ------------------------------------------------------------------------------------------------- */

static int positive(double v, const char *ctx, const char *key, struct error *err)
{
    if (v > 0 && v < 1e18)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected more than 0 and less than 1e18, found %g", ctx, key, v);
}

static int get_positive(const json_t *o, const char *ctx, const char *key, double *out, struct error *err)
{
    return json_get_num(o, ctx, key, out, err) != 0 ? -1 : positive(*out, ctx, key, err);
}

/* Reads the spread of a logarithm. */
static int get_sd(const json_t *o, const char *ctx, double *out, struct error *err)
{
    if (json_get_num(o, ctx, "ln_sd", out, err) != 0)
        return -1;
    if (*out > 0 && *out < 10)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"ln_sd\": expected more than 0 and less than 10, found %g", ctx, *out);
}

/* Every prior has a source. */
static int has_source(const json_t *o, const char *ctx, struct error *err)
{
    const char *source;
    if (json_get_str(o, ctx, "source", &source, err) != 0)
        return -1;
    return *source ? 0 : error_set(err, ERROR_INPUT, "%s: field \"source\": expected where it is from, found \"\"", ctx);
}

/* The list under `key` of o, and memory for its elements; NULL: *err. */
static const json_t *list_of(const json_t *o, const char *ctx, const char *key, void **room, size_t size, struct error *err)
{
    const json_t *list;
    if (json_get_array(o, ctx, key, MAX_LIST, &list, err) != 0)
        return NULL;
    *room = calloc(json_array_size(list) + 1, size);
    if (*room)
        return list;
    error_oom(err, json_array_size(list) * size, key);
    return NULL;
}

/* ---- effects -------------------------------------------------------------------------------------------------- */

static int read_effect(struct effect_prior *e, const json_t *o, const char *ctx, struct error *err)
{
    const char *constant, *by = "";
    if (json_check_object(o, ctx, err) != 0 || json_get_str(o, ctx, "constant", &constant, err) != 0 || json_get_str_opt(o, ctx, "by", &by, err) != 0)
        return -1;
    const int parameter = time_parameter_find(constant), dim = dimension_find(by);
    if (parameter < 0)
        return error_set(err, ERROR_INPUT, "%s: field \"constant\": expected one such as \"bandwidth\", found \"%.64s\"", ctx, constant);
    if (dim < 0)
        return error_set(err, ERROR_INPUT, "%s: field \"by\": expected what sets rows apart, such as \"class\", found \"%.64s\"", ctx, by);
    *e = (struct effect_prior){ (enum time_parameter)parameter, (enum dimension)dim, 0, 0 };
    if (get_sd(o, ctx, &e->sd, err) != 0)
        return -1;
    if (dim != DIM_ALL)
        return 0;
    return get_positive(o, ctx, "value", &e->value, err) != 0 ? -1 : has_source(o, ctx, err);
}

static int read_effects(struct priors *p, int kind, const json_t *fit, const char *ctx, struct error *err)
{
    void *room = NULL;
    const json_t *list = list_of(fit, ctx, "effects", &room, sizeof **p->effect, err);
    p->effect[kind] = room;
    for (size_t i = 0; list && i < json_array_size(list); i++, p->n_effect[kind]++) {
        char at[CTX + 64];
        snprintf(at, sizeof at, "%.*s.effects[%zu]", CTX, ctx, i);
        if (read_effect(&p->effect[kind][i], json_array_get(list, i), at, err) != 0)
            return -1;
    }
    return list ? 0 : -1;
}

/* { "as": "prompt" } copies the priors of that fit. */
static int read_fits(struct priors *p, const char *name, struct error *err)
{
    const json_t *fits = json_object_get(p->doc, "fits");
    for (int k = 0; k < FITTED_KIND_COUNT; k++) {
        const json_t *fit = json_object_get(fits, fitted_kind_names[k]);
        const char *as = NULL;
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%.300s: fits.%s", name, fitted_kind_names[k]);
        if (json_check_object(fit, ctx, err) != 0 || json_get_str_opt(fit, ctx, "as", &as, err) != 0)
            return -1;
        const json_t *from = as ? json_object_get(fits, as) : fit;
        if (as && !json_is_object(from))
            return error_set(err, ERROR_INPUT, "%s: field \"as\": expected another of \"fits\", found \"%.64s\"", ctx, as);
        if (read_effects(p, k, from, ctx, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- engines ---------------------------------------------------------------------------------------------------- */

static int unit_find(const char *name)
{
    for (int u = 0; u < UNIT_COUNT; u++)
        if (strcmp(unit_name((enum unit)u), name) == 0)
            return u;
    return -1;
}

static int read_units(struct priors *p, const char *name, struct error *err)
{
    const json_t *list;
    if (json_get_array(p->doc, name, "units", MAX_LIST, &list, err) != 0)
        return -1;
    for (int u = 0; u < UNIT_COUNT; u++)
        p->unit[u].compute = p->unit[u].attention = 1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        const char *unit;
        char at[CTX];
        snprintf(at, sizeof at, "%.300s: units[%zu]", name, i);
        if (json_check_object(o, at, err) != 0 || json_get_str(o, at, "unit", &unit, err) != 0)
            return -1;
        const int u = unit_find(unit);
        if (u < 0)
            return error_set(err, ERROR_INPUT, "%s: field \"unit\": expected one such as \"matrix\", found \"%.64s\"", at, unit);
        if (get_positive(o, at, "compute", &p->unit[u].compute, err) != 0 || get_positive(o, at, "attention", &p->unit[u].attention, err) != 0 ||
            has_source(o, at, err) != 0)
            return -1;
    }
    return 0;
}

static int read_numbers(struct priors *p, const char *name, struct error *err)
{
    const json_t *all = json_object_get(p->doc, "numbers");
    for (int i = 0; i < PRIOR_NUMBER_COUNT; i++) {
        const json_t *o = json_object_get(all, number_names[i]);
        char at[CTX];
        snprintf(at, sizeof at, "%.300s: numbers.%s", name, number_names[i]);
        if (json_check_object(o, at, err) != 0 || get_positive(o, at, "value", &p->number[i], err) != 0 || has_source(o, at, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- attention in steps ------------------------------------------------------------------------------------------- */

static int get_positive_opt(const json_t *o, const char *ctx, const char *key, double *out, struct error *err)
{
    return json_object_get(o, key) ? get_positive(o, ctx, key, out, err) : 0;
}

static int read_attend_kernel(struct attend_kernel *k, const json_t *o, const char *ctx, struct error *err)
{
    const char *heads = "", *split = "";
    *k = (struct attend_kernel){ .blocks_unit = 1 };
    if (json_check_object(o, ctx, err) != 0 || json_get_str(o, ctx, "heads", &heads, err) != 0 || json_get_str(o, ctx, "split", &split, err) != 0 ||
        get_positive(o, ctx, "start_cycles", &k->start_cycles, err) != 0 || get_positive_opt(o, ctx, "parts", &k->n_split, err) != 0 ||
        get_positive_opt(o, ctx, "blocks_unit", &k->blocks_unit, err) != 0 || get_positive_opt(o, ctx, "block_s", &k->block_s, err) != 0 ||
        get_positive_opt(o, ctx, "block_cycles", &k->block_cycles, err) != 0 || get_positive_opt(o, ctx, "key_s", &k->key_s, err) != 0 ||
        get_positive_opt(o, ctx, "key_cycles", &k->key_cycles, err) != 0 ||
        get_positive_opt(o, ctx, "narrow_key_cycles", &k->narrow_key_cycles, err) != 0 ||
        get_positive_opt(o, ctx, "tile_cycles", &k->tile_cycles, err) != 0 || get_positive_opt(o, ctx, "head_cycles", &k->head_cycles, err) != 0 ||
        has_source(o, ctx, err) != 0)
        return -1;
    k->group = strcmp(heads, "group") == 0;
    k->splits = strcmp(split, "yes") == 0;
    if (!k->group && strcmp(heads, "one") != 0)
        return error_set(err, ERROR_INPUT, "%s: field \"heads\": expected \"group\" or \"one\", found \"%.64s\"", ctx, heads);
    if (!k->splits && strcmp(split, "no") != 0)
        return error_set(err, ERROR_INPUT, "%s: field \"split\": expected \"yes\" or \"no\", found \"%.64s\"", ctx, split);
    return 0;
}

static int read_attend(struct priors *p, const char *name, struct error *err)
{
    const json_t *all = json_object_get(p->doc, "attention_kernels");
    for (int i = 0; i < ATTEND_COUNT; i++) {
        char at[CTX];
        snprintf(at, sizeof at, "%.300s: attention_kernels.%s", name, stack_attends[i]);
        if (read_attend_kernel(&p->attend[i], json_object_get(all, stack_attends[i]), at, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

void priors_free(struct priors *p)
{
    for (int k = 0; k < FITTED_KIND_COUNT; k++)
        free(p->effect[k]);
    json_decref(p->doc);
    *p = (struct priors){ 0 };
}

/* Takes ownership of doc. */
static int take(struct priors *p, json_t *doc, const char *name, struct error *err)
{
    *p = (struct priors){ .doc = doc };
    if (!doc)
        return -1;
    if (json_check_schema(doc, name, PRIORS_SCHEMA, PRIORS_VERSION, err) == 0 && read_fits(p, name, err) == 0 &&
        read_units(p, name, err) == 0 && read_numbers(p, name, err) == 0 && read_attend(p, name, err) == 0)
        return 0;
    priors_free(p);
    return -1;
}

int priors_parse(struct priors *p, const char *name, const void *data, size_t size, struct error *err)
{
    return take(p, json_load_mem(name, data, size, err), name, err);
}

static struct priors the;
static struct once reading = ONCE_INIT;

static void nothing(struct priors *p)
{
    *p = (struct priors){ 0 };
    for (int i = 0; i < PRIOR_NUMBER_COUNT; i++)
        p->number[i] = NAN;
}

static int read_file(struct error *err)
{
    char path[4096];
    const int rc = hwprofile_data_file(path, sizeof path, "hwprofiles/stacks", "priors")
                       ? take(&the, json_load_path(path, err), path, err)
                       : error_set(err, ERROR_UNAVAILABLE, "hwprofiles/stacks/priors.json is in none of the data directories");
    if (rc != 0)
        nothing(&the);
    return rc != 0 || stacks_load(err) != 0 ? -1 : family_constants_load(err);
}

int priors_load(struct error *err)
{
    return read_once(&reading, read_file, err);
}

const struct priors *priors(void)
{
    struct error unused; /* queried per op: not cleared */
    (void)priors_load(&unused);
    return &the;
}

double prior(enum prior_number n)
{
    return priors()->number[n];
}
