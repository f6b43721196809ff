/* Charts of a simulation, as curves (report/curves.c). */
#include "report/serving_compare.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- building ---------------------------------------------------------------------------------------------- */

static struct curve_chart begin(const struct serving_chart *c)
{
    struct curve_chart x = { .style = c->style, .formats = c->formats };
    snprintf(x.title, sizeof x.title, "%s", c->title);
    snprintf(x.subtitle, sizeof x.subtitle, "%s", c->subtitle);
    return x;
}

static void add_point(struct chart_series *s, double x, double y, double lo, double hi)
{
    s->point[s->n_point++] = (struct hw_point){ .x = x, .value = y, .ci_lo = lo, .ci_hi = hi, .n_samples = 1 };
}

static void axis(struct chart_axis *a, const char *title, const char *unit)
{
    snprintf(a->title, sizeof a->title, "%s", title);
    snprintf(a->unit, sizeof a->unit, "%s", unit);
}

/* The range of what is above 0, on x or on y with its intervals. */
static void range(const struct curve_chart *c, bool x, double *lo, double *hi)
{
    *lo = INFINITY;
    *hi = 0;
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n_point; k++) {
            const struct hw_point *p = &c->series[i].point[k];
            const double v[] = { x ? p->x : p->value, x ? p->x : p->ci_lo, x ? p->x : p->ci_hi };
            for (size_t j = 0; j < ARRAY_LEN(v); j++)
                if (v[j] > 0 && isfinite(v[j])) {
                    *lo = fmin(*lo, v[j]);
                    *hi = fmax(*hi, v[j]);
                }
        }
}

static int draw(struct curve_chart *x, const struct serving_chart *c, struct strbuf *notes, struct error *err)
{
    const int rc = chart_curves(x, c->out_base, notes, err);
    curve_chart_free(x);
    return rc;
}

static int failed(struct curve_chart *x)
{
    curve_chart_free(x);
    return -1;
}

static int nothing(struct curve_chart *x, const char *what, struct error *err)
{
    curve_chart_free(x);
    return error_set(err, ERROR_INPUT, "%s: nothing to draw", what);
}

/* ---- distributions ------------------------------------------------------------------------------------------------ */

static int add_cdf(struct curve_chart *x, const struct serving_subject *s, enum serve_metric m, struct error *err)
{
    struct cdf_point p[CDF_POINTS];
    const int n = serve_cdf(p, s->r, s->w, m, err);
    struct chart_series *v = n > 0 ? curve_add_series(x, (size_t)n, serve_metric_name(m), err) : NULL;
    for (int i = 0; v && i < n; i++)
        add_point(v, fmax(p[i].s, 1e-6), p[i].share, NAN, NAN); /* the axis is logarithmic */
    if (v)
        v->smooth = true;
    return n == 0 || v ? 0 : -1;
}

int serving_chart_cdf(const struct serving_chart *c, const struct serving_subject *s, struct strbuf *notes, struct error *err)
{
    static const enum serve_metric metrics[] = { SERVE_TTFT, SERVE_TPOT, SERVE_ITL, SERVE_E2E };
    struct curve_chart x = begin(c);
    double lo, hi;
    for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
        if (add_cdf(&x, s, metrics[i], err) != 0)
            return failed(&x);
    range(&x, true, &lo, &hi);
    if (x.n_series == 0)
        return nothing(&x, "the distributions of times", err);
    axis_decades(&x.x, lo, hi);
    axis_linear(&x.y, 1);
    axis(&x.x, "Time [s]", "s");
    axis(&x.y, "Share of requests (ITL: of gaps) within the time", "");
    return draw(&x, c, notes, err);
}

/* The series' number, counted from 1; 0: out of memory. */
static size_t add_saved_cdf(struct curve_chart *x, const struct cdf *d, const char *metric, const char *run, size_t like, struct error *err)
{
    char label[64];
    snprintf(label, sizeof label, "%s, %s", metric, run);
    struct chart_series *v = curve_add_series(x, d->n, label, err);
    for (size_t i = 0; v && i < d->n; i++)
        add_point(v, fmax(d->p[i].s, 1e-6), d->p[i].share, NAN, NAN);
    if (!v)
        return 0;
    v->smooth = true;
    v->like = like;
    return x->n_series;
}

int serving_chart_compare(const struct serving_chart *c, const struct serving_comparison *x, struct strbuf *notes, struct error *err)
{
    struct curve_chart y = begin(c);
    size_t first[SAVED_CDFS] = { 0 };
    double lo, hi;
    for (int b = 0; b < 2; b++) /* the second run's behind the first's, whose colours they have */
        for (int i = 0; i < SAVED_CDFS; i++) {
            const struct cdf *d = b ? &x->b->cdf[i] : &x->a->cdf[i];
            if (x->a->cdf[i].n == 0 || x->b->cdf[i].n == 0)
                continue;
            const size_t k = add_saved_cdf(&y, d, serve_metric_name(serving_saved_metric(i)), b ? x->name_b : x->name_a, first[i], err);
            if (k == 0)
                return failed(&y);
            first[i] = k;
        }
    range(&y, true, &lo, &hi);
    if (y.n_series == 0)
        return nothing(&y, "the distributions of times", err);
    axis_decades(&y.x, lo, hi);
    axis_linear(&y.y, 1);
    axis(&y.x, "Time [s]", "s");
    axis(&y.y, "Share of requests (ITL: of gaps) within the time", "");
    return draw(&y, c, notes, err);
}

/* ---- against the tokens of a step ------------------------------------------------------------------------------------- */

static double tokens_of(const struct step_class *c)
{
    return c->decode_tok + c->prompt_tok;
}

/* Classes with steps, without or with prompts' tokens, by tokens of a step: their number. */
static size_t sorted_classes(const struct step_class *out[STEP_DECODES * STEP_PROMPTS], const struct step_classes *all, bool prompts)
{
    size_t n = 0;
    for (size_t i = 0; i < STEP_DECODES; i++)
        for (size_t k = prompts; k < (prompts ? STEP_PROMPTS : 1); k++) {
            const struct step_class *c = &all->at[i][k];
            size_t at = n;
            if (c->n == 0 || !(c->s > 0) || !(tokens_of(c) > 0))
                continue;
            for (n++; at > 0 && tokens_of(out[at - 1]) / (double)out[at - 1]->n > tokens_of(c) / (double)c->n; at--)
                out[at] = out[at - 1];
            out[at] = c;
        }
    return n;
}

/* The series' number, counted from 1, 0: none of the run's; -1: out of memory. */
static int add_steps(struct curve_chart *x, const struct serving_steps *run, bool prompts, bool named, int like, struct error *err)
{
    const struct step_class *c[STEP_DECODES * STEP_PROMPTS];
    const size_t n = sorted_classes(c, run->steps, prompts);
    char label[64];
    if (n == 0)
        return 0;
    snprintf(label, sizeof label, "%s%s%.20s", prompts ? "steps with prompts" : "decode", named ? ", " : "", named ? run->name : "");
    struct chart_series *v = curve_add_series(x, n, label, err);
    for (size_t i = 0; v && i < n; i++)
        add_point(v, tokens_of(c[i]) / (double)c[i]->n, tokens_of(c[i]) / c[i]->s, NAN, NAN);
    if (!v)
        return -1;
    v->line = !prompts; /* classes of equal tokens differ in what they are */
    v->like = (size_t)like;
    return (int)x->n_series;
}

/* Tokens/s at the memory's roof, of decode steps; at that of arithmetic, of larger ones with prompts too. Steps with prompts read keys and values of
 * very different contexts: their memory roofs are no curve. */
static int add_step_roof(struct curve_chart *x, const struct serving_steps *run, bool bytes, struct error *err)
{
    const struct step_class *c[STEP_DECODES * STEP_PROMPTS];
    const double roof = bytes ? run->memory_bytes_s : run->flop_s;
    struct chart_series *v = NULL;
    double last = 0;
    for (int prompts = 0; roof > 0 && prompts < (bytes ? 1 : 2); prompts++) {
        const size_t n = sorted_classes(c, run->steps, prompts);
        for (size_t i = 0; i < n; i++) {
            const double amount = bytes ? c[i]->bytes : c[i]->flop, tokens = tokens_of(c[i]) / (double)c[i]->n;
            if (!(amount > 0) || !(tokens > last))
                continue;
            if (!v && !(v = curve_add_series(x, STEP_DECODES * STEP_PROMPTS, bytes ? "memory roof of decode" : "compute roof", err)))
                return -1;
            add_point(v, last = tokens, roof * tokens_of(c[i]) / amount, NAN, NAN);
        }
    }
    if (v)
        v->roof = true;
    return 0;
}

int serving_chart_steps(const struct serving_chart *c, const struct serving_steps *x, size_t n, struct strbuf *notes, struct error *err)
{
    struct curve_chart y = begin(c);
    double lo, hi, x_lo, x_hi;
    int like[2] = { 0, 0 };
    for (size_t i = 0; i < n; i++)
        for (int prompts = 0; prompts < 2; prompts++) {
            const int k = add_steps(&y, &x[i], prompts, n > 1, like[prompts], err);
            if (k < 0)
                return failed(&y);
            like[prompts] = like[prompts] > 0 ? like[prompts] : k;
        }
    if (y.n_series == 0)
        return nothing(&y, "tokens/s of steps", err);
    if (add_step_roof(&y, &x[0], true, err) != 0 || add_step_roof(&y, &x[0], false, err) != 0)
        return failed(&y);
    range(&y, false, &lo, &hi);
    range(&y, true, &x_lo, &x_hi);
    axis_powers(&y.x, x_lo, x_hi);
    axis_decades(&y.y, lo, hi);
    y.x.scale = AXIS_COUNT;
    axis(&y.x, "Tokens of a step", "");
    axis(&y.y, "Tokens/s while such steps run", "");
    return draw(&y, c, notes, err);
}

/* ---- over time -------------------------------------------------------------------------------------------------------- */

/* A field of the time series, as a fraction of `all`, of `join` of its points at once; at the middle of their interval. The last interval, which
 * the run does not fill, is left out of several. */
static int add_field(struct curve_chart *x, const struct timeline *t, size_t offset, double all, size_t join, const char *label, struct error *err)
{
    struct chart_series *v = curve_add_series(x, t->n, label, err);
    const double width_s = (double)join * timeline_width_s(t);
    for (size_t i = 0; v && (i == 0 || i + join < t->n); i += join) {
        double sum = 0;
        for (size_t k = i; k < i + join && k < t->n; k++) {
            double integral;
            memcpy(&integral, (const char *)&t->point[k] + offset, sizeof integral);
            sum += integral;
        }
        add_point(v, (double)i * timeline_width_s(t) + width_s / 2, all > 0 ? fmin(sum / width_s / all, 1) : 0, NAN, NAN);
    }
    if (v)
        v->smooth = true;
    return v ? 0 : -1;
}

static double most_waiting(const struct timeline *t)
{
    double most = 0;
    for (size_t i = 0; i < t->n; i++)
        most = fmax(most, t->point[i].waiting_s / timeline_width_s(t));
    return most;
}

/* The highest of all points. */
static double highest(const struct curve_chart *x)
{
    double most = 0;
    for (size_t i = 0; i < x->n_series; i++)
        for (size_t k = 0; k < x->series[i].n_point; k++)
            most = fmax(most, x->series[i].point[k].value);
    return most;
}

/* MBU and MFU, where the work of steps was counted: of intervals of many steps, for a prompt's step and a decode step differ in both. */
static int add_utilization(struct curve_chart *x, const struct timeline *t, const struct serve_options *o, struct error *err)
{
    enum { INTERVALS = 64 };
    const double replicas = o->n_replica > 1 ? o->n_replica : 1;
    const size_t join = (t->n + INTERVALS - 1) / INTERVALS;
    if (!o->work)
        return 0;
    if (o->work->peak_bytes_s > 0 && add_field(x, t, offsetof(struct timeline_point, bytes), replicas * o->work->peak_bytes_s, join, "MBU", err) != 0)
        return -1;
    return o->work->peak_flop_s > 0 ? add_field(x, t, offsetof(struct timeline_point, flop), replicas * o->work->peak_flop_s, join, "MFU", err) : 0;
}

int serving_chart_timeline(const struct serving_chart *c, const struct serving_subject *s, const struct timeline *t, struct strbuf *notes,
                           struct error *err)
{
    struct curve_chart x = begin(c);
    const double replicas = s->options->n_replica > 1 ? s->options->n_replica : 1, seqs = replicas * s->options->policy->max_num_seqs;
    const double blocks = replicas * s->options->n_block, waiting = fmax(seqs, most_waiting(t));
    char label[3][64];
    if (t->n == 0)
        return nothing(&x, "the time series", err);
    snprintf(label[0], sizeof label[0], "batch, of %.0f sequences", seqs);
    snprintf(label[1], sizeof label[1], "KV cache, of %.0f blocks", blocks);
    snprintf(label[2], sizeof label[2], "queue, of %.0f requests", waiting);
    if (add_field(&x, t, offsetof(struct timeline_point, running_s), seqs, 1, label[0], err) != 0 ||
        add_field(&x, t, offsetof(struct timeline_point, block_s), blocks, 1, label[1], err) != 0 ||
        add_field(&x, t, offsetof(struct timeline_point, waiting_s), waiting, 1, label[2], err) != 0 ||
        add_utilization(&x, t, s->options, err) != 0)
        return failed(&x);
    axis_linear_close(&x.x, (double)t->n * timeline_width_s(t));
    axis_linear(&x.y, fmin(1, highest(&x)));
    axis(&x.x, "Time since the first request [s]", "s");
    axis(&x.y, "Fraction of the limit", "");
    return draw(&x, c, notes, err);
}

/* ---- against the rate ---------------------------------------------------------------------------------------------------- */

static int add_rates(struct curve_chart *x, const struct serving_rate_line *l, struct error *err)
{
    struct chart_series *v = curve_add_series(x, l->n, l->label, err);
    char label[64], time[32];
    if (!v)
        return -1;
    v->band = true;
    for (size_t i = 0; i < l->n; i++)
        if (l->point[i].s > 0)
            add_point(v, l->point[i].rate, l->point[i].s, l->point[i].lo, l->point[i].hi);
    if (!(l->limit_s > 0))
        return 0;
    snprintf(label, sizeof label, "SLO, %.24s: %s", l->label, units_si(time, sizeof time, l->limit_s, "s"));
    return curve_add_level(x, l->limit_s, false, (int)x->n_series - 1, label, err);
}

int serving_chart_rates(const struct serving_chart *c, const struct serving_rate_line *line, size_t n, double saturation_rate,
                        struct strbuf *notes, struct error *err)
{
    struct curve_chart x = begin(c);
    char saturated[64];
    double lo, hi, x_lo, x_hi;
    for (size_t i = 0; i < n; i++)
        if (add_rates(&x, &line[i], err) != 0)
            return failed(&x);
    range(&x, false, &lo, &hi);
    range(&x, true, &x_lo, &x_hi);
    if (!(hi > 0) || !(x_hi > 0))
        return nothing(&x, "percentiles against the rate", err);
    for (size_t i = 0; i < x.n_level; i++) {
        lo = fmin(lo, x.level[i].y);
        hi = fmax(hi, x.level[i].y);
    }
    axis_decades(&x.y, lo, hi);
    axis_linear_close(&x.x, fmax(x_hi, saturation_rate > 0 ? 1.05 * saturation_rate : 0));
    snprintf(saturated, sizeof saturated, "saturated from %.3g requests/s", saturation_rate);
    if (saturation_rate > 0 && curve_add_mark(&x, saturation_rate, saturated, err) != 0)
        return failed(&x);
    axis(&x.x, "Offered rate [requests/s]", "");
    axis(&x.y, "Time [s]", "s");
    return draw(&x, c, notes, err);
}

/* ---- policies ---------------------------------------------------------------------------------------------------------------- */

int serving_chart_policies(const struct serving_chart *c, const struct serving_policy *p, size_t n, struct strbuf *notes, struct error *err)
{
    static const struct {
        enum serve_metric m;
        enum serve_stat s;
        const char *label;
    } rows[] = { { SERVE_TTFT, STAT_P50, "TTFT p50" }, { SERVE_TTFT, STAT_P99, "TTFT p99" }, { SERVE_ITL, STAT_P50, "ITL p50" },
                 { SERVE_ITL, STAT_P99, "ITL p99" },   { SERVE_E2E, STAT_P50, "E2E p50" } };
    struct curve_chart x = begin(c);
    double lo, hi;
    char (*name)[16] = calloc(n ? n : 1, sizeof *name);
    bool ok = name != NULL;
    if (!ok)
        (void)error_oom(err, n * sizeof *name, "the policies of a chart");
    for (size_t i = 0; ok && i < ARRAY_LEN(rows); i++) {
        struct chart_series *v = curve_add_series(&x, n, rows[i].label, err);
        ok = v != NULL;
        for (size_t k = 0; ok && k < n; k++) {
            const struct sampled *e = &p[k].study->m.v[serve_time(rows[i].m, rows[i].s)];
            v->line = false;
            /* Side by side around the name. */
            add_point(v, (double)k + 1 + 0.12 * ((double)i - 2), e->value > 0 ? e->value : NAN, e->lo, e->hi);
        }
    }
    for (size_t k = 0; ok && k < n; k++)
        snprintf(name[k], sizeof name[k], "%.15s", p[k].name);
    range(&x, false, &lo, &hi);
    if (ok) {
        axis_decades(&x.y, lo, hi);
        x.x = (struct chart_axis){ .scale = AXIS_NAMES, .name = (const char(*)[16])name, .n_name = n };
        axis(&x.x, "Policy, on the same requests", "");
        axis(&x.y, "Time [s]", "s");
    }
    const int rc = !ok ? failed(&x) : !(hi > 0) ? nothing(&x, "policies", err) : draw(&x, c, notes, err);
    free(name);
    return rc;
}

/* ---- Pareto front ---------------------------------------------------------------------------------------------------------------- */

struct front_order {
    const struct serving_config *x;
    size_t i;
};

/* By user_tok_s, then by device_tok_s, falling. */
static int by_user(const void *a, const void *b)
{
    const struct front_order *p = a, *q = b;
    if (p->x->user_tok_s != q->x->user_tok_s)
        return p->x->user_tok_s < q->x->user_tok_s ? 1 : -1;
    return p->x->device_tok_s != q->x->device_tok_s ? (p->x->device_tok_s < q->x->device_tok_s ? 1 : -1) : (p->i > q->i) - (p->i < q->i);
}

size_t serving_front(const struct serving_config *x, size_t n, size_t *front)
{
    struct front_order *o = malloc((n ? n : 1) * sizeof *o);
    size_t m = 0, k = 0;
    double best = -INFINITY;
    if (!o)
        interrupt_end_without_memory();
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i].user_tok_s) && isfinite(x[i].device_tok_s))
            o[m++] = (struct front_order){ &x[i], i };
    qsort(o, m, sizeof *o, by_user);
    for (size_t i = 0; i < m; i++)
        if (o[i].x->device_tok_s > best) {
            best = o[i].x->device_tok_s;
            front[k++] = o[i].i;
        }
    free(o);
    for (size_t i = 0; i < k / 2; i++) {
        const size_t t = front[i];
        front[i] = front[k - 1 - i];
        front[k - 1 - i] = t;
    }
    return k;
}

static bool first_of_group(const struct serving_config *x, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(x[k].group, x[i].group) == 0)
            return false;
    return true;
}

/* Names of the points of the group that begins at i. */
static int name_points(struct chart_series *v, const struct serving_config *x, size_t n, size_t first, struct error *err)
{
    size_t m = 0;
    v->name = calloc(n + 1, sizeof *v->name);
    v->shows_name = calloc(n + 1, sizeof *v->shows_name);
    if (!v->name || !v->shows_name)
        return error_oom(err, n * sizeof *v->name, "names of points");
    for (size_t k = first; k < n; k++)
        if (strcmp(x[k].group, x[first].group) == 0) {
            v->shows_name[m] = *x[k].name != 0;
            snprintf(v->name[m++], sizeof *v->name, "%s", x[k].name);
        }
    return 0;
}

int serving_chart_pareto(const struct serving_chart *c, const struct serving_config *x, size_t n, struct strbuf *notes, struct error *err)
{
    struct curve_chart y = begin(c);
    double lo, hi, top;
    size_t *front = malloc((n ? n : 1) * sizeof *front);
    const size_t n_front = front ? serving_front(x, n, front) : 0;
    struct chart_series *v = front ? curve_add_series(&y, n_front, "front: no other is better in both", err) : NULL;
    if (!front)
        (void)error_oom(err, n * sizeof *front, "a Pareto front");
    for (size_t i = 0; v && i < n_front; i++)
        add_point(v, x[front[i]].user_tok_s, x[front[i]].device_tok_s, NAN, NAN);
    free(front);
    if (v)
        v->roof = true;
    for (size_t i = 0; v && i < n; i++) {
        if (!first_of_group(x, i) || !(v = curve_add_series(&y, n, x[i].group, err)))
            continue;
        v->line = false;
        if (name_points(v, x, n, i, err) != 0)
            return failed(&y);
        for (size_t k = i; k < n; k++)
            if (strcmp(x[k].group, x[i].group) == 0)
                add_point(v, x[k].user_tok_s, x[k].device_tok_s, x[k].device_lo, x[k].device_hi);
    }
    if (!v)
        return failed(&y);
    range(&y, false, &lo, &top);
    range(&y, true, &lo, &hi);
    if (!(hi > 0) || !(top > 0))
        return nothing(&y, "the Pareto front", err);
    axis_linear_close(&y.x, hi);
    axis_linear_close(&y.y, top);
    axis(&y.x, "Tokens/s of a user", "");
    axis(&y.y, "Tokens/s of a device", "");
    return draw(&y, c, notes, err);
}
