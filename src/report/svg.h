/*
 * report/svg.h: gnuplot's SVG made fit for pages and for both colour schemes: presentation attributes in place of style attributes, no scripts
 * and no event handlers, title and description, tooltips, a fixed <style> for dark mode. Internal to report and its tests.
 */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "base/base.h"

/* A tooltip: the text of the marker or box whose middle is here, px of the picture. */
struct svg_tip {
    double x, y;
    char text[200];
};
struct svg_about {
    const char *title, *description;
    const char *css; /* text of reports/charts/dark.css; the same in every picture, so that a page can allow it by its hash */
    const struct svg_tip *tip;
    size_t n_tip;
};
/*
 * Append the finished picture to *out.
 *
 * svg      [size] as gnuplot wrote it
 * groups   series are <g id="gnuplot_plot_N"> with a <title>, as gnuplot has them; several groups of one title are one series
 * errors   ERROR_INPUT: no SVG; out of memory shows in out->oom
 */
int svg_finish(struct strbuf *out, const char *svg, size_t size, const struct svg_about *about, struct error *err);
/* Append text[n] as content of XML or HTML, or as a quoted attribute value: & < > " ' as references, other bytes as they are. */
void svg_add_escaped(struct strbuf *out, const char *text, size_t n);

#endif
