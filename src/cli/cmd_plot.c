/* roofcast plot: the roofline of a run, an analysis, a prediction or a machine, drawn by gnuplot. */
#include "base/environment.h"
#include "cli/cli.h"
#include "report/plot.h"
#include "report/serving_saved.h"
#include <stdlib.h>
#include <string.h>

enum { OPT_HW = 256, OPT_BY, OPT_PHASE, OPT_TEST, OPT_TITLE, OPT_ALL, OPT_TRAJECTORY, OPT_CHART, OPT_FORMAT, OPT_OP };

static const struct argp_option option_table[] = {
    { "chart", OPT_CHART, "KIND", 0,
      "roofline (default); hierarchical: of a run, a point per op and memory level; of a profile: bandwidth (by footprint), saturation (bandwidth by threads), "
      "latency, loaded-latency, kernels (by tensor type)", 0 },
    { "output", 'o', "NAME", 0, "write NAME.svg, .png, .gp, .tsv and .roofs.tsv (default: the name of the chart)", 0 },
    { "model", 'm', "FILE|NAME", 0, "hierarchical: the run's model, for the cache model (default: by the run's model name)", 0 },
    { "format", OPT_FORMAT, "LIST", 0, "formats: svg,png (default), pdf, txt (characters)", 0 },
    { "hw", OPT_HW, "NAME|FILE,...", 0,
      "the machine whose roofs are drawn; `this`: this machine's profile; several machines for a model or a prediction", 0 },
    { "type", 'q', "TYPE", 0, "tensor type or mixture of a model to predict, as in predict", 0 },
    { "by", OPT_BY, "role|op", 0, "a point per role (default) or per op", 0 },
    { "phase", OPT_PHASE, "prefill|decode|both", 0, "phase to draw (both)", 0 },
    { "test", OPT_TEST, "NAME", 0,
      "test of the file to draw, such as tg128@d4096 (default: the first of each phase)", 0 },
    { "threads", 't', "N", 0, "roofs of at most N threads (default: those of the run, else all)", 0 },
    { "all-roofs", OPT_ALL, NULL, 0,
      "draw every ceiling or curve: all thread counts, all operand types, also the datasheet's", 0 },
    { "op", OPT_OP, "LIST", 0, "charts of a profile: a list of read,write,write-nt,copy,triad,gather; or matvec or matmat", 0 },
    { "trajectory", OPT_TRAJECTORY, NULL, 0,
      "of a prediction: a point per test (whole phase), connected in the order of -b, -d, -p, -n", 0 },
    { "title", OPT_TITLE, "TEXT", 0, "title of the chart", 0 },
    { 0 },
};

static int choose(const char *arg, const char *what, const char *a, const char *b,
                  struct error *err)
{
    if (strcmp(arg, a) == 0 || strcmp(arg, b) == 0)
        return 0;
    return error_set(err, ERROR_USAGE, "%s: expected %s or %s, found \"%s\"", what, a, b, arg);
}

static const char *const charts[] = {
    [PLOT_ROOFLINE] = "roofline",     [PLOT_HIERARCHICAL] = "hierarchical", [PLOT_BANDWIDTH] = "bandwidth",
    [PLOT_SATURATION] = "saturation", [PLOT_LATENCY] = "latency",           [PLOT_LOADED] = "loaded-latency",
    [PLOT_KERNELS] = "kernels",
};

static int choose_chart(enum plot_chart *chart, const char *arg, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(charts); i++)
        if (strcmp(arg, charts[i]) == 0) {
            *chart = (enum plot_chart)i;
            return 0;
        }
    return error_set(err, ERROR_USAGE,
                     "--chart: expected roofline, hierarchical, bandwidth, saturation, latency, loaded-latency or kernels, "
                     "found \"%s\"", arg);
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct plot_options *p = options;
    switch (key) {
    case 'o':
        return cli_text(&p->out, arg);
    case 'm':
        return cli_text(&p->model, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &p->n_threads, err);
    case 'q':
        return cli_text(&p->type, arg);
    case OPT_HW:
        return cli_text(&p->hw, arg);
    case OPT_TEST:
        return cli_text(&p->test, arg);
    case OPT_TITLE:
        return cli_text(&p->title, arg);
    case OPT_OP:
        return cli_text(&p->op, arg);
    case OPT_ALL:
        return cli_flag(&p->all_roofs);
    case OPT_TRAJECTORY:
        p->whole = true;
        return cli_flag(&p->trajectory);
    case OPT_BY:
        p->by_op = strcmp(arg, "op") == 0;
        return choose(arg, "--by", "role", "op", err);
    case OPT_PHASE:
        p->phase = strcmp(arg, "both") == 0 ? NULL : arg;
        if (!p->phase || strcmp(arg, "prefill") == 0 || strcmp(arg, "decode") == 0)
            return 0;
        return error_set(err, ERROR_USAGE, "--phase: expected prefill, decode or both, found \"%s\"", arg);
    case OPT_CHART:
        return choose_chart(&p->chart, arg, err);
    case OPT_FORMAT:
        return chart_formats_parse(&p->formats, arg, err);
    case ARGP_KEY_ARG:
        return cli_text_once(&p->doc, arg, "file", err);
    default:
        return CLI_UNKNOWN;
    }
}

/* ---- kind of the argument --------------------------------------------------------------------------------- */

/* What o->doc stands for: a document of roofcast; a model, predicted on the machines of --hw; else a profile. *measured: a file of another
 * engine's results. */
static int find_subject(struct plot_subject *s, bool *measured, const struct plot_options *o, struct error *err)
{
    struct error ignored;
    struct hwprofile h;
    bool profile = strcmp(o->doc, "this") == 0;
    *measured = false;
    if (file_exists(o->doc)) {
        s->doc = json_load_path(o->doc, &ignored);
        *measured = !plot_is_document(s->doc);
        return 0;
    }
    if (!profile && !hwprofile_is_path(o->doc) && hwprofile_find(&h, o->doc, &profile, err) != 0)
        return -1;
    if (profile && strcmp(o->doc, "this") != 0)
        hwprofile_free(&h);
    if (profile)
        return 0;
    return predict_for_plot(&s->prediction, o->doc, o->hw ? o->hw : "this", o->type, err);
}

static void print_files(const struct plot_options *o)
{
    static const char *const format[] = { "svg", "png", "pdf", "txt" };
    unsigned formats = o->formats ? o->formats : CHART_SVG | CHART_PNG;
    for (size_t i = 0; i < ARRAY_LEN(format); i++)
        if (formats & 1u << i)
            printf("%s.%s\n", o->out, format[i]);
    printf("%s.gp redraws %s from %s.tsv (points) and %s.roofs.tsv\n", o->out, formats & (formats - 1) ? "them" : "it",
           o->out, o->out);
}

static bool is_served(const json_t *doc)
{
    const char *schema = json_string_value(json_object_get(doc, "schema"));
    return schema && strcmp(schema, "roofcast.simulate") == 0;
}

/* Tokens/s of a server's steps, with the roofs. */
static int draw_served(const struct plot_options *o, struct strbuf *notes, struct error *err)
{
    struct serving_saved s;
    char style[4096];
    struct serving_chart c = { .style = style, .out_base = o->out, .formats = o->formats };
    if (cli_chart_style(style, sizeof style, "reports/charts/curves.gp", err) != 0 || serving_saved_load(&s, o->doc, err) != 0)
        return -1;
    const struct serving_steps steps = { NULL, &s.steps, s.memory_bytes_s, s.flop_s };
    if (o->title)
        snprintf(c.title, sizeof c.title, "%.150s", o->title);
    else
        snprintf(c.title, sizeof c.title, "%.60s on %.60s", s.model ? s.model : "A model", s.hw ? s.hw : "a machine");
    snprintf(c.subtitle, sizeof c.subtitle, "%.120s, %.60s, %s", s.workload, s.policy, s.measured ? "measured" : "simulated");
    const int rc = serving_chart_steps(&c, &steps, 1, notes, err);
    serving_saved_free(&s);
    return rc;
}

static int draw(const struct plot_options *o, struct error *err)
{
    struct strbuf notes = { 0 };
    char style[4096];
    bool roofline = o->chart == PLOT_ROOFLINE || o->chart == PLOT_HIERARCHICAL;
    if (cli_chart_style(style, sizeof style, roofline ? "reports/charts/roofline.gp" : "reports/charts/curves.gp", err) != 0)
        return -1;
    struct plot_subject s = { 0 };
    bool measured = false;
    int rc = roofline ? find_subject(&s, &measured, o, err) : 0;
    if (rc == 0)
        rc = is_served(s.doc) ? draw_served(o, &notes, err)
             : measured ? report_chart(o->doc, o->hw, o->out, o->formats, err)
             : roofline ? plot_roofline(o, &s, style, &notes, err)
                        : plot_curves(o, style, &notes, err);
    json_decref(s.doc);
    plot_prediction_free(&s.prediction);
    if (rc == 0)
        print_files(o);
    struct error late = { 0 };
    const char *text = strbuf_text(&notes, "the notes", &late);
    if (rc == 0 && !text) {
        *err = late;
        rc = -1;
    }
    if (text && (rc == 0 || err->kind == ERROR_UNAVAILABLE))
        printf("%s", text);
    strbuf_free(&notes);
    return rc;
}

int cmd_plot(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Draw the roofline of a run (bench --save), an analysis (analyze -o json), a prediction (predict -o json), "
        "a server's run (serve --save, simulate --save), another engine's results (llama-bench, vLLM: any file that `roofcast report` reads), a machine (a profile, its name, or `this`), or a "
        "model predicted on the machines of --hw. Slanted roofs are memory bandwidth, horizontal ones peak FLOP/s; a point is a role, "
        "its area the share of the time. Of a server's run a point is a kind of steps, tokens/s against its tokens.\v"
        "The axes depend only on the roofs, so charts of one machine are comparable; points outside are listed, not "
        "moved. To restyle, edit NAME.gp and run gnuplot on it in its directory.\n\n"
        "  roofcast plot run.json -o roofline\n"
        "  roofcast plot run.json --hw this --phase decode -o decode\n"
        "  roofcast analyze llama-3-8b -o json > a.json; roofcast plot a.json --hw "
        "h100-sxm\n"
        "  roofcast predict llama-3-8b --hw h100-sxm -b 1,2,4,8,16,32,64,128,256 -o json > b.json; "
        "roofcast plot b.json --trajectory\n"
        "  roofcast plot this; roofcast plot h100-sxm -o h100\n"
        "  roofcast plot llama-bench.json --hw rtx-4090\n"
        "  roofcast serve -m model.gguf --save served.json; roofcast plot served.json -o steps\n"
        "  roofcast plot llama-3-8b -q Q4_K_M --hw h100-sxm,rtx-4090,m4-max\n"
        "  roofcast plot --chart hierarchical run.json --hw this -m model.gguf\n"
        "  roofcast plot --chart bandwidth this; roofcast plot --chart kernels this --op matmat --format svg,pdf";
    static const struct cli_syntax syntax = { option_table, parse, "FILE|MACHINE|MODEL", doc, NULL };
    struct plot_options o = { 0 };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.doc)
        return error_set(err, ERROR_USAGE,
                         "expected a run, an analysis or a prediction as JSON, a profile, results of another engine, a machine or a model");
    if (!o.out)
        o.out = charts[o.chart];
    if (cli_keep_chart(argc, argv, "-o", o.out, err) != 0)
        return -1;
    return draw(&o, err);
}
