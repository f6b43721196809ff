/*
 * A hwprofile JSON text to struct hwprofile. Unknown fields, wrong units and non-positive numbers are errors that name file and field.
 */
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CTX = HW_CTX };

static int parse_cache(struct hw_cache *c, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const known[] = { "level", "size_bytes", "n_instances", "line_bytes",
                                         "n_sharing" };
    int64_t level = 0, n = 0, line = 0, sharing = 0;
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        json_get_int(o, ctx, "level", 1, 9, &level, err) != 0 ||
        json_get_num(o, ctx, "size_bytes", &c->size_bytes, err) != 0 ||
        json_get_int(o, ctx, "n_instances", 1, 1 << 20, &n, err) != 0 ||
        json_get_int_opt(o, ctx, "line_bytes", 1, 1 << 20, &line, err) != 0 ||
        json_get_int_opt(o, ctx, "n_sharing", 1, 1 << 20, &sharing, err) != 0)
        return -1;
    if (!(c->size_bytes >= 1 && c->size_bytes <= hw_q_bytes.hi))
        return error_set(err, ERROR_INPUT, "%s: field \"size_bytes\": expected at least 1 and at most %g B, found %g",
                         ctx, hw_q_bytes.hi, c->size_bytes);
    c->level = (int)level;
    c->n_instances = (int)n;
    c->line_bytes = (int)line;
    c->n_sharing = (int)sharing;
    return 0;
}

static int parse_caches(struct hwprofile *h, const json_t *a, const char *pctx, struct error *err)
{
    if (!a || json_is_null(a))
        return 0;
    if (!json_is_array(a))
        return error_set(err, ERROR_INPUT, "%s: field \"caches\": expected an array", pctx);
    size_t n = json_array_size(a);
    if (n == 0)
        return 0;
    h->cache = calloc(n, sizeof *h->cache);
    if (!h->cache)
        return error_oom(err, n * sizeof *h->cache, "caches");
    for (size_t i = 0; i < n; i++) {
        char ctx[CTX + 32];
        snprintf(ctx, sizeof ctx, "%s.caches[%zu]", pctx, i);
        if (parse_cache(&h->cache[i], json_array_get(a, i), ctx, err) != 0)
            return -1;
        h->n_cache = i + 1;
    }
    return 0;
}

static int parse_topology(struct hwprofile *h, const json_t *o, const char *pctx,
                          struct error *err)
{
    static const char *const known[] = { "cpu",    "isa",    "n_packages", "n_cores",
                                         "n_pus", "n_numa", "caches" };
    char ctx[CTX];
    int64_t packages = 0, cores = 0, pus = 0, numa = 0;
    snprintf(ctx, sizeof ctx, "%s: topology", pctx);
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        hw_get_text(o, ctx, "cpu", false, h->cpu_model, sizeof h->cpu_model, err) != 0 ||
        hw_get_text(o, ctx, "isa", false, h->isa, sizeof h->isa, err) != 0 ||
        json_get_int_opt(o, ctx, "n_packages", 1, 1 << 20, &packages, err) != 0 ||
        json_get_int_opt(o, ctx, "n_cores", 1, 1 << 20, &cores, err) != 0 ||
        json_get_int_opt(o, ctx, "n_pus", 1, 1 << 20, &pus, err) != 0 ||
        json_get_int_opt(o, ctx, "n_numa", 1, 1 << 20, &numa, err) != 0)
        return -1;
    h->n_packages = (int)packages;
    h->n_cores = (int)cores;
    h->n_pus = (int)pus;
    h->n_numa = (int)numa;
    return parse_caches(h, json_object_get(o, "caches"), ctx, err);
}

static int parse_aliases(struct hwprofile *h, const json_t *a, const char *ctx, struct error *err)
{
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
    static const char *const known[] = { "schema", "version",  "id",       "name",       "kind",
                                         "vendor", "aliases",  "spec",     "topology",   "ceilings",
                                         "curves", "efficiency", "date",     "noise",
                                         "kernel", "roofcast" };
    char kind[16], ectx[CTX];
    const json_t *spec, *topology, *efficiency;
    if (json_check_schema(o, ctx, HWPROFILE_SCHEMA, HWPROFILE_VERSION, err) != 0 ||
        hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        hw_get_text(o, ctx, "id", false, h->id, sizeof h->id, err) != 0 ||
        hw_get_text(o, ctx, "name", true, h->name, sizeof h->name, err) != 0 ||
        hw_get_text(o, ctx, "kind", true, kind, sizeof kind, err) != 0 ||
        hw_get_text(o, ctx, "vendor", false, h->vendor, sizeof h->vendor, err) != 0 ||
        hw_get_text(o, ctx, "date", false, h->date, sizeof h->date, err) != 0 ||
        hw_get_text(o, ctx, "kernel", false, h->kernel, sizeof h->kernel, err) != 0 ||
        hw_get_text(o, ctx, "roofcast", false, h->roofcast, sizeof h->roofcast, err) != 0 ||
        hw_get_object(o, ctx, "spec", &spec, err) != 0 ||
        hw_get_object(o, ctx, "topology", &topology, err) != 0 ||
        hw_get_object(o, ctx, "efficiency", &efficiency, err) != 0)
        return -1;
    int k = hw_check_choice(kind, hw_kind_names, ARRAY_LEN(hw_kind_names), ctx, "kind", err);
    if (k < 0)
        return -1;
    h->kind = (enum hw_kind)k;
    if (!h->vendor[0]) /* handwritten datasheet profiles rely on the name */
        snprintf(h->vendor, sizeof h->vendor, "%s", hw_vendor_of_name(h->name));
    snprintf(ectx, sizeof ectx, "%s: efficiency", ctx);
    if (parse_aliases(h, json_object_get(o, "aliases"), ctx, err) != 0 ||
        (spec && hw_parse_spec(h, spec, ctx, err) != 0) ||
        (topology && parse_topology(h, topology, ctx, err) != 0) ||
        hw_parse_ceilings(h, json_object_get(o, "ceilings"), ctx, err) != 0 ||
        hw_parse_curves(h, json_object_get(o, "curves"), ctx, err) != 0 ||
        hw_parse_noise(h, o, ctx, err) != 0 ||
        (efficiency && hw_parse_efficiency(&h->eff, efficiency, ectx, err) != 0))
        return -1;
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
