/* SVG pictures for a page: what is not on a list is left out. */
#include "report/html_svg.h"
#include <string.h>
#include <strings.h>

enum { MOST_LEVELS = 64, MOST_NAME = 24 };

struct reader {
    const char *p, *end, *prefix, *attributes;
    struct strbuf *out;
    char open[MOST_LEVELS][MOST_NAME]; /* elements that have not ended */
    int depth, skip;                   /* skip: depth at which an element that is left out began; 0: none */
    bool has_root;
    struct error *err;
};

static bool is_one_of(const char *const *list, const char *name, size_t n)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncmp(*list, name, n) == 0)
            return true;
    return false;
}

/* What gnuplot's pictures consist of. */
static bool is_allowed_element(const char *name, size_t n)
{
    static const char *const elements[] = { "svg", "title", "desc", "defs", "g", "path", "circle", "rect", "ellipse", "line", "polyline", "polygon", "use", "text",
                                            "tspan", "filter", "feFlood", "feComposite", "linearGradient", "radialGradient", "stop", "pattern", "clipPath",
                                            "marker", "symbol", NULL };
    return is_one_of(elements, name, n);
}

static bool is_allowed_attribute(const char *name, size_t n)
{
    static const char *const attributes[] = {
        "id", "class", "viewBox", "d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "r", "rx", "ry", "cx", "cy", "width", "height", "points", "transform",
        "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray", "stroke-opacity",
        "stroke-miterlimit", "opacity", "color", "font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "baseline-shift",
        "filter", "flood-color", "flood-opacity", "in", "in2", "operator", "result", "offset", "stop-color", "stop-opacity", "clip-path", "clipPathUnits",
        "patternUnits", "gradientUnits", "gradientTransform", "preserveAspectRatio", "href", "xlink:href", "xml:space", "data-series", "data-point", "visibility",
        NULL };
    return is_one_of(attributes, name, n);
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == ':' || c == '.';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int wrong(struct reader *r, const char *what)
{
    return error_set(r->err, ERROR_INPUT, "a chart's picture: %s", what);
}

/* ---- attributes ---------------------------------------------------------------------------------------------- */

enum value_kind { VALUE_PLAIN, VALUE_ID, VALUE_LINK };

static enum value_kind value_kind(const char *name, size_t n)
{
    if (n == 2 && strncmp(name, "id", 2) == 0)
        return VALUE_ID;
    return n >= 4 && strncmp(name + n - 4, "href", 4) == 0 ? VALUE_LINK : VALUE_PLAIN;
}

/* A value without quotes and angle brackets; references within the picture get the prefix. */
static void add_value(struct reader *r, const char *s, size_t n, enum value_kind kind)
{
    if (kind == VALUE_ID)
        strbuf_addf(r->out, "%s-", r->prefix);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '#' && ((i == 0 && kind == VALUE_LINK) || (i >= 4 && strncmp(s + i - 4, "url(", 4) == 0)))
            strbuf_addf(r->out, "#%s-", r->prefix);
        else if (s[i] == '"')
            strbuf_adds(r->out, "&quot;");
        else if (s[i] == '<' || s[i] == '>')
            strbuf_adds(r->out, "?");
        else
            strbuf_add(r->out, &s[i], 1);
    }
}

static bool contains(const char *s, size_t n, const char *part)
{
    const size_t len = strlen(part);
    for (size_t i = 0; i + len <= n; i++)
        if (strncasecmp(s + i, part, len) == 0)
            return true;
    return false;
}

/* A reference to something outside of the picture. */
static bool leaves(const char *name, size_t n_name, const char *s, size_t n)
{
    return (value_kind(name, n_name) == VALUE_LINK && (n < 2 || *s != '#')) || (contains(s, n, "url(") && !contains(s, n, "url(#")) || contains(s, n, "script:");
}

/* An attribute of the tag at r->p: skipped, or written when keep. 0: there is none. */
static int read_attribute(struct reader *r, bool keep)
{
    while (r->p < r->end && is_space(*r->p))
        r->p++;
    const char *name = r->p;
    while (r->p < r->end && is_name(*r->p))
        r->p++;
    const size_t n_name = (size_t)(r->p - name);
    if (n_name == 0)
        return 0;
    while (r->p < r->end && is_space(*r->p))
        r->p++;
    if (r->p >= r->end || *r->p != '=')
        return wrong(r, "an attribute without a value");
    for (r->p++; r->p < r->end && is_space(*r->p);)
        r->p++;
    const char quote = r->p < r->end ? *r->p : 0, *value = r->p + 1;
    const char *end = quote == '"' || quote == '\'' ? memchr(value, quote, (size_t)(r->end - value)) : NULL;
    if (!end)
        return wrong(r, "an attribute without a value in quotes");
    r->p = end + 1;
    const size_t n = (size_t)(end - value);
    if (!keep || !is_allowed_attribute(name, n_name) || leaves(name, n_name, value, n))
        return 1;
    strbuf_adds(r->out, " ");
    strbuf_add(r->out, name, n_name);
    strbuf_adds(r->out, "=\"");
    add_value(r, value, n, value_kind(name, n_name));
    strbuf_adds(r->out, "\"");
    return 1;
}

/* ---- tags ------------------------------------------------------------------------------------------------------ */

static bool starts(const struct reader *r, const char *text)
{
    return (size_t)(r->end - r->p) >= strlen(text) && strncmp(r->p, text, strlen(text)) == 0;
}

/* Behind the next occurrence of end. */
static int skip_to(struct reader *r, const char *end)
{
    const char *p = memmem(r->p, (size_t)(r->end - r->p), end, strlen(end));
    if (!p)
        return wrong(r, "a tag that does not end");
    r->p = p + strlen(end);
    return 0;
}

static int read_end_tag(struct reader *r)
{
    const char *name = r->p += 2;
    while (r->p < r->end && is_name(*r->p))
        r->p++;
    const size_t n = (size_t)(r->p - name);
    if (r->depth == 0 || strlen(r->open[r->depth - 1]) != n || strncmp(r->open[r->depth - 1], name, n) != 0)
        return wrong(r, "an end tag without its element");
    if (skip_to(r, ">") != 0)
        return -1;
    if (!r->skip)
        strbuf_addf(r->out, "</%s>", r->open[r->depth - 1]);
    if (r->skip == r->depth)
        r->skip = 0;
    r->depth--;
    return 0;
}

/* Of the picture itself, "Gnuplot", and of a series without a name: "gnuplot_plot_3", or the columns that it is drawn from. */
static bool is_idle_title(const struct reader *r, const char *name, size_t n)
{
    const char *text = n == 5 && strncmp(name, "title", n) == 0 ? memchr(r->p, '>', (size_t)(r->end - r->p)) : NULL;
    const char *end = text ? memchr(text, '<', (size_t)(r->end - text)) : NULL;
    const bool is_desc = n == 4 && strncmp(name, "desc", n) == 0;
    return (r->depth <= 1 && (text || is_desc)) ||
           (end && (contains(text, (size_t)(end - text), "gnuplot_plot_") || contains(text, (size_t)(end - text), " using ")));
}

static int read_start_tag(struct reader *r)
{
    const char *name = ++r->p;
    while (r->p < r->end && is_name(*r->p))
        r->p++;
    const size_t n = (size_t)(r->p - name);
    if (n == 0 || n >= MOST_NAME || r->depth == MOST_LEVELS)
        return wrong(r, "a tag without a name, or too many levels");
    const bool root = r->depth == 0, is_svg = n == 3 && strncmp(name, "svg", 3) == 0;
    if (root && (!is_svg || r->has_root))
        return wrong(r, "expected one <svg>");
    r->has_root = true;
    const bool keep = !r->skip && is_allowed_element(name, n) && !is_idle_title(r, name, n) && (root || !is_svg);
    snprintf(r->open[r->depth++], MOST_NAME, "%.*s", (int)n, name);
    r->skip = keep || r->skip ? r->skip : r->depth;
    if (keep)
        strbuf_addf(r->out, "<%s%s", r->open[r->depth - 1], root ? r->attributes : "");
    int rc;
    while ((rc = read_attribute(r, keep)) > 0)
        ;
    const bool alone = rc == 0 && starts(r, "/>");
    if (rc < 0 || (!alone && !starts(r, ">")))
        return rc < 0 ? -1 : wrong(r, "a tag that does not end");
    r->p += alone ? 2 : 1;
    if (keep)
        strbuf_adds(r->out, alone ? "/>" : ">");
    if (alone && r->skip == r->depth)
        r->skip = 0;
    r->depth -= alone;
    return 0;
}

static void read_text(struct reader *r)
{
    const char *begin = r->p, *tag = memchr(r->p, '<', (size_t)(r->end - r->p));
    r->p = tag ? tag : r->end;
    if (r->skip || r->depth == 0)
        return;
    bool blank = true;
    for (const char *c = begin; c < r->p; c++)
        blank = blank && is_space(*c);
    if (blank)
        strbuf_adds(r->out, begin < r->p ? "\n" : "");
    else
        for (const char *c = begin; c < r->p; c++)
            strbuf_add(r->out, *c == '>' ? "&gt;" : *c ? c : "?", *c == '>' ? 4 : 1);
}

int html_svg_clean(struct strbuf *out, const char *data, size_t n, const char *prefix, const char *attributes, struct error *err)
{
    struct reader r = { .p = data, .end = data + n, .prefix = prefix, .attributes = attributes, .out = out, .err = err };
    int rc = 0;
    while (rc == 0 && r.p < r.end) {
        if (*r.p != '<')
            read_text(&r);
        else
            rc = starts(&r, "<!--") ? skip_to(&r, "-->") : starts(&r, "<?") || starts(&r, "<!") ? skip_to(&r, ">") : starts(&r, "</") ? read_end_tag(&r)
                                                                                                                    : read_start_tag(&r);
    }
    if (rc == 0 && (!r.has_root || r.depth > 0))
        rc = wrong(&r, "expected one whole <svg>");
    if (rc == 0 && out->oom)
        rc = error_oom(err, n, "a chart's picture");
    return rc;
}
