/* Bytes, FLOP and time of each layer: three panels of stacked bars, a bar a layer. */
#include "report/boxes.h"
#include "report/plot_kinds.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_ATTENTION, GROUP_FEED_FORWARD, GROUP_OTHER, GROUPS };
enum { PANEL_BYTES, PANEL_FLOP, PANEL_TIME, PANELS };
#define PANEL_PITCH 1.42 /* a panel is 1 high */

/* Ops before the first layer stand in the bar before it, those behind the last in the bar after it. */
struct bar {
    double v[PANELS][GROUPS];
};
struct layers {
    struct bar *bar; /* [n_layer + 2] */
    size_t n_layer;
    bool timed;
    char title[160], subtitle[256];
};

static int group_of(const char *role)
{
    return strncmp(role, "attn", 4) == 0 || strncmp(role, "kv_", 3) == 0 || strncmp(role, "ssm", 3) == 0 ? GROUP_ATTENTION
           : strncmp(role, "ffn", 3) == 0 || strncmp(role, "expert", 6) == 0 || strncmp(role, "router", 6) == 0 ? GROUP_FEED_FORWARD
                                                                                                                 : GROUP_OTHER;
}

/* A row of a run or of an analysis, of a layer or outside of all. */
static void add(struct layers *l, int64_t layer, const char *role, double bytes, double flop, double seconds)
{
    const bool first = strncmp(role, "embed", 5) == 0;
    struct bar *b = &l->bar[layer >= 0 ? (size_t)layer + 1 : first ? 0 : l->n_layer + 1];
    const int g = group_of(role);
    b->v[PANEL_BYTES][g] += bytes;
    b->v[PANEL_FLOP][g] += flop;
    b->v[PANEL_TIME][g] += seconds;
}

static int make_bars(struct layers *l, int64_t last, const struct plot_options *o, struct error *err)
{
    if (last < 0)
        return error_set(err, ERROR_INPUT, "%s: no layers in it: `roofcast bench --ops --save` and `roofcast analyze -o json` list them", o->doc);
    if (last > 100000)
        return error_set(err, ERROR_INPUT, "%s: field \"layer\": expected at most 100000, found %lld", o->doc, (long long)last);
    l->n_layer = (size_t)last + 1;
    l->bar = calloc(l->n_layer + 2, sizeof *l->bar);
    return l->bar ? 0 : error_oom(err, (l->n_layer + 2) * sizeof *l->bar, "a chart's layers");
}

static bool is_test(const struct run_op *op, const struct plot_options *o, const char *phase, const char **test)
{
    if (o->test ? strcmp(op->test, o->test) != 0 : strcmp(op->phase, phase) != 0)
        return false;
    *test = *test ? *test : op->test;
    return strcmp(op->test, *test) == 0;
}

static int read_run(struct layers *l, const struct plot_options *o, const json_t *doc, struct error *err)
{
    struct run r;
    const char *phase = o->phase ? o->phase : "decode", *test = NULL;
    int64_t last = -1;
    if (run_from_json(&r, doc, o->doc, "roofcast.run", err) != 0)
        return -1;
    for (size_t i = 0; i < r.n_op; i++)
        if (is_test(&r.op[i], o, phase, &test))
            last = r.op[i].layer > last ? r.op[i].layer : last;
    int rc = make_bars(l, last, o, err);
    for (size_t i = 0; i < r.n_op && rc == 0; i++) {
        const struct run_op *op = &r.op[i];
        if (is_test(op, o, phase, &test))
            add(l, op->layer, op->role, op->weight_bytes + op->act_bytes + op->kv_bytes, op->flop, op->seconds > 0 ? op->seconds : 0);
    }
    l->timed = true;
    if (rc == 0 && r.n_row) {
        snprintf(l->title, sizeof l->title, "%.60s, %.20s on %.70s", r.row[0].model, r.row[0].type, r.prov.cpu);
        snprintf(l->subtitle, sizeof l->subtitle, "Measured: %s, a pass; ops timed one by one", test);
    }
    run_free(&r);
    return rc;
}

static int read_analysis(struct layers *l, const struct plot_options *o, const json_t *doc, struct error *err)
{
    const json_t *rows = json_object_get(doc, "rows");
    const char *phase = o->phase ? o->phase : "decode", *model, *type, *name;
    int64_t last = -1;
    struct plot_source s;
    if (chart_need_schema(o, doc, "roofcast.analyze", err) != 0 || json_get_str(doc, o->doc, "model", &model, err) != 0 ||
        json_get_str(doc, o->doc, "type", &type, err) != 0)
        return -1;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < json_array_size(rows); i++) {
            char ctx[320];
            snprintf(ctx, sizeof ctx, "%.280s: rows[%zu]", o->doc, i);
            if (plot_read_phase(json_array_get(rows, i), ctx, &name, err) != 0 || plot_read_source(&s, json_array_get(rows, i), ctx, false, err) != 0)
                return -1;
            if (strcmp(name, phase) == 0 && pass == 0)
                last = s.layer > last ? s.layer : last;
            else if (strcmp(name, phase) == 0)
                add(l, s.layer, s.role, s.bytes, s.flop, 0);
        }
        if (pass == 0 && make_bars(l, last, o, err) != 0)
            return -1;
    }
    snprintf(l->title, sizeof l->title, "%.60s, %.20s", model, type);
    snprintf(l->subtitle, sizeof l->subtitle, "Analysis: %s, a pass; no times: `roofcast bench --ops --save` measures them", phase);
    return 0;
}

/* ---- panels -------------------------------------------------------------------------------------------------------- */

static double height(const struct bar *b, int panel)
{
    double sum = 0;
    for (int g = 0; g < GROUPS; g++)
        sum += b->v[panel][g];
    return sum;
}

static const char *bar_name(char *buf, size_t n, const struct layers *l, size_t i)
{
    if (i == 0 || i == l->n_layer + 1)
        snprintf(buf, n, "%s", i ? "output" : "input");
    else
        snprintf(buf, n, "layer %zu", i - 1);
    return buf;
}

static int add_panel(struct box_chart *c, const struct layers *l, int panel, double base, struct error *err)
{
    static const char *const what[] = { "Bytes", "FLOP", "Time" }, *const unit[] = { "B", "FLOP", "s" };
    double most = 0;
    char top[32], name[32], value[32];
    for (size_t i = 0; i < l->n_layer + 2; i++)
        most = fmax(most, height(&l->bar[i], panel));
    struct chart_axis axis;
    axis_linear_close(&axis, most > 0 ? most : 1);
    for (size_t i = 0; i < l->n_layer + 2; i++) {
        double at = base;
        for (int g = 0; g < GROUPS; g++) {
            const double v = l->bar[i].v[panel][g], x = (double)i - 1;
            struct chart_box *b = v > 0 ? box_chart_add(c, (size_t)g + 1, x - 0.4, x + 0.4, at, at + v / axis.hi, err) : NULL;
            if (!b && v > 0)
                return -1;
            at += v / axis.hi;
            if (!b)
                continue;
            b->value = v;
            snprintf(b->label, sizeof b->label, "%s, %s: %s", bar_name(name, sizeof name, l, i), c->series[g], units_si(value, sizeof value, v, unit[panel]));
        }
    }
    c->rule[c->n_rule++] = base;
    struct box_text *t = box_chart_text(c, 0, base + 1, err);
    if (!t)
        return -1;
    snprintf(t->text, sizeof t->text, "%s", units_si(top, sizeof top, axis.hi, unit[panel]));
    t->faint = true;
    if (!(t = box_chart_text(c, 0, base, err)))
        return -1;
    snprintf(t->text, sizeof t->text, "0");
    t->faint = true;
    if (!(t = box_chart_text(c, 0, base + 1, err)))
        return -1;
    t->where = BOX_TEXT_ABOVE;
    snprintf(t->text, sizeof t->text, "%s of a pass", what[panel]);
    return 0;
}

int plot_layers(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct box_chart c = { .style = style, .formats = o->formats, .n_series = GROUPS, .series = { "attention", "feed-forward, experts", "embedding, output, other" } };
    struct layers l = { 0 };
    const char *schema = json_string_value(json_object_get(s->doc, "schema"));
    int rc = schema && strcmp(schema, "roofcast.run") == 0 ? read_run(&l, o, s->doc, err) : read_analysis(&l, o, s->doc, err);
    const int panels = l.timed ? PANELS : PANELS - 1;
    for (int i = 0; i < panels && rc == 0; i++)
        rc = add_panel(&c, &l, i, PANEL_PITCH * (panels - 1 - i), err);
    if (rc == 0) {
        snprintf(c.title, sizeof c.title, "%s", o->title ? o->title : l.title);
        snprintf(c.subtitle, sizeof c.subtitle, "%s", l.subtitle);
        snprintf(c.x.title, sizeof c.x.title, "Layer");
        snprintf(c.y_title, sizeof c.y_title, "fraction of a panel");
        c.x.scale = AXIS_LINEAR;
        c.x.lo = -1.6;
        c.x.hi = (double)l.n_layer + 0.6;
        for (c.x_step = 1; (double)l.n_layer / c.x_step > 20;)
            c.x_step *= 2;
        c.first = "in";
        c.last = "out";
        c.y_lo = 0;
        c.y_hi = PANEL_PITCH * (panels - 1) + 1.24;
        c.height_px = 150 * panels;
        rc = chart_boxes(&c, o->out, notes, err);
    }
    box_chart_free(&c);
    free(l.bar);
    return rc;
}
