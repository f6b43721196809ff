/* Families of kernels: fit, prediction, and constants to ship. methods.md (107) */
#include "learn/families.h"
#include "learn/training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of one family: the file has a grid of sizes, of which every n-th is enough. */
enum { ROWS_MOST = 4000 };
enum { SLOWER, FASTER, SIDES, CLASSES_MOST = 64 };
static const char *const side_names[SIDES] = { "slower", "faster" };

/* Half-widths of ln seconds of a class of rows; the class "" is of all. */
struct half {
    family_text class;
    double by[SIDES];
    size_t n;
};

struct one {
    struct fit fit;
    struct training_groups by;
    struct half half[CLASSES_MOST];
    size_t n_half, n_row;
    char source[CONSTANTS_SOURCE];
};

struct families {
    struct one of[FAMILY_MOST];
};

/* Rows of one family as its fit has them. */
struct set {
    const struct family *f;
    struct fit_row *row;
    char *features;
    family_text *dim; /* [n][FAMILY_DIMENSIONS] */
    const struct workload **workload;
    size_t n;
};

/* Without a measured machine: nine in ten within a factor of 2, as of an unmeasured machine's attention (confidence: low). */
static const double unseen_half = 0.7;

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
static int set_effects(struct fit *fit, bool add, const struct family *f, const family_text *dim, struct fit_row *out, struct error *err)
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

static struct fit_model model_of(const struct family *f)
{
    return (struct fit_model){ .n_parameter = f->n_parameter, .ln_seconds = f->ln_seconds };
}

/* ---- rows --------------------------------------------------------------------------------------- */

static void set_free(struct set *s)
{
    free(s->row);
    free(s->features);
    free(s->dim);
    free(s->workload);
}

static int add_row(struct set *s, struct one *x, const struct workload *p, struct error *err)
{
    char *const features = s->features + s->n * s->f->feature_bytes;
    family_text *const dim = s->dim + s->n * FAMILY_DIMENSIONS;
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
static int collect(struct set *s, struct one *x, const struct family *f, const struct workload *const *rows, size_t n, struct error *err)
{
    size_t all = 0, seen = 0;
    *s = (struct set){ .f = f };
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

/* ---- intervals ------------------------------------------------------------------------------------ */

/* An error ln predicted - ln measured of a machine left out. */
struct left {
    double error;
    const char *class;
    size_t machine;
};

static const char *machine_of(const struct workload *p, char *buf, size_t size)
{
    return left_out_text(p, LEAVE_HARDWARE, buf, size);
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Half-widths of n errors: 5 and 95 % of them. work [n] */
static void quantiles(struct half *h, const struct left *l, size_t n, const char *class, double *work)
{
    static const double tail = 0.05, least = 0.02;
    h->n = 0;
    for (size_t i = 0; i < n; i++)
        if (!*class || strcmp(l[i].class, class) == 0)
            work[h->n++] = l[i].error;
    if (h->n == 0)
        return;
    qsort(work, h->n, sizeof *work, by_number);
    const double last = (double)(h->n - 1);
    h->by[SLOWER] = fmax(least, -work[(size_t)floor(tail * last)]);
    h->by[FASTER] = fmax(least, work[(size_t)ceil((1 - tail) * last)]);
    snprintf(h->class, sizeof h->class, "%s", class);
}

static bool has_class(const struct one *x, const char *class)
{
    bool has = false;
    for (size_t i = 0; i < x->n_half; i++)
        has |= strcmp(x->half[i].class, class) == 0;
    return has;
}

static size_t machines_of(const struct left *l, size_t n, const char *class)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(l[i].class, class) == 0)
            seen |= UINT64_C(1) << (l[i].machine % 64);
    return (size_t)__builtin_popcountll(seen);
}

/* Of all rows, then of each class with enough rows of two machines or more. */
static void set_halves(struct one *x, const struct left *l, size_t n, double *work)
{
    enum { FEW = 50 };
    x->n_half = 0;
    if (n == 0)
        return;
    quantiles(&x->half[x->n_half++], l, n, "", work);
    for (size_t i = 0; i < n && x->n_half < CLASSES_MOST; i++) {
        struct half *h = &x->half[x->n_half];
        if (has_class(x, l[i].class) || machines_of(l, n, l[i].class) < 2)
            continue;
        quantiles(h, l, n, l[i].class, work);
        x->n_half += h->n >= FEW;
    }
}

/* Steps of a fit from where all rows put it. */
enum { STEPS = 8 };

static int leave_machine(struct one *x, const struct set *s, const char *machine, size_t index, bool *keep, struct left *l, size_t *n, struct error *err)
{
    char text[256];
    const struct fit_model m = model_of(s->f);
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        kept += keep[i] = strcmp(machine_of(s->workload[i], text, sizeof text), machine) != 0;
    if (kept == 0)
        return 0;
    if (fit_steps(&x->fit, &m, s->row, s->n, keep, STEPS, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n; i++)
        if (!keep[i])
            l[(*n)++] = (struct left){ fit_predict(&x->fit, &m, &s->row[i], NULL, NULL) - s->row[i].ln_seconds, s->dim[i * FAMILY_DIMENSIONS], index };
    return 0;
}

/* Errors of each machine by a fit without it. The fit is as before afterwards. */
static int fit_halves(struct one *x, const struct set *s, struct error *err)
{
    char text[256];
    const size_t bytes = x->fit.n_effect * sizeof *x->fit.effect;
    struct left *l = calloc(s->n + 1, sizeof *l);
    struct fit_effect *before = malloc(bytes + 1);
    bool *keep = calloc(s->n + 1, sizeof *keep);
    double *work = calloc(s->n + 1, sizeof *work);
    struct training_groups machines = { 0 };
    size_t n = 0;
    int rc = l && before && keep && work ? 0 : error_oom(err, s->n * sizeof *l, "rows left out");
    if (rc == 0)
        memcpy(before, x->fit.effect, bytes);
    for (size_t i = 0; i < s->n && rc == 0; i++)
        rc = training_add_text(&machines, machine_of(s->workload[i], text, sizeof text), err);
    for (size_t i = 0; i < machines.n && rc == 0 && machines.n > 1; i++) {
        rc = leave_machine(x, s, machines.text[i], i, keep, l, &n, err);
        memcpy(x->fit.effect, before, bytes);
    }
    if (rc == 0 && n > 0)
        set_halves(x, l, n, work);
    training_free(&machines);
    free(l);
    free(before);
    free(keep);
    free(work);
    return rc;
}

/* ---- shipped constants ------------------------------------------------------------------------------ */

static void interval_name(char *name, const struct family *f, int side, const char *class)
{
    char *at = fit_name_add(name, fit_name_begin(name, "interval"), "side", side_names[side]);
    if (*class)
        (void)fit_name_add(name, at, f->dimension[0], class);
}

/* Side and class of an interval's name; -1: no such name. */
static int interval_parse(const struct family *f, const char *name, const char **class)
{
    char start[FIT_MAX_NAME];
    for (int side = 0; side < SIDES; side++) {
        interval_name(start, f, side, "");
        const size_t n = strlen(start), d = strlen(f->dimension[0]);
        if (strncmp(name, start, n) != 0)
            continue;
        *class = name[n] ? name + n + d + 2 : "";
        if (!name[n] || (name[n] == ' ' && strncmp(name + n + 1, f->dimension[0], d) == 0 && name[n + 1 + d] == '=' && **class))
            return side;
    }
    return -1;
}

bool families_is_interval(const struct family *f, const char *name)
{
    const char *class;
    return interval_parse(f, name, &class) >= 0;
}

static void take_interval(struct one *x, const struct family *f, const struct constant *c)
{
    const char *class = "";
    const int side = interval_parse(f, c->name, &class);
    size_t i = 0;
    while (i < x->n_half && strncmp(x->half[i].class, class, FAMILY_TEXT - 1) != 0)
        i++;
    if (side < 0 || i == CLASSES_MOST)
        return;
    if (i == x->n_half) {
        x->half[x->n_half++] = (struct half){ .n = c->n_row };
        snprintf(x->half[i].class, sizeof x->half[i].class, "%s", class);
    }
    x->half[i].by[side] = c->value;
}

static int start_from(struct one *x, const struct family *f, const struct constants *c, struct error *err)
{
    snprintf(x->source, sizeof x->source, "%s", c->source);
    for (size_t i = 0; i < c->n; i++)
        if (fit_effect(&x->fit, c->c[i].name, c->c[i].value, c->c[i].sd, err) == FIT_NO_EFFECT)
            return -1;
    for (size_t i = 0; i < c->n_interval; i++)
        take_interval(x, f, &c->interval[i]);
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
    struct set s;
    const struct fit_model m = model_of(f);
    int rc = collect(&s, x, f, rows, n, err);
    if (rc == 0 && s.n > 0)
        rc = fit_run(&x->fit, &m, s.row, s.n, NULL, err);
    if (rc == 0 && s.n > 0)
        rc = fit_halves(x, &s, err);
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

static void interval_of(const struct one *x, const char *class, double *slower, double *faster)
{
    *slower = *faster = unseen_half;
    for (size_t i = 0; i < x->n_half; i++)
        if (!x->half[i].class[0] || strncmp(x->half[i].class, class, FAMILY_TEXT - 1) == 0) {
            *slower = x->half[i].by[SLOWER];
            *faster = x->half[i].by[FASTER];
        }
}

int families_predict(const struct families *x, const struct workload *p, struct estimate *out, struct error *err)
{
    const struct family *f = family_of(p->m->op);
    if (!f)
        return error_set(err, ERROR_UNAVAILABLE, "op \"%.64s\": no family of kernels has it", p->m->op);
    const struct one *const of = &x->of[family_index(f)];
    const struct fit_model m = model_of(f);
    family_text dim[FAMILY_DIMENSIONS] = { "" };
    void *features = calloc(1, f->feature_bytes);
    struct fit_row row = { .features = features };
    struct error unused = { 0 };
    double slower, faster, sd;
    int rc = features ? f->init(features, dim, p, err) : error_oom(err, f->feature_bytes, "a kernel");
    if (rc == 0) {
        (void)set_effects((struct fit *)(uintptr_t)&of->fit, false, f, dim, &row, &unused);
        const double ln = fit_predict(&of->fit, &m, &row, &sd, NULL);
        interval_of(of, dim[0], &slower, &faster);
        slower = fmax(slower, PREDICT_Z90 * hypot(sd, f->sigma)); /* sd: of effects of a machine that no row has, too */
        faster = fmax(faster, PREDICT_Z90 * hypot(sd, f->sigma));
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

/* Their spread is that of a quantile of so many rows. */
static int take_halves(struct constants *c, const struct one *x, const struct family *f, struct error *err)
{
    c->interval = calloc(SIDES * x->n_half + 1, sizeof *c->interval);
    if (!c->interval)
        return error_oom(err, SIDES * x->n_half * sizeof *c->interval, "intervals");
    for (size_t i = 0; i < x->n_half; i++)
        for (int side = 0; side < SIDES; side++) {
            struct constant *to = &c->interval[c->n_interval++];
            *to = (struct constant){ .value = x->half[i].by[side], .sd = 1 / sqrt((double)x->half[i].n), .n_row = x->half[i].n };
            interval_name(to->name, f, side, x->half[i].class);
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
        c->group = calloc(of->by.n + 1, sizeof *c->group);
        rc = c->group ? take_effects(c, &of->fit, err) : error_oom(err, of->by.n * sizeof *c->group, "groups");
        rc = rc ? rc : take_halves(c, of, family_at(i), err);
        for (size_t k = 0; k < of->by.n && rc == 0; k++, c->n_group++)
            if (!(c->group[k] = strdup(of->by.text[k])))
                rc = error_oom(err, strlen(of->by.text[k]), "groups");
        constants_keep_files(c);
    }
    return rc;
}
