/*
 * report/boxes.h: charts of boxes: bars of a waterfall, stacked bars of layers. Positions are values of the axes; rows and panels stand on the
 * vertical axis at whole numbers. Internal to report.
 */
#ifndef REPORT_BOXES_H
#define REPORT_BOXES_H

#include "report/report.h"

struct chart_box {
    size_t series; /* from 1 */
    double x_lo, x_hi, y_lo, y_hi;
    double value;
    char label[120]; /* tooltip */
};
struct box_text {
    enum { BOX_TEXT_LEFT, BOX_TEXT_RIGHT_OF, BOX_TEXT_ABOVE } where; /* left of the axis; right of (x, y); above the axis' end, from its left on */
    double x, y;
    bool faint;
    char text[96];
};
enum { BOX_SERIES = 4 };
struct box_chart {
    char title[160], subtitle[256], caption[512];
    const char *style; /* reports/charts/waterfall.gp, layers.gp */
    unsigned formats;
    struct chart_axis x;    /* AXIS_LINEAR */
    double x_step;          /* between whole ticks from 0 on, with `first` before and `last` behind them; 0: a tenth, an eighth or a sixth of the axis */
    const char *first, *last; /* names of the bars at -1 and at the axis' end */
    double y_lo, y_hi;
    double height_px;       /* of the plot */
    const char *series[BOX_SERIES];
    size_t n_series;
    struct chart_box *box;
    size_t n_box;
    struct box_text *text;
    size_t n_text;
    double rule[4];         /* horizontal lines: the panels' feet */
    size_t n_rule;
    char y_title[32]; /* of the picture of characters */
};
/* Append a box, a text: NULL, out of memory. Fields but those given are zero. */
struct chart_box *box_chart_add(struct box_chart *c, size_t series, double x_lo, double x_hi, double y_lo, double y_hi, struct error *err);
struct box_text *box_chart_text(struct box_chart *c, double x, double y, struct error *err);
void box_chart_free(struct box_chart *c);
/* As chart_roofline(), with OUT.tsv alone. Empty: ERROR_INPUT. */
int chart_boxes(const struct box_chart *c, const char *out_base, struct strbuf *notes, struct error *err);

#endif
