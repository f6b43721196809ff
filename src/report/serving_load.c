/* A saved run, read. */
#include "report/serving_saved.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 320 };

/* ---- figures ------------------------------------------------------------------------------------------------ */

static int read_figure(struct saved_figure *f, const json_t *o, const char *ctx, struct error *err)
{
    *f = (struct saved_figure){ .value = NAN, .lo = NAN, .hi = NAN, .model_lo = NAN, .model_hi = NAN };
    return json_check_object(o, ctx, err) == 0 && json_get_str(o, ctx, "figure", &f->key, err) == 0 && json_get_str(o, ctx, "name", &f->name, err) == 0 &&
                   json_get_str_opt(o, ctx, "unit", &f->unit, err) == 0 && json_get_num_opt(o, ctx, "value", &f->value, err) == 0 &&
                   json_get_num_opt(o, ctx, "lo", &f->lo, err) == 0 && json_get_num_opt(o, ctx, "hi", &f->hi, err) == 0 &&
                   json_get_num_opt(o, ctx, "model_lo", &f->model_lo, err) == 0 && json_get_num_opt(o, ctx, "model_hi", &f->model_hi, err) == 0
               ? 0
               : -1;
}

static int read_figures(struct serving_saved *s, struct error *err)
{
    const json_t *rows;
    char ctx[CONTEXT];
    if (json_get_array(s->doc, s->file, "rows", SAVED_FIGURES, &rows, err) != 0)
        return -1;
    const size_t n = json_array_size(rows);
    s->figure = calloc(n ? n : 1, sizeof *s->figure);
    if (!s->figure)
        return error_oom(err, n * sizeof *s->figure, "figures");
    for (; s->n_figure < n; s->n_figure++) {
        snprintf(ctx, sizeof ctx, "%.256s: rows[%zu]", s->file, s->n_figure);
        struct saved_figure *f = &s->figure[s->n_figure];
        if (read_figure(f, json_array_get(rows, s->n_figure), ctx, err) != 0)
            return -1;
        if (serving_saved_find(s, f->key))
            return error_set(err, ERROR_INPUT, "%s: figure %.64s stands above already", ctx, f->key);
    }
    return 0;
}

/* ---- distributions --------------------------------------------------------------------------------------------- */

/* A member of cdf into p[i].share or p[i].s, ascending; *n: its points, 0: null. */
static int read_column(const struct serving_saved *s, const json_t *cdf, const char *key, bool share, struct cdf_point *p, size_t *n, struct error *err)
{
    char ctx[CONTEXT];
    const json_t *a = json_object_get(cdf, key);
    const double most = share ? 1 : 1e9;
    double before = 0;
    snprintf(ctx, sizeof ctx, "%.256s: cdf", s->file);
    *n = 0;
    if (json_is_none(a))
        return 0;
    if (json_get_array(cdf, ctx, key, SAVED_POINTS, &a, err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *x = json_array_get(a, i);
        const double v = json_number_value(x);
        if (!json_is_number(x) || !(v >= before && v <= most))
            return error_set(err, ERROR_INPUT, "%s: %s[%zu]: expected a number from %.9g to %.9g; found %s %.9g", ctx, key, i, before, most,
                             json_is_number(x) ? "the number" : json_type_name(x), v);
        *(share ? &p[i].share : &p[i].s) = before = v;
    }
    *n = json_array_size(a);
    return 0;
}

static int read_cdf(struct serving_saved *s, struct error *err)
{
    const json_t *cdf = json_object_get(s->doc, "cdf");
    struct cdf_point share[SAVED_POINTS];
    char ctx[CONTEXT];
    snprintf(ctx, sizeof ctx, "%.256s: cdf", s->file);
    if (json_check_object(cdf, ctx, err) != 0 || read_column(s, cdf, "share", true, share, &s->n_point, err) != 0)
        return -1;
    if (s->n_point > 0 && (s->n_point < 2 || share[0].share > 0 || share[s->n_point - 1].share < 1))
        return error_set(err, ERROR_INPUT, "%s: share: expected two points or more, from 0 to 1; found %zu, from %.9g to %.9g", ctx, s->n_point, share[0].share,
                         share[s->n_point - 1].share);
    s->point = malloc(SAVED_CDFS * SAVED_POINTS * sizeof *s->point);
    if (!s->point)
        return error_oom(err, SAVED_CDFS * SAVED_POINTS * sizeof *s->point, "distributions");
    for (int i = 0; i < SAVED_CDFS; i++) {
        const char *key = serve_metric_key(serving_saved_metric(i));
        struct cdf_point *p = s->point + (size_t)i * SAVED_POINTS;
        memcpy(p, share, s->n_point * sizeof *p);
        s->cdf[i].p = p;
        if (read_column(s, cdf, key, false, p, &s->cdf[i].n, err) != 0)
            return -1;
        if (s->cdf[i].n > 0 && s->cdf[i].n != s->n_point)
            return error_set(err, ERROR_INPUT, "%s: %s has %zu points: expected %zu, as share has", ctx, key, s->cdf[i].n, s->n_point);
    }
    return 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static int out_of(const char *ctx, const char *key, double v, double lo, double hi, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: %s: expected %.9g to %.9g; found %.9g", ctx, key, lo, hi, v);
}

/* The number of tokens `key` of a step, in the mean within its class. */
static int read_tokens(const json_t *o, const char *ctx, const char *key, struct step_range r, double *tok, struct error *err)
{
    if (json_get_num(o, ctx, key, tok, err) != 0)
        return -1;
    return *tok >= r.lo * (1 - 1e-9) && *tok <= r.hi * (1 + 1e-9) ? 0 : out_of(ctx, key, *tok, r.lo, r.hi, err);
}

static int read_step(struct step_classes *all, const json_t *o, const char *ctx, struct error *err)
{
    int64_t n, decode_lo, prompt_lo;
    double decode_tok, prompt_tok, s, bytes = 0, flop = 0;
    if (json_check_object(o, ctx, err) != 0 || json_get_int(o, ctx, "decode_lo", 0, UINT32_MAX, &decode_lo, err) != 0 ||
        json_get_int(o, ctx, "prompt_lo", 0, UINT32_MAX, &prompt_lo, err) != 0 || json_get_int(o, ctx, "n", 1, INT64_C(1) << 53, &n, err) != 0 ||
        json_get_num(o, ctx, "total_s", &s, err) != 0 || json_get_num_opt(o, ctx, "bytes", &bytes, err) != 0 || json_get_num_opt(o, ctx, "flop", &flop, err) != 0)
        return -1;
    const uint32_t i = step_decode_class((uint32_t)decode_lo), k = step_prompt_class((uint32_t)prompt_lo);
    const struct step_range d = step_decode_range(i), p = step_prompt_range(k);
    if (d.lo != decode_lo || p.lo != prompt_lo)
        return error_set(err, ERROR_INPUT, "%s: a class of steps from %lld decode and %lld prompt tokens on: expected %u and %u", ctx, (long long)decode_lo,
                         (long long)prompt_lo, d.lo, p.lo);
    if (read_tokens(o, ctx, "decode_tok", d, &decode_tok, err) != 0 || read_tokens(o, ctx, "prompt_tok", p, &prompt_tok, err) != 0)
        return -1;
    if (!(s >= 0 && s <= 1e9))
        return out_of(ctx, "total_s", s, 0, 1e9, err);
    if (!(bytes >= 0 && bytes <= 1e18))
        return out_of(ctx, "bytes", bytes, 0, 1e18, err);
    if (!(flop >= 0 && flop <= 1e24))
        return out_of(ctx, "flop", flop, 0, 1e24, err);
    struct step_class *c = &all->at[i][k];
    if (c->n > 0)
        return error_set(err, ERROR_INPUT, "%s: a class of steps that stands above: %u decode, %u prompt tokens", ctx, d.lo, p.lo);
    *c = (struct step_class){ (uint64_t)n, (double)n * decode_tok, (double)n * prompt_tok, s, (double)n * bytes, (double)n * flop };
    return 0;
}

static int read_steps(struct serving_saved *s, struct error *err)
{
    const json_t *rows;
    char ctx[CONTEXT];
    if (json_get_array(s->doc, s->file, "steps", STEP_DECODES * STEP_PROMPTS, &rows, err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        snprintf(ctx, sizeof ctx, "%.256s: steps[%zu]", s->file, i);
        if (read_step(&s->steps, json_array_get(rows, i), ctx, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

static int read_settings(struct serving_saved *s, struct error *err)
{
    char ctx[CONTEXT];
    const char *key;
    const json_t *v;
    s->settings = json_object_get(s->doc, "settings");
    snprintf(ctx, sizeof ctx, "%.256s: settings", s->file);
    if (json_check_object(s->settings, ctx, err) != 0)
        return -1;
    json_object_foreach((json_t *)s->settings, key, v)
        if (json_is_object(v) || json_is_array(v))
            return error_set(err, ERROR_INPUT, "%s: %.64s: expected a number, a text or a truth value; found %s", ctx, key, json_type_name(v));
    return 0;
}

static int read_roofs(struct serving_saved *s, struct error *err)
{
    const json_t *o = json_object_get(s->doc, "roofs");
    char ctx[CONTEXT];
    snprintf(ctx, sizeof ctx, "%.256s: roofs", s->file);
    s->memory_bytes_s = s->flop_s = NAN;
    if (json_check_object(o, ctx, err) != 0 || json_get_num_opt(o, ctx, "memory_bytes_s", &s->memory_bytes_s, err) != 0 ||
        json_get_num_opt(o, ctx, "flop_s", &s->flop_s, err) != 0)
        return -1;
    if (!isnan(s->memory_bytes_s) && !(s->memory_bytes_s >= 1 && s->memory_bytes_s <= 1e18))
        return out_of(ctx, "memory_bytes_s", s->memory_bytes_s, 1, 1e18, err);
    return isnan(s->flop_s) || (s->flop_s >= 1 && s->flop_s <= 1e21) ? 0 : out_of(ctx, "flop_s", s->flop_s, 1, 1e21, err);
}

static int read_document(struct serving_saved *s, struct error *err)
{
    const json_t *d = s->doc;
    if (json_check_object(d, s->file, err) != 0 || json_check_schema(d, s->file, "roofcast.simulate", 1, err) != 0 ||
        json_get_str_opt(d, s->file, "model", &s->model, err) != 0 || json_get_str_opt(d, s->file, "hw", &s->hw, err) != 0 ||
        json_get_str(d, s->file, "policy", &s->policy, err) != 0 || json_get_str(d, s->file, "workload", &s->workload, err) != 0 ||
        json_get_str(d, s->file, "requests_digest", &s->digest, err) != 0 || json_get_bool_opt(d, s->file, "measured", &s->measured, err) != 0 ||
        json_get_int(d, s->file, "requests", 0, INT64_C(1) << 53, &s->n_request, err) != 0 ||
        json_get_int(d, s->file, "failed", 0, INT64_C(1) << 53, &s->n_failed, err) != 0)
        return -1;
    return read_settings(s, err) == 0 && read_roofs(s, err) == 0 && read_figures(s, err) == 0 && read_cdf(s, err) == 0 && read_steps(s, err) == 0 ? 0 : -1;
}

static int read_all(struct serving_saved *s, const char *file, json_t *doc, struct error *err)
{
    *s = (struct serving_saved){ .doc = doc, .file = file };
    if (!doc)
        return -1;
    if (read_document(s, err) == 0)
        return 0;
    serving_saved_free(s);
    return -1;
}

int serving_saved_parse(struct serving_saved *s, const char *file, const void *data, size_t size, struct error *err)
{
    return read_all(s, file, json_load_mem(file, data, size, err), err);
}

int serving_saved_load(struct serving_saved *s, const char *path, struct error *err)
{
    return read_all(s, path, json_load_path(path, err), err);
}

void serving_saved_free(struct serving_saved *s)
{
    json_decref(s->doc);
    free(s->figure);
    free(s->point);
    *s = (struct serving_saved){ .doc = NULL };
}

const struct saved_figure *serving_saved_find(const struct serving_saved *s, const char *key)
{
    for (size_t i = 0; i < s->n_figure; i++)
        if (strcmp(s->figure[i].key, key) == 0)
            return &s->figure[i];
    return NULL;
}
