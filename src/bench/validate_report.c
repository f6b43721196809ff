/* Report of `roofcast validate`: one row per case, groups, roles, and the worst cases. */
#include "bench/validate.h"
#include "stacks/priors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct case_row {
    struct validate_result r;
    uint64_t at;
    const char *model, *type, *phase, *test;
    int n_threads;
    uint32_t n_prompt, n_gen, n_depth, n_batch;
    double tok_s, predicted_tok_s, lo, hi;
};

/* Error statistics of a group of cases, or of ops, which have no interval. (67) */
struct figures_row {
    const char *name;
    uint64_t n_case;
    double bias, median_ape, p95_ape, coverage90, half90;
};

#define AT(m) COLUMN_AT(struct case_row, m)
static const struct column validate_columns[] = {
    { "case", NULL, COL_INT, NULL, COL_DATA, AT(at), EMPTY_VALUE, NULL, "from 0" },
    { "model", "model", COL_TEXT, NULL, COL_MAJOR, AT(model), EMPTY_VALUE, NULL, "`NAME:LAYERS`: a slice of that shape; or a file's name" },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_VALUE, NULL, NULL },
    { "phase", "phase", COL_TEXT, NULL, COL_DATA, AT(phase), EMPTY_VALUE, "`\"prefill\"` or `\"decode\"`", NULL },
    { "test", "test", COL_TEXT, NULL, COL_MAJOR, AT(test), EMPTY_VALUE, NULL, "as in `roofcast.bench`" },
    { "n_threads", "threads", COL_INT, NULL, COL_MAJOR, AT(n_threads), EMPTY_VALUE, NULL, NULL },
    { "n_prompt", "n_prompt", COL_INT, NULL, COL_DATA, AT(n_prompt), EMPTY_VALUE, NULL, NULL },
    { "n_gen", "n_gen", COL_INT, NULL, COL_DATA, AT(n_gen), EMPTY_VALUE, NULL, NULL },
    { "n_depth", "n_depth", COL_INT, NULL, COL_DATA, AT(n_depth), EMPTY_VALUE, NULL, NULL },
    { "n_batch", "n_batch", COL_INT, NULL, COL_DATA, AT(n_batch), EMPTY_VALUE, NULL, NULL },
    { "n_reps", "n_reps", COL_INT, NULL, COL_DATA, AT(r.n_reps), EMPTY_VALUE, NULL, "repetitions run" },
    { "n_still", "n_still", COL_INT, NULL, COL_DATA, AT(r.n_still), EMPTY_VALUE, NULL, "steady ones of these: predictions with the probe before and the "
      "probe after differ by at most 5 %, and other processes used at most 5 % of its CPU time, methods.md (82)" },
    { "tok_s", "t/s", COL_FLOAT, "tokens/s", COL_MAJOR, AT(tok_s), EMPTY_NULL, NULL, "measured, median of the repetitions used; null: see "
      "`reason`" },
    { "predicted_tok_s", "predicted", COL_FLOAT, "tokens/s", COL_MAJOR, AT(predicted_tok_s), EMPTY_NULL, NULL, NULL },
    { "lo", "from", COL_FLOAT, "tokens/s", COL_DATA, AT(lo), EMPTY_NULL, NULL, "90 % interval of the prediction, methods.md (63)" },
    { "hi", "to", COL_FLOAT, "tokens/s", COL_DATA, AT(hi), EMPTY_NULL, NULL, NULL },
    { "error", "error", COL_FRACTION, NULL, COL_MAJOR, AT(r.error), EMPTY_NULL, NULL, NULL },
    { "op_median_ape", "median op", COL_FRACTION, NULL, COL_MAJOR, AT(r.op_median_ape), EMPTY_NULL, NULL, "of its roles" },
    { "memory_scale", "memory / profile", COL_FRACTION, NULL, COL_MINOR, AT(r.memory_scale), EMPTY_NULL, NULL, "memory probes adjacent to the case over the profile's "
      "roof; methods.md (82)" },
    { "compute_scale", "compute / profile", COL_FRACTION, NULL, COL_MINOR, AT(r.compute_scale), EMPTY_NULL, NULL, "core probes adjacent to the case over "
      "those of the profile; null: the profile has none; methods.md (80)" },
    { "tile_scale", "tiles / profile", COL_FRACTION, NULL, COL_DATA, AT(r.tile_scale), EMPTY_NULL, NULL, "likewise for the tile probe (AMX); null: no tiles" },
    { "kept", "LLC hit fraction", COL_FRACTION, NULL, COL_DATA, AT(r.kept), EMPTY_NULL, NULL, "share of the weights that stays in the last-level cache from pass "
      "to pass, measured by probes that read all weights; null: the probes read uncached memory; methods.md (32)" },
    { "far_bytes_s", "memory", COL_SI, "B/s", COL_DATA, AT(r.far_bytes_s), EMPTY_NULL, NULL, "read bandwidth of uncached memory, before and after the "
      "repetitions; null: measured on the weights, or too little free memory; methods.md (32)" },
    { "roof_moved", "probe variation", COL_FRACTION, NULL, COL_MINOR, AT(r.row.roof_moved), EMPTY_NULL, NULL, "variation of the bandwidth probes, methods.md (83)" },
    { "seconds", "seconds", COL_SECONDS, "s", COL_DATA, AT(r.seconds), EMPTY_NULL, NULL, "of a repetition, median" },
    { "predicted_s", "predicted", COL_SECONDS, "s", COL_DATA, AT(r.predicted_s), EMPTY_NULL, NULL, NULL },
    { "ceiling_bytes_s", "ceiling", COL_SI, "B/s", COL_DATA, AT(r.row.ceiling_bytes_s), EMPTY_NULL, NULL, "probed" },
    { "ceiling_flop_s", "ceiling", COL_SI, "FLOP/s", COL_DATA, AT(r.row.ceiling_flop_s), EMPTY_NULL, NULL, "probed, of the product in use" },
    { "moved", "unsteady", COL_BOOL, NULL, COL_DATA, AT(r.moved), EMPTY_VALUE, NULL, "fewer than half of the requested repetitions were steady" },
    { "steal", "steal", COL_FRACTION, NULL, COL_DATA, AT(r.row.steal), EMPTY_NULL, NULL, NULL },
    { "bound", "bound", COL_TEXT, NULL, COL_DATA, AT(r.row.bound), EMPTY_VALUE, NULL, "of the measured pass, as in `roofcast.bench`" },
    { "reason", "reason", COL_TEXT, NULL, COL_DATA, AT(r.reason), EMPTY_NULL, NULL, "why it was not measured, or remarks on the figure" },
};
#undef AT
const struct table_fields validate_fields = { "validate.row", validate_columns, ARRAY_LEN(validate_columns) };
#define AT(m) COLUMN_AT(struct figures_row, m)
static const struct column validate_group_columns[] = {
    { "group", "group", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, NULL },
    { "n_case", "cases", COL_INT, NULL, COL_MAJOR, AT(n_case), EMPTY_VALUE, NULL, "with an error" },
    { "bias", "bias", COL_FRACTION, NULL, COL_MAJOR, AT(bias), EMPTY_NULL, NULL, NULL },
    { "median_ape", "median", COL_FRACTION, NULL, COL_MAJOR, AT(median_ape), EMPTY_NULL, NULL, NULL },
    { "p95_ape", "P95", COL_FRACTION, NULL, COL_MAJOR, AT(p95_ape), EMPTY_NULL, NULL, NULL },
    { "coverage90", "in 90 % interval", COL_FRACTION, NULL, COL_MAJOR, AT(coverage90), EMPTY_NULL, "number or null, optional", "of cases; roles have no interval" },
    { "half90", "relative half-width", COL_FRACTION, NULL, COL_MAJOR, AT(half90), EMPTY_NULL, "number or null, optional", "likewise" },
};
#undef AT
const struct table_fields validate_group_fields = { "validate.group", validate_group_columns, ARRAY_LEN(validate_group_columns) };
enum { ROLE_COLUMNS = 5 }; /* columns of roles: ops have no interval */

static double tok_s(const struct validate_result *r, double seconds)
{
    return (double)r->c->t.n * r->c->t.n_batch / seconds;
}

/* End of the 90 % interval over the prediction; side -1: lower. (63) */
static double end_of(int side)
{
    return exp(side * PREDICT_Z90 * prior(PRIOR_KERNELS_LEFT_PROBED));
}

static void put_case(struct table_rows *rows, const struct validate_result *r, size_t at)
{
    const struct bench_test *t = &r->c->t;
    char test[48];
    phase_test_name(test, sizeof test, t->prefill ? PHASE_PREFILL : PHASE_DECODE, t->n, t->n_batch, t->depth);
    const double predicted = tok_s(r, r->predicted_s);
    *(struct case_row *)table_add(rows) = (struct case_row){
        .r = *r, .at = at, .model = r->f->label, .type = r->f->type, .phase = t->prefill ? "prefill" : "decode", .test = table_text(rows, test),
        .n_threads = r->c->n_threads, .n_prompt = t->prefill ? t->n : 0, .n_gen = t->prefill ? 0 : t->n, .n_depth = t->depth, .n_batch = t->n_batch,
        .tok_s = tok_s(r, r->seconds), .predicted_tok_s = predicted, .lo = predicted * end_of(-1), .hi = predicted * end_of(1),
    };
}

static json_t *op_json(const struct validate_op *o)
{
    return json_pack("{s:I s:s s:s s:s s:o s:o s:o s:o}", "case", (json_int_t)o->at, "role", o->role, "op", o->op, "type", o->type,
                     "seconds", json_num(o->seconds), "predicted_s", json_num(o->predicted_s), "share", json_num(o->share),
                     "error", json_num(o->predicted_s / o->seconds - 1));
}

/* ---- figures of groups (67) ---------------------------------------------------------------------------------- */

struct figures {
    double *error, *ape; /* [n]: those known, and room for their absolutes */
    size_t n;
};

static void add_figures(struct table_rows *rows, const char *name, const struct figures *f)
{
    double inside = 0;
    for (size_t i = 0; i < f->n; i++) {
        f->ape[i] = fabs(f->error[i]);
        inside += 1 / (1 + f->error[i]) > end_of(-1) && 1 / (1 + f->error[i]) < end_of(1);
    }
    *(struct figures_row *)table_add(rows) = (struct figures_row){
        table_text(rows, name), f->n, f->n ? stats_mean(f->error, f->n) : NAN, stats_median(f->ape, f->n), stats_quantile(f->ape, f->n, 0.95),
        f->n ? inside / (double)f->n : NAN, f->n ? (end_of(1) - end_of(-1)) / 2 : NAN,
    };
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

static void add_groups(struct table_rows *to, const struct validation *v, double *room)
{
    char name[192], other[192];
    for (int by = BY_ALL; by < BY_COUNT; by++)
        for (size_t i = 0; i < v->n; i++) {
            struct figures f = { .error = room, .ape = room + v->n + v->n_op };
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
            if (!before)
                add_figures(to, name, &f);
        }
}

/* Statistics of each role, then of all ops. */
static void add_roles(struct table_rows *to, struct table_rows *all, const struct validation *v, double *room)
{
    char name[32];
    for (size_t i = 0; i < v->n_op; i++) {
        struct figures f = { .error = room, .ape = room + v->n + v->n_op };
        bool before = false;
        for (size_t k = 0; k < v->n_op; k++) {
            if (strcmp(v->op[k].role, v->op[i].role) != 0)
                continue;
            before |= k < i;
            room[f.n++] = v->op[k].predicted_s / v->op[k].seconds - 1;
        }
        snprintf(name, sizeof name, "op=%s", v->op[i].role);
        if (!before)
            add_figures(to, name, &f);
    }
    for (size_t i = 0; i < v->n_op; i++)
        room[i] = v->op[i].predicted_s / v->op[i].seconds - 1;
    add_figures(all, "op", &(struct figures){ room, room + v->n + v->n_op, v->n_op });
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

struct document {
    struct table_rows cases, groups, roles, ops; /* ops: one row for all */
    struct table rows, group, role;
    json_t *meta;
};

static void document_free(struct document *d)
{
    table_rows_free(&d->cases);
    table_rows_free(&d->groups);
    table_rows_free(&d->roles);
    table_rows_free(&d->ops);
    json_decref(d->meta);
}

/* The first group contains all cases. */
static const struct figures_row *all_of(const struct table_rows *groups)
{
    static const struct figures_row none = { NULL, 0, NAN, NAN, NAN, NAN, NAN };
    return groups->n ? table_row(groups, 0) : &none;
}

static size_t n_moved(const struct validation *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += v->r[i].moved;
    return n;
}

static json_t *meta_json(const struct validation *v, const struct validate_about *a, const struct document *d)
{
    const struct figures_row *f = all_of(&d->groups), *op = all_of(&d->ops);
    char date[24];
    json_t *ops = json_array();
    for (size_t i = 0; i < v->n_op; i++)
        json_array_append_new(ops, op_json(&v->op[i]));
    return json_pack("{s:o s:s s:s s:s s:s s:I s:I s:I s:I s:I s:o s:o s:o s:o s:o s:I s:o s:o s:o s:o s:o s:o}", "cpu",
                     json_text(a->host->cpu_model), "date", clock_date(date, sizeof date), "command", a->command, "profile",
                     a->profile_path, "profile_date", a->profile->date, "seed", (json_int_t)a->seed, "n_grid",
                     (json_int_t)a->n_grid, "n_planned", (json_int_t)a->n_case, "n_case", (json_int_t)v->n, "n_moved",
                     (json_int_t)n_moved(v), "bias", json_num(f->bias), "median_ape", json_num(f->median_ape), "p95_ape", json_num(f->p95_ape),
                     "coverage90", json_num(f->coverage90), "half90", json_num(f->half90), "n_op", (json_int_t)v->n_op, "op_bias",
                     json_num(op->bias), "op_median_ape", json_num(op->median_ape), "op_p95_ape", json_num(op->p95_ape), "groups",
                     table_rows_json(&d->group), "roles", table_rows_json(&d->role), "ops", ops);
}

static int document_init(struct document *d, const struct validation *v, const struct validate_about *a, struct error *err)
{
    const struct column *figures = validate_group_columns;
    double *room = malloc((2 * (v->n + v->n_op) + 1) * sizeof *room);
    *d = (struct document){ .cases = { .size = sizeof(struct case_row) } };
    d->groups.size = d->roles.size = d->ops.size = sizeof(struct figures_row);
    if (!room)
        return error_oom(err, v->n * sizeof *v->r, "the report");
    for (size_t i = 0; i < v->n; i++)
        put_case(&d->cases, &v->r[i], i);
    add_groups(&d->groups, v, room);
    add_roles(&d->roles, &d->ops, v, room);
    free(room);
    d->group = (struct table){ "roofcast.validate.groups", 1, NULL, figures, ARRAY_LEN(validate_group_columns), &d->groups, NULL };
    d->role = (struct table){ "roofcast.validate.roles", 1, NULL, figures, ROLE_COLUMNS, &d->roles, NULL };
    d->meta = meta_json(v, a, d);
    d->rows = (struct table){ "roofcast.validate", 1, d->meta, validate_columns, ARRAY_LEN(validate_columns), &d->cases, NULL };
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
    if (report_write(NULL, f, &d->rows, err) != 0)
        return -1;
    printf("\n");
    if (report_write(NULL, f, &d->group, err) != 0)
        return -1;
    printf("\nOps of at least %.0f %% of a pass, timed one by one:\n\n", 100 * VALIDATE_SHARE);
    if (report_write(NULL, f, &d->role, err) != 0)
        return -1;
    printf("\n");
    print_worst(v);
    const struct figures_row *all = all_of(&d->groups);
    printf("%zu of %zu cases (of a grid of %zu), seed %llu: median %.1f %%, P95 %.1f %%, bias %+.1f %%; %.0f %% in the 90 %% interval of "
           "+/- %.1f %%; per op median %.1f %%; too few steady repetitions in %zu\n",
           v->n, a->n_case, a->n_grid, (unsigned long long)a->seed, 100 * all->median_ape, 100 * all->p95_ape, 100 * all->bias, 100 * all->coverage90,
           100 * all->half90, 100 * all_of(&d->ops)->median_ape, n_moved(v));
    return 0;
}

int validate_print(const struct validation *v, const struct validate_about *a, enum report_format f, const char *save,
                   struct error *err)
{
    struct document d = { 0 };
    int rc = document_init(&d, v, a, err);
    if (rc == 0 && save)
        rc = report_write(save, REPORT_JSON, &d.rows, err);
    if (rc == 0 && (f == REPORT_TABLE || f == REPORT_MD))
        rc = print_people(v, a, &d, f, err);
    else if (rc == 0)
        rc = report_write(NULL, f, &d.rows, err);
    document_free(&d);
    return rc;
}
