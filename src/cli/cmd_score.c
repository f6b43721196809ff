/* roofcast score: predictions compared with measurements. */
#include "cli/fields.h"
#include "cli/measured.h"
#include "learn/fitted.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_HARDWARE = 700, OPT_FEATURES, OPT_LEAVE_OUT, OPT_ANCHOR, OPT_WORST, OPT_BY };
enum { MAX_BY = 16 };

static const struct argp_option option_table[] = {
    { "hardware", OPT_HARDWARE, "FILE", 0,
      "bandwidth and peaks of machines, with the columns of hardware.csv: for machines without a profile, and instead "
      "of a profile's value if they differ by more than 5 %", 0 },
    { "leave-out", OPT_LEAVE_OUT, "hardware|model|engine|topology", 0,
      "cross-validation: predict each group with a fit that excludes it; files with fewer than 1000 rates are complemented by "
      "those of hwprofiles/stacks", 0 },
    { "anchor-rows", OPT_ANCHOR, "N", 0,
      "calibrate with the first N rows by id of each device and phase (of ops: the N mlp_up_proj rows with the largest m) and exclude "
      "them from the score; rows above the machine's roofs are excluded only", 0 },
    { "by", OPT_BY, "KEYS", CLI_AGAIN,
      "group by these keys only, joined by commas: source, class, hardware, engine, phase, op, kind, metric, "
      "clean (repeatable)", 0 },
    { "worst", OPT_WORST, "N", 0, "number of rows with the largest errors to print, with remarks (10)", 0 },
    { "features", OPT_FEATURES, "FILE", 0,
      "write bytes, FLOP and communication of every row as CSV (-: standard output) instead of scoring", 0 },
    { "hw", MEASURED_HW, "NAME", 0, "the machine, a name or a profile, for files that do not name it (llama-bench, vLLM, AIPerf)", 0 },
    MEASURED_OPTIONS,
    { NULL, 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md", 0 },
    { 0 },
};

struct score_cli {
    const char *file, *hardware, *features;
    struct measured_options measured;
    int64_t n_worst;
    unsigned by[MAX_BY]; /* sets of keys */
    size_t n_by;
    struct score_options score;
    enum report_format format;
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct score_cli *o = options;
    int64_t n;
    switch (key) {
    case ARGP_KEY_ARG:
        return cli_text_once(&o->file, arg, "file", err);
    case OPT_HARDWARE:
        return cli_text(&o->hardware, arg);
    case OPT_FEATURES:
        return cli_text(&o->features, arg);
    case OPT_LEAVE_OUT:
        return leave_out_find(arg, &o->score.leave, err);
    case OPT_ANCHOR:
        if (parse_int(arg, 0, 1 << 20, "--anchor-rows", &n, err) != 0)
            return -1;
        o->score.n_anchor = (int)n;
        return 0;
    case OPT_BY:
        if (o->n_by == MAX_BY)
            return error_set(err, ERROR_USAGE, "--by: expected at most %d of them", MAX_BY);
        return score_keys_find(arg, &o->by[o->n_by++], err);
    case OPT_WORST:
        return parse_int(arg, 0, 1 << 30, "--worst", &o->n_worst, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    default:
        return measured_parse(key, arg, &o->measured, err);
    }
}

/* ---- groups ------------------------------------------------------------------------------------------- */

#define AT(m) COLUMN_AT(struct score_group, m)
static const struct column score_group_columns[] = {
    { "group", "group", COL_TEXT, NULL, COL_KEY, AT(name), EMPTY_VALUE, NULL, "`all`, or keys joined by commas in this order: `source=`, `class=`, `hardware=`, "
      "`engine=`, `phase=`, `op=`, `kind=`, `metric=`, `clean=`" },
    { "rows", "rows", COL_INT, NULL, COL_KEY, AT(rows), EMPTY_VALUE, NULL, "including rows that are not predicted" },
    { "unpriced", "not predicted", COL_INT, NULL, COL_MAJOR, AT(unpriced), EMPTY_VALUE, NULL, "each counts as an error of -1 in the figures" },
    { "bias", "bias", COL_FRACTION, NULL, COL_MAJOR, AT(bias), EMPTY_VALUE, NULL, "mean of predicted / measured - 1" },
    { "mape", "MAPE", COL_FRACTION, NULL, COL_MAJOR, AT(mape), EMPTY_VALUE, NULL, "mean of its absolute value" },
    { "median_ape", "median", COL_FRACTION, NULL, COL_KEY, AT(median_ape), EMPTY_VALUE, NULL, NULL },
    { "p90_ape", "P90", COL_FRACTION, NULL, COL_KEY, AT(p90_ape), EMPTY_VALUE, NULL, NULL },
    { "coverage90", "in 90 % interval", COL_FRACTION, NULL, COL_MAJOR, AT(coverage90), EMPTY_VALUE, NULL, "share of rows whose measurement lies in the "
      "predicted 90 % interval" },
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
      "interpretation of a row that is not taken literally (an op of unknown name, parameters that differ from those of its model's "
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
    char reason[1024], note[sizeof s->p->note + sizeof s->p->machine->note + 2];
    const struct measurement *m = s->p->m;
    snprintf(note, sizeof note, "%s%s%s", s->p->note, s->p->note[0] && s->p->machine->note[0] ? "; " : "", s->p->machine->note);
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
        if (!rows[i].anchor)
            order[k++] = &rows[i];
    qsort(order, k, sizeof *order, by_error);
    for (size_t i = 0; i < k && (int64_t)i < n_worst; i++)
        put_row(to, order[i], why);
    free(order);
    return 0;
}

/* ---- the document ----------------------------------------------------------------------------------------- */

static json_t *meta_json(const struct score_cli *o, const struct measurements *l, const struct scored *rows, json_t *groups)
{
    json_int_t unpriced = 0, anchors = 0;
    for (size_t i = 0; i < l->n; i++) {
        anchors += rows[i].anchor;
        unpriced += !rows[i].anchor && !rows[i].priced;
    }
    return json_pack("{s:o,s:s,s:s,s:o,s:i,s:I,s:I,s:I,s:o}", "file", json_text(o->file), "kind", measure_file_name(l->file),
                     "time_model", o->score.model->name, "leave_out",
                     o->score.leave ? json_string(leave_out_name(o->score.leave)) : json_null(), "anchor_rows", o->score.n_anchor,
                     "n_rows", (json_int_t)l->n - anchors, "n_unpriced", unpriced, "n_anchor", anchors, "groups", groups);
}

/* Groups and, in tables, the rows with the largest errors below. */
static int print(const struct score_cli *o, const struct measurements *l, const struct scored *rows, const struct score_groups *g,
                 struct error *err)
{
    const bool people = o->format == REPORT_TABLE || o->format == REPORT_MD;
    struct score_reasons *why = score_reasons_new(rows, l->n, err);
    if (!why)
        return -1;
    struct table_rows groups = group_rows(g, !people || o->n_by > 0), worst = { .size = sizeof(struct score_row) };
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

/* ---- the command ------------------------------------------------------------------------------------------- */

static void free_rows(struct priced *rows, size_t n)
{
    for (size_t i = 0; rows && i < n; i++)
        priced_free(&rows[i]);
    free(rows);
}

/* Workloads of the rows of l. NULL with *err. */
static struct priced *workloads(const struct measurements *l, struct pricer *p, struct error *err)
{
    struct priced *rows = calloc(l->n + 1, sizeof *rows);
    if (!rows) {
        error_oom(err, l->n * sizeof *rows, "rows");
        return NULL;
    }
    for (size_t i = 0; i < l->n; i++) {
        if (price_row(p, &l->row[i], &rows[i], err) != 0) {
            free_rows(rows, i);
            return NULL;
        }
        if (i > 0)
            priced_share(&rows[i], &rows[i - 1]);
    }
    pricer_drop_models(p);
    return rows;
}

/* Smaller files of rates are complemented by measured.csv in cross-validation. */
enum { FEW_RATES = 1000 };

/* The measured rates of hwprofiles/stacks, if any, as reference rows. (67) */
static int load_shipped(struct measurements *l, struct priced **rows, struct pricer *p, struct error *err)
{
    static const struct measure_context x = { 0 };
    char path[4096];
    if (!hwprofile_data_file(path, sizeof path, "hwprofiles/stacks", "constants"))
        return 0;
    snprintf(strrchr(path, '/') + 1, sizeof "measured.csv", "measured.csv"); /* no longer than constants.json */
    if (!file_exists(path))
        return 0;
    if (measure_load(l, path, &x, err) != 0)
        return -1;
    *rows = workloads(l, p, err);
    return *rows ? 0 : -1;
}

static int score(const struct score_cli *o, const struct measurements *l, const struct priced *rows, struct error *err)
{
    struct score_groups g = { 0 };
    struct scored *s = malloc((l->n + 1) * sizeof *s);
    int rc = s ? score_rows(s, rows, l->n, &o->score, err) : error_oom(err, l->n * sizeof *s, "scores");
    if (rc == 0)
        rc = score_groups_init(&g, s, l->n, o->by, o->n_by, err);
    if (rc == 0)
        rc = print(o, l, s, &g, err);
    score_groups_free(&g);
    free(s);
    return rc;
}

static int run(const struct score_cli *o, struct error *err)
{
    struct measurements l = { 0 }, shipped = { 0 };
    struct measure_hws hws = { 0 };
    struct pricer *p = NULL;
    struct priced *rows = NULL, *reference = NULL;
    struct score_cli with = *o;
    struct measure_context x;
    int rc = measured_context(&x, &o->measured, err);
    rc = rc ? rc : measure_load(&l, o->file, &x, err);
    if (rc == 0 && *l.note)
        notify_note("%s: %s", o->file, l.note);
    if (rc == 0 && o->hardware)
        rc = measure_hws_load(&hws, o->hardware, err);
    if (rc == 0 && !(p = pricer_new(o->hardware ? &hws : NULL, x.hardware, err)))
        rc = -1;
    if (rc == 0 && !(rows = workloads(&l, p, err)))
        rc = -1;
    if (rc == 0 && o->score.leave != LEAVE_NOTHING && l.n > 0 && l.n < FEW_RATES && l.row[0].kind == MEASURE_RATE)
        rc = load_shipped(&shipped, &reference, p, err);
    with.score.reference_rows = reference;
    with.score.n_reference_rows = shipped.n;
    if (rc == 0)
        rc = o->features ? features_save(rows, l.n, o->features, err) : score(&with, &l, rows, err);
    free_rows(reference, shipped.n);
    measure_free(&shipped);
    free_rows(rows, l.n);
    pricer_free(p);
    measure_hws_free(&hws);
    measure_free(&l);
    return rc;
}

int cmd_score(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Compare predictions with measurements: bias, mean, median and 90th percentile of the error, coverage of the 90 % interval, "
        "and the rows with the largest errors. FILE is a CSV of rates (throughput.csv), of op times (gpu_ops.csv), of engines' kernels "
        "(gpu_kernels), of all-reduces or of serving latencies; the output of llama-bench (-o json, jsonl, csv, md, sql), "
        "llama-batched-bench, vLLM's and SGLang's benchmarks, AIPerf or guidellm; or a run saved by `roofcast bench --save`.\v"
        "The kind of file is detected from its columns or fields (doc/formats.md); errors in it are reported by line and "
        "column. A row that cannot be predicted counts as an error of 100 %; its remark says what is missing. Models without a "
        "preset are estimated from params_b, weight_gib and quant (A3B in a name: 3e9 active parameters) with a wider interval, unless "
        "their family has both dense models and mixtures of experts. -o json has all groups of up to three keys of source, class, "
        "hardware, engine, phase, op, kind, metric, clean; --by selects any others.\n\n"
        "  roofcast score throughput.csv --hardware hardware.csv\n"
        "  roofcast score throughput.csv --hardware hardware.csv --leave-out hardware -o json\n"
        "  roofcast score throughput.csv --by class,engine,phase,kind,clean\n"
        "  roofcast score gpu_ops.csv --anchor-rows 3\n"
        "  llama-bench -m model.gguf -o json > b.json; roofcast score b.json --hw rtx-4090\n";
    static const struct cli_syntax syntax = { option_table, parse, "FILE", doc, NULL };
    struct score_cli o = { .n_worst = 10, .score = { .model = &time_model_fitted }, .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.file)
        return error_set(err, ERROR_USAGE, "expected a FILE of measurements");
    if (cli_keep_arguments(argc, argv, "--features", o.features, err) != 0)
        return -1;
    return run(&o, err);
}
