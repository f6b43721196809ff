/* html_internal.h: between the files of a report's page. */
#ifndef REPORT_HTML_INTERNAL_H
#define REPORT_HTML_INTERNAL_H

#include "report/html.h"
#include "cost/classes.h"
#include "model/model.h"
#include "report/html_step.h"
#include "run/run.h"

/*
 * A test of any file: measured or predicted. NaN, "": not known. Texts are the file's or static.
 */
struct html_test {
    size_t file;       /* html_report.file */
    char model[128], preset[128], type[32], hw[128], engine[48], test[64]; /* preset: what model_load() takes */
    bool decode, predicted, shared; /* shared: a part of the model is on the host (methods.md (111)) */
    struct layout layout; /* zeros: one device */
    double n_prompt, n_gen, n_depth, n_batch, n_threads;
    double tok_s, tok_s_lo, tok_s_hi, sd; /* of all sequences; 90 % interval of a prediction; sample standard deviation of a measurement */
    int n_reps;
    double seconds, ttft_s, itl_s;
    double bytes_s, roof_bytes_s, mbu, flop_s, roof_flop_s, mfu;
    double memory_share, compute_share;  /* of a prediction: of its seconds */
    char bound[16], type_k[12], type_v[12];
    char bytes_source[96], roof_source[224]; /* what bytes are counted, where the roofs come from */
    char reason[400];                        /* why figures are missing; what disturbs them */
};
struct html_tests {
    struct html_test *v;
    size_t n;
};

/* All files' tests, in their order; and runs as structs, NULL for other files. */
struct html_data {
    const struct html_report *r;
    struct html_tests tests;
    struct run **run; /* [r->n] */
    const struct html_test *main; /* what the changes are of: the first file's decode, else a later one's, else prefill; NULL: no test */
    struct hwprofile h;           /* its machine */
    struct model m;               /* its model, in its type */
    bool have_machine, have_model;
    struct error no_machine, no_model; /* why there is none */
    char other[160];              /* how a run's model differs from m: layers, weight bytes; "": it does not */
    size_t other_file;            /* that run */
};
/* html_source.c. errors: a damaged file; html_data_free() after an error too. */
int html_data_init(struct html_data *d, const struct html_report *r, struct error *err);
void html_data_free(struct html_data *d);
bool html_has_schema(const struct html_file *f, const char *schema);
/* The test a file's verdict is about: its first of that phase; NULL: none. */
const struct html_test *html_first(const struct html_data *d, size_t file, bool decode);

/* html_figures.c: tables of a run of a server */
void html_add_served(struct page *p, const struct html_data *d, size_t file);
/* html_columns.c: replaces heads and descriptions of columns by those for readers of a page, by their keys. */
void html_plain_columns(struct page_table *t);

/* html_model.c: fills d->other */
void html_compare_model(struct html_data *d);
/* Where d->other is set: "of the model smollm2-360m with 32 layers, not of the measured file (3 layers instead of 32)" */
const char *html_other_model(char *buf, size_t n, const struct html_data *d);

/* Sections of the page, in its order. Each adds nothing where its files have nothing for it. */
int html_add_verdict(struct page *p, const struct html_data *d, struct error *err);  /* html_verdict.c */
int html_add_changes(struct page *p, const struct html_data *d, struct error *err);  /* html_change.c */
int html_add_missing(struct page *p, const struct html_data *d, struct error *err);  /* html_missing.c */
void html_add_charts(struct page *p, const struct html_data *d, const char *base);   /* html_chart.c; base: of files that stay, NULL: none stay */
void html_add_chart_data(struct page *p, const char *base, const char *id);          /* html_chart_data.c: BASE.tsv, under the chart with that id */
int html_add_tables(struct page *p, const struct html_data *d, struct error *err);   /* html_table.c */
int html_add_machine(struct page *p, const struct html_data *d, struct error *err);  /* html_machine.c: machine, software, counters */

/* An op of a run, its time at the roofs from its bytes, FLOP and the roofs of its test: the longer of the two; without roofs as the file has it. */
struct run_op html_op(const struct run *r, size_t i);

/* A figure of a test in the words of its unit: "29.5 GB/s", "76.2 tokens/s", "93 %". */
const char *html_rate(char *buf, size_t n, double tok_s);
const char *html_percent(char *buf, size_t n, double fraction);
/* "tokens of tg128 over its seconds, mean of 5 repetitions; run.json" */
const char *html_source_of(char *buf, size_t n, const struct html_data *d, const struct html_test *t, const char *what);

/* html_machine.c: the machine of a test: --hw, else this machine's profile where its CPU is that of the file, else the profile that the file names, else what the
 * run's probes found. errors: none of them */
int html_machine_of(struct hwprofile *h, const struct html_data *d, const struct html_test *t, struct error *err);

#endif
