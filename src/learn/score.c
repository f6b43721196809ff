/* Rows predicted by fits without their group, and compared. methods.md (67) */
#include "learn/score.h"
#include "predict/predict.h"
#include "stacks/stack_traits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const leave_names[] = { [LEAVE_HARDWARE] = "hardware", [LEAVE_MODEL] = "model",   [LEAVE_ENGINE] = "engine",
                                           [LEAVE_TOPOLOGY] = "topology", [LEAVE_SOURCE] = "source", [LEAVE_GENERATION] = "generation",
                                           [LEAVE_CLASS] = "class",       [LEAVE_DATE] = "date" };

int leave_out_find(const char *name, enum leave_out *out, struct error *err)
{
    for (int i = LEAVE_HARDWARE; i <= LEAVE_DATE; i++)
        if (strcmp(leave_names[i], name) == 0) {
            *out = (enum leave_out)i;
            return 0;
        }
    return error_set(err, ERROR_USAGE,
                     "--leave-out: expected hardware, model, engine, topology, source, generation, class or date, found \"%.64s\"", name);
}

const char *leave_out_name(enum leave_out l)
{
    return l == LEAVE_NOTHING ? NULL : leave_names[l];
}

/* "2025-1": the first half of a year; "": no date. */
static const char *half_year(const struct workload *p, char *buf, size_t size)
{
    enum { HALF = 6 };
    const int month = stack_traits_month(p);
    *buf = 0;
    if (month > 0)
        snprintf(buf, size, "%d-%d", month / 100, month % 100 <= HALF ? 1 : 2);
    return buf;
}

const char *left_out_text(const struct workload *p, enum leave_out l, char *buf, size_t size)
{
    char engine[64];
    const struct measurement *m = p->m;
    switch (l) {
    case LEAVE_HARDWARE: /* all names of one machine are one group */
        snprintf(buf, size, "%s", p->machine->profile[0] ? p->machine->profile : m->hardware);
        return buf;
    case LEAVE_MODEL:
        snprintf(buf, size, "%s", p->preset[0] ? p->preset : m->model);
        return buf;
    case LEAVE_ENGINE:
        snprintf(buf, size, "%s", engine_text(p->stack, engine, sizeof engine));
        return buf;
    case LEAVE_TOPOLOGY:
        snprintf(buf, size, "%s %d of %g", m->topology, m->n_devices, m->per_node);
        return buf;
    case LEAVE_SOURCE:
        return measure_publisher(m, buf, size);
    case LEAVE_GENERATION:
        snprintf(buf, size, "%s", stack_traits_lineage(p));
        return buf;
    case LEAVE_CLASS:
        snprintf(buf, size, "%s", p->machine->class_name);
        return buf;
    case LEAVE_DATE:
        return half_year(p, buf, size);
    case LEAVE_NOTHING:
        break;
    }
    snprintf(buf, size, "%s", "");
    return buf;
}

bool leave_out_hides(const struct workload *p, enum leave_out l, const char *group)
{
    char text[256];
    left_out_text(p, l, text, sizeof text);
    return l == LEAVE_DATE ? !*text || strcmp(text, group) >= 0 : strcmp(text, group) == 0;
}

/* ---- anchors ------------------------------------------------------------------------------- */

static bool may_anchor(const struct workload *p)
{
    return p->m->kind != MEASURE_OP || strcmp(p->m->op, "mlp_up_proj") == 0;
}

static const char *significant(const char *digits)
{
    return digits + strspn(digits, "0");
}

/* Integers by value, before texts. */
static int by_id(const char *a, const char *b)
{
    const bool x = a[strspn(a, "0123456789")] == 0, y = b[strspn(b, "0123456789")] == 0;
    if (!x || !y)
        return x != y ? (int)y - (int)x : strcmp(a, b);
    const char *const p = significant(a), *const q = significant(b);
    const size_t m = strlen(p), n = strlen(q);
    const int c = m != n ? (m > n) - (m < n) : strcmp(p, q);
    return c ? c : strcmp(a, b);
}

/* Device and phase; then the lowest id, in file order and after those without ids; of ops the largest m. */
static int anchor_group(const struct measurement *a, const struct measurement *b)
{
    const int c = strcmp(a->hardware, b->hardware);
    return c ? c : (int)a->phase - (int)b->phase;
}

static int anchor_order(const void *x, const void *y)
{
    const struct scored *s = *(struct scored *const *)x, *t = *(struct scored *const *)y;
    const struct measurement *a = s->p->m, *b = t->p->m;
    int c = anchor_group(a, b);
    if (c == 0 && a->kind == MEASURE_OP)
        c = (a->m < b->m) - (a->m > b->m);
    if (c == 0)
        c = *a->id && *b->id ? by_id(a->id, b->id) : !*a->id - !*b->id;
    return c ? c : (s > t) - (s < t);
}

/* Both latencies of a line; JSON objects may share one. */
static bool same_row(const struct measurement *a, const struct measurement *b)
{
    return a->kind == MEASURE_SERVING && a->metric != b->metric && a->line == b->line && strcmp(a->id, b->id) == 0;
}

/* Marks anchors. A line with two rows (both latencies of a server) counts once. */
static int mark_anchors(struct scored *rows, size_t n, int n_anchor, struct error *err)
{
    struct scored **order = malloc((n + 1) * sizeof *order);
    size_t k = 0;
    if (!order)
        return error_oom(err, n * sizeof *order, "anchors");
    for (size_t i = 0; i < n; i++)
        if (may_anchor(rows[i].p))
            order[k++] = &rows[i];
    qsort(order, k, sizeof *order, anchor_order);
    int seen = 0;
    for (size_t i = 0; i < k; i++) {
        const struct measurement *m = order[i]->p->m, *before = i ? order[i - 1]->p->m : NULL;
        if (!before || anchor_group(before, m) != 0)
            seen = 1;
        else if (!same_row(before, m))
            seen++;
        struct roof_violation x;
        order[i]->anchor = seen <= n_anchor;
        order[i]->shown = order[i]->anchor && !workload_exceeds_roof(order[i]->p, &x);
    }
    free(order);
    return 0;
}

/* ---- a fit and its predictions ------------------------------------------------------------------------------ */

struct scoring {
    const struct score_options *o;
    struct scored *rows;
    size_t n;
    const struct workload **kept, **anchor; /* n each */
    const struct workload **other, **reference_rows; /* rows of hwprofiles/stacks that are not in the file; of these, rows outside the group */
    size_t n_other;
    char **group;                         /* group of each row; NULL without */
};

static bool has_price(const struct scored *s)
{
    return !s->p->reason[0];
}

/* Constants of kernels.json that a prediction of a row of the left-out group does not use: what they are of in common with the group. */
static unsigned unseen_of(enum leave_out l)
{
    switch (l) {
    case LEAVE_HARDWARE:
        return UNSEEN_MACHINE;
    case LEAVE_GENERATION:
    case LEAVE_CLASS:
        return UNSEEN_MACHINE | UNSEEN_DESIGN;
    case LEAVE_ENGINE:
        return UNSEEN_ENGINE;
    case LEAVE_DATE: /* their rows have no date */
        return UNSEEN_MACHINE | UNSEEN_DESIGN | UNSEEN_ENGINE;
    case LEAVE_NOTHING:
    case LEAVE_MODEL:
    case LEAVE_TOPOLOGY:
    case LEAVE_SOURCE:
        break;
    }
    return 0;
}

/* Hides the measured value from the model. */
static int predict_blind(const struct scoring *x, const void *params, const struct workload *p, struct estimate *e, struct error *err)
{
    struct measurement m = *p->m;
    struct workload blind = *p;
    blind.unseen = unseen_of(x->o->leave);
    m.value = blind.measured_s = NAN;
    blind.m = &m;
    return x->o->model->predict(params, &blind, e, err);
}

/* In the row's unit: a rate is work over seconds; with drafts a step makes more than one token. */
static double in_unit(const struct workload *p, double seconds)
{
    const double tokens = p->m->metric == METRIC_TPOT ? p->m->step_tokens : 1;
    return p->m->metric == METRIC_TOK_S ? p->m->value * p->measured_s / seconds : seconds / tokens;
}

static int predict_one(const struct scoring *x, const void *params, struct scored *s, struct error *err)
{
    struct error e = { 0 };
    if (predict_blind(x, params, s->p, &s->e, &e) != 0 || !(s->e.seconds > 0) || !isfinite(s->e.seconds)) {
        if (error_is_fatal(&e))
            return error_set(err, e.kind, "%s", e.msg);
        snprintf(s->reason, sizeof s->reason, "%.250s", e.msg[0] ? e.msg : "no prediction");
        return 0;
    }
    s->priced = true;
    s->predicted = in_unit(s->p, s->e.seconds);
    s->lo = fmin(in_unit(s->p, s->e.lo_s), in_unit(s->p, s->e.hi_s));
    s->hi = fmax(in_unit(s->p, s->e.lo_s), in_unit(s->p, s->e.hi_s));
    s->error = s->predicted / s->p->m->value - 1;
    return 0;
}

/* A row that is in the file as well. */
static bool is_scored(const struct scoring *x, const struct measurement *m)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct measurement *o = x->rows[i].p->m;
        if (o->value == m->value && o->phase == m->phase && strcmp(o->id, m->id) == 0 && strcmp(o->hardware, m->hardware) == 0)
            return true;
    }
    return false;
}

/* Number of rows of hwprofiles/stacks outside the group. */
static size_t reference_without(struct scoring *x, const char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n_other; i++)
        if (!leave_out_hides(x->other[i], x->o->leave, out))
            x->reference_rows[n++] = x->other[i];
    return n;
}

/* Fits without the rows of `out` (NULL: shipped constants, no refit) and predicts those rows. */
static int fit_and_predict(struct scoring *x, const char *out, struct error *err)
{
    size_t n_kept = 0, n_anchor = 0;
    void *params = NULL;
    for (size_t i = 0; i < x->n; i++) {
        if (!has_price(&x->rows[i]))
            continue;
        if (x->rows[i].shown)
            x->anchor[n_anchor++] = x->rows[i].p;
        else if (!x->rows[i].anchor && out && !leave_out_hides(x->rows[i].p, x->o->leave, out))
            x->kept[n_kept++] = x->rows[i].p;
    }
    const struct fit_scope scope = { out ? x->o->leave : LEAVE_NOTHING, out ? out : "", x->anchor, n_anchor, x->reference_rows, out ? reference_without(x, out) : 0 };
    if (x->o->model->fit(&params, x->kept, n_kept, &scope, err) != 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < x->n && rc == 0; i++)
        if (has_price(&x->rows[i]) && (!out || strcmp(x->group[i], out) == 0))
            rc = predict_one(x, params, &x->rows[i], err);
    x->o->model->free(params);
    return rc == 0 ? interrupt_check(err) : -1;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Each group in turn. */
static int leave_each_out(struct scoring *x, struct error *err)
{
    char text[256];
    int rc = 0;
    x->group = calloc(x->n + 1, sizeof *x->group);
    char **sorted = malloc((x->n + 1) * sizeof *sorted);
    if (!x->group || !sorted)
        rc = error_oom(err, x->n * sizeof *sorted, "groups");
    for (size_t i = 0; i < x->n && rc == 0; i++) {
        x->group[i] = strdup(left_out_text(x->rows[i].p, x->o->leave, text, sizeof text));
        if (!(sorted[i] = x->group[i]))
            rc = error_oom(err, sizeof text, "groups");
        else if (!*x->group[i])
            x->rows[i].unstated = x->o->leave == LEAVE_DATE || has_price(&x->rows[i]); /* no estimate: an error whatever it states */
    }
    if (rc == 0)
        qsort(sorted, x->n, sizeof *sorted, by_text);
    for (size_t i = 0; i < x->n && rc == 0; i++)
        if (*sorted[i] && (i == 0 || strcmp(sorted[i - 1], sorted[i]) != 0))
            rc = fit_and_predict(x, sorted[i], err);
    free(sorted);
    for (size_t i = 0; x->group && i < x->n; i++)
        free(x->group[i]);
    free(x->group);
    return rc;
}

/* ---- the naive predictor ------------------------------------------------------------------------------------- */

/* Seconds of a rate at its machine's roofs, one device after another. */
static double roof_s(const struct workload *p)
{
    double s = 0;
    for (size_t i = 0; i < p->n_pass; i++)
        s += p->pass[i].times * p->pass[i].sum.least_s;
    return p->m->kind == MEASURE_RATE && s > 0 && p->measured_s > 0 ? s : NAN;
}

/* Every rate reaches the same fraction of its roofs, the median of its phase's rows: the least that a model has to beat. (61) */
static int score_naively(struct scored *rows, size_t n, struct error *err)
{
    double *reach = malloc((n + 1) * sizeof *reach);
    if (!reach)
        return error_oom(err, n * sizeof *reach, "a naive score");
    for (int phase = 0; phase < MEASURE_NO_PHASE; phase++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if ((int)rows[i].p->m->phase == phase && is_scored_row(&rows[i]) && isfinite(roof_s(rows[i].p)))
                reach[k++] = roof_s(rows[i].p) / rows[i].p->measured_s;
        const double fraction = k > 0 ? stats_median(reach, k) : NAN;
        for (size_t i = 0; i < n; i++)
            if ((int)rows[i].p->m->phase == phase)
                rows[i].naive_error = fraction * rows[i].p->measured_s / roof_s(rows[i].p) - 1;
    }
    free(reach);
    return 0;
}

static int check_options(const struct workload *rows, size_t n, const struct score_options *o, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        const bool all_reduce = rows[i].m->kind == MEASURE_ALL_REDUCE;
        if (o->leave == LEAVE_TOPOLOGY && !all_reduce)
            return error_set(err, ERROR_USAGE, "--leave-out topology: only all-reduces have one");
        if ((o->leave == LEAVE_MODEL || o->leave == LEAVE_ENGINE) && all_reduce)
            return error_set(err, ERROR_USAGE, "--leave-out %s: all-reduces have none; expected hardware or topology", leave_out_name(o->leave));
    }
    return 0;
}

int score_rows(struct scored *out, const struct workload *rows, size_t n, const struct score_options *o, struct error *err)
{
    if (check_options(rows, n, o, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct scored){ .p = &rows[i], .e = { NAN, NAN, NAN, NULL }, .predicted = NAN, .lo = NAN, .hi = NAN, .error = -1, .naive_error = NAN };
        snprintf(out[i].reason, sizeof out[i].reason, "%s", rows[i].reason);
    }
    struct scoring x = { .o = o, .rows = out, .n = n };
    x.kept = malloc((n + 1) * sizeof *x.kept);
    x.anchor = malloc((n + 1) * sizeof *x.anchor);
    x.other = malloc((o->n_reference_rows + 1) * sizeof *x.other);
    x.reference_rows = malloc((o->n_reference_rows + 1) * sizeof *x.reference_rows);
    int rc = x.kept && x.anchor && x.other && x.reference_rows ? 0 : error_oom(err, n * sizeof *x.kept, "rows of a fit");
    for (size_t i = 0; i < o->n_reference_rows && rc == 0; i++)
        if (!o->reference_rows[i].reason[0] && !is_scored(&x, o->reference_rows[i].m))
            x.other[x.n_other++] = &o->reference_rows[i];
    if (rc == 0 && o->n_anchor > 0)
        rc = mark_anchors(out, n, o->n_anchor, err);
    if (rc == 0)
        rc = o->leave == LEAVE_NOTHING ? fit_and_predict(&x, NULL, err) : leave_each_out(&x, err);
    rc = rc ? rc : score_naively(out, n, err);
    free(x.kept);
    free(x.anchor);
    free(x.other);
    free(x.reference_rows);
    return rc;
}
