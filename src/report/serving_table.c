/* Figures of a simulation as tables and documents. */
#include "report/output.h"
#include "report/serving_saved.h"
#include <math.h>
#include <string.h>

/* ---- a row a figure --------------------------------------------------------------------------------------- */

struct value_row {
    const char *key, *name, *unit, *reason, *model_reason;
    struct sampled v;
    struct model_spread model;
};

#define AT(m) COLUMN_AT(struct value_row, m)
static const struct column value_columns[] = {
    { "figure", NULL, COL_TEXT, NULL, COL_DATA, AT(key), EMPTY_VALUE, NULL, "of times: metric and statistic, `ttft_p99`; `ttft`: first token since sent; `itl`: "
      "gaps between tokens, all requests' pooled, one a step; `tpot`: (last token - first) / (output tokens - 1); `e2e`: last token since sent; `queue`: "
      "admitted since sent; `client_queue`: sent since due; `e2e_client`: last token since due; `std`: of the population" },
    { "name", "figure", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, "for people" },
    { "value", "value", COL_FLOAT, NULL, COL_KEY, AT(v.value), EMPTY_NULL, NULL, "in `unit`" },
    { "unit", "unit", COL_TEXT, NULL, COL_MAJOR, AT(unit), EMPTY_NULL, NULL, "null: a number" },
    { "lo", "low", COL_FLOAT, NULL, COL_MAJOR, AT(v.lo), EMPTY_NULL, NULL, "90 % interval by chance alone, which more requests narrow" },
    { "hi", "high", COL_FLOAT, NULL, COL_MAJOR, AT(v.hi), EMPTY_NULL, NULL, NULL },
    { "n_eff", NULL, COL_FLOAT, NULL, COL_DATA, AT(v.n_eff), EMPTY_NULL, NULL, "independent values that would tell as much" },
    { "reason", NULL, COL_TEXT, NULL, COL_DATA, AT(reason), EMPTY_NULL, NULL, "why the figure or its interval is null, or the interval too narrow" },
    { "model_lo", "model low", COL_FLOAT, NULL, COL_MEDIUM, AT(model.lo), EMPTY_NULL, NULL, "5 %, 50 % and 95 % point over draws of the step's times: what is not "
      "known of the machine and its software, which more requests do not narrow" },
    { "model_mid", NULL, COL_FLOAT, NULL, COL_DATA, AT(model.mid), EMPTY_NULL, NULL, NULL },
    { "model_hi", "model high", COL_FLOAT, NULL, COL_MEDIUM, AT(model.hi), EMPTY_NULL, NULL, NULL },
    { "model_reason", NULL, COL_TEXT, NULL, COL_DATA, AT(model_reason), EMPTY_NULL, NULL, "why these are null" },
};
#undef AT
const struct table_fields serving_fields = { "simulate.row", value_columns, ARRAY_LEN(value_columns) };

/* Figures that answer a question by themselves; the others are for --wide. */
static const int first_values[] = {
    VALUE_REQUEST_S, VALUE_IN_TOK_S, VALUE_OUT_TOK_S, VALUE_USER_TOK_S, VALUE_SLO_SHARE, VALUE_GOODPUT_REQUEST_S, VALUE_BATCH,
    VALUE_WAITING, VALUE_BUSY, VALUE_KV, VALUE_PREEMPTIONS, VALUE_HIT, VALUE_HIT_INFINITE, VALUE_ACCEPTANCE, VALUE_ACCEPTED_LENGTH,
};

/* Such a figure, unless it says that nothing happened. */
static bool is_first(const struct serve_metrics *m, int v)
{
    bool first = false;
    for (size_t i = 0; i < ARRAY_LEN(first_values); i++)
        first |= first_values[i] == v;
    if (v == VALUE_PREEMPTIONS)
        return m->v[v].value > 0;
    return v == VALUE_HIT || v == VALUE_HIT_INFINITE ? m->v[VALUE_HIT_INFINITE].value > 0 || m->v[VALUE_HIT].value > 0 : first;
}

/* An interval by a normal approximation may leave what a figure can be: from 0, of fractions up to 1. */
static struct sampled possible(struct sampled v, const char *unit)
{
    v.lo = v.lo < 0 ? 0 : v.lo;
    v.hi = unit && strcmp(unit, "fraction") == 0 && v.hi > 1 ? 1 : v.hi;
    return v;
}

enum which_values { VALUES_ALL, VALUES_KNOWN, VALUES_FIRST };

/* Returns how many known ones are left out. */
static size_t add_values(struct table_rows *rows, const struct serve_study *s, int from, enum which_values which)
{
    char buf[48];
    size_t n_left = 0;
    for (int v = from; v < SERVE_VALUES; v++) {
        const struct serve_value_info info = serve_value_info(v, buf);
        if (which != VALUES_ALL && isnan(s->m.v[v].value))
            continue;
        if (which == VALUES_FIRST && !is_first(&s->m, v)) {
            n_left++;
            continue;
        }
        struct value_row *w = table_add(rows);
        w->v = possible(s->m.v[v], info.unit);
        w->model = s->model[v];
        w->reason = w->v.reason;
        w->model_reason = w->model.reason;
        w->unit = info.unit;
        w->key = table_text(rows, info.key);
        w->name = table_text(rows, info.name);
    }
    return n_left;
}

/* ---- times: a row a metric ---------------------------------------------------------------------------------- */

struct time_row {
    const char *name;
    struct sampled v[SERVE_STATS];
    struct model_spread p99;
};

#define AT(m) COLUMN_AT(struct time_row, m)
static const struct column time_columns[] = {
    { "metric", "time", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, NULL },
    { "mean", "mean", COL_SECONDS, "s", COL_KEY, AT(v[STAT_MEAN].value), EMPTY_NULL, NULL, NULL },
    { "mean_lo", "mean low", COL_SECONDS, "s", COL_MINOR, AT(v[STAT_MEAN].lo), EMPTY_NULL, NULL, NULL },
    { "mean_hi", "mean high", COL_SECONDS, "s", COL_MINOR, AT(v[STAT_MEAN].hi), EMPTY_NULL, NULL, NULL },
    { "p50", "p50", COL_SECONDS, "s", COL_KEY, AT(v[STAT_P50].value), EMPTY_NULL, NULL, NULL },
    { "p90", "p90", COL_SECONDS, "s", COL_MAJOR, AT(v[STAT_P90].value), EMPTY_NULL, NULL, NULL },
    { "p95", "p95", COL_SECONDS, "s", COL_MAJOR, AT(v[STAT_P95].value), EMPTY_NULL, NULL, NULL },
    { "p99", "p99", COL_SECONDS, "s", COL_KEY, AT(v[STAT_P99].value), EMPTY_NULL, NULL, NULL },
    { "p99_lo", "p99 low", COL_SECONDS, "s", COL_MEDIUM, AT(v[STAT_P99].lo), EMPTY_NULL, NULL, NULL },
    { "p99_hi", "p99 high", COL_SECONDS, "s", COL_MEDIUM, AT(v[STAT_P99].hi), EMPTY_NULL, NULL, NULL },
    { "p99_model_lo", "p99 model low", COL_SECONDS, "s", COL_MEDIUM, AT(p99.lo), EMPTY_NULL, NULL, NULL },
    { "p99_model_hi", "p99 model high", COL_SECONDS, "s", COL_MEDIUM, AT(p99.hi), EMPTY_NULL, NULL, NULL },
};
#undef AT

/* Metrics that differ from others: the client's queue only where it holds requests back. */
static bool time_shown(const struct serve_metrics *m, int metric)
{
    if (metric == SERVE_CLIENT_QUEUE || metric == SERVE_E2E_CLIENT)
        return m->v[serve_time(SERVE_CLIENT_QUEUE, STAT_MEAN)].value > 0;
    return !isnan(m->v[serve_time((enum serve_metric)metric, STAT_MEAN)].value);
}

static int print_times(FILE *f, enum report_format format, const struct serve_study *s, size_t width, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct time_row) };
    struct column cols[ARRAY_LEN(time_columns)];
    const struct table t = { "roofcast.simulate.times", 1, NULL, cols, ARRAY_LEN(cols), &rows, NULL };
    memcpy(cols, time_columns, sizeof cols);
    if (s->n_draw == 0)
        columns_rank(cols, ARRAY_LEN(cols), "p99_model_lo p99_model_hi", COL_DATA);
    for (int m = 0; m < SERVE_METRICS; m++) {
        if (!time_shown(&s->m, m))
            continue;
        struct time_row *w = table_add(&rows);
        w->name = serve_metric_name((enum serve_metric)m);
        memcpy(w->v, &s->m.v[serve_time((enum serve_metric)m, STAT_MEAN)], sizeof w->v);
        w->p99 = s->model[serve_time((enum serve_metric)m, STAT_P99)];
    }
    const int rc = report_print(f, format, &t, width, err);
    table_rows_free(&rows);
    return rc;
}

/* ---- reasons, once each ------------------------------------------------------------------------------------------ */

static void add_reasons(struct strbuf *b, const struct serve_metrics *m)
{
    const char *said[SERVE_VALUES];
    size_t n = 0;
    for (int v = 0; v < VALUE_DURATION; v++) {
        const struct sampled *e = &m->v[v];
        bool old = !e->reason || isnan(e->value) || v % SERVE_STATS == STAT_STD;
        for (size_t i = 0; i < n; i++)
            old |= strcmp(said[i], e->reason ? e->reason : "") == 0;
        if (old)
            continue;
        said[n++] = e->reason;
        char buf[48];
        strbuf_addf(b, "%s: %s.\n", serve_value_info(v, buf).key, e->reason);
    }
    const double n_eff = m->v[serve_time(SERVE_TTFT, STAT_MEAN)].n_eff;
    if (n_eff < 100 && n_eff < (double)m->n / 2)
        strbuf_addf(b, "%zu requests tell as much of the mean TTFT as %.0f independent ones: those that queue together wait alike.\n", m->n, n_eff);
    if (m->n_warmup > 0)
        strbuf_addf(b, "The first %zu requests are left out as warm-up (MSER-5 on TTFT).\n", m->n_warmup);
    if (m->warmup_unsteady)
        strbuf_adds(b, "No warm-up is left out: TTFT has no steady part (MSER-5).\n");
    if (m->n_failed > 0)
        strbuf_addf(b, "%zu requests were refused or have no token, and are in no figure.\n", m->n_failed);
}

/* ---- documents ------------------------------------------------------------------------------------------------------ */

static const char *verdict_key(enum serve_verdict v)
{
    static const char *const keys[] = { [SERVE_STABLE] = "stable", [SERVE_SATURATED] = "saturated", [SERVE_BURST] = "burst", [SERVE_SHORT] = "short" };
    return keys[v];
}

static json_t *slo_json(const struct serve_study *s)
{
    const struct serve_metrics *m = &s->m;
    json_t *limits = json_array();
    if (!m->has_slo) {
        json_decref(limits);
        return json_null();
    }
    for (size_t i = 0; i < m->slo.n; i++)
        json_array_append_new(limits, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:b}", "metric", serve_metric_key(m->slo.limit[i].metric), "limit_s",
                                                json_num(m->slo.limit[i].limit_s), "value_s", json_num(m->good[i].value_s), "share", json_num(m->good[i].share),
                                                "request_goodput", json_num(m->good[i].request_s), "token_goodput", json_num(m->good[i].tok_s), "met", m->good[i].met));
    return json_pack("{s:s, s:s, s:o, s:b, s:o, s:o}", "text", m->slo.text, "reading", ((const char *[]){ "joint", "percentile", "mean" })[m->slo.reading],
                     "share", json_num(m->slo.share), "met", m->met, "probability", json_num(s->p_slo), "limits", limits);
}

static json_t *meta_json(const struct serving_subject *x, const char *summary)
{
    const struct serve_study *s = x->study;
    const struct serve_stability *y = &s->m.stability;
    json_t *stability = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "verdict", verdict_key(y->verdict), "offered_tok_s", json_num(y->offered_tok_s),
                                  "served_tok_s", json_num(y->served_tok_s), "backlog_request_s", json_num(y->backlog_request_s), "p_saturated",
                                  json_num(s->p_saturated), "queue_by_thirds",
                                  json_pack("[o, o, o]", json_num(y->queue[0]), json_num(y->queue[1]), json_num(y->queue[2])));
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "summary", json_text(summary), "model", x->model ? json_text(x->model) : json_null(),
                     "hw", x->hw ? json_text(x->hw) : json_null(), "constants", x->constants ? json_text(x->constants) : json_null(), "policy", x->options->policy->name, "workload", json_text(x->w->name), "requests",
                     (json_int_t)s->m.n, "failed", (json_int_t)s->m.n_failed, "runs", (json_int_t)s->n_run, "draws", (json_int_t)s->n_draw, "stability", stability,
                     "slo", slo_json(s), "timeline", serving_timeline_json(x));
}

static int print_people(FILE *f, enum report_format format, const struct serving_subject *s, const char *summary, struct error *err)
{
    const size_t width = format == REPORT_TABLE ? report_width(f) : 0;
    struct table_rows rows = { .size = sizeof(struct value_row) };
    struct column cols[ARRAY_LEN(value_columns)];
    const struct table t = { "roofcast.simulate", 1, NULL, cols, ARRAY_LEN(cols), &rows, NULL };
    struct strbuf text = { 0 }, notes = { 0 };
    memcpy(cols, value_columns, sizeof cols);
    if (s->study->n_draw == 0)
        columns_rank(cols, ARRAY_LEN(cols), "model_lo model_hi", COL_DATA);
    report_wrap(&text, summary, width, 0);
    strbuf_adds(&text, "\n");
    add_reasons(&notes, &s->study->m);
    const size_t n_left = add_values(&rows, s->study, VALUE_DURATION, report_wide() ? VALUES_KNOWN : VALUES_FIRST);
    const char *first = strbuf_text(&text, "the summary", err), *last = first ? strbuf_text(&notes, "the notes", err) : NULL;
    int rc = first && last && fputs(first, f) >= 0 ? print_times(f, format, s->study, width, err) : -1;
    if (rc == 0 && fputs("\n", f) >= 0)
        rc = report_print(f, format, &t, width, err);
    if (rc == 0 && n_left > 0)
        fprintf(f, "(%zu more figures with --wide, all with -o csv or json)\n", n_left);
    if (rc == 0 && *last)
        fprintf(f, "\n%s", last);
    strbuf_free(&text);
    strbuf_free(&notes);
    table_rows_free(&rows);
    return rc;
}

static int print_data(FILE *f, enum report_format format, const struct serving_subject *s, const char *summary, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct value_row) };
    json_t *meta = meta_json(s, summary);
    const struct table t = { "roofcast.simulate", 1, meta, value_columns, ARRAY_LEN(value_columns), &rows, NULL };
    if (!meta)
        return error_oom(err, 0, "the figures of a simulation");
    (void)add_values(&rows, s->study, 0, VALUES_ALL);
    int rc = format == REPORT_JSON ? serving_saved_add(meta, s, err) : 0;
    rc = rc ? rc : report_print(f, format, &t, 0, err);
    json_decref(meta);
    table_rows_free(&rows);
    return rc;
}

int serving_print(const char *path, enum report_format format, const struct serving_subject *s, struct error *err)
{
    struct strbuf text = { 0 };
    struct outfile o;
    serving_add_summary(&text, s);
    const char *summary = strbuf_text(&text, "the summary", err);
    int rc = summary ? outfile_open(&o, path ? path : "-", err) : -1;
    if (rc == 0) {
        const bool people = format == REPORT_TABLE || format == REPORT_MD;
        rc = outfile_end(&o, (people ? print_people : print_data)(o.f, format, s, summary, err), err);
    }
    strbuf_free(&text);
    return rc;
}
