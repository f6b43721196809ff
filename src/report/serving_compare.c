/* Two runs of the same requests: errors, distances, classes of steps. */
#include "report/serving_compare.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- of the same requests ----------------------------------------------------------------------------------- */

static int not_same(const struct serving_comparison *c, const char *field, const char *a, const char *b, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%.200s and %.200s are not of the same requests: %s is %.120s and %.120s", c->a->file, c->b->file, field, a, b);
}

static void add_difference(struct serving_comparison *c, const char *field, const char *a, const char *b)
{
    strbuf_addf(&c->differences, "%s%s %.120s and %.120s", c->differences.len > 0 ? ", " : "", field, a, b);
}

static void compare_text(struct serving_comparison *c, const char *field, const char *a, const char *b)
{
    a = a ? a : "not known";
    b = b ? b : "not known";
    if (strcmp(a, b) != 0)
        add_difference(c, field, a, b);
}

/* A number of a file written by another machine may differ in its last digits. */
static bool same_value(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return fabs(json_number_value(a) - json_number_value(b)) <= 1e-9 * fabs(json_number_value(a));
    return json_is_none(a) ? json_is_none(b) : b && json_equal(a, b);
}

static void value_text(char buf[static 64], const json_t *v)
{
    if (json_is_number(v))
        snprintf(buf, 64, "%.10g", json_number_value(v));
    else if (json_is_string(v))
        snprintf(buf, 64, "%.60s", json_string_value(v));
    else
        snprintf(buf, 64, "%s", json_is_true(v) ? "true" : json_is_false(v) ? "false" : "null");
}

/* Settings that say when requests come. */
static bool of_load(const char *key)
{
    return strcmp(key, "rate") == 0 || strcmp(key, "burstiness") == 0 || strcmp(key, "max_concurrency") == 0;
}

static int compare_settings(struct serving_comparison *c, struct error *err)
{
    char a[64], b[64];
    const char *key;
    json_t *all = json_object();
    int rc = all && json_object_update(all, (json_t *)c->a->settings) == 0 && json_object_update(all, (json_t *)c->b->settings) == 0
                 ? 0
                 : error_oom(err, 0, "the settings of two runs");
    json_t *unused;
    json_object_foreach(all, key, unused)
    {
        const json_t *v = json_object_get(c->a->settings, key), *w = json_object_get(c->b->settings, key);
        (void)unused;
        if (rc != 0 || same_value(v, w))
            continue;
        value_text(a, v);
        value_text(b, w);
        if (of_load(key))
            rc = not_same(c, key, a, b, err);
        else
            add_difference(c, key, a, b);
    }
    json_decref(all);
    return rc;
}

static void compare_count(struct serving_comparison *c, const char *field, int64_t a, int64_t b)
{
    char n[2][32];
    snprintf(n[0], sizeof n[0], "%lld", (long long)a);
    snprintf(n[1], sizeof n[1], "%lld", (long long)b);
    compare_text(c, field, n[0], n[1]);
}

static int compare_requests(struct serving_comparison *c, struct error *err)
{
    const struct serving_saved *a = c->a, *b = c->b;
    if (strcmp(a->workload, b->workload) != 0)
        return not_same(c, "workload", a->workload, b->workload, err);
    if (strcmp(a->digest, b->digest) != 0)
        return not_same(c, "the digest of their lengths", a->digest, b->digest, err);
    compare_count(c, "requests", a->n_request, b->n_request);
    compare_count(c, "failed requests", a->n_failed, b->n_failed);
    compare_text(c, "model", a->model, b->model);
    compare_text(c, "policy", a->policy, b->policy);
    return compare_settings(c, err);
}

/* ---- figures ---------------------------------------------------------------------------------------------------- */

static double error_of(double a, double b)
{
    return a > 0 ? b / a - 1 : a == 0 && b == 0 ? 0 : NAN;
}

/* "ttft_p99" as "TTFT p99". */
static const char *name_of(struct serving_comparison *c, const struct saved_figure *f)
{
    char buf[64];
    for (int m = 0; m < SERVE_METRICS; m++) {
        const char *metric = serve_metric_key((enum serve_metric)m);
        const size_t n = strlen(metric);
        if (strncmp(f->key, metric, n) != 0 || f->key[n] != '_' || strchr(f->key + n + 1, '_') || strcmp(f->key, f->name) != 0)
            continue;
        snprintf(buf, sizeof buf, "%s %.40s", serve_metric_name((enum serve_metric)m), f->key + n + 1);
        return table_text(&c->figures, buf);
    }
    return f->name;
}

/* Most KV blocks in use: of a fraction of as many as there are, which may differ. NaN: not known. */
static double blocks_of(const struct serving_saved *s)
{
    const struct saved_figure *used = serving_saved_find(s, "kv_usage_max");
    const json_t *n = json_object_get(s->settings, "kv_blocks"), *replicas = json_object_get(s->settings, "replicas");
    return used && json_is_number(n) && json_is_number(replicas) ? rint(used->value * json_number_value(n) * json_number_value(replicas)) : NAN;
}

static void add_blocks(struct serving_comparison *c)
{
    const double a = blocks_of(c->a), b = blocks_of(c->b);
    if (!isnan(a) && !isnan(b))
        *(struct compare_row *)table_add(&c->figures) = (struct compare_row){ "kv_blocks_max", "KV blocks used, most", "blocks", a, b, b - a, error_of(a, b), NAN, NAN, -1 };
}

static void add_figures(struct serving_comparison *c)
{
    for (size_t i = 0; i < c->a->n_figure; i++) {
        const struct saved_figure *a = &c->a->figure[i], *b = serving_saved_find(c->b, a->key);
        if (!b || isnan(a->value) || isnan(b->value))
            continue;
        struct compare_row *r = table_add(&c->figures);
        *r = (struct compare_row){ a->key, name_of(c, a), a->unit, a->value, b->value, b->value - a->value, error_of(a->value, b->value), b->model_lo, b->model_hi, -1 };
        if (!isnan(b->model_lo) && !isnan(b->model_hi))
            r->inside = a->value >= b->model_lo && a->value <= b->model_hi;
    }
    add_blocks(c);
    c->n_figure = c->figures.n;
}

static void add_distance(struct serving_comparison *c, enum serve_metric m, const char *what, const char *name, const char *unit, double v, double error)
{
    char buf[96];
    struct compare_row *r = table_add(&c->figures);
    *r = (struct compare_row){ .unit = unit, .a = NAN, .b = NAN, .difference = v, .error = error, .model_lo = NAN, .model_hi = NAN, .inside = -1 };
    snprintf(buf, sizeof buf, "%s_%s", serve_metric_key(m), what);
    r->figure = table_text(&c->figures, buf);
    snprintf(buf, sizeof buf, "%s, %s", serve_metric_name(m), name);
    r->name = table_text(&c->figures, buf);
}

static void add_distances(struct serving_comparison *c)
{
    char key[48];
    for (int i = 0; i < SAVED_CDFS; i++) {
        const struct cdf *a = &c->a->cdf[i], *b = &c->b->cdf[i];
        const enum serve_metric m = serving_saved_metric(i);
        double at_s;
        if (a->n == 0 || b->n == 0)
            continue;
        snprintf(key, sizeof key, "%s_mean", serve_metric_key(m));
        const struct saved_figure *mean = serving_saved_find(c->a, key);
        const double ks = cdf_kolmogorov(a, b, &at_s), s = cdf_wasserstein_s(a, b);
        add_distance(c, m, "ks", "Kolmogorov-Smirnov", "fraction", ks, NAN);
        add_distance(c, m, "ks_at", "where", "s", at_s, NAN);
        add_distance(c, m, "wasserstein", "Wasserstein", "s", s, mean && mean->value > 0 ? s / mean->value : NAN);
    }
}

/* ---- steps ---------------------------------------------------------------------------------------------------------- */

static void range_text(char buf[static 24], struct step_range r)
{
    snprintf(buf, 24, r.lo == r.hi ? "%u" : "%u-%u", r.lo, r.hi);
}

static double busy_of(const struct step_classes *all)
{
    double s = 0;
    for (size_t i = 0; i < STEP_DECODES; i++)
        for (size_t k = 0; k < STEP_PROMPTS; k++)
            s += all->at[i][k].s;
    return s;
}

static double rate_of(double v, double s)
{
    return v > 0 && s > 0 ? v / s : NAN;
}

static void add_step(struct serving_comparison *c, uint32_t i, uint32_t k)
{
    const struct step_class *a = &c->a->steps.at[i][k], *b = &c->b->steps.at[i][k];
    const struct step_range d = step_decode_range(i), p = step_prompt_range(k);
    const double n_a = (double)a->n, n_b = (double)b->n; /* 0 / 0: NaN */
    struct compare_step *x = table_add(&c->steps);
    *x = (struct compare_step){ .decode_lo = d.lo, .decode_hi = d.hi, .prompt_lo = p.lo, .prompt_hi = p.hi, .n_a = a->n, .n_b = b->n,
                                .decode_a_tok = a->decode_tok / n_a, .decode_b_tok = b->decode_tok / n_b, .prompt_a_tok = a->prompt_tok / n_a,
                                .prompt_b_tok = b->prompt_tok / n_b, .a_s = a->s / n_a, .b_s = b->s / n_b, .error = NAN,
                                .share_a = c->busy_a_s > 0 ? a->s / c->busy_a_s : NAN, .share_b = c->busy_b_s > 0 ? b->s / c->busy_b_s : NAN,
                                .number_s = b->s - a->s, .tok_a_s = rate_of(a->decode_tok + a->prompt_tok, a->s),
                                .tok_b_s = rate_of(b->decode_tok + b->prompt_tok, b->s), .bytes_a_s = rate_of(a->bytes, a->s),
                                .bytes_b_s = rate_of(b->bytes, b->s), .flop_a_s = rate_of(a->flop, a->s), .flop_b_s = rate_of(b->flop, b->s) };
    x->mbu_a = x->bytes_a_s / c->a->memory_bytes_s;
    x->mbu_b = x->bytes_b_s / c->b->memory_bytes_s;
    range_text(x->decode, d);
    range_text(x->prompt, p);
    if (a->n == 0 || b->n == 0)
        return;
    x->error = error_of(x->a_s, x->b_s);
    x->price_s = n_a * (x->b_s - x->a_s);
    x->number_s = (n_b - n_a) * x->b_s;
}

/* Falling by the time of the run that has more of it. */
static int by_time(const void *p, const void *q)
{
    const struct compare_step *x = p, *y = q;
    const double a = fmax(x->share_a, x->share_b), b = fmax(y->share_a, y->share_b);
    if (a != b)
        return a < b ? 1 : -1;
    return x->decode_lo != y->decode_lo ? (x->decode_lo > y->decode_lo) - (x->decode_lo < y->decode_lo) : (x->prompt_lo > y->prompt_lo) - (x->prompt_lo < y->prompt_lo);
}

static void add_steps(struct serving_comparison *c)
{
    double common_s = 0;
    c->busy_a_s = busy_of(&c->a->steps);
    c->busy_b_s = busy_of(&c->b->steps);
    for (uint32_t i = 0; i < STEP_DECODES; i++)
        for (uint32_t k = 0; k < STEP_PROMPTS; k++) {
            const struct step_class *a = &c->a->steps.at[i][k], *b = &c->b->steps.at[i][k];
            if (a->n > 0 || b->n > 0)
                add_step(c, i, k);
            common_s += a->n > 0 && b->n > 0 ? a->s : 0;
        }
    for (size_t i = 0; i < c->steps.n; i++) {
        const struct compare_step *x = table_row(&c->steps, i);
        c->price_s += x->price_s;
        c->number_s += x->number_s;
    }
    c->price = common_s > 0 ? c->price_s / common_s : NAN;
    if (c->steps.n > 0)
        qsort(c->steps.v, c->steps.n, sizeof(struct compare_step), by_time);
}

/* ---- all ----------------------------------------------------------------------------------------------------------------- */

int serving_compare(struct serving_comparison *c, const struct serving_saved *a, const struct serving_saved *b, struct error *err)
{
    *c = (struct serving_comparison){ .a = a, .b = b, .figures = { .size = sizeof(struct compare_row) }, .steps = { .size = sizeof(struct compare_step) } };
    const bool kinds = a->measured != b->measured;
    snprintf(c->name_a, sizeof c->name_a, "%s", !kinds ? "first" : a->measured ? "measured" : "simulated");
    snprintf(c->name_b, sizeof c->name_b, "%s", !kinds ? "second" : b->measured ? "measured" : "simulated");
    if (compare_requests(c, err) != 0) {
        serving_comparison_free(c);
        return -1;
    }
    add_figures(c);
    add_distances(c);
    add_steps(c);
    return 0;
}

void serving_comparison_free(struct serving_comparison *c)
{
    table_rows_free(&c->figures);
    table_rows_free(&c->steps);
    strbuf_free(&c->differences);
}
