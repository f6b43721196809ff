/*
 * struct hwprofile from and to JSON. Unknown fields, wrong units and non-positive numbers are errors that name file and field.
 */
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CTX = HW_CTX };

static const struct hw_field cache_fields[] = {
    HW_INT_FIELD("level", struct hw_cache, level, HW_REQUIRED | HW_ALWAYS, 1, 9),
    HW_NUMBER_FIELD("size_bytes", struct hw_cache, size_bytes, HW_REQUIRED | HW_ALWAYS),
    HW_INT_FIELD("n_instances", struct hw_cache, n_instances, HW_REQUIRED | HW_ALWAYS, 1, 1 << 20),
    HW_INT_FIELD("line_bytes", struct hw_cache, line_bytes, 0, 1, 1 << 20),
    HW_INT_FIELD("n_sharing", struct hw_cache, n_sharing, 0, 1, 1 << 20),
};

static int check_cache(const void *p, size_t i, const char *ctx, struct error *err)
{
    const double size = ((const struct hwprofile *)p)->cache[i].size_bytes;
    if (size >= 1 && size <= hw_q_bytes.hi)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"size_bytes\": expected at least 1 and at most %g B, found %g", ctx, hw_q_bytes.hi, size);
}

static const struct hw_list caches = {
    .count = offsetof(struct hwprofile, n_cache), .size = sizeof(struct hw_cache), .most = SIZE_MAX,
    .fields = cache_fields, .n_fields = ARRAY_LEN(cache_fields), .check = check_cache,
};

static const struct hw_field topology_fields[] = {
    HW_TEXT_FIELD("cpu", struct hwprofile, cpu_model, 0),
    HW_TEXT_FIELD("isa", struct hwprofile, isa, 0),
    HW_INT_FIELD("n_packages", struct hwprofile, n_packages, 0, 1, 1 << 20),
    HW_INT_FIELD("n_cores", struct hwprofile, n_cores, 0, 1, 1 << 20),
    HW_INT_FIELD("n_pus", struct hwprofile, n_pus, 0, 1, 1 << 20),
    HW_INT_FIELD("n_numa", struct hwprofile, n_numa, 0, 1, 1 << 20),
    HW_LIST_FIELD("caches", struct hwprofile, cache, HW_ALWAYS, &caches),
};

static int read_topology(void *p, const json_t *o, const char *pctx, struct error *err)
{
    char ctx[CTX];
    const json_t *topology;
    snprintf(ctx, sizeof ctx, "%s: topology", pctx);
    if (hw_get_object(o, pctx, "topology", &topology, err) != 0)
        return -1;
    return topology ? hw_read_fields(p, topology_fields, ARRAY_LEN(topology_fields), topology, ctx, err) : 0;
}

static int put_topology(json_t *o, const void *p)
{
    const struct hwprofile *h = p;
    if (!h->n_pus && !h->n_cores && !h->n_cache && !h->cpu_model[0])
        return 0;
    return hw_put(o, "topology", hw_fields_to_json(h, topology_fields, ARRAY_LEN(topology_fields)));
}

static int read_aliases(void *p, const json_t *o, const char *ctx, struct error *err)
{
    struct hwprofile *h = p;
    const json_t *a = json_object_get(o, "aliases");
    if (!a || json_is_null(a))
        return 0;
    if (!json_is_array(a))
        return error_set(err, ERROR_INPUT, "%s: field \"aliases\": expected an array of strings",
                         ctx);
    size_t n = json_array_size(a);
    if (n == 0)
        return 0;
    h->alias = calloc(n, sizeof *h->alias);
    if (!h->alias)
        return error_oom(err, n * sizeof *h->alias, "aliases");
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(a, i));
        if (!s || !*s)
            return error_set(err, ERROR_INPUT, "%s: field \"aliases\"[%zu]: expected a name", ctx, i);
        h->alias[i] = strdup(s);
        if (!h->alias[i])
            return error_oom(err, strlen(s) + 1, "aliases");
        h->n_alias = i + 1;
    }
    return 0;
}

static int put_aliases(json_t *o, const void *p)
{
    const struct hwprofile *h = p;
    if (h->n_alias == 0)
        return 0;
    json_t *list = json_array();
    int rc = 0;
    for (size_t i = 0; i < h->n_alias; i++)
        rc |= json_array_append_new(list, json_string(h->alias[i]));
    return rc | hw_put(o, "aliases", list);
}

static int read_kind(void *p, const json_t *o, const char *ctx, struct error *err)
{
    char kind[16];
    if (hw_get_text(o, ctx, "kind", true, kind, sizeof kind, err) != 0)
        return -1;
    const int k = hw_check_choice(kind, hw_kind_names, ARRAY_LEN(hw_kind_names), ctx, "kind", err);
    if (k < 0)
        return -1;
    ((struct hwprofile *)p)->kind = (enum hw_kind)k;
    return 0;
}

static int put_kind(json_t *o, const void *p)
{
    return hw_put(o, "kind", json_string(hw_kind_names[((const struct hwprofile *)p)->kind]));
}

static int read_efficiency(void *p, const json_t *o, const char *pctx, struct error *err)
{
    char ctx[CTX];
    const json_t *efficiency;
    snprintf(ctx, sizeof ctx, "%s: efficiency", pctx);
    if (hw_get_object(o, pctx, "efficiency", &efficiency, err) != 0)
        return -1;
    return efficiency ? hw_parse_efficiency(&((struct hwprofile *)p)->eff, efficiency, ctx, err) : 0;
}

static int put_schema(json_t *o, const void *p)
{
    (void)p;
    return hw_put(o, "schema", json_string(HWPROFILE_SCHEMA)) | hw_put(o, "version", json_integer(HWPROFILE_VERSION));
}

static const struct hw_field profile_fields[] = {
    HW_CHILD_FIELD("schema", NULL, put_schema),
    HW_CHILD_FIELD("version", NULL, NULL),
    HW_TEXT_FIELD("id", struct hwprofile, id, 0),
    HW_TEXT_FIELD("name", struct hwprofile, name, HW_REQUIRED | HW_ALWAYS),
    HW_CHILD_FIELD("kind", read_kind, put_kind),
    HW_TEXT_FIELD("vendor", struct hwprofile, vendor, 0),
    HW_TEXT_FIELD("date", struct hwprofile, date, 0),
    HW_TEXT_FIELD("kernel", struct hwprofile, kernel, 0),
    HW_TEXT_FIELD("roofcast", struct hwprofile, roofcast, 0),
    HW_CHILD_FIELD("aliases", read_aliases, put_aliases),
    HW_CHILD_FIELD("spec", hw_read_spec, hw_put_spec),
    HW_CHILD_FIELD("topology", read_topology, put_topology),
    { .key = "ceilings", .kind = HW_LIST, .flags = HW_ALWAYS, .list = &hw_ceiling_list, .offset = offsetof(struct hwprofile, ceiling), .read = hw_read_ceilings },
    { .key = "curves", .kind = HW_LIST, .list = &hw_curve_list, .offset = offsetof(struct hwprofile, curve), .read = hw_read_curves },
    HW_CHILD_FIELD("noise", hw_read_noise, hw_put_noise),
    HW_CHILD_FIELD("efficiency", read_efficiency, hw_put_efficiency),
};

/* Required for predictions: bandwidth. Optional for a machine with a topology (`roofcast profile` may be interrupted) or with
 * measurements only (import). */
static int check_complete(const struct hwprofile *h, const char *ctx, struct error *err)
{
    bool peak = false, bandwidth = !isnan(h->mem_bw.value) || hwprofile_bandwidth(h, "DRAM", 1);
    bool spec = !isnan(h->mem_bw.value);
    for (int i = 0; i < MATH_COUNT; i++) {
        peak |= !isnan(h->peak[i].value) || hwprofile_peak(h, (enum math)i, 1);
        spec |= !isnan(h->peak[i].value);
    }
    if (h->n_pus > 0 || (!spec && h->n_ceiling + h->n_curve > 0))
        return 0;
    if (!bandwidth)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"spec.memory_bandwidth\" is missing, expected {\"value\": .., "
                         "\"unit\": \"B/s\", \"source\": ..}",
                         ctx);
    if (!peak)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"spec.peaks\" is missing or empty, expected at least one peak "
                         "such as \"fp16\": {\"value\": .., \"unit\": \"FLOP/s\", \"source\": ..}",
                         ctx);
    return 0;
}

static int parse_profile(struct hwprofile *h, const json_t *o, const char *ctx, struct error *err)
{
    if (json_check_schema(o, ctx, HWPROFILE_SCHEMA, HWPROFILE_VERSION, err) != 0 ||
        hw_read_fields(h, profile_fields, ARRAY_LEN(profile_fields), o, ctx, err) != 0)
        return -1;
    if (!h->vendor[0]) /* handwritten datasheet profiles rely on the name */
        snprintf(h->vendor, sizeof h->vendor, "%s", hw_vendor_of_name(h->name));
    return check_complete(h, ctx, err);
}

/* "hwprofiles/h100-sxm.json" -> "h100-sxm" */
static void id_from_name(char *id, size_t size, const char *name)
{
    const char *slash = strrchr(name, '/');
    snprintf(id, size, "%.*s", (int)size - 1, slash ? slash + 1 : name);
    size_t n = strlen(id);
    if (n > 5 && strcmp(id + n - 5, ".json") == 0)
        id[n - 5] = 0;
}

int hwprofile_parse(struct hwprofile *h, const char *name, const void *data, size_t size,
                    struct error *err)
{
    char ctx[CTX / 2];
    hwprofile_init(h);
    /* The end of a long path is more informative. */
    size_t n = strlen(name);
    snprintf(ctx, sizeof ctx, "%s", n < sizeof ctx ? name : name + n - (sizeof ctx - 1));
    json_t *o = json_load_mem(name, data, size, err);
    if (!o)
        return -1;
    int rc = parse_profile(h, o, ctx, err);
    json_decref(o);
    if (rc != 0) {
        hwprofile_free(h);
        return -1;
    }
    if (!h->id[0])
        id_from_name(h->id, sizeof h->id, name);
    return 0;
}

json_t *hwprofile_to_json(const struct hwprofile *h, struct error *err)
{
    json_t *o = hw_fields_to_json(h, profile_fields, ARRAY_LEN(profile_fields));
    if (!o)
        error_set(err, ERROR_SYSTEM, "profile \"%s\": out of memory or not UTF-8", h->name);
    return o;
}

int hwprofile_save(const struct hwprofile *h, const char *path, struct error *err)
{
    json_t *o = hwprofile_to_json(h, err);
    if (!o)
        return -1;
    int rc = json_save_path(o, path, err);
    json_decref(o);
    return rc;
}
