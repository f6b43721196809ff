/* roofcast report: another engine's results under a machine's roofs. */
#include "cli/measured.h"
#include "cli/report_step.h"
#include "report/measured.h"
#include <string.h>

enum { OPT_CHART = 700, OPT_HARDWARE, OPT_STEP, OPT_STACK };

static const struct argp_option option_table[] = {
    { "hw", MEASURED_HW, "NAME", 0, "the machine: a profile's name or file, `this`, or a name in --hardware", 0 },
    { "hardware", OPT_HARDWARE, "FILE", 0, "bandwidth and peaks of machines without a profile, with the columns of hardware.csv", 0 },
    MEASURED_OPTIONS,
    { "chart", OPT_CHART, "BASE", 0, "draw the roofline: BASE.svg, BASE.png, BASE.gp and their data", 0 },
    { "step", OPT_STEP, "MODEL,...", 0, "without FILE: a page that steps through one request for these models on the machines of --hw; -o FILE.html", 0 },
    { "stack", OPT_STACK, "NAME", 0, "software of --step (`roofcast list stacks`; default: by class of machine)", 0 },
    { NULL, 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md", 0 },
    { 0 },
};

struct report_cli {
    const char *file, *chart, *hardware, *step, *stack;
    const char *page; /* -o FILE.html */
    unsigned formats; /* of the chart */
    bool chart_only;
    struct measured_options measured;
    enum report_format format;
};

static bool is_page(const char *name)
{
    const size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".html") == 0;
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct report_cli *o = options;
    switch (key) {
    case ARGP_KEY_ARG:
        return cli_text_once(&o->file, arg, "file", err);
    case OPT_HARDWARE:
        return cli_text(&o->hardware, arg);
    case OPT_CHART:
        return cli_text(&o->chart, arg);
    case OPT_STEP:
        return cli_text(&o->step, arg);
    case OPT_STACK:
        return cli_text(&o->stack, arg);
    case 'o':
        if (is_page(arg))
            return cli_text(&o->page, arg);
        return report_format_find(arg, &o->format, err);
    default:
        return measured_parse(key, arg, &o->measured, err);
    }
}

static int run(const struct report_cli *o, struct error *err)
{
    struct measured m;
    int rc = measured_open(&m, o->file, o->hardware, &o->measured, err);
    if (rc == 0 && o->chart)
        rc = measured_check_machine(m.rows, m.l.n, o->file, err);
    if (rc == 0 && !o->chart_only)
        rc = measured_print(m.rows, m.l.n, o->file, o->format, err);
    if (rc == 0 && o->chart)
        rc = measured_draw(m.rows, m.l.n, o->chart, o->formats, err);
    measured_close(&m);
    return rc;
}

static int run_step(const struct report_cli *o, struct error *err)
{
    if (o->file || o->chart)
        return error_set(err, ERROR_USAGE, "--step takes no %s", o->file ? "FILE" : "--chart");
    if (!o->page)
        return error_set(err, ERROR_USAGE, "--step needs -o FILE.html");
    return report_step_write(&(struct report_step){ o->step, o->measured.hw, o->measured.type, o->stack }, o->page, err);
}

int report_chart(const char *file, const char *hw, const char *base, unsigned formats, struct error *err)
{
    const struct report_cli o = { .file = file, .chart = base, .formats = formats, .chart_only = true, .measured.hw = hw };
    return run(&o, err);
}

int cmd_report(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Print bandwidth, FLOP/s, MBU, MFU and bound of another engine's results, and draw them under the roofline. FILE is the output "
        "of llama-bench (-o json, jsonl, csv, md, sql) or any other file that `roofcast score` reads.\v"
        "Bytes are the weights and KV cache that a pass reads, FLOP those of its ops (doc/methods.md); times are the "
        "file's. A server's inter-token latency is taken as one step of the running sequences, its time to first token as one "
        "prompt. Roofs are datasheet values, on CPUs measured ones.\n\n"
        "  llama-bench -m llama-3-8b-q4_k_m.gguf -o json > b.json\n"
        "  roofcast report b.json --hw rtx-4090\n"
        "  roofcast report b.json --hw rtx-4090 --chart roofline\n"
        "  roofcast report vllm-serve.json --hw h100-sxm\n"
        "  roofcast report vllm-latency.json --hw h100-sxm --model llama-3.1-8b --input-len 1024 --output-len 256 --batch-size 8\n";
    static const struct cli_syntax syntax = { option_table, parse, "FILE", doc, NULL };
    struct report_cli o = { .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (o.step)
        return run_step(&o, err);
    if (o.page || o.stack)
        return error_set(err, ERROR_USAGE, "%s needs --step", o.stack ? "--stack" : "-o FILE.html");
    if (!o.file)
        return error_set(err, ERROR_USAGE, "expected a FILE of results");
    if (cli_keep_chart(argc, argv, "--chart", o.chart, err) != 0)
        return -1;
    return run(&o, err);
}
