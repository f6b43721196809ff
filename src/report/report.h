/* report: charts through gnuplot; tables are in table.h. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/base.h"
#include "hwprofile/hwprofile.h"
#include "report/table.h"

/* ---- charts ------------------------------------------------------------------- */
/* Pictures of a chart; txt is drawn with characters, as many a line as the bits from CHART_COLUMNS on say (0: 118). */
enum chart_format { CHART_SVG = 1 << 0, CHART_PNG = 1 << 1, CHART_PDF = 1 << 2, CHART_TXT = 1 << 3, CHART_COLUMNS = 8 };
/* "svg,pdf" -> bits; else ERROR_USAGE. */
int chart_formats_parse(unsigned *formats, const char *text, struct error *err);
struct chart_roof {
    char label[64];
    double bytes_s; /* slanted roof; NaN: horizontal */
    double flop_s;  /* horizontal roof; NaN: slanted */
    bool spec;      /* datasheet, not measured: drawn dashed */
    int machine;    /* roofs of one machine have ridge points with one another; 0 where there is one */
};
struct chart_point {
    char label[48];
    double ai, flop_s;
    char phase[8];  /* "prefill" or "decode", or in a chart by level "L1" "L2" "L3" "DRAM": marker and colour */
    double weight;  /* share of time: marker size; NaN: default */
    bool predicted; /* hollow marker */
    bool counted;   /* bytes from hardware counters: a diamond */
    bool join;      /* a line leads here from the phase's point before; by level: from the point before of that label */
    size_t pair;    /* a line leads here from that point, counted from 1: predicted and measured; 0: none */
    bool silent;    /* its label stands at another point of that label */
    int machine;    /* whose roofs bound it */
};
struct roofline_chart {
    char title[160], subtitle[256];
    const char *style; /* path of the gnuplot style: reports/charts/roofline.gp */
    unsigned formats;  /* enum chart_format; 0: svg and png */
    bool by_level;     /* a point an op and level: bytes from counters (full) or the cache model (hollow: predicted) */
    struct chart_roof *roof;
    size_t n_roof;
    struct chart_point *point;
    size_t n_point;
};
/*
 * Write OUT.tsv (points), OUT.roofs.tsv, OUT.gp (self-contained, re-runnable with gnuplot
 * from its directory), and, through gnuplot, the pictures. The frame comes from the
 * roofs, not the points; points outside it are named in *notes. No label overlaps another
 * or a point. No gnuplot: ERROR_UNAVAILABLE after data and .gp were written. Every file
 * appears complete or not at all. The same chart gives the same bytes.
 */
int chart_roofline(const struct roofline_chart *c, const char *out_base, struct strbuf *notes,
                   struct error *err);

/* ---- charts of what was measured against footprint, threads, load ---------------- */
enum axis_scale {
    AXIS_DECADES, /* logarithmic */
    AXIS_BYTES,   /* logarithmic, powers of two */
    AXIS_COUNT,   /* the same, without a unit */
    AXIS_LINEAR,
    AXIS_NAMES, /* the i-th name stands at i + 1 */
};
struct chart_axis {
    enum axis_scale scale;
    double lo, hi; /* NAMES: not used */
    char title[96], unit[8];
    bool plain; /* AXIS_LINEAR: numbers without prefixes, where the title has a unit with one */
    const char (*name)[16];
    size_t n_name;
};
/* A line through points with their intervals, or points alone. */
struct chart_series {
    char label[64];
    struct hw_point *point;
    size_t n_point;
    bool line;
    bool smooth; /* a line with a marker here and there */
    bool roof;   /* a limit: a dark line without markers */
    bool bare;   /* a band alone */
    bool *shows_name; /* [n_point]: the point's name is drawn next to it; NULL: none is */
    char (*name)[48]; /* [n_point] of the points, for tooltips; NULL: none */
    bool band;   /* intervals are an area behind the line */
    size_t like; /* has the colour of that series, counted from 1, dashes and hollow markers; 0: its own */
};
struct chart_mark { /* a vertical line: a cache's size */
    double x;
    char label[48];
};
struct chart_level { /* a horizontal line: a roof */
    double y;
    char label[64];
    bool spec;
    int series; /* whose colour it has; -1: of none */
};
struct curve_chart {
    char title[160], subtitle[256];
    char caption[512]; /* under the legend: what is missing, and what measures it */
    const char *style; /* reports/charts/curves.gp */
    unsigned formats;
    struct chart_axis x, y;
    struct chart_series *series;
    size_t n_series;
    struct chart_mark *mark;
    size_t n_mark;
    struct chart_level *level;
    size_t n_level;
};
/* Adds to a chart (curve_build.c): room for n_point points, of which there are none yet; a vertical mark; a level. NULL, -1: out of memory. */
struct chart_series *curve_add_series(struct curve_chart *c, size_t n_point, const char *label, struct error *err);
int curve_add_mark(struct curve_chart *c, double x, const char *label, struct error *err);
int curve_add_level(struct curve_chart *c, double y, bool spec, int series, const char *label, struct error *err);
void curve_chart_free(struct curve_chart *c); /* series, their points, marks, levels; names are not its own */
/* What an axis of values from lo to hi spans: the decades that hold them with a margin; [0, hi] rounded up to 1, 2 or 5 of a
 * decade, or less far, so that a tenth, an eighth or a sixth of it is still round; powers of two. doc/notes/charts.md */
void axis_decades(struct chart_axis *a, double lo, double hi);
void axis_decades_close(struct chart_axis *a, double lo, double hi); /* from and to 1, 2 or 5 of a decade */
void axis_linear(struct chart_axis *a, double hi);
void axis_linear_close(struct chart_axis *a, double hi);
void axis_powers(struct chart_axis *a, double lo, double hi);
/* As chart_roofline: OUT.tsv has the points, OUT.roofs.tsv the marks and levels. The axes are the caller's, from the machine;
 * points outside are counted in *notes and under the chart. Empty: ERROR_INPUT. */
int chart_curves(const struct curve_chart *c, const char *out_base, struct strbuf *notes, struct error *err);

#endif
