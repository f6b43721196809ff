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
    free(o->tip);
    *o = (struct chart_out){ 0 };
}

int chart_out_init(struct chart_out *o, const char *base, unsigned formats, struct error *err)
{
    *o = (struct chart_out){ .formats = formats ? formats : CHART_SVG | CHART_PNG, .title = "", .description = "" };
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

int chart_out_tip(struct chart_out *o, double x, double y, const char *text, struct error *err)
{
    struct svg_tip *v = realloc(o->tip, (o->n_tip + 1) * sizeof *v);
    if (!v)
        return error_oom(err, (o->n_tip + 1) * sizeof *v, "a chart's tooltips");
    o->tip = v;
    v += o->n_tip++;
    *v = (struct svg_tip){ .x = x, .y = y };
    char cut[sizeof v->text];
    struct strbuf clean = { 0 };
    snprintf(cut, sizeof cut, "%.190s", text);
    script_add_clean(&clean, cut, false); /* after the cut, which may leave half a character */
    const char *whole = strbuf_text(&clean, "a tooltip", err);
    snprintf(v->text, sizeof v->text, "%s", whole ? whole : "");
    strbuf_free(&clean);
    return whole ? 0 : -1;
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

/* gnuplot's SVG, made fit for pages, in its place. */
static int finish(const struct chart_out *o, const struct picture *p, struct error *err)
{
    struct strbuf text = { 0 }, title = { 0 }, description = { 0 };
    struct filemap svg, css;
    char path[4096];
    if (script_next_to(path, sizeof path, o->style, "dark.css", 8, err) != 0 || filemap_open(&css, path, err) != 0)
        return -1;
    char *sheet = strndup(css.data ? (const char *)css.data : "", css.size);
    filemap_close(&css);
    if (!sheet)
        return error_oom(err, 4096, "a style sheet");
    script_add_clean(&title, o->title, false);
    script_add_clean(&description, o->description, false);
    const struct svg_about about = { .title = strbuf_text(&title, "a title", err), .description = strbuf_text(&description, "a description", err), .css = sheet,
                                     .tip = o->tip, .n_tip = o->n_tip };
    int rc = about.title && about.description ? filemap_open(&svg, p->there, err) : -1;
    if (rc == 0) {
        rc = svg_finish(&text, (const char *)svg.data, svg.size, &about, err);
        filemap_close(&svg);
    }
    if (rc == 0 && text.oom)
        rc = error_oom(err, text.len, "a picture");
    FILE *f = rc == 0 ? fopen(p->there, "w") : NULL;
    if (rc == 0 && (!f || fwrite(text.s, 1, text.len, f) != text.len || fflush(f) != 0))
        rc = error_set(err, ERROR_SYSTEM, "%s: %s", p->file.path, strerror(errno));
    if (f && fclose(f) != 0 && rc == 0)
        rc = error_set(err, ERROR_SYSTEM, "%s: %s", p->file.path, strerror(errno));
    strbuf_free(&text);
    strbuf_free(&title);
    strbuf_free(&description);
    free(sheet);
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
    if (rc == 0 && p[0].there)
        rc = finish(o, &p[0], err);
    for (int i = 0; i < CHART_FORMATS; i++) {
        if (p[i].open && rc == 0)
            rc = outfile_commit(&p[i].file, err);
        else if (p[i].open)
            outfile_abort(&p[i].file);
        free(p[i].there);
    }
    return rc;
}
