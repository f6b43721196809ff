/*
 * check_svg [--font FILE.ttf] [--structure] FILE.svg...: reads charts, works out the box of every text and the place of every marker, and
 * fails when two texts overlap, a text lies on a marker, anything leaves the canvas, a series has no name, or an attribute or element stands
 * there that a content security policy refuses. It sees only the picture: nothing of the plan that the chart was made from. --font: text has
 * the outlines of that font, not the widths that charts are planned with. --structure prints instead what a picture consists of: its texts, and
 * markers, lines, polygons and tooltips of each series.
 */
#include "font.h"
#include "report/layout.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 4000

struct text {
    struct box box;
    char s[256];
};

static struct text text[MAX_ITEMS];
static struct disc marker[MAX_ITEMS];
static size_t n_text, n_marker;
static int n_bad;
static struct font font;
static bool have_font;

/* The attribute's value between quotes of either kind, or "". */
static void attribute(const char *tag, const char *end, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);
    out[0] = 0;
    for (const char *p = tag; p + n + 2 < end; p++) {
        if (strncmp(p, name, n) != 0 || p[n] != '=' || !isspace((unsigned char)p[-1]))
            continue;
        char q = p[n + 1];
        const char *v = p + n + 2, *stop = memchr(v, q, (size_t)(end - v));
        size_t len = stop ? (size_t)(stop - v) : 0;
        len = len < size ? len : size - 1;
        memcpy(out, v, len);
        out[len] = 0;
        return;
    }
}

/* "&lt;" and the like back to characters. */
static void unescape(const char *p, const char *end, char *out, size_t size)
{
    static const char *const entity[][2] = {
        { "&lt;", "<" }, { "&gt;", ">" }, { "&amp;", "&" }, { "&quot;", "\"" }, { "&apos;", "'" }
    };
    size_t n = 0;
    while (p < end && n + 1 < size) {
        size_t k = 0;
        while (k < ARRAY_LEN(entity) && strncmp(p, entity[k][0], strlen(entity[k][0])) != 0)
            k++;
        out[n++] = k < ARRAY_LEN(entity) ? *entity[k][1] : *p;
        p += k < ARRAY_LEN(entity) ? strlen(entity[k][0]) : 1;
    }
    out[n] = 0;
}

/* A <g transform=... font-size=...> holding one <text>: the translation is the baseline's
 * anchor. */
static void add_text(const char *g, const char *g_end)
{
    char transform[128], size_s[32], anchor[16], weight[16];
    const char *open = strstr(g_end, "<text"), *start = open ? strchr(open, '>') : NULL;
    const char *stop = start ? strstr(start, "</text>") : NULL;
    attribute(g, g_end, "transform", transform, sizeof transform);
    attribute(g, g_end, "font-size", size_s, sizeof size_s);
    attribute(g, g_end, "text-anchor", anchor, sizeof anchor);
    attribute(g, g_end, "font-weight", weight, sizeof weight);
    double x, y, angle = 0, size = atof(size_s);
    if (!stop || n_text == MAX_ITEMS ||
        sscanf(transform, "translate(%lf,%lf) rotate(%lf)", &x, &y, &angle) < 2)
        return;
    struct text *t = &text[n_text];
    unescape(start + 1, stop, t->s, sizeof t->s);
    const char *visible = t->s + strspn(t->s, " ");
    const double bold = strcmp(weight, "bold") == 0 ? 1.1 : 1;
    struct extent e = { .width_px = bold * text_width_px(visible, size), .up_px = 0.76 * size, .down_px = 0.24 * size };
    if (have_font) {
        e = font_extent(&font, visible, size);
        e.width_px *= bold;
    }
    const double w = e.width_px;
    if (!*visible)
        return;
    /* From the anchor to the middle of the ink: along the baseline, then up. SVG turns
     * clockwise. */
    double a = angle * 3.14159265358979323846 / 180;
    double along = strcmp(anchor, "start") == 0 ? w / 2 : strcmp(anchor, "end") == 0 ? -w / 2 : 0;
    double up = (e.up_px - e.down_px) / 2;
    t->box = (struct box){ x + along * cos(a) + up * sin(a), y + along * sin(a) - up * cos(a),
                           w / 2, (e.up_px + e.down_px) / 2, -angle };
    n_text++;
    if (size < 9)
        n_bad += printf("# text too small (%.1f px): \"%s\"\n", size, t->s) > 0;
}

/* gnuplot's shapes in units of their scale: circles reach 1, triangles and diamonds
 * further. */
static void add_marker(const char *tag, const char *end)
{
    char href[32], transform[128];
    double x, y, scale;
    attribute(tag, end, "xlink:href", href, sizeof href);
    attribute(tag, end, "transform", transform, sizeof transform);
    if (n_marker == MAX_ITEMS ||
        sscanf(transform, "translate(%lf,%lf) scale(%lf)", &x, &y, &scale) != 3)
        return;
    bool circle = strcmp(href, "#gpPt5") == 0 || strcmp(href, "#gpPt6") == 0;
    marker[n_marker++] = (struct disc){ x, y, scale * (circle ? 1 : 1.33), DISC_NONE };
}

static void parse(const char *svg)
{
    const char *p = strstr(svg, "</defs>");
    for (p = p ? p : svg; (p = strchr(p, '<')) != NULL; p++) {
        const char *end = strchr(p, '>');
        if (!end)
            break;
        if (strncmp(p, "<g ", 3) == 0 && memmem(p, (size_t)(end - p), "font-size", 9))
            add_text(p, end);
        else if (strncmp(p, "<use ", 5) == 0)
            add_marker(p, end);
    }
}

static void check(double w, double h)
{
    for (size_t i = 0; i < n_text; i++) {
        struct box a = text[i].box;
        if (!box_inside(&a, 0, 0, w, h))
            n_bad += printf("# leaves the canvas: \"%s\"\n", text[i].s) > 0;
        a.hw -= 0.5; /* positions are rounded to a hundredth, angles to a degree */
        a.hh -= 0.5;
        for (size_t j = i + 1; j < n_text; j++)
            if (box_overlaps(&a, &text[j].box))
                n_bad += printf("# texts overlap: \"%s\" and \"%s\"\n", text[i].s, text[j].s) > 0;
        for (size_t j = 0; j < n_marker; j++)
            if (box_distance(&a, marker[j].x, marker[j].y) < marker[j].r - 0.5)
                n_bad += printf("# text on a marker at %.0f,%.0f: \"%s\"\n", marker[j].x,
                                marker[j].y, text[i].s) > 0;
    }
    for (size_t j = 0; j < n_marker; j++)
        if (marker[j].x < 0 || marker[j].y < 0 || marker[j].x > w || marker[j].y > h)
            n_bad += printf("# marker off the canvas at %.0f,%.0f\n", marker[j].x, marker[j].y) > 0;
}

/* ---- what a page refuses, what a series needs --------------------------------------------------------------------------- */

static void check_policy(const char *svg)
{
    static const char *const refused[] = { "<script", " style=", "javascript:", " onload=", " onclick=", " onmouse", "<foreignObject" };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (strstr(svg, refused[i]))
            n_bad += printf("# a content security policy refuses \"%s\"\n", refused[i]) > 0;
    if (!strstr(svg, "<style>@media (prefers-color-scheme: dark)"))
        n_bad += printf("# no colours for dark mode\n") > 0;
}

struct series {
    char name[256];
    int n_use, n_path, n_polygon, n_tip;
};
static struct series series[400];
static size_t n_series;

/* The title behind a group's tag is the series' name; groups of one name are one series. */
static struct series *series_at(const char *group)
{
    const char *open = strstr(group, "<title>"), *stop = open ? strstr(open, "</title>") : NULL, *first = strchr(strchr(group, '>') + 1, '<');
    char name[256] = "";
    if (stop && open == first)
        snprintf(name, sizeof name, "%.*s", (int)(stop - open - 7), open + 7);
    if (!*name || strstr(name, "using") || strncmp(name, "gnuplot_plot", 12) == 0)
        n_bad += printf("# a series without a name: \"%s\"\n", name) > 0;
    for (size_t i = 0; i < n_series; i++)
        if (strcmp(series[i].name, name) == 0)
            return &series[i];
    if (n_series < ARRAY_LEN(series) - 1)
        n_series++;
    snprintf(series[n_series - 1].name, sizeof series->name, "%s", name);
    return &series[n_series - 1];
}

static void count_series(const char *svg)
{
    static const char begin[] = "<g id=\"gnuplot_plot_";
    for (const char *p = svg; (p = strstr(p, begin)) != NULL; p++) {
        struct series *s = series_at(p);
        const char *next = strstr(p + 1, begin), *end = next ? next : p + strlen(p);
        for (const char *q = strstr(p, "</title>"); q && (q = strchr(q + 1, '<')) != NULL && q < end;) {
            s->n_use += strncmp(q, "<use", 4) == 0;
            s->n_path += strncmp(q, "<path", 5) == 0;
            s->n_polygon += strncmp(q, "<polygon", 8) == 0;
            s->n_tip += strncmp(q, "<title", 6) == 0;
        }
    }
}

static void print_structure(double w, double h)
{
    printf("canvas %.0f x %.0f\n", w, h);
    for (size_t i = 0; i < n_series; i++)
        if (series[i].n_use + series[i].n_path + series[i].n_polygon > 0)
            printf("series \"%s\": %d markers, %d lines, %d polygons, %d tooltips\n", series[i].name, series[i].n_use, series[i].n_path,
                   series[i].n_polygon, series[i].n_tip);
    for (size_t i = 0; i < n_text; i++)
        printf("text \"%s\"\n", text[i].s);
}

/* Problems, -1: the file cannot be read. */
static int check_file(const char *path, bool structure)
{
    struct filemap m;
    struct error err;
    if (filemap_open(&m, path, &err) != 0) {
        fprintf(stderr, "check_svg: %s\n", err.msg);
        return -1;
    }
    char *svg = malloc(m.size + 1);
    if (!svg)
        return -1;
    memcpy(svg, m.data, m.size);
    svg[m.size] = 0;
    filemap_close(&m);
    double w = 0, h = 0;
    const char *box = strstr(svg, "viewBox=\"");
    n_text = n_marker = n_series = 0;
    n_bad = 0;
    memset(series, 0, sizeof series);
    if (!box || sscanf(box, "viewBox=\"0 0 %lf %lf\"", &w, &h) != 2 || !strstr(svg, "</svg>")) {
        printf("# %s: not a whole SVG\n", path);
        free(svg);
        return 1;
    }
    parse(svg);
    count_series(svg);
    if (strstr(svg, "<style>")) /* gnuplot's own, drawn again from NAME.gp, has none */
        check_policy(svg);
    free(svg);
    check(w, h);
    if (structure)
        print_structure(w, h);
    else
        printf("%zu texts, %zu markers, %d problems\n", n_text, n_marker, n_bad);
    return n_bad + (n_text < 5);
}

int main(int argc, char **argv)
{
    bool structure = false;
    int first = 1, bad = 0;
    struct error err;
    for (; first < argc && argv[first][0] == '-' && argv[first][1] == '-'; first++) {
        structure |= strcmp(argv[first], "--structure") == 0;
        if (strcmp(argv[first], "--font") == 0 && first + 1 < argc) {
            if (font_open(&font, argv[++first], &err) != 0) {
                fprintf(stderr, "check_svg: %s\n", err.msg);
                return 2;
            }
            have_font = true;
        }
    }
    if (first >= argc) {
        fprintf(stderr, "usage: check_svg [--font FILE.ttf] [--structure] FILE.svg...\n");
        return 2;
    }
    for (int i = first; i < argc; i++) {
        const int n = check_file(argv[i], structure);
        if (n != 0 && argc - first > 1)
            printf("# in %s\n", argv[i]);
        bad = n < 0 ? 2 : n > 0 && bad == 0 ? 1 : bad;
    }
    if (have_font)
        font_close(&font);
    return bad;
}
