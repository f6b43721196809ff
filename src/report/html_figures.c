/* Figures of a run of a server, named and with units as `roofcast simulate` prints them: a table of times, and one of all others. */
#include "report/html_internal.h"
#include "serving/metrics.h"
#include <math.h>
#include <string.h>

enum { FIGURE_ROWS = 500 };

/* The row of a figure, "ttft_p99"; NULL: none. */
static const json_t *find_figure(const json_t *rows, const char *key)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strcmp(json_find_text(json_array_get(rows, i), "figure"), key) == 0)
            return json_array_get(rows, i);
    return NULL;
}

/* ---- times ------------------------------------------------------------------------------------------------------------ */

static const struct time_column {
    const char *stat, *field, *header, *help;
} time_columns[] = {
    { "mean", "value", "mean", "over all requests that were answered; of ITL over all gaps between tokens" },
    { "mean", "lo", "mean low", "90 % sampling interval: more requests narrow it" },
    { "mean", "hi", "mean high", "90 % sampling interval: more requests narrow it" },
    { "p50", "value", "p50", "median" },
    { "p90", "value", "p90", "90 % are shorter" },
    { "p95", "value", "p95", "95 % are shorter" },
    { "p99", "value", "p99", "99 % are shorter" },
    { "p99", "model_lo", "p99, model low", "90 % interval of the predicted step time: more requests do not narrow it" },
    { "p99", "model_hi", "p99, model high", "90 % interval of the predicted step time: more requests do not narrow it" },
};

/* The client's queue only where it holds requests back. */
static bool is_shown(const json_t *rows, int metric)
{
    char key[48];
    snprintf(key, sizeof key, "%s_mean", serve_metric_key(metric == SERVE_E2E_CLIENT ? SERVE_CLIENT_QUEUE : (enum serve_metric)metric));
    const double v = json_find_number(find_figure(rows, key), "value");
    return metric == SERVE_CLIENT_QUEUE || metric == SERVE_E2E_CLIENT ? v > 0 : !isnan(v);
}

static void add_times(struct page *p, const struct html_data *d, size_t file)
{
    const json_t *rows = json_object_get(d->r->file[file].doc, "rows");
    char id[64];
    snprintf(id, sizeof id, "times-%zu", file + 1);
    page_add(p, PAGE_TABLE, id);
    page_say(p, "Times of %s. TTFT: time to first token, from sending a request; ITL: inter-token latency, the gaps between tokens; TPOT: time per output token of a request; "
             "E2E: until its last token", d->r->file[file].name);
    struct page_table *t = page_cells(p, 1 + ARRAY_LEN(time_columns));
    page_column(t, 0, "time", COL_TEXT, NULL, "what is timed");
    for (size_t k = 0; k < ARRAY_LEN(time_columns); k++)
        page_column(t, k + 1, time_columns[k].header, COL_SECONDS, NULL, time_columns[k].help);
    for (int m = 0; m < SERVE_METRICS; m++) {
        if (!is_shown(rows, m))
            continue;
        struct cell *c = table_add(&t->rows);
        c[0] = cell_text(page_keep(t, serve_metric_name((enum serve_metric)m)));
        for (size_t k = 0; k < ARRAY_LEN(time_columns); k++) {
            char key[48];
            snprintf(key, sizeof key, "%s_%s", serve_metric_key((enum serve_metric)m), time_columns[k].stat);
            c[k + 1] = cell_real(json_find_number(find_figure(rows, key), time_columns[k].field));
        }
    }
}

/* ---- others ----------------------------------------------------------------------------------------------------------- */

/* A time of a metric, which the other table has. */
static bool is_time(const char *figure)
{
    for (int m = 0; m < SERVE_METRICS; m++) {
        const char *key = serve_metric_key((enum serve_metric)m);
        const size_t n = strlen(key);
        if (strncmp(figure, key, n) == 0 && figure[n] == '_' && strchr("mps", figure[n + 1]) && !strchr(figure + n + 1, '_'))
            return true;
    }
    return false;
}

/* "11.2 %", "256 s", "3.91 requests/s"; of the ends of an interval without other units. */
static const char *value_text(struct page_table *t, double v, const char *unit, bool is_end)
{
    char text[96];
    if (isnan(v))
        return NULL;
    if (strcmp(unit, "fraction") == 0)
        snprintf(text, sizeof text, "%.1f %%", 100 * v);
    else if (strcmp(unit, "s") == 0)
        units_si(text, sizeof text, v, "s");
    else
        snprintf(text, sizeof text, fabs(v) >= 99.95 || v == rint(v) ? "%.0f%s%.40s" : "%#.3g%s%.40s", v, *unit && !is_end ? " " : "", is_end ? "" : unit);
    return page_keep(t, text);
}

static void add_others(struct page *p, const struct html_data *d, size_t file)
{
    static const char *const cols[][3] = { { "", "figure", "what is counted or averaged" },
                                           { "value", "value", "of the run" },
                                           { "lo", "low", "90 % sampling interval: more requests narrow it" },
                                           { "hi", "high", "90 % sampling interval: more requests narrow it" },
                                           { "model_lo", "model low", "90 % interval of the predicted step time: more requests do not narrow it" },
                                           { "model_hi", "model high", "90 % interval of the predicted step time: more requests do not narrow it" },
                                           { "", "why no interval", "why there is no sampling interval" } };
    const json_t *rows = json_object_get(d->r->file[file].doc, "rows");
    char id[64];
    snprintf(id, sizeof id, "figures-%zu", file + 1);
    page_add(p, PAGE_TABLE, id);
    page_say(p, "Figures of %s", d->r->file[file].name);
    struct page_table *t = page_cells(p, ARRAY_LEN(cols));
    for (size_t k = 0; k < ARRAY_LEN(cols); k++)
        page_column(t, k, cols[k][1], COL_TEXT, NULL, cols[k][2]);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const double v = json_find_number(row, "value");
        if (isnan(v) || is_time(json_find_text(row, "figure")))
            continue;
        if (t->rows.n == FIGURE_ROWS) {
            t->n_left_out++;
            continue;
        }
        struct cell *c = table_add(&t->rows);
        c[0] = cell_text(page_keep(t, json_find_text(row, *json_find_text(row, "name") ? "name" : "figure")));
        for (size_t k = 1; k + 1 < ARRAY_LEN(cols); k++)
            c[k] = cell_text(value_text(t, json_find_number(row, cols[k][0]), json_find_text(row, "unit"), k > 1));
        c[ARRAY_LEN(cols) - 1] = cell_text(*json_find_text(row, "reason") ? page_keep(t, json_find_text(row, "reason")) : NULL);
    }
    t->filter = t->rows.n > 12;
}

void html_add_served(struct page *p, const struct html_data *d, size_t file)
{
    add_times(p, d, file);
    add_others(p, d, file);
}
