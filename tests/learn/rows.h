/* Rows of a fixture with their work, and a time model that watches what it is shown. */
#ifndef TESTS_SCORE_ROWS_H
#define TESTS_SCORE_ROWS_H

#include "../test.h"
#include "dataset/workload_internal.h"
#include "learn/score.h"
#include <math.h>

static inline const char *fixture(const char *name)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/tests/fixtures/measure/%s", data_dirs()[0], name);
    return path;
}

struct rows {
    struct measurements l;
    struct measure_hws hws;
    struct workload_builder *builder;
    struct workload *row;
    struct scored *scored;
};

static inline void build_rows(struct rows *x, bool hardware)
{
    struct error err = { 0 };
    if (hardware)
        assert_ok(measure_hws_load(&x->hws, fixture("hardware.csv"), &err), err);
    x->builder = workload_builder_new(hardware ? &x->hws : NULL, NULL, &err);
    assert_non_null(x->builder);
    x->row = calloc(x->l.n, sizeof *x->row);
    x->scored = calloc(x->l.n, sizeof *x->scored);
    for (size_t i = 0; i < x->l.n; i++)
        assert_ok(workload_init(x->builder, &x->l.row[i], &x->row[i], &err), err);
}

static inline void load(struct rows *x, const char *file, bool hardware)
{
    struct error err = { 0 };
    *x = (struct rows){ 0 };
    assert_ok(measure_load(&x->l, fixture(file), NULL, &err), err);
    build_rows(x, hardware);
}

static inline void load_text(struct rows *x, const char *text)
{
    struct error err = { 0 };
    *x = (struct rows){ 0 };
    assert_ok(measure_parse(&x->l, "text", text, strlen(text), NULL, &err), err);
    build_rows(x, false);
}

static inline void unload(struct rows *x)
{
    for (size_t i = 0; i < x->l.n; i++)
        workload_free(&x->row[i]);
    free(x->row);
    free(x->scored);
    workload_builder_free(x->builder);
    measure_hws_free(&x->hws);
    measure_free(&x->l);
}

#define assert_near(a, b, rel)                                                        \
    do {                                                                              \
        if (!(fabs((a) - (b)) <= (rel) * fabs(b)))                                    \
            fail_msg("%s = %.9g, expected %.9g", #a, (double)(a), (double)(b));       \
    } while (0)

struct watch {
    size_t n, n_anchor;
    char left_out[64];
    char models[512];
};

static inline int watch_fit(void **params, const struct workload *const *rows, size_t n, const struct fit_scope *scope, struct error *err)
{
    struct watch *w = calloc(1, sizeof *w);
    (void)err;
    w->n = n;
    w->n_anchor = scope->n_anchor;
    snprintf(w->left_out, sizeof w->left_out, "%s", scope->left_out);
    for (size_t i = 0; i < n; i++) {
        char group[64];
        snprintf(group, sizeof group, "%s", rows[i]->machine->profile[0] ? rows[i]->machine->profile : rows[i]->m->hardware);
        assert_true(scope->leave != LEAVE_HARDWARE || strcmp(group, w->left_out) != 0);
        assert_false(isnan(rows[i]->measured_s));
    }
    *params = w;
    return 0;
}

static size_t watch_rows, watch_anchors; /* of the last fit that predicted */

/* 10 ms for everything, +- 20 %; what it must not see is not there. */
static inline int watch_predict(const void *params, const struct workload *row, struct estimate *out, struct error *err)
{
    const struct watch *w = params;
    (void)err;
    assert_true(isnan(row->measured_s) && isnan(row->m->value));
    watch_rows = w->n;
    watch_anchors = w->n_anchor;
    *out = (struct estimate){ 0.01, 0.008, 0.012, NULL };
    return 0;
}

static const struct time_model watcher = { "watcher", watch_fit, watch_predict, free };

#endif
