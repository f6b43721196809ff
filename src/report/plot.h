/*
 * plot.h: what `roofcast plot` makes of a document: points and roofs. plot_doc.c reads
 * points, plot_predicted.c predictions, plot_levels.c those of each level of the memory, plot_roofs.c chooses roofs, plot_chart.c draws them,
 * plot_curves.c profiles' curves; plot_kinds.c lists the kinds of charts, cmd_plot.c is the command.
 */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "report/output.h"
#include "run/run.h"

enum plot_chart {
    PLOT_ROOFLINE,
    PLOT_HIERARCHICAL,
    PLOT_BANDWIDTH,
    PLOT_SATURATION,
    PLOT_LATENCY,
    PLOT_LOADED,
    PLOT_KERNELS,
    PLOT_TRAJECTORY,
    PLOT_WATERFALL,
    PLOT_LAYERS,
    PLOT_BATCH,
    PLOT_CONTEXT,
    PLOT_ACCURACY,
    PLOT_STEPS,
    PLOT_LATENCIES,
    PLOT_TIMELINE,
    PLOT_POLICIES,
    PLOT_RATES,
    PLOT_PARETO,
    PLOT_CHARTS,
};
enum plot_kind { PLOT_RUN, PLOT_ANALYSIS, PLOT_PREDICTION, PLOT_PROFILE };

enum { PLOT_FILES = 15 };
struct plot_options {
    const char *model; /* of a hierarchical roofline: where the run's model is; NULL: by its name */
    const char *doc, *hw, *out, *phase, *test, *title;
    const char *more[PLOT_FILES]; /* files after doc */
    size_t n_more;
    const char *op; /* of a profile's charts: which ops, "read,write"; NULL: see plot_curves.c */
    enum plot_chart chart;
    unsigned formats;  /* enum chart_format */
    int64_t n_threads; /* 0: the run's, else all */
    const char *n_batch, *n_depth; /* lists of a model that is predicted; NULL: the kind's */
    bool term;                     /* drawn with characters, on standard output */
    bool by_op, all_roofs;
    bool trajectory; /* a point a row of a prediction, joined in the order of the file */
    bool whole;      /* a point a row of a prediction; trajectory: that too */
    const char *type; /* of a model that is predicted: -q; NULL: as predict has it */
};

/* A drawn test. */
struct plot_shape {
    bool drawn;
    char test[48];
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    double flop; /* of a repetition */
};

/* Counted traffic of a role from one level, per pass. */
struct plot_counted {
    char phase[8], role[20], level[8];
    double bytes;
};

/* A role, or an op, of one phase, added up. */
struct plot_item {
    char phase[8], label[48];
    double bytes, flop, seconds;
    char type[16], op[16];
    bool counted; /* bytes from hardware counters */
    bool whole;   /* a whole pass: no share of time */
    bool join;    /* a line leads here from the phase's item before */
    int64_t n_depth, n_batch;
};

struct plot {
    enum plot_kind kind;
    char model[128], type[32], machine[128], hw[128], date[32], tests[128], detail[200];
    char constants[128]; /* that made a prediction's seconds */
    int n_threads;
    struct plot_item *item;
    size_t n_item;
    struct plot_shape shape[2]; /* of a run: prefill, decode */
    struct plot_counted *counted;
    size_t n_counted;
    enum dtype type_k, type_v;
    uint32_t kv_block; /* of the run's paged KV cache */
    bool math[MATH_COUNT]; /* arithmetics of the points, as the document says; none: see plot_roofs.c */
    struct hwprofile roofs; /* the profile, with the document's own ceilings added */
    bool have_profile;
    struct strbuf notes;
};
void plot_free(struct plot *p);

/* An amount of work of a prediction: a phase, or (role not "") a role of it. */
struct plot_work {
    char role[48];
    double bytes, flop, seconds;
};

/* A phase of a prediction, with its roles where it has them. NaN, "": unknown. */
struct plot_predicted {
    char model[128], type[32], hw[128], test[48], phase[8], stack[48], basis[16], math[16];
    int64_t n_depth, n_batch;
    double bandwidth_bytes_s, peak_flop_s;
    double tok_s, tok_s_lo, tok_s_hi, itl_s; /* NaN: not known */
    int n_devices, fits;                     /* fits -1: the memory is not known */
    bool shared;                             /* with a part of the model on the host: two machines' roofs */
    struct plot_work whole, *role; /* [n_role] */
    size_t n_role;
};

struct plot_prediction {
    struct plot_predicted *row;
    size_t n_row;
    int roof; /* 1: a bound, 0: of a stack, -1: the file does not say */
};
/* From the rows of a prediction (struct predict_row), from a document of schema roofcast.predict. The caller frees x, after an error too. plot_predicted.c */
int plot_prediction_of_rows(struct plot_prediction *x, const struct table_rows *rows, bool roof, struct error *err);
int plot_prediction_read(struct plot_prediction *x, const json_t *doc, const char *name, struct error *err);
void plot_prediction_free(struct plot_prediction *x);
/* ERROR_INPUT: the row has no roofs of one machine. name: the file. */
int plot_check_one_machine(const struct plot_predicted *r, const char *name, struct error *err);
/* Slowest memory and fastest arithmetic of a prediction's machine, for the arithmetic `math` ("": any); NaN: unknown. plot_scaling.c */
struct plot_limits {
    double bytes_s, flop_s;
    char machine[128];
};

/* What is drawn: a document, else a prediction; neither: a profile, which plot_options.doc names (`this` too). */
struct plot_subject {
    json_t *doc;
    struct plot_prediction prediction;
};
/* The subject's prediction: its document's (then *mine is filled, the caller frees it), else s->prediction. NULL with *err: it is none.
 * plot_scaling.c */
const struct plot_prediction *plot_subject_prediction(struct plot_prediction *mine, const struct plot_options *o, const struct plot_subject *s,
                                                      struct error *err);
int plot_limits_of(struct plot_limits *l, const struct plot_options *o, const struct plot_prediction *x, const char *hw, const char *math,
                   struct error *err);
/* Kind, names, items, ceilings. plot_doc.c */
int plot_read(struct plot *p, const struct plot_options *o, const struct plot_subject *s, struct error *err);

/* A row of any of the documents: strings are the document's. */
struct plot_source {
    const char *phase, *role, *op, *type;
    int64_t layer;
    double bytes, flop, seconds; /* of an analysis: seconds 0 */
};
/* "phase" of a row; its role, op, type, layer and amounts (phase stays; absent texts are ""). plot_doc.c */
int plot_read_phase(const json_t *row, const char *ctx, const char **phase, struct error *err);
int plot_read_source(struct plot_source *r, const json_t *row, const char *ctx, bool timed, struct error *err);
/* Whether it is a document that plot_read() reads; others are measurements of other engines, if anything. */
bool plot_is_document(const json_t *doc);
/* A text, truncated to size, with ? for control characters. plot_doc.c */
void plot_copy(char *to, size_t size, const char *from);
/* p->roofs and the machine's names from a profile, by name or path, or `this`. -1 with *err: there is none, or it is damaged. plot_roofs.c */
int plot_load_profile(struct plot *p, const char *spec, struct error *err);
/* p->roofs of a prediction's machine p->hw: its profile, or, for an unknown name, the roofs that the rows state (bytes/s, FLOP/s). */
int plot_prediction_roofs(struct plot *p, const struct plot_prediction *x, struct error *err);
/* Choose roofs into c->roof (the caller frees). plot_roofs.c */
int plot_choose_roofs(struct roofline_chart *c, const struct plot *p, const struct plot_options *o,
                      struct error *err);
/* Name of an op: its role, with --by op also its layer. plot_doc.c */
void plot_op_label(char *buf, size_t n, const struct plot_options *o, const char *role, int64_t layer);
/* Whether the row's test is the drawn one of its phase; counted traffic of the drawn tests. plot_levels.c */
void plot_set_shape(struct plot *p, const struct run_row *row);
int plot_add_counted(struct plot *p, const struct run *r, struct error *err);
/* Phase of the hierarchical roofline: --phase, else decode if the run has it. */
bool plot_decodes(const struct plot *p, const struct plot_options *o);
/* Points of each memory level into c (the caller frees), for one phase. plot_levels.c */
int plot_level_points(struct roofline_chart *c, const struct plot *p, const struct plot_options *o, struct strbuf *notes,
                      struct error *err);
/* FLOP/s under the roofs for an op that was not timed: min(peak of its arithmetic, AI x
 * bandwidth). methods.md (26) */
double plot_attainable(const struct plot *p, const struct plot_item *it);

#endif
