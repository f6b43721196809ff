/* Margins of a chart: title, subtitle, axis titles, legend, points outside the frame. */
#include "report/plan.h"
#include <math.h>
#include <string.h>

#define TITLE_PX  18.0
#define SMALL_PX  12.0
#define LEGEND_PX 12.0

static int add(struct plan *p, enum text_role role, double size_px, double x, double y, char align,
               double angle, const char *text, struct error *err)
{
    struct plan_text t = {
        .x = x, .y = y, .size_px = size_px, .angle = angle, .align = align, .role = role
    };
    return plan_add_text(p, &t, text, err);
}

static int titles(struct plan *p, const struct roofline_chart *c, struct error *err)
{
    const struct frame *f = &p->frame;
    double w = f->width - f->left - 20;
    char title[WRAP_LINE], line[2][WRAP_LINE];
    bool cut;
    snprintf(title, sizeof title, "%s", c->title);
    text_fit(title, TITLE_PX, w);
    if (add(p, TEXT_TITLE, TITLE_PX, f->left, 28, 'l', 0, title, err) != 0)
        return -1;
    int n = wrap_text(c->subtitle, SMALL_PX, w, line, 2, &cut);
    for (int i = 0; i < n; i++)
        if (add(p, TEXT_FAINT, SMALL_PX, f->left, 54 + 17 * i, 'l', 0, line[i], err) != 0)
            return -1;
    if (add(p, TEXT_PLAIN, 13, (f->left + f->right) / 2, f->bottom + 44, 'c', 0,
            "Arithmetic intensity [FLOP/byte]", err) != 0)
        return -1;
    return add(p, TEXT_PLAIN, 13, 26, (f->top + f->bottom) / 2, 'c', 90, "Performance [FLOP/s]",
               err);
}

struct legend {
    double x, y;
    int rows;
};

/* One sample and what it means; a new row when this one is full. */
static int legend_entry(struct plan *p, struct legend *g, int kind, const char *text,
                        struct error *err)
{
    double sample_w = kind < 0 ? 0 : kind == SAMPLE_LINE || kind == SAMPLE_DASHED ? 40 : 18;
    double w = sample_w + text_width_px(text, LEGEND_PX) + 24;
    if (g->x > p->frame.left && g->x + w > p->frame.width - 10) {
        g->x = p->frame.left;
        g->y += 20;
        g->rows++;
    }
    if (kind >= 0 && p->n_sample < ARRAY_LEN(p->sample)) {
        struct plan_sample *s = &p->sample[p->n_sample++];
        s->kind = (unsigned)kind;
        s->x = g->x + (sample_w > 20 ? 0 : 6);
        s->y = g->y;
    }
    int rc = add(p, TEXT_PLAIN, LEGEND_PX, g->x + sample_w, g->y, 'l', 0, text, err);
    g->x += w;
    return rc;
}

/* Contents of the chart, for the legend. */
struct shown {
    bool decode, prefill, other, counted, predicted, measured, weighted, spec, roof;
    bool level[4];
};

static struct shown what_is_shown(const struct plan *p, const struct roofline_chart *c)
{
    struct shown v = { 0 };
    for (size_t i = 0; i < c->n_point; i++) {
        const struct chart_point *q = &c->point[i];
        if (!p->in_frame[i])
            continue;
        enum text_role r = phase_role(q->phase);
        v.counted |= q->counted;
        if (point_level(q->phase) >= 0)
            v.level[point_level(q->phase)] = true;
        v.decode |= r == TEXT_DECODE && !q->counted;
        v.prefill |= r == TEXT_PREFILL && !q->counted;
        v.other |= r == TEXT_OTHER && !q->counted;
        v.predicted |= q->predicted;
        v.measured |= !q->predicted;
        v.weighted |= !isnan(q->weight);
    }
    for (size_t i = 0; i < c->n_roof; i++) {
        v.spec |= c->roof[i].spec;
        v.roof |= !c->roof[i].spec;
    }
    return v;
}

static int legend(struct plan *p, const struct roofline_chart *c, struct legend *g,
                  struct error *err)
{
    struct shown v = what_is_shown(p, c);
    const struct {
        bool show;
        int kind;
        const char *text;
    } entry[] = {
        { v.decode, SAMPLE_DECODE, "decode" },
        { v.prefill, SAMPLE_PREFILL, "prefill" },
        { v.other, SAMPLE_OTHER, "other" },
        { v.level[0], SAMPLE_L1, "L1 (cores)" },
        { v.level[1], SAMPLE_L2, "L2" },
        { v.level[2], SAMPLE_L3, "L3" },
        { v.level[3], SAMPLE_DRAM, "DRAM" },
        { v.counted && !c->by_level, SAMPLE_COUNTED, "bytes from hardware counters" },
        { v.counted && c->by_level, SAMPLE_FULL, "full: bytes from hardware counters" },
        { c->by_level && v.predicted, SAMPLE_HOLLOW, "hollow: bytes from the cache model" },
        { !c->by_level && v.predicted && v.measured, SAMPLE_HOLLOW, "hollow: predicted" },
        { !c->by_level && v.predicted && !v.measured, SAMPLE_HOLLOW, "hollow: predicted, not measured" },
        { v.roof, SAMPLE_LINE, "measured roof" },
        { v.spec, SAMPLE_DASHED, "datasheet roof" },
        { p->n_ridge > 0, SAMPLE_RIDGE, "ridge point, FLOP/byte" },
        { v.weighted, -1, "marker size: share of time" },
    };
    for (size_t i = 0; i < ARRAY_LEN(entry); i++)
        if (entry[i].show && legend_entry(p, g, entry[i].kind, entry[i].text, err) != 0)
            return -1;
    return 0;
}

/* Names of the points outside the frame. */
static void left_out(const struct plan *p, const struct roofline_chart *c, struct strbuf *b)
{
    for (size_t i = 0; i < c->n_point; i++) {
        const struct chart_point *q = &c->point[i];
        if (p->in_frame[i] || !point_has_place(q))
            continue;
        strbuf_addf(b, "%s%s", b->len ? ", " : "Outside the frame: ", q->label);
        if (*q->phase)
            strbuf_addf(b, " (%s)", q->phase);
    }
}

/* A line or two under the legend. */
static int caption(struct plan *p, const struct strbuf *text, double *y, struct error *err)
{
    char line[2][WRAP_LINE];
    bool cut;
    if (text->oom)
        return error_oom(err, text->len, "a caption");
    int n =
        text->len ? wrap_text(text->s, 11, p->frame.width - p->frame.left - 20, line, 2, &cut) : 0;
    for (int i = 0; i < n; i++, *y += 16)
        if (add(p, TEXT_FAINT, 11, p->frame.left, *y, 'l', 0, line[i], err) != 0)
            return -1;
    return 0;
}

int plan_margins(struct plan *p, const struct roofline_chart *c, struct error *err)
{
    struct frame *f = &p->frame;
    struct legend g = { f->left, f->bottom + 76, 1 };
    if (titles(p, c, err) != 0 || legend(p, c, &g, err) != 0)
        return -1;
    struct strbuf outside = { 0 }, none = { 0 };
    double y = g.y + 22;
    left_out(p, c, &outside);
    points_without_place(c, &none);
    int rc = caption(p, &outside, &y, err);
    rc = rc ? rc : caption(p, &none, &y, err);
    strbuf_free(&outside);
    strbuf_free(&none);
    f->height = ceil(y);
    return rc;
}
