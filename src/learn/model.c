/* The fitted time model: constants from training rows, seconds and an interval of a row. methods.md (57), (35) */
#include "learn/constants.h"
#include "learn/families.h"
#include "learn/fitted.h"
#include "learn/interval.h"
#include "stacks/priors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One kind of rows. */
struct fitted_one {
    struct fit fit;
    double sigma;      /* residual error, in sigma of a row */
    struct fit interval; /* half-widths (interval.h) */
    struct fold_figure fold[FOLD_COUNT];
    struct training_groups by, shown;
    bool all;          /* its constants are of all rows */
    char source[CONSTANTS_SOURCE];
};
struct fitted {
    struct fitted_one kind[FITTED_KIND_COUNT];
    struct families *families; /* of kernels */
};

static const double mad_to_sigma = 1.4826;          /* of the normal distribution */
static const double sigma_unseen = 3;               /* without training rows */
/* Constants of all rows, and of all but hwprofiles/stacks' own rows, for left-out groups among these. (67) */
static const char *const shipped_files[] = { "constants", "constants_base" };

static void fitted_free(void *params)
{
    struct fitted *x = params;
    for (int k = 0; x && k < FITTED_KIND_COUNT; k++) {
        fit_free(&x->kind[k].fit);
        fit_free(&x->kind[k].interval);
        training_free(&x->kind[k].by);
        training_free(&x->kind[k].shown);
    }
    if (x)
        families_free(x->families);
    free(x);
}

/* ---- residual error ------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int left_over(struct fitted_one *x, const struct fit_row *row, size_t n, struct error *err)
{
    double *work = calloc(n + 1, sizeof *work);
    if (!work)
        return error_oom(err, n * sizeof *work, "residuals");
    for (size_t i = 0; i < n; i++)
        work[i] = fabs(fit_predict(&x->fit, &fitted_model, &row[i], NULL, NULL) - row[i].ln_seconds) / row[i].sigma;
    qsort(work, n, sizeof *work, compare);
    if (n > 0)
        x->sigma = fmax(mad_to_sigma * work[n / 2], 0.1);
    free(work);
    return 0;
}

/* ---- a fit of one kind ----------------------------------------------------------------------------- */

/* Rows of one machine, engine, model and type are redundant: a few are used. Of thousands of op sizes every eighth. */
enum { ALIKE_MAX = 6, EVERY = 8, THOUSANDS = 2000 };

static bool is_of_sizes(const struct measurement *m)
{
    return m->kind == MEASURE_OP;
}

static size_t step_of_sizes(const struct workload *const *rows, size_t n)
{
    size_t sizes = 0;
    for (size_t i = 0; i < n; i++)
        sizes += is_of_sizes(rows[i]->m);
    return sizes >= THOUSANDS ? EVERY : 1;
}

static bool enough_alike(const struct workload *const *rows, size_t i, size_t step)
{
    const struct measurement *m = rows[i]->m;
    int n = 0;
    if (is_of_sizes(m))
        return m->line % step != 0;
    for (size_t j = i; m->kind == MEASURE_RATE && j-- > 0 && n < ALIKE_MAX;) {
        const struct measurement *o = rows[j]->m;
        n += rows[j]->stack == rows[i]->stack && o->phase == m->phase && o->n_devices == m->n_devices &&
             strcmp(o->hardware, m->hardware) == 0 && strcmp(o->model, m->model) == 0 && strcmp(o->quant, m->quant) == 0;
    }
    return n >= ALIKE_MAX;
}

static bool is_learned_from(const struct workload *const *rows, size_t i, enum fitted_kind kind, size_t step)
{
    return fitted_learns_from(kind, rows[i]->m) && !rows[i]->host && !(rows[i]->machine->ln_sd > 0) && !enough_alike(rows, i, step);
}

/* Number of rows to allocate: a row of a fit is large. */
static size_t count_learned(const struct workload *const *rows, size_t n, enum fitted_kind kind, size_t step)
{
    size_t learned = 0;
    for (size_t i = 0; i < n; i++)
        learned += is_learned_from(rows, i, kind, step);
    return learned;
}

/* Sigma of an anchor. */
static const double anchor_sigma = 0.02;

/* Same machine and phase. */
static bool alike(const struct workload *a, const struct workload *b)
{
    return a->m->kind == b->m->kind && a->m->phase == b->m->phase && a->m->metric == b->m->metric &&
           strcmp(a->m->hardware, b->m->hardware) == 0;
}

static bool is_alone(const struct fit_scope *scope, size_t anchor)
{
    size_t n = 0;
    for (size_t i = 0; i < scope->n_anchor; i++)
        n += alike(scope->anchor[i], scope->anchor[anchor]);
    return n == 1;
}

struct collected {
    struct fitted_row *r;
    struct fit_row *row;
    const struct workload **workload;
    size_t n;
};

/* sigma 0: the row's own. */
static int collect(struct fitted_one *x, struct collected *c, const struct workload *p, enum fitted_kind kind, bool shown, double sigma,
                   struct error *err)
{
    struct fitted_row *r = &c->r[c->n];
    if (!(p->measured_s > 0) || !fitted_row_init(r, p, kind))
        return 0;
    if (sigma > 0)
        r->sigma = hypot(sigma, p->m->ln_sd);
    if (fitted_row_effects(&x->fit, r, &c->row[c->n], err) != 0 ||
        training_add_row(shown ? &x->shown : &x->by, p, err) != 0)
        return -1;
    c->workload[c->n] = p;
    c->row[c->n].from = shown ? CONSTANTS_SHOWN : UINT64_C(1) << (p->m->file < 62 ? p->m->file : 62);
    c->row[c->n].sigma = fitted_row_sigma(r, p->measured_s);
    c->row[c->n++].ln_seconds = log(p->measured_s);
    return 0;
}

/*
 * Several anchors have individual errors (type, length, defects). Each is fitted as a row, then its sigma includes its deviation from the
 * median of similar ones: *again. (62)
 */
static int trust_anchors(bool *again, const struct fitted_one *x, struct collected *c, size_t n_seen, struct error *err)
{
    const size_t n_anchor = c->n - n_seen;
    double *left = calloc(2 * n_anchor + 1, sizeof *left), *like = left + n_anchor;
    *again = false;
    if (!left)
        return error_oom(err, 2 * n_anchor * sizeof *left, "anchors");
    for (size_t i = n_seen; i < c->n; i++)
        left[i - n_seen] = c->row[i].ln_seconds - fit_predict(&x->fit, &fitted_model, &c->row[i], NULL, NULL);
    for (size_t i = n_seen; i < c->n; i++) {
        size_t n = 0;
        for (size_t k = n_seen; k < c->n; k++)
            if (alike(c->workload[i], c->workload[k]))
                like[n++] = left[k - n_seen];
        if (n == 1)
            continue;
        c->row[i].sigma = hypot(hypot(anchor_sigma, c->workload[i]->m->ln_sd), left[i - n_seen] - stats_median(like, n));
        *again = true;
    }
    free(left);
    return 0;
}

/* Fits the residual error and the interval half-widths. */
static int spreads(struct fitted_one *x, const struct collected *c, size_t n_seen, bool apart, struct error *err)
{
    if (left_over(x, c->row, n_seen, err) != 0)
        return -1;
    const struct interval_input in = { .fit = &x->fit, .row = c->row, .fitted = c->r, .workload = c->workload, .n = c->n, .n_seen = n_seen,
                                     .sigma = x->sigma, .shown_sigma = anchor_sigma, .apart = apart,
                                     .figure = apart ? x->fold : NULL };
    return interval_fit(&x->interval, &in, err);
}

/* apart: predictions treat constants as independent. */
static int fit_kind(struct fitted_one *x, enum fitted_kind kind, const struct workload *const *rows, size_t n,
                    const struct fit_scope *scope, bool apart, struct error *err)
{
    const size_t step = step_of_sizes(rows, n), room = count_learned(rows, n, kind, step) + scope->n_anchor + 1;
    struct collected c = { calloc(room, sizeof *c.r), calloc(room, sizeof *c.row), calloc(room, sizeof *c.workload), 0 };
    int rc = c.r && c.row && c.workload ? fitted_priors(&x->fit, kind, err) : error_oom(err, room * (sizeof *c.r + sizeof *c.row), "the rows of a fit");
    for (size_t i = 0; i < n && rc == 0; i++)
        if (is_learned_from(rows, i, kind, step))
            rc = collect(x, &c, rows[i], kind, false, 0, err);
    const size_t n_seen = c.n;
    bool again = false;
    for (size_t i = 0; i < n_seen && rc == 0 && training_has_publishers(&x->by); i++)
        rc = training_add_publication(&x->by, c.workload[i], err);
    for (size_t i = 0; i < scope->n_anchor && rc == 0; i++)
        if (fitted_learns_from(kind, scope->anchor[i]->m))
            rc = collect(x, &c, scope->anchor[i], kind, true, is_alone(scope, i) ? anchor_sigma : 0, err);
    if (rc == 0 && c.n > 0)
        rc = fit_run(&x->fit, &fitted_model, c.row, c.n, NULL, err);
    rc = rc ? rc : trust_anchors(&again, x, &c, n_seen, err);
    if (rc == 0 && again)
        rc = fit_run(&x->fit, &fitted_model, c.row, c.n, NULL, err);
    if (rc == 0 && n_seen > 0)
        rc = spreads(x, &c, n_seen, apart, err);
    free(c.r);
    free(c.row);
    free(c.workload);
    return rc;
}

/* ---- shipped constants ------------------------------------------------------------------------------- */

/* The constants were trained on rows of the left-out group. */
static bool trained_on_group(const struct constants *c, const struct fit_scope *s)
{
    return s->leave == LEAVE_DATE || (s->leave != LEAVE_NOTHING && constants_saw(c, leave_out_name(s->leave), s->left_out));
}

static int start_from(struct fitted_one *x, const struct constants *c, struct error *err)
{
    x->sigma = c->sigma;
    snprintf(x->source, sizeof x->source, "%s", c->source);
    for (size_t i = 0; i < c->n; i++) {
        const uint16_t e = fit_effect(&x->fit, c->c[i].name, c->c[i].value, c->c[i].sd, err);
        if (e == FIT_NO_EFFECT)
            return -1;
        x->fit.effect[e].from = c->c[i].from;
    }
    for (size_t i = 0; i < c->n_interval; i++)
        if (fit_effect(&x->interval, c->interval[i].name, c->interval[i].value, c->interval[i].sd, err) == FIT_NO_EFFECT)
            return -1;
    for (size_t i = 0; i < c->n_group; i++)
        if (training_add_text(&x->by, c->group[i], err) != 0)
            return -1;
    return 0;
}

/* Loads every kind from the first file that was not trained on the left-out group. */
static int shipped(struct fitted *x, const struct fit_scope *scope, struct error *err)
{
    bool done[FITTED_KIND_COUNT] = { false };
    int rc = 0, n_done = 0;
    for (size_t i = 0; i < ARRAY_LEN(shipped_files) && rc == 0 && n_done < FITTED_KIND_COUNT; i++) {
        struct constants_file f;
        struct error e = { 0 };
        if (constants_find(&f, shipped_files[i], &e) != 0) {
            if (e.kind == ERROR_UNAVAILABLE)
                continue;
            *err = e;
            return -1;
        }
        for (int k = 0; k < FITTED_KIND_COUNT && rc == 0; k++) {
            if (done[k] || trained_on_group(&f.kind[k], scope))
                continue;
            done[k] = true;
            n_done++;
            x->kind[k].all = i == 0;
            if (f.kind[k].n > 0)
                rc = start_from(&x->kind[k], &f.kind[k], err);
        }
        constants_free(&f);
    }
    return rc;
}

/* ---- the interface of score ---------------------------------------------------------------------- */

static int fit_all(struct fitted *x, const struct workload *const *rows, size_t n, const struct fit_scope *scope, bool apart,
                   struct error *err)
{
    const struct workload **both = malloc((n + scope->n_reference_rows + 1) * sizeof *both);
    int rc = both ? 0 : error_oom(err, (n + scope->n_reference_rows) * sizeof *both, "the rows of a fit");
    for (size_t i = 0; both && i < n + scope->n_reference_rows; i++)
        both[i] = i < n ? rows[i] : scope->reference_rows[i - n];
    for (int k = 0; k < FITTED_KIND_COUNT && rc == 0; k++)
        rc = fit_kind(&x->kind[k], (enum fitted_kind)k, both, n + (x->kind[k].all ? 0 : scope->n_reference_rows), scope, apart, err);
    free(both);
    return rc;
}

static struct fitted *fitted_new(struct error *err)
{
    struct fitted *x = calloc(1, sizeof *x);
    if (!x)
        error_oom(err, sizeof *x, "a fit");
    for (int k = 0; x && k < FITTED_KIND_COUNT; k++)
        x->kind[k] = (struct fitted_one){ .sigma = sigma_unseen, .source = "no measurements: priors of all machines" };
    return x;
}

static int fitted_fit(void **params, const struct workload *const *rows, size_t n, const struct fit_scope *scope, struct error *err)
{
    struct fitted *x = priors_load(err) == 0 ? fitted_new(err) : NULL;
    if (!x)
        return -1;
    int rc = shipped(x, scope, err);
    for (int k = 0; k < FITTED_KIND_COUNT && rc == 0; k++)
        rc = fitted_priors(&x->kind[k].fit, (enum fitted_kind)k, err);
    rc = rc ? rc : families_fit(&x->families, rows, n, scope, true, err);
    if (rc != 0 || fit_all(x, rows, n, scope, false, err) != 0) {
        fitted_free(x);
        return -1;
    }
    *params = x;
    return 0;
}

/* Residual of a guessed memory with an anchor: 0.15 and 0.2 for a GTX 1660 and an RTX 5060 Ti. */
static const double ANCHOR_LEAVES = 0.2;

/* Spread of ln seconds for a model without a preset. Requests are mostly steps. (doc/notes/datasets.md) */
static double model_ln_sd(const struct workload *p)
{
    const bool prompt = p->m->phase == MEASURE_PREFILL || p->m->metric == METRIC_TTFT;
    const double dims = p->moe ? prior(prompt ? PRIOR_GUESSED_MIXTURE_PROMPT : PRIOR_GUESSED_MIXTURE)
                               : prior(prompt ? PRIOR_GUESSED_DENSE_PROMPT : PRIOR_GUESSED_DENSE);
    return hypot(p->guesses & GUESS_MODEL ? dims : 0, p->guesses & GUESS_ACTIVE ? prior(PRIOR_GUESSED_ACTIVE) : 0);
}

/* Spread of the logarithm of seconds from what is guessed of the row's machine, model and weights. (56), (doc/notes/datasets.md) */
static double guess_ln_sd(const struct workload *p, enum novelty s)
{
    const double machine = (s == NOVELTY_ANCHORED ? ANCHOR_LEAVES : 1) * p->machine->ln_sd;
    return hypot(hypot(machine, model_ln_sd(p)), p->guesses & GUESS_BITS ? prior(PRIOR_UNNAMED_BITS) : 0);
}

static int predict_device(const void *params, const struct workload *p, struct estimate *out, struct error *err)
{
    const struct fitted_one *x = &((const struct fitted *)params)->kind[fitted_kind(p->m)];
    struct fitted_row *r = calloc(1, sizeof *r);
    struct fit_row row;
    double sd;
    if (families_price(p->m)) {
        free(r);
        return families_predict(((const struct fitted *)params)->families, p, out, err);
    }
    if (!r)
        return error_oom(err, sizeof *r, "a row");
    (void)fitted_row_init(r, p, fitted_kind(p->m));
    fitted_row_predict(&x->fit, r, &row);
    const double fit_ln = fit_predict(&x->fit, &fitted_model, &row, &sd, NULL), noise = x->sigma * fitted_row_sigma(r, exp(fit_ln)),
                 base = sqrt(sd * sd + noise * noise);
    const double least = log(work_least_s(p)), ln = fmax(fit_ln, least); /* bounded by the roofs (27) */
    const enum novelty s = novelty_of(&x->by, &x->shown, p);
    const double guessed = PREDICT_Z90 * guess_ln_sd(p, s);
    *out = (struct estimate){ .seconds = exp(ln), .lo_s = exp(ln - hypot(fmin(interval_half(&x->interval, s, SIDE_FASTER, p, base), ln - least), guessed)),
                              .hi_s = exp(ln + hypot(interval_half(&x->interval, s, SIDE_SLOWER, p, base), guessed)) };
    free(r);
    return isfinite(ln) ? 0 : error_set(err, ERROR_INPUT, "a prediction that is no number");
}

/* Two devices, one after the other, whose errors are independent, and the bus between them. (111) */
static int fitted_predict(const void *params, const struct workload *p, struct estimate *out, struct error *err)
{
    struct estimate host;
    if (predict_device(params, p, out, err) != 0)
        return -1;
    if (!p->host)
        return 0;
    if (predict_device(params, p->host, &host, err) != 0)
        return -1;
    const double bus = exp(PREDICT_Z90 * p->bus_ln_sd), seconds = out->seconds + host.seconds + p->bus_s;
    const double faster = hypot(hypot(out->seconds - out->lo_s, host.seconds - host.lo_s), p->bus_s * (1 - 1 / bus)),
                 slower = hypot(hypot(out->hi_s - out->seconds, host.hi_s - host.seconds), p->bus_s * (bus - 1));
    *out = (struct estimate){ .seconds = seconds, .lo_s = seconds - faster, .hi_s = seconds + slower };
    return 0;
}

const struct time_model time_model_fitted = { "fitted", fitted_fit, fitted_predict, fitted_free };

/* ---- constants for predictions ------------------------------------------------------------------ */

const struct fit *fitted_fit_of(const void *params, enum fitted_kind kind)
{
    return &((const struct fitted *)params)->kind[kind].fit;
}

const char *fitted_source(const void *params, enum fitted_kind kind)
{
    return ((const struct fitted *)params)->kind[kind].source;
}

/* Covariance of two parameters: the sum over their effects. */
static double covariance(const struct fit *f, const struct fit_row *row, int s, int t)
{
    double sum = s == t ? row->prior_var[s] : 0;
    for (int k = 0; k < FIT_MAX_EFFECTS; k++)
        for (int l = 0; l < FIT_MAX_EFFECTS; l++) {
            const uint16_t a = row->effect[s][k], b = row->effect[t][l];
            if (a == FIT_NO_EFFECT || b == FIT_NO_EFFECT)
                continue;
            sum += f->cov ? f->cov[a * f->n_effect + b] : a == b ? f->effect[a].se * f->effect[a].se : 0;
        }
    return sum;
}

void fitted_constants(const void *params, const struct stack_traits *of, unsigned which, struct time_constants *out)
{
    const struct workload *p = of->p;
    const struct fitted_one *x = &((const struct fitted *)params)->kind[fitted_kind(p->m)];
    struct fitted_row r;
    struct fit_row row;
    fitted_row_of_case(&r, of, which);
    fitted_row_predict(&x->fit, &r, &row);
    fit_parameters(&x->fit, &fitted_model, &row, out->parameter);
    for (int s = 0; s < TIME_PARAMETER_COUNT; s++)
        for (int t = 0; t < TIME_PARAMETER_COUNT; t++)
            out->cov[s][t] = s == t || x->fit.cov ? covariance(&x->fit, &row, s, t) : 0;
    out->sigma = x->sigma * r.sigma;
    const enum novelty s = novelty_of(&x->by, &x->shown, p);
    out->guess_ln_sd = guess_ln_sd(p, s);
    out->widen = interval_half(&x->interval, s, SIDE_SLOWER, p, 1 / PREDICT_Z90);
    out->widen_fast = interval_half(&x->interval, s, SIDE_FASTER, p, 1 / PREDICT_Z90);
}

/* ---- constants to ship ------------------------------------------------------------------------------ */

static int take_list(struct constant **out, size_t *n, const struct fit *f, struct error *err)
{
    *out = calloc(f->n_effect + 1, sizeof **out);
    if (!*out)
        return error_oom(err, f->n_effect * sizeof **out, "constants");
    for (size_t i = 0; i < f->n_effect; i++) {
        const struct fit_effect *e = &f->effect[i];
        if (e->n_row == 0 || strstr(e->name, " publication="))
            continue; /* a prior, not measured; a prediction is of another publication */
        struct constant *to = &(*out)[(*n)++];
        *to = (struct constant){ .value = e->value, .sd = e->se, .n_row = e->n_row, .from = e->from };
        snprintf(to->name, sizeof to->name, "%s", e->name);
    }
    return 0;
}

static int take_constants(struct constants *c, const struct fitted_one *x, struct error *err)
{
    c->sigma = x->sigma;
    memcpy(c->fold, x->fold, sizeof c->fold);
    if (take_list(&c->c, &c->n, &x->fit, err) != 0)
        return -1;
    return take_list(&c->interval, &c->n_interval, &x->interval, err);
}

/* Groups and number of the rows that a kind learns from. */
static int take_groups(struct constants *c, enum fitted_kind kind, const struct workload *const *rows, size_t n, struct error *err)
{
    struct training_groups by = { 0 };
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        if (fitted_learns_from(kind, rows[i]->m) && !rows[i]->host) {
            rc = training_add_row(&by, rows[i], err);
            c->n_row++;
        }
    rc = rc ? rc : training_copy(&c->group, &c->n_group, &by, err);
    training_free(&by);
    return rc;
}

int constants_fit(struct constants_file *f, const struct workload *const *rows, size_t n, const char *source, struct error *err)
{
    const struct fit_scope none = { 0 };
    struct fitted *x = priors_load(err) == 0 ? fitted_new(err) : NULL;
    *f = (struct constants_file){ 0 };
    int rc = x ? fit_all(x, rows, n, &none, true, err) : -1;
    rc = rc ? rc : families_fit(&x->families, rows, n, &none, false, err);
    rc = rc ? rc : families_constants(x->families, f, source, err);
    for (int k = 0; k < FITTED_KIND_COUNT && rc == 0; k++) {
        rc = take_groups(&f->kind[k], (enum fitted_kind)k, rows, n, err);
        if (f->kind[k].n_row == 0 || rc != 0)
            continue;
        snprintf(f->kind[k].source, sizeof f->kind[k].source, "%s", source);
        rc = take_constants(&f->kind[k], &x->kind[k], err);
        constants_keep_files(&f->kind[k]);
    }
    fitted_free(x);
    if (rc != 0)
        constants_free(f);
    return rc;
}
