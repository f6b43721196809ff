/*
 * report: rows to table, csv, md, json, jsonl; charts through gnuplot. A row is a JSON
 * object with the interface's field names (doc/formats.md), so that every output format
 * says the same thing.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/base.h"
#include "base/json.h"
#include "hwprofile/hwprofile.h"

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON, REPORT_JSONL, REPORT_MD, REPORT_SQL };
int report_format_find(const char *name, enum report_format *out, struct error *err);

enum column_style {
    COL_TEXT,
    COL_INT,
    COL_FLOAT,    /* as they are (FLOAT: 3 significant digits in tables) */
    COL_SI,       /* scaled with k M G T and the column's unit, in tables and md */
    COL_FRACTION, /* 0.873 -> "87.3 %" in tables */
    COL_SECONDS,  /* 0.00478 -> "4.78 ms" */
    COL_BOOL,     /* yes / no / ? for null */
};

/* Which outputs have a column. In a table that is too wide for its terminal MINOR columns go first, then MEDIUM ones, then MAJOR
 * ones, KEY ones last, of each kind the rightmost first; the first column stays. */
enum column_rank { COL_MAJOR, COL_DATA /* csv, sql and json only */, COL_MEDIUM, COL_MINOR, COL_KEY };

/*
 * Text for people, broken at blanks so that no line is wider than width columns, but for a word that is; 0: as it is. A break is followed by
 * indent blanks, 4 where those are more than half of width. A line end before a blank or another line end stays, any other counts as a blank.
 */
void report_wrap(struct strbuf *out, const char *text, size_t width, size_t indent);

/* A column of table, csv, sql and md output. csv and sql have raw SI values under `key`. */
struct column {
    const char *key;    /* JSON field */
    const char *header; /* table heading */
    enum column_style style;
    const char *unit; /* SI: "B", "FLOP/s" */
    int rank;         /* enum column_rank */
};

/*
 * rows: array of objects. meta: object merged into the document before "rows" (may be
 * NULL). JSON is {"schema": schema, "version": version, meta..., "rows": [...]}; jsonl one
 * compact row a line (each with schema and version). sql creates the table that the schema names and inserts the rows. null prints as
 * "-" in tables, as an empty cell in csv, as NULL in sql.
 */
struct report_doc {
    const char *schema;
    int version;
    const json_t *meta;
    const json_t *rows;
    const struct column *cols;
    size_t n_cols;
};
/* width: of the terminal, in columns: a table leaves out columns that do not fit and names them; 0: all columns. */
int report_print(FILE *out, enum report_format fmt, const struct report_doc *d, size_t width, struct error *err);

/* ---- charts ------------------------------------------------------------------- */
/* Pictures of a chart; txt is drawn with characters. */
enum chart_format { CHART_SVG = 1 << 0, CHART_PNG = 1 << 1, CHART_PDF = 1 << 2, CHART_TXT = 1 << 3 };
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
    const char (*name)[16];
    size_t n_name;
};
/* A line through points with their intervals, or points alone. */
struct chart_series {
    char label[64];
    struct hw_point *point;
    size_t n_point;
    bool line;
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
/* What an axis of values from lo to hi spans: the decades that hold them with a margin; [0, hi] rounded up to 1, 2 or 5 of a
 * decade; powers of two. doc/notes/charts.md */
void axis_decades(struct chart_axis *a, double lo, double hi);
void axis_linear(struct chart_axis *a, double hi);
void axis_powers(struct chart_axis *a, double lo, double hi);
/* As chart_roofline: OUT.tsv has the points, OUT.roofs.tsv the marks and levels. The axes are the caller's, from the machine;
 * points outside are counted in *notes and under the chart. Empty: ERROR_INPUT. */
int chart_curves(const struct curve_chart *c, const char *out_base, struct strbuf *notes, struct error *err);
void curve_chart_free(struct curve_chart *c); /* series, their points, marks, levels; names are not its own */

#endif
