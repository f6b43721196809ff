/* roofcast plot: the roofline of a run, an analysis, a prediction or a machine, drawn by gnuplot. */
#include "base/environment.h"
#include "cli/cli.h"
#include "report/plot.h"
#include <math.h>
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

/* ---- the chart --------------------------------------------------------------------------- */

/* Total seconds of a phase, the base of shares. */
static double phase_seconds(const struct plot *p, const double *seconds, const char *phase)
{
    double sum = 0;
    for (size_t i = 0; i < p->n_item; i++)
        if (!p->item[i].whole && strcmp(p->item[i].phase, phase) == 0 && seconds[i] > 0)
            sum += seconds[i];
    return sum;
}

static int heavier(const void *a, const void *b)
{
    const struct chart_point *p = a, *q = b;
    double x = isnan(p->weight) ? 2 : p->weight, y = isnan(q->weight) ? 2 : q->weight;
    return x < y                        ? 1
           : x > y                      ? -1
           : strcmp(p->phase, q->phase) ? strcmp(p->phase, q->phase)
                                        : strcmp(p->label, q->label);
}

/* An item without a time gets that of its roof. The largest markers come first, so that none hides others. */
static int make_points(struct roofline_chart *c, const struct plot *p, bool in_order, struct error *err)
{
    double *seconds = calloc(p->n_item + 1, sizeof *seconds);
    c->point = calloc(p->n_item + 1, sizeof *c->point);
    if (!seconds || !c->point) {
        free(seconds);
        return error_oom(err, p->n_item * sizeof *c->point, "points");
    }
    for (size_t i = 0; i < p->n_item; i++) {
        const struct plot_item *it = &p->item[i];
        struct chart_point *q = &c->point[i];
        snprintf(q->label, sizeof q->label, "%s", it->label);
        snprintf(q->phase, sizeof q->phase, "%s", it->phase);
        q->ai = it->bytes > 0 ? it->flop / it->bytes : NAN;
        q->flop_s = p->kind == PLOT_ANALYSIS ? plot_attainable(p, it) : it->flop / it->seconds;
        q->predicted = p->kind != PLOT_RUN;
        q->counted = it->counted;
        q->join = it->join;
        seconds[i] =
            p->kind == PLOT_ANALYSIS ? it->flop > 0 ? it->flop / q->flop_s : 0 : it->seconds;
    }
    c->n_point = p->n_item;
    for (size_t i = 0; i < p->n_item; i++)
        c->point[i].weight =
            p->item[i].whole ? NAN : seconds[i] / phase_seconds(p, seconds, p->item[i].phase);
    free(seconds);
    if (c->n_point && !in_order)
        qsort(c->point, c->n_point, sizeof *c->point, heavier);
    return 0;
}

static bool dram_counted(const struct plot *p)
{
    bool counted = false;
    for (size_t i = 0; i < p->n_item; i++)
        counted |= p->item[i].counted;
    return counted;
}

static int make_titles(struct roofline_chart *c, const struct plot *p, const struct plot_options *o, struct error *err)
{
    const char *machine = *p->machine ? p->machine : p->hw;
    char date[11] = "";
    snprintf(date, sizeof date, "%.10s", p->date);
    if (o->title)
        snprintf(c->title, sizeof c->title, "%.150s", o->title);
    else if (p->kind == PLOT_PROFILE)
        snprintf(c->title, sizeof c->title, "%.120s", machine);
    else
        snprintf(c->title, sizeof c->title, "%.60s, %.20s on %.70s", p->model, p->type, machine);
    struct strbuf b = { 0 };
    switch (p->kind) {
    case PLOT_RUN:
        if (o->chart == PLOT_HIERARCHICAL)
            strbuf_adds(&b, plot_decodes(p, o) ? "Decode. " : "Prefill. ");
        strbuf_addf(&b, "Measured: %s; %s%s", p->tests, p->detail,
                    o->chart == PLOT_HIERARCHICAL ? p->n_counted ? "; traffic per level: full markers counted, hollow ones from the cache model"
                                                                 : "; traffic per level from the cache model, no counters" :
                    dram_counted(p)
                        ? ""
                        : "; bytes counted by the engine, hardware counters unavailable");
        break;
    case PLOT_ANALYSIS:
        strbuf_addf(&b, "Analysis: %s; points at attainable performance", p->tests);
        break;
    case PLOT_PREDICTION:
        strbuf_addf(&b, "Prediction: %s%s", p->tests, p->detail);
        break;
    case PLOT_PROFILE:
        strbuf_adds(&b, "Roofs");
        break;
    }
    if (*date)
        strbuf_addf(&b, "; %s", date);
    const char *text = strbuf_text(&b, "a subtitle", err);
    snprintf(c->subtitle, sizeof c->subtitle, "%s", text ? text : "");
    strbuf_free(&b);
    return text ? 0 : -1;
}

static int find_style(char *path, size_t n, const char *name, struct error *err)
{
    if (environment_file(path, n, name))
        return 0;
    return error_set(
        err, ERROR_INPUT,
        "%s: not found: the chart's style (ROOFCAST_DATA is the directory of reports/)", path);
}

/* ---- one machine's part, and several on one chart ------------------------------------------------------ */

/* A document on one machine: its roofs and points, in c. */
static int draw_one(struct roofline_chart *c, struct plot *p, const struct plot_options *o, const json_t *doc, struct strbuf *notes, struct error *err)
{
    if (plot_read(p, o, doc, err) != 0)
        return -1;
    int rc = plot_choose_roofs(c, p, o, err);
    if (rc == 0)
        rc = o->chart == PLOT_HIERARCHICAL ? plot_level_points(c, p, o, notes, err) : make_points(c, p, o->whole, err);
    if (p->notes.len)
        strbuf_adds(notes, p->notes.s);
    notes->oom |= p->notes.oom;
    return rc;
}

/* The part's roofs and points go to c, with the machine's name before theirs. */
static int add_part(struct roofline_chart *c, const struct roofline_chart *part, const char *hw, int machine, struct error *err)
{
    struct chart_roof *r = realloc(c->roof, (c->n_roof + part->n_roof) * sizeof *r);
    if (r)
        c->roof = r;
    struct chart_point *q = r ? realloc(c->point, (c->n_point + part->n_point + 1) * sizeof *q) : NULL;
    if (!q)
        return error_oom(err, (c->n_point + part->n_point + 1) * sizeof *q, "a chart");
    c->point = q;
    for (size_t i = 0; i < part->n_roof; i++) {
        r = &c->roof[c->n_roof++];
        *r = part->roof[i];
        r->machine = machine;
        snprintf(r->label, sizeof r->label, "%.24s %.38s", hw, part->roof[i].label);
    }
    for (size_t i = 0; i < part->n_point; i++) {
        q = &c->point[c->n_point++];
        *q = part->point[i];
        q->machine = machine;
        snprintf(q->label, sizeof q->label, "%.24s %.22s", hw, part->point[i].label);
    }
    return 0;
}

static int draw_several(struct roofline_chart *c, const struct plot_options *o, const struct str_list *hw, const json_t *doc,
                        struct strbuf *notes, struct error *err)
{
    struct strbuf names = { 0 }, made = { 0 };
    int rc = 0;
    for (size_t i = 0; i < hw->n && rc == 0; i++) {
        struct plot p;
        struct plot_options one = *o;
        struct roofline_chart part = { 0 };
        one.hw = hw->v[i];
        one.whole = true;
        rc = draw_one(&part, &p, &one, doc, notes, err);
        if (rc == 0)
            rc = p.kind == PLOT_PREDICTION ? add_part(c, &part, p.hw, (int)i, err)
                                           : error_set(err, ERROR_USAGE, "%s: several machines need a prediction or a model", o->doc);
        if (i == 0)
            strbuf_addf(&names, "%s, %s on %s", p.model, p.type, p.hw);
        else
            strbuf_addf(&names, ", %s", p.hw);
        strbuf_addf(&made, "; %s: %s", p.hw, *p.constants ? p.constants : "the profile's efficiency factors");
        free(part.roof);
        free(part.point);
        plot_free(&p);
    }
    const char *title = rc == 0 ? strbuf_text(&names, "a chart's title", err) : NULL;
    const char *subtitle = title ? strbuf_text(&made, "a chart's title", err) : NULL;
    if (subtitle) {
        snprintf(c->title, sizeof c->title, "%.150s", o->title ? o->title : title);
        snprintf(c->subtitle, sizeof c->subtitle, "Prediction, a point per test%.220s", subtitle);
    }
    rc = subtitle ? rc : -1;
    strbuf_free(&names);
    strbuf_free(&made);
    return rc;
}

static int draw_roofline(const struct plot_options *o, const json_t *doc, const char *style, struct strbuf *notes, struct error *err)
{
    struct roofline_chart c = { .style = style, .formats = o->formats };
    struct str_list hw = { 0 };
    struct plot p = { 0 };
    int rc = o->hw ? str_list_parse(&hw, o->hw, "--hw", err) : 0;
    if (rc == 0 && hw.n > 1) {
        rc = draw_several(&c, o, &hw, doc, notes, err);
    } else if (rc == 0) {
        rc = draw_one(&c, &p, o, doc, notes, err);
        if (rc == 0)
            rc = make_titles(&c, &p, o, err);
        plot_free(&p);
    }
    rc = rc ? rc : chart_roofline(&c, o->out, notes, err);
    str_list_free(&hw);
    free(c.roof);
    free(c.point);
    return rc;
}

/* ---- kind of the argument --------------------------------------------------------------------------------- */

/* *doc: the document that o->doc names: a file of roofcast, or the prediction of a model on the machines of --hw; NULL: a profile.
 * *measured: a file of another engine's results. */
static int find_document(json_t **doc, bool *measured, const struct plot_options *o, struct error *err)
{
    struct error ignored;
    struct hwprofile h;
    bool profile = strcmp(o->doc, "this") == 0;
    *doc = NULL;
    *measured = false;
    if (file_exists(o->doc)) {
        *doc = json_load_path(o->doc, &ignored);
        *measured = !plot_is_document(*doc);
        return 0;
    }
    if (!profile && !hwprofile_is_path(o->doc) && hwprofile_find(&h, o->doc, &profile, err) != 0)
        return -1;
    if (profile && strcmp(o->doc, "this") != 0)
        hwprofile_free(&h);
    if (profile)
        return 0;
    *doc = predict_document(o->doc, o->hw ? o->hw : "this", o->type, err);
    return *doc ? 0 : -1;
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

static int draw(const struct plot_options *o, struct error *err)
{
    struct strbuf notes = { 0 };
    char style[4096];
    bool roofline = o->chart == PLOT_ROOFLINE || o->chart == PLOT_HIERARCHICAL;
    if (find_style(style, sizeof style, roofline ? "reports/charts/roofline.gp" : "reports/charts/curves.gp", err) != 0)
        return -1;
    json_t *doc = NULL;
    bool measured = false;
    int rc = roofline ? find_document(&doc, &measured, o, err) : 0;
    if (rc == 0)
        rc = measured ? report_chart(o->doc, o->hw, o->out, o->formats, err)
             : roofline ? draw_roofline(o, doc, style, &notes, err)
                        : plot_curves(o, style, &notes, err);
    json_decref(doc);
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
        "another engine's results (llama-bench, vLLM: any file that `roofcast report` reads), a machine (a profile, its name, or `this`), or a "
        "model predicted on the machines of --hw. Slanted roofs are memory bandwidth, horizontal ones peak FLOP/s; a point is a role, "
        "its area the share of the time.\v"
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
