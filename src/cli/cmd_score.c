/* roofcast score: predictions compared with measurements of others. */
#include "cli/measured.h"
#include "learn/fitted.h"
#include "report/score.h"
#include <stdlib.h>
#include <string.h>

enum { OPT_HARDWARE = 700, OPT_FEATURES, OPT_LEAVE_OUT, OPT_ANCHOR, OPT_WORST, OPT_BY };
enum { MAX_BY = 16 };

static const struct argp_option option_table[] = {
    { "hardware", OPT_HARDWARE, "FILE", 0,
      "bandwidth and peaks of the file's machines, with the columns of hardware.csv: for those without a profile, and in place "
      "of a profile's figure where they differ by more than 5 %", 0 },
    { "leave-out", OPT_LEAVE_OUT, "hardware|model|engine|topology", 0,
      "hardware, model, engine or topology: each group is predicted by a fit that has not seen it; fewer than 1000 rates have those of "
      "others from hwprofiles/stacks in addition", 0 },
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

/* A file of thousands says enough of machines, and takes its time without. */
enum { ROWS_BESIDE = 1000 };

/* The measured rates of hwprofiles/stacks, if any: rows of groups that are not left out. (67) */
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

static int score(const struct score_cli *o, const struct measurements *l, const struct workload *rows, struct error *err)
{
    struct score_groups g = { 0 };
    struct scored *s = malloc((l->n + 1) * sizeof *s);
    int rc = s ? score_rows(s, rows, l->n, &o->score, err) : error_oom(err, l->n * sizeof *s, "scores");
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
    struct workload *beside = NULL;
    struct score_cli with = *o;
    int rc = measured_open(&m, o->file, o->hardware, &o->measured, err);
    if (rc == 0 && o->score.leave != LEAVE_NOTHING && m.l.n > 0 && m.l.n < ROWS_BESIDE && m.l.row[0].kind == MEASURE_RATE)
        rc = load_shipped(&shipped, &beside, m.p, err);
    with.score.reference_rows = beside;
    with.score.n_reference_rows = shipped.n;
    if (rc == 0)
        rc = o->features ? features_save(m.rows, m.l.n, o->features, err) : score(&with, &m.l, m.rows, err);
    workload_rows_free(beside, shipped.n);
    measure_free(&shipped);
    measured_close(&m);
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
