#include "cli/capacity.h"
#include "cli/cli.h"
#include "report/serving_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = CLI_PATH };

/* BASE-what, with the template of that name; c's texts. */
static int begin(struct serving_chart *x, char style[PATH_SIZE], char base[PATH_SIZE], const char *out, const char *what, struct error *err)
{
    *x = (struct serving_chart){ .style = style, .out_base = base };
    char ending[32];
    snprintf(ending, sizeof ending, "-%s", what);
    return cli_chart_files(style, base, out, what, ending, err);
}

static void say_notes(struct strbuf *notes, int rc)
{
    if (rc == 0 && notes->len > 0)
        notify_note("%s", notes->s);
    strbuf_free(notes);
}

int capacity_draw_pareto(const char *base, const struct table_rows *rows, const struct serving_cli *c, struct error *err)
{
    char style[PATH_SIZE], path[PATH_SIZE];
    struct serving_chart chart;
    struct strbuf notes = { 0 };
    struct serving_config *x = calloc(rows->n, sizeof *x);
    size_t n = 0;
    if (!x)
        return error_oom(err, rows->n * sizeof *x, "a chart");
    for (size_t i = 0; i < rows->n; i++) {
        const struct capacity_row *r = table_row(rows, i);
        if (!(r->device_tok_s > 0))
            continue;
        x[n] = (struct serving_config){ .user_tok_s = r->c.at.user_tok_s, .device_tok_s = r->device_tok_s,
                                        .device_lo = r->device_tok_s * r->rate_90 / r->c.rate, .device_hi = r->device_tok_s * r->rate_10 / r->c.rate };
        snprintf(x[n++].group, sizeof x->group, "%.60s", r->hw);
    }
    int rc = begin(&chart, style, path, base, "pareto", err);
    snprintf(chart.title, sizeof chart.title, "%.60s: %.90s", ((const struct capacity_row *)table_row(rows, 0))->model, c->slo.text);
    snprintf(chart.subtitle, sizeof chart.subtitle, "%.160s; bars: probability 0.9 to 0.1 of meeting the objective", c->workload);
    if (rc == 0 && n == 0)
        notify_note("no deployment meets the objective: no chart");
    else if (rc == 0)
        rc = serving_chart_pareto(&chart, x, n, &notes, err);
    say_notes(&notes, rc);
    free(x);
    return rc;
}

/* ---- against the rate ------------------------------------------------------------------------------------------------- */

/* 10 %, 20 %, ... of the highest rate, up to half as much again where the server keeps up. */
enum { TENTHS = 15 };

static size_t rates(struct capacity_point *p, const struct capacity *c)
{
    size_t n = 0;
    for (int i = 1; i <= TENTHS; i++)
        if (i <= 10 || 0.1 * i * c->rate <= c->saturation)
            p[n++] = (struct capacity_point){ .rate = 0.1 * i * c->rate };
    return n;
}

static double limit_of(const struct serve_slo *slo, enum serve_metric m)
{
    for (size_t i = 0; i < slo->n; i++)
        if (slo->limit[i].metric == m)
            return slo->limit[i].limit_s;
    return NAN;
}

static int draw_points(const char *base, const struct capacity_row *row, const struct capacity_point *p, size_t n, double q, const struct serving_cli *c,
                       struct error *err)
{
    char style[PATH_SIZE], path[PATH_SIZE];
    struct serving_chart chart;
    struct strbuf notes = { 0 };
    struct serving_rate ttft[TENTHS], itl[TENTHS];
    struct serving_rate_line line[] = { { .point = ttft, .n = n, .limit_s = limit_of(&c->slo, SERVE_TTFT) },
                                        { .point = itl, .n = n, .limit_s = limit_of(&c->slo, SERVE_ITL) } };
    for (size_t i = 0; i < n; i++) {
        ttft[i] = (struct serving_rate){ p[i].rate, p[i].ttft_s, p[i].ttft_lo_s, p[i].ttft_hi_s };
        itl[i] = (struct serving_rate){ p[i].rate, p[i].itl_s, p[i].itl_lo_s, p[i].itl_hi_s };
    }
    snprintf(line[0].label, sizeof line[0].label, "TTFT p%g", 100 * q);
    snprintf(line[1].label, sizeof line[1].label, "ITL p%g", 100 * q);
    int rc = begin(&chart, style, path, base, "rates", err);
    snprintf(chart.title, sizeof chart.title, "%.40s, %.16s on %.40s, %.24s", row->model, row->type, row->hw, row->layout);
    snprintf(chart.subtitle, sizeof chart.subtitle, "%.120s; %.90s; band: 90 %% of the draws", c->workload, c->slo.text);
    if (rc == 0)
        rc = serving_chart_rates(&chart, line, ARRAY_LEN(line), NAN, &notes, err);
    say_notes(&notes, rc);
    return rc;
}

int capacity_draw_rates(const char *base, const struct capacity_row *row, const struct campaign *k, size_t cell, const struct serving_cli *c, struct error *err)
{
    const struct campaign_cell *x = &k->cell[cell];
    struct capacity_point p[TENTHS];
    const size_t n = rates(p, &row->c);
    const double q = c->slo.reading == SLO_PERCENTILE ? c->slo.share : 0.99;
    struct deployment *d = malloc(sizeof *d);
    if (!(row->c.rate > 0)) {
        free(d);
        return 0;
    }
    if (!d)
        return error_oom(err, sizeof *d, "a deployment");
    int rc = deployment_init(d, x->classes, x->h, &x->predict, &x->deploy, k->w, err);
    if (rc == 0) {
        const struct serve_options run = serving_run_options(c, d);
        rc = capacity_curve(p, n, q, d, k->w, &run, k->search, err);
        deployment_free(d);
    }
    free(d);
    return rc == 0 ? draw_points(base, row, p, n, q, c, err) : -1;
}
