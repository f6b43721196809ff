/* predict_report.h: the rows of a prediction, and how they are printed. */
#ifndef REPORT_PREDICT_REPORT_H
#define REPORT_PREDICT_REPORT_H

#include "learn/anchors.h"
#include "predict/options.h"
#include "report/output.h"
#include "report/predict_row.h"
#include "predict/solve.h"
#include "predict/speculate.h"
#include "predict/whatif.h"

struct plot_prediction; /* plot.h */

/* --draft and its kin, as given. */
struct draft_cli {
    const char *spec, *type, *gamma, *acceptance;
    char type_named[24]; /* as in struct pricing_options */
    double host_us;
};

/* Questions other than tokens/s: options of predict_ask.c. */
struct predict_ask {
    const char *request;         /* --request, and what it says */
    struct request *requests;
    size_t n_request;
    double power_w, price_usd_h; /* NaN: the profile's */
    bool explain;
    struct predict_change *changes; /* --what-if, each time */
    size_t n_change;
    struct question *questions;     /* --solve, each time */
    size_t n_question;
};

struct predict_change {
    const char *text;
    struct whatif w;
    bool loaded;
    struct model m; /* in another type; when loaded */
};

struct predict_cli {
    struct plot_prediction *keep; /* for a chart: filled, and nothing is printed; NULL: printed */
    const char *model, *hw, *save;
    const char *n_prompt, *n_gen, *n_depth, *n_batch; /* lists */
    int64_t n_ubatch, threads; /* 0: the software's; all */
    bool roof, weights_only, weights_all, by_role;
    double weights_gb; /* NaN: counted */
    struct pricing_options price;
    struct draft_cli draft;
    struct software_options software;
    struct predict_ask ask;
    enum report_format format;
};

/* The same, ready: .gamma.n 0: nothing is drafted. */
struct drafting {
    struct spec_options s; /* but for gamma */
    struct model model;
    struct int_list gamma;
    double a[SPEC_MAX_GAMMA];
};


/* Rows so far: of several machines one that cannot be priced has a row that says why. */
struct predict_tally {
    bool several;
    size_t n_priced;
    struct error first; /* why the first of the others cannot */
    char said[64];      /* the last machine that a warning was about */
};

/* One row's subject: a machine, a scenario, and which phase of it. */
struct subject {
    const struct model *m;
    const struct hwprofile *h;
    struct predict_options o;
    struct predict_result r;
    enum phase phase;
    const struct request *request; /* NULL: a phase */
    struct prediction total;       /* of the request */
    const char *what_if;           /* NULL: no change */
    const struct whatif *change;
    const struct subject *base;    /* without it */
    const char *reason;            /* why there is no price; NULL: there is one */
    struct predict_tally *tally;
    const struct predict_cli *cli;
    const struct drafting *drafting;
    const struct speculation *spec; /* of this row; NULL: plain */
    uint32_t gamma;
};

/* predict_rows.c: the rows (struct predict_row) of one phase; a row a role with --by role. */
int predict_add_rows(struct table_rows *rows, const struct subject *s, struct error *err);
/* A row that says why *s has no price. */
int predict_add_reason(struct table_rows *rows, const struct subject *s, const char *reason, struct error *err);
/* What the row is about. */
const struct prediction *predict_of(const struct subject *s);
/* Seconds or tokens/s v with their 90 % interval, of which p is as sure as of its own; NaN where it has none. (62) */
struct figure predict_seconds(double v, const struct prediction *p);
struct figure predict_rate(double v, const struct prediction *p);
/* Whether the limits hold. */
void predict_put_limits(struct predict_row *w, const struct limits *l, const struct limit_phase *prefill, const struct limit_phase *decode);
/* What was asked for instead of the model's own work: a figure priced so is nominal. */
struct cell predict_weights_gb(const struct predict_cli *o);
/* A document's fields before its rows; NULL: out of memory. */
json_t *predict_meta(const struct predict_cli *o, const struct model *m);
/* predict_print.c: all rows, to --save and to the terminal. */
int predict_print(struct table_rows *rows, const struct predict_cli *o, const struct model *m, struct error *err);
/* predict_explain.c: the derivation of a phase into its row; its JSON; as text, of every row that has it. */
int predict_put_explain(struct predict_row *w, const struct subject *s, struct error *err);
void predict_nest_explain(struct table_rows *rows, struct predict_row *w);
void predict_print_explain(const struct table_rows *rows);
extern const struct table_fields predict_class_fields, predict_constant_fields, predict_solve_fields;
/* predict_draft.c: decode rows with drafts, after the plain one: none without --draft. */
int predict_draft_rows(struct table_rows *rows, const struct subject *plain, struct error *err);
void predict_draft_name(char *buf, size_t n, const struct subject *s);
void predict_draft_put(struct predict_row *w, const struct subject *s);
void predict_draft_note(const struct predict_cli *o);
/* predict_solve.c: an answer a question, rows of their own (predict_solve_row_size); why *s has none; all of them, to --save and to the terminal. */
extern const size_t predict_solve_row_size;
int predict_solve_rows(struct table_rows *rows, const struct subject *s, struct error *err);
void predict_solve_add_reason(struct table_rows *rows, const struct subject *s, const char *reason);
int predict_solve_print(const struct table_rows *rows, const struct predict_cli *o, const struct model *m, struct error *err);

#endif
