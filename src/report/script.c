/* gnuplot scripts: safe text, positions, ticks, variables, and templates with their parts. */
#include "config.h"
#include "report/draw.h"
#include <math.h>
#include <string.h>

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

/* quote: what stands for "'"; NULL: itself. */
static void add_clean(struct strbuf *b, const char *text, const char *quote)
{
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        size_t n = utf8_len(p);
        if (n == 0 || *p < ' ' || *p == 127)
            strbuf_adds(b, n == 0 ? "?" : " ");
        else if (quote && *p == '\'')
            strbuf_adds(b, quote);
        else
            strbuf_add(b, p, n);
        p += n ? n : 1;
    }
}

void script_add_clean(struct strbuf *b, const char *text, bool quote)
{
    add_clean(b, text, quote ? "''" : NULL);
}

/* gnuplot 5.4 reads "'''x'" and "'a''''b'" as two strings each: quotes at the ends of a text, or side by side, would end its string. */
static bool ends_string(const char *text)
{
    const size_t n = strlen(text);
    return n > 0 && (*text == '\'' || text[n - 1] == '\'' || strstr(text, "''"));
}

void script_add_string(struct strbuf *b, const char *text)
{
    strbuf_adds(b, "'");
    add_clean(b, text, ends_string(text) ? "\u2019" : "''");
    strbuf_adds(b, "'");
}

void script_add_inner_string(struct strbuf *b, const char *text)
{
    strbuf_adds(b, "'");
    add_clean(b, text, "\u2019");
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
    strbuf_addf(b, " font typeface . \",%g\" textcolor rgb %s front noenhanced\n", t->size_px, color);
}

/* "10 us", "0.01", "3 k" of v, which is k * 10^e. */
static void say_decade(char *text, size_t n, int k, int e, const char *unit)
{
    if (*unit && e < 0 && e >= -12)
        snprintf(text, n, "%.0f %s%s", k * pow(10, (e + 12) % 3), ((const char *[]){ "p", "n", "µ", "m" })[(e + 12) / 3], unit);
    else if (e < 0)
        snprintf(text, n, "%.*f", -e, k * pow(10, e));
    else if (e < 4 && (!*unit || e < 3))
        snprintf(text, n, "%.0f%s%s", k * pow(10, e), *unit ? " " : "", unit);
    else
        snprintf(text, n, "%.0f %c%s", k * pow(10, e % 3), " kMGTPEZY"[e / 3 < 9 ? e / 3 : 8], unit);
}

/* Decades are named, and the ends of an axis that begins or ends between them. */
void script_add_decades(struct strbuf *b, const char *axis, double lo, double hi, const char *unit)
{
    const int last = (int)floor(log10(hi) + 1e-9);
    bool first = true;
    strbuf_addf(b, "set %stics (", axis);
    for (int e = (int)floor(log10(lo) + 1e-9); e <= last; e++)
        for (int k = 1; k < 10; k++) {
            char text[32];
            const double v = k * pow(10, e);
            if (v < lo * (1 - 1e-9) || v > hi * (1 + 1e-9))
                continue;
            const bool end = fabs(v / lo - 1) < 1e-9 || fabs(v / hi - 1) < 1e-9;
            say_decade(text, sizeof text, k, e, unit);
            if (k == 1 || (end && k >= 2))
                strbuf_addf(b, "%s'%s' %de%d", first ? "" : ", ", text, k, e);
            else
                strbuf_addf(b, "%s'' %de%d 1", first ? "" : ", ", k, e);
            first = false;
        }
    strbuf_adds(b, ")\n");
}

/* A tenth, an eighth or a sixth of [0, hi], with one prefix for all. */
void script_add_linear(struct strbuf *b, const char *axis, const struct chart_axis *a)
{
    double lead = a->hi / pow(10, floor(log10(a->hi) + 1e-9));
    int n = lead > 4.5 || lead < 1.1 ? 10 : lead < 1.5 ? 6 : 8, prefix = (int)floor(log10(a->hi) / 3 + 1e-9);
    prefix = prefix < -4 ? -4 : prefix > 6 ? 6 : prefix;
    prefix = a->plain ? 0 : prefix;
    strbuf_addf(b, "set %stics (", axis);
    for (int i = 0; i <= n; i++)
        strbuf_addf(b, "%s'%.6g%s%s%s' %.10g", i ? ", " : "", a->hi * i / n / pow(1000, prefix), *a->unit || (i && prefix) ? " " : "",
                    i || *a->unit ? ((const char *[]){ "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E" })[prefix + 4] : "", a->unit, a->hi * i / n);
    strbuf_adds(b, ")\n");
}

static void add_named_string(struct strbuf *b, const char *name, const char *text)
{
    strbuf_addf(b, "%s = ", name);
    script_add_string(b, text);
    strbuf_adds(b, "\n");
}

static void add_words(struct strbuf *b, const struct chart_words *w)
{
    add_named_string(b, "TITLE", w->title);
    add_named_string(b, "X_TITLE", w->x_title);
    add_named_string(b, "Y_TITLE", w->y_title);
    strbuf_addf(b, "X_LOG = %d\nY_LOG = %d\nN_SERIES = %zu\n", w->x_log, w->y_log, w->n_series);
    if (w->n_series)
        strbuf_addf(b, "array NAME[%zu]\n", w->n_series);
    for (size_t i = 0; i < w->n_series; i++) {
        char name[32];
        snprintf(name, sizeof name, "NAME[%zu]", i + 1);
        add_named_string(b, name, w->name[i]);
    }
    strbuf_adds(b, "\n");
}

void script_add_prologue(struct strbuf *b, const struct chart_out *o, const struct frame *f, const struct chart_words *w)
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
    strbuf_addf(b, "X_LO = %g\nX_HI = %g\nY_LO = %g\nY_HI = %g\n", f->x_lo, f->x_hi, f->y_lo,
                f->y_hi);
    const unsigned columns = o->formats >> CHART_COLUMNS ? o->formats >> CHART_COLUMNS : 118;
    strbuf_addf(b, "COLUMNS = %u\nLINES = %u\n", columns, columns / 3 + 1 > 20 ? columns / 3 + 1 : 20);
    add_words(b, w);
}

/* ---- templates ------------------------------------------------------------------------------------------------ */

enum { INCLUDE_DEPTH = 4 };

int script_next_to(char *path, size_t size, const char *style, const char *name, size_t n_name, struct error *err)
{
    const char *slash = strrchr(style, '/');
    const int n = snprintf(path, size, "%.*s%.*s", slash ? (int)(slash + 1 - style) : 0, style, (int)n_name, name);
    return n >= 0 && (size_t)n < size ? 0 : error_set(err, ERROR_INPUT, "%s: the path of \"%.*s\" is too long", style, (int)n_name, name);
}

struct templates {
    struct strbuf *out;
    const char *style;
    const struct strbuf *texts;
    int n_label;
};

static int add_template(struct templates *t, const char *path, int depth, struct error *err);

static int add_line(struct templates *t, const char *line, size_t n, int depth, struct error *err)
{
    static const char mark[] = "#LABELS#", include[] = "#INCLUDE ";
    char path[4096];
    const size_t head = sizeof include - 1;
    if (n == sizeof mark && memcmp(line, mark, n - 1) == 0) {
        t->n_label++;
        if (t->texts->len)
            strbuf_add(t->out, t->texts->s, t->texts->len);
        return 0;
    }
    if (n <= head + 2 || memcmp(line, include, head) != 0 || line[n - 2] != '#') {
        strbuf_add(t->out, line, n);
        return 0;
    }
    return script_next_to(path, sizeof path, t->style, line + head, n - head - 2, err) != 0 ? -1 : add_template(t, path, depth + 1, err);
}

static int add_template(struct templates *t, const char *path, int depth, struct error *err)
{
    struct filemap m;
    int rc = 0;
    if (depth > INCLUDE_DEPTH)
        return error_set(err, ERROR_INPUT, "%s: templates include one another more than %d deep", path, INCLUDE_DEPTH);
    if (filemap_open(&m, path, err) != 0)
        return -1;
    const char *p = (const char *)m.data, *end = p ? p + m.size : p;
    while (p < end && rc == 0) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const size_t n = stop ? (size_t)(stop + 1 - p) : (size_t)(end - p);
        rc = add_line(t, p, n, depth, err);
        p += n;
    }
    filemap_close(&m);
    return rc;
}

int script_add_style(struct strbuf *b, const char *style_path, const struct strbuf *texts, struct error *err)
{
    struct templates t = { .out = b, .style = style_path, .texts = texts };
    if (add_template(&t, style_path, 0, err) != 0)
        return -1;
    b->oom |= texts->oom;
    if (t.n_label != 1)
        return error_set(err, ERROR_INPUT, "%s: expected a line \"#LABELS#\" for the chart's texts, found %s", style_path,
                         t.n_label ? "several" : "none");
    return 0;
}
