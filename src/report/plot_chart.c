/* The roofline of `roofcast plot`: points, titles, one machine or several on one chart. */
#include "report/plot_kinds.h"
#include "base/lists.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Total seconds of a phase, the base of shares. */
static double phase_seconds(const struct plot *p, const double *seconds, const char *phase)
{
    double sum = 0;
    for (size_t i = 0; i < p->n_item; i++)
        if (!p->item[i].whole && strcmp(p->item[i].phase, phase) == 0 && seconds[i] > 0)
            sum += seconds[i];
    return sum;
}

static int heavier(const void *a, const void *b)
{
    const struct chart_point *p = a, *q = b;
    double x = isnan(p->weight) ? 2 : p->weight, y = isnan(q->weight) ? 2 : q->weight;
    return x < y                        ? 1
           : x > y                      ? -1
           : strcmp(p->phase, q->phase) ? strcmp(p->phase, q->phase)
                                        : strcmp(p->label, q->label);
}

/* An item without a time gets that of its roof. The largest markers come first, so that none hides others. */
static int make_points(struct roofline_chart *c, const struct plot *p, bool in_order, struct error *err)
{
    double *seconds = calloc(p->n_item + 1, sizeof *seconds);
    c->point = calloc(p->n_item + 1, sizeof *c->point);
    if (!seconds || !c->point) {
        free(seconds);
        return error_oom(err, p->n_item * sizeof *c->point, "points");
    }
    for (size_t i = 0; i < p->n_item; i++) {
        const struct plot_item *it = &p->item[i];
        struct chart_point *q = &c->point[i];
        snprintf(q->label, sizeof q->label, "%s", it->label);
        snprintf(q->phase, sizeof q->phase, "%s", it->phase);
        q->ai = it->bytes > 0 ? it->flop / it->bytes : NAN;
        q->flop_s = p->kind == PLOT_ANALYSIS ? plot_attainable(p, it) : it->flop / it->seconds;
        q->predicted = p->kind != PLOT_RUN;
        q->counted = it->counted;
        q->join = it->join;
        seconds[i] =
            p->kind == PLOT_ANALYSIS ? it->flop > 0 ? it->flop / q->flop_s : 0 : it->seconds;
    }
    c->n_point = p->n_item;
    for (size_t i = 0; i < p->n_item; i++)
        c->point[i].weight =
            p->item[i].whole ? NAN : seconds[i] / phase_seconds(p, seconds, p->item[i].phase);
    free(seconds);
    if (c->n_point && !in_order)
        qsort(c->point, c->n_point, sizeof *c->point, heavier);
    return 0;
}

static bool dram_counted(const struct plot *p)
{
    bool counted = false;
    for (size_t i = 0; i < p->n_item; i++)
        counted |= p->item[i].counted;
    return counted;
}

static int make_titles(struct roofline_chart *c, const struct plot *p, const struct plot_options *o, struct error *err)
{
    const char *machine = *p->machine ? p->machine : p->hw;
    char date[11] = "";
    snprintf(date, sizeof date, "%.10s", p->date);
    if (o->title)
        snprintf(c->title, sizeof c->title, "%.150s", o->title);
    else if (p->kind == PLOT_PROFILE)
        snprintf(c->title, sizeof c->title, "%.120s", machine);
    else
        snprintf(c->title, sizeof c->title, "%.60s, %.20s on %.70s", p->model, p->type, machine);
    struct strbuf b = { 0 };
    switch (p->kind) {
    case PLOT_RUN:
        if (o->chart == PLOT_HIERARCHICAL)
            strbuf_adds(&b, plot_decodes(p, o) ? "Decode. " : "Prefill. ");
        strbuf_addf(&b, "Measured: %s; %s%s", p->tests, p->detail,
                    o->chart == PLOT_HIERARCHICAL ? p->n_counted ? "; traffic per level: full markers counted, hollow ones from the cache model"
                                                                 : "; traffic per level from the cache model, no counters" :
                    dram_counted(p)
                        ? ""
                        : "; bytes counted by the engine, hardware counters unavailable");
        break;
    case PLOT_ANALYSIS:
        strbuf_addf(&b, "Analysis: %s; points at attainable performance", p->tests);
        break;
    case PLOT_PREDICTION:
        strbuf_addf(&b, "Prediction: %s%s", p->tests, p->detail);
        break;
    case PLOT_PROFILE:
        strbuf_adds(&b, "Roofs");
        break;
    }
    if (*date)
        strbuf_addf(&b, "; %s", date);
    const char *text = strbuf_text(&b, "a subtitle", err);
    snprintf(c->subtitle, sizeof c->subtitle, "%s", text ? text : "");
    strbuf_free(&b);
    return text ? 0 : -1;
}

/* ---- one machine's part, and several on one chart ------------------------------------------------------ */

/* The subject on one machine: its roofs and points, in c. */
static int draw_one(struct roofline_chart *c, struct plot *p, const struct plot_options *o, const struct plot_subject *s, struct strbuf *notes, struct error *err)
{
    if (plot_read(p, o, s, err) != 0)
        return -1;
    int rc = plot_choose_roofs(c, p, o, err);
    if (rc == 0)
        rc = o->chart == PLOT_HIERARCHICAL ? plot_level_points(c, p, o, notes, err) : make_points(c, p, o->whole, err);
    if (p->notes.len)
        strbuf_adds(notes, p->notes.s);
    notes->oom |= p->notes.oom;
    return rc;
}

/* The part's roofs and points go to c, with the machine's name before theirs. */
static int add_part(struct roofline_chart *c, const struct roofline_chart *part, const char *hw, int machine, struct error *err)
{
    struct chart_roof *r = realloc(c->roof, (c->n_roof + part->n_roof) * sizeof *r);
    if (r)
        c->roof = r;
    struct chart_point *q = r ? realloc(c->point, (c->n_point + part->n_point + 1) * sizeof *q) : NULL;
    if (!q)
        return error_oom(err, (c->n_point + part->n_point + 1) * sizeof *q, "a chart");
    c->point = q;
    for (size_t i = 0; i < part->n_roof; i++) {
        r = &c->roof[c->n_roof++];
        *r = part->roof[i];
        r->machine = machine;
        snprintf(r->label, sizeof r->label, "%.24s %.38s", hw, part->roof[i].label);
    }
    for (size_t i = 0; i < part->n_point; i++) {
        q = &c->point[c->n_point++];
        *q = part->point[i];
        q->machine = machine;
        snprintf(q->label, sizeof q->label, "%.24s %.22s", hw, part->point[i].label);
    }
    return 0;
}

static int draw_several(struct roofline_chart *c, const struct plot_options *o, const struct str_list *hw, const struct plot_subject *s,
                        struct strbuf *notes, struct error *err)
{
    struct strbuf names = { 0 }, made = { 0 };
    int rc = 0;
    for (size_t i = 0; i < hw->n && rc == 0; i++) {
        struct plot p;
        struct plot_options one = *o;
        struct roofline_chart part = { 0 };
        one.hw = hw->v[i];
        one.whole = true;
        rc = draw_one(&part, &p, &one, s, notes, err);
        if (rc == 0)
            rc = p.kind == PLOT_PREDICTION ? add_part(c, &part, p.hw, (int)i, err)
                                           : error_set(err, ERROR_USAGE, "%s: several machines need a prediction or a model", o->doc);
        if (i == 0)
            strbuf_addf(&names, "%s, %s on %s", p.model, p.type, p.hw);
        else
            strbuf_addf(&names, ", %s", p.hw);
        strbuf_addf(&made, "; %s: %s", p.hw, *p.constants ? p.constants : "the profile's efficiency factors");
        free(part.roof);
        free(part.point);
        plot_free(&p);
    }
    const char *title = rc == 0 ? strbuf_text(&names, "a chart's title", err) : NULL;
    const char *subtitle = title ? strbuf_text(&made, "a chart's title", err) : NULL;
    if (subtitle) {
        snprintf(c->title, sizeof c->title, "%.150s", o->title ? o->title : title);
        snprintf(c->subtitle, sizeof c->subtitle, "Prediction, a point per test%.220s", subtitle);
    }
    rc = subtitle ? rc : -1;
    strbuf_free(&names);
    strbuf_free(&made);
    return rc;
}

/* The prediction's points of the run's roles, each joined to the measured one of its phase and role. */
static int add_pairs(struct roofline_chart *c, const struct plot_options *o, struct strbuf *notes, struct error *err)
{
    struct plot_subject s = { .doc = json_load_path(o->more[0], err) };
    struct plot_options one = *o;
    struct roofline_chart part = { 0 };
    struct plot p;
    const size_t n = c->n_point;
    size_t n_pair = 0;
    one.doc = o->more[0];
    int rc = s.doc ? chart_need_schema(&one, s.doc, "roofcast.predict", err) : -1;
    if (rc == 0) {
        rc = draw_one(&part, &p, &one, &s, notes, err);
        plot_free(&p);
    }
    struct chart_point *v = rc == 0 ? realloc(c->point, (n + part.n_point + 1) * sizeof *v) : NULL;
    if (rc == 0 && !v)
        rc = error_oom(err, (n + part.n_point) * sizeof *v, "points");
    c->point = v ? v : c->point;
    for (size_t i = 0; i < part.n_point && rc == 0; i++)
        for (size_t k = 0; k < n; k++)
            if (!v[k].counted && strcmp(v[k].label, part.point[i].label) == 0 && strcmp(v[k].phase, part.point[i].phase) == 0) {
                v[c->n_point] = part.point[i];
                v[c->n_point].pair = k + 1;
                v[c->n_point].silent = true;
                v[c->n_point++].weight = v[k].weight;
                n_pair++;
                break;
            }
    if (rc == 0 && n_pair == 0)
        rc = error_set(err, ERROR_INPUT, "%s: no role of %s in it: the prediction's roles are those of `predict -o json`", o->more[0], o->doc);
    json_decref(s.doc);
    free(part.roof);
    free(part.point);
    return rc;
}

int plot_roofline(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct roofline_chart c = { .style = style, .formats = o->formats };
    struct str_list hw = { 0 };
    struct plot p = { 0 };
    int rc = o->hw ? str_list_parse(&hw, o->hw, "--hw", err) : 0;
    if (rc == 0 && hw.n > 1) {
        rc = draw_several(&c, o, &hw, s, notes, err);
    } else if (rc == 0) {
        rc = draw_one(&c, &p, o, s, notes, err);
        if (rc == 0)
            rc = make_titles(&c, &p, o, err);
        if (rc == 0 && o->n_more > 0)
            rc = p.kind == PLOT_RUN && o->n_more == 1 && o->chart == PLOT_ROOFLINE
                     ? add_pairs(&c, o, notes, err)
                     : error_set(err, ERROR_USAGE, "expected one file, or a run and a prediction of it; found %zu", o->n_more + 1);
        plot_free(&p);
    }
    rc = rc ? rc : chart_roofline(&c, o->out, notes, err);
    str_list_free(&hw);
    free(c.roof);
    free(c.point);
    return rc;
}
