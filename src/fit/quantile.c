#include "fit/quantile.h"
#include "fit/least.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Smoothing width of the pinball loss at 0, in ln. Source: methods.md (59). */
static const double corner = 0.1;
/* (q^2 - 1) / 2 for the 90 % quantile q = 1.645: inflation of ln factor per unit of its variance that restores coverage. (59) */
static const double inflation = 0.85;
enum { MAX_STEPS = 60 };

struct problem {
    struct fit *f;
    const struct quantile_row *row;
    const uint8_t *fold; /* of each row; NULL: no folds */
    int without;         /* this fold is left out */
    size_t n, p;
    double level;
    double *x, *next, *g, *h; /* [p], [p], [p], [p][p] */
};

static bool counts(const struct problem *p, size_t i)
{
    return !p->fold || p->fold[i] != p->without;
}

static double outside(const struct quantile_row *r, const double *x)
{
    double u = r->ln_ratio;
    for (int k = 0; k < r->n_effect; k++)
        u -= x[r->effect[k]];
    return u;
}

/* level u + corner ln(1 + exp(-u / corner)): level u where u is large, (level - 1) u where it is far below. */
static double loss(const struct problem *p, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        const double u = outside(&p->row[i], x);
        if (!counts(p, i))
            continue;
        sum += p->row[i].weight * (p->level * u + (u > 0 ? 0 : -u) + corner * log1p(exp(-fabs(u) / corner)));
    }
    for (size_t j = 0; j < p->p; j++) {
        const struct fit_effect *e = &p->f->effect[j];
        sum += (x[j] - e->prior) * (x[j] - e->prior) / (2 * e->sd * e->sd);
    }
    return sum;
}

/* Gradient and second derivatives at x. */
static void curvature(struct problem *p)
{
    memset(p->h, 0, p->p * p->p * sizeof *p->h);
    for (size_t j = 0; j < p->p; j++) {
        const struct fit_effect *e = &p->f->effect[j];
        p->g[j] = (p->x[j] - e->prior) / (e->sd * e->sd);
        p->h[j * p->p + j] = 1 / (e->sd * e->sd);
    }
    for (size_t i = 0; i < p->n; i++) {
        const struct quantile_row *r = &p->row[i];
        if (!counts(p, i))
            continue;
        const double within = 1 / (1 + exp(outside(r, p->x) / corner)), bend = within * (1 - within) / corner;
        for (int k = 0; k < r->n_effect; k++) {
            p->g[r->effect[k]] -= r->weight * (p->level - within);
            for (int l = 0; l < r->n_effect; l++)
                p->h[r->effect[k] * p->p + r->effect[l]] += r->weight * bend;
        }
    }
}

/* One Newton step, halved until the loss falls. false: at the minimum. */
static bool advance(struct problem *p, double *at)
{
    double far = 0;
    if (least_cholesky(p->h, p->p) != 0)
        return false;
    least_solve(p->h, p->p, p->g);
    for (double size = 1; size > 1e-6; size /= 2) {
        far = 0;
        for (size_t j = 0; j < p->p; j++) {
            p->next[j] = p->x[j] - size * p->g[j];
            far = fmax(far, fabs(size * p->g[j]));
        }
        const double now = loss(p, p->next);
        if (now < *at) {
            *at = now;
            memcpy(p->x, p->next, p->p * sizeof *p->x);
            return far > 1e-6;
        }
    }
    return false;
}

/* Newton's method from x. */
static void minimize(struct problem *p)
{
    double at = loss(p, p->x);
    for (int i = 0; i < MAX_STEPS; i++) {
        curvature(p);
        if (!advance(p, &at))
            break;
    }
}

/* The inverse of the second derivatives. */
static int covariance(struct problem *p, struct error *err)
{
    double *inverse = malloc((p->p * p->p + 1) * sizeof *inverse);
    if (!inverse)
        return error_oom(err, p->p * p->p * sizeof *inverse, "the spreads of a fit");
    curvature(p);
    if (least_cholesky(p->h, p->p) != 0) {
        free(inverse);
        return error_set(err, ERROR_INPUT, "the spreads of a fit have no minimum");
    }
    least_inverse(p->h, p->p, inverse);
    for (size_t j = 0; j < p->p; j++)
        p->f->effect[j].se = sqrt(inverse[j * p->p + j]);
    free(p->f->cov);
    p->f->cov = inverse;
    return 0;
}

static int problem_init(struct problem *p, struct fit *f, const struct quantile_row *row, size_t n, double level, struct error *err)
{
    *p = (struct problem){ .f = f, .row = row, .n = n, .p = f->n_effect, .level = level };
    p->x = calloc(3 * p->p + 1, sizeof *p->x);
    p->h = calloc(p->p * p->p + 1, sizeof *p->h);
    if (!p->x || !p->h) {
        free(p->x);
        free(p->h);
        p->x = p->h = NULL;
        return error_oom(err, p->p * p->p * sizeof *p->h, "the spreads of a fit");
    }
    p->next = p->x + p->p;
    p->g = p->next + p->p;
    return 0;
}

int quantile_run(struct fit *f, const struct quantile_row *row, size_t n, double level, struct error *err)
{
    struct problem p;
    int rc = problem_init(&p, f, row, n, level, err);
    if (rc == 0) {
        for (size_t j = 0; j < p.p; j++)
            f->effect[j].n_row = 0;
        for (size_t i = 0; i < n; i++)
            for (int k = 0; k < row[i].n_effect; k++)
                f->effect[row[i].effect[k]].n_row++;
        for (size_t j = 0; j < p.p; j++)
            p.x[j] = f->effect[j].prior;
        minimize(&p);
        for (size_t j = 0; j < p.p; j++)
            f->effect[j].value = p.x[j];
        rc = covariance(&p, err);
    }
    free(p.x);
    free(p.h);
    return rc;
}

double quantile_predict(const struct fit *f, const struct quantile_row *row)
{
    double q = inflation * row->prior_var;
    for (int k = 0; k < row->n_effect; k++)
        q += f->effect[row->effect[k]].value;
    return q;
}

/* Evaluates the fold left out with the effects at x; effects that only its rows have count as missing. */
static void predict_fold(const struct problem *p, double *outside_by)
{
    memset(p->g, 0, p->p * sizeof *p->g);
    for (size_t i = 0; i < p->n; i++)
        for (int k = 0; k < p->row[i].n_effect && counts(p, i); k++)
            p->g[p->row[i].effect[k]]++;
    for (size_t i = 0; i < p->n; i++) {
        if (counts(p, i))
            continue;
        outside_by[i] = outside(&p->row[i], p->x);
        for (int k = 0; k < p->row[i].n_effect; k++) {
            const struct fit_effect *e = &p->f->effect[p->row[i].effect[k]];
            if (!(p->g[p->row[i].effect[k]] > 0))
                outside_by[i] -= inflation * e->sd * e->sd;
        }
    }
}

int quantile_cross(struct fit *f, const struct quantile_row *row, size_t n, double level, const uint8_t *fold, int n_fold,
                   double *outside_by, struct error *err)
{
    struct problem p;
    if (problem_init(&p, f, row, n, level, err) != 0)
        return -1;
    p.fold = fold;
    for (p.without = 0; p.without < n_fold; p.without++) {
        for (size_t j = 0; j < p.p; j++)
            p.x[j] = f->effect[j].value;
        minimize(&p);
        predict_fold(&p, outside_by);
    }
    free(p.x);
    free(p.h);
    return 0;
}
