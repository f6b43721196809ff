/* predict_report.h: the rows of a prediction, and how they are printed. */
#ifndef REPORT_PREDICT_REPORT_H
#define REPORT_PREDICT_REPORT_H

#include "learn/anchors.h"
#include "predict/offload.h"
#include "predict/options.h"
#include "report/output.h"
#include "report/predict_row.h"
#include "predict/solve.h"
#include "predict/speculate.h"
#include "predict/whatif.h"

struct plot_prediction; /* plot.h */

/* --draft and related options, as given. */
struct draft_cli {
    const char *spec, *type, *gamma, *acceptance;
    char type_named[24]; /* as in struct pricing_options */
    double host_us;
};

/* -ngl, --n-cpu-moe, -ot and related options, as given. */
struct offload_cli {
    struct offload_rule rule;
    bool placed;      /* an option that may leave a part on the host is given */
    const char *host; /* NULL: assumed */
    double host_gb_s; /* 0: its profile's */
};

/* Options of predict_ask.c. */
struct predict_ask {
    const char *request;         /* --request, and its parsed values */
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
    int64_t n_ubatch, threads; /* 0: the stack's; all */
    bool roof, weights_only, weights_all, by_role;
    double weights_gb; /* NaN: counted */
    struct pricing_options price;
    struct draft_cli draft;
    struct offload_cli offload;
    struct software_options software;
    struct predict_ask ask;
    enum report_format format;
};

/* Evaluated draft options; .gamma.n 0: no speculative decoding. */
struct drafting {
    struct spec_options s; /* except gamma */
    struct model model;
    struct int_list gamma;
    double a[SPEC_MAX_GAMMA];
};


/* Predictions so far: of several machines, one that cannot be predicted has a row with the reason. */
struct predict_tally {
    bool several;
    size_t n_priced;
    struct error first; /* reason of the first failure */
    char said[64];      /* the last machine warned of */
    bool hosted;        /* some prediction has a part of the model on the host */
};

/* Scenario of a row: model, machine, options and phase. */
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
    const struct subject *base;    /* scenario without the change */
    const char *reason;            /* why there is no prediction; NULL: there is one */
    const struct predict_offload *asked; /* offload options as given, perhaps with auto; o.offload: its numbers for this machine */
    bool alone;                    /* offload options that leave nothing on the host */
    struct predict_tally *tally;
    const struct predict_cli *cli;
    const struct drafting *drafting;
    const struct speculation *spec; /* of this row; NULL: plain decode */
    uint32_t gamma;
};

/* predict_rows.c: adds the rows (struct predict_row) of a phase: one, or with --by role one per role. */
int predict_add_rows(struct table_rows *rows, const struct subject *s, struct error *err);
/* Adds a row with the reason why *s has no prediction. */
int predict_add_reason(struct table_rows *rows, const struct subject *s, const char *reason, struct error *err);
/* The prediction of the row. */
const struct prediction *predict_of(const struct subject *s);
/* Seconds or tokens/s v with the relative 90 % interval of p; NaN: no interval. (62) */
struct figure predict_seconds(double v, const struct prediction *p);
struct figure predict_rate(double v, const struct prediction *p);
/* Whether the limits hold. */
void predict_put_limits(struct predict_row *w, const struct limits *l, const struct limit_phase *prefill, const struct limit_phase *decode);
/* --weights-gb: a nominal model. */
struct cell predict_weights_gb(const struct predict_cli *o);
/* A document's fields before its rows; NULL: out of memory. */
json_t *predict_meta(const struct predict_cli *o, const struct model *m);
/* predict_print.c: all rows, to --save and to the terminal. */
int predict_print(struct table_rows *rows, const struct predict_cli *o, const struct model *m, struct error *err);
/* predict_explain.c: adds the derivation of a phase to its row; as JSON; as text, for every row that has one. */
int predict_put_explain(struct predict_row *w, const struct subject *s, struct error *err);
void predict_nest_explain(struct table_rows *rows, struct predict_row *w);
void predict_print_explain(const struct table_rows *rows);
extern const struct table_fields predict_device_fields, predict_class_fields, predict_constant_fields, predict_solve_fields;
/* predict_devices.c: what GPU and host hold and do, with a part of the model on the host: adds them to a row; as JSON; as tables. */
int predict_put_devices(struct predict_row *w, const struct subject *s, struct error *err);
void predict_nest_devices(struct table_rows *rows, struct predict_row *w);
int predict_print_devices(const struct table_rows *rows, enum report_format format, struct error *err);
/* predict_draft.c: decode rows with speculative decoding, after the plain one; none without --draft. */
int predict_draft_rows(struct table_rows *rows, const struct subject *plain, struct error *err);
void predict_draft_name(char *buf, size_t n, const struct subject *s);
void predict_draft_put(struct predict_row *w, const struct subject *s);
void predict_draft_note(const struct predict_cli *o);
/* predict_solve.c: adds a row (predict_solve_row_size) per --solve; rows with a reason instead; prints all, to --save and to the terminal. */
extern const size_t predict_solve_row_size;
int predict_solve_rows(struct table_rows *rows, const struct subject *s, struct error *err);
void predict_solve_add_reason(struct table_rows *rows, const struct subject *s, const char *reason);
int predict_solve_print(const struct table_rows *rows, const struct predict_cli *o, const struct model *m, struct error *err);

#endif
