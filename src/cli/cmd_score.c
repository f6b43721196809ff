/* roofcast score: predictions beside what others measured. */
#include "cli/measured.h"
#include "learn/fitted.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_HARDWARE = 700, OPT_FEATURES, OPT_LEAVE_OUT, OPT_ANCHOR, OPT_WORST, OPT_BY };
enum { MAX_BY = 16 };

static const struct argp_option option_table[] = {
    { "hardware", OPT_HARDWARE, "FILE", 0,
      "bandwidth and peaks of the file's machines, with the columns of hardware.csv: for those without a profile, and in place "
      "of a profile's figure where they differ by more than 5 %", 0 },
    { "leave-out", OPT_LEAVE_OUT, "KEY", 0,
      "hardware, model, engine or topology: each group is predicted by a fit that has not seen it; fewer than 1000 rates have those of "
      "others in hwprofiles/stacks beside them", 0 },
    { "anchor-rows", OPT_ANCHOR, "N", 0,
      "show the fit the N lowest-id rows of each device and phase (whole numbers as numbers, other ids as texts, without ids in the file's "
      "order; of ops the N mlp_up_proj rows of largest m), and leave them out of the score; what is above its machine's roofs is left out alone", 0 },
    { "by", OPT_BY, "KEYS", CLI_AGAIN,
      "groups of these keys alone, as many as there are, joined by commas: source, class, hardware, engine, phase, op, kind, metric, "
      "clean; may be repeated", 0 },
    { "worst", OPT_WORST, "N", 0, "rows furthest off to print, with what is known against them (10)", 0 },
    { "features", OPT_FEATURES, "FILE", 0,
      "write what every row reads, computes and exchanges as CSV (- : standard output), and do not score", 0 },
    { "hw", MEASURED_HW, "NAME", 0, "the machine, a name or a profile's file, for files that do not name it (llama-bench, vLLM, AIPerf)", 0 },
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

static const struct column group_columns[] = {
    { "group", "group", COL_TEXT, NULL, COL_KEY, COLUMN_BY_KEY },       { "rows", "rows", COL_INT, NULL, COL_KEY, COLUMN_BY_KEY },
    { "unpriced", "unpriced", COL_INT, NULL, COL_MAJOR, COLUMN_BY_KEY },  { "bias", "bias", COL_FRACTION, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "mape", "MAPE", COL_FRACTION, NULL, COL_MAJOR, COLUMN_BY_KEY },     { "median_ape", "median", COL_FRACTION, NULL, COL_KEY, COLUMN_BY_KEY },
    { "p90_ape", "P90", COL_FRACTION, NULL, COL_KEY, COLUMN_BY_KEY },   { "coverage90", "in 90 % interval", COL_FRACTION, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "half90", "half of it", COL_FRACTION, NULL, COL_MAJOR, COLUMN_BY_KEY },
};

static json_t *group_json(const struct score_group *g)
{
    return json_pack("{s:o,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "group", json_text(g->name), "rows", (json_int_t)g->rows, "unpriced",
                     (json_int_t)g->unpriced, "bias", json_num(g->bias), "mape", json_num(g->mape), "median_ape",
                     json_num(g->median_ape), "p90_ape", json_num(g->p90_ape), "coverage90", json_num(g->coverage90), "half90",
                     json_num(g->half90));
}

/* What a table has room for: groups of one key, and classes by phase and of both latencies. */
static bool is_short(const struct score_group *g)
{
    return g->n_key <= 1 || (g->n_key == 2 && strncmp(g->name, "class=", 6) == 0 &&
                             (strstr(g->name, ",phase=") || strstr(g->name, ",metric=") || strstr(g->name, ",op="))) ||
           (g->n_key == 2 && strncmp(g->name, "phase=", 6) == 0 && strstr(g->name, ",clean=")) ||
           (g->n_key == 2 && strncmp(g->name, "kind=", 5) == 0 && strstr(g->name, ",metric="));
}

static json_t *groups_json(const struct score_groups *l, bool all)
{
    json_t *a = json_array();
    for (size_t i = 0; a && i < l->n; i++)
        if ((all || is_short(&l->g[i])) && json_array_append_new(a, group_json(&l->g[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

/* ---- the worst rows --------------------------------------------------------------------------------------- */

static const struct column row_columns[] = {
    { "id", "row", COL_TEXT, NULL, COL_MINOR, COLUMN_BY_KEY },           { "line", "line", COL_INT, NULL, COL_MINOR, COLUMN_BY_KEY },
    { "hardware", "hardware", COL_TEXT, NULL, COL_KEY, COLUMN_BY_KEY }, { "profile", NULL, COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "class", NULL, COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },          { "engine", "engine", COL_TEXT, NULL, COL_MEDIUM, COLUMN_BY_KEY },
    { "model", "model", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },      { "preset", NULL, COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "type", "type", COL_TEXT, NULL, COL_MEDIUM, COLUMN_BY_KEY },        { "n_devices", "devices", COL_INT, NULL, COL_MINOR, COLUMN_BY_KEY },
    { "phase", "of", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },         { "unit", "unit", COL_TEXT, NULL, COL_MEDIUM, COLUMN_BY_KEY },
    { "measured", "measured", COL_FLOAT, NULL, COL_KEY, COLUMN_BY_KEY }, { "predicted", "predicted", COL_FLOAT, NULL, COL_KEY, COLUMN_BY_KEY },
    { "lo", NULL, COL_FLOAT, NULL, COL_DATA, COLUMN_BY_KEY },            { "hi", NULL, COL_FLOAT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "error", "error", COL_FRACTION, NULL, COL_KEY, COLUMN_BY_KEY },  { "reason", "what is known against it", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
};

static const char *what_of(const struct measurement *m)
{
    if (m->metric == METRIC_TTFT || m->metric == METRIC_TPOT)
        return measure_metric_name(m->metric);
    return *m->op ? m->op : measure_phase_name(m->phase);
}

static json_t *row_json(const struct scored *s, const struct score_reasons *why)
{
    char reason[1024], note[sizeof s->p->note + sizeof s->p->machine->note + 2];
    const struct measurement *m = s->p->m;
    snprintf(note, sizeof note, "%s%s%s", s->p->note, s->p->note[0] && s->p->machine->note[0] ? "; " : "", s->p->machine->note);
    return json_pack("{s:o,s:I,s:o,s:s,s:o,s:s,s:o,s:s,s:s,s:i,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "id", json_text(m->id), "line",
                     (json_int_t)m->line, "hardware", json_text(m->hardware), "profile", s->p->machine->profile, "class",
                     json_text(s->p->machine->class_name), "engine", s->p->stack->id, "model", json_text(m->model), "preset",
                     s->p->preset, "type", s->p->type, "n_devices", m->n_devices, "phase", what_of(m), "unit",
                     m->metric == METRIC_TOK_S ? "tok/s" : "s", "measured", json_num(m->value), "predicted",
                     json_num(s->predicted), "lo", json_num(s->lo), "hi", json_num(s->hi), "error", json_num(s->error), "note",
                     json_text(note), "reason", json_text(score_reason(why, s, reason, sizeof reason)));
}

static int by_error(const void *a, const void *b)
{
    const struct scored *x = *(const struct scored *const *)a, *y = *(const struct scored *const *)b;
    const double d = fabs(y->error) - fabs(x->error);
    return d != 0 ? (d > 0) - (d < 0) : (x > y) - (x < y);
}

/* NULL: out of memory. */
static json_t *worst_json(const struct scored *rows, size_t n, int64_t n_worst, const struct score_reasons *why)
{
    const struct scored **order = malloc((n + 1) * sizeof *order);
    json_t *a = order ? json_array() : NULL;
    size_t k = 0;
    int rc = 0;
    for (size_t i = 0; a && i < n; i++)
        if (!rows[i].anchor)
            order[k++] = &rows[i];
    if (a)
        qsort(order, k, sizeof *order, by_error);
    for (size_t i = 0; a && i < k && (int64_t)i < n_worst && rc == 0; i++)
        rc = json_array_append_new(a, row_json(order[i], why));
    free(order);
    if (rc == 0)
        return a;
    json_decref(a);
    return NULL;
}

/* ---- the document ----------------------------------------------------------------------------------------- */

static json_t *meta_json(const struct score_cli *o, const struct measurements *l, const struct scored *rows, json_t *groups)
{
    json_int_t unpriced = 0, anchors = 0;
    for (size_t i = 0; i < l->n; i++) {
        anchors += rows[i].anchor;
        unpriced += !rows[i].anchor && !rows[i].priced;
    }
    return json_pack("{s:o,s:s,s:s,s:o,s:i,s:I,s:I,s:I,s:O}", "file", json_text(o->file), "kind", measure_file_name(l->file),
                     "time_model", o->score.model->name, "leave_out",
                     o->score.leave ? json_string(leave_out_name(o->score.leave)) : json_null(), "anchor_rows", o->score.n_anchor,
                     "n_rows", (json_int_t)l->n - anchors, "n_unpriced", unpriced, "n_anchor", anchors, "groups", groups);
}

/* Groups, and for people the rows furthest off beneath them. */
static int print(const struct score_cli *o, const struct measurements *l, const struct scored *rows, const struct score_groups *g,
                 struct error *err)
{
    const bool people = o->format == REPORT_TABLE || o->format == REPORT_MD;
    struct score_reasons *why = score_reasons_new(rows, l->n, err);
    if (!why)
        return -1;
    json_t *groups = groups_json(g, !people || o->n_by > 0), *worst = worst_json(rows, l->n, o->n_worst, why);
    json_t *meta = groups && worst ? meta_json(o, l, rows, groups) : NULL;
    int rc = meta ? 0 : error_oom(err, 1 << 20, "a score");
    const struct table score = { "roofcast.score", 1, meta, worst, row_columns, ARRAY_LEN(row_columns), NULL, NULL };
    const struct table figures = { "roofcast.score.groups", 1, NULL, groups, group_columns, ARRAY_LEN(group_columns), NULL, NULL };
    if (rc == 0 && o->format == REPORT_JSON)
        rc = report_write(NULL, o->format, &score, err);
    else if (rc == 0)
        rc = report_write(NULL, o->format, &figures, err);
    if (rc == 0 && people && json_array_size(worst) > 0) {
        printf("\n");
        rc = report_write(NULL, o->format, &score, err);
    }
    score_reasons_free(why);
    json_decref(meta);
    json_decref(worst);
    json_decref(groups);
    return rc;
}

/* ---- the command ------------------------------------------------------------------------------------------- */

static void free_rows(struct priced *rows, size_t n)
{
    for (size_t i = 0; rows && i < n; i++)
        priced_free(&rows[i]);
    free(rows);
}

/* Rows of l with their work. NULL with *err. */
static struct priced *price_all(const struct measurements *l, struct pricer *p, struct error *err)
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

/* A file of thousands says enough of machines, and takes its time without. */
enum { ROWS_BESIDE = 1000 };

/* The rates beside the constants, where there are any: what they say of others than the group that is left out. (67) */
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
    *rows = price_all(l, p, err);
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
    struct priced *rows = NULL, *beside = NULL;
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
    if (rc == 0 && !(rows = price_all(&l, p, err)))
        rc = -1;
    if (rc == 0 && o->score.leave != LEAVE_NOTHING && l.n > 0 && l.n < ROWS_BESIDE && l.row[0].kind == MEASURE_RATE)
        rc = load_shipped(&shipped, &beside, p, err);
    with.score.beside = beside;
    with.score.n_beside = shipped.n;
    if (rc == 0)
        rc = o->features ? features_save(rows, l.n, o->features, err) : score(&with, &l, rows, err);
    free_rows(beside, shipped.n);
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
        "Compare predictions with what was measured: rows, rows without a price, bias, mean, median and 90th percentile of the "
        "error, how often the measurement lies in the 90 % interval, and the rows furthest off. FILE is a CSV of rates "
        "(throughput.csv), of op times (gpu_ops.csv), of engines' kernels (gpu_kernels), of all-reduces or of serving latencies, the output of llama-bench (-o "
        "json, jsonl, csv, md, sql), of llama-batched-bench, of vLLM's and SGLang's benchmarks, of AIPerf, of guidellm, or of `roofcast bench "
        "--save`.\v"
        "The kind of file is told by its columns or fields; doc/formats.md has them. A malformed file is refused by line and "
        "column. A row without a price counts as an error of 100 %; what is missing to price it is its reason. Models without a "
        "preset are priced from params_b, weight_gib and quant (A3B in a name: 3e9 active parameters), with an interval for what is guessed; not where its family has dense models and mixtures. "
        "-o json has all groups of up to three keys: source, class, hardware, engine, phase, op, kind, metric, clean; --by any others.\n\n"
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
        return error_set(err, ERROR_USAGE, "no FILE of measurements");
    if (cli_keep_arguments(argc, argv, "--features", o.features, err) != 0)
        return -1;
    return run(&o, err);
}
