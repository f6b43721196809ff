/* Published quality of quantized models: the file, and the range of a type's figures. */
#include "dataset/published.h"
#include "base/environment.h"
#include "base/json.h"
#include "model/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PUBLISHED_SCHEMA "roofcast.quality"
#define PUBLISHED_FILE "models/quality/published.json"
enum { PUBLISHED_VERSION = 1, MAX_STUDIES = 10000, MAX_FIGURES = 1000, CTX = 400 };

const double PUBLISHED_SIZE = 2;

/* ---- the file ----------------------------------------------------------------------------------------------- */

static int get_text(const json_t *o, const char *ctx, const char *key, char *out, size_t size, struct error *err)
{
    const char *s;
    if (json_get_str(o, ctx, key, &s, err) != 0)
        return -1;
    if (!*s || strlen(s) >= size)
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected a text of 1 to %zu bytes, found %zu", ctx, key, size - 1, strlen(s));
    snprintf(out, size, "%s", s);
    return 0;
}

/* Within [lo, hi]; NaN: absent. */
static int get_number(const json_t *o, const char *ctx, const char *key, double lo, double hi, double *out, struct error *err)
{
    *out = NAN;
    if (json_get_num_opt(o, ctx, key, out, err) != 0)
        return -1;
    return isnan(*out) || (*out >= lo && *out <= hi)
               ? 0
               : error_set(err, ERROR_INPUT, "%s: field \"%s\": expected %g to %g, found %g", ctx, key, lo, hi, *out);
}

static int get_type(char *out, size_t size, const json_t *o, const char *ctx, struct error *err)
{
    const char *s;
    if (json_get_str(o, ctx, "type", &s, err) != 0)
        return -1;
    if (!model_knows_type(s) || strlen(s) >= size)
        return error_set(err, ERROR_INPUT, "%s: field \"type\": expected a type, mixture or checkpoint format (`roofcast list types`), found \"%.40s\"", ctx, s);
    snprintf(out, size, "%s", s);
    return 0;
}

/* The loss is stated as a ratio of perplexities, or by a perplexity and the base's. */
static int read_figure(struct published_figure *f, const json_t *o, double base_ppl, const char *ctx, struct error *err)
{
    double ratio, ppl;
    if (json_check_object(o, ctx, err) != 0 || get_type(f->type, sizeof f->type, o, ctx, err) != 0 ||
        json_get_bool_opt(o, ctx, "imatrix", &f->imatrix, err) != 0 || get_number(o, ctx, "ratio", 0.5, 1e6, &ratio, err) != 0 ||
        get_number(o, ctx, "ppl", 1, 1e9, &ppl, err) != 0 || get_number(o, ctx, "kl", 0, 100, &f->kl, err) != 0)
        return -1;
    if (!isnan(ppl) && (isnan(base_ppl) || !isnan(ratio)))
        return error_set(err, ERROR_INPUT, "%s: field \"ppl\": expected \"base_ppl\" in the study and no \"ratio\"", ctx);
    f->loss = (isnan(ratio) ? ppl / base_ppl : ratio) - 1;
    return isnan(f->loss) && isnan(f->kl) ? error_set(err, ERROR_INPUT, "%s: expected one of \"ratio\", \"ppl\" and \"kl\", found none", ctx) : 0;
}

static int read_figures(struct published_study *s, const json_t *list, double base_ppl, const char *ctx, struct error *err)
{
    const size_t n = json_array_size(list);
    s->figure = calloc(n + 1, sizeof *s->figure);
    if (!s->figure)
        return error_oom(err, n * sizeof *s->figure, "published figures");
    for (; s->n < n; s->n++) {
        char at[CTX + 32];
        snprintf(at, sizeof at, "%s: figures[%zu]", ctx, s->n);
        if (read_figure(&s->figure[s->n], json_array_get(list, s->n), base_ppl, at, err) != 0)
            return -1;
    }
    return 0;
}

static int read_study(struct published_study *s, const json_t *o, const char *ctx, struct error *err)
{
    const json_t *list;
    double base_ppl;
    if (json_check_object(o, ctx, err) != 0 || get_text(o, ctx, "model", s->model, sizeof s->model, err) != 0 ||
        json_get_num(o, ctx, "params", &s->n_params, err) != 0 || get_text(o, ctx, "source", s->source, sizeof s->source, err) != 0 ||
        get_text(o, ctx, "url", s->url, sizeof s->url, err) != 0 || get_text(o, ctx, "date", s->date, sizeof s->date, err) != 0 ||
        get_text(o, ctx, "text", s->text, sizeof s->text, err) != 0 || get_text(o, ctx, "base", s->base, sizeof s->base, err) != 0 ||
        get_number(o, ctx, "base_ppl", 1, 1e9, &base_ppl, err) != 0 || json_get_array(o, ctx, "figures", MAX_FIGURES, &list, err) != 0)
        return -1;
    if (!(s->n_params >= 1e5 && s->n_params <= 1e15))
        return error_set(err, ERROR_INPUT, "%s: field \"params\": expected 1e5 to 1e15 parameters, found %g", ctx, s->n_params);
    return read_figures(s, list, base_ppl, ctx, err);
}

static int read_native(struct published *p, const json_t *doc, const char *name, struct error *err)
{
    const json_t *list;
    if (!json_object_get(doc, "native"))
        return 0;
    if (json_get_array(doc, name, "native", MAX_FIGURES, &list, err) != 0)
        return -1;
    p->native = calloc(json_array_size(list) + 1, sizeof *p->native);
    if (!p->native)
        return error_oom(err, json_array_size(list) * sizeof *p->native, "native types");
    for (; p->n_native < json_array_size(list); p->n_native++) {
        struct published_native *x = &p->native[p->n_native];
        const json_t *o = json_array_get(list, p->n_native);
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%.300s: native[%zu]", name, p->n_native);
        if (json_check_object(o, ctx, err) != 0 || get_text(o, ctx, "model", x->model, sizeof x->model, err) != 0 ||
            get_type(x->type, sizeof x->type, o, ctx, err) != 0 || get_text(o, ctx, "source", x->source, sizeof x->source, err) != 0 ||
            get_text(o, ctx, "url", x->url, sizeof x->url, err) != 0 || get_text(o, ctx, "date", x->date, sizeof x->date, err) != 0)
            return -1;
    }
    return 0;
}

const struct published_native *published_native(const struct published *p, const char *model, const char *type)
{
    char a[64], b[64];
    name_fold(a, sizeof a, model, NULL);
    for (size_t i = 0; i < p->n_native; i++) {
        name_fold(b, sizeof b, p->native[i].model, NULL);
        if (strcmp(a, b) == 0 && strcasecmp(type, p->native[i].type) == 0)
            return &p->native[i];
    }
    return NULL;
}

static int take(struct published *p, const json_t *doc, const char *name, struct error *err)
{
    const json_t *list;
    if (json_check_object(doc, name, err) != 0 || json_check_schema(doc, name, PUBLISHED_SCHEMA, PUBLISHED_VERSION, err) != 0 ||
        json_get_array(doc, name, "studies", MAX_STUDIES, &list, err) != 0 || read_native(p, doc, name, err) != 0)
        return -1;
    const size_t n = json_array_size(list);
    p->study = calloc(n + 1, sizeof *p->study);
    if (!p->study)
        return error_oom(err, n * sizeof *p->study, "published figures");
    while (p->n < n) {
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%.300s: studies[%zu]", name, p->n);
        const json_t *o = json_array_get(list, p->n);
        if (read_study(&p->study[p->n++], o, ctx, err) != 0)
            return -1;
    }
    return 0;
}

static int take_doc(struct published *p, json_t *doc, const char *name, struct error *err)
{
    *p = (struct published){ 0 };
    const int rc = doc ? take(p, doc, name, err) : -1;
    json_decref(doc);
    if (rc != 0)
        published_free(p);
    return rc;
}

int published_parse(struct published *p, const char *name, const void *data, size_t size, struct error *err)
{
    return take_doc(p, json_load_mem(name, data, size, err), name, err);
}

int published_load(struct published *p, struct error *err)
{
    char path[4096];
    *p = (struct published){ 0 };
    if (!environment_file(path, sizeof path, PUBLISHED_FILE))
        return error_set(err, ERROR_INPUT, "%s: no data directory has it (last tried: %.300s)", PUBLISHED_FILE, path);
    return take_doc(p, json_load_path(path, err), path, err);
}

void published_free(struct published *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->study[i].figure);
    free(p->study);
    free(p->native);
    *p = (struct published){ 0 };
}

int published_add(struct published *p, const struct published_study *s, struct error *err)
{
    struct published_study *v = realloc(p->study, (p->n + 2) * sizeof *v);
    if (!v)
        return error_oom(err, (p->n + 2) * sizeof *v, "published figures");
    p->study = v;
    v[p->n] = *s;
    v[p->n].figure = calloc(s->n + 1, sizeof *s->figure);
    if (!v[p->n].figure)
        return error_oom(err, (s->n + 1) * sizeof *s->figure, "published figures");
    if (s->n > 0)
        memcpy(v[p->n].figure, s->figure, s->n * sizeof *s->figure);
    p->n++;
    return 0;
}

/* ---- the range of a type's figures ----------------------------------------------------------------------------- */

static bool study_has(const struct published_study *s, const char *type)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcasecmp(s->figure[i].type, type) == 0)
            return true;
    return false;
}

/* Ratio of two sizes, at least 1. */
static double apart(double a, double b)
{
    return a > b ? a / b : b / a;
}

static void widen(double *lo, double *hi, double v)
{
    *lo = fmin(*lo, v); /* of NaN and a number the number */
    *hi = fmax(*hi, v);
}

static void add_study(struct published_range *r, const struct published_study *s, size_t at, const char *type)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcasecmp(s->figure[i].type, type) == 0) {
            widen(&r->lo, &r->hi, s->figure[i].loss);
            widen(&r->kl_lo, &r->kl_hi, s->figure[i].kl);
            r->n_figure++;
        }
    widen(&r->params_lo, &r->params_hi, s->n_params);
    if (r->n_study < PUBLISHED_SOURCES)
        r->study[r->n_study++] = at;
}

bool published_range(const struct published *p, const char *type, double n_params, struct published_range *out)
{
    double nearest = INFINITY;
    *out = (struct published_range){ .lo = NAN, .hi = NAN, .kl_lo = NAN, .kl_hi = NAN, .params_lo = NAN, .params_hi = NAN };
    for (size_t i = 0; i < p->n; i++)
        if (study_has(&p->study[i], type))
            nearest = fmin(nearest, apart(p->study[i].n_params, n_params));
    if (!isfinite(nearest))
        return false;
    out->of_size = nearest <= PUBLISHED_SIZE;
    const double most = out->of_size ? PUBLISHED_SIZE : nearest * (1 + 1e-9);
    for (size_t i = 0; i < p->n; i++)
        if (study_has(&p->study[i], type) && apart(p->study[i].n_params, n_params) <= most)
            add_study(out, &p->study[i], i, type);
    return true;
}
