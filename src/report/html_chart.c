/* Charts of a page: those of `plot`, `report --chart` and `simulate --chart`, drawn by gnuplot into a folder and read back. */
#include "base/environment.h"
#include "report/html_internal.h"
#include "report/html_svg.h"
#include "report/html_write.h"
#include "report/measured.h"
#include "report/plot.h"
#include "report/serving_saved.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a chart is drawn of, and where. */
struct draw {
    const struct html_data *d;
    size_t file;
    char base[4096];      /* files are BASE.svg, ... */
    char style[4096];
    struct strbuf notes;
};

typedef int draw_fn(struct draw *x, struct error *err);

static int find_style(struct draw *x, const char *name, struct error *err)
{
    return environment_file(x->style, sizeof x->style, name) ? 0 : error_set(err, ERROR_INPUT, "%s: not found: the chart's style", x->style);
}

/* ---- charts -------------------------------------------------------------------------------------------------------- */

static int draw_plot(struct draw *x, enum plot_chart chart, const char *phase, struct error *err)
{
    const struct html_report *r = x->d->r;
    struct plot_subject s = { .doc = json_incref((json_t *)r->file[x->file].doc) };
    const struct plot_options o = { .model = r->model, .doc = r->file[x->file].path, .hw = r->hw, .out = x->base, .chart = chart, .formats = CHART_SVG, .phase = phase };
    const int rc = find_style(x, "reports/charts/roofline.gp", err) == 0 ? plot_roofline(&o, &s, x->style, &x->notes, err) : -1;
    json_decref(s.doc);
    return rc;
}

static int draw_roofline(struct draw *x, struct error *err)
{
    return draw_plot(x, PLOT_ROOFLINE, NULL, err);
}

static int draw_decode_levels(struct draw *x, struct error *err)
{
    return draw_plot(x, PLOT_HIERARCHICAL, "decode", err);
}

static int draw_prefill_levels(struct draw *x, struct error *err)
{
    return draw_plot(x, PLOT_HIERARCHICAL, "prefill", err);
}

static int draw_measured(struct draw *x, struct error *err)
{
    const struct html_file *f = &x->d->r->file[x->file];
    if (measured_check_machine(f->row, f->n_row, f->path, err) != 0)
        return -1;
    return measured_draw(f->row, f->n_row, x->base, CHART_SVG, err);
}

static int draw_steps(struct draw *x, struct error *err)
{
    struct serving_saved *s = calloc(1, sizeof *s);
    struct serving_chart c = { .style = x->style, .out_base = x->base, .formats = CHART_SVG };
    if (!s)
        return error_oom(err, sizeof *s, "a saved run");
    int rc = find_style(x, "reports/charts/curves.gp", err) == 0 ? serving_saved_load(s, x->d->r->file[x->file].path, err) : -1;
    if (rc == 0) {
        const struct serving_steps steps = { NULL, &s->steps, s->memory_bytes_s, s->flop_s };
        snprintf(c.title, sizeof c.title, "%.60s on %.60s", s->model ? s->model : "A model", s->hw ? s->hw : "a machine");
        snprintf(c.subtitle, sizeof c.subtitle, "%.120s, %.60s, %s", s->workload, s->policy, s->measured ? "measured" : "simulated");
        rc = serving_chart_steps(&c, &steps, 1, &x->notes, err);
        serving_saved_free(s);
    }
    free(s);
    return rc;
}

/* A chart for each file of a kind. needs_hw: only where --hw names a machine with caches and curves. */
static const struct {
    const char *id, *caption;
    enum html_kind kind;
    bool needs_hw;
    draw_fn *draw;
} charts[] = {
    { "roofline", "Roofline: each role under the roofs; the area of a marker is its share of the time", HTML_RUN, false, draw_roofline },
    { "levels-decode", "Hierarchical roofline of decode: each role at every level of the memory", HTML_RUN, true, draw_decode_levels },
    { "levels-prefill", "Hierarchical roofline of prefill", HTML_RUN, true, draw_prefill_levels },
    { "roofline", "Roofline: each role as predicted, under the roofs", HTML_PREDICTION, false, draw_roofline },
    { "roofline", "Roofline: each test under the roofs of the machine", HTML_MEASURED, false, draw_measured },
    { "steps", "Tokens/s of a step against its tokens, with the roofs", HTML_SERVED, false, draw_steps },
};

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

/* ---- the data behind it ---------------------------------------------------------------------------------------------- */

enum { DATA_ROWS = 200, DATA_COLUMNS = 16 };

/* The fields of a line, separated by tabs, each ended by NUL in place. */
static size_t split(char *line, char *field[DATA_COLUMNS])
{
    size_t n = 0;
    for (char *s = line; s && n < DATA_COLUMNS;) {
        char *tab = strchr(s, '\t');
        field[n++] = s;
        if (tab)
            *tab = 0;
        s = tab ? tab + 1 : NULL;
    }
    return n;
}

static struct cell data_cell(struct page_table *t, const char *text)
{
    char *end;
    const double v = strtod(text, &end);
    return end != text && !*end ? cell_real(v) : cell_text(page_keep(t, text));
}

static bool is_numeric(const struct page_table *t, size_t column)
{
    for (size_t i = 0; i < t->rows.n; i++) {
        const struct cell *c = (const struct cell *)table_row(&t->rows, i) + column;
        if (c->kind == CELL_TEXT)
            return false;
    }
    return true;
}

/* BASE.tsv as a table under the chart: for screen readers, and to copy. */
static void add_data(struct page *p, const struct draw *x, const char *id)
{
    char path[4200], data_id[64], *field[DATA_COLUMNS];
    char *line = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s.tsv", x->base);
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    snprintf(data_id, sizeof data_id, "%.24s-data", id);
    struct page_table *t = NULL;
    size_t n = 0;
    while (getline(&line, &size, f) > 0) {
        line[strcspn(line, "\n")] = 0;
        const size_t n_field = split(line, field);
        if (!t) {
            n = n_field;
            page_add(p, PAGE_TABLE, data_id)->wide = true;
            page_say(p, "Data of the chart above");
            t = page_cells(p, n);
            t->folded = true;
            for (size_t k = 0; k < n; k++)
                page_column(t, k, field[k], COL_FLOAT, NULL, "SI units");
        } else if (t->rows.n < DATA_ROWS && n_field > 1) {
            struct cell *c = table_add(&t->rows);
            for (size_t k = 0; k < n && k < n_field; k++)
                c[k] = data_cell(t, field[k]);
        } else {
            t->n_left_out += n_field > 1;
        }
    }
    for (size_t k = 0; t && k < n; k++)
        if (!is_numeric(t, k))
            t->col[k].style = COL_TEXT;
    free(line);
    fclose(f);
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
            page_say(p, " %.*s%s", (int)n, s, strchr(".!?", s[n - 1]) ? "" : ".");
        s += n + (s[n] == '\n');
    }
}

static void add_chart(struct page *p, struct draw *x, size_t chart, const char *folder, const char *base)
{
    char id[64];
    struct error why = { 0 };
    const char *file = x->d->r->file[x->file].name;
    snprintf(id, sizeof id, "%s-%zu", charts[chart].id, x->file + 1);
    snprintf(x->base, sizeof x->base, "%.3000s%s%s", base ? base : folder, base ? "-" : "/", id);
    const int rc = charts[chart].draw(x, &why);
    struct page_block *b = page_add(p, PAGE_CHART, id);
    if (rc == 0 && base)
        snprintf(b->chart.file, sizeof b->chart.file, "%.60s-%.40s.svg", name_of(base), id);
    if (rc == 0 && (base || take_picture(p, b, x, &why) == 0)) {
        page_say(p, "%s. %s.", charts[chart].caption, file);
        say_notes(p, &x->notes);
        if (!base)
            add_data(p, x, id);
    } else {
        page_say(p, "%s of %s: no picture: %s.", charts[chart].caption, file, why.msg);
    }
    x->notes.len = 0;
}

void html_add_charts(struct page *p, const struct html_data *d, const char *base)
{
    struct folder folder = { .lock = -1 };
    struct error why = { 0 };
    struct draw *x = calloc(1, sizeof *x);
    if (!x)
        interrupt_end_without_memory();
    x->d = d;
    page_add(p, PAGE_SECTION, "charts");
    page_say(p, "Charts");
    if (!base && folder_open(&folder, &why) != 0) {
        page_add(p, PAGE_TEXT, "");
        page_say(p, "Unavailable: %s.", why.msg);
    }
    for (size_t i = 0; i < d->r->n && (base || folder.lock >= 0); i++)
        for (size_t k = 0; k < ARRAY_LEN(charts); k++)
            if (charts[k].kind == d->r->file[i].kind && (!charts[k].needs_hw || d->r->hw) && !interrupt_pending()) {
                x->file = i;
                add_chart(p, x, k, folder.path, base);
            }
    folder_close(&folder);
    strbuf_free(&x->notes);
    free(x);
}
