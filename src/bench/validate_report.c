/* What the cases of `roofcast validate` come to: a row a case, groups, roles, and the cases furthest off. */
#include "bench/validate.h"
#include "stacks/priors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct column case_columns[] = {
    { "case", NULL, COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "model", "model", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "type", "type", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "phase", "phase", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "test", "test", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_threads", "threads", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_prompt", "n_prompt", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_gen", "n_gen", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_depth", "n_depth", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_batch", "n_batch", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_reps", "n_reps", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_still", "n_still", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "tok_s", "t/s", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "predicted_tok_s", "predicted", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "lo", "from", COL_FLOAT, "", COL_DATA, COLUMN_BY_KEY },
    { "hi", "to", COL_FLOAT, "", COL_DATA, COLUMN_BY_KEY },
    { "error", "error", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },
    { "op_median_ape", "median op", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },
    { "memory_scale", "memory now", COL_FRACTION, "", COL_MINOR, COLUMN_BY_KEY },
    { "compute_scale", "compute now", COL_FRACTION, "", COL_MINOR, COLUMN_BY_KEY },
    { "tile_scale", "tiles now", COL_FRACTION, "", COL_DATA, COLUMN_BY_KEY },
    { "kept", "cache keeps", COL_FRACTION, "", COL_DATA, COLUMN_BY_KEY },
    { "far_bytes_s", "memory", COL_SI, "B/s", COL_DATA, COLUMN_BY_KEY },
    { "roof_moved", "moved", COL_FRACTION, "", COL_MINOR, COLUMN_BY_KEY },
    { "seconds", "seconds", COL_SECONDS, "", COL_DATA, COLUMN_BY_KEY },
    { "predicted_s", "predicted", COL_SECONDS, "", COL_DATA, COLUMN_BY_KEY },
    { "ceiling_bytes_s", "ceiling", COL_SI, "B/s", COL_DATA, COLUMN_BY_KEY },
    { "ceiling_flop_s", "ceiling", COL_SI, "FLOP/s", COL_DATA, COLUMN_BY_KEY },
    { "moved", "roof moved", COL_BOOL, "", COL_DATA, COLUMN_BY_KEY },
    { "steal", "steal", COL_FRACTION, "", COL_DATA, COLUMN_BY_KEY },
    { "bound", "bound", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "reason", "reason", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
};
static const struct column group_columns[] = {
    { "group", "group", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },          { "n_case", "cases", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "bias", "bias", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },         { "median_ape", "median", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },
    { "p95_ape", "P95", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },       { "coverage90", "in 90 % interval", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },
    { "half90", "half of it", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },
};
enum { ROLE_COLUMNS = 5 }; /* the first of these: ops have no interval */

static double tok_s(const struct validate_result *r, double seconds)
{
    return (double)r->c->t.n * r->c->t.n_batch / seconds;
}

/* An end of the 90 % interval, over what is predicted: side -1 is the lower one. (63) */
static double end_of(int side)
{
    return exp(side * PREDICT_Z90 * prior(PRIOR_KERNELS_LEFT_PROBED));
}

static json_t *case_json(const struct validate_result *r, size_t at)
{
    const struct bench_test *t = &r->c->t;
    char test[48];
    phase_test_name(test, sizeof test, t->prefill ? PHASE_PREFILL : PHASE_DECODE, t->n, t->n_batch, t->depth);
    return json_pack("{s:I s:s s:s s:s s:s s:i s:I s:I s:I s:I s:i s:i s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:b s:o s:s s:o}",
                     "case", (json_int_t)at, "model", r->f->label, "type", r->f->type, "phase", t->prefill ? "prefill" : "decode",
                     "test", test, "n_threads", r->c->n_threads, "n_prompt", (json_int_t)(t->prefill ? t->n : 0), "n_gen",
                     (json_int_t)(t->prefill ? 0 : t->n), "n_depth", (json_int_t)t->depth, "n_batch", (json_int_t)t->n_batch,
                     "n_reps", r->n_reps, "n_still", r->n_still, "tok_s", json_num(tok_s(r, r->seconds)), "predicted_tok_s",
                     json_num(tok_s(r, r->predicted_s)), "lo", json_num(tok_s(r, r->predicted_s) * end_of(-1)), "hi",
                     json_num(tok_s(r, r->predicted_s) * end_of(1)), "error", json_num(r->error), "op_median_ape",
                     json_num(r->op_median_ape), "memory_scale", json_num(r->memory_scale), "compute_scale",
                     json_num(r->compute_scale), "tile_scale", json_num(r->tile_scale), "kept", json_num(r->kept),
                     "far_bytes_s", json_num(r->far_bytes_s), "roof_moved", json_num(r->row.roof_moved), "seconds", json_num(r->seconds),
                     "predicted_s", json_num(r->predicted_s), "ceiling_bytes_s", json_num(r->row.ceiling_bytes_s),
                     "ceiling_flop_s", json_num(r->row.ceiling_flop_s), "moved", r->moved, "steal", json_num(r->row.steal),
                     "bound", r->row.bound, "reason", *r->reason ? json_text(r->reason) : json_null());
}

static json_t *op_json(const struct validate_op *o)
{
    return json_pack("{s:I s:s s:s s:s s:o s:o s:o s:o}", "case", (json_int_t)o->at, "role", o->role, "op", o->op, "type", o->type,
                     "seconds", json_num(o->seconds), "predicted_s", json_num(o->predicted_s), "share", json_num(o->share),
                     "error", json_num(o->predicted_s / o->seconds - 1));
}

/* ---- figures of groups (67) ---------------------------------------------------------------------------------- */

struct figures {
    double *error; /* those known */
    size_t n;
    bool cases;    /* which have an interval; else ops */
};

static int add_intervals(json_t *to, const struct figures *f)
{
    double inside = 0;
    for (size_t i = 0; i < f->n; i++)
        inside += 1 / (1 + f->error[i]) > end_of(-1) && 1 / (1 + f->error[i]) < end_of(1);
    if (json_object_set_new(to, "coverage90", json_num(f->n ? inside / (double)f->n : NAN)) != 0)
        return -1;
    return json_object_set_new(to, "half90", json_num(f->n ? (end_of(1) - end_of(-1)) / 2 : NAN));
}

static json_t *figures_json(const char *name, const struct figures *f)
{
    double *ape = malloc((f->n + 1) * sizeof *ape);
    for (size_t i = 0; ape && i < f->n; i++)
        ape[i] = fabs(f->error[i]);
    json_t *j = ape ? json_pack("{s:s s:I s:o s:o s:o}", "group", name, "n_case", (json_int_t)f->n, "bias",
                                json_num(f->n ? stats_mean(f->error, f->n) : NAN), "median_ape", json_num(stats_median(ape, f->n)),
                                "p95_ape", json_num(stats_quantile(ape, f->n, 0.95)))
                    : NULL;
    free(ape);
    if (j && f->cases && add_intervals(j, f) != 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

enum { BY_ALL, BY_MODEL, BY_TYPE, BY_TEST, BY_THREADS, BY_COUNT };

static void group_name(char *to, size_t n, const struct validate_result *r, int by)
{
    const struct bench_test *t = &r->c->t;
    char test[48];
    phase_test_name(test, sizeof test, t->prefill ? PHASE_PREFILL : PHASE_DECODE, t->n, t->n_batch, t->depth);
    if (by == BY_ALL)
        snprintf(to, n, "all");
    else if (by == BY_MODEL)
        snprintf(to, n, "model=%s", r->f->label);
    else if (by == BY_TYPE)
        snprintf(to, n, "type=%s", r->f->type);
    else if (by == BY_TEST)
        snprintf(to, n, "test=%s", test);
    else
        snprintf(to, n, "threads=%d", r->c->n_threads);
}

/* 0, or -1: out of memory. */
static int add_groups(json_t *to, const struct validation *v, double *room)
{
    char name[192], other[192];
    for (int by = BY_ALL; by < BY_COUNT; by++)
        for (size_t i = 0; i < v->n; i++) {
            struct figures f = { .error = room, .cases = true };
            bool before = false;
            group_name(name, sizeof name, &v->r[i], by);
            for (size_t k = 0; k < v->n; k++) {
                group_name(other, sizeof other, &v->r[k], by);
                if (strcmp(name, other) != 0)
                    continue;
                before |= k < i;
                if (!isnan(v->r[k].error))
                    room[f.n++] = v->r[k].error;
            }
            if (!before && json_array_append_new(to, figures_json(name, &f)) != 0)
                return -1;
        }
    return 0;
}

static int add_roles(json_t *to, const struct validation *v, double *room)
{
    char name[32];
    for (size_t i = 0; i < v->n_op; i++) {
        struct figures f = { .error = room };
        bool before = false;
        for (size_t k = 0; k < v->n_op; k++) {
            if (strcmp(v->op[k].role, v->op[i].role) != 0)
                continue;
            before |= k < i;
            room[f.n++] = v->op[k].predicted_s / v->op[k].seconds - 1;
        }
        snprintf(name, sizeof name, "op=%s", v->op[i].role);
        if (!before && json_array_append_new(to, figures_json(name, &f)) != 0)
            return -1;
    }
    return 0;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

struct document {
    json_t *rows, *ops, *groups, *roles, *meta;
};

static void document_free(struct document *d)
{
    json_decref(d->rows);
    json_decref(d->ops);
    json_decref(d->groups);
    json_decref(d->roles);
    json_decref(d->meta);
}

static double figure(const json_t *groups, const char *key)
{
    return json_number_value(json_object_get(json_array_get(groups, 0), key));
}

static json_t *figure_json(const json_t *groups, const char *key)
{
    const json_t *j = json_object_get(json_array_get(groups, 0), key);
    return json_is_number(j) ? json_num(json_number_value(j)) : json_null();
}

static json_t *ops_figures(const struct validation *v, double *room)
{
    struct figures f = { .error = room, .n = v->n_op };
    for (size_t i = 0; i < v->n_op; i++)
        room[i] = v->op[i].predicted_s / v->op[i].seconds - 1;
    json_t *all = json_array();
    if (all && json_array_append_new(all, figures_json("op", &f)) == 0)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *meta_json(const struct validation *v, const struct validate_about *a, const struct document *d, const json_t *ops)
{
    char date[24];
    size_t n_moved = 0;
    for (size_t i = 0; i < v->n; i++)
        n_moved += v->r[i].moved;
    return json_pack("{s:o s:s s:s s:s s:s s:I s:I s:I s:I s:I s:o s:o s:o s:o s:o s:I s:o s:o s:o s:O s:O s:O}", "cpu",
                     json_text(a->host->cpu_model), "date", clock_date(date, sizeof date), "command", a->command, "profile",
                     a->profile_path, "profile_date", a->profile->date, "seed", (json_int_t)a->seed, "n_grid",
                     (json_int_t)a->n_grid, "n_planned", (json_int_t)a->n_case, "n_case", (json_int_t)v->n, "n_moved",
                     (json_int_t)n_moved, "bias", figure_json(d->groups, "bias"), "median_ape",
                     figure_json(d->groups, "median_ape"), "p95_ape", figure_json(d->groups, "p95_ape"), "coverage90",
                     figure_json(d->groups, "coverage90"), "half90", figure_json(d->groups, "half90"), "n_op",
                     (json_int_t)v->n_op, "op_bias", figure_json(ops, "bias"), "op_median_ape", figure_json(ops, "median_ape"),
                     "op_p95_ape", figure_json(ops, "p95_ape"), "groups", d->groups, "roles", d->roles, "ops", d->ops);
}

static int document_init(struct document *d, const struct validation *v, const struct validate_about *a, struct error *err)
{
    double *room = malloc((v->n + v->n_op + 1) * sizeof *room);
    *d = (struct document){ json_array(), json_array(), json_array(), json_array(), NULL };
    int bad = room && d->rows && d->ops && d->groups && d->roles ? 0 : -1;
    for (size_t i = 0; bad == 0 && i < v->n; i++)
        bad = json_array_append_new(d->rows, case_json(&v->r[i], i));
    for (size_t i = 0; bad == 0 && i < v->n_op; i++)
        bad = json_array_append_new(d->ops, op_json(&v->op[i]));
    if (bad == 0)
        bad = add_groups(d->groups, v, room) | add_roles(d->roles, v, room);
    json_t *ops = bad == 0 ? ops_figures(v, room) : NULL;
    if (ops)
        d->meta = meta_json(v, a, d, ops);
    json_decref(ops);
    free(room);
    return d->meta ? 0 : error_oom(err, v->n * sizeof *v->r, "the report");
}

/* ---- for people ---------------------------------------------------------------------------------------------------- */

static int by_error(const void *x, const void *y)
{
    const struct validate_result *a = *(const struct validate_result *const *)x, *b = *(const struct validate_result *const *)y;
    return (fabs(b->error) > fabs(a->error)) - (fabs(b->error) < fabs(a->error));
}

static void print_worst(const struct validation *v)
{
    enum { WORST = 5 };
    const struct validate_result **order = malloc((v->n + 1) * sizeof *order);
    size_t n = 0;
    for (size_t i = 0; order && i < v->n; i++) {
        if (isnan(v->r[i].error))
            printf("Not measured: %s %s, %d threads: %s\n", v->r[i].f->label, v->r[i].f->type, v->r[i].c->n_threads, v->r[i].reason);
        else
            order[n++] = &v->r[i];
    }
    if (order)
        qsort(order, n, sizeof *order, by_error);
    for (size_t i = 0; i < n && i < WORST; i++) {
        const struct bench_test *t = &order[i]->c->t;
        char test[48];
        phase_test_name(test, sizeof test, t->prefill ? PHASE_PREFILL : PHASE_DECODE, t->n, t->n_batch, t->depth);
        printf("Worst %zu: %s %s %s, %d thread%s: %+.1f %%; %s\n", i + 1, order[i]->f->label, order[i]->f->type, test,
               order[i]->c->n_threads, order[i]->c->n_threads == 1 ? "" : "s", 100 * order[i]->error, order[i]->reason);
    }
    free(order);
}

static int print_people(const struct validation *v, const struct validate_about *a, const struct document *d,
                        enum report_format f, struct error *err)
{
    const struct table rows = { "roofcast.validate", 1, NULL, d->rows, case_columns, ARRAY_LEN(case_columns), NULL, NULL },
                            groups = { "roofcast.validate.groups", 1, NULL, d->groups, group_columns, ARRAY_LEN(group_columns), NULL, NULL },
                            roles = { "roofcast.validate.roles", 1, NULL, d->roles, group_columns, ROLE_COLUMNS, NULL, NULL };
    if (report_write(NULL, f, &rows, err) != 0)
        return -1;
    printf("\n");
    if (report_write(NULL, f, &groups, err) != 0)
        return -1;
    printf("\nOps of %.0f %% of a pass or more, timed one by one:\n\n", 100 * VALIDATE_SHARE);
    if (report_write(NULL, f, &roles, err) != 0)
        return -1;
    printf("\n");
    print_worst(v);
    const json_t *m = d->meta;
    printf("%zu of %zu cases (of a grid of %zu), seed %llu: median %.1f %%, P95 %.1f %%, bias %+.1f %%; %.0f %% in the 90 %% interval, of "
           "+/- %.1f %%; per op median %.1f %%; too few repetitions stood still in %lld\n",
           v->n, a->n_case, a->n_grid, (unsigned long long)a->seed, 100 * figure(d->groups, "median_ape"),
           100 * figure(d->groups, "p95_ape"), 100 * figure(d->groups, "bias"), 100 * figure(d->groups, "coverage90"), 100 * figure(d->groups, "half90"),
           100 * json_number_value(json_object_get(m, "op_median_ape")), (long long)json_integer_value(json_object_get(m, "n_moved")));
    return 0;
}

int validate_print(const struct validation *v, const struct validate_about *a, enum report_format f, const char *save,
                   struct error *err)
{
    struct document d = { 0 };
    int rc = document_init(&d, v, a, err);
    const struct table doc = { "roofcast.validate", 1, d.meta, d.rows, case_columns, ARRAY_LEN(case_columns), NULL, NULL };
    if (rc == 0 && save)
        rc = report_write(save, REPORT_JSON, &doc, err);
    if (rc == 0 && (f == REPORT_TABLE || f == REPORT_MD))
        rc = print_people(v, a, &d, f, err);
    else if (rc == 0)
        rc = report_write(NULL, f, &doc, err);
    document_free(&d);
    return rc;
}
