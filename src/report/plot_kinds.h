/* plot_kinds.h: the kinds of charts of `roofcast plot`, and the functions that draw them. */
#ifndef REPORT_PLOT_KINDS_H
#define REPORT_PLOT_KINDS_H

#include "report/plot.h"

/* A kind of chart: one row of charts[] (plot_kinds.c) and one template, reports/charts/NAME.gp. */
struct chart_kind {
    const char *name;             /* --chart NAME */
    const char *reads;            /* what it is drawn from, for --help and messages */
    const char *n_batch, *n_depth, *n_prompt, *n_gen; /* lists of a model that is predicted for it; NULL: predict's defaults */
    enum { READS_ROOFLINE, READS_PREDICTION, READS_PROFILE, READS_FILE } subject;
    int (*draw)(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
};
extern const struct chart_kind charts[PLOT_CHARTS];
/* NULL: no such kind, with *err. */
const struct chart_kind *chart_kind_find(const char *name, struct error *err);
/* The document has this schema, or ERROR_INPUT that says what `kind` reads. */
int chart_need_schema(const struct plot_options *o, const json_t *doc, const char *schema, struct error *err);

/* Draw the subject as a roofline, on the machines of o->hw. plot_chart.c */
int plot_roofline(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
/* Draw one of the charts of a profile: plot_curves.c. No such measurement in it: ERROR_UNAVAILABLE. */
int plot_curves(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
/* Tokens/s of a prediction against the batch or the context. plot_scaling.c */
int plot_scaling(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
/* Predicted against measured, of `score -o json`. plot_accuracy.c */
int plot_accuracy(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
/* Runs of a server. plot_served.c */
int plot_steps(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
int plot_latencies(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
int plot_timeline(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
int plot_policies(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
int plot_rates(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
/* Tokens/s of a user against tokens/s of a device, of deployments or of a prediction. plot_pareto.c */
int plot_pareto(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
/* Bars. plot_waterfall.c, plot_layers.c */
int plot_waterfall(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);
int plot_layers(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err);

#endif
