/* From the roof to what is achieved, in milliseconds a token: time at the roofs, what each role takes more, and the rest. */
#include "report/boxes.h"
#include "report/plot_kinds.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 9 }; /* roles with a bar of their own */
enum { SERIES_ROOF = 1, SERIES_LOSS, SERIES_TOTAL, SERIES_GAIN };

struct part {
    char label[48];
    double roof_s, s; /* of a pass */
    bool has_bar;
};
struct parts {
    struct part *v;
    size_t n;
    double total_s;   /* of a pass; NaN: the parts' sum */
    bool predicted;
    int64_t n_batch;
    char title[160], subtitle[256], test[48];
};

static struct part *part_of(struct parts *p, const char *label, struct error *err)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].label, label) == 0)
            return &p->v[i];
    struct part *v = realloc(p->v, (p->n + 1) * sizeof *v);
    if (!v) {
        (void)error_oom(err, (p->n + 1) * sizeof *v, "a waterfall's parts");
        return NULL;
    }
    p->v = v;
    v += p->n++;
    *v = (struct part){ 0 };
    snprintf(v->label, sizeof v->label, "%s", label);
    return v;
}

/* ---- a run -------------------------------------------------------------------------------------------------------- */

/* --test, else the first test of the phase that has ops. */
static const struct run_row *chosen_row(const struct run *r, const struct plot_options *o, const char *phase)
{
    for (size_t i = 0; i < r->n_row; i++)
        for (size_t k = 0; k < r->n_op; k++)
            if (strcmp(r->op[k].test, r->row[i].test) == 0 && (o->test ? strcmp(r->row[i].test, o->test) == 0 : strcmp(r->row[i].phase, phase) == 0))
                return &r->row[i];
    return NULL;
}

static int read_run(struct parts *p, const struct plot_options *o, const struct plot_subject *s, struct error *err)
{
    struct run r;
    const char *phase = o->phase ? o->phase : "decode";
    if (run_from_json(&r, s->doc, o->doc, "roofcast.run", err) != 0)
        return -1;
    const struct run_row *row = chosen_row(&r, o, phase);
    int rc = row ? 0 : error_set(err, ERROR_INPUT, "%s: no ops of %s in it: `roofcast bench --ops --save` times them", o->doc, o->test ? o->test : phase);
    for (size_t i = 0; i < r.n_op && rc == 0; i++) {
        const struct run_op *op = &r.op[i];
        if (strcmp(op->test, row->test) != 0 || !(op->seconds > 0))
            continue;
        struct part *v = part_of(p, op->role, err);
        rc = v ? 0 : -1;
        if (v) {
            v->s += op->seconds;
            v->roof_s += op->seconds * fmin(1, op->roof_fraction > 0 ? op->roof_fraction : 0);
        }
    }
    if (rc == 0) {
        const bool decode = strcmp(row->phase, "decode") == 0;
        const double passes = decode ? row->n_gen : 1;
        p->n_batch = decode ? row->n_batch : (int64_t)row->n_prompt * row->n_batch; /* tokens of a pass */
        p->total_s = row->seconds > 0 && passes > 0 ? row->seconds / passes : NAN;
        snprintf(p->test, sizeof p->test, "%s", row->test);
        snprintf(p->title, sizeof p->title, "%.60s, %.20s on %.70s", row->model, row->type, r.prov.cpu);
        snprintf(p->subtitle, sizeof p->subtitle, "Measured: %s; %d threads; ops timed one by one, their roofs from adjacent probes", row->test, row->n_threads);
    }
    run_free(&r);
    return rc;
}

/* ---- a prediction -------------------------------------------------------------------------------------------------- */

static const struct plot_predicted *chosen_prediction(const struct plot_prediction *x, const struct plot_options *o)
{
    const char *phase = o->phase ? o->phase : "decode";
    for (size_t i = 0; i < x->n_row; i++)
        if (x->row[i].n_role > 0 && (o->test ? strcmp(x->row[i].test, o->test) == 0 : strcmp(x->row[i].phase, phase) == 0))
            return &x->row[i];
    return NULL;
}

static int read_prediction(struct parts *p, const struct plot_options *o, const struct plot_prediction *x, struct error *err)
{
    const struct plot_predicted *r = chosen_prediction(x, o);
    struct plot_limits l;
    if (!r)
        return error_set(err, ERROR_INPUT, "%s: no prediction of %s with its roles in it", o->doc, o->test ? o->test : o->phase ? o->phase : "decode");
    if (plot_check_one_machine(r, o->doc, err) != 0 || plot_limits_of(&l, o, x, r->hw, r->math, err) != 0)
        return -1;
    const double tokens = r->tok_s * r->whole.seconds, batch = strcmp(r->phase, "decode") == 0 ? (double)r->n_batch : tokens;
    const double passes = tokens / batch;
    for (size_t i = 0; i < r->n_role; i++) {
        const struct plot_work *w = &r->role[i];
        struct part *v = w->seconds > 0 ? part_of(p, w->role, err) : NULL;
        if (!v && w->seconds > 0)
            return -1;
        if (!v)
            continue;
        const double memory_s = l.bytes_s > 0 ? w->bytes / l.bytes_s : 0, compute_s = l.flop_s > 0 ? w->flop / l.flop_s : 0;
        v->s += w->seconds / passes;
        v->roof_s += fmin(w->seconds, fmax(memory_s, compute_s)) / passes;
    }
    p->predicted = true;
    p->n_batch = (int64_t)lround(batch);
    p->total_s = r->whole.seconds / passes;
    snprintf(p->test, sizeof p->test, "%s", r->test);
    snprintf(p->title, sizeof p->title, "%.60s, %.20s on %.70s", r->model, r->type, l.machine);
    snprintf(p->subtitle, sizeof p->subtitle, "Predicted: %s%s%s", r->test, *r->stack ? "; " : "", r->stack);
    return 0;
}

/* ---- bars ----------------------------------------------------------------------------------------------------------- */

static int by_loss(const void *a, const void *b)
{
    const struct part *p = a, *q = b;
    const double x = p->s - p->roof_s, y = q->s - q->roof_s;
    return x < y ? 1 : x > y ? -1 : strcmp(p->label, q->label);
}

struct bars {
    struct box_chart *c;
    double row; /* of the next bar, from 0 down */
    double at_ms;
    int decimals; /* four digits of the total */
};

/* A bar from `from` to `to`, its name on the left and its value on the right. */
static int add_bar(struct bars *b, size_t series, const char *name, double from, double to, struct error *err)
{
    const double y = -b->row - 0.5, ms = to - from;
    struct chart_box *v = box_chart_add(b->c, series, fmin(from, to), fmax(from, to), y - 0.36, y + 0.36, err);
    struct box_text *left = v ? box_chart_text(b->c, 0, y, err) : NULL;
    if (!left)
        return -1;
    snprintf(left->text, sizeof left->text, "%s", name);
    struct box_text *right = box_chart_text(b->c, fmax(from, to), y, err);
    if (!right)
        return -1;
    v->value = ms;
    right->where = BOX_TEXT_RIGHT_OF;
    right->faint = series == SERIES_LOSS;
    snprintf(right->text, sizeof right->text, "%s%.*f ms", series == SERIES_LOSS || series == SERIES_GAIN ? ms < 0 ? "\u2212" : "+" : "", b->decimals, fabs(ms));
    snprintf(v->label, sizeof v->label, "%.48s: %.60s", name, right->text);
    b->row++;
    return 0;
}

static int add_bars(struct box_chart *c, struct parts *p, struct error *err)
{
    struct bars b = { .c = c };
    const double ms = 1000 / (double)(p->n_batch > 0 ? p->n_batch : 1);
    double sum = 0, roof = 0, rest = 0;
    size_t n_rest = 0;
    char text[64];
    qsort(p->v, p->n, sizeof *p->v, by_loss);
    for (size_t i = 0; i < p->n; i++) {
        sum += p->v[i].s;
        roof += p->v[i].roof_s;
        const bool named = i < NAMED && p->v[i].s - p->v[i].roof_s > 0.004 * p->v[i].s;
        rest += named ? 0 : p->v[i].s - p->v[i].roof_s;
        n_rest += !named;
        p->v[i].has_bar = named;
    }
    const double total = isnan(p->total_s) ? sum : p->total_s;
    b.decimals = (int)fmin(6, fmax(0, 3 - floor(log10(total * ms))));
    if (add_bar(&b, SERIES_ROOF, "at the roofs", 0, roof * ms, err) != 0)
        return -1;
    b.at_ms = roof * ms;
    for (size_t i = 0; i < p->n; i++) {
        const double loss = (p->v[i].s - p->v[i].roof_s) * ms;
        if (!p->v[i].has_bar)
            continue;
        if (add_bar(&b, SERIES_LOSS, p->v[i].label, b.at_ms, b.at_ms + loss, err) != 0)
            return -1;
        b.at_ms += loss;
    }
    snprintf(text, sizeof text, "%zu other role%s", n_rest, n_rest == 1 ? "" : "s");
    if (n_rest && rest > 0 && add_bar(&b, SERIES_LOSS, text, b.at_ms, b.at_ms + rest * ms, err) != 0)
        return -1;
    if (fabs(total - sum) > 0.002 * total &&
        add_bar(&b, total > sum ? SERIES_LOSS : SERIES_GAIN, total > sum ? "between ops" : "fused and overlapped", sum * ms, total * ms, err) != 0)
        return -1;
    if (add_bar(&b, SERIES_TOTAL, p->predicted ? "predicted" : "achieved", 0, total * ms, err) != 0)
        return -1;
    c->y_lo = -b.row;
    c->y_hi = 0;
    c->height_px = 27 * b.row;
    axis_linear_close(&c->x, fmax(fmax(sum, total), roof) * ms * 1.09); /* room for the values */
    snprintf(c->caption, sizeof c->caption, "%s%.0f %% of the roofs: %.4g tokens/s of %.4g.", p->predicted ? "Predicted: " : "Achieved: ", 100 * roof / total,
             (double)p->n_batch / total, (double)p->n_batch / roof);
    return 0;
}

int plot_waterfall(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct box_chart c = { .style = style, .formats = o->formats, .n_series = 4,
                           .series = { "time at the roofs", "time above the roof, by role", "time of a token", "less than the ops one by one" } };
    struct parts p = { .total_s = NAN };
    struct plot_prediction mine = { 0 };
    const char *schema = json_string_value(json_object_get(s->doc, "schema"));
    int rc;
    if (schema && strcmp(schema, "roofcast.run") == 0) {
        rc = read_run(&p, o, s, err);
    } else {
        const struct plot_prediction *x = plot_subject_prediction(&mine, o, s, err);
        rc = x ? read_prediction(&p, o, x, err) : -1;
    }
    rc = rc ? rc : add_bars(&c, &p, err);
    if (rc == 0) {
        c.x.plain = true;
        snprintf(c.title, sizeof c.title, "%s", o->title ? o->title : p.title);
        snprintf(c.subtitle, sizeof c.subtitle, "%s", p.subtitle);
        snprintf(c.x.title, sizeof c.x.title, "Time a token [ms]%s", p.n_batch > 1 ? ", a pass shared by its tokens" : "");
        snprintf(c.y_title, sizeof c.y_title, "from the roof down");
        c.n_series = 3;
        for (size_t i = 0; i < c.n_box; i++)
            c.n_series = c.box[i].series == SERIES_GAIN ? 4 : c.n_series;
        rc = chart_boxes(&c, o->out, notes, err);
    }
    box_chart_free(&c);
    plot_prediction_free(&mine);
    free(p.v);
    return rc;
}
