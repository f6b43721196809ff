/* roofcast plot: the roofline of a run, an analysis, a prediction or a machine, drawn by gnuplot. */
#include "base/environment.h"
#include "cli/cli.h"
#include "report/plot_kinds.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_HW = 256, OPT_BY, OPT_PHASE, OPT_TEST, OPT_TITLE, OPT_ALL, OPT_TRAJECTORY, OPT_CHART, OPT_FORMAT, OPT_OP, OPT_TERM };

static const struct argp_option option_table[] = {
    { "chart", OPT_CHART, "CHART", 0, "roofline (default) or one of the kinds below", 0 },
    { "term", OPT_TERM, NULL, 0, "draw in the terminal, with characters; write no file", 0 },
    { "batch-size", 'b', "N,...", 0, "batches of a model that is predicted", 0 },
    { "depth", 'd', "N,...", 0, "contexts of a model that is predicted", 0 },
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

static int choose_chart(enum plot_chart *chart, const char *arg, struct error *err)
{
    const struct chart_kind *k = chart_kind_find(arg, err);
    if (k)
        *chart = (enum plot_chart)(k - charts);
    return k ? 0 : -1;
}

static int add_file(struct plot_options *p, const char *arg, struct error *err)
{
    if (!p->doc)
        return cli_text(&p->doc, arg);
    if (p->n_more == PLOT_FILES)
        return error_set(err, ERROR_USAGE, "expected at most %d files", PLOT_FILES + 1);
    p->more[p->n_more++] = arg;
    return 0;
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
    case 'b':
        return cli_text(&p->n_batch, arg);
    case 'd':
        return cli_text(&p->n_depth, arg);
    case OPT_TERM:
        return cli_flag(&p->term);
    case OPT_CHART:
        return choose_chart(&p->chart, arg, err);
    case OPT_FORMAT:
        return chart_formats_parse(&p->formats, arg, err);
    case ARGP_KEY_ARG:
        return add_file(p, arg, err);
    default:
        return CLI_UNKNOWN;
    }
}

/* ---- kind of the argument --------------------------------------------------------------------------------- */

static int predict_subject(struct plot_subject *s, const struct plot_options *o, struct error *err)
{
    const struct chart_kind *k = &charts[o->chart];
    const struct predict_request r = { o->doc, o->hw ? o->hw : "this", o->type, k->n_prompt, k->n_gen, o->n_depth ? o->n_depth : k->n_depth,
                                       o->n_batch ? o->n_batch : k->n_batch };
    return predict_for_plot(&s->prediction, &r, err);
}

/* What o->doc stands for: a document of roofcast; a model, predicted on the machines of --hw; else a profile. *measured: a file of another
 * engine's results. */
static int find_roofline(struct plot_subject *s, bool *measured, const struct plot_options *o, struct error *err)
{
    struct error ignored;
    struct hwprofile h;
    bool profile = strcmp(o->doc, "this") == 0;
    if (file_exists(o->doc)) {
        s->doc = json_load_path(o->doc, &ignored);
        *measured = !plot_is_document(s->doc);
        return 0;
    }
    if (!profile && !hwprofile_is_path(o->doc) && hwprofile_find(&h, o->doc, &profile, err) != 0)
        return -1;
    if (profile && strcmp(o->doc, "this") != 0)
        hwprofile_free(&h);
    return profile ? 0 : predict_subject(s, o, err);
}

static int find_subject(struct plot_subject *s, bool *measured, const struct plot_options *o, struct error *err)
{
    *measured = false;
    switch (charts[o->chart].subject) {
    case READS_ROOFLINE:
        return find_roofline(s, measured, o, err);
    case READS_PREDICTION:
        if (!file_exists(o->doc) && !strpbrk(o->doc, "/") && !strstr(o->doc, ".json"))
            return predict_subject(s, o, err);
        /* fall through */
    case READS_FILE:
        s->doc = json_load_path(o->doc, err);
        return s->doc ? 0 : -1;
    case READS_PROFILE:
        return 0;
    }
    return 0;
}

static void print_files(const struct plot_options *o)
{
    static const char *const format[] = { "svg", "png", "pdf", "txt" };
    unsigned formats = o->formats ? o->formats : CHART_SVG | CHART_PNG;
    char roofs[4200] = "";
    for (size_t i = 0; i < ARRAY_LEN(format); i++)
        if (formats & 1u << i)
            printf("%s.%s\n", o->out, format[i]);
    if (o->chart != PLOT_WATERFALL && o->chart != PLOT_LAYERS)
        snprintf(roofs, sizeof roofs, " (points) and %.4000s.roofs.tsv", o->out);
    printf("%s.gp redraws %s from %s.tsv%s\n", o->out, formats & (formats - 1) ? "them" : "it", o->out, roofs);
}

/* ---- drawing ---------------------------------------------------------------------------------------------- */

static int draw_subject(const struct plot_options *o, struct plot_subject *s, bool measured, struct strbuf *notes, struct error *err)
{
    const char *schema = json_string_value(json_object_get(s->doc, "schema"));
    const bool served = o->chart == PLOT_ROOFLINE && schema && strcmp(schema, "roofcast.simulate") == 0; /* its roofline is that of its steps */
    const struct chart_kind *k = &charts[served ? PLOT_STEPS : o->chart];
    char style[4096], name[64];
    snprintf(name, sizeof name, "reports/charts/%s.gp", k->name);
    if (cli_chart_style(style, sizeof style, name, err) != 0)
        return -1;
    if (measured && o->chart == PLOT_HIERARCHICAL)
        return error_set(err, ERROR_USAGE, "%s: --chart hierarchical is for runs (bench --ops --save)", o->doc);
    return measured ? report_chart(o->doc, o->hw, o->out, o->formats, err) : k->draw(o, s, style, notes, err);
}

/* Prints the picture of characters that was drawn for the terminal. */
static int print_picture(const char *base, struct error *err)
{
    struct strbuf path = { 0 };
    struct filemap m;
    strbuf_addf(&path, "%s.txt", base);
    const char *name = strbuf_text(&path, "a file name", err);
    int rc = name ? filemap_open(&m, name, err) : -1;
    if (rc == 0) {
        fwrite(m.data, 1, m.size, stdout);
        filemap_close(&m);
    }
    strbuf_free(&path);
    return rc;
}

static int draw(const struct plot_options *o, struct error *err)
{
    struct strbuf notes = { 0 };
    struct plot_subject s = { 0 };
    bool measured = false;
    int rc = find_subject(&s, &measured, o, err);
    rc = rc ? rc : draw_subject(o, &s, measured, &notes, err);
    json_decref(s.doc);
    plot_prediction_free(&s.prediction);
    if (rc == 0 && o->term)
        rc = print_picture(o->out, err);
    else if (rc == 0)
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

/* In a directory of its own, which is removed. */
static int draw_in_terminal(struct plot_options *o, struct error *err)
{
    static const char *const ends[] = { ".gp", ".tsv", ".roofs.tsv", ".txt" };
    char dir[4000], base[4032], path[ARRAY_LEN(ends)][4064];
    snprintf(dir, sizeof dir, "%s/roofcast-plot-XXXXXX", environment()->temporary_path);
    const int lock = temporary_folder(dir, err);
    if (lock < 0)
        return -1;
    snprintf(base, sizeof base, "%s/chart", dir);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        snprintf(path[i], sizeof path[i], "%s%s", base, ends[i]);
        temporary_add(path[i]);
    }
    const int width = report_width(stdout);
    o->out = base;
    o->formats = CHART_TXT | (unsigned)(width > 40 ? width < 400 ? width : 400 : width > 0 ? 40 : 0) << CHART_COLUMNS;
    const int rc = draw(o, err);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        (void)unlink(path[i]);
        temporary_forget(path[i]);
    }
    (void)rmdir(dir);
    temporary_forget(dir);
    close(lock);
    return rc;
}

int cmd_plot(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Draw the roofline of a run (bench --save), an analysis (analyze -o json), a prediction (predict -o json), "
        "a server's run (serve --save, simulate --save), another engine's results (llama-bench, vLLM: any file that `roofcast report` reads), a machine (a profile, its name, or `this`), or a "
        "model predicted on the machines of --hw; with --chart other charts. Slanted roofs are memory bandwidth, horizontal ones peak FLOP/s; a point is a role, "
        "its area the share of the time. Of a server's run a point is a kind of steps, tokens/s against its tokens. A run and a prediction of it: "
        "measured points filled, predicted ones hollow, joined.\v"
        "The axes depend only on the roofs, so charts of one machine are comparable; points outside are listed, not "
        "moved. To restyle, edit NAME.gp and run gnuplot on it in its directory. NAME.svg has tooltips and colours for dark mode, which gnuplot alone does not write.\n\n"
        "Kinds of charts, and what they read:\n"
        "  roofline: any of the above; hierarchical: a run with --ops, a point per op and memory level\n"
        "  trajectory, batch, context: a prediction, or a model, of several -b and -d\n"
        "  waterfall: a run with --ops, a prediction or a model, from the roof to what is achieved\n"
        "  layers: a run with --ops, or analyze -o json: bytes, FLOP and time of each layer\n"
        "  accuracy: score -o json, predicted against measured\n"
        "  bandwidth, saturation, latency, loaded-latency, kernels: a profile\n"
        "  steps, latencies, timeline, rates: runs of a server (--save)\n"
        "  policies: simulate --compare-policies -o json, or runs of a server\n"
        "  pareto: capacity -o json, a prediction or a model\n\n"
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
        "  roofcast plot --chart bandwidth this; roofcast plot --chart kernels this --op matmat --format svg,pdf\n"
        "  roofcast plot --chart batch llama-3-8b -q Q4_K_M --hw rtx-4090 --term\n"
        "  roofcast plot --chart waterfall run.json; roofcast plot --chart layers run.json\n"
        "  roofcast plot --chart latencies a.json b.json";
    static const struct cli_syntax syntax = { option_table, parse, "FILE...|MACHINE|MODEL", doc, NULL };
    struct plot_options o = { 0 };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.doc)
        return error_set(err, ERROR_USAGE,
                         "expected a run, an analysis or a prediction as JSON, a profile, results of another engine, a machine or a model");
    if (o.trajectory && o.chart == PLOT_ROOFLINE)
        o.chart = PLOT_TRAJECTORY;
    o.trajectory |= o.chart == PLOT_TRAJECTORY;
    o.whole |= o.trajectory;
    if (o.term)
        return draw_in_terminal(&o, err);
    if (!o.out)
        o.out = charts[o.chart].name;
    if (cli_keep_chart(argc, argv, "-o", o.out, err) != 0)
        return -1;
    return draw(&o, err);
}
