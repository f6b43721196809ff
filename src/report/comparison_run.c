/* Runs of bench and predictions as sides of a comparison. */
#include "report/comparison_internal.h"
#include "base/notify.h"
#include "run/run.h"
#include <math.h>
#include <string.h>

/* ---- runs ------------------------------------------------------------------------------------------------------ */

static bool is_of(const struct run_rep *rep, const struct run_row *row)
{
    return rep->n_threads == row->n_threads && strcmp(rep->test, row->test) == 0 && strcmp(rep->model, row->model) == 0;
}

/* The repetitions of a row, which follow each other in the file in the order of the rows. *from: where the row's may begin. */
static void add_samples(struct compare_side *s, struct compare_entry *e, const struct run *r, const struct run_row *row, size_t *from)
{
    size_t i = *from;
    while (i < r->n_rep && !is_of(&r->rep[i], row))
        i++;
    for (; i < r->n_rep && is_of(&r->rep[i], row) && e->n_sample < (size_t)row->n_reps; i++) {
        const struct run_rep *const x = &r->rep[i];
        if (!(x->tok_s > 0))
            continue;
        *(struct compare_sample *)table_add(&s->sample) = (struct compare_sample){ x->tok_s, x->ceiling_bytes_s, x->ceiling_flop_s };
        e->n_sample++;
        *from = i + 1;
    }
}

static void read_row(struct compare_side *s, const struct run *r, const struct run_row *row, size_t *from)
{
    struct compare_entry *const e = compare_entry_new(s);
    e->model = compare_text(s, row->model);
    e->test = compare_text(s, row->test);
    e->unit = "tokens/s";
    e->value = row->tok_s_mean;
    e->compute = strcmp(row->bound, "compute") == 0;
    e->setting[SETTING_TYPE] = compare_text(s, row->type);
    e->setting[SETTING_THREADS] = compare_count(s, row->n_threads);
    e->setting[SETTING_UBATCH] = compare_count(s, row->n_ubatch);
    e->setting[SETTING_TYPE_K] = compare_text(s, row->type_k);
    e->setting[SETTING_TYPE_V] = compare_text(s, row->type_v);
    e->setting[SETTING_MACHINE] = compare_text(s, r->prov.cpu);
    if (row->tok_s_sd >= 0 && row->n_reps > 1) {
        e->ln_sd = row->tok_s_sd / row->tok_s_mean;
        e->n = (size_t)row->n_reps;
    }
    add_samples(s, e, r, row, from);
    compare_entry_close(s, e);
}

/* Passes of a test's prompt; of a decode step 1. */
static double passes_of(const struct run_row *row)
{
    const double tok = (double)row->n_prompt * row->n_batch;
    return row->n_prompt > 0 ? ceil(tok / row->n_ubatch) : 1;
}

/* The role's row of a test, which may be of an earlier file. */
static struct compare_op *op_of(struct compare_side *s, const struct run_row *row, const struct run_op *o)
{
    for (size_t i = 0; i < s->op.n; i++) {
        struct compare_op *const x = table_row(&s->op, i);
        if (strcmp(x->role, o->role) == 0 && strcmp(x->test, row->test) == 0)
            return x;
    }
    struct compare_op *const x = table_add(&s->op);
    *x = (struct compare_op){ .test = compare_text(s, row->test), .role = compare_text(s, o->role), .op = compare_text(s, o->op), .bound = compare_text(s, o->bound) };
    return x;
}

/* Ops of a row, summed by role. An op runs in all passes or in fewer: seconds / share is least for those that run in all. */
static void add_ops(struct compare_side *s, const struct run *r, const struct run_row *row)
{
    double pass_s = INFINITY;
    for (size_t i = 0; i < r->n_op; i++)
        if (strcmp(r->op[i].test, row->test) == 0 && r->op[i].share > 0 && r->op[i].seconds > 0)
            pass_s = fmin(pass_s, r->op[i].seconds / r->op[i].share);
    for (size_t i = 0; i < r->n_op; i++) {
        const struct run_op *const o = &r->op[i];
        if (strcmp(o->test, row->test) != 0 || !(o->share > 0) || !(o->seconds > 0))
            continue;
        struct compare_op *const x = op_of(s, row, o);
        if (x->n_file <= s->n_file) {
            x->n_file = s->n_file + 1;
            x->bytes_s += row->ops_ceiling_bytes_s;
            x->flop_s += row->ops_ceiling_flop_s;
        }
        x->seconds += o->share * pass_s * passes_of(row);
    }
}

int compare_read_run(struct compare_side *s, const char *name, const json_t *doc, const char *schema, struct error *err)
{
    struct run r;
    char text[320];
    size_t from = 0, n = 0;
    if (run_from_json(&r, doc, name, schema, err) != 0)
        return -1;
    for (size_t i = 0; i < r.n_row; i++) {
        if (!(r.row[i].tok_s_mean > 0))
            continue;
        read_row(s, &r, &r.row[i], &from);
        add_ops(s, &r, &r.row[i]);
        n++;
    }
    snprintf(text, sizeof text, "roofcast %.32s, %.32s on %.128s, %.24s", r.prov.version, r.prov.isa, r.prov.cpu, r.prov.date);
    s->what = s->what ? s->what : compare_text(s, text);
    if (*r.incomplete)
        notify_warn("%.200s: incomplete: %s", name, r.incomplete);
    run_free(&r);
    return n > 0 ? 0 : error_set(err, ERROR_INPUT, "%.300s: rows: expected a test with a speed; found none", name);
}

/* ---- predictions --------------------------------------------------------------------------------------------------- */

enum { CONTEXT = 320, MOST_ROWS = 100000, MOST_ROLES = 1000 };
static const double MOST_RATE = 1e15, NORMAL_90 = 2 * 1.6448536269514722;

static int out_of(const char *ctx, const char *key, double v, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected a number above 0, at most %g; found %g", ctx, key, MOST_RATE, v);
}

/* A number above 0, or NaN: null. */
static int read_number(const json_t *o, const char *ctx, const char *key, double *v, struct error *err)
{
    *v = NAN;
    if (json_get_num_opt(o, ctx, key, v, err) != 0)
        return -1;
    return isnan(*v) || (*v > 0 && *v <= MOST_RATE) ? 0 : out_of(ctx, key, *v, err);
}

static int read_roles(struct compare_side *s, const json_t *row, const char *test, const char *row_ctx, struct error *err)
{
    const json_t *roles = json_object_get(row, "roles");
    char ctx[CONTEXT + 32];
    if (json_is_none(roles))
        return 0;
    if (json_get_array(row, row_ctx, "roles", MOST_ROLES, &roles, err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(roles); i++) {
        const json_t *const o = json_array_get(roles, i);
        const char *role, *bound = "";
        double seconds;
        snprintf(ctx, sizeof ctx, "%.300s: roles[%zu]", row_ctx, i);
        if (json_check_object(o, ctx, err) != 0 || json_get_str(o, ctx, "role", &role, err) != 0 || json_get_str_opt(o, ctx, "bound", &bound, err) != 0 ||
            json_get_num(o, ctx, "seconds", &seconds, err) != 0)
            return -1;
        if (!(seconds >= 0 && seconds <= MOST_RATE))
            return out_of(ctx, "seconds", seconds, err);
        *(struct compare_op *)table_add(&s->op) = (struct compare_op){ test, compare_text(s, role), "", compare_text(s, bound), seconds, NAN, NAN, 1 };
    }
    return 0;
}

struct predicted {
    const char *model, *test, *type, *hw, *type_k, *type_v, *role, *what_if;
    double tok_s, lo, hi;
    int64_t n_ubatch;
};

static int read_predicted(struct predicted *p, const json_t *o, const char *ctx, struct error *err)
{
    *p = (struct predicted){ .type_k = "", .type_v = "" };
    return json_check_object(o, ctx, err) == 0 && json_get_str(o, ctx, "model", &p->model, err) == 0 && json_get_str(o, ctx, "test", &p->test, err) == 0 &&
                   json_get_str(o, ctx, "type", &p->type, err) == 0 && json_get_str(o, ctx, "hw", &p->hw, err) == 0 &&
                   json_get_str_opt(o, ctx, "type_k", &p->type_k, err) == 0 && json_get_str_opt(o, ctx, "type_v", &p->type_v, err) == 0 &&
                   json_get_str_opt(o, ctx, "role", &p->role, err) == 0 && json_get_str_opt(o, ctx, "what_if", &p->what_if, err) == 0 &&
                   json_get_int_opt(o, ctx, "n_ubatch", 0, INT32_MAX, &p->n_ubatch, err) == 0 && read_number(o, ctx, "tok_s", &p->tok_s, err) == 0 &&
                   read_number(o, ctx, "tok_s_lo", &p->lo, err) == 0 && read_number(o, ctx, "tok_s_hi", &p->hi, err) == 0
               ? 0
               : -1;
}

static int read_prediction(struct compare_side *s, const json_t *o, const char *ctx, struct error *err)
{
    struct predicted p;
    if (read_predicted(&p, o, ctx, err) != 0)
        return -1;
    if (p.role || p.what_if || isnan(p.tok_s))
        return 0;
    struct compare_entry *const e = compare_entry_new(s);
    const struct compare_entry *const first = table_row(&s->entry, 0);
    e->model = compare_text(s, p.model);
    e->test = compare_text(s, p.test);
    e->unit = "tokens/s";
    e->value = p.tok_s;
    e->setting[SETTING_TYPE] = compare_text(s, p.type);
    e->setting[SETTING_UBATCH] = compare_count(s, (double)p.n_ubatch);
    e->setting[SETTING_TYPE_K] = compare_text(s, p.type_k);
    e->setting[SETTING_TYPE_V] = compare_text(s, p.type_v);
    e->setting[SETTING_MACHINE] = compare_text(s, p.hw);
    if (p.lo > 0 && p.hi >= p.lo)
        e->ln_sd = log(p.hi / p.lo) / NORMAL_90;
    const char *const layout = json_string_value(json_object_get(o, "layout"));
    e->setting[SETTING_HOST] = json_array_size(json_object_get(o, "devices")) > 0 && layout ? compare_text(s, layout) : "";
    if (strcmp(first->setting[SETTING_MACHINE], p.hw) != 0)
        return error_set(err, ERROR_INPUT, "%s: field \"hw\": expected one machine in the file; found %.64s and %.64s", ctx, first->setting[SETTING_MACHINE], p.hw);
    return read_roles(s, o, e->test, ctx, err);
}

int compare_read_prediction(struct compare_side *s, const char *name, const json_t *doc, struct error *err)
{
    const json_t *rows;
    char ctx[CONTEXT], text[192];
    const size_t before = s->entry.n;
    if (json_check_schema(doc, name, "roofcast.predict", 1, err) != 0 || json_get_array(doc, name, "rows", MOST_ROWS, &rows, err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        snprintf(ctx, sizeof ctx, "%.256s: rows[%zu]", name, i);
        if (read_prediction(s, json_array_get(rows, i), ctx, err) != 0)
            return -1;
    }
    if (s->entry.n == before)
        return error_set(err, ERROR_INPUT, "%.300s: rows: expected a test with a speed; found none", name);
    const struct compare_entry *const e = table_row(&s->entry, before);
    snprintf(text, sizeof text, "prediction for %.50s on %.40s%s%.80s", e->model, e->setting[SETTING_MACHINE], *e->setting[SETTING_HOST] ? ", " : "", e->setting[SETTING_HOST]);
    s->what = s->what ? s->what : compare_text(s, text);
    return 0;
}
