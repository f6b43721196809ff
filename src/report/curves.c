/*
 * Charts of curves: a roof by footprint, threads or load; kernels by tensor type. The legend is below the plot, names of vertical
 * marks above it, those of horizontal lines on them; overlaps are avoided by text sizes.
 */
#include "report/draw.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLOT_W    960.0
#define PLOT_H    480.0
#define TEXT_PX   12.0
#define SMALL_PX  11.0
#define MARK_ROW  15.0 /* rows of mark names above the plot */
#define SAMPLE_W  40.0 /* of a legend's line */
#define MARKER_PX 4.5

enum { MAX_MARK_ROWS = 4 };

/* ---- plan --------------------------------------------------------------------------------------- */

struct sample {
    double x, y;
};

struct sketch {
    struct plan plan; /* frame and texts */
    struct sample *sample;
    struct scene scene;
};

static void sketch_free(struct sketch *s)
{
    plan_free(&s->plan);
    free(s->sample);
    scene_free(&s->scene);
}

static int add(struct sketch *s, enum text_role role, double size_px, double x, double y, char align, double angle,
               const char *text, struct error *err)
{
    return plan_put(&s->plan, role, size_px, x, y, align, angle, text, err);
}

static bool finite_range(const struct chart_axis *a)
{
    return isfinite(a->lo) && isfinite(a->hi) && a->hi > a->lo && (a->scale == AXIS_LINEAR || a->lo > 0);
}

static int frame_init(struct frame *f, const struct curve_chart *c, struct error *err)
{
    bool names = c->x.scale == AXIS_NAMES;
    if ((!names && !finite_range(&c->x)) || !finite_range(&c->y) || (names && c->x.n_name == 0))
        return error_set(err, ERROR_INPUT, "the chart's axes are empty: %g to %g, %g to %g", c->x.lo, c->x.hi, c->y.lo, c->y.hi);
    *f = (struct frame){ .x_lo = names ? 0.5 : c->x.lo,
                         .x_hi = names ? (double)c->x.n_name + 0.5 : c->x.hi,
                         .y_lo = c->y.lo,
                         .y_hi = c->y.hi,
                         .x_linear = names || c->x.scale == AXIS_LINEAR,
                         .y_linear = c->y.scale == AXIS_LINEAR };
    f->left = 96;
    f->right = f->left + PLOT_W;
    f->width = f->right + 32;
    return 0;
}

/* Whether a value has a place on the axes. */
static bool has_place(const struct frame *f, double x, double y)
{
    return isfinite(x) && isfinite(y) && (f->x_linear || x > 0) && (f->y_linear || y > 0);
}

static bool in_frame(const struct frame *f, const struct hw_point *p)
{
    return p->x >= f->x_lo && p->x <= f->x_hi && p->value >= f->y_lo && p->value <= f->y_hi;
}

static bool mark_shown(const struct frame *f, const struct chart_mark *m)
{
    return m->x > f->x_lo && m->x < f->x_hi;
}

/* Names of marks in rows above the plot: each in the lowest row where it is free of the ones to its left. */
static int place_marks(struct sketch *s, const struct curve_chart *c, int *rows, int *row_of, struct strbuf *notes)
{
    double end[MAX_MARK_ROWS];
    const struct frame *f = &s->plan.frame;
    for (int r = 0; r < MAX_MARK_ROWS; r++)
        end[r] = -INFINITY;
    *rows = 0;
    for (size_t i = 0; i < c->n_mark; i++) {
        double w = text_width_px(c->mark[i].label, SMALL_PX), x = frame_px(f, c->mark[i].x);
        int r = 0;
        row_of[i] = -1;
        if (!mark_shown(f, &c->mark[i]))
            continue;
        while (r < MAX_MARK_ROWS && x - w / 2 < end[r] + 8)
            r++;
        if (r == MAX_MARK_ROWS) {
            strbuf_addf(notes, "no room for the name of the mark \"%s\"\n", c->mark[i].label);
            continue;
        }
        end[r] = x + w / 2;
        row_of[i] = r;
        *rows = r + 1 > *rows ? r + 1 : *rows;
    }
    return 0;
}

static int plan_marks(struct sketch *s, const struct curve_chart *c, const int *row_of, struct error *err)
{
    const struct frame *f = &s->plan.frame;
    for (size_t i = 0; i < c->n_mark; i++) {
        double y = f->top - 10 - MARK_ROW * row_of[i];
        if (row_of[i] < 0)
            continue;
        if (add(s, TEXT_FAINT, SMALL_PX, frame_px(f, c->mark[i].x), y, 'c', 0, c->mark[i].label, err) != 0)
            return -1;
    }
    return 0;
}

static int plan_axis_titles(struct sketch *s, const struct curve_chart *c, struct error *err)
{
    const struct frame *f = &s->plan.frame;
    if (add(s, TEXT_PLAIN, 13, (f->left + f->right) / 2, f->bottom + 44, 'c', 0, c->x.title, err) != 0)
        return -1;
    return add(s, TEXT_PLAIN, 13, 22, (f->top + f->bottom) / 2, 'c', 90, c->y.title, err);
}

static int plan_legend(struct sketch *s, const struct curve_chart *c, double *y, struct error *err)
{
    const struct frame *f = &s->plan.frame;
    double x = f->left;
    *y = f->bottom + 76;
    for (size_t i = 0; i < c->n_series; i++) {
        char text[WRAP_LINE];
        if (s->sample[i].x < 0) /* the name stands on its line */
            continue;
        snprintf(text, sizeof text, "%s", c->series[i].label);
        text_fit(text, TEXT_PX, f->width - f->left - SAMPLE_W - 30);
        double w = SAMPLE_W + text_width_px(text, TEXT_PX) + 24;
        if (x > f->left && x + w > f->width - 10) {
            x = f->left;
            *y += 20;
        }
        s->sample[i] = (struct sample){ x, *y };
        if (add(s, TEXT_PLAIN, TEXT_PX, x + SAMPLE_W, *y, 'l', 0, text, err) != 0)
            return -1;
        x += w;
    }
    *y += 24;
    return 0;
}

/* Of the column "line": 0 points, 1 a line through points, 2 with bands in place of bars, 3 a line with few markers, 4 a roof, 5 a band. */
static int line_kind(const struct chart_series *s)
{
    return s->bare ? 5 : s->roof ? 4 : s->smooth ? 3 : s->band ? 2 : s->line;
}

enum { N_COLORS = 7, MARKERS = 8 }; /* colours of a template; markers of a long line */

/* Every n-th point of a line has a marker; n. */
static size_t marker_step(const struct chart_series *s)
{
    return s->smooth && s->n_point > MARKERS ? s->n_point / MARKERS : 1;
}

/* Curves and points, so that no text lies on them. */
static void fill_scene(struct sketch *s, const struct curve_chart *c)
{
    const struct frame *f = &s->plan.frame;
    struct scene *sc = &s->scene;
    sc->x0 = f->left + 4;
    sc->x1 = f->right - 4;
    sc->y0 = f->top + 4;
    sc->y1 = f->bottom - 4;
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n_point; k++) {
            const struct hw_point *p = &c->series[i].point[k], *q = k ? p - 1 : NULL;
            if (in_frame(f, p) && line_kind(&c->series[i]) < 4 && k % marker_step(&c->series[i]) == 0)
                scene_add_disc(sc, (struct disc){ frame_px(f, p->x), frame_py(f, p->value), MARKER_PX, c->series[i].shows_name ? (int)(i * 4096 + k) : DISC_NONE });
            if (c->series[i].shows_name && isfinite(p->ci_lo) && isfinite(p->ci_hi) && in_frame(f, p))
                scene_add_line(sc, (struct segment){ frame_px(f, p->x), frame_py(f, fmax(p->ci_lo, f->y_lo)), frame_px(f, p->x), frame_py(f, fmin(p->ci_hi, f->y_hi)) });
            if (q && line_kind(&c->series[i]) > 0 && line_kind(&c->series[i]) < 5 && in_frame(f, p) && in_frame(f, q))
                scene_add_line(sc, (struct segment){ frame_px(f, q->x), frame_py(f, q->value), frame_px(f, p->x), frame_py(f, p->value) });
        }
    for (size_t i = 0; i < c->n_mark; i++)
        if (mark_shown(f, &c->mark[i]))
            scene_add_line(sc, (struct segment){ frame_px(f, c->mark[i].x), f->top, frame_px(f, c->mark[i].x), f->bottom });
}

static bool level_shown(const struct frame *f, const struct chart_level *l)
{
    return l->y > f->y_lo && l->y < f->y_hi;
}

/* On its line, as far right as is free; smaller if necessary. */
static int plan_levels(struct sketch *s, const struct curve_chart *c, struct strbuf *notes, struct error *err)
{
    const struct frame *f = &s->plan.frame;
    for (size_t i = 0; i < c->n_level; i++) {
        const struct chart_level *l = &c->level[i];
        struct segment line = { f->left, frame_py(f, l->y), f->right, frame_py(f, l->y) };
        struct placement at = { .n_line = 1, .size_px = SMALL_PX, .w_px = text_width_px(l->label, SMALL_PX) };
        if (!level_shown(f, l))
            continue;
        if (!place_along(&s->scene, &line, 1, &at)) {
            strbuf_addf(notes, "no room for the name of the roof \"%s\"\n", l->label);
            continue;
        }
        scene_add_placement(&s->scene, &at);
        struct plan_text t = { .x = at.x, .y = at.y, .size_px = at.size_px, .align = 'c', .in_plot = true, .role = TEXT_ROOF_INNER };
        if (plan_add_text(&s->plan, &t, l->label, err) != 0)
            return -1;
    }
    return 0;
}

/* The chord from point a of a roof to the farthest one between which the line is straight. */
static struct segment chord(const struct frame *f, const struct chart_series *s, size_t a, size_t *last)
{
    struct segment best = { 0 };
    const double x0 = frame_px(f, s->point[a].x), y0 = frame_py(f, s->point[a].value);
    *last = a;
    for (size_t b = a + 1; b < s->n_point && in_frame(f, &s->point[b]); b++) {
        const double x1 = frame_px(f, s->point[b].x), y1 = frame_py(f, s->point[b].value);
        for (size_t k = a + 1; k < b; k++)
            if (fabs(y0 + (y1 - y0) * (frame_px(f, s->point[k].x) - x0) / (x1 - x0) - frame_py(f, s->point[k].value)) > 2.5)
                return best;
        best = (struct segment){ x0, y0, x1, y1 };
        *last = b;
    }
    return best;
}

/* The name of a limit along its line where there is room, else in the legend. */
static int plan_roof_name(struct sketch *s, const struct chart_series *v, struct sample *sample, struct error *err)
{
    const struct frame *f = &s->plan.frame;
    struct placement best = { .cost = INFINITY };
    for (size_t a = 0; a + 1 < v->n_point; a++) {
        size_t last;
        struct placement at = { .n_line = 1, .size_px = SMALL_PX, .w_px = text_width_px(v->label, SMALL_PX) };
        if (!in_frame(f, &v->point[a]))
            continue;
        const struct segment l = chord(f, v, a, &last);
        if (last > a && hypot(l.x1 - l.x0, l.y1 - l.y0) > at.w_px + 10 && place_along(&s->scene, &l, 1, &at) && at.cost < best.cost)
            best = at;
    }
    if (!best.placed)
        return 0;
    scene_add_placement(&s->scene, &best);
    sample->x = -1;
    struct plan_text t = { .x = best.x, .y = best.y, .size_px = best.size_px, .angle = best.angle, .align = 'c', .in_plot = true, .role = TEXT_ROOF };
    return plan_add_text(&s->plan, &t, v->label, err);
}

/* Names next to points, as many as have room. */
static int plan_names(struct sketch *s, const struct curve_chart *c, struct error *err)
{
    const struct frame *f = &s->plan.frame;
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; c->series[i].shows_name && k < c->series[i].n_point; k++) {
            const struct hw_point *p = &c->series[i].point[k];
            const char *name = c->series[i].name[k];
            const struct disc at = { frame_px(f, p->x), frame_py(f, p->value), MARKER_PX, (int)(i * 4096 + k) };
            struct placement place = { .n_line = 1, .size_px = SMALL_PX, .w_px = text_width_px(name, SMALL_PX) };
            if (!c->series[i].shows_name[k] || !*name || !has_place(f, p->x, p->value) || !in_frame(f, p) || !place_next_to(&s->scene, &at, &place) || place.has_leader)
                continue;
            scene_add_placement(&s->scene, &place);
            struct plan_text t = { .x = place.x, .y = place.y, .size_px = place.size_px, .align = 'c', .in_plot = true, .role = TEXT_PLAIN };
            if (plan_add_text(&s->plan, &t, name, err) != 0)
                return -1;
        }
    return 0;
}

/* "outside the axes: read 1t (2 of 40 points)" */
static void count_outside(const struct frame *f, const struct curve_chart *c, struct strbuf *b)
{
    for (size_t i = 0; i < c->n_series; i++) {
        size_t n = 0;
        for (size_t k = 0; k < c->series[i].n_point; k++)
            n += !in_frame(f, &c->series[i].point[k]);
        if (n)
            strbuf_addf(b, "%s%s (%zu of %zu points)", b->len ? ", " : "Outside the frame: ", c->series[i].label, n,
                        c->series[i].n_point);
    }
}

static int plan_below(struct sketch *s, const struct curve_chart *c, struct strbuf *notes, struct error *err)
{
    double y;
    struct strbuf outside = { 0 };
    if (plan_legend(s, c, &y, err) != 0)
        return -1;
    count_outside(&s->plan.frame, c, &outside);
    if (outside.len)
        strbuf_addf(notes, "%s\n", outside.s);
    int rc = plan_paragraph(&s->plan, c->caption, SMALL_PX, 4, &y, err);
    rc = rc ? rc : plan_paragraph(&s->plan, outside.len ? outside.s : "", SMALL_PX, 2, &y, err);
    rc = rc == 0 && outside.oom ? error_oom(err, outside.len, "a caption") : rc;
    strbuf_free(&outside);
    s->plan.frame.height = ceil(y);
    return rc;
}

static int plan_curves(struct sketch *s, const struct curve_chart *c, struct strbuf *notes, struct error *err)
{
    struct frame *f = &s->plan.frame;
    double y;
    int rows = 0, *row_of = calloc(c->n_mark + 1, sizeof *row_of);
    s->sample = calloc(c->n_series + 1, sizeof *s->sample);
    if (!row_of || !s->sample) {
        free(row_of);
        return error_oom(err, (c->n_series + c->n_mark) * sizeof *s->sample, "a chart");
    }
    int rc = frame_init(f, c, err);
    rc = rc ? rc : plan_heading(&s->plan, c->title, c->subtitle, &y, err);
    rc = rc ? rc : place_marks(s, c, &rows, row_of, notes);
    if (rc == 0) {
        f->top = y + 6 + MARK_ROW * rows;
        f->bottom = f->top + PLOT_H;
        fill_scene(s, c);
        rc = plan_marks(s, c, row_of, err);
    }
    rc = rc ? rc : plan_axis_titles(s, c, err);
    rc = rc ? rc : plan_levels(s, c, notes, err);
    for (size_t i = 0; i < c->n_series && rc == 0; i++)
        if (c->series[i].roof)
            rc = plan_roof_name(s, &c->series[i], &s->sample[i], err);
    rc = rc ? rc : plan_names(s, c, err);
    rc = rc ? rc : plan_below(s, c, notes, err);
    free(row_of);
    return rc == 0 && s->scene.oom ? error_oom(err, 4096, "chart layout") : rc;
}

/* ---- data --------------------------------------------------------------------------------------- */

static void points_tsv(struct strbuf *b, const struct curve_chart *c, const struct frame *f)
{
    strbuf_adds(b, "series\tx\tvalue\tci_lo\tci_hi\tn_samples\tin_frame\tline\tname\tlabel\n");
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n_point; k++) {
            const struct hw_point *p = &c->series[i].point[k];
            size_t name = (size_t)lround(p->x);
            strbuf_addf(b, "%zu\t", i + 1);
            script_add_value(b, p->x);
            script_add_value(b, p->value);
            script_add_value(b, p->ci_lo);
            script_add_value(b, p->ci_hi);
            strbuf_addf(b, "%d\t%d\t%d\t", p->n_samples, has_place(f, p->x, p->value) && in_frame(f, p), line_kind(&c->series[i]));
            if (c->x.scale == AXIS_NAMES && name >= 1 && name <= c->x.n_name)
                script_add_clean(b, c->x.name[name - 1], false);
            strbuf_adds(b, "\t");
            script_add_clean(b, c->series[i].label, false);
            strbuf_adds(b, "\n");
        }
}

static void lines_tsv(struct strbuf *b, const struct curve_chart *c, const struct frame *f)
{
    strbuf_adds(b, "kind\tvalue\tin_frame\tseries\tspec\tlabel\n");
    for (size_t i = 0; i < c->n_mark; i++) {
        strbuf_adds(b, "mark\t");
        script_add_value(b, c->mark[i].x);
        strbuf_addf(b, "%d\t0\t0\t", mark_shown(f, &c->mark[i]));
        script_add_clean(b, c->mark[i].label, false);
        strbuf_adds(b, "\n");
    }
    for (size_t i = 0; i < c->n_level; i++) {
        const struct chart_level *l = &c->level[i];
        strbuf_adds(b, "roof\t");
        script_add_value(b, l->y);
        strbuf_addf(b, "%d\t%d\t%d\t", level_shown(f, l), l->series + 1, l->spec);
        script_add_clean(b, l->label, false);
        strbuf_adds(b, "\n");
    }
}

/* ---- script ------------------------------------------------------------------------------------- */

/* 4 KiB, 16 KiB, ...; 1, 2, 4: at most a dozen, unlabelled ticks at the powers of two between. */
static void add_powers(struct strbuf *b, const char *axis, const struct chart_axis *a)
{
    int lo = (int)ceil(log2(a->lo) - 1e-9), hi = (int)floor(log2(a->hi) + 1e-9), step = 1;
    while ((hi - lo) / step > 12)
        step++;
    strbuf_addf(b, "set %stics (", axis);
    for (int e = lo; e <= hi; e++) {
        bool named = (e - lo) % step == 0;
        if (!named)
            strbuf_addf(b, "%s'' %.17g 1", e > lo ? ", " : "", exp2(e));
        else if (a->scale == AXIS_BYTES && e >= 0)
            strbuf_addf(b, "%s'%.0f %sB' %.17g", e > lo ? ", " : "", exp2(e % 10),
                        ((const char *[]){ "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" })[e / 10 < 7 ? e / 10 : 6], exp2(e));
        else
            strbuf_addf(b, "%s'%.10g' %.17g", e > lo ? ", " : "", exp2(e), exp2(e));
    }
    strbuf_adds(b, ")\n");
}

static void add_names(struct strbuf *b, const char *axis, const struct chart_axis *a)
{
    strbuf_addf(b, "set %stics (", axis);
    for (size_t i = 0; i < a->n_name; i++) {
        strbuf_adds(b, i ? ", " : "");
        script_add_string(b, a->name[i]);
        strbuf_addf(b, " %zu", i + 1);
    }
    strbuf_addf(b, ")%s\n", a->n_name > 14 ? " rotate by -35" : "");
}

static void add_tics(struct strbuf *b, const char *axis, const struct chart_axis *a)
{
    switch (a->scale) {
    case AXIS_DECADES:
        script_add_decades(b, axis, a->lo, a->hi, a->unit);
        return;
    case AXIS_BYTES:
    case AXIS_COUNT:
        add_powers(b, axis, a);
        return;
    case AXIS_LINEAR:
        script_add_linear(b, axis, a);
        return;
    case AXIS_NAMES:
        add_names(b, axis, a);
        return;
    }
}

/* Line styles of all series. Marker n - 1 is marker n hollow; series beyond the colours are dashed. */
static void add_styles(struct strbuf *b, const struct curve_chart *c)
{
    int n_roof = 0;
    size_t k = 0;
    for (size_t i = 0; i < c->n_series; i++) {
        const struct chart_series *s = &c->series[i];
        if (s->roof) {
            strbuf_addf(b, "set style line %zu lc rgb roof_color lw 1.5 dt %s\n", i + 1, n_roof++ % 2 ? "(2,3)" : "(8,5)");
            continue;
        }
        const size_t color = s->like ? s->like : ++k;
        strbuf_addf(b, "set style line %zu lc rgb color(%zu) lw 1.8 dt %s pt mark(%zu)%s ps 0.75 pi %zu\n", i + 1, color,
                    s->like || color > N_COLORS ? "(6,4)" : "1", color, s->like ? "-1" : "", marker_step(s));
    }
}

static void add_band_sample(struct strbuf *b, const struct frame *f, const struct sample *at, size_t style)
{
    strbuf_addf(b, "set object rectangle from screen %.6g, %.6g to screen %.6g, %.6g fc ls %zu fs transparent solid 0.15 noborder\n", at->x / f->width,
                1 - (at->y - 6) / f->height, (at->x + SAMPLE_W - 8) / f->width, 1 - (at->y + 6) / f->height, style);
}

static void add_samples(struct strbuf *b, const struct sketch *s, const struct curve_chart *c)
{
    const struct frame *f = &s->plan.frame;
    for (size_t i = 0; i < c->n_series; i++) {
        const struct sample *at = &s->sample[i];
        if (at->x < 0)
            continue;
        if (c->series[i].bare) {
            add_band_sample(b, f, at, i + 1);
        } else if (line_kind(&c->series[i]) > 0) {
            strbuf_adds(b, "set arrow from ");
            script_add_position(b, f, at->x, at->y, false);
            strbuf_adds(b, " to ");
            script_add_position(b, f, at->x + SAMPLE_W - 8, at->y, false);
            strbuf_addf(b, " nohead ls %zu\n", i + 1);
        }
        if (line_kind(&c->series[i]) >= 4)
            continue;
        strbuf_adds(b, "set label '' at ");
        script_add_position(b, f, at->x + (SAMPLE_W - 8) / 2, at->y, false);
        strbuf_addf(b, " point ls %zu\n", i + 1);
    }
}

static int build_script(struct strbuf *b, const struct sketch *s, const struct curve_chart *c, const struct chart_out *o,
                        struct error *err)
{
    const struct frame *f = &s->plan.frame;
    struct strbuf texts = { 0 };
    add_tics(&texts, "x", &c->x);
    add_tics(&texts, "y", &c->y);
    for (size_t i = 0; i < s->plan.n_text; i++)
        script_add_label(&texts, f, &s->plan.text[i], script_role_color(s->plan.text[i].role));
    strbuf_addf(&texts, "array IS_LINE[%zu] # in the picture of characters\n", c->n_series);
    for (size_t i = 0; i < c->n_series; i++)
        strbuf_addf(&texts, "IS_LINE[%zu] = %d\n", i + 1, line_kind(&c->series[i]) > 0);
    add_styles(&texts, c);
    add_samples(&texts, s, c);
    const char **name = calloc(c->n_series + 1, sizeof *name);
    if (!name) {
        strbuf_free(&texts);
        return error_oom(err, c->n_series * sizeof *name, "a chart's names");
    }
    for (size_t i = 0; i < c->n_series; i++)
        name[i] = c->series[i].label;
    const struct chart_words words = { c->title, c->x.title, c->y.title, !f->x_linear, !f->y_linear, c->n_series, name };
    script_add_prologue(b, o, f, &words);
    int rc = script_add_style(b, c->style, &texts, err);
    free(name);
    strbuf_free(&texts);
    return rc;
}

/* "48 KiB" */
static void say_bytes(char *buf, size_t n, double v)
{
    static const char *const prefix[] = { "", "Ki", "Mi", "Gi", "Ti" };
    size_t i = 0;
    for (; v >= 1024 && i + 1 < ARRAY_LEN(prefix); i++)
        v /= 1024;
    snprintf(buf, n, "%.4g %sB", v, prefix[i]);
}

/* A value of an axis in its unit: "4 KiB", "1.2 GB/s", "17". */
static const char *say_value(char *buf, size_t n, const struct chart_axis *a, double v)
{
    const size_t name = (size_t)lround(v);
    if (a->scale == AXIS_NAMES && name >= 1 && name <= a->n_name)
        snprintf(buf, n, "%s", a->name[name - 1]);
    else if (a->scale == AXIS_BYTES)
        say_bytes(buf, n, v);
    else if (*a->unit)
        units_si(buf, n, v, a->unit);
    else
        snprintf(buf, n, "%.4g", v);
    return buf;
}

/* "h100-sxm, batch 8: 1.2 GB/s (1.1 GB/s to 1.3 GB/s)" */
static int add_tips(struct chart_out *o, const struct curve_chart *c, const struct frame *f, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n_point && rc == 0; k++) {
            const struct chart_series *s = &c->series[i];
            const struct hw_point *p = &s->point[k];
            char text[200], x[40], y[40], lo[40], hi[40], range[96] = "";
            if (!has_place(f, p->x, p->value) || !in_frame(f, p) || s->roof || s->bare)
                continue;
            if (isfinite(p->ci_lo) && isfinite(p->ci_hi))
                snprintf(range, sizeof range, " (%s to %s)", say_value(lo, sizeof lo, &c->y, p->ci_lo), say_value(hi, sizeof hi, &c->y, p->ci_hi));
            snprintf(text, sizeof text, "%s%s%s, %s: %s%s", s->name ? s->name[k] : "", s->name ? ", " : "", s->label, say_value(x, sizeof x, &c->x, p->x),
                     say_value(y, sizeof y, &c->y, p->value), range);
            rc = chart_out_tip(o, frame_px(f, p->x), frame_py(f, p->value), text, err);
        }
    return rc;
}

static int write_data(const struct sketch *s, const struct curve_chart *c, const struct chart_out *o, struct error *err)
{
    struct strbuf points = { 0 }, lines = { 0 }, script = { 0 };
    points_tsv(&points, c, &s->plan.frame);
    lines_tsv(&lines, c, &s->plan.frame);
    int rc = build_script(&script, s, c, o, err);
    rc = rc ? rc : chart_write(o, ".tsv", &points, err);
    rc = rc ? rc : chart_write(o, ".roofs.tsv", &lines, err);
    rc = rc ? rc : chart_write(o, ".gp", &script, err);
    strbuf_free(&points);
    strbuf_free(&lines);
    strbuf_free(&script);
    return rc;
}

int chart_curves(const struct curve_chart *c, const char *out_base, struct strbuf *notes, struct error *err)
{
    struct chart_out o;
    struct sketch s = { 0 };
    if (c->n_series == 0)
        return error_set(err, ERROR_INPUT, "the chart has no curve");
    if (chart_out_init(&o, out_base, c->formats, err) != 0)
        return -1;
    int rc = plan_curves(&s, c, notes, err);
    o.style = c->style;
    o.title = c->title;
    o.description = c->subtitle;
    rc = rc ? rc : add_tips(&o, c, &s.plan.frame, err);
    rc = rc ? rc : write_data(&s, c, &o, err);
    rc = rc ? rc : chart_draw(&o, err);
    sketch_free(&s);
    chart_out_free(&o);
    return rc;
}
