/* Charts of a server's runs, from the files that serve and simulate save. */
#include "report/plot_kinds.h"
#include "report/serving_saved.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = PLOT_FILES + 1 };

struct runs {
    struct serving_saved at[RUNS];
    size_t n;
};

static void runs_free(struct runs *r)
{
    for (size_t i = 0; i < r->n; i++)
        serving_saved_free(&r->at[i]);
    free(r);
}

static int load(struct runs **out, const struct plot_options *o, struct error *err)
{
    struct runs *r = calloc(1, sizeof *r);
    if (!r)
        return error_oom(err, sizeof *r, "runs of a server");
    for (size_t i = 0; i <= o->n_more; i++) {
        if (serving_saved_load(&r->at[i], i ? o->more[i - 1] : o->doc, err) != 0) {
            runs_free(r);
            return -1;
        }
        r->n++;
    }
    *out = r;
    return 0;
}

/* ---- names and texts ---------------------------------------------------------------------------------------------- */

static double setting(const struct serving_saved *s, const char *key)
{
    return json_find_number(s->settings, key);
}

static bool differ(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") != 0;
}

/* What tells a run apart from the others: machine, measured or simulated, policy, rate, else its number. */
static void name_of(char *buf, size_t n, const struct runs *r, size_t i)
{
    const struct serving_saved *s = &r->at[i];
    const double own_rate = setting(s, "rate");
    bool hw = false, policy = false, rate = false, measured = false;
    for (size_t k = 0; k < r->n; k++) {
        hw |= differ(r->at[k].hw, s->hw);
        policy |= differ(r->at[k].policy, s->policy);
        rate |= setting(&r->at[k], "rate") != own_rate; /* NaN: a run without a rate */
        measured |= r->at[k].measured != s->measured;
    }
    if (hw)
        snprintf(buf, n, "%.20s", s->hw ? s->hw : "a machine");
    else if (measured)
        snprintf(buf, n, "%s", s->measured ? "measured" : "simulated");
    else if (policy)
        snprintf(buf, n, "%.20s", s->policy);
    else if (rate && isfinite(own_rate))
        snprintf(buf, n, "%.3g/s", own_rate);
    else
        snprintf(buf, n, "run %zu", i + 1);
}

static void titles(struct curve_chart *c, const struct plot_options *o, const struct serving_saved *s)
{
    if (o->title)
        snprintf(c->title, sizeof c->title, "%.150s", o->title);
    else
        snprintf(c->title, sizeof c->title, "%.60s on %.60s", s->model ? s->model : "A model", s->hw ? s->hw : "a machine");
    snprintf(c->subtitle, sizeof c->subtitle, "%.120s, %.60s, %s", s->workload, s->policy, s->measured ? "measured" : "simulated");
}

/* Of several runs: what they share. */
static void titles_of_all(struct curve_chart *c, const struct plot_options *o, const struct runs *r)
{
    const struct serving_saved *a = &r->at[0];
    bool subject = true, workload = true, policy = true, measured = true;
    for (size_t i = 1; i < r->n; i++) {
        subject &= !differ(a->model, r->at[i].model) && !differ(a->hw, r->at[i].hw);
        workload &= !differ(a->workload, r->at[i].workload);
        policy &= !differ(a->policy, r->at[i].policy);
        measured &= a->measured == r->at[i].measured;
    }
    titles(c, o, a);
    if (!subject && !o->title)
        snprintf(c->title, sizeof c->title, "%zu runs", r->n);
    snprintf(c->subtitle, sizeof c->subtitle, "%.120s%s%.60s, %s", workload ? a->workload : "several workloads", policy ? ", " : "", policy ? a->policy : "",
             !measured ? "measured and simulated" : a->measured ? "measured" : "simulated");
}

static void name_axis(struct chart_axis *a, const char *title, const char *unit)
{
    snprintf(a->title, sizeof a->title, "%s", title);
    snprintf(a->unit, sizeof a->unit, "%s", unit);
}

static void put(struct chart_series *v, double x, double y, double lo, double hi)
{
    v->point[v->n_point++] = (struct hw_point){ .x = x, .value = y, .ci_lo = lo, .ci_hi = hi, .n_samples = 1 };
}

/* Of values above 0, with their intervals. */
static bool span(const struct curve_chart *c, double *lo, double *hi)
{
    *lo = INFINITY;
    *hi = 0;
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n_point; k++) {
            const struct hw_point *p = &c->series[i].point[k];
            const double v[] = { p->value, p->ci_lo, p->ci_hi };
            for (size_t j = 0; j < ARRAY_LEN(v); j++)
                if (v[j] > 0 && isfinite(v[j])) {
                    *lo = fmin(*lo, v[j]);
                    *hi = fmax(*hi, v[j]);
                }
        }
    return *hi > 0;
}

static int finish(struct curve_chart *c, struct runs *r, int rc, const struct plot_options *o, struct strbuf *notes, struct error *err)
{
    rc = rc ? rc : chart_curves(c, o->out, notes, err);
    curve_chart_free(c);
    runs_free(r);
    return rc;
}

/* ---- steps --------------------------------------------------------------------------------------------------------- */

int plot_steps(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct runs *r;
    struct curve_chart c = { 0 };
    struct serving_chart to = { .style = style, .out_base = o->out, .formats = o->formats };
    struct serving_steps steps[RUNS];
    char name[RUNS][24];
    (void)s;
    if (load(&r, o, err) != 0)
        return -1;
    titles_of_all(&c, o, r);
    snprintf(to.title, sizeof to.title, "%s", c.title);
    snprintf(to.subtitle, sizeof to.subtitle, "%s", c.subtitle);
    for (size_t i = 0; i < r->n; i++) {
        name_of(name[i], sizeof name[i], r, i);
        steps[i] = (struct serving_steps){ name[i], &r->at[i].steps, r->at[i].memory_bytes_s, r->at[i].flop_s };
    }
    const int rc = serving_chart_steps(&to, steps, r->n, notes, err);
    runs_free(r);
    return rc;
}

/* ---- latencies ------------------------------------------------------------------------------------------------------ */

static int add_cdf(struct curve_chart *c, const struct runs *r, size_t run, int metric, size_t like, struct error *err)
{
    const struct cdf *d = &r->at[run].cdf[metric];
    char label[64], name[32];
    name_of(name, sizeof name, r, run);
    snprintf(label, sizeof label, "%s%s%s", serve_metric_name(serving_saved_metric(metric)), r->n > 1 ? ", " : "", r->n > 1 ? name : "");
    struct chart_series *v = curve_add_series(c, d->n, label, err);
    for (size_t i = 0; v && i < d->n; i++)
        put(v, fmax(d->p[i].s, 1e-6), d->p[i].share, NAN, NAN); /* the axis is logarithmic */
    if (v) {
        v->smooth = true;
        v->like = like;
    }
    return v ? 0 : -1;
}

int plot_latencies(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct runs *r;
    struct curve_chart c = { .style = style, .formats = o->formats };
    size_t first[SAVED_CDFS] = { 0 };
    double lo = INFINITY, hi = 0;
    int rc = 0;
    (void)s;
    if (load(&r, o, err) != 0)
        return -1;
    if (r->n > 2)
        rc = error_set(err, ERROR_USAGE, "--chart latencies: expected one run or two, found %zu", r->n);
    for (size_t run = 0; run < r->n && rc == 0; run++)
        for (int m = 0; m < SAVED_CDFS && rc == 0; m++) {
            const struct cdf *d = &r->at[run].cdf[m];
            if (d->n == 0)
                continue;
            rc = add_cdf(&c, r, run, m, run ? first[m] : 0, err);
            first[m] = run ? first[m] : c.n_series;
            for (size_t i = 0; i < d->n; i++) {
                lo = fmin(lo, fmax(d->p[i].s, 1e-6));
                hi = fmax(hi, d->p[i].s);
            }
        }
    if (rc == 0 && c.n_series == 0)
        rc = error_set(err, ERROR_INPUT, "%s: no distribution of times in it", o->doc);
    titles(&c, o, &r->at[0]);
    axis_decades(&c.x, lo, hi);
    axis_linear(&c.y, 1);
    name_axis(&c.x, "Time [s]", "s");
    name_axis(&c.y, "Share of requests (ITL: of gaps) within the time", "");
    return finish(&c, r, rc, o, notes, err);
}

/* ---- over time --------------------------------------------------------------------------------------------------------- */

struct over_time {
    const char *key;
    double limit; /* what its values are divided by */
    char label[64];
};

static double largest(const json_t *values)
{
    double most = 0;
    for (size_t i = 0; i < json_array_size(values); i++)
        most = fmax(most, json_number_value(json_array_get(values, i)));
    return most;
}

static int add_over_time(struct curve_chart *c, const json_t *timeline, double width_s, const struct over_time *f, struct error *err)
{
    const json_t *values = json_object_get(timeline, f->key);
    const size_t n = json_array_size(values);
    struct chart_series *v = n && json_is_number(json_array_get(values, 0)) ? curve_add_series(c, n, f->label, err) : NULL;
    if (!v)
        return n && json_is_number(json_array_get(values, 0)) ? -1 : 0;
    for (size_t i = 0; i < n; i++)
        put(v, ((double)i + 0.5) * width_s, json_number_value(json_array_get(values, i)) / f->limit, NAN, NAN);
    v->smooth = true;
    return 0;
}

int plot_timeline(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct runs *r;
    struct curve_chart c = { .style = style, .formats = o->formats };
    (void)s;
    if (load(&r, o, err) != 0)
        return -1;
    const struct serving_saved *run = &r->at[0];
    const json_t *t = json_object_get(run->doc, "timeline");
    const double width_s = json_number_value(json_object_get(t, "width_s")), replicas = fmax(1, setting(run, "replicas"));
    const double batch = fmax(1, largest(json_object_get(t, "batch"))), queue = largest(json_object_get(t, "queue"));
    struct over_time fields[] = { { "batch", batch, "" }, { "kv_usage", 1, "" }, { "queue", fmax(queue, 1), "" } };
    snprintf(fields[0].label, sizeof fields[0].label, "batch, of its highest, %.3g sequences (limit %.0f)", batch, replicas * setting(run, "max_num_seqs"));
    snprintf(fields[1].label, sizeof fields[1].label, "KV cache, of %.0f blocks", replicas * setting(run, "kv_blocks"));
    snprintf(fields[2].label, sizeof fields[2].label, "queue, of its longest, %.3g request%s", fmax(queue, 1), queue > 1 ? "s" : "");
    int rc = r->n == 1 ? 0 : error_set(err, ERROR_USAGE, "--chart timeline: expected one run, found %zu", r->n);
    if (rc == 0 && !(width_s > 0))
        rc = error_set(err, ERROR_INPUT, "%s: no time series in it", o->doc);
    for (size_t i = 0; i < ARRAY_LEN(fields) && rc == 0; i++)
        rc = add_over_time(&c, t, width_s, &fields[i], err);
    titles(&c, o, run);
    axis_linear_close(&c.x, width_s > 0 ? width_s * (double)json_array_size(json_object_get(t, "batch")) : 1);
    axis_linear(&c.y, 1);
    name_axis(&c.x, "Time since the first request [s]", "s");
    name_axis(&c.y, "Fraction", "");
    return finish(&c, r, rc, o, notes, err);
}

/* ---- policies ------------------------------------------------------------------------------------------------------------ */

/* A time of runs or of rows of a comparison. */
static const struct policy_time {
    const char *figure, *key, *label; /* of a run; of a row of roofcast.policies */
} times[] = { { "ttft_mean", "ttft_mean_s", "TTFT mean" }, { "ttft_p99", "ttft_p99_s", "TTFT p99" }, { "itl_mean", "itl_mean_s", "ITL mean" },
              { "itl_p99", "itl_p99_s", "ITL p99" },       { "e2e_mean", "e2e_mean_s", "E2E mean" } };

/* Time i of group k: the times of a group stand next to each other around the middle, k + 1. */
static double x_in_group(size_t k, size_t i)
{
    return (double)k + 1 + 0.12 * ((double)i - (double)(ARRAY_LEN(times) - 1) / 2);
}

static int policies_of_rows(struct curve_chart *c, const json_t *rows, char (*name)[16], struct error *err)
{
    const size_t n = json_array_size(rows);
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct chart_series *v = curve_add_series(c, n, times[i].label, err);
        if (!v)
            return -1;
        v->line = false;
        for (size_t k = 0; k < n; k++) {
            const json_t *row = json_array_get(rows, k), *j = json_object_get(row, times[i].key);
            const char *text = json_string_value(json_object_get(row, "name"));
            snprintf(name[k], sizeof *name, "%.15s", text ? text : "?");
            if (json_is_number(j) && json_number_value(j) > 0)
                put(v, x_in_group(k, i), json_number_value(j), NAN, NAN);
        }
    }
    return 0;
}

static int policies_of_runs(struct curve_chart *c, const struct runs *r, char (*name)[16], struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct chart_series *v = curve_add_series(c, r->n, times[i].label, err);
        if (!v)
            return -1;
        v->line = false;
        for (size_t k = 0; k < r->n; k++) {
            const struct saved_figure *f = serving_saved_find(&r->at[k], times[i].figure);
            char text[32];
            name_of(text, sizeof text, r, k);
            snprintf(name[k], sizeof *name, "%.15s", text);
            if (f && f->value > 0)
                put(v, x_in_group(k, i), f->value, f->lo, f->hi);
        }
    }
    return 0;
}

int plot_policies(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    const char *schema = json_string_value(json_object_get(s->doc, "schema"));
    const json_t *rows = schema && strcmp(schema, "roofcast.policies") == 0 ? json_object_get(s->doc, "rows") : NULL;
    const size_t n = rows ? json_array_size(rows) : o->n_more + 1;
    struct curve_chart c = { .style = style, .formats = o->formats };
    struct runs *r = NULL;
    char (*name)[16] = calloc(n + 1, sizeof *name);
    double lo, hi;
    int rc = name ? 0 : error_oom(err, n * sizeof *name, "policies");
    if (rc == 0 && !rows)
        rc = load(&r, o, err);
    rc = rc ? rc : rows ? policies_of_rows(&c, rows, name, err) : policies_of_runs(&c, r, name, err);
    if (rc == 0 && !span(&c, &lo, &hi))
        rc = error_set(err, ERROR_INPUT, "%s: no times of policies in it", o->doc);
    if (rc == 0) {
        const char *workload = json_string_value(json_object_get(s->doc, "workload"));
        if (!rows)
            titles_of_all(&c, o, r);
        else
            snprintf(c.title, sizeof c.title, "%.150s", o->title ? o->title : "Policies on the same requests");
        if (rows)
            snprintf(c.subtitle, sizeof c.subtitle, "%.200s, simulated", workload ? workload : "");
        axis_decades(&c.y, lo, hi);
        c.x = (struct chart_axis){ .scale = AXIS_NAMES, .name = (const char(*)[16])name, .n_name = n };
        name_axis(&c.x, rows ? "Policy; each adds to the one on its left" : "Run", "");
        name_axis(&c.y, "Time [s]", "s");
        rc = chart_curves(&c, o->out, notes, err);
    }
    curve_chart_free(&c);
    if (r)
        runs_free(r);
    free(name);
    return rc;
}

/* ---- against the rate ------------------------------------------------------------------------------------------------------ */

static int add_rate_line(struct curve_chart *c, const struct runs *r, const char *figure, const char *label, struct error *err)
{
    struct chart_series *v = curve_add_series(c, r->n, label, err);
    if (!v)
        return -1;
    v->band = true;
    for (size_t i = 0; i < r->n; i++) {
        const struct saved_figure *f = serving_saved_find(&r->at[i], figure);
        const double rate = setting(&r->at[i], "rate");
        size_t k = v->n_point;
        if (!f || !(f->value > 0) || !(rate > 0))
            continue;
        for (v->n_point++; k > 0 && v->point[k - 1].x > rate; k--)
            v->point[k] = v->point[k - 1];
        v->point[k] = (struct hw_point){ .x = rate, .value = f->value, .ci_lo = f->lo, .ci_hi = f->hi, .n_samples = 1 };
    }
    return 0;
}

int plot_rates(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct runs *r;
    struct curve_chart c = { .style = style, .formats = o->formats };
    double lo, hi, most = 0;
    (void)s;
    if (load(&r, o, err) != 0)
        return -1;
    for (size_t i = 0; i < r->n; i++)
        most = fmax(most, setting(&r->at[i], "rate"));
    int rc = add_rate_line(&c, r, "ttft_p99", "TTFT p99", err);
    rc = rc ? rc : add_rate_line(&c, r, "itl_p99", "ITL p99", err);
    if (rc == 0 && (!span(&c, &lo, &hi) || !(most > 0) || !isfinite(most)))
        rc = error_set(err, ERROR_INPUT, "%s: no rate with percentiles in it: --chart rates reads runs with --rate", o->doc);
    if (rc == 0) {
        titles_of_all(&c, o, r);
        for (size_t i = 0; i < c.series[0].n_point; i++)
            if (isfinite(c.series[0].point[i].ci_lo)) {
                snprintf(c.subtitle + strlen(c.subtitle), sizeof c.subtitle - strlen(c.subtitle), "; band: sampling interval");
                break;
            }
        axis_decades(&c.y, lo, hi);
        axis_linear_close(&c.x, most);
        name_axis(&c.x, "Offered rate [requests/s]", "");
        name_axis(&c.y, "Time [s]", "s");
    }
    return finish(&c, r, rc, o, notes, err);
}
