/* The roofline chart's files: points and roofs as tab-separated data, a gnuplot script, and
 * its pictures. */
#include "config.h"
#include "report/plan.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "dir/name" taken apart; files are OUT plus an extension. */
struct out {
    char *base, *dir;
    const char *name;
};

static void out_free(struct out *o)
{
    free(o->base);
    free(o->dir);
    *o = (struct out){ 0 };
}

static int out_init(struct out *o, const char *base, struct error *err)
{
    *o = (struct out){ 0 };
    const char *slash = strrchr(base, '/');
    const char *name = slash ? slash + 1 : base;
    for (const char *p = base; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            return error_set(err, ERROR_USAGE, "-o: a control character in the file name");
    if (!*name)
        return error_set(err, ERROR_USAGE,
                         "-o: expected a file name without extension, found \"%s\"", base);
    o->base = strdup(base);
    o->dir = slash ? strndup(base, slash == base ? 1 : (size_t)(slash - base)) : strdup(".");
    if (!o->base || !o->dir) {
        out_free(o);
        return error_oom(err, strlen(base), "a file name");
    }
    o->name = o->base + (name - base);
    return 0;
}

/* ---- text for gnuplot ------------------------------------------------------------------
 */

/* Length of the valid UTF-8 sequence at s, 0 when it is broken. */
static size_t utf8_len(const unsigned char *s)
{
    size_t n = *s < 0x80                 ? 1
               : *s >= 0xc2 && *s < 0xe0 ? 2
               : *s >= 0xe0 && *s < 0xf0 ? 3
               : *s >= 0xf0 && *s < 0xf5 ? 4
                                         : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Names come from files: no control characters (tabs would move columns), no broken UTF-8
 * (bad XML). quote: a quote is written twice, as in gnuplot's single-quoted strings. */
static void add_clean(struct strbuf *b, const char *text, bool quote)
{
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        size_t n = utf8_len(p);
        if (n == 0 || *p < ' ' || *p == 127)
            strbuf_adds(b, n == 0 ? "?" : " ");
        else if (quote && *p == '\'')
            strbuf_adds(b, "''");
        else
            strbuf_add(b, p, n);
        p += n ? n : 1;
    }
}

static void add_string(struct strbuf *b, const char *text)
{
    strbuf_adds(b, "'");
    add_clean(b, text, true);
    strbuf_adds(b, "'");
}

static void add_value(struct strbuf *b, double v)
{
    if (isnan(v))
        strbuf_adds(b, "nan\t");
    else
        strbuf_addf(b, "%.9g\t", v);
}

/* ---- data
 * ---------------------------------------------------------------------------------- */

static void points_tsv(struct strbuf *b, const struct roofline_chart *c, const struct plan *p)
{
    strbuf_adds(b, "ai\tflop_s\tshare\tpredicted\tcounted\tin_frame\tradius_px\tphase\tlabel\n");
    for (size_t i = 0; i < c->n_point; i++) {
        const struct chart_point *q = &c->point[i];
        add_value(b, q->ai);
        add_value(b, q->flop_s);
        add_value(b, q->weight);
        strbuf_addf(b, "%d\t%d\t%d\t%.2f\t", q->predicted, q->counted, p->in_frame[i],
                    p->radius_px[i]);
        strbuf_addf(b, "%s\t", phase_role(q->phase) == TEXT_OTHER ? "other" : q->phase);
        add_clean(b, q->label, false);
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
        add_value(b, slanted ? r->bytes_s : r->flop_s);
        add_value(b, l->ai0);
        add_value(b, l->flop0_s);
        add_value(b, l->ai1);
        add_value(b, l->flop1_s);
        strbuf_addf(b, "%d\t%d\t", l->strong, l->spec);
        add_clean(b, r->label, false);
        strbuf_adds(b, "\n");
    }
    for (size_t i = 0; i < p->n_ridge; i++) {
        strbuf_adds(b, "ridge\t");
        add_value(b, p->ridge_ai[i]);
        for (int k = 0; k < 2; k++) {
            add_value(b, p->ridge_ai[i]);
            add_value(b, p->ridge_flop_s[i]);
        }
        strbuf_adds(b, "0\t0\tridge point\n");
    }
}

/* ---- script
 * ---------------------------------------------------------------------------------- */

static const char *role_color(enum text_role r)
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

/* In the plot by the axes' values, so that texts stay with their points when the picture is
 * resized. */
static void add_position(struct strbuf *b, const struct frame *f, double x, double y, bool in_plot)
{
    if (in_plot)
        strbuf_addf(b, "first %.6g, %.6g", frame_ai(f, x), frame_flop_s(f, y));
    else
        strbuf_addf(b, "screen %.6g, %.6g", x / f->width, 1 - y / f->height);
}

static void add_label(struct strbuf *b, const struct frame *f, const struct plan_text *t)
{
    strbuf_adds(b, "set label ");
    add_string(b, t->text);
    strbuf_adds(b, " at ");
    add_position(b, f, t->x, t->y, t->in_plot);
    strbuf_adds(b, t->align == 'l' ? " left" : t->align == 'r' ? " right" : " center");
    if (t->angle != 0)
        strbuf_addf(b, " rotate by %.0f", t->angle);
    strbuf_addf(b, " font typeface . \",%g\" textcolor rgb %s front\n", t->size_px,
                role_color(t->role));
}

static void add_sample(struct strbuf *b, const struct frame *f, const struct plan_sample *s)
{
    static const char *const marker[] = {
        [SAMPLE_DECODE] = "pt 7 ps 1.1 lc rgb decode_color",
        [SAMPLE_PREFILL] = "pt 9 ps 1.1 lc rgb prefill_color",
        [SAMPLE_OTHER] = "pt 7 ps 1.1 lc rgb other_color",
        [SAMPLE_COUNTED] = "pt 13 ps 1.1 lc rgb ink",
        [SAMPLE_HOLLOW] = "pt 6 ps 1.1 lw 1.5 lc rgb ink",
        [SAMPLE_RIDGE] = "pt 7 ps 0.65 lc rgb roof_color",
    };
    if (s->kind == SAMPLE_LINE || s->kind == SAMPLE_DASHED) {
        strbuf_adds(b, "set arrow from ");
        add_position(b, f, s->x, s->y, false);
        strbuf_adds(b, " to ");
        add_position(b, f, s->x + 32, s->y, false);
        /* Not of one width: gnuplot's SVG joins equal arrows into one path, dashes and all.
         */
        strbuf_adds(b, s->kind == SAMPLE_DASHED ? " nohead lw 1.9 dt (8,5) lc rgb roof_color\n"
                                                : " nohead lw 2 lc rgb roof_color\n");
        return;
    }
    strbuf_adds(b, "set label '' at ");
    add_position(b, f, s->x, s->y, false);
    strbuf_addf(b, " point %s\n", marker[s->kind]);
}

/* Lines between the points of a phase, behind their markers. */
static void add_joins(struct strbuf *b, const struct roofline_chart *c, const struct plan *p)
{
    for (size_t i = 0; i < c->n_point; i++) {
        const size_t k = point_before(c, p, i);
        if (k != i)
            strbuf_addf(b, "set arrow from first %.6g, %.6g to first %.6g, %.6g nohead back lw 1.4 lc rgb %s\n", c->point[k].ai,
                        c->point[k].flop_s, c->point[i].ai, c->point[i].flop_s, role_color(phase_role(c->point[i].phase)));
    }
}

static void add_labels(struct strbuf *b, const struct plan *p)
{
    const struct frame *f = &p->frame;
    for (size_t i = 0; i < p->n_text; i++)
        add_label(b, f, &p->text[i]);
    for (size_t i = 0; i < p->n_sample; i++)
        add_sample(b, f, &p->sample[i]);
    for (size_t i = 0; i < p->n_leader; i++) {
        strbuf_adds(b, "set arrow from ");
        add_position(b, f, p->leader[i].x0, p->leader[i].y0, true);
        strbuf_adds(b, " to ");
        add_position(b, f, p->leader[i].x1, p->leader[i].y1, true);
        strbuf_addf(b, " nohead back lw 0.8 lc rgb %s\n", role_color(p->leader_role[i]));
    }
}

/* Decades with SI prefixes, unlabelled ticks between. */
static void add_tics(struct strbuf *b, const char *axis, double lo, double hi)
{
    strbuf_addf(b, "set %stics (", axis);
    bool first = true;
    int last = (int)lround(log10(hi));
    for (int e = (int)floor(log10(lo) + 1e-9); e <= last; e++) {
        char text[32];
        double v = pow(10, e);
        if (e < 0)
            snprintf(text, sizeof text, "%.*f", -e, v);
        else if (e < 4)
            snprintf(text, sizeof text, "%.0f", v);
        else
            snprintf(text, sizeof text, "%.0f %c", pow(10, e % 3),
                     " kMGTPEZY"[e / 3 < 9 ? e / 3 : 8]);
        strbuf_addf(b, "%s'%s' 1e%d", first ? "" : ", ", text, e);
        for (int k = 2; k < 10 && e < last; k++)
            strbuf_addf(b, ", '' %de%d 1", k, e);
        first = false;
    }
    strbuf_adds(b, ")\n");
}

static void add_prologue(struct strbuf *b, const struct out *o, const struct plan *p)
{
    const struct frame *f = &p->frame;
    static const char *const file[][2] = { { "points", ".tsv" }, { "roofs", ".roofs.tsv" } };
    static const char *const picture[][2] = { { "svg", ".svg" }, { "png", ".png" } };
    strbuf_adds(b, "# Draws the pictures again: run gnuplot on this file in this directory.\n");
    for (size_t i = 0; i < ARRAY_LEN(file); i++) {
        strbuf_addf(b, "%s = './",
                    file[i][0]); /* ./: a name that starts with '<' or '|' is no command */
        add_clean(b, o->name, true);
        strbuf_addf(b, "%s'\n", file[i][1]);
    }
    for (size_t i = 0; i < ARRAY_LEN(picture); i++) {
        strbuf_addf(b, "if (!exists(\"%s\")) %s = './", picture[i][0], picture[i][0]);
        add_clean(b, o->name, true);
        strbuf_addf(b, "%s'\n", picture[i][1]);
    }
    strbuf_addf(b,
                "WIDTH = %.1f\nHEIGHT = %.1f\nLEFT = %.1f\nRIGHT = %.1f\nTOP = "
                "%.1f\nBOTTOM = %.1f\n",
                f->width, f->height, f->left, f->right, f->top, f->bottom);
    strbuf_addf(b, "X_LO = %g\nX_HI = %g\nY_LO = %g\nY_HI = %g\n\n", f->x_lo, f->x_hi, f->y_lo,
                f->y_hi);
}

static int build_script(struct strbuf *b, const struct roofline_chart *c, const struct plan *p,
                        const struct out *o, struct error *err)
{
    static const char mark[] = "#LABELS#\n";
    struct filemap style;
    if (filemap_open(&style, c->style, err) != 0)
        return -1;
    const char *text = (const char *)style.data;
    const char *at = style.size ? memmem(text, style.size, mark, sizeof mark - 1) : NULL;
    if (!at) {
        filemap_close(&style);
        return error_set(err, ERROR_INPUT,
                         "%s: expected a line \"#LABELS#\" for the chart's texts, found none",
                         c->style);
    }
    size_t before = (size_t)(at - text), after = before + sizeof mark - 1;
    add_prologue(b, o, p);
    strbuf_add(b, text, before);
    add_tics(b, "x", p->frame.x_lo, p->frame.x_hi);
    add_tics(b, "y", p->frame.y_lo, p->frame.y_hi);
    add_labels(b, p);
    add_joins(b, c, p);
    strbuf_add(b, text + after, style.size - after);
    filemap_close(&style);
    return 0;
}

/* ---- files
 * ------------------------------------------------------------------------------------- */

static int write_file(const struct out *o, const char *ext, const struct strbuf *b,
                      struct error *err)
{
    struct strbuf path = { 0 };
    struct outfile f;
    strbuf_addf(&path, "%s%s", o->base, ext);
    if (path.oom || b->oom) {
        strbuf_free(&path);
        return error_oom(err, b->len, "a chart");
    }
    int rc = outfile_open(&f, path.s, err);
    if (rc == 0) {
        fwrite(b->s, 1, b->len, f.f); /* commit reports what went wrong */
        rc = outfile_commit(&f, err);
    }
    strbuf_free(&path);
    return rc;
}

static int write_data(const struct roofline_chart *c, const struct plan *p, const struct out *o,
                      struct error *err)
{
    struct strbuf points = { 0 }, roofs = { 0 }, script = { 0 };
    points_tsv(&points, c, p);
    roofs_tsv(&roofs, c, p);
    int rc = build_script(&script, c, p, o, err);
    rc = rc ? rc : write_file(o, ".tsv", &points, err);
    rc = rc ? rc : write_file(o, ".roofs.tsv", &roofs, err);
    rc = rc ? rc : write_file(o, ".gp", &script, err);
    strbuf_free(&points);
    strbuf_free(&roofs);
    strbuf_free(&script);
    return rc;
}

/* gnuplot writes under temporary names; whole pictures get theirs. */
static int draw(const struct out *o, struct error *err)
{
    struct strbuf b[7] = { { 0 } };
    const char *name = o->name, *base = o->base;
    int pid = (int)getpid(), rc = -1;
    strbuf_addf(&b[0], "./%s.gp", name);
    strbuf_addf(&b[1], "./%s.tmp%d.svg", name, pid);
    strbuf_addf(&b[2], "./%s.tmp%d.png", name, pid);
    strbuf_addf(&b[3], "%s.tmp%d.svg", base, pid);
    strbuf_addf(&b[4], "%s.tmp%d.png", base, pid);
    strbuf_addf(&b[5], "%s.svg", base);
    strbuf_addf(&b[6], "%s.png", base);
    bool oom = false;
    for (size_t i = 0; i < ARRAY_LEN(b); i++)
        oom |= b[i].oom;
    if (oom) {
        error_oom(err, 4096, "file names");
        goto out;
    }
    if (gnuplot_render(o->dir, b[0].s, b[1].s, b[2].s, err) != 0) {
        if (err && err->kind == ERROR_UNAVAILABLE) {
            struct error why = *err;
            error_set(err, ERROR_UNAVAILABLE, "%s: gnuplot %s.gp", why.msg, base);
        }
        goto out;
    }
    if (gnuplot_check(b[3].s, b[4].s, err) != 0)
        goto out;
    for (int i = 0; i < 2; i++)
        if (rename(b[3 + i].s, b[5 + i].s) != 0) {
            error_set(err, ERROR_SYSTEM, "%s: cannot write: %s", b[5 + i].s, strerror(errno));
            goto out;
        }
    rc = 0;
out:
    for (int i = 3; rc != 0 && i < 5; i++)
        if (b[i].s)
            unlink(b[i].s);
    for (size_t i = 0; i < ARRAY_LEN(b); i++)
        strbuf_free(&b[i]);
    return rc;
}

int chart_roofline(const struct roofline_chart *c, const char *out_base, struct strbuf *notes,
                   struct error *err)
{
    struct out o;
    struct plan p;
    if (out_init(&o, out_base, err) != 0)
        return -1;
    int rc = plan_roofline(&p, c, notes, err);
    if (rc == 0) {
        rc = write_data(c, &p, &o, err);
        rc = rc ? rc : draw(&o, err);
        plan_free(&p);
    }
    out_free(&o);
    return rc;
}
