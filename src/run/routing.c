/* run/routing.c: tokens per expert, to and from JSON. */
#include "run/internal.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_EXPERTS = 65536, MAX_LAYERS = 4096 };

/* ---- writing -------------------------------------------------------------------- */

static json_t *layer_json(const struct run_routing *x, uint32_t i)
{
    json_t *o = json_object(), *counts = json_array();
    int bad = json_object_set_new(o, "layer", json_integer(x->layer[i]));
    for (uint32_t k = 0; k < x->n_expert; k++)
        bad |= json_array_append_new(counts, json_integer((json_int_t)u64_min(x->counts[(size_t)i * x->n_expert + k], INT64_MAX)));
    bad |= json_object_set_new(o, "counts", counts);
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

json_t *run_routing_json(const struct run_routing *x)
{
    json_t *o = json_object(), *layers = json_array();
    int bad = json_object_set_new(o, "model", json_text(x->model));
    bad |= json_object_set_new(o, "n_expert", json_integer(x->n_expert));
    bad |= json_object_set_new(o, "n_expert_used", json_integer(x->n_expert_used));
    bad |= json_object_set_new(o, "n_tok", json_integer((json_int_t)u64_min(x->n_tok, INT64_MAX)));
    for (uint32_t i = 0; i < x->n_layer; i++)
        bad |= json_array_append_new(layers, layer_json(x, i));
    bad |= json_object_set_new(o, "layers", layers);
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

json_t *run_routings_json(const struct run *r)
{
    json_t *a = json_array();
    int bad = 0;
    for (size_t i = 0; i < r->n_routing; i++)
        bad |= json_array_append_new(a, run_routing_json(&r->routing[i]));
    if (!bad)
        return a;
    json_decref(a);
    return NULL;
}

/* ---- reading -------------------------------------------------------------------- */

/* Each token uses n_expert_used distinct experts: no count exceeds n_tok, and they sum to n_tok * n_expert_used. */
static int read_counts(struct run_routing *x, uint32_t i, const json_t *layer, const char *ctx, struct error *err)
{
    const json_t *a = json_object_get(layer, "counts");
    int64_t number, sum = 0;
    if (json_get_int(layer, ctx, "layer", 0, MAX_LAYERS - 1, &number, err) != 0)
        return -1;
    if (!json_is_array(a) || json_array_size(a) != x->n_expert)
        return error_set(err, ERROR_INPUT, "%s: field \"counts\": expected an array of %u numbers", ctx, x->n_expert);
    if (i > 0 && number <= (int64_t)x->layer[i - 1])
        return error_set(err, ERROR_INPUT, "%s: field \"layer\": %lld after %u, expected ascending ones", ctx,
                         (long long)number, x->layer[i - 1]);
    x->layer[i] = (uint32_t)number;
    for (uint32_t k = 0; k < x->n_expert; k++) {
        const json_t *v = json_array_get(a, k);
        const json_int_t c = json_integer_value(v);
        if (!json_is_integer(v) || c < 0 || (uint64_t)c > x->n_tok)
            return error_set(err, ERROR_INPUT, "%s: counts[%u]: expected a whole number of 0 to %llu, the tokens", ctx, k,
                             (unsigned long long)x->n_tok);
        x->counts[(size_t)i * x->n_expert + k] = (uint64_t)c;
        sum += c; /* no overflow: n_tok <= 2^40, at most 2^16 experts */
    }
    if ((uint64_t)sum != x->n_tok * x->n_expert_used)
        return error_set(err, ERROR_INPUT, "%s: counts add up to %lld, expected %llu: %u experts of each of %llu tokens", ctx,
                         (long long)sum, (unsigned long long)(x->n_tok * x->n_expert_used), x->n_expert_used,
                         (unsigned long long)x->n_tok);
    return 0;
}

static int read_sizes(struct run_routing *x, const json_t *o, const char *ctx, struct error *err)
{
    const char *model;
    int64_t n, used, tok;
    const json_t *layers = json_object_get(o, "layers");
    if (!json_is_object(o))
        return error_set(err, ERROR_INPUT, "%s: expected an object", ctx);
    if (json_get_str(o, ctx, "model", &model, err) != 0 || json_get_int(o, ctx, "n_expert", 1, MAX_EXPERTS, &n, err) != 0 ||
        json_get_int(o, ctx, "n_expert_used", 1, n, &used, err) != 0 ||
        json_get_int(o, ctx, "n_tok", 1, INT64_C(1) << 40, &tok, err) != 0)
        return -1;
    if (strlen(model) >= sizeof x->model)
        return error_set(err, ERROR_INPUT, "%s: field \"model\": %zu bytes, expected at most %zu", ctx, strlen(model),
                         sizeof x->model - 1);
    if (!json_is_array(layers) || json_array_size(layers) < 1 || json_array_size(layers) > MAX_LAYERS)
        return error_set(err, ERROR_INPUT, "%s: field \"layers\": expected an array of 1 to %d layers", ctx, MAX_LAYERS);
    snprintf(x->model, sizeof x->model, "%s", model);
    x->n_expert = (uint32_t)n;
    x->n_expert_used = (uint32_t)used;
    x->n_tok = (uint64_t)tok;
    return 0;
}

/* Allocates layer by layer, so that memory is bounded by the text. */
static int read_layers(struct run_routing *x, const json_t *layers, const char *ctx, struct error *err)
{
    const size_t n = json_array_size(layers);
    char where[400];
    x->layer = malloc(n * sizeof *x->layer);
    if (!x->layer)
        return error_oom(err, n * sizeof *x->layer, "the routing");
    for (uint32_t i = 0; i < n; i++) {
        const size_t bytes = (size_t)(i + 1) * x->n_expert * sizeof *x->counts;
        uint64_t *more = realloc(x->counts, bytes);
        if (!more)
            return error_oom(err, bytes, "the routing");
        x->counts = more;
        snprintf(where, sizeof where, "%.360s: layers[%u]", ctx, i);
        if (read_counts(x, i, json_array_get(layers, i), where, err) != 0)
            return -1;
        x->n_layer = i + 1;
    }
    return 0;
}

int run_read_routing(struct run *r, const json_t *o, const char *ctx, struct error *err)
{
    struct run_routing x = { .n_layer = 0 };
    int rc = read_sizes(&x, o, ctx, err);
    rc = rc ? rc : read_layers(&x, json_object_get(o, "layers"), ctx, err);
    const size_t before = r->n_routing;
    rc = rc ? rc : run_add_routing(r, &x, err);
    if (rc == 0 && r->n_routing == before) /* merged into an existing entry */
        rc = error_set(err, ERROR_INPUT, "%s: model \"%s\" has its routing above already", ctx, x.model);
    free(x.layer);
    free(x.counts);
    return rc;
}
