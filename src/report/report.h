/*
 * report: rows to table, csv, md, json, jsonl; charts through gnuplot. A row is a JSON
 * object with the interface's field names (doc/formats.md), so that every output format
 * says the same thing.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/base.h"
#include "base/json.h"

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON, REPORT_JSONL, REPORT_MD };
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

/* A column of table, csv and md output. csv prints raw SI values under `key`. */
struct column {
    const char *key;    /* JSON field */
    const char *header; /* table heading */
    enum column_style style;
    const char *unit; /* SI: "B", "FLOP/s" */
    bool csv_only;    /* not in table and md */
};

/*
 * rows: array of objects. meta: object merged into the document before "rows" (may be
 * NULL). JSON is {"schema": schema, "version": version, meta..., "rows": [...]}; jsonl one
 * compact row a line (each with schema and version). null prints as "-" in tables, as an
 * empty cell in csv.
 */
struct report_doc {
    const char *schema;
    int version;
    const json_t *meta;
    const json_t *rows;
    const struct column *cols;
    size_t n_cols;
};
int report_print(FILE *out, enum report_format fmt, const struct report_doc *d, struct error *err);

/* ---- charts ------------------------------------------------------------------- */
struct chart_roof {
    char label[64];
    double bytes_s; /* slanted roof; NaN: horizontal */
    double flop_s;  /* horizontal roof; NaN: slanted */
    bool spec;      /* datasheet, not measured: drawn dashed */
};
struct chart_point {
    char label[48];
    double ai, flop_s;
    char phase[8];  /* "prefill" or "decode": marker and colour */
    double weight;  /* share of time: marker size; NaN: default */
    bool predicted; /* hollow marker */
    bool counted;   /* bytes from hardware counters: a diamond */
    bool join;      /* a line leads here from the phase's point before */
};
struct roofline_chart {
    char title[160], subtitle[256];
    const char *style; /* path of the gnuplot style: reports/charts/roofline.gp */
    struct chart_roof *roof;
    size_t n_roof;
    struct chart_point *point;
    size_t n_point;
};
/*
 * Write OUT.tsv (points), OUT.roofs.tsv, OUT.gp (self-contained, re-runnable with gnuplot
 * from its directory), and, through gnuplot, OUT.svg and OUT.png. The frame comes from the
 * roofs, not the points; points outside it are named in *notes. No label overlaps another
 * or a point. No gnuplot: ERROR_UNAVAILABLE after data and .gp were written. Every file
 * appears complete or not at all. The same chart gives the same bytes.
 */
int chart_roofline(const struct roofline_chart *c, const char *out_base, struct strbuf *notes,
                   struct error *err);

#endif
