/* Constants of families of kernels for predictions; learn/constants.h checks the file. methods.md (107) */
#include "stacks/family_constants.h"
#include "base/json.h"
#include "fit/fit.h"
#include <math.h>

static struct fit the[FAMILY_MOST];
static struct once reading = ONCE_INIT;

static int take(struct fit *fit, const json_t *list, struct error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(o, "name"));
        const double value = json_number_value(json_object_get(o, "value"));
        if (name && value > 0 && fit_effect(fit, name, log(value), 0, err) == FIT_NO_EFFECT)
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
        rc = take(&the[i], json_object_get(json_object_get(json_object_get(doc, "fits"), family_at(i)->name), "constants"), err);
    json_decref(doc);
    return rc;
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
    (void)read_once(&reading, read_file, &unused);
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
