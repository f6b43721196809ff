/* roofcast report: another engine's results under a machine's roofs; any results as one page. */
#include "cli/browser.h"
#include "cli/measured.h"
#include "cli/report_step.h"
#include "report/html.h"
#include "report/measured.h"
#include "report/plot.h"
#include <stdlib.h>
#include <string.h>

enum { OPT_CHART = 700, OPT_HARDWARE, OPT_OPEN, OPT_STEP, OPT_STACK, MOST_FILES = 16 };

static const struct argp_option option_table[] = {
    { "hw", MEASURED_HW, "NAME", 0, "the machine: a profile's name or file, `this`, or a name in --hardware", 0 },
    { "hardware", OPT_HARDWARE, "FILE", 0, "bandwidth and peaks of machines without a profile, with the columns of hardware.csv", 0 },
    MEASURED_OPTIONS,
    { "chart", OPT_CHART, "BASE", 0, "draw the roofline: BASE.svg, BASE.png, BASE.gp and their data", 0 },
    { NULL, 'o', "FORMAT|PAGE", 0, "table (default), csv, json, jsonl, md; or a file: NAME.html, one page with charts and tables, NAME.md with its charts in files of their own", 0 },
    { "step", OPT_STEP, "MODEL,...", 0, "without FILE: a page that steps through one request for these models on the machines of --hw; -o FILE.html", 0 },
    { "stack", OPT_STACK, "NAME", 0, "software of --step (`roofcast list stacks`; default: by class of machine)", 0 },
    { "open", OPT_OPEN, NULL, 0, "open the page in a browser (default page: report.html)", 0 },
    { 0 },
};

struct report_cli {
    const char *file[MOST_FILES], *chart, *hardware, *page, *step, *stack;
    size_t n;
    unsigned formats; /* of the chart */
    bool chart_only, open;
    struct measured_options measured;
    enum report_format format;
};

static int add_file(struct report_cli *o, const char *path, struct error *err)
{
    if (o->n == MOST_FILES)
        return error_set(err, ERROR_USAGE, "at most %d files at a time; found \"%.200s\" too", MOST_FILES, path);
    o->file[o->n++] = path;
    return 0;
}

static int parse_output(struct report_cli *o, const char *arg, struct error *err)
{
    if (html_is_page(arg))
        return cli_text(&o->page, arg);
    if (report_format_find(arg, &o->format, err) == 0)
        return 0;
    return error_set(err, ERROR_USAGE, "-o: expected table, csv, json, jsonl, md or sql, or the name of a page that ends in .html or .md; found \"%.200s\"", arg);
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct report_cli *o = options;
    switch (key) {
    case ARGP_KEY_ARG:
        return add_file(o, arg, err);
    case OPT_HARDWARE:
        return cli_text(&o->hardware, arg);
    case OPT_CHART:
        return cli_text(&o->chart, arg);
    case OPT_OPEN:
        return cli_flag(&o->open);
    case OPT_STEP:
        return cli_text(&o->step, arg);
    case OPT_STACK:
        return cli_text(&o->stack, arg);
    case 'o':
        return parse_output(o, arg, err);
    default:
        return measured_parse(key, arg, &o->measured, err);
    }
}

static int run(const struct report_cli *o, struct error *err)
{
    struct measured m;
    int rc = measured_open(&m, o->file[0], o->hardware, &o->measured, err);
    if (rc == 0 && o->chart)
        rc = measured_check_machine(m.rows, m.l.n, o->file[0], err);
    if (rc == 0 && !o->chart_only)
        rc = measured_print(m.rows, m.l.n, o->file[0], o->format, err);
    if (rc == 0 && o->chart)
        rc = measured_draw(m.rows, m.l.n, o->chart, o->formats, err);
    measured_close(&m);
    return rc;
}

int report_chart(const char *file, const char *hw, const char *base, unsigned formats, struct error *err)
{
    const struct report_cli o = { .file = { file }, .n = 1, .chart = base, .formats = formats, .chart_only = true, .measured.hw = hw };
    return run(&o, err);
}

/* ---- a page ---------------------------------------------------------------------------------------------------- */

/* A file of the page: a document of roofcast, else another engine's results. */
struct source {
    json_t *doc;
    struct measured m;
    bool measured;
    char name[160];
};

/* The file's name without its folder; a second one of that name gets its number. */
static void name_source(struct source *s, const struct html_file *before, size_t i, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(s->name, sizeof s->name, "%.128s", slash && slash[1] ? slash + 1 : path);
    for (size_t k = 0; k < i; k++)
        if (strcmp(before[k].name, s->name) == 0) {
            const size_t n = strlen(s->name);
            snprintf(s->name + n, sizeof s->name - n, " (%zu)", i + 1);
            return;
        }
}

static int open_source(struct source *s, struct html_file *f, const struct report_cli *o, const char *path, struct error *err)
{
    struct error ignored;
    f->path = path;
    f->name = s->name;
    s->doc = json_load_path(path, &ignored);
    if (plot_is_document(s->doc)) {
        f->doc = s->doc;
        return html_kind_of(&f->kind, s->doc, path, err);
    }
    s->measured = true;
    if (measured_open(&s->m, path, o->hardware, &o->measured, err) != 0)
        return -1;
    f->kind = HTML_MEASURED;
    f->row = s->m.rows;
    f->n_row = s->m.l.n;
    return 0;
}

static int predict_lists(struct plot_prediction *out, const char *model, const char *hw, const char *type, const char *n_depth, const char *n_batch, struct error *err)
{
    return predict_for_plot(out, &(struct predict_request){ model, hw, type, "0", "128", n_depth, n_batch }, err);
}

/* As it was called, for the page's foot. */
static void join_command(struct strbuf *b, int argc, char **argv)
{
    strbuf_adds(b, "roofcast report");
    for (int i = 1; i < argc; i++)
        strbuf_addf(b, " %.200s", argv[i]);
}

static int write_page(const struct report_cli *o, int argc, char **argv, struct error *err)
{
    struct source *s = calloc(o->n, sizeof *s);
    struct html_file f[MOST_FILES] = { { .path = NULL } };
    struct strbuf command = { 0 };
    int rc = s ? 0 : error_oom(err, o->n * sizeof *s, "files");
    for (size_t i = 0; i < o->n && rc == 0; i++) {
        name_source(&s[i], f, i, o->file[i]);
        rc = open_source(&s[i], &f[i], o, o->file[i], err);
    }
    join_command(&command, argc, argv);
    const char *text = strbuf_text(&command, "a command", rc == 0 ? err : NULL);
    const struct html_report r = { .predict = predict_lists, .file = f, .n = o->n, .hw = o->measured.hw, .model = o->measured.model, .command = text };
    cli_set_quiet(true); /* a profile's notes, once a chart; what matters is in the page */
    rc = rc == 0 && text ? html_report_write(&r, o->page, err) : -1;
    cli_set_quiet(false);
    for (size_t i = 0; s && i < o->n; i++) {
        json_decref(s[i].doc);
        if (s[i].measured)
            measured_close(&s[i].m);
    }
    strbuf_free(&command);
    free(s);
    return rc;
}

static int write_step(const struct report_cli *o, struct error *err)
{
    return report_step_write(&(struct report_step){ o->step, o->measured.hw, o->measured.type, o->stack }, o->page, err);
}

static int check_options(struct report_cli *o, int argc, char **argv, struct error *err)
{
    if (o->open && !o->page)
        o->page = "report.html";
    if (o->step && (o->n > 0 || o->chart))
        return error_set(err, ERROR_USAGE, "--step takes no %s", o->n > 0 ? "FILE" : "--chart");
    if (o->step && (!o->page || !text_ends_with(o->page, ".html")))
        return error_set(err, ERROR_USAGE, "--step needs -o FILE.html");
    if (o->stack && !o->step)
        return error_set(err, ERROR_USAGE, "--stack needs --step");
    if (o->n == 0 && !o->step)
        return error_set(err, ERROR_USAGE, "expected a FILE of results");
    if (o->n > 1 && !o->page)
        return error_set(err, ERROR_USAGE, "several files, \"%.100s\" and \"%.100s\": expected -o NAME.html or -o NAME.md", o->file[0], o->file[1]);
    if (o->page && o->chart)
        return error_set(err, ERROR_USAGE, "--chart: the page %.200s has the charts", o->page);
    if (cli_keep_chart(argc, argv, "--chart", o->chart, err) != 0 || cli_keep_arguments(argc, argv, "-o", o->page, err) != 0)
        return -1;
    return o->page ? outfile_check(o->page, err) : 0;
}

int cmd_report(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Print bandwidth, FLOP/s, MBU, MFU and bound of another engine's results, and draw them under the roofline; or show any results as one page. FILE is the "
        "output of llama-bench (-o json, jsonl, csv, md, sql) or any other file that `roofcast score` reads; of a page also runs (bench --save), predictions "
        "(predict -o json), runs of a server (serve --save, simulate --save) and other tables of roofcast (-o json).\v"
        "Bytes are the weights and KV cache that a pass reads, FLOP those of its ops (doc/methods.md); times are the "
        "file's. A server's inter-token latency is taken as one step of the running sequences, its time to first token as one "
        "prompt. Roofs are datasheet values, on CPUs measured ones.\n\n"
        "A page has the verdict in words, the changes worth most as predicted for its model and machine, charts, tables to sort and filter, the machine, and what "
        "was not measured. NAME.html is one file that needs no network; NAME.md is for issues and pull requests.\n\n"
        "  llama-bench -m llama-3-8b-q4_k_m.gguf -o json > b.json\n"
        "  roofcast report b.json --hw rtx-4090\n"
        "  roofcast report b.json --hw rtx-4090 --chart roofline\n"
        "  roofcast report vllm-serve.json --hw h100-sxm\n"
        "  roofcast report vllm-latency.json --hw h100-sxm --model llama-3.1-8b --input-len 1024 --output-len 256 --batch-size 8\n"
        "  roofcast bench -m model.gguf --ops --save run.json; roofcast report run.json -o report.html --open\n"
        "  roofcast predict llama-3.1-8b -q Q4_K_M --hw rtx-4090 -o json > p.json; roofcast report p.json b.json -o both.html\n";
    static const struct cli_syntax syntax = { option_table, parse, "FILE...", doc, NULL };
    struct report_cli o = { .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0 || check_options(&o, argc, argv, err) != 0)
        return -1;
    if (!o.page)
        return run(&o, err);
    if ((o.step ? write_step(&o, err) : write_page(&o, argc, argv, err)) != 0)
        return -1;
    if (!o.step)
        printf("%s\n", o.page);
    return o.open ? browser_open(o.page, err) : 0;
}
