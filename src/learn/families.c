/* Families of kernels: fit, prediction, and constants to ship. methods.md (107) */
#include "learn/families.h"
#include "learn/families_interval.h"
#include "learn/training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of one family: the file has a grid of sizes, of which every n-th is enough. */
enum { ROWS_MOST = 4000 };

struct one {
    struct fit fit;
    struct training_groups by;
    struct family_intervals interval;
    size_t n_row;
    char source[CONSTANTS_SOURCE];
};

struct families {
    struct one of[FAMILY_MOST];
};

void families_free(struct families *x)
{
    for (size_t i = 0; x && i < FAMILY_MOST; i++) {
        fit_free(&x->of[i].fit);
        training_free(&x->of[i].by);
    }
    free(x);
}

bool families_price(const struct measurement *m)
{
    return m->kind == MEASURE_KERNEL || m->kind == MEASURE_ALL_REDUCE;
}

bool families_learn_from(const struct measurement *m)
{
    return families_price(m) && family_of(m->op) != NULL;
}

/* ---- effects of a row ------------------------------------------------------------------------------ */

static void effect_name(char *name, const struct family *f, int parameter, int dim, const char *value)
{
    char *const at = fit_name_begin(name, f->parameter[parameter].name);
    if (dim >= 0)
        (void)fit_name_add(name, at, f->dimension[dim], value);
}

/* One effect of a parameter: added where it is new, or else its prior. */
static int set_effect(struct fit *fit, bool add, const char *name, double value, double sd, struct fit_row *out, int parameter, int at, struct error *err)
{
    const uint16_t e = add ? fit_effect(fit, name, value, sd, err) : fit_find(fit, name);
    out->effect[parameter][at] = e;
    if (e == FIT_NO_EFFECT) {
        out->base[parameter] += value;
        out->prior_var[parameter] += sd * sd;
    }
    return add && e == FIT_NO_EFFECT ? -1 : 0;
}

/* add: effects that are new get their priors; fit is unchanged otherwise. */
static int set_effects(struct fit *fit, bool add, const struct family *f, const family_value *dim, struct fit_row *out, struct error *err)
{
    char name[FIT_MAX_NAME];
    for (int s = 0; s < FIT_MAX_PARAMETERS; s++)
        for (int k = 0; k < FIT_MAX_EFFECTS; k++)
            out->effect[s][k] = FIT_NO_EFFECT;
    for (int s = 0; s < f->n_parameter; s++) {
        int n = 0;
        effect_name(name, f, s, -1, "");
        if (set_effect(fit, add, name, log(f->parameter[s].value), f->parameter[s].sd, out, s, n++, err) != 0)
            return -1;
        for (int d = 0; d < FAMILY_DIMENSIONS && f->dimension[d]; d++) {
            if (!(f->parameter[s].of[d] > 0) || !dim[d][0])
                continue;
            effect_name(name, f, s, d, dim[d]);
            if (set_effect(fit, add, name, 0, f->parameter[s].of[d], out, s, n++, err) != 0)
                return -1;
        }
    }
    return 0;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static void set_free(struct family_rows *s)
{
    free(s->row);
    free(s->features);
    free(s->dim);
    free(s->workload);
}

static int add_row(struct family_rows *s, struct one *x, const struct workload *p, struct error *err)
{
    char *const features = s->features + s->n * s->f->feature_bytes;
    family_value *const dim = s->dim + s->n * FAMILY_DIMENSIONS;
    struct fit_row *const r = &s->row[s->n];
    struct error none = { 0 };
    memset(dim, 0, FAMILY_DIMENSIONS * sizeof *dim);
    if (s->f->init(features, dim, p, &none) != 0)
        return error_is_fatal(&none) ? error_set(err, none.kind, "%s", none.msg) : 0;
    *r = (struct fit_row){ .features = features, .ln_seconds = log(p->measured_s), .sigma = s->f->sigma / sqrt(s->f->weight ? s->f->weight(features) : 1),
                           .from = UINT64_C(1) << (p->m->file < 62 ? p->m->file : 62) };
    if (set_effects(&x->fit, true, s->f, dim, r, err) != 0 || training_add_row(&x->by, p, err) != 0)
        return -1;
    s->workload[s->n++] = p;
    return 0;
}

static bool is_of(const struct workload *p, const struct family *f)
{
    return families_price(p->m) && family_of(p->m->op) == f && p->measured_s > 0 && !p->reason[0] && !(p->machine->ln_sd > 0);
}

/* set_free() also after a failure. */
static int collect(struct family_rows *s, struct one *x, const struct family *f, const struct workload *const *rows, size_t n, struct error *err)
{
    size_t all = 0, seen = 0;
    *s = (struct family_rows){ .f = f };
    for (size_t i = 0; i < n; i++)
        all += is_of(rows[i], f);
    const size_t every = (all + ROWS_MOST - 1) / ROWS_MOST, room = every > 0 ? all / every + 1 : 0;
    if (all == 0)
        return 0;
    s->row = calloc(room, sizeof *s->row);
    s->features = calloc(room, f->feature_bytes);
    s->dim = calloc(room * FAMILY_DIMENSIONS, sizeof *s->dim);
    s->workload = calloc(room, sizeof *s->workload);
    int rc = s->row && s->features && s->dim && s->workload ? 0 : error_oom(err, room * sizeof *s->row, "the rows of a fit");
    for (size_t i = 0; i < n && rc == 0; i++)
        if (is_of(rows[i], f) && seen++ % every == 0)
            rc = add_row(s, x, rows[i], err);
    x->n_row += all;
    return rc;
}

/* ---- shipped constants ------------------------------------------------------------------------------ */

static int start_from(struct one *x, const struct family *f, const struct constants *c, struct error *err)
{
    snprintf(x->source, sizeof x->source, "%s", c->source);
    for (size_t i = 0; i < c->n; i++)
        if (fit_effect(&x->fit, c->c[i].name, c->c[i].value, c->c[i].sd, err) == FIT_NO_EFFECT)
            return -1;
    for (size_t i = 0; i < c->n_interval; i++)
        family_intervals_take(&x->interval, f, &c->interval[i]);
    return 0;
}

/* Constants of kernels.json, family by family, where they are not of the group left out. */
static int start_shipped(struct families *x, const struct fit_scope *scope, struct error *err)
{
    struct constants_file file;
    struct error e = { 0 };
    if (constants_find(&file, "kernels", &e) != 0)
        return e.kind == ERROR_UNAVAILABLE ? 0 : error_set(err, e.kind, "%s", e.msg);
    int rc = 0;
    for (size_t i = 0; family_at(i) && rc == 0; i++) {
        const struct constants *c = &file.kind[FITTED_KIND_COUNT + i];
        const bool saw = scope->leave == LEAVE_DATE ||
                         (scope->leave != LEAVE_NOTHING && constants_saw(c, leave_out_name(scope->leave), scope->left_out));
        if (c->n > 0 && !saw)
            rc = start_from(&x->of[i], family_at(i), c, err);
    }
    constants_free(&file);
    return rc;
}

/* ---- the interface ------------------------------------------------------------------------------- */

static int fit_one(struct one *x, const struct family *f, const struct workload *const *rows, size_t n, struct error *err)
{
    struct family_rows s;
    const struct fit_model m = family_model(f);
    int rc = collect(&s, x, f, rows, n, err);
    if (rc == 0 && s.n > 0)
        rc = fit_run(&x->fit, &m, s.row, s.n, NULL, err);
    if (rc == 0 && s.n > 0)
        rc = family_intervals_fit(&x->interval, &x->fit, &s, err);
    set_free(&s);
    return rc;
}

int families_fit(struct families **out, const struct workload *const *rows, size_t n, const struct fit_scope *scope, bool shipped, struct error *err)
{
    struct families *x = calloc(1, sizeof *x);
    int rc = x ? 0 : error_oom(err, sizeof *x, "families of kernels");
    if (rc == 0 && shipped)
        rc = start_shipped(x, scope, err);
    for (size_t i = 0; family_at(i) && rc == 0; i++)
        rc = fit_one(&x->of[i], family_at(i), rows, n, err);
    if (rc != 0) {
        families_free(x);
        return -1;
    }
    *out = x;
    return 0;
}

int families_predict(const struct families *x, const struct workload *p, struct estimate *out, struct error *err)
{
    const struct family *f = family_of(p->m->op);
    if (!f)
        return error_set(err, ERROR_UNAVAILABLE, "op \"%.64s\": no family of kernels has it", p->m->op);
    const struct one *const of = &x->of[family_index(f)];
    const struct fit_model m = family_model(f);
    family_value dim[FAMILY_DIMENSIONS] = { "" };
    void *features = calloc(1, f->feature_bytes);
    struct fit_row row = { .features = features };
    struct error unused = { 0 };
    double slower, faster, sd;
    int rc = features ? f->init(features, dim, p, err) : error_oom(err, f->feature_bytes, "a kernel");
    if (rc == 0) {
        (void)set_effects((struct fit *)(uintptr_t)&of->fit, false, f, dim, &row, &unused);
        const double ln = fit_predict(&of->fit, &m, &row, &sd, NULL);
        const double least = PREDICT_Z90 * hypot(sd, f->sigma), guessed = PREDICT_Z90 * p->machine->ln_sd; /* (56) */
        family_intervals_of(&of->interval, dim[0], &slower, &faster);
        slower = hypot(fmax(slower, least), guessed); /* sd: of effects of a machine that no row has, too */
        faster = hypot(fmax(faster, least), guessed);
        *out = (struct estimate){ .seconds = exp(ln), .lo_s = exp(ln - faster), .hi_s = exp(ln + slower) };
        if (!isfinite(ln))
            rc = error_set(err, ERROR_INPUT, "a prediction that is no number");
    }
    free(features);
    return rc;
}

/* ---- constants to ship ------------------------------------------------------------------------------ */

static int take_effects(struct constants *c, const struct fit *f, struct error *err)
{
    c->c = calloc(f->n_effect + 1, sizeof *c->c);
    if (!c->c)
        return error_oom(err, f->n_effect * sizeof *c->c, "constants");
    for (size_t i = 0; i < f->n_effect; i++) {
        const struct fit_effect *e = &f->effect[i];
        if (e->n_row == 0 || e->se > 0.999 * e->sd)
            continue; /* a prior, not measured, or one that its rows do not depend on */
        struct constant *to = &c->c[c->n++];
        *to = (struct constant){ .value = e->value, .sd = e->se, .n_row = e->n_row, .from = e->from };
        snprintf(to->name, sizeof to->name, "%s", e->name);
    }
    return 0;
}

int families_constants(const struct families *x, struct constants_file *file, const char *source, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; family_at(i) && rc == 0; i++) {
        const struct one *of = &x->of[i];
        struct constants *c = &file->kind[FITTED_KIND_COUNT + i];
        if (of->n_row == 0)
            continue;
        c->n_row = of->n_row;
        c->sigma = 1;
        snprintf(c->source, sizeof c->source, "%s", source);
        rc = take_effects(c, &of->fit, err);
        rc = rc ? rc : family_intervals_constants(&of->interval, family_at(i), c, err);
        rc = rc ? rc : training_copy(&c->group, &c->n_group, &of->by, err);
        constants_keep_files(c);
    }
    return rc;
}
