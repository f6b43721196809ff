/* Charts of boxes: layout, data, script. */
#include "report/boxes.h"
#include "report/draw.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE_W 1088.0
#define MARGIN    32.0 /* right */
#define TEXT_PX   12.0
#define SMALL_PX  11.0
#define SAMPLE_PX 12.0

struct chart_box *box_chart_add(struct box_chart *c, size_t series, double x_lo, double x_hi, double y_lo, double y_hi, struct error *err)
{
    struct chart_box *v = realloc(c->box, (c->n_box + 1) * sizeof *v);
    if (!v) {
        (void)error_oom(err, (c->n_box + 1) * sizeof *v, "a chart's boxes");
        return NULL;
    }
    c->box = v;
    v += c->n_box++;
    *v = (struct chart_box){ .series = series, .x_lo = x_lo, .x_hi = x_hi, .y_lo = y_lo, .y_hi = y_hi };
    return v;
}

struct box_text *box_chart_text(struct box_chart *c, double x, double y, struct error *err)
{
    struct box_text *v = realloc(c->text, (c->n_text + 1) * sizeof *v);
    if (!v) {
        (void)error_oom(err, (c->n_text + 1) * sizeof *v, "a chart's texts");
        return NULL;
    }
    c->text = v;
    v += c->n_text++;
    *v = (struct box_text){ .x = x, .y = y };
    return v;
}

void box_chart_free(struct box_chart *c)
{
    free(c->box);
    free(c->text);
    *c = (struct box_chart){ 0 };
}

/* ---- layout --------------------------------------------------------------------------------------------------- */

struct boxes {
    struct plan plan;
    double sample_x[BOX_SERIES], sample_y[BOX_SERIES];
};

/* The widest text left of the axis. */
static double left_margin(const struct box_chart *c)
{
    double w = 40;
    for (size_t i = 0; i < c->n_text; i++)
        if (c->text[i].where == BOX_TEXT_LEFT)
            w = fmax(w, text_width_px(c->text[i].text, TEXT_PX));
    return fmin(w, 320) + 34;
}

static int put_text(struct plan *p, const struct box_text *t, struct error *err)
{
    const struct frame *f = &p->frame;
    const double y = frame_py(f, t->y);
    const enum text_role role = t->faint ? TEXT_FAINT : TEXT_PLAIN;
    char text[sizeof t->text];
    snprintf(text, sizeof text, "%s", t->text);
    switch (t->where) {
    case BOX_TEXT_LEFT:
        text_fit(text, TEXT_PX, f->left - 20);
        return plan_put(p, role, TEXT_PX, f->left - 12, y, 'r', 0, text, err);
    case BOX_TEXT_RIGHT_OF:
        return plan_put(p, role, TEXT_PX, fmin(frame_px(f, t->x), f->right) + 6, y, 'l', 0, text, err);
    case BOX_TEXT_ABOVE:
        return plan_put(p, role, TEXT_PX, f->left + 2, y - 12, 'l', 0, text, err);
    }
    return 0;
}

static int put_legend(struct boxes *b, const struct box_chart *c, double *y, struct error *err)
{
    double x = b->plan.frame.left;
    for (size_t i = 0; i < c->n_series; i++) {
        b->sample_x[i] = x;
        b->sample_y[i] = *y;
        if (plan_put(&b->plan, TEXT_PLAIN, TEXT_PX, x + SAMPLE_PX + 8, *y, 'l', 0, c->series[i], err) != 0)
            return -1;
        x += SAMPLE_PX + 8 + text_width_px(c->series[i], TEXT_PX) + 28;
    }
    *y += 24;
    return 0;
}

static int plan_boxes(struct boxes *b, const struct box_chart *c, struct error *err)
{
    struct frame *f = &b->plan.frame;
    double y;
    *f = (struct frame){ .x_lo = c->x.lo, .x_hi = c->x.hi, .y_lo = c->y_lo, .y_hi = c->y_hi, .x_linear = true, .y_linear = true };
    f->left = left_margin(c);
    f->width = PICTURE_W;
    f->right = f->width - MARGIN;
    if (plan_heading(&b->plan, c->title, c->subtitle, &y, err) != 0)
        return -1;
    f->top = y + 12;
    f->bottom = f->top + c->height_px;
    for (size_t i = 0; i < c->n_text; i++)
        if (put_text(&b->plan, &c->text[i], err) != 0)
            return -1;
    y = f->bottom + 76;
    if (plan_put(&b->plan, TEXT_PLAIN, 13, (f->left + f->right) / 2, f->bottom + 44, 'c', 0, c->x.title, err) != 0 || put_legend(b, c, &y, err) != 0 ||
        plan_paragraph(&b->plan, c->caption, SMALL_PX, 4, &y, err) != 0)
        return -1;
    f->height = ceil(y);
    return 0;
}

/* ---- data and script ------------------------------------------------------------------------------------------ */

static void points_tsv(struct strbuf *out, const struct box_chart *c)
{
    strbuf_adds(out, "series\tx_lo\tx_hi\ty_lo\ty_hi\tvalue\tlabel\n");
    for (size_t i = 0; i < c->n_box; i++) {
        const struct chart_box *v = &c->box[i];
        strbuf_addf(out, "%zu\t", v->series);
        script_add_value(out, v->x_lo);
        script_add_value(out, v->x_hi);
        script_add_value(out, v->y_lo);
        script_add_value(out, v->y_hi);
        script_add_value(out, v->value);
        script_add_clean(out, v->label, false);
        strbuf_adds(out, "\n");
    }
}

static void add_samples(struct strbuf *out, const struct boxes *b, const struct box_chart *c)
{
    const struct frame *f = &b->plan.frame;
    for (size_t i = 0; i < c->n_series; i++) {
        strbuf_addf(out, "set object rectangle from screen %.6g, %.6g to screen %.6g, %.6g", b->sample_x[i] / f->width,
                    1 - (b->sample_y[i] - SAMPLE_PX / 2) / f->height, (b->sample_x[i] + SAMPLE_PX) / f->width,
                    1 - (b->sample_y[i] + SAMPLE_PX / 2) / f->height);
        strbuf_addf(out, " fc rgb box_color(%zu) fs solid 1 noborder\n", i + 1);
    }
}

static void add_tics(struct strbuf *out, const struct box_chart *c)
{
    const double last = floor(c->x.hi);
    strbuf_addf(out, "set xtics ('%s' -1, '%s' %.10g", c->first, c->last, last);
    for (double at = 0; at + c->x_step / 2 < last || (at == 0 && last > 0); at += c->x_step)
        if (at > 0 || c->x_step < 4) /* the name of the first tick is next to 0 */
            strbuf_addf(out, ", '%.6g' %.10g", at, at);
    strbuf_adds(out, ")\n");
}

/* The command that names rows and panels in the picture of characters. */
static int add_rows(struct strbuf *out, const struct box_chart *c, struct error *err)
{
    struct strbuf rows = { 0 };
    bool first = true;
    for (size_t i = 0; i < c->n_text; i++) {
        const bool panel = c->text[i].where == BOX_TEXT_ABOVE;
        if (c->text[i].where == BOX_TEXT_RIGHT_OF || !*c->text[i].text)
            continue;
        strbuf_adds(&rows, first ? "set ytics (" : ", ");
        script_add_inner_string(&rows, c->text[i].text);
        strbuf_addf(&rows, " %.6g", c->text[i].y + (panel ? 0.12 : 0));
        first = false;
    }
    strbuf_adds(&rows, first ? "unset ytics" : ") noenhanced");
    const char *command = strbuf_text(&rows, "a chart's rows", err);
    if (command) {
        strbuf_adds(out, "ROWS = '");
        script_add_clean(out, command, true); /* its quotes are the ends of its strings, no two adjacent */
        strbuf_adds(out, "'\n");
    }
    strbuf_free(&rows);
    return command ? 0 : -1;
}

static int build_script(struct strbuf *out, const struct boxes *b, const struct box_chart *c, const struct chart_out *o, struct error *err)
{
    const struct chart_words words = { c->title, c->x.title, c->y_title, false, false, c->n_series, c->series };
    const struct frame *f = &b->plan.frame;
    struct strbuf texts = { 0 };
    if (c->x_step > 0)
        add_tics(&texts, c);
    else
        script_add_linear(&texts, "x", &c->x);
    strbuf_addf(&texts, "set ytics ('' Y_LO)\nset grid noytics\n%s", c->n_rule ? "set border 0\n" : "");
    for (size_t i = 0; i < c->n_rule; i++)
        strbuf_addf(&texts, "set arrow from X_LO, %.6g to X_HI, %.6g nohead lw 1 lc rgb axis_color\n", c->rule[i], c->rule[i]);
    for (size_t i = 0; i < b->plan.n_text; i++)
        script_add_label(&texts, f, &b->plan.text[i], script_role_color(b->plan.text[i].role));
    add_samples(&texts, b, c);
    script_add_prologue(out, o, f, &words);
    int rc = add_rows(&texts, c, err);
    rc = rc ? rc : script_add_style(out, c->style, &texts, err);
    strbuf_free(&texts);
    return rc;
}

static int write_data(const struct boxes *b, const struct box_chart *c, const struct chart_out *o, struct error *err)
{
    struct strbuf points = { 0 }, script = { 0 };
    points_tsv(&points, c);
    int rc = build_script(&script, b, c, o, err);
    rc = rc ? rc : chart_write(o, ".tsv", &points, err);
    rc = rc ? rc : chart_write(o, ".gp", &script, err);
    strbuf_free(&points);
    strbuf_free(&script);
    return rc;
}

int chart_boxes(const struct box_chart *c, const char *out_base, struct strbuf *notes, struct error *err)
{
    struct chart_out o;
    struct boxes b = { 0 };
    (void)notes;
    if (c->n_box == 0 || !(c->x.hi > c->x.lo) || !(c->y_hi > c->y_lo))
        return error_set(err, ERROR_INPUT, "the chart has no bar");
    if (chart_out_init(&o, out_base, c->formats, err) != 0)
        return -1;
    o.style = c->style;
    o.title = c->title;
    o.description = c->subtitle;
    int rc = plan_boxes(&b, c, err);
    for (size_t i = 0; i < c->n_box && rc == 0; i++) {
        const struct chart_box *v = &c->box[i];
        rc = chart_out_tip(&o, frame_px(&b.plan.frame, (v->x_lo + v->x_hi) / 2), frame_py(&b.plan.frame, (v->y_lo + v->y_hi) / 2), v->label, err);
    }
    rc = rc ? rc : write_data(&b, c, &o, err);
    rc = rc ? rc : chart_draw(&o, err);
    plan_free(&b.plan);
    chart_out_free(&o);
    return rc;
}
