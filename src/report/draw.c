/* The files of a chart: data, a gnuplot script that draws from it, and its pictures. */
#include "report/draw.h"
#include "config.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void chart_out_free(struct chart_out *o)
{
    free(o->base);
    free(o->dir);
    *o = (struct chart_out){ 0 };
}

int chart_out_init(struct chart_out *o, const char *base, unsigned formats, struct error *err)
{
    *o = (struct chart_out){ .formats = formats ? formats : CHART_SVG | CHART_PNG };
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
        chart_out_free(o);
        return error_oom(err, strlen(base), "a file name");
    }
    o->name = o->base + (name - base);
    return 0;
}

/* ---- text for gnuplot ------------------------------------------------------------------ */

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

void script_add_clean(struct strbuf *b, const char *text, bool quote)
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

void script_add_string(struct strbuf *b, const char *text)
{
    strbuf_adds(b, "'");
    script_add_clean(b, text, true);
    strbuf_adds(b, "'");
}

void script_add_value(struct strbuf *b, double v)
{
    if (isnan(v))
        strbuf_adds(b, "nan\t");
    else
        strbuf_addf(b, "%.9g\t", v);
}

void script_add_position(struct strbuf *b, const struct frame *f, double x, double y, bool in_plot)
{
    if (in_plot)
        strbuf_addf(b, "first %.6g, %.6g", frame_ai(f, x), frame_flop_s(f, y));
    else
        strbuf_addf(b, "screen %.6g, %.6g", x / f->width, 1 - y / f->height);
}

void script_add_label(struct strbuf *b, const struct frame *f, const struct plan_text *t, const char *color)
{
    strbuf_adds(b, "set label ");
    script_add_string(b, t->text);
    strbuf_adds(b, " at ");
    script_add_position(b, f, t->x, t->y, t->in_plot);
    strbuf_adds(b, t->align == 'l' ? " left" : t->align == 'r' ? " right" : " center");
    if (t->angle != 0)
        strbuf_addf(b, " rotate by %.0f", t->angle);
    strbuf_addf(b, " font typeface . \",%g\" textcolor rgb %s front\n", t->size_px, color);
}

void script_add_decades(struct strbuf *b, const char *axis, double lo, double hi, const char *unit)
{
    strbuf_addf(b, "set %stics (", axis);
    bool first = true;
    int last = (int)lround(log10(hi));
    for (int e = (int)floor(log10(lo) + 1e-9); e <= last; e++) {
        char text[32];
        double v = pow(10, e);
        if (*unit && e < 0 && e >= -12)
            snprintf(text, sizeof text, "%.0f %s%s", pow(10, (e + 12) % 3), ((const char *[]){ "p", "n", "µ", "m" })[(e + 12) / 3], unit);
        else if (e < 0)
            snprintf(text, sizeof text, "%.*f", -e, v);
        else if (e < 4 && (!*unit || e < 3))
            snprintf(text, sizeof text, "%.0f%s%s", v, *unit ? " " : "", unit);
        else
            snprintf(text, sizeof text, "%.0f %c%s", pow(10, e % 3),
                     " kMGTPEZY"[e / 3 < 9 ? e / 3 : 8], unit);
        strbuf_addf(b, "%s'%s' 1e%d", first ? "" : ", ", text, e);
        for (int k = 2; k < 10 && e < last; k++)
            strbuf_addf(b, ", '' %de%d 1", k, e);
        first = false;
    }
    strbuf_adds(b, ")\n");
}

void script_add_prologue(struct strbuf *b, const struct chart_out *o, const struct frame *f)
{
    static const char *const file[][2] = { { "points", ".tsv" }, { "roofs", ".roofs.tsv" } };
    strbuf_adds(b, "# Draws the pictures again: run gnuplot on this file in this directory.\n");
    for (size_t i = 0; i < ARRAY_LEN(file); i++) {
        strbuf_addf(b, "%s = './",
                    file[i][0]); /* ./: a name that starts with '<' or '|' is no command */
        script_add_clean(b, o->name, true);
        strbuf_addf(b, "%s'\n", file[i][1]);
    }
    for (int i = 0; i < CHART_FORMATS; i++) {
        const char *format = chart_format_name[i];
        if (!(o->formats & 1u << i)) {
            strbuf_addf(b, "if (!exists(\"%s\")) %s = ''\n", format, format);
            continue;
        }
        strbuf_addf(b, "if (!exists(\"%s\")) %s = './", format, format);
        script_add_clean(b, o->name, true);
        strbuf_addf(b, ".%s'\n", format);
    }
    strbuf_addf(b,
                "WIDTH = %.1f\nHEIGHT = %.1f\nLEFT = %.1f\nRIGHT = %.1f\nTOP = "
                "%.1f\nBOTTOM = %.1f\n",
                f->width, f->height, f->left, f->right, f->top, f->bottom);
    strbuf_addf(b, "X_LO = %g\nX_HI = %g\nY_LO = %g\nY_HI = %g\n\n", f->x_lo, f->x_hi, f->y_lo,
                f->y_hi);
}

int script_add_style(struct strbuf *b, const char *style_path, const struct strbuf *texts, struct error *err)
{
    static const char mark[] = "#LABELS#\n";
    struct filemap style;
    if (filemap_open(&style, style_path, err) != 0)
        return -1;
    const char *text = (const char *)style.data;
    const char *at = style.size ? memmem(text, style.size, mark, sizeof mark - 1) : NULL;
    if (!at) {
        filemap_close(&style);
        return error_set(err, ERROR_INPUT,
                         "%s: expected a line \"#LABELS#\" for the chart's texts, found none",
                         style_path);
    }
    size_t before = (size_t)(at - text), after = before + sizeof mark - 1;
    strbuf_add(b, text, before);
    if (texts->len)
        strbuf_add(b, texts->s, texts->len);
    b->oom |= texts->oom;
    strbuf_add(b, text + after, style.size - after);
    filemap_close(&style);
    return 0;
}

int chart_formats_parse(unsigned *formats, const char *text, struct error *err)
{
    *formats = 0;
    for (const char *p = text; p;) {
        size_t n = strcspn(p, ",");
        int i = 0;
        while (i < CHART_FORMATS && (strlen(chart_format_name[i]) != n || strncmp(p, chart_format_name[i], n) != 0))
            i++;
        if (i == CHART_FORMATS)
            return error_set(err, ERROR_USAGE, "--format: expected svg, png, pdf, txt, found \"%.*s\"", (int)n, p);
        *formats |= 1u << i;
        p = p[n] ? p + n + 1 : NULL;
    }
    return 0;
}

/* ---- files ------------------------------------------------------------------------------------- */

int chart_write(const struct chart_out *o, const char *ext, const struct strbuf *b, struct error *err)
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
        if (b->len)
            fwrite(b->s, 1, b->len, f.f); /* commit reports what went wrong */
        rc = outfile_commit(&f, err);
    }
    strbuf_free(&path);
    return rc;
}

/* One picture: gnuplot writes into the temporary file of what it becomes, which it is told by its whole path. */
struct picture {
    struct outfile file;
    char *there;
    bool open;
};

static int picture_open(struct picture *p, const struct chart_out *o, int format, struct error *err)
{
    struct strbuf path = { 0 };
    strbuf_addf(&path, "%s.%s", o->base, chart_format_name[format]);
    const char *name = strbuf_text(&path, "a file name", err);
    int rc = name ? outfile_open(&p->file, name, err) : -1;
    p->open = rc == 0;
    if (p->open && !p->file.tmp)
        rc = error_set(err, ERROR_INPUT, "%s: expected a regular file or none, found a device or a pipe", name);
    else if (p->open && !(p->there = realpath(p->file.tmp, NULL)))
        rc = error_set(err, ERROR_SYSTEM, "%s: %s", p->file.tmp, strerror(errno));
    strbuf_free(&path);
    return rc;
}

static int render(const struct chart_out *o, struct picture *p, struct error *err)
{
    const char *there[CHART_FORMATS];
    struct strbuf script = { 0 };
    for (int i = 0; i < CHART_FORMATS; i++)
        there[i] = p[i].there;
    strbuf_addf(&script, "./%s.gp", o->name);
    const char *name = strbuf_text(&script, "file names", err);
    int rc = name ? gnuplot_render(o->dir, name, there, err) : -1;
    strbuf_free(&script);
    if (rc != 0 && err && err->kind == ERROR_UNAVAILABLE) {
        struct error why = *err;
        error_set(err, ERROR_UNAVAILABLE, "%s: gnuplot %s.gp", why.msg, o->base);
    }
    for (int i = 0; i < CHART_FORMATS && rc == 0; i++)
        if (there[i])
            rc = gnuplot_check(there[i], i, p[i].file.path, err);
    return rc;
}

int chart_draw(const struct chart_out *o, struct error *err)
{
    struct picture p[CHART_FORMATS] = { 0 };
    int rc = 0;
    for (int i = 0; i < CHART_FORMATS && rc == 0; i++)
        if (o->formats & 1u << i)
            rc = picture_open(&p[i], o, i, err);
    rc = rc == 0 ? render(o, p, err) : rc;
    for (int i = 0; i < CHART_FORMATS; i++) {
        if (p[i].open && rc == 0)
            rc = outfile_commit(&p[i].file, err);
        else if (p[i].open)
            outfile_abort(&p[i].file);
        free(p[i].there);
    }
    return rc;
}
