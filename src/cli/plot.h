/*
 * cli/plot.h: what `roofcast plot` makes of a document: points and roofs. plot_doc.c reads
 * points, plot_roofs.c chooses roofs, plot_curves.c draws profiles' curves, cmd_plot.c is the
 * command.
 */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "cli/cli.h"

enum plot_chart {
    PLOT_ROOFLINE,
    PLOT_HIERARCHICAL,
    PLOT_BANDWIDTH,
    PLOT_SATURATION,
    PLOT_LATENCY,
    PLOT_LOADED,
    PLOT_KERNELS,
};
enum plot_kind { PLOT_RUN, PLOT_ANALYSIS, PLOT_PREDICTION, PLOT_PROFILE };

struct plot_options {
    const char *doc, *hw, *out, *phase, *test, *title;
    const char *op; /* of a profile's charts: which ops, "read,write"; NULL: see plot_curves.c */
    enum plot_chart chart;
    unsigned formats;  /* enum chart_format */
    int64_t n_threads; /* 0: the run's, else all */
    bool by_op, all_roofs;
    bool trajectory; /* a point a row of a prediction, joined in the order of the file */
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
    int n_threads;
    struct plot_item *item;
    size_t n_item;
    bool math[MATH_COUNT]; /* arithmetics of the points, as the document says; none: see plot_roofs.c */
    struct hwprofile roofs; /* the profile, with the document's own ceilings added */
    bool have_profile;
    struct strbuf notes;
};
void plot_free(struct plot *p);

/* Read the document: kind, names, items, ceilings. plot_doc.c */
int plot_read(struct plot *p, const struct plot_options *o, struct error *err);
/* Choose roofs into c->roof (the caller frees). plot_roofs.c */
int plot_choose_roofs(struct roofline_chart *c, const struct plot *p, const struct plot_options *o,
                      struct error *err);
/* FLOP/s under the roofs for an op that was not timed: min(peak of its arithmetic, AI x
 * bandwidth). methods.md (13) */
double plot_attainable(const struct plot *p, const struct plot_item *it);

/* Draw one of the charts of a profile: plot_curves.c. No such measurement in it: ERROR_UNAVAILABLE. */
int plot_curves(const struct plot_options *o, const char *style, struct strbuf *notes, struct error *err);

#endif
