/* Datasheet figures from and to JSON: memory, peaks, power, price, links. */
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CTX = HW_CTX, MAX_LINKS = 8 };

static const struct hw_field efficiency_fields[] = {
    HW_VALUE_FIELD("compute", struct hw_efficiency, compute, HW_ALWAYS, &hw_q_fraction),
    HW_VALUE_FIELD("bandwidth", struct hw_efficiency, bandwidth, HW_ALWAYS, &hw_q_fraction),
    HW_VALUE_FIELD("launch_s", struct hw_efficiency, launch_s, HW_ALWAYS, &hw_q_seconds),
};

int hw_parse_efficiency(struct hw_efficiency *e, const json_t *o, const char *ctx, struct error *err)
{
    return hw_read_fields(e, efficiency_fields, ARRAY_LEN(efficiency_fields), o, ctx, err);
}

int hw_put_efficiency(json_t *o, const void *p)
{
    const struct hwprofile *h = p;
    return hw_put(o, "efficiency", hw_fields_to_json(&h->eff, efficiency_fields, ARRAY_LEN(efficiency_fields)));
}

/* A link needs both numbers: a missing one would read as zero cost. */
static int need_value(const struct hw_value *v, const char *ctx, const char *key, const char *unit, struct error *err)
{
    if (!isnan(v->value))
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"%s\" is missing, expected {\"value\": .., \"unit\": \"%s\", \"source\": ..}",
                     ctx, key, unit);
}

static const struct hw_field link_fields[] = {
    HW_TEXT_FIELD("name", struct hw_link, name, HW_REQUIRED | HW_ALWAYS),
    HW_TEXT_FIELD("topology", struct hw_link, topology, HW_REQUIRED | HW_ALWAYS),
    HW_VALUE_FIELD("bandwidth", struct hw_link, bytes_s, HW_ALWAYS, &hw_q_bytes_s),
    HW_VALUE_FIELD("latency", struct hw_link, latency_s, 0, &hw_q_seconds),
    HW_INT_FIELD("n_devices", struct hw_link, n_devices, HW_ALWAYS, 0, 1 << 20),
};

static void init_link(void *item)
{
    struct hw_link *l = item;
    hw_value_unknown(&l->bytes_s);
    hw_value_unknown(&l->latency_s);
}

/* Fastest first, as hwprofile_link expects. */
static int check_link(const void *p, size_t i, const char *ctx, struct error *err)
{
    static const char *const topologies[] = { "switch", "ring", "mesh", "pcie", "network" };
    const struct hw_link *l = &((const struct hwprofile *)p)->link[i];
    if (hw_check_choice(l->topology, topologies, ARRAY_LEN(topologies), ctx, "topology", err) < 0)
        return -1;
    if (l->n_devices == 1)
        return error_set(err, ERROR_INPUT, "%s: field \"n_devices\": a link joins 2 devices or more (0: any number), found 1", ctx);
    if (need_value(&l->bytes_s, ctx, "bandwidth", "B/s", err) != 0 || need_value(&l->latency_s, ctx, "latency", "s", err) != 0)
        return -1;
    if (i > 0 && l->bytes_s.value > l[-1].bytes_s.value)
        return error_set(err, ERROR_INPUT, "%s: expected the fastest link first, found %g B/s after %g B/s", ctx, l->bytes_s.value,
                         l[-1].bytes_s.value);
    return 0;
}

static const struct hw_list links = {
    .count = offsetof(struct hwprofile, n_link), .size = sizeof(struct hw_link), .most = MAX_LINKS,
    .fields = link_fields, .n_fields = ARRAY_LEN(link_fields), .init = init_link, .check = check_link,
};

static int read_peaks(void *p, const json_t *o, const char *pctx, struct error *err)
{
    struct hwprofile *h = p;
    const char *maths[MATH_COUNT];
    char ctx[CTX];
    const json_t *peaks;
    if (hw_get_object(o, pctx, "peaks", &peaks, err) != 0)
        return -1;
    if (!peaks)
        return 0;
    for (int i = 0; i < MATH_COUNT; i++)
        maths[i] = math_name((enum math)i);
    snprintf(ctx, sizeof ctx, "%s.peaks", pctx);
    if (hw_check_fields(peaks, ctx, maths, MATH_COUNT, err) != 0)
        return -1;
    for (int i = 0; i < MATH_COUNT; i++)
        if (hw_get_value(&h->peak[i], peaks, ctx, maths[i], &hw_q_flop_s, err) != 0)
            return -1;
    return 0;
}

static int put_peaks(json_t *o, const void *p)
{
    const struct hwprofile *h = p;
    json_t *peaks = json_object();
    int rc = 0;
    for (int i = 0; i < MATH_COUNT; i++)
        rc |= hw_put_value(peaks, math_name((enum math)i), &h->peak[i], math_integer((enum math)i) ? "OP/s" : "FLOP/s", false);
    return rc | hw_put(o, "peaks", peaks);
}

static const struct hw_field spec_fields[] = {
    HW_VALUE_FIELD("memory_bytes", struct hwprofile, mem_bytes, 0, &hw_q_bytes),
    HW_VALUE_FIELD("memory_bandwidth", struct hwprofile, mem_bw, HW_ALWAYS, &hw_q_bytes_s),
    HW_CHILD_FIELD("peaks", read_peaks, put_peaks),
    HW_VALUE_FIELD("tdp_w", struct hwprofile, tdp_w, 0, &hw_q_watt),
    HW_VALUE_FIELD("idle_w", struct hwprofile, idle_w, 0, &hw_q_watt),
    HW_VALUE_FIELD("price", struct hwprofile, price_usd_h, 0, &hw_q_usd_h),
    HW_VALUE_FIELD("units", struct hwprofile, n_unit, 0, &hw_q_count),
    HW_VALUE_FIELD("unit_threads", struct hwprofile, unit_threads, 0, &hw_q_count),
    HW_VALUE_FIELD("clock", struct hwprofile, clock_hz, 0, &hw_q_hz),
    HW_VALUE_FIELD("cache_bytes", struct hwprofile, cache_bytes, 0, &hw_q_bytes),
    HW_LIST_FIELD("links", struct hwprofile, link, 0, &links),
};

int hw_read_spec(void *p, const json_t *o, const char *pctx, struct error *err)
{
    char ctx[CTX];
    const json_t *spec;
    snprintf(ctx, sizeof ctx, "%s: spec", pctx);
    if (hw_get_object(o, pctx, "spec", &spec, err) != 0)
        return -1;
    return spec ? hw_read_fields(p, spec_fields, ARRAY_LEN(spec_fields), spec, ctx, err) : 0;
}

int hw_put_spec(json_t *o, const void *p)
{
    return hw_put(o, "spec", hw_fields_to_json(p, spec_fields, ARRAY_LEN(spec_fields)));
}
