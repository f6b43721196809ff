/* Constants of families of kernels for predictions; learn/constants.h checks names and spreads. methods.md (107) */
#include "stacks/family_constants.h"
#include "base/json.h"
#include "fit/fit.h"
#include <math.h>

static struct fit the[FAMILY_MOST];
static struct once reading = ONCE_INIT;

enum { MOST = 20000, CTX = 320 };

static int take_one(struct fit *fit, const json_t *o, const char *ctx, struct error *err)
{
    const char *name;
    double value;
    if (json_check_object(o, ctx, err) != 0 || json_get_str(o, ctx, "name", &name, err) != 0 || json_get_num(o, ctx, "value", &value, err) != 0)
        return -1;
    if (!(value > 0) || !isfinite(value))
        return error_set(err, ERROR_INPUT, "%s: field \"value\": expected more than 0, found %g", ctx, value);
    return fit_effect(fit, name, log(value), 0, err) == FIT_NO_EFFECT ? -1 : 0;
}

/* The family's fit of the file; none: its priors. */
static int take(struct fit *fit, const json_t *fits, const char *family, const char *path, struct error *err)
{
    const json_t *o = json_object_get(fits, family), *list;
    char ctx[CTX], at[CTX + 64];
    snprintf(ctx, sizeof ctx, "%.240s: fits.%.32s", path, family);
    if (!o)
        return 0;
    if (json_get_array(o, ctx, "constants", MOST, &list, err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(at, sizeof at, "%s: constants[%zu]", ctx, i);
        if (take_one(fit, json_array_get(list, i), at, err) != 0)
            return -1;
    }
    return 0;
}

/* Without the file: priors. */
static int read_file(struct error *err)
{
    char path[4096];
    if (!hwprofile_data_file(path, sizeof path, "hwprofiles/stacks", "kernels"))
        return 0;
    json_t *doc = json_load_path(path, err);
    int rc = doc ? 0 : -1;
    for (size_t i = 0; family_at(i) && rc == 0; i++)
        rc = take(&the[i], json_object_get(doc, "fits"), family_at(i)->name, path, err);
    json_decref(doc);
    for (size_t i = 0; i < ARRAY_LEN(the) && rc != 0; i++)
        fit_free(&the[i]);
    return rc;
}

int family_constants_load(struct error *err)
{
    return read_once(&reading, read_file, err);
}

static bool add(const struct fit *fit, const char *name, double *sum)
{
    const uint16_t e = fit_find(fit, name);
    *sum += e != FIT_NO_EFFECT ? fit->effect[e].value : 0;
    return e != FIT_NO_EFFECT;
}

void family_parameters(const struct family *f, const family_value dim[FAMILY_DIMENSIONS], double *parameter)
{
    char name[FIT_MAX_NAME];
    struct error unused;
    (void)family_constants_load(&unused);
    const struct fit *fit = &the[family_index(f)];
    for (int s = 0; s < f->n_parameter; s++) {
        char *const at = fit_name_begin(name, f->parameter[s].name);
        parameter[s] = 0;
        if (!add(fit, name, &parameter[s]))
            parameter[s] = log(f->parameter[s].value);
        for (int d = 0; d < FAMILY_DIMENSIONS && f->dimension[d]; d++)
            if (f->parameter[s].of[d] > 0 && dim[d][0]) {
                (void)fit_name_add(name, at, f->dimension[d], dim[d]);
                (void)add(fit, name, &parameter[s]);
            }
    }
}

bool family_constants_have(const struct family *f, int dimension, const char *value)
{
    char name[FIT_MAX_NAME];
    struct error unused;
    (void)family_constants_load(&unused);
    bool have = false;
    for (int s = 0; s < f->n_parameter && *value && !have; s++) {
        (void)fit_name_add(name, fit_name_begin(name, f->parameter[s].name), f->dimension[dimension], value);
        have = fit_find(&the[family_index(f)], name) != FIT_NO_EFFECT;
    }
    return have;
}
