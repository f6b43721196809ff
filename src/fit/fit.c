#include "fit/fit.h"
#include "fit/least.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* At this many sigma a row has half its least-squares weight. Source: methods.md (57). */
static const double knee = 3;
static const double step = 1e-4; /* of a parameter's logarithm, for derivatives */

void fit_init(struct fit *f)
{
    *f = (struct fit){ 0 };
}

void fit_free(struct fit *f)
{
    free(f->effect);
    free(f->cov);
    free(f->bucket);
    fit_init(f);
}

static size_t hash_of(const char *name)
{
    const uint64_t h = hash_bytes(name, strlen(name));
    return (size_t)(h ^ h >> 32);
}

/* Bucket of the effect of that name, or the empty bucket for it. */
static uint16_t *bucket_of(const struct fit *f, const char *name)
{
    size_t at = hash_of(name) & (f->n_bucket - 1);
    while (f->bucket[at] != FIT_NO_EFFECT && strcmp(f->effect[f->bucket[at]].name, name) != 0)
        at = (at + 1) & (f->n_bucket - 1);
    return &f->bucket[at];
}

uint16_t fit_find(const struct fit *f, const char *name)
{
    return f->n_bucket ? *bucket_of(f, name) : FIT_NO_EFFECT;
}

static char *put(const char *name, char *at, const char *text)
{
    const char *const end = name + FIT_MAX_NAME - 1;
    while (at < end && *text)
        *at++ = *text++;
    *at = 0;
    return at;
}

char *fit_name_begin(char *name, const char *what)
{
    return put(name, name, what);
}

char *fit_name_add(const char *name, char *at, const char *group, const char *value)
{
    return put(name, put(name, put(name, put(name, at, " "), group), "="), value);
}

/* Makes room for one more effect; load factor at most 1/2. */
static int make_room(struct fit *f, struct error *err)
{
    if (f->n_bucket > 2 * f->n_effect)
        return 0;
    const size_t n = f->n_bucket ? 2 * f->n_bucket : 32;
    struct fit_effect *effect = realloc(f->effect, n / 2 * sizeof *effect);
    if (effect)
        f->effect = effect;
    uint16_t *bucket = effect ? realloc(f->bucket, n * sizeof *bucket) : NULL;
    if (!bucket)
        return error_oom(err, n / 2 * sizeof *effect + n * sizeof *bucket, "the constants of a fit");
    f->bucket = bucket;
    f->n_bucket = n;
    for (size_t i = 0; i < n; i++)
        bucket[i] = FIT_NO_EFFECT;
    for (size_t i = 0; i < f->n_effect; i++)
        *bucket_of(f, f->effect[i].name) = (uint16_t)i;
    return 0;
}

uint16_t fit_effect(struct fit *f, const char *name, double prior, double sd, struct error *err)
{
    uint16_t known = fit_find(f, name);
    if (known != FIT_NO_EFFECT)
        return known;
    if (f->n_effect == FIT_NO_EFFECT - 1) {
        error_set(err, ERROR_INPUT, "more than %d constants", FIT_NO_EFFECT - 1);
        return FIT_NO_EFFECT;
    }
    if (make_room(f, err) != 0)
        return FIT_NO_EFFECT;
    struct fit_effect *e = &f->effect[f->n_effect];
    *e = (struct fit_effect){ .prior = prior, .sd = sd, .value = prior, .se = sd };
    snprintf(e->name, sizeof e->name, "%s", name);
    *bucket_of(f, e->name) = (uint16_t)f->n_effect;
    return (uint16_t)f->n_effect++;
}

void fit_parameters(const struct fit *f, const struct fit_model *m, const struct fit_row *row, double *parameter)
{
    for (int s = 0; s < m->n_parameter; s++) {
        parameter[s] = row->base[s];
        for (int k = 0; k < FIT_MAX_EFFECTS; k++)
            if (row->effect[s][k] != FIT_NO_EFFECT)
                parameter[s] += f->effect[row->effect[s][k]].value;
    }
}

/* d ln_seconds / d parameter, where the model has none by central differences. */
void fit_gradient(const struct fit_model *m, const struct fit_row *row, double *parameter, double *g)
{
    const bool closed = m->gradient && m->gradient(row->features, parameter, g);
    for (int s = 0; s < m->n_parameter; s++) {
        const bool moves = row->effect[s][0] != FIT_NO_EFFECT || row->prior_var[s] != 0;
        if (!moves)
            g[s] = 0;
        if (closed || !moves)
            continue;
        double at = parameter[s];
        parameter[s] = at + step;
        double up = m->ln_seconds(row->features, parameter);
        parameter[s] = at - step;
        g[s] = (up - m->ln_seconds(row->features, parameter)) / (2 * step);
        parameter[s] = at;
    }
}

/* ---- the least squares problem: rows, then one row per effect for its prior -------- */

/* Effects without rows keep their priors and are not unknowns. */
struct problem {
    struct fit *f;
    const struct fit_model *m;
    const struct fit_row **row;
    size_t n_row;
    size_t *at, *active; /* effect -> unknown; unknown -> effect */
    size_t n_active;
};

/* r / sqrt(1 + |r| / knee): its square is quadratic near 0 and linear for outliers. */
static double soften(double r)
{
    return r / sqrt(1 + fabs(r) / knee);
}

static double soften_slope(double r)
{
    double a = 1 + fabs(r) / knee;
    return 1 / sqrt(a) - fabs(r) / (2 * knee * a * sqrt(a));
}

static void load(const struct problem *p, const double *x)
{
    for (size_t j = 0; j < p->n_active; j++)
        p->f->effect[p->active[j]].value = x[j];
}

/* Sum of squares of the residuals, priors included. */
static int square(void *ctx, const double *x, double *sum)
{
    const struct problem *p = ctx;
    double parameter[FIT_MAX_PARAMETERS], s = 0;
    load(p, x);
    for (size_t i = 0; i < p->n_row; i++) {
        fit_parameters(p->f, p->m, p->row[i], parameter);
        const double r = soften((p->m->ln_seconds(p->row[i]->features, parameter) - p->row[i]->ln_seconds) / p->row[i]->sigma);
        s += r * r;
    }
    for (size_t j = 0; j < p->n_active; j++) {
        const struct fit_effect *e = &p->f->effect[p->active[j]];
        s += (e->value - e->prior) / e->sd * ((e->value - e->prior) / e->sd);
    }
    *sum = s;
    return isfinite(s) ? 0 : -1;
}

/* Adds a row's block to J'J and J'f. */
static int add_row(const struct problem *p, const struct fit_row *row, double *jj, double *jf)
{
    double g[FIT_MAX_PARAMETERS], slope, value[FIT_MAX_PARAMETERS * FIT_MAX_EFFECTS];
    size_t at[FIT_MAX_PARAMETERS * FIT_MAX_EFFECTS], n = 0;
    const double r = fit_residual(p->f, p->m, row, g, &slope);
    for (int s = 0; s < p->m->n_parameter; s++)
        for (int k = 0; k < FIT_MAX_EFFECTS; k++)
            if (row->effect[s][k] != FIT_NO_EFFECT) {
                at[n] = p->at[row->effect[s][k]];
                value[n++] = slope * g[s] / row->sigma;
            }
    for (size_t a = 0; a < n; a++) {
        jf[at[a]] += value[a] * r;
        for (size_t b = 0; b < n; b++)
            if (at[a] <= at[b])
                jj[at[a] * p->n_active + at[b]] += value[a] * value[b];
    }
    return isfinite(r) ? 0 : -1;
}

static int normal(void *ctx, const double *x, double *jj, double *jf)
{
    const struct problem *p = ctx;
    load(p, x);
    for (size_t i = 0; i < p->n_row; i++)
        if (add_row(p, p->row[i], jj, jf) != 0)
            return -1;
    for (size_t j = 0; j < p->n_active; j++) {
        const struct fit_effect *e = &p->f->effect[p->active[j]];
        jj[j * p->n_active + j] += 1 / (e->sd * e->sd);
        jf[j] += (e->value - e->prior) / (e->sd * e->sd);
    }
    return 0;
}

double fit_residual(const struct fit *f, const struct fit_model *m, const struct fit_row *row, double *g, double *slope)
{
    double parameter[FIT_MAX_PARAMETERS];
    fit_parameters(f, m, row, parameter);
    const double r = (m->ln_seconds(row->features, parameter) - row->ln_seconds) / row->sigma;
    fit_gradient(m, row, parameter, g);
    *slope = soften_slope(r);
    return soften(r);
}

/* Unknowns: from the curvature; other effects: their priors. */
static int spread(struct problem *p, const double *inverse, struct error *err)
{
    const size_t n = p->f->n_effect, m = p->n_active;
    double *c = calloc(n * n, sizeof *c);
    if (!c)
        return error_oom(err, n * n * sizeof *c, "the spread of the constants");
    for (size_t j = 0; j < n; j++)
        c[j * n + j] = p->f->effect[j].sd * p->f->effect[j].sd;
    for (size_t a = 0; a < m; a++)
        for (size_t b = 0; b < m; b++)
            c[p->active[a] * n + p->active[b]] = inverse[a * m + b];
    for (size_t j = 0; j < n; j++)
        p->f->effect[j].se = sqrt(c[j * n + j]);
    free(p->f->cov);
    p->f->cov = c;
    return 0;
}

static int minimize(struct problem *p, struct error *err)
{
    const size_t n = p->n_active;
    const struct least_problem least = { .n = n, .ctx = p, .square = square, .normal = normal };
    double *x = calloc(n, sizeof *x), *inverse = calloc(n * n, sizeof *inverse);
    int rc = x && inverse ? 0 : error_oom(err, n * n * sizeof *inverse, "a fit");
    for (size_t j = 0; j < n && rc == 0; j++)
        x[j] = p->f->effect[p->active[j]].value;
    rc = rc ? rc : least_run(&least, x, inverse, err);
    if (rc == 0) {
        load(p, x);
        rc = spread(p, inverse, err);
    }
    free(x);
    free(inverse);
    return rc;
}

static void count(struct fit_effect *e, const struct fit_row *row)
{
    e->n_row++;
    e->from |= row->from;
}

static void count_rows(struct problem *p)
{
    for (size_t j = 0; j < p->f->n_effect; j++)
        p->f->effect[j].n_row = 0;
    for (size_t i = 0; i < p->n_row; i++)
        for (int s = 0; s < p->m->n_parameter; s++)
            for (int k = 0; k < FIT_MAX_EFFECTS; k++)
                if (p->row[i]->effect[s][k] != FIT_NO_EFFECT)
                    count(&p->f->effect[p->row[i]->effect[s][k]], p->row[i]);
}

/* Effects of two machines share no row: eliminated first, they cause no fill-in. */
static int rarest_first(const void *a, const void *b, void *ctx)
{
    const struct fit *f = ctx;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const size_t n = f->effect[x].n_row, m = f->effect[y].n_row;
    return n != m ? (n > m) - (n < m) : (x > y) - (x < y);
}

static void problem_free(struct problem *p)
{
    free(p->at);
    free(p->row);
}

/* Call problem_free() also on failure. */
static int problem_init(struct problem *p, struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n_row,
                        const bool *keep, struct error *err)
{
    *p = (struct problem){ .f = f, .m = m };
    p->row = calloc(n_row + 1, sizeof *p->row);
    p->at = calloc(2 * f->n_effect + 1, sizeof *p->at);
    if (!p->row || !p->at)
        return error_oom(err, (n_row + 2 * f->n_effect) * sizeof *p->row, "the rows of a fit");
    for (size_t i = 0; i < n_row; i++)
        if (!keep || keep[i])
            p->row[p->n_row++] = &row[i];
    count_rows(p);
    p->active = p->at + f->n_effect;
    for (size_t j = 0; j < f->n_effect; j++)
        if (f->effect[j].n_row > 0)
            p->active[p->n_active++] = j;
        else
            f->effect[j].value = f->effect[j].prior;
    qsort_r(p->active, p->n_active, sizeof *p->active, rarest_first, f);
    for (size_t a = 0; a < p->n_active; a++)
        p->at[p->active[a]] = a;
    return 0;
}

int fit_run(struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n_row, const bool *keep,
            struct error *err)
{
    struct problem p;
    int rc = problem_init(&p, f, m, row, n_row, keep, err);
    if (rc == 0 && p.n_active > 0)
        rc = minimize(&p, err);
    problem_free(&p);
    return rc;
}

static const double gain_end = 1e-5; /* relative, of the sum of squares, as in least.c */

/* One Gauss-Newton step from x, halved until the sum of squares *at falls. false: converged. */
static bool go_on(struct problem *p, double *x, double *next, double *jj, double *at)
{
    const size_t n = p->n_active;
    double *jf = next + n, sum;
    memset(jj, 0, n * n * sizeof *jj);
    memset(jf, 0, n * sizeof *jf);
    if (normal(p, x, jj, jf) != 0 || least_cholesky(jj, n) != 0)
        return false;
    least_solve(jj, n, jf);
    for (double size = 1; size > 0.1; size /= 2) {
        for (size_t j = 0; j < n; j++)
            next[j] = x[j] - size * jf[j];
        if (square(p, next, &sum) == 0 && sum < *at) {
            const bool much = sum < *at * (1 - gain_end);
            memcpy(x, next, n * sizeof *x);
            *at = sum;
            return much;
        }
    }
    return false;
}

int fit_steps(struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n_row, const bool *keep, int n_step,
              struct error *err)
{
    struct problem p;
    int rc = problem_init(&p, f, m, row, n_row, keep, err);
    const size_t n = p.n_active;
    double *x = calloc(3 * n + 1, sizeof *x), *jj = calloc(n * n + 1, sizeof *jj), at = INFINITY;
    if (rc == 0 && (!x || !jj))
        rc = error_oom(err, n * n * sizeof *jj, "a fit");
    for (size_t j = 0; j < n && rc == 0; j++)
        x[j] = f->effect[p.active[j]].value;
    if (rc == 0 && n > 0 && square(&p, x, &at) != 0)
        rc = error_set(err, ERROR_INPUT, "the fit failed: a prediction is not a finite number");
    for (int i = 0; i < n_step && rc == 0 && n > 0; i++)
        if (!go_on(&p, x, x + n, jj, &at))
            break;
    if (rc == 0)
        load(&p, x);
    free(x);
    free(jj);
    problem_free(&p);
    return rc;
}

/* g' cov g over the effects of the parameters from first to last. */
static double variance(const struct fit *f, const struct fit_row *row, const double *g, int first, int last)
{
    double sum = 0;
    for (int s = first; s <= last; s++)
        sum += g[s] * g[s] * row->prior_var[s];
    for (int s = first; s <= last; s++)
        for (int k = 0; k < FIT_MAX_EFFECTS; k++)
            for (int t = first; t <= last; t++)
                for (int l = 0; l < FIT_MAX_EFFECTS; l++) {
                    uint16_t a = row->effect[s][k], b = row->effect[t][l];
                    if (a == FIT_NO_EFFECT || b == FIT_NO_EFFECT)
                        continue;
                    double c = f->cov ? f->cov[a * f->n_effect + b] : a == b ? f->effect[a].se * f->effect[a].se : 0;
                    sum += g[s] * g[t] * c;
                }
    return sum;
}

double fit_predict(const struct fit *f, const struct fit_model *m, const struct fit_row *row, double *sd, double *share)
{
    double parameter[FIT_MAX_PARAMETERS], g[FIT_MAX_PARAMETERS];
    fit_parameters(f, m, row, parameter);
    if (sd || share) {
        fit_gradient(m, row, parameter, g);
        double all = variance(f, row, g, 0, m->n_parameter - 1);
        if (sd)
            *sd = sqrt(fmax(all, 0));
        for (int s = 0; share && s < m->n_parameter; s++)
            share[s] = all > 0 ? variance(f, row, g, s, s) / all : 0;
    }
    return m->ln_seconds(row->features, parameter);
}
