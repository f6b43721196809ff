/* Predictions for `roofcast plot`, from a file or from the rows of a prediction. */
#include "report/plot.h"
#include "report/predict_row.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COPY(to, from) plot_copy((to), sizeof(to), (from))

void plot_prediction_free(struct plot_prediction *x)
{
    for (size_t i = 0; i < x->n_row; i++)
        free(x->row[i].role);
    free(x->row);
    *x = (struct plot_prediction){ 0 };
}

static struct plot_predicted *add_row(struct plot_prediction *x, struct error *err)
{
    struct plot_predicted *v = realloc(x->row, (x->n_row + 1) * sizeof *v);
    if (!v) {
        error_oom(err, (x->n_row + 1) * sizeof *v, "a prediction");
        return NULL;
    }
    x->row = v;
    v[x->n_row] = (struct plot_predicted){ .n_batch = 1 };
    return &v[x->n_row++];
}

static struct plot_work *add_roles(struct plot_predicted *r, size_t n, struct error *err)
{
    r->role = calloc(n + 1, sizeof *r->role);
    if (r->role)
        r->n_role = n;
    else
        error_oom(err, n * sizeof *r->role, "a prediction's roles");
    return r->role;
}

/* Requests have both phases, what-if rows the roofs of another machine: neither has points under these roofs. */
static bool has_points(const char *phase, const char *what_if, const char *reason)
{
    return strcmp(phase, "request") != 0 && !what_if && !(reason && *reason);
}

/* ---- rows just made ------------------------------------------------------------------- */

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static struct plot_work work_of(const struct cost *c, double seconds, const char *role)
{
    struct plot_work w = { .bytes = c->weight_bytes + c->act_bytes + c->kv_bytes, .flop = c->flop, .seconds = seconds };
    COPY(w.role, role);
    return w;
}

int plot_check_one_machine(const struct plot_predicted *r, const char *name, struct error *err)
{
    if (!r->shared)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: %s of %s has a part of the model on the host: two machines' roofs, which one chart does not have (its table of devices and "
                     "--by role say where the time goes)", name, r->test, r->hw);
}

int plot_prediction_of_rows(struct plot_prediction *x, const struct table_rows *rows, bool roof, struct error *err)
{
    *x = (struct plot_prediction){ .roof = roof };
    for (size_t i = 0; i < rows->n; i++) {
        const struct predict_row *w = table_row(rows, i);
        if (!has_points(w->phase, w->what_if, w->reason))
            continue;
        struct plot_predicted *r = add_row(x, err);
        struct plot_work *role = r ? add_roles(r, w->n_roles, err) : NULL;
        if (!role)
            return -1;
        COPY(r->model, w->model);
        COPY(r->type, w->type);
        COPY(r->hw, or_empty(w->hw));
        COPY(r->test, w->test);
        COPY(r->phase, w->phase);
        COPY(r->stack, or_empty(w->stack));
        COPY(r->basis, or_empty(w->basis));
        COPY(r->math, w->p.math);
        r->n_depth = w->n_depth;
        r->n_batch = w->n_batch;
        r->bandwidth_bytes_s = w->p.bandwidth_bytes_s;
        r->peak_flop_s = w->p.peak_flop_s;
        r->tok_s = w->tok_s.value;
        r->tok_s_lo = w->tok_s.lo;
        r->tok_s_hi = w->tok_s.hi;
        r->itl_s = w->itl_s.value;
        r->n_devices = (int)w->n_devices;
        r->fits = w->fits;
        r->shared = w->devices != NULL;
        r->whole = work_of(&w->p.cost, w->seconds.value, or_empty(w->role));
        for (size_t k = 0; k < w->n_roles; k++)
            role[k] = work_of(&w->roles[k].cost, w->roles[k].seconds, op_role_name(w->roles[k].role));
    }
    return 0;
}

/* ---- a file ------------------------------------------------------------------------------ */

static int read_work(struct plot_work *w, const json_t *row, const char *ctx, struct error *err)
{
    struct plot_source s = { 0 };
    if (plot_read_source(&s, row, ctx, true, err) != 0)
        return -1;
    *w = (struct plot_work){ .bytes = s.bytes, .flop = s.flop, .seconds = s.seconds };
    COPY(w->role, s.role);
    return 0;
}

static int read_roles(struct plot_predicted *r, const json_t *row, const char *ctx, struct error *err)
{
    const json_t *roles = json_object_get(row, "roles");
    if (roles && !json_is_array(roles))
        return error_set(err, ERROR_INPUT, "%s: field \"roles\": expected an array", ctx);
    if (!add_roles(r, json_array_size(roles), err))
        return -1;
    for (size_t k = 0; k < r->n_role; k++) {
        char inner[360];
        snprintf(inner, sizeof inner, "%s: roles[%zu]", ctx, k);
        if (read_work(&r->role[k], json_array_get(roles, k), inner, err) != 0)
            return -1;
        if (!*r->role[k].role)
            return error_set(err, ERROR_INPUT, "%s: field \"role\": expected a name", inner);
    }
    return 0;
}

static int read_math(struct plot_predicted *r, const json_t *row, const char *ctx, struct error *err)
{
    const char *name = NULL;
    if (json_get_str_opt(row, ctx, "math", &name, err) != 0)
        return -1;
    if (name && *name && math_find(name) < 0)
        return error_set(err, ERROR_INPUT, "%s: field \"math\": expected an arithmetic such as fp16, found \"%.32s\"", ctx, name);
    COPY(r->math, or_empty(name));
    return 0;
}

static int read_row(struct plot_predicted *r, const json_t *row, const char *ctx, struct error *err)
{
    const char *phase, *test, *hw, *model, *type;
    if (plot_read_phase(row, ctx, &phase, err) != 0 || json_get_str(row, ctx, "test", &test, err) != 0 ||
        json_get_str(row, ctx, "hw", &hw, err) != 0 || json_get_str(row, ctx, "model", &model, err) != 0 ||
        json_get_str(row, ctx, "type", &type, err) != 0 || json_get_int_opt(row, ctx, "n_depth", 0, INT32_MAX, &r->n_depth, err) != 0 ||
        json_get_int_opt(row, ctx, "n_batch", 1, INT32_MAX, &r->n_batch, err) != 0)
        return -1;
    COPY(r->phase, phase);
    COPY(r->test, test);
    COPY(r->hw, hw);
    COPY(r->model, model);
    COPY(r->type, type);
    COPY(r->stack, json_find_text(row, "stack"));
    COPY(r->basis, json_find_text(row, "basis"));
    r->bandwidth_bytes_s = json_find_number(row, "bandwidth_bytes_s");
    r->peak_flop_s = json_find_number(row, "peak_flop_s");
    r->tok_s = json_find_number(row, "tok_s");
    r->tok_s_lo = json_find_number(row, "tok_s_lo");
    r->tok_s_hi = json_find_number(row, "tok_s_hi");
    r->itl_s = json_find_number(row, "itl_s");
    const double n_devices = json_find_number(row, "n_devices");
    r->n_devices = n_devices >= 1 && n_devices <= INT32_MAX ? (int)n_devices : 1;
    const json_t *fits = json_object_get(row, "fits");
    r->shared = json_array_size(json_object_get(row, "devices")) > 0;
    r->fits = json_is_true(fits) ? 1 : json_is_false(fits) ? 0 : -1;
    return read_math(r, row, ctx, err) != 0 || read_work(&r->whole, row, ctx, err) != 0 ? -1 : read_roles(r, row, ctx, err);
}

int plot_prediction_read(struct plot_prediction *x, const json_t *doc, const char *name, struct error *err)
{
    const json_t *roof = json_object_get(doc, "roof"), *rows = json_object_get(doc, "rows");
    *x = (struct plot_prediction){ .roof = json_is_true(roof) ? 1 : json_is_false(roof) ? 0 : -1 };
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        char ctx[320];
        snprintf(ctx, sizeof ctx, "%.280s: rows[%zu]", name, i);
        if (!has_points(json_find_text(row, "phase"), json_string_value(json_object_get(row, "what_if")),
                        json_string_value(json_object_get(row, "reason"))))
            continue;
        struct plot_predicted *r = add_row(x, err);
        if (!r || read_row(r, row, ctx, err) != 0)
            return -1;
    }
    return 0;
}
