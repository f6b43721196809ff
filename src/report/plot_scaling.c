/* Tokens/s of decode against the batch or the context, and the limits that memory and arithmetic set. */
#include "report/plot_kinds.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SERIES = 7 };

const struct plot_prediction *plot_subject_prediction(struct plot_prediction *mine, const struct plot_options *o, const struct plot_subject *s,
                                                      struct error *err)
{
    *mine = (struct plot_prediction){ 0 };
    if (!s->doc)
        return &s->prediction;
    if (chart_need_schema(o, s->doc, "roofcast.predict", err) != 0 || plot_prediction_read(mine, s->doc, o->doc, err) != 0)
        return NULL;
    return mine;
}

int plot_limits_of(struct plot_limits *l, const struct plot_options *o, const struct plot_prediction *x, const char *hw, const char *math,
                   struct error *err)
{
    struct plot p = { .kind = PLOT_PREDICTION };
    struct roofline_chart c = { 0 };
    *l = (struct plot_limits){ .bytes_s = NAN, .flop_s = NAN };
    plot_copy(p.hw, sizeof p.hw, hw);
    const int m = *math ? math_find(math) : -1;
    if (m >= 0)
        p.math[m] = true;
    int rc = plot_prediction_roofs(&p, x, err);
    rc = rc ? rc : plot_choose_roofs(&c, &p, o, err);
    for (size_t i = 0; i < c.n_roof; i++) {
        l->bytes_s = isnan(c.roof[i].bytes_s) ? l->bytes_s : fmin(c.roof[i].bytes_s, isnan(l->bytes_s) ? INFINITY : l->bytes_s);
        l->flop_s = isnan(c.roof[i].flop_s) ? l->flop_s : fmax(c.roof[i].flop_s, isnan(l->flop_s) ? 0 : l->flop_s);
    }
    snprintf(l->machine, sizeof l->machine, "%s", *p.machine ? p.machine : hw);
    free(c.roof);
    plot_free(&p);
    return rc;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

/* What tells series apart: machine, and the context (by batch) or the batch (by context). */
static bool same_series(const struct plot_predicted *a, const struct plot_predicted *b, bool by_batch)
{
    return strcmp(a->hw, b->hw) == 0 && strcmp(a->type, b->type) == 0 && a->n_devices == b->n_devices &&
           (by_batch ? a->n_depth == b->n_depth : a->n_batch == b->n_batch);
}

static double x_of(const struct plot_predicted *r, bool by_batch)
{
    return (double)(by_batch ? r->n_batch : r->n_depth);
}

static bool drawn(const struct plot_predicted *r)
{
    return strcmp(r->phase, "decode") == 0 && r->tok_s > 0 && !*r->whole.role;
}

/* Whether rows differ in this. */
static bool several(const struct plot_prediction *x, bool by_hw, bool by_batch)
{
    const struct plot_predicted *first = NULL;
    for (size_t i = 0; i < x->n_row; i++) {
        const struct plot_predicted *r = &x->row[i];
        if (!drawn(r))
            continue;
        first = first ? first : r;
        if (by_hw ? strcmp(r->hw, first->hw) != 0 : by_batch ? r->n_depth != first->n_depth : r->n_batch != first->n_batch)
            return true;
    }
    return false;
}

static void label_of(char *buf, size_t n, const struct plot_prediction *x, const struct plot_predicted *r, bool by_batch)
{
    const bool hw = several(x, true, by_batch), other = several(x, false, by_batch);
    char rest[48] = "";
    if (other || !hw)
        snprintf(rest, sizeof rest, by_batch ? "context %lld" : "batch %lld", (long long)(by_batch ? r->n_depth : r->n_batch));
    snprintf(buf, n, "%.28s%s%s", hw ? r->hw : "", hw && *rest ? ", " : "", rest);
}

/* Points of one series, in order of x; a scenario that does not fit the memory is left out and named. */
static int add_series(struct curve_chart *c, const struct plot_prediction *x, size_t first, bool by_batch, struct strbuf *notes, struct error *err)
{
    char label[64];
    label_of(label, sizeof label, x, &x->row[first], by_batch);
    struct chart_series *v = curve_add_series(c, x->n_row, label, err);
    if (!v)
        return -1;
    v->band = true;
    for (size_t i = first; i < x->n_row; i++) {
        const struct plot_predicted *r = &x->row[i];
        const double at = x_of(r, by_batch);
        size_t k = v->n_point;
        if (!drawn(r) || !same_series(r, &x->row[first], by_batch))
            continue;
        if (r->fits == 0) {
            strbuf_addf(notes, "not drawn: %s, %s %g: it does not fit the memory\n", label, by_batch ? "batch" : "context", at);
            continue;
        }
        for (v->n_point++; k > 0 && v->point[k - 1].x > at; k--)
            v->point[k] = v->point[k - 1];
        v->point[k] = (struct hw_point){ .x = at, .value = r->tok_s, .ci_lo = r->tok_s_lo, .ci_hi = r->tok_s_hi, .n_samples = 1 };
    }
    return 0;
}

static bool first_of_series(const struct plot_prediction *x, size_t i, bool by_batch)
{
    for (size_t k = 0; k < i; k++)
        if (drawn(&x->row[k]) && same_series(&x->row[k], &x->row[i], by_batch))
            return false;
    return drawn(&x->row[i]);
}

/* Tokens/s at the roof of memory or of arithmetic, of one series' passes. */
static int add_roof(struct curve_chart *c, const struct plot_prediction *x, size_t first, bool by_batch, double roof, bool bytes, struct error *err)
{
    const struct plot_predicted *r0 = &x->row[first];
    char label[64] = "", of[48] = "";
    if (several(x, false, by_batch))
        snprintf(of, sizeof of, by_batch ? ", context %lld" : ", batch %lld", (long long)(by_batch ? r0->n_depth : r0->n_batch));
    snprintf(label, sizeof label, "%s roof%s", bytes ? "memory" : "compute", of);
    struct chart_series *v = roof > 0 ? curve_add_series(c, x->n_row, label, err) : NULL;
    if (!v)
        return roof > 0 ? -1 : 0;
    v->roof = true;
    for (size_t i = first; i < x->n_row; i++) {
        const struct plot_predicted *r = &x->row[i];
        const double amount = bytes ? r->whole.bytes : r->whole.flop, tokens = r->tok_s * r->whole.seconds, at = x_of(r, by_batch);
        size_t k = v->n_point;
        if (!drawn(r) || !same_series(r, r0, by_batch) || !(amount > 0))
            continue;
        for (v->n_point++; k > 0 && v->point[k - 1].x > at; k--)
            v->point[k] = v->point[k - 1];
        v->point[k] = (struct hw_point){ .x = at, .value = roof * tokens / amount, .ci_lo = NAN, .ci_hi = NAN, .n_samples = 1 };
    }
    return 0;
}

/* ---- the chart ------------------------------------------------------------------------------------------------------ */

/* The vertical axis ends above the roofs and the values, which stay below them. */
static void axes(struct curve_chart *c, bool by_batch)
{
    double lo = INFINITY, hi = 0, x_lo = INFINITY, x_hi = 0;
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n_point; k++) {
            const struct hw_point *p = &c->series[i].point[k];
            lo = fmin(lo, p->ci_lo > 0 ? p->ci_lo : p->value);
            hi = fmax(hi, p->ci_hi > 0 ? p->ci_hi : p->value);
            x_lo = fmin(x_lo, p->x);
            x_hi = fmax(x_hi, p->x);
        }
    if (by_batch)
        axis_powers(&c->x, x_lo, fmax(x_hi, 2 * x_lo));
    else
        axis_linear_close(&c->x, x_hi > 0 ? x_hi : 1);
    c->x.scale = by_batch ? AXIS_COUNT : AXIS_LINEAR;
    if (by_batch || hi > 30 * lo)
        axis_decades_close(&c->y, lo, hi);
    else
        axis_linear_close(&c->y, hi);
    snprintf(c->x.title, sizeof c->x.title, by_batch ? "Batch [sequences]" : "Context [tokens in the KV cache]");
    snprintf(c->y.title, sizeof c->y.title, "Tokens/s of all sequences");
}

/* The memory roof ends where the compute roof is lower, at the batch behind the crossing. */
static void cut_at_lower(struct curve_chart *c)
{
    struct chart_series *memory = NULL, *compute = NULL;
    for (size_t i = 0; i < c->n_series; i++)
        if (c->series[i].roof)
            *(strncmp(c->series[i].label, "memory", 6) == 0 ? &memory : &compute) = &c->series[i];
    for (size_t i = 0; memory && compute && i < memory->n_point && i < compute->n_point; i++)
        if (memory->point[i].value > 1.3 * compute->point[i].value)
            memory->n_point = i;
}

static int add_limits(struct curve_chart *c, const struct plot_options *o, const struct plot_prediction *x, bool by_batch, struct plot_limits *l,
                      struct error *err)
{
    size_t first = 0, last = 0;
    while (!first_of_series(x, first, by_batch))
        first++;
    for (size_t i = 0; i < x->n_row; i++)
        last = first_of_series(x, i, by_batch) && x->row[i].n_batch > x->row[last].n_batch ? i : last;
    if (plot_limits_of(l, o, x, x->row[first].hw, x->row[first].math, err) != 0)
        return -1;
    if (several(x, true, by_batch) || x->row[first].n_devices > 1 || x->row[first].shared) /* one machine's roofs bound one machine's points */
        return 0;
    if (add_roof(c, x, by_batch ? first : last, by_batch, l->bytes_s, true, err) != 0)
        return -1;
    if (add_roof(c, x, by_batch ? first : last, by_batch, l->flop_s, false, err) != 0)
        return -1;
    if (by_batch)
        cut_at_lower(c);
    return 0;
}

static int fill(struct curve_chart *c, const struct plot_options *o, const struct plot_prediction *x, struct strbuf *notes, struct error *err)
{
    const bool by_batch = o->chart == PLOT_BATCH;
    struct plot_limits l;
    size_t n = 0, first = x->n_row;
    for (size_t i = 0; i < x->n_row; i++) {
        if (!first_of_series(x, i, by_batch))
            continue;
        first = first < i ? first : i;
        if (n++ >= MAX_SERIES)
            strbuf_addf(notes, "more series than colours, not drawn: %s, %s\n", x->row[i].hw, x->row[i].test);
        else if (add_series(c, x, i, by_batch, notes, err) != 0)
            return -1;
    }
    if (n == 0)
        return error_set(err, ERROR_INPUT, "%s: no decode in it: --chart %s reads %s", o->doc, charts[o->chart].name, charts[o->chart].reads);
    if (add_limits(c, o, x, by_batch, &l, err) != 0)
        return -1;
    axes(c, by_batch);
    const struct plot_predicted *r = &x->row[first];
    if (o->title)
        snprintf(c->title, sizeof c->title, "%.150s", o->title);
    else
        snprintf(c->title, sizeof c->title, "%.60s, %.24s%s%.60s", r->model, r->type, several(x, true, by_batch) ? "" : " on ",
                 several(x, true, by_batch) ? "" : l.machine);
    snprintf(c->subtitle, sizeof c->subtitle, "Decode, predicted%s%.48s; band: 90 %% interval", *r->stack ? ": " : "", r->stack);
    return 0;
}

int plot_scaling(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct curve_chart c = { .style = style, .formats = o->formats };
    struct plot_prediction mine;
    const struct plot_prediction *x = plot_subject_prediction(&mine, o, s, err);
    int rc = x ? fill(&c, o, x, notes, err) : -1;
    rc = rc ? rc : chart_curves(&c, o->out, notes, err);
    curve_chart_free(&c);
    plot_prediction_free(&mine);
    return rc;
}
