#include "fit/cross.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOUCHED = FIT_MAX_PARAMETERS * FIT_MAX_EFFECTS };

/* A sparse row of the Jacobian. */
struct line {
    uint16_t effect[MAX_TOUCHED];
    uint8_t parameter[MAX_TOUCHED];
    double j[MAX_TOUCHED]; /* of the robust residual */
    int n;
    double residual; /* robust */
};

struct cross {
    const struct fit *f;
    const struct fit_model *m;
    const struct fit_row *row;
    size_t n;
    struct line *line;
};

static int line_init(struct line *l, const struct fit *f, const struct fit_model *m, const struct fit_row *row)
{
    double g[FIT_MAX_PARAMETERS], slope;
    const double r = fit_residual(f, m, row, g, &slope);
    l->n = 0;
    l->residual = r;
    for (int s = 0; s < m->n_parameter; s++)
        for (int k = 0; k < FIT_MAX_EFFECTS; k++)
            if (row->effect[s][k] != FIT_NO_EFFECT) {
                l->effect[l->n] = row->effect[s][k];
                l->parameter[l->n] = (uint8_t)s;
                l->j[l->n++] = g[s] * slope / row->sigma;
            }
    return isfinite(r) ? 0 : -1;
}

struct cross *cross_new(const struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n, struct error *err)
{
    struct cross *c = calloc(1, sizeof *c);
    struct line *line = calloc(n + 1, sizeof *line);
    if (!c || !line) {
        error_oom(err, (n + 1) * sizeof *line, "the rows of a fit");
        goto fail;
    }
    *c = (struct cross){ f, m, row, n, line };
    for (size_t i = 0; i < n; i++)
        if (line_init(&line[i], f, m, &row[i]) != 0) {
            error_set(err, ERROR_INPUT, "the fit failed: a prediction is not a finite number");
            goto fail;
        }
    return c;
fail:
    free(line);
    free(c);
    return NULL;
}

void cross_free(struct cross *c)
{
    if (c)
        free(c->line);
    free(c);
}

/* ---- small dense algebra ------------------------------------------------------------------ */

/* Solves a x = b for k right-hand sides, b [n][k] in place: Gaussian elimination, partial pivoting. -1: singular. */
static int solve(double *a, size_t n, double *b, size_t k)
{
    for (size_t c = 0; c < n; c++) {
        size_t p = c;
        for (size_t i = c + 1; i < n; i++)
            if (fabs(a[i * n + c]) > fabs(a[p * n + c]))
                p = i;
        if (!(fabs(a[p * n + c]) > 0))
            return -1;
        for (size_t j = 0; j < n && p != c; j++) {
            const double t = a[c * n + j];
            a[c * n + j] = a[p * n + j];
            a[p * n + j] = t;
        }
        for (size_t j = 0; j < k && p != c; j++) {
            const double t = b[c * k + j];
            b[c * k + j] = b[p * k + j];
            b[p * k + j] = t;
        }
        for (size_t i = c + 1; i < n; i++) {
            const double q = a[i * n + c] / a[c * n + c];
            if (q == 0)
                continue;
            for (size_t j = c; j < n; j++)
                a[i * n + j] -= q * a[c * n + j];
            for (size_t j = 0; j < k; j++)
                b[i * k + j] -= q * b[c * k + j];
        }
    }
    for (size_t c = n; c-- > 0;) {
        for (size_t i = c + 1; i < n; i++) {
            const double q = a[c * n + i];
            for (size_t j = 0; j < k && q != 0; j++)
                b[c * k + j] -= q * b[i * k + j];
        }
        for (size_t j = 0; j < k; j++)
            b[c * k + j] /= a[c * n + c];
    }
    return 0;
}

/* ---- leave-out ---------------------------------------------------------------------------- */

/*
 * Of n rows and p constants: with C the covariance and J the rows' lines, T = J C and H = J C J'. With more rows than parameters
 * in parameter space: C' = (I + C J' D J)^-1 C, and the shift is -C' J' D r. methods.md (58)
 */
struct downdate {
    size_t n, p;
    double *cov;   /* [p][p]: C'; NULL: t, h, w and along instead */
    double *t;     /* [n][p] */
    double *h;     /* [n][n] */
    double *d;     /* [n]: added to each row's weight of 1; -1: left out */
    double *w;     /* [n][n + 1]: (I + D H)^-1 D, and (I + D H)^-1 D r in the last column */
    /* Without cov: of the constants of the rows left out alone, which are those of touched. */
    double *shift; /* [p]: of the parameters */
    double *less;  /* [p]: reduction of their variances, with `apart` */
    size_t *touched, n_touched;
    double *along; /* [n]: T g of a row */
};

static void downdate_free(struct downdate *x)
{
    free(x->cov);
    free(x->t);
    free(x->h);
    free(x->d);
    free(x->w);
    free(x->shift);
    free(x->less);
    free(x->touched);
    free(x->along);
}

static int downdate_alloc(struct downdate *x, size_t n, size_t p, struct error *err)
{
    *x = (struct downdate){ .n = n, .p = p };
    x->d = calloc(n + 1, sizeof *x->d);
    x->shift = calloc(p + 1, sizeof *x->shift);
    x->less = calloc(p + 1, sizeof *x->less);
    if (n > p) {
        x->cov = calloc(p * p + 1, sizeof *x->cov);
        return x->cov && x->d && x->shift && x->less ? 0 : error_oom(err, p * p * sizeof *x->cov, "rows left out");
    }
    x->t = calloc(n * p + 1, sizeof *x->t);
    x->h = calloc(n * n + 1, sizeof *x->h);
    x->w = calloc(n * (n + 1) + 1, sizeof *x->w);
    x->along = calloc(n + 1, sizeof *x->along);
    x->touched = calloc(p + 1, sizeof *x->touched);
    if (x->t && x->h && x->d && x->w && x->shift && x->less && x->along && x->touched)
        return 0;
    return error_oom(err, n * (2 * n + p) * sizeof *x->t, "rows left out");
}

static double along(const struct line *l, const double *v)
{
    double s = 0;
    for (int k = 0; k < l->n; k++)
        s += l->j[k] * v[l->effect[k]];
    return s;
}

static void products(struct downdate *x, const struct cross *c, const size_t *member)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct line *l = &c->line[member[i]];
        double *t = &x->t[i * x->p];
        for (int k = 0; k < l->n; k++) {
            const double *cov = &c->f->cov[l->effect[k] * x->p];
            for (size_t a = 0; a < x->p; a++)
                t[a] += l->j[k] * cov[a];
        }
        for (size_t j = 0; j <= i; j++)
            x->h[i * x->n + j] = x->h[j * x->n + i] = along(&c->line[member[j]], t);
    }
}

static int weigh(struct downdate *x, const struct cross *c, const size_t *member, struct error *err)
{
    const size_t n = x->n;
    double *a = malloc((n * n + 1) * sizeof *a);
    if (!a)
        return error_oom(err, n * n * sizeof *a, "rows left out");
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            a[i * n + j] = x->d[i] * x->h[i * n + j] + (i == j);
            x->w[i * (n + 1) + j] = i == j ? x->d[i] : 0;
        }
        x->w[i * (n + 1) + n] = x->d[i] * c->line[member[i]].residual;
    }
    const int rc = solve(a, n, x->w, n + 1);
    free(a);
    return rc ? error_set(err, ERROR_INPUT, "rows cannot be left out: a prediction is not a finite number") : 0;
}

/* k += J' D J, s += J' D r. */
static void add_lines(const struct downdate *x, const struct cross *c, const size_t *member, double *k, double *s)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct line *l = &c->line[member[i]];
        for (int a = 0; a < l->n; a++) {
            const double dj = x->d[i] * l->j[a];
            s[l->effect[a]] += dj * l->residual;
            for (int b = 0; b < l->n; b++)
                k[l->effect[a] * x->p + l->effect[b]] += dj * l->j[b];
        }
    }
}

static bool all_zero(const double *v, size_t n)
{
    size_t i = 0;
    while (i < n && v[i] == 0)
        i++;
    return i == n;
}

/* m = I + C k, of m all 0. Most rows of k are 0: those of constants that no row left out has. */
static void around_one(double *m, const double *cov, const double *k, size_t p)
{
    for (size_t a = 0; a < p; a++)
        m[a * p + a] = 1;
    for (size_t q = 0; q < p; q++) {
        if (all_zero(&k[q * p], p))
            continue;
        for (size_t a = 0; a < p; a++)
            for (size_t b = 0; b < p; b++)
                m[a * p + b] += cov[a * p + q] * k[q * p + b];
    }
}

/* cov, shift and less with more rows than parameters. */
static int weigh_constants(struct downdate *x, const struct cross *c, const size_t *member, struct error *err)
{
    const size_t p = x->p;
    const double *cov = c->f->cov;
    double *k = calloc(p * p + 1, sizeof *k), *m = calloc(p * p + 1, sizeof *m), *s = calloc(p + 1, sizeof *s);
    int rc = k && m && s ? 0 : error_oom(err, 2 * p * p * sizeof *k, "rows left out");
    if (rc == 0) {
        add_lines(x, c, member, k, s);
        around_one(m, cov, k, p);
        memcpy(x->cov, cov, p * p * sizeof *cov);
        if (solve(m, p, x->cov, p) != 0)
            rc = error_set(err, ERROR_INPUT, "rows cannot be left out: a prediction is not a finite number");
    }
    for (size_t a = 0; a < p && rc == 0; a++) {
        for (size_t b = 0; b < p; b++)
            x->shift[a] -= x->cov[a * p + b] * s[b];
        x->less[a] = cov[a * p + a] - x->cov[a * p + a];
    }
    free(k);
    free(m);
    free(s);
    return rc;
}

static bool listed(const size_t *list, size_t n, size_t v)
{
    size_t i = 0;
    while (i < n && list[i] != v)
        i++;
    return i < n;
}

static void find_touched(struct downdate *x, const struct cross *c, const size_t *member)
{
    for (size_t i = 0; i < x->n; i++)
        for (int k = 0; k < c->line[member[i]].n; k++) {
            const size_t e = c->line[member[i]].effect[k];
            if (!listed(x->touched, x->n_touched, e))
                x->touched[x->n_touched++] = e;
        }
}

static void apply(struct downdate *x, bool apart)
{
    const size_t n = x->n, p = x->p;
    for (size_t i = 0; i < n; i++) {
        const double *w = &x->w[i * (n + 1)], *t = &x->t[i * p];
        for (size_t k = 0; k < x->n_touched; k++)
            x->shift[x->touched[k]] -= t[x->touched[k]] * w[n];
        for (size_t j = 0; j < n && apart; j++)
            for (size_t k = 0; k < x->n_touched; k++) {
                const size_t a = x->touched[k];
                x->less[a] += t[a] * w[j] * x->t[j * p + a];
            }
    }
}

/* g' (C - T' W T) g of the derivatives g of a row. */
static double variance(const struct downdate *x, const struct cross *c, const struct line *g, bool apart)
{
    const size_t n = x->n, p = x->p;
    double v = 0;
    for (int k = 0; k < g->n && apart; k++)
        v += g->j[k] * g->j[k] * (c->f->cov[g->effect[k] * p + g->effect[k]] - x->less[g->effect[k]]);
    const double *cov = x->cov ? x->cov : c->f->cov;
    for (int k = 0; k < g->n && !apart; k++)
        v += g->j[k] * along(g, &cov[g->effect[k] * p]);
    for (size_t a = 0; a < n && !apart && !x->cov; a++) {
        const double *w = &x->w[a * (n + 1)];
        double s = 0;
        for (size_t b = 0; b < n; b++)
            s += w[b] * x->along[b];
        v -= x->along[a] * s;
    }
    return fmax(v, 0);
}

static int predict(struct downdate *x, const struct cross *c, size_t i, bool apart, struct cross_row *out, struct error *err)
{
    double parameter[FIT_MAX_PARAMETERS], g[FIT_MAX_PARAMETERS];
    struct line l = c->line[i];
    fit_parameters(c->f, c->m, &c->row[i], parameter);
    for (int k = 0; k < l.n; k++)
        parameter[l.parameter[k]] += x->shift[l.effect[k]];
    out->error = c->m->ln_seconds(c->row[i].features, parameter) - c->row[i].ln_seconds;
    fit_gradient(c->m, &c->row[i], parameter, g);
    for (int k = 0; k < l.n; k++)
        l.j[k] = g[l.parameter[k]];
    for (size_t a = 0; a < x->n && !apart && !x->cov; a++)
        x->along[a] = along(&l, &x->t[a * x->p]);
    out->sd = sqrt(variance(x, c, &l, apart));
    if (isfinite(out->error) && isfinite(out->sd))
        return 0;
    return error_set(err, ERROR_INPUT, "rows cannot be left out: a prediction is not a finite number");
}

int cross_leave_out(struct cross *c, const size_t *member, size_t n, const double *sigma, bool apart, struct cross_row *out,
                    struct error *err)
{
    struct downdate x;
    int rc = downdate_alloc(&x, n, c->f->n_effect, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const double q = sigma && sigma[i] > 0 ? c->row[member[i]].sigma / sigma[i] : 0;
        x.d[i] = q * q - 1;
    }
    if (rc == 0 && x.cov) {
        rc = weigh_constants(&x, c, member, err);
    } else if (rc == 0) {
        products(&x, c, member);
        find_touched(&x, c, member);
        rc = weigh(&x, c, member, err);
        if (rc == 0)
            apply(&x, apart);
    }
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = predict(&x, c, member[i], apart, &out[i], err);
    downdate_free(&x);
    return rc;
}

/* ---- refitting ---------------------------------------------------------------------------- */

enum { STEPS = 10 }; /* Gauss-Newton steps: methods.md (58) */

static int steps_without(const struct cross *c, struct fit *f, const size_t *member, size_t n, const double *sigma, struct error *err)
{
    struct fit_row *row = malloc((c->n + 1) * sizeof *row);
    bool *keep = malloc((c->n + 1) * sizeof *keep);
    int rc = row && keep ? 0 : error_oom(err, c->n * sizeof *row, "rows left out");
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        row[i] = c->row[i];
        keep[i] = true;
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        keep[member[i]] = sigma && sigma[i] > 0;
        if (keep[member[i]])
            row[member[i]].sigma = sigma[i];
    }
    rc = rc ? rc : fit_steps(f, c->m, row, c->n, keep, STEPS, err);
    free(row);
    free(keep);
    return rc;
}

int cross_fit_again(struct cross *c, const size_t *member, size_t n, const double *sigma, bool apart, struct cross_row *out,
                    struct error *err)
{
    struct fit f = { .n_effect = c->f->n_effect };
    if (cross_leave_out(c, member, n, sigma, apart, out, err) != 0)
        return -1;
    f.effect = malloc((f.n_effect + 1) * sizeof *f.effect);
    if (!f.effect)
        return error_oom(err, f.n_effect * sizeof *f.effect, "rows left out");
    memcpy(f.effect, c->f->effect, f.n_effect * sizeof *f.effect);
    const int rc = steps_without(c, &f, member, n, sigma, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        out[i].error = fit_predict(&f, c->m, &c->row[member[i]], NULL, NULL) - c->row[member[i]].ln_seconds;
    fit_free(&f);
    return rc;
}
