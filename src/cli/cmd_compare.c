/* roofcast compare: two measurements side by side: runs, profiles, predictions, results of llama-bench test by test; runs of a server by their figures. */
#include "cli/compare.h"
#include "report/serving_compare.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_STEPS = 256, OPT_SAVE, OPT_CHART, OPT_OPS, OPT_FAIL_OVER };

static const struct argp_option option_table[] = {
    { "fail-over", OPT_FAIL_OVER, "N%", 0, "exit with status 4 if B is slower than A by more than N % in some test, and told from equal", 0 },
    { "ops", OPT_OPS, NULL, 0, "csv, jsonl and sql: a row a role of the tests that both have ops of, not a test", 0 },
    { "steps", OPT_STEPS, NULL, 0, "runs of a server; csv, jsonl and sql: a row a kind of steps, not a figure", 0 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 },
    { "chart", OPT_CHART, "BASE", 0, "runs of a server: draw BASE-latency and BASE-steps of both (SVG, PNG)", 0 },
    { 0 },
};

struct options {
    const char *file[2], *save, *chart;
    enum report_format format;
    bool steps, ops;
    double fail_over; /* NaN: not given */
};

int compare_parse_percent(const char *arg, double *fraction, struct error *err)
{
    char *end;
    const double v = strtod(arg, &end);
    end += *end == ' ';
    if (end == arg || strcmp(end, "%") != 0 || !(v >= 0 && v < 100))
        return error_set(err, ERROR_USAGE, "--fail-over: expected a percentage from 0%% to below 100%%, such as 5%%, found \"%.64s\"", arg);
    *fraction = v / 100;
    return 0;
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case ARGP_KEY_ARG:
        return cli_text_once(o->file[0] ? &o->file[1] : &o->file[0], arg, "pair of files", err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_STEPS:
        return cli_flag(&o->steps);
    case OPT_OPS:
        return cli_flag(&o->ops);
    case OPT_FAIL_OVER:
        return compare_parse_percent(arg, &o->fail_over, err);
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    case OPT_CHART:
        return cli_text(&o->chart, arg);
    default:
        return CLI_UNKNOWN;
    }
}

static int draw(const struct options *o, const struct serving_comparison *x, struct error *err)
{
    char style[CLI_PATH], base[CLI_PATH];
    struct strbuf notes = { 0 };
    struct serving_chart c = { .style = style, .out_base = base };
    if (cli_chart_files(style, base, o->chart, "latencies", "-latency", err) != 0)
        return -1;
    snprintf(c.title, sizeof c.title, "%.60s: %s and %s", x->a->model ? x->a->model : "A model", x->name_a, x->name_b);
    snprintf(c.subtitle, sizeof c.subtitle, "%.120s, %.60s", x->a->workload, x->a->policy);
    int rc = serving_chart_compare(&c, x, &notes, err);
    const struct serving_steps steps[] = { { x->name_a, &x->a->steps, x->a->memory_bytes_s, x->a->flop_s },
                                           { x->name_b, &x->b->steps, x->b->memory_bytes_s, x->b->flop_s } };
    rc = rc ? rc : cli_chart_files(style, base, o->chart, "steps", "-steps", err);
    if (rc == 0)
        rc = serving_chart_steps(&c, steps, 2, &notes, err);
    if (rc == 0 && notes.len > 0)
        notify_note("%s", notes.s);
    strbuf_free(&notes);
    return rc;
}

/* ---- runs of a server --------------------------------------------------------------------------------------------- */

static int serving_verdict(const struct serving_comparison *c, double fail_over, struct error *err)
{
    const struct compare_row *worst = NULL;
    const size_t n = isnan(fail_over) ? 0 : serving_compare_worse(c, fail_over, &worst);
    if (n == 0)
        return 0;
    return error_set(err, ERROR_REGRESSION, "%zu figure%s worse by more than %.3g %%: %s by %+.1f %% most", n, n == 1 ? " is" : "s are", 100 * fail_over, worst->name,
                     100 * worst->error);
}

static int compare_serving(const struct options *o, const struct serving_saved *a, const struct serving_saved *b, struct error *err)
{
    struct serving_comparison c;
    if (serving_compare(&c, a, b, err) != 0)
        return -1;
    const char *differences = strbuf_text(&c.differences, "the settings", err);
    if (differences && *differences)
        notify_warn("the runs differ in %s", differences);
    int rc = differences ? serving_compare_print(NULL, o->format, &c, o->steps, err) : -1;
    if (rc == 0 && o->save)
        rc = serving_compare_print(o->save, REPORT_JSON, &c, false, err);
    if (rc == 0 && o->chart)
        rc = draw(o, &c, err);
    if (rc == 0)
        rc = serving_verdict(&c, o->fail_over, err);
    serving_comparison_free(&c);
    return rc;
}

static int run_serving(const struct options *o, struct error *err)
{
    struct serving_saved *s = calloc(2, sizeof *s);
    if (!s)
        return error_oom(err, 2 * sizeof *s, "two runs");
    int rc = serving_saved_load(&s[0], o->file[0], err);
    if (rc == 0) {
        rc = serving_saved_load(&s[1], o->file[1], err);
        if (rc == 0) {
            rc = compare_serving(o, &s[0], &s[1], err);
            serving_saved_free(&s[1]);
        }
        serving_saved_free(&s[0]);
    }
    free(s);
    return rc;
}

/* ---- everything else, test by test -------------------------------------------------------------------------------- */

int compare_report(const struct comparison *c, enum report_format format, bool ops, const char *save, struct error *err)
{
    if (c->differences.len > 0)
        notify_warn("A and B differ in %s", c->differences.s);
    if (comparison_print(NULL, format, c, ops, err) != 0 || (save && comparison_print(save, REPORT_JSON, c, false, err) != 0))
        return -1;
    if (c->n_regressed == 0)
        return 0;
    struct strbuf b = { 0 };
    for (size_t i = 0; i < c->row.n; i++) {
        const struct comparison_row *const r = table_row(&c->row, i);
        if (r->regressed == 1)
            strbuf_addf(&b, "%s%s%s%s %.3f", b.len ? ", " : "", r->test, r->settings ? ", " : "", r->settings ? r->settings : "", r->ratio);
    }
    const char *const tests = strbuf_text(&b, "the tests", err);
    const int rc = !tests ? -1 : error_set(err, ERROR_REGRESSION, "B is slower by more than %.3g %% in %zu test%s: %.700s", 100 * c->fail_over, c->n_regressed,
                                          c->n_regressed == 1 ? "" : "s", tests);
    strbuf_free(&b);
    return rc;
}

/* A side: a file or the name of a profile, or several executions in order, with commas between. */
static int add_side(struct compare_side *s, const char *arg, struct error *err)
{
    struct str_list l;
    if (!strchr(arg, ',') || file_exists(arg))
        return compare_side_add(s, arg, err);
    if (str_list_parse(&l, arg, "A, B", err) != 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < l.n && rc == 0; i++)
        rc = compare_side_add(s, l.v[i], err);
    str_list_free(&l);
    return rc;
}

static int run_tests(const struct options *o, struct error *err)
{
    struct compare_side side[2] = { { .file = NULL }, { .file = NULL } };
    struct comparison c;
    int rc = add_side(&side[0], o->file[0], err);
    rc = rc == 0 ? add_side(&side[1], o->file[1], err) : rc;
    if (rc == 0 && comparison_make(&c, &side[0], &side[1], o->fail_over, err) == 0) {
        rc = compare_report(&c, o->format, o->ops, o->save, err);
        comparison_free(&c);
    } else {
        rc = -1;
    }
    compare_side_free(&side[0]);
    compare_side_free(&side[1]);
    return rc;
}

/* A file of `simulate --save` or `serve --save`. */
static bool is_serving(const char *file)
{
    struct error ignored = { 0 };
    struct filemap f;
    char begin = 0;
    if (filemap_open(&f, file, &ignored) != 0)
        return false;
    for (size_t i = 0; i < f.size && !begin; i++)
        begin = strchr(" \t\r\n\xef\xbb\xbf", f.data[i]) ? 0 : (char)f.data[i];
    json_t *const doc = begin == '{' ? json_load_mem(file, f.data, f.size, &ignored) : NULL;
    const char *const schema = json_string_value(json_object_get(doc, "schema"));
    const bool is = schema && strcmp(schema, "roofcast.simulate") == 0;
    json_decref(doc);
    filemap_close(&f);
    return is;
}

static int run(const struct options *o, struct error *err)
{
    const bool serving = is_serving(o->file[0]) || is_serving(o->file[1]);
    if (serving && o->ops)
        return error_set(err, ERROR_USAGE, "--ops: runs of a server have no ops; --steps has their steps");
    if (!serving && (o->steps || o->chart))
        return error_set(err, ERROR_USAGE, "%s: expected two files of `roofcast serve --save` or `roofcast simulate --save`", o->steps ? "--steps" : "--chart");
    return serving ? run_serving(o, err) : run_tests(o, err);
}

int cmd_compare(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Compare B with A, test by test: runs of `roofcast bench --save`, outputs of llama-bench and of servers' benchmarks, predictions "
        "(`predict -o json`), profiles. A row a test: the speed of B over that of A, its interval, and faster, slower or cannot tell. Two runs of a "
        "server (`serve --save`, `simulate --save`) of the same requests are compared by their figures.\v"
        "Repetitions are compared over the adjacent probes where both sides have them; several executions a side (A1,A2,... B1,B2,..., or a test several "
        "times in a file) in pairs, in their order. Verdicts are corrected for the number of rows (Holm). `roofcast bench --against` measures both in turn.\n\n"
        "Exit status: 0; with --fail-over 4 if a test regressed (of two runs of a server: a time that is longer, a rate that is lower, by more than N %); 1 for a "
        "file that cannot be compared, 2 for a wrong command line, 130 after an interrupt.\n\n"
        "Of two runs of a server errors are B / A - 1. Distances of distributions: Kolmogorov-Smirnov, the largest difference of the shares within a time; "
        "Wasserstein, the mean difference of the times at equal shares. Steps are compared by kind, decode tokens by prompt tokens: `by step time` is what the time "
        "of a step makes B longer at A's number of steps, `by number` what another number of steps does.\n\n"
        "  roofcast bench -m model.gguf --save before.json\n"
        "  roofcast bench -m model.gguf --save after.json\n"
        "  roofcast compare before.json after.json --fail-over 5%\n"
        "  roofcast compare llama-b5000.json llama-b6000.json\n"
        "  roofcast compare run.json predicted.json\n"
        "  roofcast simulate model.gguf --rate 2 --requests 100 --save sim.json\n"
        "  roofcast compare served.json sim.json --steps -o csv\n";
    static const struct cli_syntax syntax = { option_table, parse, "A B", doc, NULL };
    struct options o = { .format = REPORT_TABLE, .fail_over = NAN };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.file[1])
        return error_set(err, ERROR_USAGE, "expected two files: of `roofcast bench --save`, `roofcast predict -o json`, llama-bench, profiles, or of two runs of a server; found %s",
                         o.file[0] ? "one" : "none");
    if ((o.steps || o.ops) && (o.format == REPORT_TABLE || o.format == REPORT_MD || o.format == REPORT_JSON))
        return error_set(err, ERROR_USAGE, "%s: expected -o csv, jsonl or sql; the other formats have the %s anyway", o.steps ? "--steps" : "--ops", o.steps ? "steps" : "ops");
    if (cli_keep_arguments(argc, argv, "--save", o.save, err) != 0 || (o.save && outfile_check(o.save, err) != 0) ||
        cli_keep_chart(argc, argv, "--chart", o.chart, err) != 0 || (o.chart && outfile_check(o.chart, err) != 0))
        return -1;
    return run(&o, err);
}
