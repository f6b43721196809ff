/*
 * report/draw.h: common to all charts: files of a chart, safe text for gnuplot scripts, and running gnuplot. Internal to report.
 */
#ifndef REPORT_DRAW_H
#define REPORT_DRAW_H

#include "report/layout.h"
#include "report/plan.h"
#include "report/report.h"
#include "report/svg.h"

/* "dir/name" split; files are OUT plus an extension. */
struct chart_out {
    char *base, *dir;
    const char *name;
    unsigned formats; /* enum chart_format */
    const char *style; /* the template's path: dark.css is next to it */
    const char *title, *description;
    struct svg_tip *tip;
    size_t n_tip;
};
/* What a script says of a chart: gnuplot's variables. */
struct chart_words {
    const char *title, *x_title, *y_title;
    bool x_log, y_log;
    size_t n_series;
    const char *const *name; /* [n_series] */
};
/* formats 0: CHART_SVG | CHART_PNG. */
int chart_out_init(struct chart_out *o, const char *base, unsigned formats, struct error *err);
void chart_out_free(struct chart_out *o);
/* A tooltip for the marker or box whose middle is here, px. */
int chart_out_tip(struct chart_out *o, double x, double y, const char *text, struct error *err);
/* OUT.ext with these bytes, complete or not at all. */
int chart_write(const struct chart_out *o, const char *ext, const struct strbuf *b, struct error *err);
/* Runs gnuplot on OUT.gp: replaces all pictures of o->formats, or none. */
int chart_draw(const struct chart_out *o, struct error *err);

/* Names come from files: no control characters (tabs would move columns), no broken UTF-8 (bad XML). quote: a quote is
 * written twice, as in gnuplot's single-quoted strings. */
void script_add_clean(struct strbuf *b, const char *text, bool quote);
/* 'text'; quotes that gnuplot misreads as typographic ones */
void script_add_string(struct strbuf *b, const char *text);
/* 'text' in a command that becomes a string itself: all quotes as typographic ones. */
void script_add_inner_string(struct strbuf *b, const char *text);
/* A number (nan) and a tab. */
void script_add_value(struct strbuf *b, double v);
/* Where the data is and where pictures go, and the frame's variables. */
void script_add_prologue(struct strbuf *b, const struct chart_out *o, const struct frame *f, const struct chart_words *w);
/* In the plot by the axes' values, so that texts stay with their points when the picture is resized. */
void script_add_position(struct strbuf *b, const struct frame *f, double x, double y, bool in_plot);
/* color: a variable of the style file. */
void script_add_label(struct strbuf *b, const struct frame *f, const struct plan_text *t, const char *color);
/* The style's name of the colour of a text. */
const char *script_role_color(enum text_role r);
/* "set xtics (": decades with SI prefixes, unlabelled ticks between; unit is appended to each. */
void script_add_decades(struct strbuf *b, const char *axis, double lo, double hi, const char *unit);
/* "set xtics (": a tenth, an eighth or a sixth of [0, hi], with one prefix for all. */
void script_add_linear(struct strbuf *b, const char *axis, const struct chart_axis *a);
/* The path of the file `name` next to the template. errors: it is too long */
int script_next_to(char *path, size_t size, const char *style, const char *name, size_t n_name, struct error *err);
/* The template, with `texts` where the line "#LABELS#" stands, and files next to it where lines "#INCLUDE name#" do. */
int script_add_style(struct strbuf *b, const char *style, const struct strbuf *texts, struct error *err);

/* Run a gnuplot script in its directory; picture[i] is the path that the variable format_name[i] gets, NULL: none.
 * gnuplot.c */
enum { CHART_FORMATS = 4 };
extern const char *const chart_format_name[CHART_FORMATS]; /* svg png pdf txt */
int gnuplot_render(const char *dir, const char *script, const char *const *picture, struct error *err);
/* The picture of that format is there and whole; name: what it becomes, for the message. */
int gnuplot_check(const char *path, int format, const char *name, struct error *err);

#endif
