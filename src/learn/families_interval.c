/* Intervals of families of kernels from machines left out. methods.md (107) */
#include "learn/families_interval.h"
#include "learn/families.h"
#include "learn/training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const side_names[FAMILY_SIDES] = { "slower", "faster" };

/* Without a measured machine: nine in ten within a factor of 2, as of an unmeasured machine's attention (confidence: low). */
static const double unseen_half = 0.7;

/* ---- errors of machines left out --------------------------------------------------------------------- */

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
static void quantiles(struct family_half *h, const struct left *l, size_t n, const char *class, double *work)
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
    h->by[FAMILY_SLOWER] = fmax(least, -work[(size_t)floor(tail * last)]);
    h->by[FAMILY_FASTER] = fmax(least, work[(size_t)ceil((1 - tail) * last)]);
    snprintf(h->class, sizeof h->class, "%s", class);
}

static bool has_class(const struct family_intervals *x, const char *class)
{
    bool has = false;
    for (size_t i = 0; i < x->n; i++)
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
static void set_halves(struct family_intervals *x, const struct left *l, size_t n, double *work)
{
    enum { FEW = 50 };
    x->n = 0;
    if (n == 0)
        return;
    quantiles(&x->half[x->n++], l, n, "", work);
    for (size_t i = 0; i < n && x->n < FAMILY_CLASSES; i++) {
        struct family_half *h = &x->half[x->n];
        if (has_class(x, l[i].class) || machines_of(l, n, l[i].class) < 2)
            continue;
        quantiles(h, l, n, l[i].class, work);
        x->n += h->n >= FEW;
    }
}

/* Steps of a fit from where all rows put it. */
enum { STEPS = 8 };

/* Errors so far; keep: rows of the fit, [rows] */
struct leaving {
    struct left *left;
    bool *keep;
    size_t n;
};

static int leave_machine(struct leaving *x, struct fit *fit, const struct family_rows *s, const char *machine, size_t index, struct error *err)
{
    char text[256];
    const struct fit_model m = family_model(s->f);
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        kept += x->keep[i] = strcmp(machine_of(s->workload[i], text, sizeof text), machine) != 0;
    if (kept == 0)
        return 0;
    if (fit_steps(fit, &m, s->row, s->n, x->keep, STEPS, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n; i++)
        if (!x->keep[i])
            x->left[x->n++] = (struct left){ fit_predict(fit, &m, &s->row[i], NULL, NULL) - s->row[i].ln_seconds, s->dim[i * FAMILY_DIMENSIONS], index };
    return 0;
}

int family_intervals_fit(struct family_intervals *out, struct fit *fit, const struct family_rows *s, struct error *err)
{
    char text[256];
    const size_t bytes = fit->n_effect * sizeof *fit->effect;
    struct leaving x = { calloc(s->n + 1, sizeof *x.left), calloc(s->n + 1, sizeof *x.keep), 0 };
    struct fit_effect *before = malloc(bytes + 1);
    double *work = calloc(s->n + 1, sizeof *work);
    struct training_groups machines = { 0 };
    int rc = x.left && before && x.keep && work ? 0 : error_oom(err, s->n * sizeof *x.left, "rows left out");
    if (rc == 0)
        memcpy(before, fit->effect, bytes);
    for (size_t i = 0; i < s->n && rc == 0; i++)
        rc = training_add_text(&machines, machine_of(s->workload[i], text, sizeof text), err);
    for (size_t i = 0; i < machines.n && rc == 0 && machines.n > 1; i++) {
        rc = leave_machine(&x, fit, s, machines.text[i], i, err);
        memcpy(fit->effect, before, bytes);
    }
    if (rc == 0 && x.n > 0)
        set_halves(out, x.left, x.n, work);
    training_free(&machines);
    free(x.left);
    free(x.keep);
    free(before);
    free(work);
    return rc;
}

/* ---- constants --------------------------------------------------------------------------------- */

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
    for (int side = 0; side < FAMILY_SIDES; side++) {
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

void family_intervals_take(struct family_intervals *x, const struct family *f, const struct constant *c)
{
    const char *class = "";
    const int side = interval_parse(f, c->name, &class);
    size_t i = 0;
    while (i < x->n && strncmp(x->half[i].class, class, FAMILY_TEXT - 1) != 0)
        i++;
    if (side < 0 || i == FAMILY_CLASSES)
        return;
    if (i == x->n) {
        x->half[x->n++] = (struct family_half){ .n = c->n_row };
        snprintf(x->half[i].class, sizeof x->half[i].class, "%s", class);
    }
    x->half[i].by[side] = c->value;
}

/* Their spread is that of a quantile of so many rows. */
int family_intervals_constants(const struct family_intervals *x, const struct family *f, struct constants *c, struct error *err)
{
    c->interval = calloc(FAMILY_SIDES * x->n + 1, sizeof *c->interval);
    if (!c->interval)
        return error_oom(err, FAMILY_SIDES * x->n * sizeof *c->interval, "intervals");
    for (size_t i = 0; i < x->n; i++)
        for (int side = 0; side < FAMILY_SIDES; side++) {
            struct constant *to = &c->interval[c->n_interval++];
            *to = (struct constant){ .value = x->half[i].by[side], .sd = 1 / sqrt((double)x->half[i].n), .n_row = x->half[i].n };
            interval_name(to->name, f, side, x->half[i].class);
        }
    return 0;
}

/* ---- a row ---------------------------------------------------------------------------------------- */

void family_intervals_of(const struct family_intervals *x, const char *class, double *slower, double *faster)
{
    const struct family_half *all = NULL, *own = NULL;
    for (size_t i = 0; i < x->n; i++)
        if (!x->half[i].class[0])
            all = &x->half[i];
        else if (strncmp(x->half[i].class, class, FAMILY_TEXT - 1) == 0)
            own = &x->half[i];
    const struct family_half *const h = own ? own : all;
    *slower = h ? h->by[FAMILY_SLOWER] : unseen_half;
    *faster = h ? h->by[FAMILY_FASTER] : unseen_half;
}
