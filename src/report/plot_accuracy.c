/* Predicted against measured, of a score: points with their 90 % intervals, the diagonal, and the band of the median interval. */
#include "report/plot_kinds.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BARS = 60 /* intervals of more points hide them */, NAMED = 6 /* points outside theirs that are named */, BAND = 128 };

struct scored {
    const char *phase, *name, *hw, *unit;
    double measured, predicted, lo, hi;
};

/* false: the row has no prediction or no measurement. */
static bool read_row(struct scored *v, const json_t *row)
{
    *v = (struct scored){ .phase = json_find_text(row, "phase"), .name = *json_find_text(row, "preset") ? json_find_text(row, "preset") : json_find_text(row, "model"),
                          .hw = *json_find_text(row, "profile") ? json_find_text(row, "profile") : json_find_text(row, "hardware"), .unit = json_find_text(row, "unit"),
                          .measured = json_find_number(row, "measured"), .predicted = json_find_number(row, "predicted"),
                          .lo = json_find_number(row, "lo"), .hi = json_find_number(row, "hi") };
    return v->measured > 0 && v->predicted > 0 && isfinite(v->measured) && isfinite(v->predicted);
}

static bool outside(const struct scored *v)
{
    return v->lo > 0 && (v->measured < v->lo || v->measured > v->hi);
}

static int read_rows(struct scored **out, size_t *n, const struct plot_options *o, const json_t *doc, struct strbuf *notes, struct error *err)
{
    const json_t *rows = json_object_get(doc, "rows");
    size_t left = 0;
    *n = 0;
    if (!json_is_array(rows))
        return error_set(err, ERROR_INPUT, "%s: field \"rows\": expected an array", o->doc);
    *out = calloc(json_array_size(rows) + 1, sizeof **out);
    if (!*out)
        return error_oom(err, json_array_size(rows) * sizeof **out, "a score's rows");
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (read_row(&(*out)[*n], json_array_get(rows, i)) && (!o->phase || strcmp((*out)[*n].phase, o->phase) == 0))
            ++*n;
        else
            left++;
    if (left)
        strbuf_addf(notes, "not drawn: %zu of %zu rows: not predicted%s\n", left, json_array_size(rows), o->phase ? ", or of the other phase" : "");
    const char *unit = *n ? (*out)[0].unit : "";
    for (size_t i = 0; i < *n; i++)
        if (strcmp((*out)[i].unit, unit) != 0)
            return error_set(err, ERROR_INPUT, "%s: rows of several units (%.16s, %.16s): choose one with --phase", o->doc, unit, (*out)[i].unit);
    return *n ? 0 : error_set(err, ERROR_INPUT, "%s: no row with a prediction and a measurement", o->doc);
}

/* ---- series ------------------------------------------------------------------------------------------------------- */

static int up(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of lo or hi over predicted; NaN: no intervals. */
static double median_ratio(const struct scored *v, size_t n, bool hi)
{
    double *r = malloc((n + 1) * sizeof *r), median = NAN;
    size_t m = 0;
    for (size_t i = 0; r && i < n; i++)
        if (v[i].lo > 0 && v[i].hi > 0)
            r[m++] = (hi ? v[i].hi : v[i].lo) / v[i].predicted;
    if (m) {
        qsort(r, m, sizeof *r, up);
        median = r[m / 2];
    }
    free(r);
    return median;
}

static int add_diagonal(struct curve_chart *c, const struct scored *v, size_t n, struct error *err)
{
    const double lo = median_ratio(v, n, false), hi = median_ratio(v, n, true);
    struct chart_series *band = hi > 0 ? curve_add_series(c, BAND + 1, "median 90 % interval", err) : NULL;
    if (hi > 0 && !band)
        return -1;
    for (int i = 0; band && i <= BAND; i++) {
        const double at = c->x.lo * pow(c->x.hi / c->x.lo, (double)i / BAND), low = fmax(at * lo, c->y.lo), high = fmin(at * hi, c->y.hi);
        band->point[band->n_point++] = (struct hw_point){ .x = at, .value = low, .ci_lo = low, .ci_hi = high };
    }
    if (band)
        band->bare = true;
    struct chart_series *d = curve_add_series(c, 2, "predicted = measured", err);
    for (int i = 0; d && i < 2; i++)
        d->point[d->n_point++] = (struct hw_point){ .x = i ? c->x.hi : c->x.lo, .value = i ? c->y.hi : c->y.lo, .ci_lo = NAN, .ci_hi = NAN };
    if (d)
        d->roof = true;
    return d ? 0 : -1;
}

/* The points of a phase. The first NAMED outside their intervals have their names next to them. */
static int add_phase(struct curve_chart *c, const struct scored *v, size_t n, const char *phase, size_t *named, struct error *err)
{
    size_t n_in = 0, n_all = 0;
    char label[64];
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].phase, phase) == 0) {
            n_all++;
            n_in += !outside(&v[i]);
        }
    snprintf(label, sizeof label, "%.24s: %zu of %zu in their intervals", *phase ? phase : "rows", n_in, n_all);
    struct chart_series *s = curve_add_series(c, n_all, label, err);
    if (s) {
        s->name = calloc(n_all + 1, sizeof *s->name);
        s->shows_name = calloc(n_all + 1, sizeof *s->shows_name);
    }
    if (!s || !s->name || !s->shows_name)
        return s ? error_oom(err, n_all * sizeof *s->name, "names of points") : -1;
    s->line = false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(v[i].phase, phase) != 0)
            continue;
        const bool bars = n <= BARS;
        snprintf(s->name[s->n_point], sizeof *s->name, "%.24s %.20s", v[i].name, v[i].hw);
        s->shows_name[s->n_point] = outside(&v[i]) && *named < NAMED;
        *named += outside(&v[i]);
        s->point[s->n_point++] = (struct hw_point){ .x = v[i].measured, .value = v[i].predicted, .ci_lo = bars ? v[i].lo : NAN, .ci_hi = bars ? v[i].hi : NAN };
    }
    return 0;
}

/* The score of all rows, or of a phase if the file has it. */
static const json_t *group_of(const json_t *doc, const char *phase)
{
    const json_t *groups = json_object_get(doc, "groups");
    char name[32];
    snprintf(name, sizeof name, "phase=%.16s", phase ? phase : "");
    for (size_t i = 0; i < json_array_size(groups); i++)
        if (strcmp(json_find_text(json_array_get(groups, i), "group"), phase ? name : "all") == 0)
            return json_array_get(groups, i);
    return json_array_get(groups, 0);
}

static int fill(struct curve_chart *c, const struct plot_options *o, const json_t *doc, const struct scored *v, size_t n, struct error *err)
{
    double lo = INFINITY, hi = 0;
    size_t named = 0;
    for (size_t i = 0; i < n; i++) {
        lo = fmin(lo, fmin(v[i].measured, v[i].predicted));
        hi = fmax(hi, fmax(v[i].measured, v[i].predicted));
    }
    axis_decades_close(&c->x, lo, hi);
    c->y = c->x;
    snprintf(c->x.title, sizeof c->x.title, "Measured [%.24s]", *v[0].unit ? v[0].unit : "tokens/s");
    snprintf(c->y.title, sizeof c->y.title, "Predicted [%.24s]", *v[0].unit ? v[0].unit : "tokens/s");
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= strcmp(v[k].phase, v[i].phase) == 0;
        if (!seen && add_phase(c, v, n, v[i].phase, &named, err) != 0)
            return -1;
    }
    if (add_diagonal(c, v, n, err) != 0)
        return -1;
    const char *file = json_find_text(doc, "file"), *slash = strrchr(file, '/');
    snprintf(c->title, sizeof c->title, "%.150s", o->title ? o->title : "Predicted against measured");
    const json_t *all = group_of(doc, o->phase);
    snprintf(c->subtitle, sizeof c->subtitle, "%.80s; mean error %.1f %%, median %.1f %%%s%s", slash ? slash + 1 : file,
             100 * json_find_number(all, "mape"), 100 * json_find_number(all, "median_ape"), n <= BARS ? "; bars: 90 % intervals" : "",
             *json_find_text(doc, "leave_out") ? "; left out of the fit" : "");
    return 0;
}

int plot_accuracy(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct curve_chart c = { .style = style, .formats = o->formats };
    struct scored *v = NULL;
    size_t n = 0;
    int rc = chart_need_schema(o, s->doc, "roofcast.score", err);
    rc = rc ? rc : read_rows(&v, &n, o, s->doc, notes, err);
    rc = rc ? rc : fill(&c, o, s->doc, v, n, err);
    rc = rc ? rc : chart_curves(&c, o->out, notes, err);
    curve_chart_free(&c);
    free(v);
    return rc;
}
