#include "stacks/effects.h"
#include "stacks/priors.h"
#include <math.h>
#include <string.h>

/* Latencies of servers and single kernels have parts that (62) does not differentiate. */
static bool closed_gradient(const void *features, const double *parameter, double *g)
{
    const struct time_features *f = features;
    if (f->before || f->n_queue != 0 || f->n_ahead != 0 || f->n_seq != 0)
        return false;
    for (int i = 0; i < f->n_term; i++)
        if (f->term[i].kind == TIME_SMALL_KERNEL)
            return false;
    time_gradient(f, parameter, g, NULL);
    return true;
}

const struct fit_model fitted_model = { TIME_PARAMETER_COUNT, time_ln_seconds, closed_gradient };

static const char *const dim_names[DIM_COUNT] = { "",       "unit", "attend",     "kernel", "product", "class", "stack", "era",     "type",
                                                 "format", "op",   "link",       "generation", "mode", "place", "publication", "hardware" };

int dimension_find(const char *name)
{
    for (int d = 0; d < DIM_COUNT; d++)
        if (strcmp(dim_names[d], name) == 0)
            return d;
    return -1;
}

/* ---- effects ------------------------------------------------------------------------------- */

/* Rows do not teach effects of a parameter without influence on their seconds (learns); the effects apply all the same, so that seconds are
 * continuous. */
static bool applies(const struct fitted_row *r, enum time_parameter s, enum dimension d, bool learns)
{
    if (learns && d != DIM_ALL && !r->computes && (s == TIME_COMPUTE || s == TIME_ATTENTION))
        return false;
    if (s == TIME_HEADS && d != DIM_ALL)
        return r->long_context || !learns;
    if (s == TIME_SCAN)
        return r->scans;
    const bool small = r->f.n_term > 0 && r->f.term[0].kind == TIME_SMALL_KERNEL;
    if (s == TIME_KERNEL || s == TIME_CACHE_LATENCY || s == TIME_MEMORY_LATENCY || s == TIME_ISSUE || s == TIME_CACHE || (s == TIME_SMALL && r->kernel))
        return small;
    if (r->kernel && small)
        return s == TIME_BANDWIDTH;
    if (s == TIME_EXPERT || s == TIME_LAUNCH_EXPERT)
        return r->experts;
    if (s == TIME_STAGE_BOUNDARY)
        return r->stage_boundaries;
    if (s == TIME_QUEUE)
        return r->first;
    if (d == DIM_PUBLICATION)
        return true;
    if (s == TIME_REQUEST)
        return r->request && (!r->serving || d == DIM_MODE);
    if (s == TIME_LINK || s == TIME_HOP)
        return r->devices;
    return true;
}

/* Relative to all units: of a unit, and of an engine's kernels there. */
static double of_unit(enum time_parameter parameter, enum dimension d, const struct fitted_row *r)
{
    const struct priors *p = priors();
    const char *unit = r->dim[d];
    if (parameter == TIME_ATTENTION && d == DIM_KERNEL)
        return !r->traits.factor_on_matrix || strcmp(r->dim[DIM_ATTEND], unit_name(UNIT_MATRIX)) == 0 ? r->traits.attention_factor : 1;
    if (parameter == TIME_COMPUTE && d == DIM_PRODUCT)
        return r->traits.products_factor;
    for (int u = 0; (d == DIM_UNIT || d == DIM_ATTEND) && u < UNIT_COUNT; u++)
        if (strcmp(unit, unit_name((enum unit)u)) == 0)
            return parameter == TIME_COMPUTE ? p->unit[u].compute : p->unit[u].attention;
    return 1;
}

static void effect_name(char *name, const struct effect_prior *e, const struct fitted_row *r)
{
    char *const at = fit_name_begin(name, time_parameter_name(e->parameter));
    if (e->dim != DIM_ALL)
        (void)fit_name_add(name, at, dim_names[e->dim], r->dim[e->dim]);
}

/*
 * A guessed machine errs by a factor common to all its seconds; an anchor row determines it. Without one its spread is separate from the
 * constants (time_constants.guess_ln_sd). (56)
 */
static int set_guess(struct fit *f, bool add, const struct fitted_row *r, struct fit_row *out, int at, struct error *err)
{
    const double sd = r->traits.p->machine->ln_sd;
    char name[FIT_MAX_NAME];
    if (!(sd > 0) || at >= FIT_MAX_EFFECTS)
        return 0;
    (void)fit_name_add(name, fit_name_begin(name, time_parameter_name(TIME_REQUEST)), "guess", r->dim[DIM_HARDWARE]);
    out->effect[TIME_REQUEST][at] = add ? fit_effect(f, name, 0, sd, err) : fit_find(f, name);
    return add && out->effect[TIME_REQUEST][at] == FIT_NO_EFFECT ? -1 : 0;
}

/* f is unchanged unless add. */
static int set_effects(struct fit *f, bool add, const struct fitted_row *r, struct fit_row *out, struct error *err)
{
    int n[FIT_MAX_PARAMETERS] = { 0 };
    *out = (struct fit_row){ .features = &r->f, .sigma = r->sigma };
    for (int s = 0; s < FIT_MAX_PARAMETERS; s++)
        for (int k = 0; k < FIT_MAX_EFFECTS; k++)
            out->effect[s][k] = FIT_NO_EFFECT;
    const size_t n_prior = priors()->n_effect[r->kind];
    const struct effect_prior *p = priors()->effect[r->kind];
    for (size_t i = 0; i < n_prior; i++) {
        const enum time_parameter s = p[i].parameter;
        char name[FIT_MAX_NAME];
        if (!applies(r, s, p[i].dim, add) || !r->dim[p[i].dim][0])
            continue;
        effect_name(name, &p[i], r);
        const double value = log(p[i].dim == DIM_ALL ? p[i].value : of_unit(s, p[i].dim, r));
        const double sd = p[i].sd * (r->traits.cpu && p[i].dim == DIM_HARDWARE ? prior(PRIOR_CPU_APART) : 1);
        const uint16_t e = add ? fit_effect(f, name, value, sd, err) : fit_find(f, name);
        if (add && e == FIT_NO_EFFECT)
            return -1;
        if (e != FIT_NO_EFFECT) {
            out->effect[s][n[s]++] = e;
            continue;
        }
        out->base[s] += value;
        out->prior_var[s] += sd * sd;
    }
    return set_guess(f, add, r, out, n[TIME_REQUEST], err);
}

int fitted_priors(struct fit *f, enum fitted_kind kind, struct error *err)
{
    const size_t n_prior = priors()->n_effect[kind];
    const struct effect_prior *const from = priors()->effect[kind];
    for (size_t i = 0; i < n_prior; i++)
        if (from[i].dim == DIM_ALL &&
            fit_effect(f, time_parameter_name(from[i].parameter), log(from[i].value), from[i].sd, err) == FIT_NO_EFFECT)
            return -1;
    return 0;
}

int fitted_row_effects(struct fit *f, const struct fitted_row *r, struct fit_row *out, struct error *err)
{
    return set_effects(f, true, r, out, err);
}

void fitted_row_predict(const struct fit *f, const struct fitted_row *r, struct fit_row *out)
{
    struct error unused = { 0 };
    (void)set_effects((struct fit *)(uintptr_t)f, false, r, out, &unused);
}
