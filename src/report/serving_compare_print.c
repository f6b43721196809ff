/* A comparison of two runs in words and tables. */
#include "report/output.h"
#include "report/serving_compare.h"
#include <math.h>
#include <string.h>

/* Figures agree within this. */
#define AGREES 0.05

/* ---- columns ------------------------------------------------------------------------------------------------ */

#define AT(m) COLUMN_AT(struct compare_row, m)
static const struct column row_columns[] = {
    { "figure", NULL, COL_TEXT, NULL, COL_DATA, AT(figure), EMPTY_VALUE, NULL, "as in `simulate.row`; `ttft_ks`, `ttft_ks_at`, `ttft_wasserstein`: distance of "
      "the distributions, its place" },
    { "name", "figure", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, "for people" },
    { "a", "first", COL_FLOAT, NULL, COL_KEY, AT(a), EMPTY_NULL, NULL, "of the first file, in `unit`; null: a distance" },
    { "b", "second", COL_FLOAT, NULL, COL_KEY, AT(b), EMPTY_NULL, NULL, "of the second" },
    { "unit", "unit", COL_TEXT, NULL, COL_MAJOR, AT(unit), EMPTY_NULL, NULL, "null: a number" },
    { "difference", NULL, COL_FLOAT, NULL, COL_DATA, AT(difference), EMPTY_NULL, NULL, "`b - a`; the distance" },
    { "error", "error", COL_FRACTION, "fraction", COL_KEY, AT(error), EMPTY_NULL, NULL, "`b / a - 1`; of a Wasserstein distance its part of the first file's mean; "
      "null: `a` is 0" },
    { "model_lo", "model low", COL_FLOAT, NULL, COL_MEDIUM, AT(model_lo), EMPTY_NULL, NULL, "of the second file, over draws of the step's times" },
    { "model_hi", "model high", COL_FLOAT, NULL, COL_MEDIUM, AT(model_hi), EMPTY_NULL, NULL, NULL },
    { "inside", "inside", COL_BOOL, NULL, COL_MEDIUM, AT(inside), EMPTY_MINUS_1, NULL, "`a` lies between them" },
};
#undef AT
const struct table_fields serving_compare_fields = { "serving_compare.row", row_columns, ARRAY_LEN(row_columns) };

#define AT(m) COLUMN_AT(struct compare_step, m)
static const struct column step_columns[] = {
    { "decode", "decode", COL_TEXT, NULL, COL_KEY, AT(decode), EMPTY_VALUE, NULL, "the class, as in `simulate.step`: decode tokens of a step, drafts included" },
    { "prompt", "prompt", COL_TEXT, NULL, COL_KEY, AT(prompt), EMPTY_VALUE, NULL, "tokens of prompts" },
    { "decode_lo", NULL, COL_INT, "tokens", COL_DATA, AT(decode_lo), EMPTY_VALUE, NULL, NULL },
    { "decode_hi", NULL, COL_INT, "tokens", COL_DATA, AT(decode_hi), EMPTY_VALUE, NULL, NULL },
    { "prompt_lo", NULL, COL_INT, "tokens", COL_DATA, AT(prompt_lo), EMPTY_VALUE, NULL, NULL },
    { "prompt_hi", NULL, COL_INT, "tokens", COL_DATA, AT(prompt_hi), EMPTY_VALUE, NULL, NULL },
    { "n_a", "steps", COL_INT, NULL, COL_MAJOR, AT(n_a), EMPTY_VALUE, NULL, "of the first file" },
    { "n_b", "steps", COL_INT, NULL, COL_MAJOR, AT(n_b), EMPTY_VALUE, NULL, "of the second" },
    { "a_s", "first", COL_SECONDS, "s", COL_KEY, AT(a_s), EMPTY_NULL, NULL, "of a step, mean; null: there is none" },
    { "b_s", "second", COL_SECONDS, "s", COL_KEY, AT(b_s), EMPTY_NULL, NULL, NULL },
    { "error", "error", COL_FRACTION, "fraction", COL_KEY, AT(error), EMPTY_NULL, NULL, "`b_s / a_s - 1`" },
    { "share_a", "% of time", COL_FRACTION, "fraction", COL_MAJOR, AT(share_a), EMPTY_NULL, NULL, "of the time of all steps" },
    { "share_b", NULL, COL_FRACTION, "fraction", COL_DATA, AT(share_b), EMPTY_NULL, NULL, NULL },
    { "price_s", "by step time", COL_SECONDS, "s", COL_MEDIUM, AT(price_s), EMPTY_NULL, NULL, "`n_a (b_s - a_s)`: what the time of a step makes the second's longer" },
    { "number_s", "by number", COL_SECONDS, "s", COL_MEDIUM, AT(number_s), EMPTY_NULL, NULL, "`(n_b - n_a) b_s`: what their number does" },
    { "decode_a_tok", NULL, COL_FLOAT, "tokens", COL_DATA, AT(decode_a_tok), EMPTY_NULL, NULL, "of a step, mean" },
    { "decode_b_tok", NULL, COL_FLOAT, "tokens", COL_DATA, AT(decode_b_tok), EMPTY_NULL, NULL, NULL },
    { "prompt_a_tok", NULL, COL_FLOAT, "tokens", COL_DATA, AT(prompt_a_tok), EMPTY_NULL, NULL, NULL },
    { "prompt_b_tok", NULL, COL_FLOAT, "tokens", COL_DATA, AT(prompt_b_tok), EMPTY_NULL, NULL, NULL },
    { "tok_a_s", "tokens/s", COL_FLOAT, "tokens/s", COL_MINOR, AT(tok_a_s), EMPTY_NULL, NULL, "of prompts and decode, while such steps run" },
    { "tok_b_s", NULL, COL_FLOAT, "tokens/s", COL_DATA, AT(tok_b_s), EMPTY_NULL, NULL, NULL },
    { "mbu_a", "MBU", COL_FRACTION, "fraction", COL_MINOR, AT(mbu_a), EMPTY_NULL, NULL, "`bytes_a_s` of the first run's memory roof" },
    { "mbu_b", NULL, COL_FRACTION, "fraction", COL_DATA, AT(mbu_b), EMPTY_NULL, NULL, NULL },
    { "bytes_a_s", NULL, COL_SI, "B/s", COL_DATA, AT(bytes_a_s), EMPTY_NULL, NULL, "weights and KV cache of a device over the time" },
    { "bytes_b_s", NULL, COL_SI, "B/s", COL_DATA, AT(bytes_b_s), EMPTY_NULL, NULL, NULL },
    { "flop_a_s", NULL, COL_SI, "FLOP/s", COL_DATA, AT(flop_a_s), EMPTY_NULL, NULL, NULL },
    { "flop_b_s", NULL, COL_SI, "FLOP/s", COL_DATA, AT(flop_b_s), EMPTY_NULL, NULL, NULL },
};
#undef AT
const struct table_fields serving_compare_step_fields = { "serving_compare.step", step_columns, ARRAY_LEN(step_columns) };

/* Figures that the report and its first sentence are about. */
static bool is_first(const char *figure)
{
    static const char *const others[] = { "duration", "request_throughput", "output_throughput", "batch", "batch_max", "busy", "kv_blocks_max", "preemptions",
                                          "prefix_hit_rate", "acceptance_length" };
    static const char *const stats[] = { "mean", "p50", "p90", "p99" };
    char key[48];
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(figure, others[i]) == 0)
            return true;
    for (int i = 0; i < SAVED_CDFS; i++)
        for (size_t k = 0; k < ARRAY_LEN(stats); k++) {
            snprintf(key, sizeof key, "%s_%s", serve_metric_key(serving_saved_metric(i)), stats[k]);
            if (strcmp(figure, key) == 0)
                return true;
        }
    return false;
}

static bool is_time(const struct compare_row *r)
{
    return r->unit && strcmp(r->unit, "s") == 0;
}

size_t serving_compare_worse(const struct serving_comparison *c, double limit, const struct compare_row **worst)
{
    size_t n = 0;
    double most = 0;
    for (size_t i = 0; i < c->n_figure; i++) {
        const struct compare_row *const r = table_row(&c->figures, i);
        const bool rate = text_ends_with(r->figure, "_throughput");
        if (!is_first(r->figure) || !(is_time(r) || rate) || isnan(r->error))
            continue;
        const double slower = rate ? -log1p(r->error) : log1p(r->error);
        const bool is = rate ? r->error < -limit : r->error > limit;
        n += is;
        if (is && slower > most) {
            most = slower;
            *worst = r;
        }
    }
    return n;
}

/* ---- words --------------------------------------------------------------------------------------------------------- */

static void add_value(struct strbuf *b, double v, const char *unit)
{
    char buf[32];
    if (unit && strcmp(unit, "s") == 0)
        strbuf_adds(b, units_si(buf, sizeof buf, v, "s"));
    else if (unit && strcmp(unit, "fraction") == 0)
        strbuf_addf(b, "%.3g %%", 100 * v);
    else
        strbuf_addf(b, fabs(v) >= 1000 ? "%.0f%s%s" : "%.3g%s%s", v, unit ? " " : "", unit ? unit : "");
}

static void add_figures_text(struct strbuf *b, const struct serving_comparison *c)
{
    const struct compare_row *worst = NULL;
    size_t n = 0, n_agree = 0;
    for (size_t i = 0; i < c->n_figure; i++) {
        const struct compare_row *r = table_row(&c->figures, i);
        if (!is_first(r->figure) || isnan(r->error))
            continue;
        n++;
        n_agree += fabs(r->error) <= AGREES;
        worst = !worst || fabs(r->error) > fabs(worst->error) ? r : worst;
    }
    if (!worst) {
        strbuf_adds(b, "The runs have no figure in common.");
        return;
    }
    if (n_agree == n)
        strbuf_addf(b, "All %zu figures agree within %.0f %%; most off is ", n, 100 * AGREES);
    else
        strbuf_addf(b, "%zu of %zu figures agree within %.0f %%; most off is ", n_agree, n, 100 * AGREES);
    strbuf_addf(b, "%s, %+.1f %%: ", worst->name, 100 * worst->error);
    add_value(b, worst->a, worst->unit);
    strbuf_addf(b, " %s, ", c->name_a);
    add_value(b, worst->b, worst->unit);
    strbuf_addf(b, " %s.", c->name_b);
}

/* The class whose price is most of the difference. */
static const struct compare_step *most_by_price(const struct serving_comparison *c)
{
    const struct compare_step *most = NULL;
    for (size_t i = 0; i < c->steps.n; i++) {
        const struct compare_step *x = table_row(&c->steps, i);
        if (!most || fabs(x->price_s) > fabs(most->price_s))
            most = x;
    }
    return most && most->price_s != 0 ? most : NULL;
}

static const char *signed_s(char buf[static 32], double s)
{
    char v[32];
    snprintf(buf, 32, "%s%.24s", s >= 0 ? "+" : "", s == 0 ? "0 s" : units_si(v, sizeof v, s, "s"));
    return buf;
}

static void add_steps_text(struct strbuf *b, const struct serving_comparison *c)
{
    const struct compare_step *x = most_by_price(c);
    char s[3][32];
    if (!(c->busy_a_s > 0) || !(c->busy_b_s > 0))
        return;
    strbuf_addf(b, " Steps take %s %s, %s %s (%+.1f %%)", units_si(s[0], 32, c->busy_a_s, "s"), c->name_a, units_si(s[1], 32, c->busy_b_s, "s"), c->name_b,
                100 * (c->busy_b_s / c->busy_a_s - 1));
    strbuf_addf(b, ": %s by the time of a step, %s by the number of steps.", signed_s(s[0], c->price_s), signed_s(s[1], c->number_s));
    if (!x)
        return;
    strbuf_addf(b, " Most of the former, %s, is in steps of %s decode and %s prompt tokens: %s %s, ", signed_s(s[0], x->price_s), x->decode, x->prompt,
                units_si(s[1], 32, x->a_s, "s"), c->name_a);
    strbuf_addf(b, "%s %s (%+.1f %%).", units_si(s[2], 32, x->b_s, "s"), c->name_b, 100 * x->error);
}

static void add_preemptions_text(struct strbuf *b, const struct serving_comparison *c)
{
    const struct saved_figure *x = serving_saved_find(c->a, "preemptions"), *y = serving_saved_find(c->b, "preemptions");
    if (x && y && x->value != y->value && !isnan(x->value) && !isnan(y->value))
        strbuf_addf(b, " Preemptions: %.0f %s, %.0f %s.", x->value, c->name_a, y->value, c->name_b);
}

void serving_compare_add_summary(struct strbuf *out, const struct serving_comparison *c)
{
    add_figures_text(out, c);
    add_steps_text(out, c);
    add_preemptions_text(out, c);
    strbuf_adds(out, "\n");
}

static void add_run(struct strbuf *b, const char *name, const struct serving_saved *s)
{
    strbuf_addf(b, "%s: %s: %s on %s, %s\n", name, s->file, s->model ? s->model : "a model", s->hw ? s->hw : "a machine", s->policy);
}

/* ---- for people ------------------------------------------------------------------------------------------------------ */

/* The heads of two columns by the kinds of the runs. */
static void set_heads(struct column *cols, size_t n, const struct serving_comparison *c, const char *a, const char *b)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(cols[i].key, a) == 0)
            cols[i].header = c->name_a;
        if (strcmp(cols[i].key, b) == 0)
            cols[i].header = c->name_b;
    }
}

enum which { WHICH_TIMES, WHICH_OTHERS };

/* Times in seconds or other figures: known ones of most use, with --wide all. */
static int print_figures(FILE *f, enum report_format format, const struct serving_comparison *c, enum which which, size_t width, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct compare_row) };
    struct column cols[ARRAY_LEN(row_columns)];
    const struct table t = { "roofcast.serving_compare", 1, NULL, cols, ARRAY_LEN(cols), &rows, NULL };
    memcpy(cols, row_columns, sizeof cols);
    set_heads(cols, ARRAY_LEN(cols), c, "a", "b");
    for (size_t i = 0; i < c->n_figure; i++) {
        const struct compare_row *r = table_row(&c->figures, i);
        const bool known = r->a != 0 || r->b != 0;
        if (is_time(r) == (which == WHICH_TIMES) && known && (report_wide() || is_first(r->figure)))
            memcpy(table_add(&rows), r, sizeof *r);
    }
    for (size_t i = 0; which == WHICH_TIMES && i < ARRAY_LEN(cols); i++)
        if (cols[i].style == COL_FLOAT)
            cols[i].style = COL_SECONDS;
    columns_rank(cols, ARRAY_LEN(cols), which == WHICH_TIMES ? "unit model_lo model_hi inside" : "model_lo model_hi inside", COL_DATA);
    columns_rank_known(cols, ARRAY_LEN(cols), &t, "model_lo model_hi inside", COL_MEDIUM);
    const int rc = rows.n > 0 ? report_print(f, format, &t, width, err) : 0;
    table_rows_free(&rows);
    return rc == 0 && fputs("\n", f) >= 0 ? 0 : -1;
}

struct distance_row {
    const char *name;
    double ks, at_s, wasserstein_s, of_mean;
};
#define AT(m) COLUMN_AT(struct distance_row, m)
static const struct column distance_columns[] = {
    { "name", "distributions", COL_TEXT, NULL, COL_KEY, AT(name), EMPTY_VALUE, NULL, NULL },
    { "ks", "Kolmogorov-Smirnov", COL_FRACTION, NULL, COL_KEY, AT(ks), EMPTY_NULL, NULL, NULL },
    { "ks_at", "at", COL_SECONDS, NULL, COL_MAJOR, AT(at_s), EMPTY_NULL, NULL, NULL },
    { "wasserstein", "Wasserstein", COL_SECONDS, NULL, COL_KEY, AT(wasserstein_s), EMPTY_NULL, NULL, NULL },
    { "of_mean", "of the mean", COL_FRACTION, NULL, COL_MAJOR, AT(of_mean), EMPTY_NULL, NULL, NULL },
};
#undef AT

static const struct compare_row *find_row(const struct serving_comparison *c, const char *metric, const char *what)
{
    char key[48];
    snprintf(key, sizeof key, "%s_%s", metric, what);
    for (size_t i = c->n_figure; i < c->figures.n; i++) {
        const struct compare_row *r = table_row(&c->figures, i);
        if (strcmp(r->figure, key) == 0)
            return r;
    }
    return NULL;
}

static int print_distances(FILE *f, enum report_format format, const struct serving_comparison *c, size_t width, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct distance_row) };
    const struct table t = { "roofcast.serving_compare.distances", 1, NULL, distance_columns, ARRAY_LEN(distance_columns), &rows, NULL };
    for (int i = 0; i < SAVED_CDFS; i++) {
        const enum serve_metric m = serving_saved_metric(i);
        const struct compare_row *ks = find_row(c, serve_metric_key(m), "ks"), *at = find_row(c, serve_metric_key(m), "ks_at");
        const struct compare_row *w = find_row(c, serve_metric_key(m), "wasserstein");
        if (ks && at && w)
            *(struct distance_row *)table_add(&rows) = (struct distance_row){ serve_metric_name(m), ks->difference, at->difference, w->difference, w->error };
    }
    const int rc = rows.n > 0 ? report_print(f, format, &t, width, err) : 0;
    table_rows_free(&rows);
    return rc == 0 && fputs("\n", f) >= 0 ? 0 : -1;
}

/* Classes with less of the time of both are for --wide. */
#define STEP_LEAST_SHARE 0.005

static int print_steps(FILE *f, enum report_format format, const struct serving_comparison *c, size_t width, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct compare_step) };
    struct column cols[ARRAY_LEN(step_columns)];
    const struct table t = { "roofcast.serving_compare.steps", 1, NULL, cols, ARRAY_LEN(cols), &rows, NULL };
    memcpy(cols, step_columns, sizeof cols);
    set_heads(cols, ARRAY_LEN(cols), c, "a_s", "b_s");
    for (size_t i = 0; i < c->steps.n; i++) {
        const struct compare_step *x = table_row(&c->steps, i);
        if (report_wide() || fmax(x->share_a, x->share_b) >= STEP_LEAST_SHARE)
            memcpy(table_add(&rows), x, sizeof *x);
    }
    columns_rank(cols, ARRAY_LEN(cols), "mbu_a", COL_DATA);
    columns_rank_known(cols, ARRAY_LEN(cols), &t, "mbu_a", COL_MINOR);
    const int rc = rows.n > 0 ? report_print(f, format, &t, width, err) : 0;
    if (rc == 0 && rows.n < c->steps.n)
        fprintf(f, "(%zu more kinds of steps with --wide, all with --steps -o csv, or json)\n", c->steps.n - rows.n);
    table_rows_free(&rows);
    return rc;
}

static int print_people(FILE *f, enum report_format format, const struct serving_comparison *c, const char *summary, struct error *err)
{
    const size_t width = format == REPORT_TABLE ? report_width(f) : 0;
    struct strbuf runs = { 0 }, b = { 0 };
    add_run(&runs, c->name_a, c->a);
    add_run(&runs, c->name_b, c->b);
    const char *names = strbuf_text(&runs, "the runs", err);
    report_wrap(&b, summary, width, 0);
    strbuf_adds(&b, "\n");
    report_wrap(&b, names ? names : "", width, 4);
    strbuf_adds(&b, "\n");
    const char *text = names ? strbuf_text(&b, "the summary", err) : NULL;
    if (text)
        text_show(b.s, b.len);
    const int rc = text && fputs(text, f) >= 0 && print_figures(f, format, c, WHICH_TIMES, width, err) == 0 &&
                           print_figures(f, format, c, WHICH_OTHERS, width, err) == 0 && print_distances(f, format, c, width, err) == 0 &&
                           print_steps(f, format, c, width, err) == 0
                       ? 0
                       : -1;
    strbuf_free(&runs);
    strbuf_free(&b);
    return rc;
}

/* ---- for programs ------------------------------------------------------------------------------------------------------ */

static json_t *run_json(const struct serving_saved *s)
{
    return json_pack("{s:o, s:b, s:o, s:o, s:o, s:I}", "file", json_text(s->file), "measured", s->measured, "model", s->model ? json_text(s->model) : json_null(), "hw",
                     s->hw ? json_text(s->hw) : json_null(), "policy", json_text(s->policy), "requests", (json_int_t)s->n_request);
}

static json_t *meta_json(const struct serving_comparison *c, const char *summary, const struct table *steps)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "summary", json_text(summary), "workload", json_text(c->a->workload), "a", run_json(c->a), "b",
                     run_json(c->b), "differences", c->differences.len > 0 ? json_text(c->differences.s) : json_null(), "busy_a_s", json_num(c->busy_a_s), "busy_b_s",
                     json_num(c->busy_b_s), "price_s", json_num(c->price_s), "number_s", json_num(c->number_s), "price_error", json_num(c->price), "steps", table_rows_json(steps));
}

static int print_data(FILE *f, enum report_format format, const struct serving_comparison *c, const char *summary, bool steps, struct error *err)
{
    const struct table classes = { "roofcast.serving_compare.steps", 1, NULL, step_columns, ARRAY_LEN(step_columns), &c->steps, NULL };
    if (steps && format != REPORT_JSON)
        return report_print(f, format, &classes, 0, err);
    json_t *meta = meta_json(c, summary, &classes);
    const struct table t = { "roofcast.serving_compare", 1, meta, row_columns, ARRAY_LEN(row_columns), &c->figures, NULL };
    if (!meta)
        return error_oom(err, 0, "a comparison");
    const int rc = report_print(f, format, &t, 0, err);
    json_decref(meta);
    return rc;
}

int serving_compare_print(const char *path, enum report_format format, const struct serving_comparison *c, bool steps, struct error *err)
{
    struct strbuf b = { 0 };
    struct outfile o;
    serving_compare_add_summary(&b, c);
    const char *summary = strbuf_text(&b, "the summary", err);
    int rc = summary ? outfile_open(&o, path ? path : "-", err) : -1;
    if (rc == 0) {
        const bool people = format == REPORT_TABLE || format == REPORT_MD;
        rc = people ? print_people(o.f, format, c, summary, err) : print_data(o.f, format, c, summary, steps, err);
        rc = outfile_end(&o, rc, err);
    }
    strbuf_free(&b);
    return rc;
}
