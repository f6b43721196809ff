/* Datasheet figures: memory, peaks, power, price, links. */
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CTX = HW_CTX, MAX_LINKS = 8 };

int hw_parse_efficiency(struct hw_efficiency *e, const json_t *o, const char *ctx,
                        struct error *err)
{
    static const char *const known[] = { "compute", "bandwidth", "launch_s" };
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        hw_get_value(&e->compute, o, ctx, "compute", &hw_q_fraction, err) != 0 ||
        hw_get_value(&e->bandwidth, o, ctx, "bandwidth", &hw_q_fraction, err) != 0 ||
        hw_get_value(&e->launch_s, o, ctx, "launch_s", &hw_q_seconds, err) != 0)
        return -1;
    return 0;
}

/* A link needs both numbers: a missing one would read as zero cost. */
static int need_value(const struct hw_value *v, const char *ctx, const char *key, const char *unit, struct error *err)
{
    if (!isnan(v->value))
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"%s\" is missing, expected {\"value\": .., \"unit\": \"%s\", \"source\": ..}",
                     ctx, key, unit);
}

static int parse_link(struct hw_link *l, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const known[] = { "name", "topology", "bandwidth", "latency", "n_devices" };
    static const char *const topologies[] = { "switch", "ring", "mesh", "pcie", "network" };
    int64_t n = 0;
    *l = (struct hw_link){ 0 };
    hw_value_unknown(&l->bytes_s);
    hw_value_unknown(&l->latency_s);
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        hw_get_text(o, ctx, "name", true, l->name, sizeof l->name, err) != 0 ||
        hw_get_text(o, ctx, "topology", true, l->topology, sizeof l->topology, err) != 0 ||
        hw_check_choice(l->topology, topologies, ARRAY_LEN(topologies), ctx, "topology", err) < 0 ||
        hw_get_value(&l->bytes_s, o, ctx, "bandwidth", &hw_q_bytes_s, err) != 0 ||
        hw_get_value(&l->latency_s, o, ctx, "latency", &hw_q_seconds, err) != 0 ||
        json_get_int_opt(o, ctx, "n_devices", 0, 1 << 20, &n, err) != 0)
        return -1;
    if (n == 1)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"n_devices\": a link joins 2 devices or more (0: any number), found 1",
                         ctx);
    l->n_devices = (int)n;
    return need_value(&l->bytes_s, ctx, "bandwidth", "B/s", err) != 0 ||
                   need_value(&l->latency_s, ctx, "latency", "s", err) != 0
               ? -1
               : 0;
}

/* Fastest first, as hwprofile_link expects. */
static int parse_links(struct hwprofile *h, const json_t *a, const char *pctx, struct error *err)
{
    if (!a || json_is_null(a))
        return 0;
    if (!json_is_array(a))
        return error_set(err, ERROR_INPUT, "%s: field \"links\": expected an array", pctx);
    const size_t n = json_array_size(a);
    if (n > MAX_LINKS)
        return error_set(err, ERROR_INPUT, "%s: field \"links\": expected at most %d, found %zu", pctx,
                         MAX_LINKS, n);
    h->link = n ? calloc(n, sizeof *h->link) : NULL;
    if (n && !h->link)
        return error_oom(err, n * sizeof *h->link, "links");
    for (size_t i = 0; i < n; i++) {
        char ctx[CTX + 32];
        struct hw_link *l = &h->link[i];
        snprintf(ctx, sizeof ctx, "%s.links[%zu]", pctx, i);
        if (parse_link(l, json_array_get(a, i), ctx, err) != 0)
            return -1;
        if (i && l->bytes_s.value > l[-1].bytes_s.value)
            return error_set(err, ERROR_INPUT,
                             "%s: expected the fastest link first, found %g B/s after %g B/s", ctx,
                             l->bytes_s.value, l[-1].bytes_s.value);
        h->n_link = i + 1;
    }
    return 0;
}

int hw_parse_spec(struct hwprofile *h, const json_t *o, const char *pctx, struct error *err)
{
    static const char *const known[] = { "memory_bytes", "memory_bandwidth", "peaks", "tdp_w",
                                         "idle_w",       "price",            "links", "units",
                                         "unit_threads", "clock",            "cache_bytes" };
    const char *maths[MATH_COUNT];
    char ctx[CTX];
    const json_t *peaks;
    snprintf(ctx, sizeof ctx, "%s: spec", pctx);
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        hw_get_value(&h->mem_bytes, o, ctx, "memory_bytes", &hw_q_bytes, err) != 0 ||
        hw_get_value(&h->mem_bw, o, ctx, "memory_bandwidth", &hw_q_bytes_s, err) != 0 ||
        hw_get_value(&h->tdp_w, o, ctx, "tdp_w", &hw_q_watt, err) != 0 ||
        hw_get_value(&h->idle_w, o, ctx, "idle_w", &hw_q_watt, err) != 0 ||
        hw_get_value(&h->price_usd_h, o, ctx, "price", &hw_q_usd_h, err) != 0 ||
        hw_get_value(&h->n_unit, o, ctx, "units", &hw_q_count, err) != 0 ||
        hw_get_value(&h->unit_threads, o, ctx, "unit_threads", &hw_q_count, err) != 0 ||
        hw_get_value(&h->clock_hz, o, ctx, "clock", &hw_q_hz, err) != 0 ||
        hw_get_value(&h->cache_bytes, o, ctx, "cache_bytes", &hw_q_bytes, err) != 0 ||
        parse_links(h, json_object_get(o, "links"), ctx, err) != 0 ||
        hw_get_object(o, ctx, "peaks", &peaks, err) != 0)
        return -1;
    if (!peaks)
        return 0;
    for (int i = 0; i < MATH_COUNT; i++)
        maths[i] = math_name((enum math)i);
    snprintf(ctx, sizeof ctx, "%s: spec.peaks", pctx);
    if (hw_check_fields(peaks, ctx, maths, MATH_COUNT, err) != 0)
        return -1;
    for (int i = 0; i < MATH_COUNT; i++)
        if (hw_get_value(&h->peak[i], peaks, ctx, maths[i], &hw_q_flop_s, err) != 0)
            return -1;
    return 0;
}
