#include "fit/least.h"
#include <cminpack-1/cminpack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- triangles ------------------------------------------------------------------------------ */

int least_cholesky(double *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double *u = &a[k * n];
        if (!(u[k] > 0))
            return -1;
        const double d = sqrt(u[k]);
        size_t end = n; /* of the nonzero part: independent unknowns form blocks */
        while (end > k + 1 && u[end - 1] == 0)
            end--;
        for (size_t j = k; j < end; j++)
            u[j] /= d;
        for (size_t i = k + 1; i < end; i++) {
            const double q = u[i];
            if (q == 0)
                continue;
            double *to = &a[i * n];
            for (size_t j = i; j < end; j++)
                to[j] -= q * u[j];
        }
    }
    return 0;
}

/* x becomes U'^-1 x. */
static void solve_down(const double *u, size_t n, double *x)
{
    for (size_t k = 0; k < n; k++) {
        x[k] /= u[k * n + k];
        for (size_t j = k + 1; j < n; j++)
            x[j] -= u[k * n + j] * x[k];
    }
}

void least_solve(const double *u, size_t n, double *x)
{
    solve_down(u, n, x);
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            x[i] -= u[i * n + j] * x[j];
        x[i] /= u[i * n + i];
    }
}

void least_inverse(double *u, size_t n, double *out)
{
    for (size_t i = n; i-- > 0;) {
        double *row = &u[i * n];
        memset(out, 0, n * sizeof *out); /* one row */
        for (size_t k = i + 1; k < n; k++) {
            const double q = row[k];
            if (q == 0)
                continue;
            const double *below = &u[k * n];
            for (size_t j = k; j < n; j++)
                out[j] -= q * below[j];
        }
        const double d = 1 / row[i];
        for (size_t j = i + 1; j < n; j++)
            row[j] = out[j] * d;
        row[i] = d;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) {
            double s = 0;
            for (size_t k = j; k < n; k++)
                s += u[i * n + k] * u[j * n + k];
            out[i * n + j] = out[j * n + i] = s;
        }
}

/* ---- Levenberg-Marquardt ---------------------------------------------------------------------------------- */

/* lmder's ftol, xtol, factor and maxfev. */
static const double gain_end = 1e-5, region_end = 1e-5, first_region = 10;
enum { MAX_LOOKS = 60 };

struct iteration {
    const struct least_problem *p;
    double *x, *next, *step; /* [n] */
    double *jf, *qf;         /* [n]: J'f, and R'^-1 of it */
    double *scale, *work;    /* [n], [3][n] */
    double *jj, *r;          /* [n][n]: J'J, then U; the same by columns, as lmpar reads it */
    int *order;              /* [n] */
    double norm;             /* of f */
    double region, par;
    int looks;
};

static double norm_of(const double *scale, const double *x, size_t n)
{
    double s = 0;
    for (size_t j = 0; j < n; j++)
        s += (scale[j] * x[j]) * (scale[j] * x[j]);
    return sqrt(s);
}

/* J'J = R'R and Q'f at x; scales are the largest column norms so far. -1: a value that is not finite. */
static int linearize(struct iteration *w, bool first)
{
    const size_t n = w->p->n;
    memset(w->jj, 0, n * n * sizeof *w->jj);
    memset(w->jf, 0, n * sizeof *w->jf);
    if (w->p->normal(w->p->ctx, w->x, w->jj, w->jf) != 0)
        return -1;
    for (size_t j = 0; j < n; j++) {
        const double column = sqrt(w->jj[j * n + j]);
        w->scale[j] = first ? (column > 0 ? column : 1) : fmax(w->scale[j], column);
    }
    if (least_cholesky(w->jj, n) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            w->r[i + n * j] = w->jj[i * n + j];
    memcpy(w->qf, w->jf, n * sizeof *w->qf);
    solve_down(w->jj, n, w->qf);
    return 0;
}

/* |J s|^2 of the step s. */
static double predicted_square(const struct iteration *w)
{
    const size_t n = w->p->n;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double s = 0;
        for (size_t j = i; j < n; j++)
            s += w->jj[i * n + j] * w->step[j];
        sum += s * s;
    }
    return sum;
}

/* Trust region update from actual over predicted reduction (Moré 1978, 5.3 and 5.4). */
static void resize(struct iteration *w, double ratio, double gained, double slope, double norm, double length)
{
    if (ratio <= 0.25) {
        double by = gained >= 0 ? 0.5 : 0.5 * slope / (slope + 0.5 * gained);
        if (0.1 * norm >= w->norm || by < 0.1)
            by = 0.1;
        w->region = by * fmin(w->region, length / 0.1);
        w->par /= by;
    } else if (w->par == 0 || ratio >= 0.75) {
        w->region = length / 0.5;
        w->par *= 0.5;
    }
}

enum look { LOOK_AGAIN, LOOK_MOVED, LOOK_END };

/* Tries a step. */
static int try_step(struct iteration *w, bool first, enum look *result)
{
    const size_t n = w->p->n;
    double square;
    lmpar((int)n, w->r, (int)n, w->order, w->scale, w->qf, w->region, &w->par, w->step, w->work, w->work + n, w->work + 2 * n);
    for (size_t j = 0; j < n; j++) {
        w->step[j] = -w->step[j];
        w->next[j] = w->x[j] + w->step[j];
    }
    const double length = norm_of(w->scale, w->step, n);
    if (first)
        w->region = fmin(w->region, length);
    if (w->p->square(w->p->ctx, w->next, &square) != 0)
        return -1;
    w->looks++;
    const double norm = sqrt(square), of = w->norm * w->norm;
    const double gained = 0.1 * norm < w->norm ? 1 - square / of : -1;
    const double linear = predicted_square(w) / of, damped = w->par * length * length / of;
    const double promised = linear + 2 * damped, ratio = promised > 0 ? gained / promised : 0;
    resize(w, ratio, gained, -(linear + damped), norm, length);
    *result = ratio >= 1e-4 ? LOOK_MOVED : LOOK_AGAIN;
    if (*result == LOOK_MOVED) {
        memcpy(w->x, w->next, n * sizeof *w->x);
        w->norm = norm;
    }
    if ((fabs(gained) <= gain_end && promised <= gain_end && ratio <= 2) || w->region <= region_end * norm_of(w->scale, w->x, n) ||
        w->looks >= MAX_LOOKS)
        *result = LOOK_END;
    return 0;
}

static int iterate(struct iteration *w)
{
    const size_t n = w->p->n;
    double square;
    enum look result = LOOK_MOVED;
    if (w->p->square(w->p->ctx, w->x, &square) != 0)
        return -1;
    w->norm = sqrt(square);
    w->looks = 1;
    for (bool first = true; result != LOOK_END; first = false) {
        if (linearize(w, first) != 0)
            return -1;
        if (first)
            w->region = first_region * norm_of(w->scale, w->x, n);
        if (first && !(w->region > 0))
            w->region = first_region;
        double pull = 0;
        for (size_t j = 0; j < n; j++)
            pull = fmax(pull, fabs(w->jf[j]));
        if (!(pull > 0) || !(w->norm > 0))
            return 0; /* at a minimum */
        do
            if (try_step(w, first, &result) != 0)
                return -1;
        while (result == LOOK_AGAIN);
    }
    return 0;
}

int least_run(const struct least_problem *p, double *x, double *inverse, struct error *err)
{
    const size_t n = p->n;
    struct iteration w = { .p = p, .x = x, .jj = calloc(n * n + 1, sizeof *w.jj), .r = calloc(n * n + 1, sizeof *w.r),
                      .next = calloc(8 * n + 1, sizeof *w.next), .order = calloc(n + 1, sizeof *w.order) };
    int rc = -1;
    if (!w.jj || !w.r || !w.next || !w.order) {
        error_oom(err, 2 * n * n * sizeof *w.jj, "a fit");
    } else {
        w.step = w.next + n;
        w.jf = w.step + n;
        w.qf = w.jf + n;
        w.scale = w.qf + n;
        w.work = w.scale + n;
        for (size_t j = 0; j < n; j++)
            w.order[j] = (int)j + 1; /* lmpar's indices start at 1 */
        rc = iterate(&w) == 0 ? linearize(&w, false) : -1;
        if (rc == 0)
            least_inverse(w.jj, n, inverse);
        else
            error_set(err, ERROR_INPUT, "the fit failed: a prediction or a derivative is not a finite number");
    }
    free(w.jj);
    free(w.r);
    free(w.next);
    free(w.order);
    return rc;
}
