/* What a chart of curves has: its series, marks, levels and axes. */
#include "report/report.h"
#include <math.h>
#include <stdlib.h>

struct chart_series *curve_add_series(struct curve_chart *c, size_t n_point, const char *label, struct error *err)
{
    struct chart_series *v = realloc(c->series, (c->n_series + 1) * sizeof *v);
    struct hw_point *p = v ? calloc(n_point ? n_point : 1, sizeof *p) : NULL;
    c->series = v ? v : c->series;
    if (!p) {
        (void)error_oom(err, n_point * sizeof *p, "a chart's curve");
        return NULL;
    }
    v = &c->series[c->n_series++];
    *v = (struct chart_series){ .point = p, .line = true };
    snprintf(v->label, sizeof v->label, "%s", label);
    return v;
}

int curve_add_mark(struct curve_chart *c, double x, const char *label, struct error *err)
{
    struct chart_mark *v = realloc(c->mark, (c->n_mark + 1) * sizeof *v);
    if (!v)
        return error_oom(err, (c->n_mark + 1) * sizeof *v, "a chart's marks");
    c->mark = v;
    v += c->n_mark++;
    v->x = x;
    snprintf(v->label, sizeof v->label, "%s", label);
    return 0;
}

int curve_add_level(struct curve_chart *c, double y, bool spec, int series, const char *label, struct error *err)
{
    struct chart_level *v = realloc(c->level, (c->n_level + 1) * sizeof *v);
    if (!v)
        return error_oom(err, (c->n_level + 1) * sizeof *v, "a chart's levels");
    c->level = v;
    v += c->n_level++;
    *v = (struct chart_level){ .y = y, .spec = spec, .series = series };
    snprintf(v->label, sizeof v->label, "%s", label);
    return 0;
}

void curve_chart_free(struct curve_chart *c)
{
    for (size_t i = 0; i < c->n_series; i++) {
        free(c->series[i].point);
        free(c->series[i].name);
        free(c->series[i].shows_name);
    }
    free(c->series);
    free(c->mark);
    free(c->level);
    *c = (struct curve_chart){ 0 };
}

/* ---- axes --------------------------------------------------------------------------------------- */

void axis_decades(struct chart_axis *a, double lo, double hi)
{
    a->scale = AXIS_DECADES;
    a->lo = pow(10, floor(log10(lo / 1.1)));
    a->hi = pow(10, ceil(log10(hi * 1.1)));
}

void axis_decades_close(struct chart_axis *a, double lo, double hi)
{
    static const double step[] = { 1, 2, 5, 10 };
    const double above = pow(10, floor(log10(hi * 1.1))), below = pow(10, floor(log10(lo / 1.1)));
    size_t i = 0, k = 2;
    while (step[i] * above < hi * 1.1 && step[i] < 10)
        i++;
    while (step[k] * below > lo / 1.1 && k > 0)
        k--;
    *a = (struct chart_axis){ .scale = AXIS_DECADES, .lo = step[k] * below, .hi = step[i] * above };
}

/* [0, hi] rounded up to one of the steps, the last of which is 10, of a decade. */
static void round_up(struct chart_axis *a, double hi, const double *step)
{
    const double unit = pow(10, floor(log10(hi)));
    while (*step * unit < hi * (1 - 1e-9) && *step < 10)
        step++;
    a->scale = AXIS_LINEAR;
    a->lo = 0;
    a->hi = *step * unit;
}

void axis_linear(struct chart_axis *a, double hi)
{
    static const double step[] = { 1, 2, 5, 10 };
    round_up(a, hi, step);
}

void axis_linear_close(struct chart_axis *a, double hi)
{
    static const double step[] = { 1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10 };
    round_up(a, hi, step);
}

void axis_powers(struct chart_axis *a, double lo, double hi)
{
    a->lo = exp2(floor(log2(lo) + 1e-9));
    a->hi = exp2(ceil(log2(hi) - 1e-9));
}
