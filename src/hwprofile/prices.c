/* Prices of machines. */
#include "hwprofile/prices.h"
#include "base/environment.h"
#include "base/json.h"
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRICES_SCHEMA "roofcast.prices"
#define PRICES_FILE "hwprofiles/prices/prices.json"
enum { PRICES_VERSION = 1, MAX_PRICES = 100000, MAX_DEVICES = 65536, CTX = 400 };

static int get_price(const json_t *o, const char *ctx, const char *key, double *out, struct error *err)
{
    *out = NAN;
    if (json_get_num_opt(o, ctx, key, out, err) != 0)
        return -1;
    return isnan(*out) || (*out > 0 && *out < 1e9)
               ? 0
               : error_set(err, ERROR_INPUT, "%s: field \"%s\": expected more than 0 and less than 1e9 USD, found %g", ctx, key, *out);
}

static int check_keys(const json_t *o, const char *ctx, struct error *err)
{
    static const char known[] = "hw usd_h usd devices provider what source url date notes";
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)o, key, value) {
        if (!text_lists(known, key))
            return error_set(err, ERROR_INPUT, "%s: unknown field \"%.40s\": expected one of %s", ctx, key, known);
    }
    return 0;
}

static int read_price(struct price *p, const json_t *o, const char *ctx, struct error *err)
{
    int64_t devices = 1;
    if (json_check_object(o, ctx, err) != 0 || check_keys(o, ctx, err) != 0 || hw_get_text(o, ctx, "hw", true, p->hw, sizeof p->hw, err) != 0 ||
        get_price(o, ctx, "usd_h", &p->usd_h, err) != 0 || get_price(o, ctx, "usd", &p->usd, err) != 0 ||
        json_get_int_opt(o, ctx, "devices", 1, MAX_DEVICES, &devices, err) != 0 ||
        hw_get_text(o, ctx, "provider", false, p->provider, sizeof p->provider, err) != 0 || hw_get_text(o, ctx, "what", false, p->what, sizeof p->what, err) != 0 ||
        hw_get_text(o, ctx, "source", true, p->source, sizeof p->source, err) != 0 || hw_get_text(o, ctx, "url", false, p->url, sizeof p->url, err) != 0 ||
        hw_get_text(o, ctx, "date", true, p->date, sizeof p->date, err) != 0)
        return -1;
    p->devices = (uint32_t)devices;
    return isnan(p->usd_h) != isnan(p->usd) ? 0 : error_set(err, ERROR_INPUT, "%s: expected one of \"usd_h\" (to rent) and \"usd\" (to buy), found %s", ctx,
                                                             isnan(p->usd) ? "none" : "both");
}

static int take(struct prices *p, const json_t *doc, const char *name, struct error *err)
{
    const json_t *list;
    if (json_check_object(doc, name, err) != 0 || json_check_schema(doc, name, PRICES_SCHEMA, PRICES_VERSION, err) != 0 ||
        json_get_array(doc, name, "prices", MAX_PRICES, &list, err) != 0)
        return -1;
    const size_t n = json_array_size(list);
    p->v = calloc(n + 1, sizeof *p->v);
    if (!p->v)
        return error_oom(err, n * sizeof *p->v, "the prices");
    for (; p->n < n; p->n++) {
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%.300s: prices[%zu]", name, p->n);
        if (read_price(&p->v[p->n], json_array_get(list, p->n), ctx, err) != 0)
            return -1;
    }
    return 0;
}

static int take_doc(struct prices *p, json_t *doc, const char *name, struct error *err)
{
    *p = (struct prices){ 0 };
    const int rc = doc ? take(p, doc, name, err) : -1;
    json_decref(doc);
    if (rc != 0)
        prices_free(p);
    return rc;
}

int prices_parse(struct prices *p, const char *name, const void *data, size_t size, struct error *err)
{
    return take_doc(p, json_load_mem(name, data, size, err), name, err);
}

int prices_load(struct prices *p, const char *path, struct error *err)
{
    char installed[4096];
    *p = (struct prices){ 0 };
    if (!path && !environment_file(installed, sizeof installed, PRICES_FILE))
        return error_set(err, ERROR_INPUT, "%s: no data directory has it (last tried: %.300s)", PRICES_FILE, installed);
    path = path ? path : installed;
    return take_doc(p, json_load_path(path, err), path, err);
}

void prices_free(struct prices *p)
{
    free(p->v);
    *p = (struct prices){ 0 };
}

const struct price *prices_find(const struct prices *p, const char *hw, uint32_t n_devices, bool buy)
{
    const struct price *best = NULL;
    for (size_t i = 0; i < p->n; i++) {
        const struct price *x = &p->v[i];
        const double v = buy ? x->usd : x->usd_h;
        if (strcmp(x->hw, hw) == 0 && !isnan(v) && (buy || n_devices >= x->devices) && (!best || v < (buy ? best->usd : best->usd_h)))
            best = x;
    }
    return best;
}
