/* Types measured on different models, on one scale: ln loss = type + model. methods.md (105) */
#include "dataset/published.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Losses below this are within the error of the studies. */
static const double LEAST_LOSS = 1e-4;
enum { MAX_ROUNDS = 500 };

/* A figure as an observation. */
struct observation {
    size_t type, model;
    double y;
};
struct observations {
    struct observation *v;
    size_t n;
};

static size_t effect_of(struct published_effect *e, size_t *n, const char *name, double n_params)
{
    size_t i = 0;
    while (i < *n && strcasecmp(e[i].name, name) != 0)
        i++;
    if (i == *n) {
        e[(*n)++] = (struct published_effect){ .n_params = n_params };
        snprintf(e[i].name, sizeof e[i].name, "%s", name);
    }
    e[i].n++;
    return i;
}

static void observe(struct published_fit *f, struct observations *o, const struct published *p)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->study[i].n; k++) {
            const struct published_figure *x = &p->study[i].figure[k];
            if (isnan(x->loss))
                continue;
            o->v[o->n++] = (struct observation){ effect_of(f->type, &f->n_type, x->type, NAN),
                                                 effect_of(f->model, &f->n_model, p->study[i].model, p->study[i].n_params),
                                                 log(fmax(x->loss, LEAST_LOSS)) };
        }
}

/* Each effect becomes the mean of what the other ones leave; returns the largest change. */
static double adjust(struct published_effect *e, size_t n, const struct published_effect *other, const struct observations *o, bool types, double *sum)
{
    double most = 0;
    memset(sum, 0, n * sizeof *sum);
    for (size_t i = 0; i < o->n; i++) {
        const struct observation *x = &o->v[i];
        sum[types ? x->type : x->model] += x->y - other[types ? x->model : x->type].value;
    }
    for (size_t i = 0; i < n; i++) {
        const double v = sum[i] / (double)e[i].n;
        most = fmax(most, fabs(v - e[i].value));
        e[i].value = v;
    }
    return most;
}

/* Numbers the connected parts: every observation gives its type and its model the smaller number of both. */
static void connect(struct published_fit *f, const struct observations *o)
{
    bool changed = true;
    for (size_t i = 0; i < f->n_type; i++)
        f->type[i].part = i;
    for (size_t i = 0; i < f->n_model; i++)
        f->model[i].part = f->n_type + i;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < o->n; i++) {
            size_t *a = &f->type[o->v[i].type].part, *b = &f->model[o->v[i].model].part;
            changed |= *a != *b;
            *a = *b = *a < *b ? *a : *b;
        }
    }
}

/* Level of a model of that size: the line of the part's models over ln n_params, weighted by their figures. */
static double line_at(const struct published_fit *f, size_t part, double n_params)
{
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < f->n_model; i++) {
        const struct published_effect *m = &f->model[i];
        if (m->part != part)
            continue;
        const double n = (double)m->n;
        w += n;
        x += n * (log(m->n_params) - x) / w;
        y += n * (m->value - y) / w;
    }
    for (size_t i = 0; i < f->n_model; i++) {
        const struct published_effect *m = &f->model[i];
        const double d = log(m->n_params) - x;
        if (m->part == part) {
            xx += (double)m->n * d * d;
            xy += (double)m->n * d * (m->value - y);
        }
    }
    return xx > 1e-9 ? y + xy / xx * (log(n_params) - x) : y;
}

/* Variance of a figure over that of the models about the line, by moments: an own level of n figures counts n / (n + this). */
static double noise_of(const struct published_fit *f, const struct observations *o)
{
    double noise = 0, spread = 0, free = (double)o->n - (double)f->n_type - (double)f->n_model;
    for (size_t i = 0; i < o->n; i++) {
        const double e = o->v[i].y - f->type[o->v[i].type].value - f->model[o->v[i].model].value;
        noise += e * e;
    }
    for (size_t i = 0; i < f->n_type; i++)
        free += f->type[i].part == i; /* a part's types and models are known but for a constant */
    if (free < 1 || noise < 1e-12)
        return 0;
    noise /= free;
    for (size_t i = 0; i < f->n_model; i++) {
        const double e = f->model[i].value - line_at(f, f->model[i].part, f->model[i].n_params);
        spread += (double)f->model[i].n * e * e - noise; /* n times the variance of a level, less its share of the noise */
    }
    return spread > 0 ? noise / (spread / (double)o->n) : INFINITY;
}

int published_fit_init(struct published_fit *f, const struct published *p, struct error *err)
{
    size_t n = 1;
    for (size_t i = 0; i < p->n; i++)
        n += p->study[i].n;
    *f = (struct published_fit){ .type = calloc(n, sizeof *f->type), .model = calloc(n, sizeof *f->model) };
    struct observations o = { .v = calloc(n, sizeof *o.v) };
    double *sum = calloc(n, sizeof *sum);
    if (f->type && f->model && o.v && sum) {
        observe(f, &o, p);
        connect(f, &o);
        for (int i = 0; i < MAX_ROUNDS; i++)
            if (adjust(f->type, f->n_type, f->model, &o, true, sum) + adjust(f->model, f->n_model, f->type, &o, false, sum) < 1e-12)
                break;
        f->noise = noise_of(f, &o);
    }
    const bool oom = !f->type || !f->model || !o.v || !sum;
    free(o.v);
    free(sum);
    if (!oom)
        return 0;
    published_fit_free(f);
    return error_oom(err, n * sizeof *f->type, "published figures");
}

void published_fit_free(struct published_fit *f)
{
    free(f->type);
    free(f->model);
    *f = (struct published_fit){ 0 };
}

double published_fit_loss(const struct published_fit *f, const char *type, double n_params, const char *model)
{
    size_t t = 0;
    char wanted[64] = "", name[64];
    if (model)
        name_fold(wanted, sizeof wanted, model, NULL);
    while (t < f->n_type && strcasecmp(f->type[t].name, type) != 0)
        t++;
    if (t == f->n_type)
        return NAN;
    const size_t part = f->type[t].part;
    double level = line_at(f, part, n_params);
    for (size_t i = 0; *wanted && i < f->n_model; i++) {
        const struct published_effect *m = &f->model[i];
        name_fold(name, sizeof name, m->name, NULL);
        if (m->part == part && strcmp(name, wanted) == 0)
            level += (m->value - level) * (double)m->n / ((double)m->n + f->noise);
    }
    return exp(f->type[t].value + level);
}
