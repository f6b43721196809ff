/* gnuplot's SVG, read tag by tag and written anew. */
#include "report/svg.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rewriter {
    struct strbuf *out;
    const struct svg_about *about;
    int depth, series_depth; /* of open groups; the series' one, 0: outside */
    size_t series_start; /* of that series in out */
    bool series_drawn;   /* more than its title */
    bool titled, described;
};

/* A tag from '<' to '>'. */
struct tag {
    const char *p, *end; /* end: behind '>' */
    const char *name;
    size_t n_name;
};

void svg_add_escaped(struct strbuf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (text[i]) {
        case '&':
            strbuf_adds(out, "&amp;");
            break;
        case '<':
            strbuf_adds(out, "&lt;");
            break;
        case '>':
            strbuf_adds(out, "&gt;");
            break;
        case '"':
            strbuf_adds(out, "&quot;");
            break;
        case '\'':
            strbuf_adds(out, "&#39;");
            break;
        default:
            strbuf_add(out, &text[i], 1);
        }
}

static void add_escaped(struct strbuf *out, const char *text)
{
    svg_add_escaped(out, text, strlen(text));
}

static bool read_tag(struct tag *t, const char *p, const char *end)
{
    char quote = 0;
    t->p = p;
    for (const char *q = p + 1; q < end; q++) {
        if (quote)
            quote = *q == quote ? 0 : quote;
        else if (*q == '"' || *q == '\'')
            quote = *q;
        else if (*q == '>') {
            t->end = q + 1;
            t->name = p + 1 + (p[1] == '/');
            for (t->n_name = 0; t->name + t->n_name < q && !isspace((unsigned char)t->name[t->n_name]) && t->name[t->n_name] != '/';)
                t->n_name++;
            return true;
        }
    }
    return false;
}

static bool is(const struct tag *t, const char *name)
{
    return t->n_name == strlen(name) && memcmp(t->name, name, t->n_name) == 0;
}

static bool closes(const struct tag *t)
{
    return t->p[1] == '/';
}

static bool closes_itself(const struct tag *t)
{
    return t->end[-2] == '/';
}

/* ---- attributes ------------------------------------------------------------------------------------------- */

struct attribute {
    const char *name, *value;
    size_t n_name, n_value;
};

/* The attribute at or behind *p; false: none is left. */
static bool next_attribute(const char **p, const char *end, struct attribute *a)
{
    const char *q = *p;
    while (q < end && (isspace((unsigned char)*q) || *q == '/' || *q == '>' || *q == '?'))
        q++;
    a->name = q;
    while (q < end && *q != '=' && *q != '>' && *q != '/' && !isspace((unsigned char)*q))
        q++;
    a->n_name = (size_t)(q - a->name);
    while (q < end && (isspace((unsigned char)*q) || *q == '='))
        q++;
    if (a->n_name == 0 || q >= end || (*q != '"' && *q != '\''))
        return false;
    const char *stop = memchr(q + 1, *q, (size_t)(end - q - 1));
    if (!stop)
        return false;
    a->value = q + 1;
    a->n_value = (size_t)(stop - q - 1);
    *p = stop + 1;
    return true;
}

static bool named(const struct attribute *a, const char *name)
{
    return a->n_name == strlen(name) && memcmp(a->name, name, a->n_name) == 0;
}

/* "rgb(1, 2, 3)" as "#010203"; other values as they are. */
static void add_value(struct strbuf *out, const char *v, size_t n)
{
    char text[40];
    int r, g, b;
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), v);
    if (n < sizeof text && sscanf(text, "rgb( %d , %d , %d", &r, &g, &b) == 3)
        strbuf_addf(out, "#%02x%02x%02x", r & 255, g & 255, b & 255);
    else if (n == 7 && *v == '#' && strspn(text + 1, "0123456789abcdefABCDEF") == 6)
        for (size_t i = 0; i < n; i++)
            strbuf_addf(out, "%c", tolower((unsigned char)v[i]));
    else
        for (size_t i = 0; i < n; i++)
            strbuf_add(out, v[i] == '"' ? "&quot;" : v + i, v[i] == '"' ? 6 : 1);
}

static void add_attribute(struct strbuf *out, const char *name, size_t n_name, const char *v, size_t n)
{
    strbuf_adds(out, " ");
    strbuf_add(out, name, n_name);
    strbuf_adds(out, "=\"");
    add_value(out, v, n);
    strbuf_adds(out, "\"");
}

/* style="a: b; c: d" as attributes. */
static void add_style(struct strbuf *out, const struct attribute *a)
{
    const char *p = a->value, *end = p + a->n_value;
    while (p < end) {
        const char *stop = memchr(p, ';', (size_t)(end - p));
        stop = stop ? stop : end;
        const char *colon = memchr(p, ':', (size_t)(stop - p)), *name = p, *value = colon ? colon + 1 : stop;
        while (name < stop && isspace((unsigned char)*name))
            name++;
        while (value < stop && isspace((unsigned char)*value))
            value++;
        if (colon && colon > name)
            add_attribute(out, name, (size_t)(colon - name), value, (size_t)(stop - value));
        p = stop + 1;
    }
}

static void add_attributes(struct strbuf *out, const struct tag *t)
{
    struct attribute a;
    const char *p = t->name + t->n_name;
    while (next_attribute(&p, t->end, &a))
        if (named(&a, "style"))
            add_style(out, &a);
        else if (strncmp(a.name, "on", 2) != 0)
            add_attribute(out, a.name, a.n_name, a.value, a.n_value);
}

static bool find_attribute(const struct tag *t, const char *name, struct attribute *a)
{
    const char *p = t->name + t->n_name;
    while (next_attribute(&p, t->end, a))
        if (named(a, name))
            return true;
    return false;
}

/* ---- tooltips --------------------------------------------------------------------------------------------- */

/* Middle of a marker or of a polygon. */
static bool middle(const struct tag *t, double *x, double *y)
{
    struct attribute a;
    char text[256];
    double lo[2] = { INFINITY, INFINITY }, hi[2] = { -INFINITY, -INFINITY }, v[2];
    int used;
    if (!find_attribute(t, is(t, "use") ? "transform" : "points", &a) || a.n_value >= sizeof text)
        return false;
    memcpy(text, a.value, a.n_value);
    text[a.n_value] = 0;
    if (is(t, "use"))
        return sscanf(text, "translate(%lf,%lf)", x, y) == 2;
    for (const char *p = text; is(t, "polygon") && sscanf(p, " %lf , %lf%n", &v[0], &v[1], &used) == 2; p += used)
        for (int i = 0; i < 2; i++) {
            lo[i] = fmin(lo[i], v[i]);
            hi[i] = fmax(hi[i], v[i]);
        }
    *x = (lo[0] + hi[0]) / 2;
    *y = (lo[1] + hi[1]) / 2;
    return isfinite(*x) && isfinite(*y);
}

#define TIP_PX 1.0 /* gnuplot rounds positions */

/* The element ends with a <title> if it has a tooltip. */
static bool add_tips(struct rewriter *r, const struct tag *t)
{
    double x, y;
    size_t n = 0;
    if (r->series_depth == 0 || !closes_itself(t) || !middle(t, &x, &y))
        return false;
    for (size_t i = 0; i < r->about->n_tip; i++) {
        const struct svg_tip *tip = &r->about->tip[i];
        if (fabs(tip->x - x) > TIP_PX || fabs(tip->y - y) > TIP_PX)
            continue;
        strbuf_adds(r->out, n++ ? "; " : "><title>");
        add_escaped(r->out, tip->text);
    }
    if (n)
        strbuf_addf(r->out, "</title></%.*s>", (int)t->n_name, t->name);
    return n > 0;
}

/* ---- tags ------------------------------------------------------------------------------------------------- */

/* Behind the end tag of this name. */
static const char *behind(const char *p, const char *end, const char *close)
{
    const char *at = memmem(p, (size_t)(end - p), close, strlen(close));
    return at ? at + strlen(close) : end;
}

/* A group of nothing but white space, without an id: gnuplot leaves many. Behind it; NULL: it is none. */
static const char *empty_group(const struct tag *t, const char *end)
{
    struct attribute a;
    const char *p = t->end;
    if (!is(t, "g") || closes(t) || find_attribute(t, "id", &a))
        return NULL;
    while (p < end && isspace((unsigned char)*p))
        p++;
    return end - p >= 4 && memcmp(p, "</g>", 4) == 0 ? p + 4 : NULL;
}

static void add_head(struct rewriter *r, const struct tag *t)
{
    strbuf_adds(r->out, "<svg");
    add_attributes(r->out, t);
    strbuf_adds(r->out, " role=\"img\" aria-label=\"");
    add_escaped(r->out, r->about->title);
    strbuf_adds(r->out, "\">");
}

/* gnuplot's own title and description become the chart's. */
static const char *add_names(struct rewriter *r, const struct tag *t, const char *end)
{
    const bool title = is(t, "title");
    strbuf_adds(r->out, title ? "<title>" : "<desc>");
    add_escaped(r->out, title ? r->about->title : r->about->description);
    strbuf_adds(r->out, title ? "</title>" : "</desc>");
    if (!title)
        strbuf_addf(r->out, "\n<style>%s</style>", r->about->css);
    *(title ? &r->titled : &r->described) = true;
    return behind(t->end, end, title ? "</title>" : "</desc>");
}

/* A series in which nothing is drawn leaves nothing. */
static bool drop_series(struct rewriter *r, const struct tag *t)
{
    if (r->series_depth == 0 || !is(t, "g") || !closes(t) || r->depth != r->series_depth || r->series_drawn || r->out->oom)
        return false;
    r->out->len = r->series_start;
    r->depth--;
    r->series_depth = 0;
    return true;
}

/* A sample of the key, which stands above the picture. */
static bool outside(const struct rewriter *r, const struct tag *t)
{
    double x, y;
    return r->series_depth > 0 && closes_itself(t) && middle(t, &x, &y) && y < 0;
}

static void track(struct rewriter *r, const struct tag *t)
{
    struct attribute a;
    if (!is(t, "g") || closes_itself(t))
        return;
    if (closes(t)) {
        r->series_depth = r->depth == r->series_depth ? 0 : r->series_depth;
        r->depth--;
        return;
    }
    r->depth++;
    if (find_attribute(t, "id", &a) && a.n_value > 13 && memcmp(a.value, "gnuplot_plot_", 13) == 0) {
        r->series_depth = r->depth;
        r->series_start = r->out->len;
        r->series_drawn = false;
    }
}

/* Write one tag; what follows it. */
static const char *add_tag(struct rewriter *r, const struct tag *t, const char *end)
{
    const char *next = empty_group(t, end);
    if (next)
        return next;
    if (is(t, "script"))
        return closes_itself(t) ? t->end : behind(t->end, end, "</script>");
    if ((is(t, "title") && !r->titled) || (is(t, "desc") && !r->described))
        return add_names(r, t, end);
    if (drop_series(r, t) || outside(r, t))
        return t->end;
    track(r, t);
    r->series_drawn |= !closes(t) && !is(t, "g") && !is(t, "title");
    if (closes(t) || t->p[1] == '?' || t->p[1] == '!') {
        strbuf_add(r->out, t->p, (size_t)(t->end - t->p));
        return t->end;
    }
    if (is(t, "svg")) {
        add_head(r, t);
        return t->end;
    }
    strbuf_adds(r->out, "<");
    strbuf_add(r->out, t->name, t->n_name);
    add_attributes(r->out, t);
    if (!add_tips(r, t))
        strbuf_adds(r->out, closes_itself(t) ? "/>" : ">");
    return t->end;
}

/* White space between tags: a line end at most. */
static void add_text(struct strbuf *out, const char *p, const char *end)
{
    const char *q = p;
    while (q < end && isspace((unsigned char)*q))
        q++;
    if (q < end)
        strbuf_add(out, p, (size_t)(end - p));
    else if (memchr(p, '\n', (size_t)(end - p)) && out->len && out->s[out->len - 1] != '\n')
        strbuf_adds(out, "\n");
}

int svg_finish(struct strbuf *out, const char *svg, size_t size, const struct svg_about *about, struct error *err)
{
    struct rewriter r = { .out = out, .about = about };
    const char *p = svg, *end = svg + size;
    if (!memmem(svg, size, "<svg", 4) || !memmem(svg, size, "</svg>", 6))
        return error_set(err, ERROR_INPUT, "expected an SVG of gnuplot, found %zu bytes without <svg> and </svg>", size);
    while (p < end) {
        const char *open = memchr(p, '<', (size_t)(end - p));
        struct tag t;
        add_text(out, p, open ? open : end);
        if (!open)
            break;
        if (!read_tag(&t, open, end))
            return error_set(err, ERROR_INPUT, "a tag of the SVG at byte %td does not end", open - svg);
        p = add_tag(&r, &t, end);
    }
    return 0;
}
