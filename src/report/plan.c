/*
 * The roofline chart's layout. gnuplot cannot avoid overlapping texts, so the plot area is fixed in pixels here, which
 * determines every position and the angle of every roof.
 */
#include "report/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLOT_W    960.0
#define PLOT_H    520.0
#define MARKER_PX 5.5 /* radius when a point has no share of time */

/* ---- frame -------------------------------------------------------------------------- */

/* Position of v between lo and hi, 0 to 1, and its inverse. */
static double along(double v, double lo, double hi, bool linear)
{
    return linear ? (v - lo) / (hi - lo) : log10(v / lo) / log10(hi / lo);
}

static double at(double t, double lo, double hi, bool linear)
{
    return linear ? lo + t * (hi - lo) : lo * pow(hi / lo, t);
}

double frame_px(const struct frame *f, double ai)
{
    return f->left + (f->right - f->left) * along(ai, f->x_lo, f->x_hi, f->x_linear);
}

double frame_py(const struct frame *f, double flop_s)
{
    return f->bottom - (f->bottom - f->top) * along(flop_s, f->y_lo, f->y_hi, f->y_linear);
}

double frame_ai(const struct frame *f, double px)
{
    return at((px - f->left) / (f->right - f->left), f->x_lo, f->x_hi, f->x_linear);
}

double frame_flop_s(const struct frame *f, double py)
{
    return at((f->bottom - py) / (f->bottom - f->top), f->y_lo, f->y_hi, f->y_linear);
}

static double decade(double exponent)
{
    return pow(10, exponent);
}

/*
 * x: from the leftmost ridge / 64 to the rightmost * 64, at the nearest decade, and always
 * 0.05 to 10,000 so that decode (0.5 to 4 FLOP/byte for F32 to 4 bits, 1/12 for an addition
 * of F32 vectors) and prompts (512 tokens by 4 bits: 1,800) are in sight on any machine. y: from the decade under what the slowest
 * memory allows at the left edge to a decade at least a third above the highest peak. doc/notes/charts.md
 */
int frame_from_roofs(struct frame *f, const struct chart_roof *roof, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        double v = isnan(roof[i].bytes_s) ? roof[i].flop_s : roof[i].bytes_s;
        if (!isfinite(v) || v < 1 || v > 1e24)
            return error_set(err, ERROR_INPUT,
                             "roof \"%s\": expected 1 to 1e24 B/s or FLOP/s, found %g",
                             roof[i].label, v);
    }
    struct span s = roofs_span(roof, n, -1, -1);
    if (s.n_bw + s.n_flop == 0)
        return error_set(err, ERROR_INPUT, "the chart has no roof: nothing to draw its frame from");
    double lo = log10(0.05), hi = 4;
    if (s.n_bw && s.n_flop) {
        lo = fmin(lo, round(log10(s.flop_lo / s.bw_hi / 64)));
        hi = fmax(hi, round(log10(s.flop_hi / s.bw_lo * 64)));
    }
    f->x_lo = decade(lo);
    f->x_hi = decade(hi);
    double top = s.n_flop ? s.flop_hi : s.bw_hi * f->x_hi / 8;
    double bottom = s.n_bw ? s.bw_lo * f->x_lo / 1.2 : s.flop_lo / 1e4;
    f->y_hi = decade(ceil(log10(top * 1.3)));
    f->y_lo = decade(fmin(floor(log10(bottom)), log10(f->y_hi) - 2));
    return 0;
}

/* ---- texts
 * ------------------------------------------------------------------------------------ */

int plan_add_text(struct plan *p, const struct plan_text *t, const char *text, struct error *err)
{
    if (p->n_text == p->cap_text) {
        size_t cap = p->cap_text ? 2 * p->cap_text : 64;
        struct plan_text *v = realloc(p->text, cap * sizeof *v);
        if (!v)
            return error_oom(err, cap * sizeof *v, "chart texts");
        p->text = v;
        p->cap_text = cap;
    }
    struct plan_text *to = &p->text[p->n_text++];
    *to = *t;
    size_t n = strnlen(text, sizeof to->text - 1);
    memcpy(to->text, text, n);
    to->text[n] = 0;
    return 0;
}

int wrap_text(const char *text, double size_px, double w_px, char (*line)[WRAP_LINE], int max_lines,
              bool *cut)
{
    int n = 0;
    *cut = false;
    while (*text == ' ')
        text++;
    while (*text && n < max_lines) {
        size_t take = 0;
        for (size_t i = 1; i < WRAP_LINE - 4; i++) {
            if (text[i - 1] == 0)
                break;
            if (text[i] != ' ' && text[i] != 0)
                continue;
            memcpy(line[n], text, i);
            line[n][i] = 0;
            if (take && text_width_px(line[n], size_px) > w_px)
                break;
            take = i;
        }
        bool last = n == max_lines - 1;
        if (!take || (last && strlen(text) > take)) /* one long word, or no line left: cut it */
            take = strnlen(text, WRAP_LINE - 4);
        memcpy(line[n], text, take);
        line[n][take] = 0;
        size_t before = take;
        if (last && text[take]) /* more than a line can hold: make it end in dots */
            memcpy(line[n] + take, "...", 4);
        text_fit(line[n], size_px, w_px);
        *cut |= strlen(line[n]) != before;
        n++;
        text += take;
        while (*text == ' ')
            text++;
    }
    return n;
}

/* ---- points
 * ----------------------------------------------------------------------------------------
 */

int point_level(const char *phase)
{
    static const char *const levels[] = { "L1", "L2", "L3", "DRAM" };
    for (int i = 0; i < 4; i++)
        if (strcmp(phase, levels[i]) == 0)
            return i;
    return -1;
}

enum text_role phase_role(const char *phase)
{
    return strcmp(phase, "decode") == 0    ? TEXT_DECODE
           : strcmp(phase, "prefill") == 0 ? TEXT_PREFILL
           : point_level(phase) >= 0       ? TEXT_PLAIN
                                           : TEXT_OTHER;
}

/* A triangle or a diamond extends beyond the circle of its size. */
double point_reach_px(const struct roofline_chart *c, const struct plan *p, size_t i)
{
    const int level = point_level(c->point[i].phase);
    bool round = level >= 0 ? level == 3 : phase_role(c->point[i].phase) != TEXT_PREFILL && !c->point[i].counted;
    return p->radius_px[i] * (round ? 1.12 : 1.45);
}

static bool in_frame(const struct frame *f, const struct chart_point *q)
{
    return q->ai >= f->x_lo && q->ai <= f->x_hi && q->flop_s >= f->y_lo && q->flop_s <= f->y_hi;
}

/* Area grows with the share of time. */
static double marker_radius(double share)
{
    return isnan(share) ? MARKER_PX : 3.5 + 10 * sqrt(fmin(1, fmax(0, share)));
}

bool point_has_place(const struct chart_point *q)
{
    return q->ai > 0 && isfinite(q->ai) && q->flop_s > 0 && isfinite(q->flop_s);
}

size_t point_before(const struct roofline_chart *c, const struct plan *p, size_t i)
{
    size_t k = i;
    if (c->point[i].pair > 0 && p->in_frame[i])
        return p->in_frame[c->point[i].pair - 1] ? c->point[i].pair - 1 : i;
    if (!c->point[i].join || !p->in_frame[i])
        return i;
    while (k > 0)
        if (k--, c->point[k].pair == 0 && strcmp(c->by_level ? c->point[k].label : c->point[k].phase, c->by_level ? c->point[i].label : c->point[i].phase) == 0)
            return p->in_frame[k] ? k : i;
    return i;
}

size_t label_stem(const char *label)
{
    size_t n = strlen(label), digits = n;
    while (digits > 0 && label[digits - 1] >= '0' && label[digits - 1] <= '9')
        digits--;
    return digits < n && digits > 1 && label[digits - 1] == '.' ? digits - 1 : n;
}

bool same_stem(const char *a, const char *b)
{
    size_t n = label_stem(a);
    return n == label_stem(b) && strncmp(a, b, n) == 0;
}

void points_without_place(const struct roofline_chart *c, struct strbuf *b)
{
    for (size_t i = 0; i < c->n_point; i++) {
        const char *label = c->point[i].label;
        bool seen = point_has_place(&c->point[i]);
        for (size_t j = 0; j < i && !seen; j++)
            seen = !point_has_place(&c->point[j]) && same_stem(c->point[j].label, label);
        if (!seen)
            strbuf_addf(b, "%s%.*s", b->len ? ", " : "No FLOP, so no place on these axes: ",
                        (int)label_stem(label), label);
    }
}

/* Points within 2 px share one marker with the area of their total time: the first keeps it, the others' radius is 0. */
static void merge_markers(struct plan *p, const struct roofline_chart *c)
{
    for (size_t i = 0; i < c->n_point; i++) {
        const struct chart_point *a = &c->point[i];
        double weight = a->weight;
        if (!p->in_frame[i] || p->radius_px[i] == 0)
            continue;
        for (size_t j = i + 1; j < c->n_point; j++) {
            const struct chart_point *b = &c->point[j];
            if (!p->in_frame[j] || p->radius_px[j] == 0 ||
                strcmp(a->phase, b->phase) != 0 || a->predicted != b->predicted ||
                a->counted != b->counted ||
                hypot(frame_px(&p->frame, a->ai) - frame_px(&p->frame, b->ai),
                      frame_py(&p->frame, a->flop_s) - frame_py(&p->frame, b->flop_s)) > 2)
                continue;
            weight = isnan(weight) ? b->weight : weight + (isnan(b->weight) ? 0 : b->weight);
            p->radius_px[j] = 0;
        }
        p->radius_px[i] = marker_radius(weight);
    }
}

/* Size and visibility of each point; points outside the frame are named, never moved into it. */
static int plan_points(struct plan *p, const struct roofline_chart *c, struct strbuf *notes,
                       struct error *err)
{
    p->in_frame = calloc(c->n_point + 1, sizeof *p->in_frame);
    p->radius_px = calloc(c->n_point + 1, sizeof *p->radius_px);
    if (!p->in_frame || !p->radius_px)
        return error_oom(err, c->n_point * sizeof(double), "chart points");
    for (size_t i = 0; i < c->n_point; i++) {
        const struct chart_point *q = &c->point[i];
        p->radius_px[i] = marker_radius(q->weight);
        p->in_frame[i] = in_frame(&p->frame, q);
        if (p->in_frame[i])
            continue;
        char rate[48];
        if (point_has_place(q))
            strbuf_addf(notes, "outside the frame: %s%s%s%s: %.3g FLOP/byte, %s\n",
                        q->label, *q->phase ? " (" : "", q->phase, *q->phase ? ")" : "", q->ai,
                        units_si(rate, sizeof rate, q->flop_s, "FLOP/s"));
    }
    merge_markers(p, c);
    struct strbuf none = { 0 };
    points_without_place(c, &none);
    if (none.len)
        strbuf_addf(notes, "%s\n", none.s);
    notes->oom |= none.oom;
    strbuf_free(&none);
    return 0;
}

static void plan_scene(const struct plan *p, const struct roofline_chart *c, struct scene *s)
{
    const struct frame *f = &p->frame;
    s->x0 = f->left + 4;
    s->x1 = f->right - 4;
    s->y0 = f->top + 4;
    s->y1 = f->bottom - 4;
    for (size_t i = 0; i < c->n_roof; i++)
        scene_add_line(s, roof_segment(f, &p->roof[i]));
    for (size_t i = 0; i < c->n_point; i++) {
        const size_t k = point_before(c, p, i);
        if (k != i)
            scene_add_line(s, (struct segment){ frame_px(f, c->point[k].ai), frame_py(f, c->point[k].flop_s),
                                                frame_px(f, c->point[i].ai), frame_py(f, c->point[i].flop_s) });
    }
    for (size_t i = 0; i < c->n_point; i++)
        if (p->in_frame[i] && p->radius_px[i] > 0)
            scene_add_disc(s, (struct disc){ frame_px(f, c->point[i].ai),
                                             frame_py(f, c->point[i].flop_s),
                                             point_reach_px(c, p, i), DISC_NONE });
    for (size_t i = 0; i < p->n_ridge; i++)
        scene_add_disc(
            s, (struct disc){ frame_px(f, p->ridge_ai[i]), frame_py(f, p->ridge_flop_s[i]), 3, DISC_NONE });
}

int plan_roofline(struct plan *p, const struct roofline_chart *c, struct strbuf *notes,
                  struct error *err)
{
    *p = (struct plan){ 0 };
    struct scene s = { 0 };
    struct frame *f = &p->frame;
    if (frame_from_roofs(f, c->roof, c->n_roof, err) != 0)
        return -1;
    f->left = 96;
    f->right = f->left + PLOT_W;
    f->top = 96;
    f->bottom = f->top + PLOT_H;
    f->width = f->right + 32;
    p->roof = calloc(c->n_roof, sizeof *p->roof);
    if (!p->roof) {
        error_oom(err, c->n_roof * sizeof *p->roof, "roofs");
        goto fail;
    }
    for (size_t i = 0; i < c->n_roof; i++)
        plan_roof(&p->roof[i], c, f, i);
    if (plan_ridges(p, c, err) != 0 || plan_points(p, c, notes, err) != 0)
        goto fail;
    plan_scene(p, c, &s);
    if (plan_roof_labels(p, c, &s, notes, err) != 0 || plan_ridge_labels(p, &s, notes, err) != 0 ||
        plan_point_labels(p, c, &s, notes, err) != 0 || plan_edges(p, c, &s, err) != 0 || plan_margins(p, c, err) != 0)
        goto fail;
    if (s.oom) {
        error_set(err, ERROR_SYSTEM, "out of memory: chart layout");
        goto fail;
    }
    scene_free(&s);
    return 0;
fail:
    scene_free(&s);
    plan_free(p);
    return -1;
}

void plan_free(struct plan *p)
{
    free(p->roof);
    free(p->in_frame);
    free(p->radius_px);
    free(p->ridge_ai);
    free(p->ridge_flop_s);
    free(p->text);
    free(p->leader);
    free(p->leader_role);
    free(p->edge);
    free(p->edge_role);
    *p = (struct plan){ 0 };
}
