/* What if: changes of a machine or a scenario, by name. */
#include "predict/whatif.h"
#include "timing/rescale.h"
#include "timing/timing.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A quantity has a unit or is a factor, "x1.5"; "" stands for a plain number. NULL: a count or a name. */
static const struct name {
    const char *name;
    enum whatif_key key;
    const char *unit;
    double lo, hi;
} names[] = {
    { "bandwidth", WHATIF_BANDWIDTH, "B/s", 1, 1e18 },
    { "compute", WHATIF_COMPUTE, "FLOP/s", 1, 1e24 },
    { "memory", WHATIF_MEMORY, "B", 1, 1e18 },
    { "link", WHATIF_LINK, "B/s", 1, 1e18 },
    { "latency", WHATIF_LATENCY, "s", 0, 3600 },
    { "launch", WHATIF_LAUNCH, "s", 0, 3600 },
    { "e_compute", WHATIF_E_COMPUTE, "", 1e-6, 1 },
    { "e_bandwidth", WHATIF_E_BANDWIDTH, "", 1e-6, 1 },
    { "type", WHATIF_TYPE, NULL, 0, 0 },
    { "kv-type", WHATIF_KV_TYPE, NULL, 0, 0 },
    { "b", WHATIF_BATCH, NULL, 1, 65536 },
    { "d", WHATIF_DEPTH, NULL, 0, INT32_MAX },
    { "ub", WHATIF_UBATCH, NULL, 1, INT32_MAX },
    { "tp", WHATIF_TP, NULL, 1, 65536 },
    { "pp", WHATIF_PP, NULL, 1, 65536 },
    { "dp", WHATIF_DP, NULL, 1, 65536 },
    { "ep", WHATIF_EP, NULL, 1, 65536 },
};
static const struct name math_quantity = { "", WHATIF_MATH, "FLOP/s", 1, 1e24 };

/* ---- reading --------------------------------------------------------------------------------- */

static const struct name *find_name(const char *text, enum math *math, struct error *err)
{
    const char *nearest = "bandwidth";
    unsigned best = UINT_MAX;
    const int m = math_find(text);
    if (m >= 0) {
        *math = (enum math)m;
        return &math_quantity;
    }
    for (size_t i = 0; i < ARRAY_LEN(names) + MATH_COUNT; i++) {
        const char *name = i < ARRAY_LEN(names) ? names[i].name : math_name((enum math)(i - ARRAY_LEN(names)));
        const unsigned d = edit_distance(text, name);
        if (d == 0)
            return &names[i];
        if (d < best) {
            best = d;
            nearest = name;
        }
    }
    error_set(err, ERROR_USAGE,
              "--what-if: no \"%.32s\" to change; the nearest name is \"%s\" (bandwidth, compute, fp16 and other types, memory, "
              "link, latency, launch, e_compute, e_bandwidth, type, kv-type, b, d, ub, tp, pp, dp, ep)",
              text, nearest);
    return NULL;
}

/* "2 TB/s", "2T": the unit's prefix is enough. NaN: neither. 0 is 0 of anything, and a fraction has no unit. */
static double with_unit(const char *text, const char *unit)
{
    char whole[96];
    char *end;
    const double plain = strtod(text, &end);
    if (end != text && !*end)
        return plain == 0 || !*unit ? plain : NAN;
    const double v = units_parse(text, unit);
    snprintf(whole, sizeof whole, "%.64s%s", text, unit);
    return isnan(v) ? units_parse(whole, unit) : v;
}

/* A quantity of that unit, as an example. */
static const char *example(const char *unit)
{
    return strcmp(unit, "s") == 0 ? "5us" : strcmp(unit, "B") == 0 ? "96GB" : strcmp(unit, "B/s") == 0 ? "2TB/s" : *unit ? "400TFLOP/s" : "0.9";
}

static int read_quantity(struct whatif_change *c, const struct name *n, const char *text, struct error *err)
{
    c->times = text[0] == 'x';
    if (c->times)
        return parse_double(text + 1, n->lo > 0 ? 1e-9 : 0, 1e9, "--what-if, factor", &c->value, err);
    if (n->key == WHATIF_COMPUTE)
        return error_set(err, ERROR_USAGE, "--what-if compute=%.32s: expected a factor such as x2; one peak is set by its type: "
                                           "fp16=400T", text);
    c->value = with_unit(text, n->unit);
    if (!(c->value >= n->lo && c->value <= n->hi))
        return error_set(err, ERROR_USAGE, "--what-if %.48s: expected a factor such as x1.5 or %s such as %s (%g to %g%s%s), found \"%.32s\"", c->text,
                         *n->unit ? "a quantity with its unit" : "a number", example(n->unit), n->lo, n->hi, *n->unit ? " " : "", n->unit, text);
    return 0;
}

static int read_kv_type(struct whatif_change *c, const char *text, struct error *err)
{
    const struct dtype_info *t = dtype_find_name(text);
    if (!t)
        return error_set(err, ERROR_USAGE, "--what-if kv-type: no type \"%.32s\"", text);
    c->dtype = t->id;
    return 0;
}

static int read_change(struct whatif_change *c, const char *text, struct error *err)
{
    char key[32];
    const char *equals = strchr(text, '=');
    *c = (struct whatif_change){ .math = MATH_COUNT };
    snprintf(c->text, sizeof c->text, "%s", text);
    if (!equals || equals == text || !equals[1] || strlen(text) >= sizeof c->text || (size_t)(equals - text) >= sizeof key)
        return error_set(err, ERROR_USAGE, "--what-if: expected NAME=VALUE such as bandwidth=x1.5 or b=8, found \"%.64s\"", text);
    snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
    const struct name *n = find_name(key, &c->math, err);
    if (!n)
        return -1;
    c->key = n->key;
    if (n->unit)
        return read_quantity(c, n, equals + 1, err);
    if (n->key == WHATIF_TYPE) {
        snprintf(c->text, sizeof c->text, "%s", equals + 1);
        return 0;
    }
    if (n->key == WHATIF_KV_TYPE)
        return read_kv_type(c, equals + 1, err);
    int64_t v;
    char what[48];
    snprintf(what, sizeof what, "--what-if %s", n->name);
    if (parse_int(equals + 1, (int64_t)n->lo, (int64_t)n->hi, what, &v, err) != 0)
        return -1;
    c->value = (double)v;
    return 0;
}

int whatif_parse(struct whatif *w, const char *text, struct error *err)
{
    *w = (struct whatif){ 0 };
    for (const char *at = text;; at++) {
        char one[64];
        const size_t n = strcspn(at, ",");
        if (w->n == WHATIF_MAX)
            return error_set(err, ERROR_USAGE, "--what-if: at most %d changes at once", WHATIF_MAX);
        if (n >= sizeof one)
            return error_set(err, ERROR_USAGE, "--what-if: expected NAME=VALUE, found \"%.64s...\"", at);
        snprintf(one, sizeof one, "%.*s", (int)n, at);
        if (read_change(&w->c[w->n++], one, err) != 0)
            return -1;
        at += n;
        if (!*at)
            return 0;
    }
}

const char *whatif_type(const struct whatif *w)
{
    const char *type = NULL;
    for (size_t i = 0; i < w->n; i++)
        if (w->c[i].key == WHATIF_TYPE)
            type = w->c[i].text;
    return type;
}

bool whatif_of_machine(const struct whatif *w)
{
    bool machine = true;
    for (size_t i = 0; i < w->n; i++)
        machine &= w->c[i].key < WHATIF_TYPE;
    return machine;
}

/* ---- a copy to change -------------------------------------------------------------------------- */

/* ---- changing it ---------------------------------------------------------------------------------- */

static bool measures(const struct ceiling *c, const char *kind, const char *dtype, const char *level)
{
    return strcmp(c->kind, kind) == 0 && (!dtype || strcmp(c->dtype, dtype) == 0) && (!level || strcmp(c->level, level) == 0);
}

/* Removes measurements that no longer apply. */
static void drop(struct hwprofile *h, const char *kind, const char *dtype, const char *level)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (!measures(&h->ceiling[i], kind, dtype, level))
            h->ceiling[n++] = h->ceiling[i];
    h->n_ceiling = n;
}

static void set(struct hw_value *v, double value, const struct whatif_change *c)
{
    v->value = value;
    snprintf(v->source, sizeof v->source, "what if: %s", c->text);
}

/* v times the factor, or the value itself. */
static int change(struct hw_value *v, double now, const struct whatif_change *c, const struct hwprofile *h, const char *what,
                  struct error *err)
{
    if (c->times && !(now >= 0))
        return error_set(err, ERROR_USAGE, "--what-if %s: profile %s has no %s to multiply", c->text, h->id, what);
    set(v, c->times ? now * c->value : c->value, c);
    return 0;
}

/* Measured kernels scale with the roof they ran under. */
static void scale_kernels(struct hwprofile *h, const char *unit, double by)
{
    for (size_t i = 0; i < h->n_ceiling && by > 0; i++) {
        struct ceiling *k = &h->ceiling[i];
        const bool memory = strcmp(unit, "B/s") == 0;
        if (measures(k, "kernel", NULL, memory ? "DRAM" : NULL) && strcmp(k->unit, unit) == 0)
            k->value *= by;
        k->loads_bytes_s *= memory ? by : 1; /* their adjacent loads too, */
        k->tile_flop_s *= memory ? 1 : by;   /* and their tile probe */
    }
}

/* Launch cost is set: removes the engine's barrier. */
static void drop_launch(struct hwprofile *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *k = &h->ceiling[i];
        const bool team = strcmp(k->op, "barrier") == 0 || strcmp(k->op, "dispatch") == 0;
        if (!measures(k, "latency", NULL, NULL) || !team)
            h->ceiling[n++] = *k;
    }
    h->n_ceiling = n;
}

/* Efficiency factors are set: removes measured kernels. */
static void drop_kernels(struct hwprofile *h)
{
    drop(h, "kernel", NULL, NULL);
}

static int change_bandwidth(struct hwprofile *h, const struct predict_options *o, const struct whatif_change *c,
                            struct error *err)
{
    struct roofs r;
    struct error none;
    const bool known = roofs_init(&r, h, o, c->times ? err : &none) == 0;
    if (c->times && !known)
        return -1;
    const double now = known ? r.bytes_s : NAN;
    if (known)
        roofs_free(&r);
    scale_kernels(h, "B/s", (c->times ? now * c->value : c->value) / now);
    drop(h, "bandwidth", NULL, "DRAM");
    return change(&h->mem_bw, now, c, h, "memory bandwidth", err);
}

static void change_compute(struct hwprofile *h, const struct whatif_change *c)
{
    scale_kernels(h, "FLOP/s", c->value);
    for (int i = 0; i < MATH_COUNT; i++)
        if (h->peak[i].value > 0)
            set(&h->peak[i], h->peak[i].value * c->value, c);
    for (size_t i = 0; i < h->n_ceiling; i++) {
        struct ceiling *k = &h->ceiling[i];
        char name[sizeof k->name];
        if (!measures(k, "compute", NULL, NULL))
            continue;
        k->value *= c->value;
        snprintf(name, sizeof name, "%.40s, x%g", k->name, c->value);
        memcpy(k->name, name, sizeof name);
    }
}

static int change_math(struct hwprofile *h, const struct whatif_change *c, struct error *err)
{
    const struct ceiling *k = hwprofile_peak(h, c->math, INT_MAX);
    const double measured = k ? k->value : NAN, now = h->kind == HW_CPU && k ? measured : h->peak[c->math].value;
    char what[32];
    snprintf(what, sizeof what, "%s peak", math_name(c->math));
    if (change(&h->peak[c->math], now > 0 ? now : measured, c, h, what, err) != 0)
        return -1;
    drop(h, "compute", math_name(c->math), NULL);
    drop_kernels(h);
    return 0;
}

static int change_links(struct hwprofile *h, const struct whatif_change *c, struct error *err)
{
    if (h->n_link == 0)
        return error_set(err, ERROR_USAGE, "--what-if %s: profile %s has no links (spec.links; doc/formats.md)", c->text, h->id);
    for (size_t i = 0; i < h->n_link; i++) {
        struct hw_value *v = c->key == WHATIF_LINK ? &h->link[i].bytes_s : &h->link[i].latency_s;
        if (change(v, v->value, c, h, c->key == WHATIF_LINK ? "link bandwidth" : "link latency", err) != 0)
            return -1;
    }
    return 0;
}

static int change_fraction(struct hw_value *v, const struct whatif_change *c, const struct hwprofile *h, struct error *err)
{
    if (change(v, v->value, c, h, "efficiency factor", err) != 0)
        return -1;
    return v->value <= 1 ? 0 : error_set(err, ERROR_USAGE, "--what-if %s: an efficiency factor of %g is above 1", c->text, v->value);
}

static int apply(const struct whatif_change *c, struct hwprofile *h, struct predict_options *o, struct error *err)
{
    const uint32_t n = c->value >= 0 && c->value <= UINT32_MAX ? (uint32_t)c->value : 0;
    switch (c->key) {
    case WHATIF_BANDWIDTH:
        return change_bandwidth(h, o, c, err);
    case WHATIF_COMPUTE:
        change_compute(h, c);
        return 0;
    case WHATIF_MATH:
        return change_math(h, c, err);
    case WHATIF_MEMORY:
        return change(&h->mem_bytes, h->mem_bytes.value, c, h, "memory size", err);
    case WHATIF_LINK:
    case WHATIF_LATENCY:
        return change_links(h, c, err);
    case WHATIF_LAUNCH:
        drop_launch(h);
        return change(&h->eff.launch_s, h->eff.launch_s.value, c, h, "launch cost", err);
    case WHATIF_E_COMPUTE:
        drop_kernels(h);
        return change_fraction(&h->eff.compute, c, h, err);
    case WHATIF_E_BANDWIDTH:
        drop_kernels(h);
        return change_fraction(&h->eff.bandwidth, c, h, err);
    case WHATIF_TYPE: /* applied by the caller */
        return 0;
    case WHATIF_KV_TYPE:
        o->type_k = o->type_v = c->dtype;
        return 0;
    case WHATIF_BATCH:
        o->n_batch = n;
        return 0;
    case WHATIF_DEPTH:
        o->n_depth = n;
        return 0;
    case WHATIF_UBATCH:
        o->n_ubatch = n;
        return 0;
    case WHATIF_TP:
        o->layout.tp = n;
        return 0;
    case WHATIF_PP:
        o->layout.pp = n;
        return 0;
    case WHATIF_DP:
        o->layout.dp = n;
        return 0;
    case WHATIF_EP:
        o->layout.ep = n;
        return 0;
    }
    return 0;
}

/* The same for the constants of software, where these give seconds. */
static void change_time(const struct whatif_change *c, struct predict_options *o)
{
    const int parameter = c->key == WHATIF_LAUNCH        ? TIME_LAUNCH
                     : c->key == WHATIF_E_COMPUTE   ? TIME_COMPUTE
                     : c->key == WHATIF_E_BANDWIDTH ? TIME_BANDWIDTH
                                                    : -1;
    if (o->time && parameter >= 0 && o->n_change < TIME_MAX_CHANGES)
        o->change[o->n_change++] = (struct time_change){ parameter, c->times, c->value };
}

int whatif_apply(const struct whatif *w, struct hwprofile *h, struct predict_options *o, struct error *err)
{
    for (size_t i = 0; i < w->n; i++) {
        if (apply(&w->c[i], h, o, err) != 0)
            return -1;
        change_time(&w->c[i], o);
    }
    return 0;
}
