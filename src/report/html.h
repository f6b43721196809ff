/*
 * html.h: `roofcast report FILE... -o report.html`: runs, predictions, simulations and other engines' results as one page: a verdict in words, the changes worth
 * most, charts, tables, the machine, the counters, what was not measured.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "dataset/workload.h"
#include "report/html_page.h"

/* What a file holds. */
enum html_kind {
    HTML_RUN,        /* bench --save, bench -o json */
    HTML_PREDICTION, /* predict -o json */
    HTML_SERVED,     /* simulate --save, serve --save */
    HTML_MEASURED,   /* another engine's results, completed by workload_rows() */
    HTML_TABLE,      /* any other table of roofcast: a comparison, a sweep, a list */
};

struct html_file {
    const char *path, *name; /* name: as the page shows it, unique among the files */
    enum html_kind kind;
    const json_t *doc;       /* NULL for HTML_MEASURED */
    const struct workload *row;
    size_t n_row;
};

struct plot_prediction; /* plot.h */
/* The predictions of a model for a chart; lists as of predict's -d and -b. The caller frees *out, after an error too. */
typedef int html_predict_fn(struct plot_prediction *out, const char *model, const char *hw, const char *type, const char *n_depth, const char *n_batch,
                            struct error *err);

struct html_report {
    html_predict_fn *predict; /* NULL: no charts over batch and context */
    const struct html_file *file;
    size_t n;
    const char *hw;    /* the machine, as `predict --hw`; NULL: the file's */
    const char *model; /* a name or file, for files that name none; NULL: the file's */
    const char *command; /* that writes this page */
};

/* Which kind a document is. errors: ERROR_INPUT: a document that a page does not show, and what it shows */
int html_kind_of(enum html_kind *kind, const json_t *doc, const char *path, struct error *err);
/*
 * path     of a name in .html: one file; in .md: that file, and its charts (SVG, gnuplot script, data) as NAME-CHART.svg, ...
 * errors   a file with a field missing or out of range: names file and field; a template missing; a write error. A chart or a prediction that cannot be made is
 *          said in the page with its reason and is no error.
 */
int html_report_write(const struct html_report *r, const char *path, struct error *err);
/* The name ends in .html or .md. */
bool html_is_page(const char *path);

#endif
