/* struct hwprofile to JSON, the form that parse.c reads. */
#include "hwprofile/internal.h"
#include <math.h>
#include <string.h>

/* jansson's *_new setters report NULL as failure; callers check the sum once. */
static int put(json_t *o, const char *key, json_t *v)
{
    return json_object_set_new(o, key, v);
}

static int put_text(json_t *o, const char *key, const char *s)
{
    return *s ? put(o, key, json_string(s)) : 0;
}

static int put_count(json_t *o, const char *key, int n)
{
    return n > 0 ? put(o, key, json_integer(n)) : 0;
}

/* Unknown values are omitted, or null if `always`. */
static int put_value(json_t *o, const char *key, const struct hw_value *v, const char *unit,
                     bool always)
{
    if (isnan(v->value))
        return always ? put(o, key, json_null()) : 0;
    json_t *j = json_object();
    int rc = put(j, "value", json_num(v->value));
    if (*unit)
        rc |= put(j, "unit", json_string(unit));
    rc |= put(j, "source", json_string(v->source));
    return rc | put(o, key, j);
}

static int put_known(json_t *o, const char *key, double v)
{
    return isnan(v) || v == 0 ? 0 : put(o, key, json_num(v));
}

json_t *ceiling_to_json(const struct ceiling *c, struct error *err)
{
    json_t *o = json_object();
    int rc = put(o, "name", json_string(c->name));
    rc |= put(o, "kind", json_string(c->kind));
    rc |= put_text(o, "op", c->op);
    rc |= put(o, "dtype", json_string(c->dtype));
    rc |= put(o, "isa", json_string(c->isa));
    rc |= put(o, "level", json_string(c->level));
    rc |= put_text(o, "pages", c->pages);
    rc |= put_text(o, "node", c->node);
    rc |= put(o, "n_threads", json_integer(c->n_threads));
    rc |= put_count(o, "n_tok", c->n_tok);
    rc |= put_count(o, "head_dim", c->head_dim);
    rc |= put_count(o, "n_query", c->n_query);
    rc |= put_count(o, "n_key", c->n_key);
    rc |= put_known(o, "footprint_bytes", c->footprint_bytes);
    rc |= put(o, "value", json_num(c->value));
    rc |= put(o, "unit", json_string(c->unit));
    rc |= put(o, "ci_lo", json_num(c->ci_lo));
    rc |= put(o, "ci_hi", json_num(c->ci_hi));
    rc |= put(o, "n_samples", json_integer(c->n_samples));
    if (c->n_samples > 1 && !isnan(c->between_rounds))
        rc |= put(o, "between_rounds", json_real(c->between_rounds));
    rc |= put_known(o, "loads_bytes_s", c->loads_bytes_s);
    rc |= put_known(o, "product_flop_s", c->product_flop_s);
    rc |= put_known(o, "tile_flop_s", c->tile_flop_s);
    rc |= put(o, "kernel", json_string(c->kernel));
    rc |= put(o, "clock_hz", json_num(c->clock_hz));
    rc |= put_known(o, "per_cycle", c->per_cycle);
    rc |= put_known(o, "issue_fraction", c->issue_fraction);
    rc |= put(o, "cpus", json_string(c->cpus));
    rc |= put(o, "date", *c->date ? json_string(c->date) : json_null());
    if (rc == 0)
        return o;
    json_decref(o);
    error_set(err, ERROR_SYSTEM, "ceiling \"%s\": out of memory or not UTF-8", c->name);
    return NULL;
}

static json_t *plateau_to_json(const struct hw_plateau *l)
{
    json_t *o = json_object();
    int rc = put(o, "level", json_string(l->level));
    rc |= put(o, "from_x", json_num(l->from_x));
    rc |= put(o, "to_x", json_num(l->to_x));
    rc |= put(o, "value", json_num(l->value));
    rc |= put(o, "edge_x", json_num(l->edge_x));
    rc |= put(o, "stated_x", json_num(l->stated_x));
    rc |= put_text(o, "finding", l->finding);
    if (rc == 0)
        return o;
    json_decref(o);
    return NULL;
}

static int put_plateaus(json_t *o, const struct hw_curve *c)
{
    json_t *list = json_array();
    int rc = 0;
    for (size_t i = 0; i < c->n_plateau; i++)
        rc |= json_array_append_new(list, plateau_to_json(&c->plateau[i]));
    rc |= put(o, "plateaus", list);
    return rc;
}

static json_t *curve_to_json(const struct hw_curve *c)
{
    json_t *o = json_object(), *points = json_array();
    int rc = put(o, "name", json_string(c->name));
    rc |= put(o, "kind", json_string(c->kind));
    rc |= put(o, "op", json_string(c->op));
    rc |= put_text(o, "dtype", c->dtype);
    rc |= put(o, "x", json_string(c->x));
    rc |= put_text(o, "isa", c->isa);
    rc |= put_text(o, "level", c->level);
    rc |= put_text(o, "pages", c->pages);
    rc |= put_text(o, "node", c->node);
    rc |= put_count(o, "n_threads", c->n_threads);
    rc |= put(o, "unit", json_string(c->unit));
    rc |= put_text(o, "kernel", c->kernel);
    rc |= put_text(o, "cpus", c->cpus);
    rc |= put_text(o, "date", c->date);
    for (size_t i = 0; i < c->n_point; i++) {
        const struct hw_point *p = &c->point[i];
        json_t *j = json_object();
        rc |= put(j, "x", json_num(p->x));
        rc |= put(j, "value", json_num(p->value));
        rc |= put(j, "ci_lo", json_num(p->ci_lo));
        rc |= put(j, "ci_hi", json_num(p->ci_hi));
        rc |= put(j, "n_samples", json_integer(p->n_samples));
        rc |= json_array_append_new(points, j);
    }
    rc |= put(o, "points", points);
    rc |= c->saturation_x > 0 ? put(o, "saturation_x", json_num(c->saturation_x)) : 0;
    rc |= c->n_plateau ? put_plateaus(o, c) : 0;
    if (rc == 0)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *links_to_json(const struct hwprofile *h)
{
    json_t *a = json_array();
    int rc = 0;
    for (size_t i = 0; i < h->n_link; i++) {
        const struct hw_link *l = &h->link[i];
        json_t *j = json_object();
        rc |= put(j, "name", json_string(l->name));
        rc |= put(j, "topology", json_string(l->topology));
        rc |= put_value(j, "bandwidth", &l->bytes_s, "B/s", true);
        rc |= put_value(j, "latency", &l->latency_s, "s", false);
        rc |= put(j, "n_devices", json_integer(l->n_devices));
        rc |= json_array_append_new(a, j);
    }
    if (rc == 0)
        return a;
    json_decref(a);
    return NULL;
}

static json_t *spec_to_json(const struct hwprofile *h)
{
    json_t *spec = json_object(), *peaks = json_object();
    int rc = put_value(spec, "memory_bytes", &h->mem_bytes, "B", false);
    rc |= put_value(spec, "memory_bandwidth", &h->mem_bw, "B/s", true);
    for (int i = 0; i < MATH_COUNT; i++) {
        rc |= put_value(peaks, math_name((enum math)i), &h->peak[i], math_integer((enum math)i) ? "OP/s" : "FLOP/s",
                        false);
    }
    rc |= put(spec, "peaks", peaks);
    rc |= put_value(spec, "tdp_w", &h->tdp_w, "W", false);
    rc |= put_value(spec, "idle_w", &h->idle_w, "W", false);
    rc |= put_value(spec, "price", &h->price_usd_h, "USD/h", false);
    rc |= put_value(spec, "units", &h->n_unit, "", false);
    rc |= put_value(spec, "unit_threads", &h->unit_threads, "", false);
    rc |= put_value(spec, "clock", &h->clock_hz, "Hz", false);
    rc |= put_value(spec, "cache_bytes", &h->cache_bytes, "B", false);
    if (h->n_link)
        rc |= put(spec, "links", links_to_json(h));
    if (rc == 0)
        return spec;
    json_decref(spec);
    return NULL;
}

static json_t *topology_to_json(const struct hwprofile *h)
{
    json_t *o = json_object(), *caches = json_array();
    int rc = put_text(o, "cpu", h->cpu_model);
    rc |= put_text(o, "isa", h->isa);
    rc |= put_count(o, "n_packages", h->n_packages);
    rc |= put_count(o, "n_cores", h->n_cores);
    rc |= put_count(o, "n_pus", h->n_pus);
    rc |= put_count(o, "n_numa", h->n_numa);
    for (size_t i = 0; i < h->n_cache; i++) {
        const struct hw_cache *c = &h->cache[i];
        json_t *j = json_object();
        rc |= put(j, "level", json_integer(c->level));
        rc |= put(j, "size_bytes", json_num(c->size_bytes));
        rc |= put(j, "n_instances", json_integer(c->n_instances));
        rc |= put_count(j, "line_bytes", c->line_bytes);
        rc |= put_count(j, "n_sharing", c->n_sharing);
        rc |= json_array_append_new(caches, j);
    }
    rc |= put(o, "caches", caches);
    if (rc == 0)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *efficiency_to_json(const struct hw_efficiency *e)
{
    json_t *o = json_object();
    int rc = put_value(o, "compute", &e->compute, "", true);
    rc |= put_value(o, "bandwidth", &e->bandwidth, "", true);
    rc |= put_value(o, "launch_s", &e->launch_s, "s", true);
    if (rc == 0)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *noise_to_json(const struct hw_noise *n)
{
    json_t *o = json_object();
    int rc = put(o, "verdict", json_string(hw_steadiness_name(n->verdict)));
    rc |= put(o, "between_rounds", json_num(n->between));
    rc |= put(o, "n_ceilings", json_integer(n->n_ceilings));
    rc |= put(o, "worst", json_string(n->worst));
    rc |= put(o, "worst_between_rounds", json_num(n->worst_between));
    if (rc == 0)
        return o;
    json_decref(o);
    return NULL;
}

json_t *hwprofile_to_json(const struct hwprofile *h, struct error *err)
{
    json_t *o = json_object(), *aliases = json_array(), *ceilings = json_array();
    int rc = put(o, "schema", json_string(HWPROFILE_SCHEMA));
    rc |= put(o, "version", json_integer(HWPROFILE_VERSION));
    rc |= put_text(o, "id", h->id);
    rc |= put(o, "name", json_string(h->name));
    rc |= put(o, "kind", json_string(hw_kind_names[h->kind]));
    rc |= put_text(o, "vendor", h->vendor);
    rc |= put_text(o, "date", h->date);
    rc |= put_text(o, "kernel", h->kernel);
    rc |= put_text(o, "roofcast", h->roofcast);
    for (size_t i = 0; i < h->n_alias; i++)
        rc |= json_array_append_new(aliases, json_string(h->alias[i]));
    if (h->n_alias)
        rc |= put(o, "aliases", json_incref(aliases));
    json_decref(aliases);
    rc |= put(o, "spec", spec_to_json(h));
    if (h->n_pus || h->n_cores || h->n_cache || h->cpu_model[0])
        rc |= put(o, "topology", topology_to_json(h));
    for (size_t i = 0; i < h->n_ceiling; i++)
        rc |= json_array_append_new(ceilings, ceiling_to_json(&h->ceiling[i], NULL));
    rc |= put(o, "ceilings", ceilings);
    json_t *curves = json_array();
    for (size_t i = 0; i < h->n_curve; i++)
        rc |= json_array_append_new(curves, curve_to_json(&h->curve[i]));
    rc |= h->n_curve ? put(o, "curves", json_incref(curves)) : 0;
    json_decref(curves);
    if (h->noise.verdict != HW_NOISE_UNKNOWN)
        rc |= put(o, "noise", noise_to_json(&h->noise));
    rc |= put(o, "efficiency", efficiency_to_json(&h->eff));
    if (rc == 0)
        return o;
    json_decref(o);
    error_set(err, ERROR_SYSTEM, "profile \"%s\": out of memory or not UTF-8", h->name);
    return NULL;
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
