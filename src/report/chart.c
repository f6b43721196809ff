/* The roofline chart's files: points and roofs as tab-separated data, a gnuplot script, and
 * its pictures. */
#include "report/draw.h"
#include <math.h>

/* ---- data
 * ---------------------------------------------------------------------------------- */

static void points_tsv(struct strbuf *b, const struct roofline_chart *c, const struct plan *p)
{
    strbuf_adds(b, "ai\tflop_s\tshare\tpredicted\tcounted\tin_frame\tradius_px\tphase\tlabel\n");
    for (size_t i = 0; i < c->n_point; i++) {
        const struct chart_point *q = &c->point[i];
        script_add_value(b, q->ai);
        script_add_value(b, q->flop_s);
        script_add_value(b, q->weight);
        strbuf_addf(b, "%d\t%d\t%d\t%.2f\t", q->predicted, q->counted, p->in_frame[i],
                    p->radius_px[i]);
        strbuf_addf(b, "%s\t", phase_role(q->phase) == TEXT_OTHER ? "other" : q->phase);
        script_add_clean(b, q->label, false);
        strbuf_adds(b, "\n");
    }
}

static void roofs_tsv(struct strbuf *b, const struct roofline_chart *c, const struct plan *p)
{
    strbuf_adds(b, "kind\tvalue\tai_0\tflop_s_0\tai_1\tflop_s_1\tstrong\tspec\tlabel\n");
    for (size_t i = 0; i < c->n_roof; i++) {
        const struct chart_roof *r = &c->roof[i];
        const struct roof_line *l = &p->roof[i];
        bool slanted = !isnan(r->bytes_s);
        strbuf_adds(b, slanted ? "bandwidth\t" : "compute\t");
        script_add_value(b, slanted ? r->bytes_s : r->flop_s);
        script_add_value(b, l->ai0);
        script_add_value(b, l->flop0_s);
        script_add_value(b, l->ai1);
        script_add_value(b, l->flop1_s);
        strbuf_addf(b, "%d\t%d\t", l->strong, l->spec);
        script_add_clean(b, r->label, false);
        strbuf_adds(b, "\n");
    }
    for (size_t i = 0; i < p->n_ridge; i++) {
        strbuf_adds(b, "ridge\t");
        script_add_value(b, p->ridge_ai[i]);
        for (int k = 0; k < 2; k++) {
            script_add_value(b, p->ridge_ai[i]);
            script_add_value(b, p->ridge_flop_s[i]);
        }
        strbuf_adds(b, "0\t0\tridge point\n");
    }
}

/* ---- script
 * ---------------------------------------------------------------------------------- */

const char *script_role_color(enum text_role r)
{
    switch (r) {
    case TEXT_TITLE:
    case TEXT_PLAIN:
        return "ink";
    case TEXT_FAINT:
        return "faint";
    case TEXT_ROOF:
    case TEXT_RIDGE:
        return "roof_color";
    case TEXT_ROOF_INNER:
        return "faint";
    case TEXT_DECODE:
        return "decode_color";
    case TEXT_PREFILL:
        return "prefill_color";
    case TEXT_OTHER:
        return "other_color";
    }
    return "ink";
}

static void add_sample(struct strbuf *b, const struct frame *f, const struct plan_sample *s)
{
    static const char *const marker[] = {
        [SAMPLE_DECODE] = "pt 7 ps 1.1 lc rgb decode_color",
        [SAMPLE_PREFILL] = "pt 9 ps 1.1 lc rgb prefill_color",
        [SAMPLE_OTHER] = "pt 7 ps 1.1 lc rgb other_color",
        [SAMPLE_COUNTED] = "pt 13 ps 1.1 lc rgb ink",
        [SAMPLE_FULL] = "pt 7 ps 1.1 lc rgb ink",
        [SAMPLE_HOLLOW] = "pt 6 ps 1.1 lw 1.5 lc rgb ink",
        [SAMPLE_L1] = "pt 5 ps 1.1 lc rgb level_color('L1')",
        [SAMPLE_L2] = "pt 9 ps 1.1 lc rgb level_color('L2')",
        [SAMPLE_L3] = "pt 11 ps 1.1 lc rgb level_color('L3')",
        [SAMPLE_DRAM] = "pt 7 ps 1.1 lc rgb level_color('DRAM')",
        [SAMPLE_RIDGE] = "pt 7 ps 0.65 lc rgb roof_color",
    };
    if (s->kind == SAMPLE_LINE || s->kind == SAMPLE_DASHED) {
        strbuf_adds(b, "set arrow from ");
        script_add_position(b, f, s->x, s->y, false);
        strbuf_adds(b, " to ");
        script_add_position(b, f, s->x + 32, s->y, false);
        /* Not of one width: gnuplot's SVG joins equal arrows into one path, dashes and all.
         */
        strbuf_adds(b, s->kind == SAMPLE_DASHED ? " nohead lw 1.9 dt (8,5) lc rgb roof_color\n"
                                                : " nohead lw 2 lc rgb roof_color\n");
        return;
    }
    strbuf_adds(b, "set label '' at ");
    script_add_position(b, f, s->x, s->y, false);
    strbuf_addf(b, " point %s\n", marker[s->kind]);
}

/* Lines between the points of a phase, behind their markers. */
static void add_joins(struct strbuf *b, const struct roofline_chart *c, const struct plan *p)
{
    for (size_t i = 0; i < c->n_point; i++) {
        const size_t k = point_before(c, p, i);
        if (k != i)
            strbuf_addf(b, "set arrow from first %.6g, %.6g to first %.6g, %.6g nohead back lw %s lc rgb %s\n", c->point[k].ai,
                        c->point[k].flop_s, c->point[i].ai, c->point[i].flop_s, c->by_level ? "0.8" : "1.4",
                        c->by_level ? "inner_color" : script_role_color(phase_role(c->point[i].phase)));
    }
}

static void add_labels(struct strbuf *b, const struct plan *p)
{
    const struct frame *f = &p->frame;
    for (size_t i = 0; i < p->n_text; i++)
        script_add_label(b, f, &p->text[i], script_role_color(p->text[i].role));
    for (size_t i = 0; i < p->n_sample; i++)
        add_sample(b, f, &p->sample[i]);
    for (size_t i = 0; i < p->n_leader; i++) {
        strbuf_adds(b, "set arrow from ");
        script_add_position(b, f, p->leader[i].x0, p->leader[i].y0, true);
        strbuf_adds(b, " to ");
        script_add_position(b, f, p->leader[i].x1, p->leader[i].y1, true);
        strbuf_addf(b, " nohead back lw 0.8 lc rgb %s\n", script_role_color(p->leader_role[i]));
    }
}

/* From inside the frame to its edge, behind which a point lies. */
static void add_edges(struct strbuf *b, const struct plan *p)
{
    for (size_t i = 0; i < p->n_edge; i++) {
        strbuf_adds(b, "set arrow from ");
        script_add_position(b, &p->frame, p->edge[i].x0, p->edge[i].y0, true);
        strbuf_adds(b, " to ");
        script_add_position(b, &p->frame, p->edge[i].x1, p->edge[i].y1, true);
        strbuf_addf(b, " head filled size screen 0.007, 25 front lw 1.3 lc rgb %s\n", script_role_color(p->edge_role[i]));
    }
}

static int build_script(struct strbuf *b, const struct roofline_chart *c, const struct plan *p,
                        const struct chart_out *o, struct error *err)
{
    struct strbuf texts = { 0 };
    script_add_decades(&texts, "x", p->frame.x_lo, p->frame.x_hi, "");
    script_add_decades(&texts, "y", p->frame.y_lo, p->frame.y_hi, "");
    add_labels(&texts, p);
    add_joins(&texts, c, p);
    add_edges(&texts, p);
    const struct chart_words words = { .title = c->title, .x_title = "Arithmetic intensity [FLOP/byte]", .y_title = "FLOP/s", .x_log = true,
                                       .y_log = true };
    script_add_prologue(b, o, &p->frame, &words);
    int rc = script_add_style(b, c->style, &texts, err);
    strbuf_free(&texts);
    return rc;
}

/* "decode ffn_gate, predicted: 1.83 FLOP/byte, 123 GFLOP/s, 24 % of the time" */
static int add_tips(struct chart_out *o, const struct roofline_chart *c, const struct plan *p, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < c->n_point && rc == 0; i++) {
        const struct chart_point *q = &c->point[i];
        char text[200], rate[32], share[40] = "";
        if (!p->in_frame[i])
            continue;
        if (!isnan(q->weight))
            snprintf(share, sizeof share, ", %.3g %% of the time", 100 * q->weight);
        snprintf(text, sizeof text, "%s %s%s: %.3g FLOP/byte, %s%s", q->phase, q->label, q->counted ? ", bytes counted" : q->predicted && !c->by_level ? ", predicted" : "",
                 q->ai, units_si(rate, sizeof rate, q->flop_s, "FLOP/s"), share);
        rc = chart_out_tip(o, frame_px(&p->frame, q->ai), frame_py(&p->frame, q->flop_s), text, err);
    }
    return rc;
}

static int write_data(const struct roofline_chart *c, const struct plan *p, const struct chart_out *o,
                      struct error *err)
{
    struct strbuf points = { 0 }, roofs = { 0 }, script = { 0 };
    points_tsv(&points, c, p);
    roofs_tsv(&roofs, c, p);
    int rc = build_script(&script, c, p, o, err);
    rc = rc ? rc : chart_write(o, ".tsv", &points, err);
    rc = rc ? rc : chart_write(o, ".roofs.tsv", &roofs, err);
    rc = rc ? rc : chart_write(o, ".gp", &script, err);
    strbuf_free(&points);
    strbuf_free(&roofs);
    strbuf_free(&script);
    return rc;
}

int chart_roofline(const struct roofline_chart *c, const char *out_base, struct strbuf *notes,
                   struct error *err)
{
    struct chart_out o;
    struct plan p;
    if (chart_out_init(&o, out_base, c->formats, err) != 0)
        return -1;
    int rc = plan_roofline(&p, c, notes, err);
    if (rc == 0) {
        o.style = c->style;
        o.title = c->title;
        o.description = c->subtitle;
        rc = add_tips(&o, c, &p, err);
        rc = rc ? rc : write_data(c, &p, &o, err);
        rc = rc ? rc : chart_draw(&o, err);
        plan_free(&p);
    }
    chart_out_free(&o);
    return rc;
}
