/* roofcast score: predictions compared with measurements. */
#include "base/notify.h"
#include "cli/measured.h"
#include "learn/ahead.h"
#include "learn/fitted.h"
#include "report/score.h"
#include <stdlib.h>
#include <string.h>

enum { OPT_HARDWARE = 700, OPT_FEATURES, OPT_LEAVE_OUT, OPT_ANCHOR, OPT_WORST, OPT_BY, OPT_CLOSED_FORM };
enum { MAX_BY = 16 };

static const struct argp_option option_table[] = {
    { "hardware", OPT_HARDWARE, "FILE", 0,
      "bandwidth and peaks of machines, with the columns of hardware.csv: for machines without a profile, and instead "
      "of a profile's value if they differ by more than 5 %", 0 },
    { "leave-out", OPT_LEAVE_OUT, "KEY", 0,
      "cross-validation: predict each group with a fit that excludes it: hardware, model, engine, topology, source, generation, class, or date (half "
      "a year, by what was measured before it); rows that state no value of it are not scored; files with fewer than 1000 rates are complemented by "
      "those of hwprofiles/stacks", 0 },
    { "anchor-rows", OPT_ANCHOR, "N", 0,
      "calibrate with the first N rows by id of each device and phase (of ops: the N mlp_up_proj rows with the largest m) and exclude "
      "them from the score; rows above the machine's roofs are excluded only", 0 },
    { "by", OPT_BY, "KEYS", CLI_AGAIN,
      "group by these keys only, joined by commas: source, class, hardware, engine, phase, op, kind, metric, "
      "clean (repeatable)", 0 },
    { "closed-form", OPT_CLOSED_FORM, NULL, 0, "predict latencies of servers by a closed form, not by simulating their users", 0 },
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
    case OPT_CLOSED_FORM:
        o->score.model = &time_model_fitted;
        return 0;
    case OPT_WORST:
        return parse_int(arg, 0, 1 << 30, "--worst", &o->n_worst, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    default:
        return measured_parse(key, arg, &o->measured, err);
    }
}

/* Smaller files of rates are complemented by measured.csv in cross-validation. */
enum { ROWS_BESIDE = 1000 };

/* The measured rates of hwprofiles/stacks, if any, as reference rows. (67) */
static int load_shipped(struct measurements *l, struct workload **rows, struct workload_builder *p, struct error *err)
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
    *rows = workload_rows(l, p, err);
    return *rows ? 0 : -1;
}

/* Rows without a value of the key left out are not scored: a note, or an error where no others are left. */
static int say_unstated(const struct score_cli *o, const struct scored *s, size_t n, struct error *err)
{
    static const char *const columns[] = { [LEAVE_HARDWARE] = "hardware", [LEAVE_MODEL] = "model",   [LEAVE_ENGINE] = "engine",
                                           [LEAVE_TOPOLOGY] = "topology", [LEAVE_SOURCE] = "source", [LEAVE_GENERATION] = "hardware",
                                           [LEAVE_CLASS] = "class",       [LEAVE_DATE] = "date" };
    const char *const key = leave_out_name(o->score.leave);
    size_t out = 0, left = 0;
    for (size_t i = 0; i < n; i++) {
        out += s[i].unstated && !s[i].anchor;
        left += is_scored_row(&s[i]) && s[i].priced;
    }
    if (out > 0 && left == 0)
        return error_set(err, ERROR_INPUT, "%s: column \"%s\": expected a value in at least one row that has an estimate (--leave-out %s), found none in %zu rows",
                         o->file, columns[o->score.leave], key, out);
    if (out > 0)
        notify_note("%s: %zu of %zu rows have no value in column \"%s\" and are not scored (--leave-out %s)", o->file, out, n, columns[o->score.leave], key);
    return 0;
}

static int score(const struct score_cli *o, const struct measurements *l, const struct workload *rows, struct error *err)
{
    struct score_groups g = { 0 };
    struct scored *s = malloc((l->n + 1) * sizeof *s);
    int rc = s ? score_rows(s, rows, l->n, &o->score, err) : error_oom(err, l->n * sizeof *s, "scores");
    rc = rc ? rc : say_unstated(o, s, l->n, err);
    if (rc == 0)
        rc = score_groups_init(&g, s, l->n, o->by, o->n_by, err);
    if (rc == 0)
        rc = score_print(s, l, &g, &(struct score_print){ o->file, &o->score, o->n_worst, o->n_by > 0, o->format }, err);
    score_groups_free(&g);
    free(s);
    return rc;
}

static int run(const struct score_cli *o, struct error *err)
{
    struct measured m;
    struct measurements shipped = { 0 };
    struct workload *shipped_rows = NULL;
    struct score_cli with = *o;
    int rc = measured_open(&m, o->file, o->hardware, &o->measured, err);
    if (rc == 0 && o->score.leave != LEAVE_NOTHING && o->score.leave != LEAVE_TOPOLOGY && m.l.n > 0 && m.l.n < ROWS_BESIDE && m.l.row[0].kind == MEASURE_RATE)
        rc = load_shipped(&shipped, &shipped_rows, m.p, err);
    with.score.reference_rows = shipped_rows;
    with.score.n_reference_rows = shipped.n;
    if (rc == 0 && !o->features && o->score.model == &time_model_simulated)
        rc = ahead_set_rows(m.rows, m.l.n, err);
    if (rc == 0)
        rc = o->features ? features_save(m.rows, m.l.n, o->features, err) : score(&with, &m.l, m.rows, err);
    workload_rows_free(shipped_rows, shipped.n);
    measure_free(&shipped);
    measured_close(&m);
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
    struct score_cli o = { .n_worst = 10, .score = { .model = &time_model_simulated }, .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.file)
        return error_set(err, ERROR_USAGE, "expected a FILE of measurements");
    if (cli_keep_arguments(argc, argv, "--features", o.features, err) != 0)
        return -1;
    return run(&o, err);
}
