/*
 * serving_saved.h: a run of a server as `simulate --save` and `serve --save` write it (schema "roofcast.simulate"), beyond its figures: what was
 * asked for, the distributions of its times, its steps by class. Read back for comparisons.
 */
#ifndef REPORT_SERVING_SAVED_H
#define REPORT_SERVING_SAVED_H

#include "report/serving_report.h"
#include "serving/distance.h"

/* ---- written (serving_saved.c) ------------------------------------------------------------------------- */

/* A row a class of steps: "simulate.step". */
extern const struct table_fields serving_step_fields;
/*
 * Adds to the document's members: `measured`, `requests_digest`, `settings`, `roofs`, `cdf`, `steps`.
 *
 * errors   out of memory
 */
int serving_saved_add(json_t *meta, const struct serving_subject *s, struct error *err);

/* ---- read (serving_load.c) ------------------------------------------------------------------------------ */

/* Distributions that are kept, in the order of the arrays. */
enum { SAVED_TTFT, SAVED_ITL, SAVED_TPOT, SAVED_E2E, SAVED_CDFS, SAVED_POINTS = 1024, SAVED_FIGURES = 1024 };
enum serve_metric serving_saved_metric(int cdf);

struct saved_figure {
    const char *key, *name, *unit; /* unit NULL: a number */
    double value, lo, hi, model_lo, model_hi; /* NaN: null */
};

struct serving_saved {
    json_t *doc;                   /* whose texts these are */
    const char *file;              /* as given to the reader, which does not copy it */
    const char *model, *hw, *policy, *workload, *digest; /* model, hw NULL: null */
    bool measured;                 /* on the engine and the wall clock */
    int64_t n_request, n_failed;
    const json_t *settings;        /* an object of numbers, texts, bools and nulls */
    struct saved_figure *figure;   /* [n_figure] */
    size_t n_figure;
    struct cdf_point *point;       /* [SAVED_CDFS][n_point] */
    size_t n_point;
    struct cdf cdf[SAVED_CDFS];    /* n 0: no request has the metric */
    double memory_bytes_s, flop_s; /* roofs of a device; NaN: not known */
    struct step_classes steps;
};

/*
 * data     the file's text; `file` names it in messages
 * *s       serving_saved_free()
 * errors   ERROR_INPUT  no such document, a field that is missing or out of range: names file and field; out of memory
 */
int serving_saved_parse(struct serving_saved *s, const char *file, const void *data, size_t size, struct error *err);
int serving_saved_load(struct serving_saved *s, const char *path, struct error *err);
void serving_saved_free(struct serving_saved *s);
/* NULL: the file has no such figure. */
const struct saved_figure *serving_saved_find(const struct serving_saved *s, const char *key);

#endif
