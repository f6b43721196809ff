/* roofcast score: groups, and the rows furthest off, as tables. */
#include "report/score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups ------------------------------------------------------------------------------------------- */

#define AT(m) COLUMN_AT(struct score_group, m)
static const struct column score_group_columns[] = {
    { "group", "group", COL_TEXT, NULL, COL_KEY, AT(name), EMPTY_VALUE, NULL, "`all`, or keys joined by commas in this order: `source=`, `class=`, `hardware=`, "
      "`engine=`, `phase=`, `op=`, `kind=`, `metric=`, `clean=`" },
    { "rows", "rows", COL_INT, NULL, COL_KEY, AT(rows), EMPTY_VALUE, NULL, "predicted and not" },
    { "unpriced", "not predicted", COL_INT, NULL, COL_MAJOR, AT(unpriced), EMPTY_VALUE, NULL, "each counts as an error of -1 in the figures" },
    { "bias", "bias", COL_FRACTION, NULL, COL_MAJOR, AT(bias), EMPTY_VALUE, NULL, "mean of predicted / measured - 1" },
    { "mape", "MAPE", COL_FRACTION, NULL, COL_MAJOR, AT(mape), EMPTY_VALUE, NULL, "mean of its absolute value" },
    { "median_ape", "median", COL_FRACTION, NULL, COL_KEY, AT(median_ape), EMPTY_VALUE, NULL, NULL },
    { "p90_ape", "P90", COL_FRACTION, NULL, COL_KEY, AT(p90_ape), EMPTY_VALUE, NULL, NULL },
    { "coverage90", "in 90 % interval", COL_FRACTION, NULL, COL_MAJOR, AT(coverage90), EMPTY_VALUE, NULL, "share of rows whose measurement lies in the "
      "predicted 90 % interval" },
    { "naive_ape", "naive median", COL_FRACTION, NULL, COL_MEDIUM, AT(naive_ape), EMPTY_NULL, NULL, "median error of the roofs' seconds divided by one "
      "fraction a phase, fitted to the scored rows; null: no rates" },
    { "half90", "relative half-width", COL_FRACTION, NULL, COL_MAJOR, AT(half90), EMPTY_NULL, NULL, "median relative half-width of those intervals, "
      "(hi - lo) / 2 / prediction; null: no row is predicted" },
};
#undef AT
const struct table_fields score_group_fields = { "score.group", score_group_columns, ARRAY_LEN(score_group_columns) };

/* Groups shown in a table: those of one key, and classes by phase, metric or op. */
static bool is_short(const struct score_group *g)
{
    return g->n_key <= 1 || (g->n_key == 2 && strncmp(g->name, "class=", 6) == 0 &&
                             (strstr(g->name, ",phase=") || strstr(g->name, ",metric=") || strstr(g->name, ",op="))) ||
           (g->n_key == 2 && strncmp(g->name, "phase=", 6) == 0 && strstr(g->name, ",clean=")) ||
           (g->n_key == 2 && strncmp(g->name, "kind=", 5) == 0 && strstr(g->name, ",metric="));
}

static struct table_rows group_rows(const struct score_groups *l, bool all)
{
    struct table_rows rows = { .size = sizeof *l->g };
    for (size_t i = 0; i < l->n; i++)
        if (all || is_short(&l->g[i]))
            memcpy(table_add(&rows), &l->g[i], sizeof l->g[i]);
    return rows;
}

/* ---- the worst rows --------------------------------------------------------------------------------------- */

struct score_row {
    const char *id, *hardware, *profile, *class_name, *engine, *model, *preset, *type, *phase, *unit, *note, *reason;
    uint64_t line;
    int n_devices;
    double measured, predicted, lo, hi, error;
};

#define AT(m) COLUMN_AT(struct score_row, m)
static const struct column score_columns[] = {
    { "id", "row", COL_TEXT, NULL, COL_MINOR, AT(id), EMPTY_VALUE, NULL, "in the file; `\"\"`: none" },
    { "line", "line", COL_INT, NULL, COL_MINOR, AT(line), EMPTY_VALUE, NULL, "of the file" },
    { "hardware", "hardware", COL_TEXT, NULL, COL_KEY, AT(hardware), EMPTY_VALUE, NULL, "as the file has it" },
    { "profile", NULL, COL_TEXT, NULL, COL_DATA, AT(profile), EMPTY_VALUE, NULL, "id; `\"\"`: none, values of `--hardware`" },
    { "class", NULL, COL_TEXT, NULL, COL_DATA, AT(class_name), EMPTY_VALUE, NULL, NULL },
    { "engine", "engine", COL_TEXT, NULL, COL_MEDIUM, AT(engine), EMPTY_VALUE, NULL, "normalized" },
    { "model", "model", COL_TEXT, NULL, COL_MAJOR, AT(model), EMPTY_VALUE, NULL, "as the file has it" },
    { "preset", NULL, COL_TEXT, NULL, COL_DATA, AT(preset), EMPTY_VALUE, NULL, "`\"\"`: estimated dimensions, doc/notes/datasets.md" },
    { "type", "type", COL_TEXT, NULL, COL_MEDIUM, AT(type), EMPTY_VALUE, NULL, "used for the prediction" },
    { "n_devices", "devices", COL_INT, NULL, COL_MINOR, AT(n_devices), EMPTY_VALUE, NULL, NULL },
    { "phase", "metric", COL_TEXT, NULL, COL_MAJOR, AT(phase), EMPTY_VALUE, NULL, "phase, metric or op" },
    { "unit", "unit", COL_TEXT, NULL, COL_MEDIUM, AT(unit), EMPTY_VALUE, "`\"tok/s\"` or `\"s\"`", "of the next four" },
    { "measured", "measured", COL_FLOAT, NULL, COL_KEY, AT(measured), EMPTY_VALUE, NULL, NULL },
    { "predicted", "predicted", COL_FLOAT, NULL, COL_KEY, AT(predicted), EMPTY_NULL, NULL, "null: not predicted, see `reason`" },
    { "lo", NULL, COL_FLOAT, NULL, COL_DATA, AT(lo), EMPTY_NULL, NULL, "90 % interval" },
    { "hi", NULL, COL_FLOAT, NULL, COL_DATA, AT(hi), EMPTY_NULL, NULL, NULL },
    { "error", "error", COL_FRACTION, NULL, COL_KEY, AT(error), EMPTY_VALUE, NULL, "predicted / measured - 1; not predicted: -1" },
    { "note", NULL, COL_TEXT, NULL, COL_JSON, AT(note), EMPTY_VALUE, NULL, "values of `--hardware` used instead of the profile's (difference above 5 %); "
      "a server's latency that was not simulated, and why; interpretation of a row that is not taken literally (an op of unknown name, parameters that differ from those of its model's "
      "preset)" },
    { "reason", "remarks", COL_TEXT, NULL, COL_MAJOR, AT(reason), EMPTY_VALUE, NULL, "not predicted, above the machine's roofs, guesses, "
      "assumptions for missing fields, tags of its source; for errors above 50 % also a comparison with similar rows, "
      "doc/notes/datasets.md" },
};
#undef AT
const struct table_fields score_fields = { "score.row", score_columns, ARRAY_LEN(score_columns) };

static const char *what_of(const struct measurement *m)
{
    if (m->metric == METRIC_TTFT || m->metric == METRIC_TPOT)
        return measure_metric_name(m->metric);
    return *m->op ? m->op : measure_phase_name(m->phase);
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static void put_row(struct table_rows *rows, const struct scored *s, const struct score_reasons *why)
{
    char reason[1024], note[sizeof s->p->note + sizeof s->p->machine->note + 80];
    const struct measurement *m = s->p->m;
    snprintf(note, sizeof note, "%s%s%s", s->p->note, s->p->note[0] && s->p->machine->note[0] ? "; " : "", s->p->machine->note);
    if (s->e.closed_form)
        snprintf(note + strlen(note), sizeof note - strlen(note), "%sclosed form: %.50s", *note ? "; " : "", s->e.closed_form);
    *(struct score_row *)table_add(rows) = (struct score_row){
        .id = m->id, .line = (uint64_t)m->line, .hardware = m->hardware, .profile = s->p->machine->profile, .class_name = s->p->machine->class_name,
        .engine = s->p->stack->id, .model = m->model, .preset = s->p->preset, .type = s->p->type, .n_devices = m->n_devices, .phase = what_of(m),
        .unit = m->metric == METRIC_TOK_S ? "tok/s" : "s", .measured = m->value, .predicted = s->predicted, .lo = s->lo, .hi = s->hi, .error = s->error,
        .note = or_empty(table_text(rows, note)), .reason = or_empty(table_text(rows, score_reason(why, s, reason, sizeof reason))),
    };
}

static int by_error(const void *a, const void *b)
{
    const struct scored *x = *(const struct scored *const *)a, *y = *(const struct scored *const *)b;
    const double d = fabs(y->error) - fabs(x->error);
    return d != 0 ? (d > 0) - (d < 0) : (x > y) - (x < y);
}

static int worst_rows(struct table_rows *to, const struct scored *rows, size_t n, int64_t n_worst, const struct score_reasons *why, struct error *err)
{
    const struct scored **order = malloc((n + 1) * sizeof *order);
    size_t k = 0;
    if (!order)
        return error_oom(err, n * sizeof *order, "a score");
    for (size_t i = 0; i < n; i++)
        if (is_scored_row(&rows[i]))
            order[k++] = &rows[i];
    qsort(order, k, sizeof *order, by_error);
    for (size_t i = 0; i < k && (int64_t)i < n_worst; i++)
        put_row(to, order[i], why);
    free(order);
    return 0;
}

/* ---- the document ----------------------------------------------------------------------------------------- */

static json_t *meta_json(const struct score_print *o, const struct measurements *l, const struct scored *rows, json_t *groups)
{
    json_int_t unpriced = 0, anchors = 0, unstated = 0;
    for (size_t i = 0; i < l->n; i++) {
        anchors += rows[i].anchor;
        unstated += rows[i].unstated && !rows[i].anchor;
        unpriced += is_scored_row(&rows[i]) && !rows[i].priced;
    }
    return json_pack("{s:o,s:s,s:s,s:o,s:i,s:I,s:I,s:I,s:I,s:o}", "file", json_text(o->file), "kind", measure_file_name(l->file),
                     "time_model", o->score->model->name, "leave_out",
                     o->score->leave ? json_string(leave_out_name(o->score->leave)) : json_null(), "anchor_rows", o->score->n_anchor,
                     "n_rows", (json_int_t)l->n - anchors - unstated, "n_unpriced", unpriced, "n_anchor", anchors, "n_unstated", unstated, "groups", groups);
}

/* Groups and, in tables, the rows with the largest errors below. */
int score_print(const struct scored *rows, const struct measurements *l, const struct score_groups *g, const struct score_print *o, struct error *err)
{
    const bool people = o->format == REPORT_TABLE || o->format == REPORT_MD;
    struct score_reasons *why = score_reasons_new(rows, l->n, err);
    if (!why)
        return -1;
    struct table_rows groups = group_rows(g, !people || o->all_groups), worst = { .size = sizeof(struct score_row) };
    const struct table figures = { "roofcast.score.groups", 1, NULL, score_group_columns, ARRAY_LEN(score_group_columns), &groups, NULL };
    int rc = worst_rows(&worst, rows, l->n, o->n_worst, why, err);
    json_t *meta = rc == 0 ? meta_json(o, l, rows, table_rows_json(&figures)) : NULL;
    const struct table score = { "roofcast.score", 1, meta, score_columns, ARRAY_LEN(score_columns), &worst, NULL };
    if (rc == 0 && !meta)
        rc = error_oom(err, 1 << 20, "a score");
    if (rc == 0)
        rc = report_write(NULL, o->format, o->format == REPORT_JSON ? &score : &figures, err);
    if (rc == 0 && people && worst.n > 0) {
        printf("\n");
        rc = report_write(NULL, o->format, &score, err);
    }
    score_reasons_free(why);
    json_decref(meta);
    table_rows_free(&worst);
    table_rows_free(&groups);
    return rc;
}
