/* Charts of a page: those of `plot`, `report --chart` and `simulate --chart`, drawn by gnuplot into a folder and read back. */
#include "base/environment.h"
#include "report/html_internal.h"
#include "report/html_svg.h"
#include "report/html_write.h"
#include "report/measured.h"
#include "report/plot_kinds.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a chart is drawn of, and where. */
struct draw {
    const struct html_data *d;
    size_t file;          /* of html_report.file; of charts of all files the first one */
    char base[4096];      /* files are BASE.svg, ... */
    char style[4096];
    struct strbuf notes;
};

/* ---- which charts ---------------------------------------------------------------------------------------------------- */

enum chart_source {
    OF_FILE,       /* the file, as `plot FILE` */
    OF_ALL,        /* all files of the kind on one chart, as `plot FILE...`; where there are two or more */
    OF_MEASURED,   /* another engine's results, as `report --chart` */
    OF_PROFILE,    /* the machine, where it has a profile with curves */
    OF_MODEL,      /* the model of the first test, predicted on its machine */
    OF_PAIR,       /* a run and a prediction of its model, as `plot RUN PREDICTION` */
};

static const struct page_chart_kind {
    const char *id, *caption;
    enum html_kind kind;
    enum chart_source source;
    enum plot_chart chart;
    const char *phase;  /* NULL: both */
    bool needs_caches;  /* of the machine */
    const char *schema; /* of HTML_TABLE */
} kinds[] = {
    { "roofline", "Roofline: each role under the roofs; the area of a marker is its share of the time", HTML_RUN, OF_FILE, PLOT_ROOFLINE, NULL, false, NULL },
    { "roofline", "Roofline: each role as predicted, under the roofs", HTML_PREDICTION, OF_FILE, PLOT_ROOFLINE, NULL, false, NULL },
    { "roofline", "Roofline: each test under the roofs of the machine", HTML_MEASURED, OF_MEASURED, PLOT_ROOFLINE, NULL, false, NULL },
    { "pairs", "Roofline, measured (filled) and predicted (hollow) points of a role joined", HTML_RUN, OF_PAIR, PLOT_ROOFLINE, NULL, false, NULL },
    { "waterfall", "From the time at the roofs to the time achieved, ms a token", HTML_RUN, OF_FILE, PLOT_WATERFALL, NULL, false, NULL },
    { "waterfall", "From the time at the roofs to the time predicted, ms a token", HTML_PREDICTION, OF_FILE, PLOT_WATERFALL, NULL, false, NULL },
    { "levels-decode", "Hierarchical roofline of decode: each role at every level of the memory", HTML_RUN, OF_FILE, PLOT_HIERARCHICAL, "decode", true, NULL },
    { "levels-prefill", "Hierarchical roofline of prefill", HTML_RUN, OF_FILE, PLOT_HIERARCHICAL, "prefill", true, NULL },
    { "layers", "Bytes, FLOP and time of each layer", HTML_RUN, OF_FILE, PLOT_LAYERS, NULL, false, NULL },
    { "batch", "Tokens/s against the batch, predicted", HTML_RUN, OF_MODEL, PLOT_BATCH, NULL, false, NULL },
    { "context", "Tokens/s against the context, predicted", HTML_RUN, OF_MODEL, PLOT_CONTEXT, NULL, false, NULL },
    { "bandwidth", "Bandwidth of the machine against the footprint", HTML_RUN, OF_PROFILE, PLOT_BANDWIDTH, NULL, false, NULL },
    { "latencies", "Distributions of the requests' times", HTML_SERVED, OF_FILE, PLOT_LATENCIES, NULL, false, NULL },
    { "timeline", "Batch, KV cache and queue over time", HTML_SERVED, OF_FILE, PLOT_TIMELINE, NULL, false, NULL },
    { "steps", "Tokens/s of a step against its tokens, with the roofs", HTML_SERVED, OF_FILE, PLOT_STEPS, NULL, false, NULL },
    { "policies", "The runs side by side", HTML_SERVED, OF_ALL, PLOT_POLICIES, NULL, false, NULL },
    { "policies", "Policies side by side", HTML_TABLE, OF_FILE, PLOT_POLICIES, NULL, false, "roofcast.policies" },
    { "pareto", "Tokens/s of a user and of a device", HTML_TABLE, OF_FILE, PLOT_PARETO, NULL, false, "roofcast.capacity" },
    { "accuracy", "Predicted against measured, with the 90 % band", HTML_TABLE, OF_FILE, PLOT_ACCURACY, NULL, false, "roofcast.score" },
};

static bool is_first_of_kind(const struct html_report *r, size_t file, size_t *n)
{
    size_t before = 0;
    *n = 0;
    for (size_t i = 0; i < r->n; i++) {
        before += i < file && r->file[i].kind == r->file[file].kind;
        *n += r->file[i].kind == r->file[file].kind;
    }
    return before == 0;
}

/* The first prediction of the model of a run; NULL: none. */
static const struct html_file *prediction_of(const struct html_data *d, size_t run)
{
    const struct html_test *t = html_first(d, run, true) ? html_first(d, run, true) : html_first(d, run, false);
    for (size_t i = 0; t && i < d->tests.n; i++)
        if (d->tests.v[i].predicted && strcmp(d->tests.v[i].model, t->model) == 0)
            return &d->r->file[d->tests.v[i].file];
    return NULL;
}

/* Of charts of the model and of the machine there is one a page: with the file of the first test. */
static bool wants(const struct html_data *d, const struct page_chart_kind *k, size_t file)
{
    size_t n;
    const struct html_file *f = &d->r->file[file];
    const char *schema = json_string_value(json_object_get(f->doc, "schema"));
    const bool first = d->main ? d->main->file == file : file == 0;
    if (k->needs_caches && !(d->have_machine && *d->h.path && d->h.n_cache > 0))
        return false;
    switch (k->source) {
    case OF_FILE:
    case OF_MEASURED:
        return f->kind == k->kind && (!k->schema || (schema && strcmp(schema, k->schema) == 0));
    case OF_PAIR:
        return f->kind == k->kind && prediction_of(d, file);
    case OF_ALL:
        return f->kind == k->kind && is_first_of_kind(d->r, file, &n) && n > 1;
    case OF_PROFILE:
        return first && d->have_machine && *d->h.path && d->h.n_curve > 0;
    case OF_MODEL:
        return first && d->r->predict && d->have_machine && *d->h.path && d->have_model;
    }
    return false;
}

/* ---- drawing ---------------------------------------------------------------------------------------------------------- */

/* The numbers of a list, "0,1024,2048", up to `most`; other lists as they are. */
static const char *cut_list(char *buf, size_t n, const char *list, double most)
{
    const char *p = list, *end = list;
    while (*p) {
        char *after;
        const double v = strtod(p, &after);
        if (after == p || (*after && *after != ','))
            return list;
        end = v <= most ? after : end;
        p = after + (*after == ',');
    }
    snprintf(buf, n, "%.*s", (int)(end - list), list);
    return buf;
}

/* What the chart's kind reads, into *s. */
static int find_subject(struct plot_subject *s, struct plot_options *o, const struct draw *x, const struct page_chart_kind *k, struct error *err)
{
    enum { GENERATED = 128 };
    const struct html_data *d = x->d;
    const struct chart_kind *c = &charts[k->chart];
    char depths[256];
    if (k->source == OF_PROFILE)
        o->doc = d->h.path;
    else if (k->source == OF_MODEL)
        return d->r->predict(&s->prediction, d->r->model ? d->r->model : d->main->preset, d->r->hw ? d->r->hw : d->h.path, *d->main->type ? d->main->type : NULL,
                             cut_list(depths, sizeof depths, c->n_depth, (double)d->m.hp.n_ctx_train - GENERATED), c->n_batch, err);
    else
        s->doc = json_incref((json_t *)d->r->file[x->file].doc);
    if (k->source == OF_PAIR)
        o->more[o->n_more++] = prediction_of(d, x->file)->path;
    for (size_t i = x->file + 1; k->source == OF_ALL && i < d->r->n && o->n_more < PLOT_FILES; i++)
        if (d->r->file[i].kind == k->kind)
            o->more[o->n_more++] = d->r->file[i].path;
    return 0;
}

static int draw_kind(struct draw *x, const struct page_chart_kind *k, struct error *err)
{
    char name[64];
    const struct html_report *r = x->d->r;
    struct plot_subject s = { .doc = NULL };
    struct plot_options o = { .model = r->model, .doc = r->file[x->file].path, .hw = k->source == OF_FILE || k->source == OF_PAIR ? r->hw : NULL, .out = x->base, .chart = k->chart,
                              .formats = CHART_SVG, .phase = k->phase };
    snprintf(name, sizeof name, "reports/charts/%.30s.gp", charts[k->chart].name);
    if (!environment_file(x->style, sizeof x->style, name))
        return error_set(err, ERROR_INPUT, "%.200s: not found: the chart's style", x->style);
    if (k->needs_caches && !o.hw)
        o.hw = x->d->h.path;
    int rc = find_subject(&s, &o, x, k, err);
    rc = rc ? rc : charts[k->chart].draw(&o, &s, x->style, &x->notes, err);
    json_decref(s.doc);
    plot_prediction_free(&s.prediction);
    return rc;
}

static int draw_measured(struct draw *x, struct error *err)
{
    const struct html_file *f = &x->d->r->file[x->file];
    if (measured_check_machine(f->row, f->n_row, f->path, err) != 0)
        return -1;
    return measured_draw(f->row, f->n_row, x->base, CHART_SVG, err);
}

/* ---- files of a chart ------------------------------------------------------------------------------------------------ */

/* A folder for charts that do not stay; removed with what is in it. */
struct folder {
    char path[4096];
    int lock;
};

static int folder_open(struct folder *f, struct error *err)
{
    snprintf(f->path, sizeof f->path, "%s/roofcast-report-XXXXXX", environment()->temporary_path);
    f->lock = temporary_folder(f->path, err);
    return f->lock < 0 ? -1 : 0;
}

static void folder_close(struct folder *f)
{
    DIR *d = f->lock >= 0 ? opendir(f->path) : NULL;
    if (f->lock < 0)
        return;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    (void)rmdir(f->path);
    temporary_forget(f->path);
    close(f->lock);
}

/* BASE.svg, cleaned, into the block; too much for one page: an error. */
static int take_picture(struct page *p, struct page_block *b, const struct draw *x, struct error *err)
{
    char path[4200], attributes[160];
    struct filemap m;
    struct strbuf svg = { 0 };
    snprintf(path, sizeof path, "%s.svg", x->base);
    snprintf(attributes, sizeof attributes, " xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"%s-caption\"", b->id);
    if (filemap_open(&m, path, err) != 0)
        return -1;
    int rc = p->svg_bytes + m.size > PAGE_SVG_BYTES ? error_set(err, ERROR_INPUT, "the page's pictures would exceed %d bytes; `roofcast plot` draws it", PAGE_SVG_BYTES) : 0;
    rc = rc ? rc : html_svg_clean(&svg, (const char *)m.data, m.size, b->id, attributes, err);
    filemap_close(&m);
    const char *text = rc == 0 ? strbuf_text(&svg, "a picture", err) : NULL;
    b->chart.svg = text ? strdup(text) : NULL;
    p->svg_bytes += svg.len;
    strbuf_free(&svg);
    return text && b->chart.svg ? 0 : text ? error_oom(err, 0, "a picture") : -1;
}

/* ---- the section ------------------------------------------------------------------------------------------------------- */

/* "report" of "out/report.md" */
static const char *name_of(const char *base)
{
    const char *slash = strrchr(base, '/');
    return slash ? slash + 1 : base;
}

/* A note a line: sentences. */
static void say_notes(struct page *p, const struct strbuf *notes)
{
    for (const char *s = notes->len && !notes->oom ? notes->s : ""; *s;) {
        const size_t n = strcspn(s, "\n");
        if (n > 0)
            page_say(p, " %c%.*s%s", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s, (int)n - 1, s + 1, strchr(".!?", s[n - 1]) ? "" : ".");
        s += n + (s[n] == '\n');
    }
}

static void add_chart(struct page *p, struct draw *x, const struct page_chart_kind *k, const char *folder, const char *base)
{
    char id[64];
    struct error why = { 0 };
    const char *file = x->d->r->file[x->file].name, *name = id + strlen("chart-");
    snprintf(id, sizeof id, "chart-%s-%zu", k->id, x->file + 1);
    snprintf(x->base, sizeof x->base, "%.3000s%s%s", base ? base : folder, base ? "-" : "/", name);
    const int rc = k->source == OF_MEASURED ? draw_measured(x, &why) : draw_kind(x, k, &why);
    struct page_block *b = page_add(p, PAGE_CHART, id);
    if (rc == 0 && base)
        snprintf(b->chart.file, sizeof b->chart.file, "%.60s-%.40s.svg", name_of(base), name);
    if (rc == 0 && (base || take_picture(p, b, x, &why) == 0)) {
        if (k->source == OF_ALL)
            page_say(p, "%s.", k->caption);
        else
            page_say(p, "%s. %s.", k->caption, file);
        if (*x->d->other && (k->source == OF_MODEL || k->source == OF_PAIR)) {
            char of[256];
            page_say(p, " Predictions are %s.", html_other_model(of, sizeof of, x->d));
        }
        say_notes(p, &x->notes);
        if (!base)
            html_add_chart_data(p, x->base, id);
    } else {
        static const char missing[] = "gnuplot was not found"; /* the script that the message names is removed with the folder */
        const bool again = !base && strncmp(why.msg, missing, strlen(missing)) == 0;
        page_say(p, "%s of %s: no picture: %s.", k->caption, file, again ? "gnuplot was not found: install it (Debian: apt-get install gnuplot-nox), then write the page again" : why.msg);
    }
    x->notes.len = 0;
}

enum { PRINTED_CHARTS = 2 }; /* as figure.chart of page.css has it */

/* What a print leaves out. */
static void add_count(struct page *p, size_t first)
{
    size_t n = 0;
    for (size_t i = first; i < p->n; i++)
        n += p->block[i].kind == PAGE_CHART;
    if (n <= PRINTED_CHARTS)
        return;
    page_add(p, PAGE_TEXT, "")->paper = true;
    page_say(p, "Shortened: %d of %zu charts.", PRINTED_CHARTS, n);
}

void html_add_charts(struct page *p, const struct html_data *d, const char *base)
{
    struct folder folder = { .lock = -1 };
    struct error why = { 0 };
    struct draw *x = calloc(1, sizeof *x);
    if (!x)
        interrupt_end_without_memory();
    x->d = d;
    const size_t first = p->n;
    page_add(p, PAGE_SECTION, "charts");
    page_say(p, "Charts");
    if (!base && folder_open(&folder, &why) != 0) {
        page_add(p, PAGE_TEXT, "");
        page_say(p, "Unavailable: %s.", why.msg);
    }
    for (size_t i = 0; i < d->r->n && (base || folder.lock >= 0); i++)
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
            if (wants(d, &kinds[k], i) && !interrupt_pending()) {
                x->file = i;
                add_chart(p, x, &kinds[k], folder.path, base);
            }
    add_count(p, first);
    if (p->block[p->n - 1].kind == PAGE_SECTION) {
        page_add(p, PAGE_TEXT, "");
        page_say(p, "There is no chart of these files.");
    }
    folder_close(&folder);
    strbuf_free(&x->notes);
    free(x);
}
