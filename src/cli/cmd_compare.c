/* roofcast compare: two saved runs of a server side by side: measured and simulated, or any two of the same requests. */
#include "cli/cli.h"
#include "report/serving_compare.h"
#include <stdlib.h>
#include <string.h>

enum { OPT_STEPS = 256, OPT_SAVE, OPT_CHART };

static const struct argp_option option_table[] = {
    { "steps", OPT_STEPS, NULL, 0, "csv, jsonl and sql: a row a kind of steps, not a figure", 0 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 },
    { "chart", OPT_CHART, "BASE", 0, "draw BASE-latency and BASE-steps of both (SVG, PNG)", 0 },
    { 0 },
};

struct options {
    const char *file[2], *save, *chart;
    enum report_format format;
    bool steps;
};

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

static int compare(const struct options *o, const struct serving_saved *a, const struct serving_saved *b, struct error *err)
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
    serving_comparison_free(&c);
    return rc;
}

static int run(const struct options *o, struct error *err)
{
    struct serving_saved *s = calloc(2, sizeof *s);
    if (!s)
        return error_oom(err, 2 * sizeof *s, "two runs");
    int rc = serving_saved_load(&s[0], o->file[0], err);
    if (rc == 0) {
        rc = serving_saved_load(&s[1], o->file[1], err);
        if (rc == 0) {
            rc = compare(o, &s[0], &s[1], err);
            serving_saved_free(&s[1]);
        }
        serving_saved_free(&s[0]);
    }
    free(s);
    return rc;
}

int cmd_compare(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Compare two runs of a server that `roofcast serve --save` or `roofcast simulate --save` wrote: RUN is what SIM is held against, in most cases a "
        "measured run and its simulation. The runs are of the same requests at the same rate; other settings that differ are named in a warning.\v"
        "Errors are SIM / RUN - 1. Distances of distributions: Kolmogorov-Smirnov, the largest difference of the shares within a time; Wasserstein, the mean "
        "difference of the times at equal shares. Steps are compared by kind, decode tokens by prompt tokens: `by price` is what the price of a step makes the "
        "simulation longer at RUN's number of steps, `by number` what another number of steps does.\n\n"
        "  roofcast serve -m model.gguf --rate 2 --save run.json\n"
        "  roofcast simulate model.gguf --rate 2 --requests 100 --save sim.json\n"
        "  roofcast compare run.json sim.json\n"
        "  roofcast compare run.json sim.json --steps -o csv\n";
    static const struct cli_syntax syntax = { option_table, parse, "RUN SIM", doc, NULL };
    struct options o = { .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.file[1])
        return error_set(err, ERROR_USAGE, "expected two files of `roofcast serve --save` or `roofcast simulate --save`; found %s", o.file[0] ? "one" : "none");
    if (o.steps && (o.format == REPORT_TABLE || o.format == REPORT_MD || o.format == REPORT_JSON))
        return error_set(err, ERROR_USAGE, "--steps: expected -o csv, jsonl or sql; the other formats have the steps anyway");
    if (cli_keep_arguments(argc, argv, "--save", o.save, err) != 0 || (o.save && outfile_check(o.save, err) != 0) ||
        cli_keep_chart(argc, argv, "--chart", o.chart, err) != 0 || (o.chart && outfile_check(o.chart, err) != 0))
        return -1;
    return run(&o, err);
}
