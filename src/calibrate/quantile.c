#include "calibrate/quantile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The loss has a corner at 0; rounded over this much of the logarithm it has a second derivative. Source: methods.md (86). */
static const double corner = 0.1;
/* Half of q^2 - 1 for the 90 % quantile 1.645 of a normal: what the coverage of a quantile known to a variance v is short of, in
 * v of its logarithm. (86) */
static const double widening = 0.85;
enum { MAX_STEPS = 60 };

struct problem {
    struct fit *f;
    const struct quantile_row *row;
    size_t n, p;
    double level;
    double *x, *next, *g, *h; /* [p], [p], [p], [p][p] */
};

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
        sum += p->level * u + (u > 0 ? 0 : -u) + corner * log1p(exp(-fabs(u) / corner));
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
        const double within = 1 / (1 + exp(outside(r, p->x) / corner)), bend = within * (1 - within) / corner;
        for (int k = 0; k < r->n_effect; k++) {
            p->g[r->effect[k]] -= p->level - within;
            for (int l = 0; l < r->n_effect; l++)
                p->h[r->effect[k] * p->p + r->effect[l]] += bend;
        }
    }
}

/* One step of Newton's, halved until it pays off. false: at the minimum. */
static bool advance(struct problem *p, double *at)
{
    double far = 0;
    if (fit_invert(p->h, p->p) != 0)
        return false;
    for (double size = 1; size > 1e-6; size /= 2) {
        far = 0;
        for (size_t j = 0; j < p->p; j++) {
            double d = 0;
            for (size_t l = 0; l < p->p; l++)
                d += p->h[j * p->p + l] * p->g[l];
            p->next[j] = p->x[j] - size * d;
            far = fmax(far, fabs(size * d));
        }
        const double now = loss(p, p->next);
        if (now < *at) {
            *at = now;
            memcpy(p->x, p->next, p->p * sizeof *p->x);
            return far > 1e-7;
        }
    }
    return false;
}

static void minimize(struct problem *p)
{
    for (size_t j = 0; j < p->p; j++)
        p->x[j] = p->f->effect[j].prior;
    double at = loss(p, p->x);
    for (int i = 0; i < MAX_STEPS; i++) {
        curvature(p);
        if (!advance(p, &at))
            break;
    }
    curvature(p);
    for (size_t j = 0; j < p->p; j++)
        p->f->effect[j].value = p->x[j];
}

/* The inverse of the second derivatives; of h, which is f's from here on. */
static int covariance(struct problem *p, struct error *err)
{
    if (fit_invert(p->h, p->p) != 0)
        return error_set(err, ERROR_INPUT, "the spreads of a fit have no minimum");
    for (size_t j = 0; j < p->p; j++)
        p->f->effect[j].se = sqrt(p->h[j * p->p + j]);
    free(p->f->cov);
    p->f->cov = p->h;
    p->h = NULL;
    return 0;
}

int quantile_run(struct fit *f, const struct quantile_row *row, size_t n, double level, struct error *err)
{
    struct problem p = { .f = f, .row = row, .n = n, .p = f->n_effect, .level = level };
    p.x = calloc(3 * p.p + 1, sizeof *p.x);
    p.h = calloc(p.p * p.p + 1, sizeof *p.h);
    int rc = p.x && p.h ? 0 : error_oom(err, p.p * p.p * sizeof *p.h, "the spreads of a fit");
    if (rc == 0) {
        p.next = p.x + p.p;
        p.g = p.next + p.p;
        for (size_t j = 0; j < p.p; j++)
            f->effect[j].n_row = 0;
        for (size_t i = 0; i < n; i++)
            for (int k = 0; k < row[i].n_effect; k++)
                f->effect[row[i].effect[k]].n_row++;
        minimize(&p);
        rc = covariance(&p, err);
    }
    free(p.x);
    free(p.h);
    return rc;
}

double quantile_predict(const struct fit *f, const struct quantile_row *row)
{
    double q = widening * row->loose;
    for (int k = 0; k < row->n_effect; k++)
        q += f->effect[row->effect[k]].value;
    return q;
}

double quantile_doubt(const struct fit *f, const struct quantile_row *row)
{
    double v = 0;
    for (int k = 0; k < row->n_effect; k++)
        for (int l = 0; l < row->n_effect; l++)
            v += f->cov[row->effect[k] * f->n_effect + row->effect[l]];
    return widening * v;
}
