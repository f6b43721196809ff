/* Measured roofs of a hwprofile JSON: ceilings and curves. */
#include "hwprofile/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CTX = HW_CTX, MAX_CEILINGS = 10000, MAX_CURVES = 1000, MAX_POINTS = 10000 };

enum kind { COMPUTE, BANDWIDTH, LATENCY, KERNEL };
static const char *const kinds[] = { "compute", "bandwidth", "latency", "kernel" };
static const char *const levels[] = { "L1", "L2", "L3", "DRAM" };
static const char *const xs[] = { "footprint_bytes", "n_threads", "bytes_s", "n_tok", "row_bytes" };

/* Units of a kind, the first for messages. */
static const char *const units[][4] = {
    [COMPUTE] = { "FLOP/s", "OP/s" },
    [BANDWIDTH] = { "B/s" },
    [LATENCY] = { "s" },
    [KERNEL] = { "B/s", "FLOP/s", "OP/s", "s" },
};

static int check_unit(const char *unit, enum kind kind, const char *ctx, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(units[kind]) && units[kind][i]; i++)
        if (strcmp(unit, units[kind][i]) == 0)
            return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"unit\": expected \"%s\", found \"%s\"", ctx, units[kind][0], unit);
}

/* Below 1 MB/s, or above seconds for a latency, the unit is wrong. Kernel ceilings may be lower: 0.5 MB/s occurs on contended CPUs. */
static int check_number(double v, enum kind kind, const char *unit, const char *key, const char *ctx, struct error *err)
{
    const double least = kind == KERNEL ? hw_q_flop_s.lo / 1e3 : hw_q_flop_s.lo;
    bool seconds = strcmp(unit, "s") == 0;
    if (!isnan(v) && !(v > 0 && v <= hw_q_flop_s.hi))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected more than 0, found %g", ctx, key, v);
    if (strcmp(key, "value") == 0 && !seconds && v < least)
        return error_set(err, ERROR_INPUT, "%s: field \"value\": expected at least %g %s, found %g", ctx, least, unit, v);
    if (strcmp(key, "value") == 0 && seconds && v > 10)
        return error_set(err, ERROR_INPUT, "%s: field \"value\": expected at most 10 s, found %g", ctx, v);
    return 0;
}

static int check_interval(double v, double lo, double hi, const char *ctx, struct error *err)
{
    if (lo > hi)
        return error_set(err, ERROR_INPUT, "%s: interval: expected ci_lo of at most ci_hi, found %g to %g", ctx, lo, hi);
    return lo > v || hi < v ? error_set(err, ERROR_INPUT, "%s: value %g lies outside its interval %g to %g", ctx, v, lo, hi) :
                              0;
}

static int check_ceiling(const struct ceiling *c, const char *ctx, struct error *err)
{
    int kind = hw_check_choice(c->kind, kinds, ARRAY_LEN(kinds), ctx, "kind", err);
    if (kind < 0 || ((kind == BANDWIDTH || c->level[0]) &&
                     hw_check_choice(c->level, levels, ARRAY_LEN(levels), ctx, "level", err) < 0))
        return -1;
    if (kind == COMPUTE && math_find(c->dtype) < 0)
        return error_set(err, ERROR_INPUT,
                         "%s: field \"dtype\": expected an arithmetic such as fp32, found \"%s\"",
                         ctx, c->dtype);
    if (kind >= LATENCY && !c->op[0])
        return error_set(err, ERROR_INPUT, "%s: field \"op\" is missing, expected what was timed", ctx);
    if (check_unit(c->unit, (enum kind)kind, ctx, err) != 0)
        return -1;
    const double number[] = { c->value,           c->ci_lo,     c->ci_hi,          c->clock_hz,
                              c->footprint_bytes, c->per_cycle, c->issue_fraction, c->loads_bytes_s, c->product_flop_s,
                              c->tile_flop_s };
    static const char *const key[] = { "value",           "ci_lo",     "ci_hi",          "clock_hz",
                                       "footprint_bytes", "per_cycle", "issue_fraction", "loads_bytes_s", "product_flop_s",
                                       "tile_flop_s" };
    for (size_t i = 0; i < ARRAY_LEN(number); i++)
        if (check_number(number[i], (enum kind)kind, c->unit, key[i], ctx, err) != 0)
            return -1;
    if (!isnan(c->between_rounds) && !(c->between_rounds >= 0 && c->between_rounds < 1e6))
        return error_set(err, ERROR_INPUT, "%s: field \"between_rounds\": expected at least 0, found %g", ctx, c->between_rounds);
    return check_interval(c->value, c->ci_lo, c->ci_hi, ctx, err);
}

static int parse_ceiling(struct ceiling *c, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const known[] = { "name", "kind", "op", "dtype", "isa", "level", "pages", "node", "n_threads", "n_tok", "head_dim",
                                         "n_query", "n_key", "footprint_bytes", "value", "unit", "ci_lo", "ci_hi", "n_samples", "between_rounds",
                                         "loads_bytes_s", "product_flop_s", "tile_flop_s", "kernel", "clock_hz", "per_cycle", "issue_fraction", "cpus", "date",
                                         "core_flop_s" /* ignored: older profiles, by another loop */ };
    int64_t n_threads = 0, n_samples = 0, n_tok = 0, head_dim = 0, n_query = 0, n_key = 0;
    *c = (struct ceiling){ .footprint_bytes = NAN, .value = NAN, .ci_lo = NAN, .ci_hi = NAN,
                           .between_rounds = NAN, .loads_bytes_s = NAN, .product_flop_s = NAN, .tile_flop_s = NAN,
                           .clock_hz = NAN, .per_cycle = NAN, .issue_fraction = NAN };
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        hw_get_text(o, ctx, "name", true, c->name, sizeof c->name, err) != 0 ||
        hw_get_text(o, ctx, "kind", true, c->kind, sizeof c->kind, err) != 0 ||
        hw_get_text(o, ctx, "op", false, c->op, sizeof c->op, err) != 0 ||
        hw_get_text(o, ctx, "dtype", false, c->dtype, sizeof c->dtype, err) != 0 ||
        hw_get_text(o, ctx, "isa", false, c->isa, sizeof c->isa, err) != 0 ||
        hw_get_text(o, ctx, "level", false, c->level, sizeof c->level, err) != 0 ||
        hw_get_text(o, ctx, "pages", false, c->pages, sizeof c->pages, err) != 0 ||
        hw_get_text(o, ctx, "node", false, c->node, sizeof c->node, err) != 0 ||
        hw_get_text(o, ctx, "unit", true, c->unit, sizeof c->unit, err) != 0 ||
        hw_get_text(o, ctx, "kernel", false, c->kernel, sizeof c->kernel, err) != 0 ||
        hw_get_text(o, ctx, "cpus", false, c->cpus, sizeof c->cpus, err) != 0 ||
        hw_get_text(o, ctx, "date", false, c->date, sizeof c->date, err) != 0 ||
        json_get_int(o, ctx, "n_threads", 1, 1 << 20, &n_threads, err) != 0 ||
        json_get_int_opt(o, ctx, "n_tok", 0, 1 << 20, &n_tok, err) != 0 ||
        json_get_int_opt(o, ctx, "head_dim", 0, 1 << 20, &head_dim, err) != 0 ||
        json_get_int_opt(o, ctx, "n_query", 0, 1 << 20, &n_query, err) != 0 ||
        json_get_int_opt(o, ctx, "n_key", 0, 1 << 20, &n_key, err) != 0 ||
        json_get_int_opt(o, ctx, "n_samples", 0, 1 << 30, &n_samples, err) != 0 ||
        json_get_num_opt(o, ctx, "footprint_bytes", &c->footprint_bytes, err) != 0 ||
        json_get_num_opt(o, ctx, "value", &c->value, err) != 0 ||
        json_get_num_opt(o, ctx, "ci_lo", &c->ci_lo, err) != 0 ||
        json_get_num_opt(o, ctx, "ci_hi", &c->ci_hi, err) != 0 ||
        json_get_num_opt(o, ctx, "between_rounds", &c->between_rounds, err) != 0 ||
        json_get_num_opt(o, ctx, "loads_bytes_s", &c->loads_bytes_s, err) != 0 ||
        json_get_num_opt(o, ctx, "product_flop_s", &c->product_flop_s, err) != 0 ||
        json_get_num_opt(o, ctx, "tile_flop_s", &c->tile_flop_s, err) != 0 ||
        json_get_num_opt(o, ctx, "clock_hz", &c->clock_hz, err) != 0 ||
        json_get_num_opt(o, ctx, "per_cycle", &c->per_cycle, err) != 0 ||
        json_get_num_opt(o, ctx, "issue_fraction", &c->issue_fraction, err) != 0)
        return -1;
    c->n_threads = (int)n_threads;
    c->n_tok = (int)n_tok;
    c->head_dim = (int)head_dim;
    c->n_query = (int)n_query;
    c->n_key = (int)n_key;
    c->n_samples = (int)n_samples;
    return check_ceiling(c, ctx, err);
}

/* NULL: absent or null, or (*rc -1) not an array of at most max. */
static const json_t *get_array(const json_t *a, const char *pctx, const char *key, size_t max, int *rc, struct error *err)
{
    *rc = 0;
    if (!a || json_is_null(a))
        return NULL;
    if (!json_is_array(a))
        *rc = error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an array", pctx, key);
    else if (json_array_size(a) > max)
        *rc = error_set(err, ERROR_INPUT, "%s: field \"%s\": expected at most %zu, found %zu", pctx, key, max,
                        json_array_size(a));
    return *rc == 0 ? a : NULL;
}

/* Names of ceilings and curves must be unique. */
static int name_taken(const char *name, const char *list, size_t of, const char *ctx, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: field \"name\": \"%s\" is the name of %s[%zu] too, expected each once", ctx, name, list, of);
}

int hw_parse_ceilings(struct hwprofile *h, const json_t *a, const char *pctx, struct error *err)
{
    int rc;
    const json_t *list = get_array(a, pctx, "ceilings", MAX_CEILINGS, &rc, err);
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        struct ceiling c;
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%s: ceilings[%zu]", pctx, i);
        rc = parse_ceiling(&c, json_array_get(list, i), ctx, err);
        for (size_t k = 0; rc == 0 && k < i; k++)
            if (strcmp(h->ceiling[k].name, c.name) == 0)
                rc = name_taken(c.name, "ceilings", k, ctx, err);
        rc = rc ? rc : hwprofile_add_ceiling(h, &c, err);
    }
    return rc;
}

static int parse_point(struct hw_point *p, const struct hw_curve *c, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const known[] = { "x", "value", "ci_lo", "ci_hi", "n_samples" };
    int64_t n = 0;
    *p = (struct hw_point){ .ci_lo = NAN, .ci_hi = NAN };
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 || json_get_num(o, ctx, "x", &p->x, err) != 0 ||
        json_get_num(o, ctx, "value", &p->value, err) != 0 || json_get_num_opt(o, ctx, "ci_lo", &p->ci_lo, err) != 0 ||
        json_get_num_opt(o, ctx, "ci_hi", &p->ci_hi, err) != 0 ||
        json_get_int_opt(o, ctx, "n_samples", 0, 1 << 30, &n, err) != 0)
        return -1;
    p->n_samples = (int)n;
    if (!(p->x >= 0 && p->x <= hw_q_flop_s.hi))
        return error_set(err, ERROR_INPUT, "%s: field \"x\": expected at least 0, found %g", ctx, p->x);
    if (c->n_point && !(p->x > c->point[c->n_point - 1].x))
        return error_set(err, ERROR_INPUT, "%s: field \"x\": expected more than the point before, %g, found %g", ctx,
                         c->point[c->n_point - 1].x, p->x);
    return check_number(p->value, BANDWIDTH, c->unit, "value", ctx, err) != 0 || check_number(p->ci_lo, BANDWIDTH, c->unit, "ci_lo", ctx, err) != 0 ||
                   check_number(p->ci_hi, BANDWIDTH, c->unit, "ci_hi", ctx, err) != 0 ?
               -1 :
               check_interval(p->value, p->ci_lo, p->ci_hi, ctx, err);
}

static int parse_points(struct hw_curve *c, const json_t *o, const char *ctx, struct error *err)
{
    int rc;
    const json_t *list = get_array(json_object_get(o, "points"), ctx, "points", MAX_POINTS, &rc, err);
    size_t n = json_array_size(list);
    c->point = n ? calloc(n, sizeof *c->point) : NULL;
    if (n && !c->point)
        return error_oom(err, n * sizeof *c->point, "a curve");
    for (size_t i = 0; rc == 0 && i < n; i++, c->n_point += rc == 0) {
        char pctx[CTX + 32];
        snprintf(pctx, sizeof pctx, "%s.points[%zu]", ctx, i);
        rc = parse_point(&c->point[i], c, json_array_get(list, i), pctx, err);
    }
    return rc;
}

static int parse_plateau(struct hw_plateau *l, const json_t *o, const char *unit, const char *ctx, struct error *err)
{
    static const char *const known[] = { "level", "from_x", "to_x", "value", "edge_x", "stated_x", "finding" };
    *l = (struct hw_plateau){ .from_x = NAN, .to_x = NAN, .value = NAN, .edge_x = NAN, .stated_x = NAN };
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        hw_get_text(o, ctx, "level", false, l->level, sizeof l->level, err) != 0 ||
        hw_get_text(o, ctx, "finding", false, l->finding, sizeof l->finding, err) != 0 ||
        json_get_num_opt(o, ctx, "from_x", &l->from_x, err) != 0 || json_get_num_opt(o, ctx, "to_x", &l->to_x, err) != 0 ||
        json_get_num_opt(o, ctx, "value", &l->value, err) != 0 || json_get_num_opt(o, ctx, "edge_x", &l->edge_x, err) != 0 ||
        json_get_num_opt(o, ctx, "stated_x", &l->stated_x, err) != 0)
        return -1;
    if (l->level[0] && hw_check_choice(l->level, levels, ARRAY_LEN(levels), ctx, "level", err) < 0)
        return -1;
    return check_number(l->value, BANDWIDTH, unit, "value", ctx, err);
}

static int parse_plateaus(struct hw_curve *c, const json_t *o, const char *ctx, struct error *err)
{
    int rc;
    const json_t *list = get_array(json_object_get(o, "plateaus"), ctx, "plateaus", HW_PLATEAUS, &rc, err);
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        char pctx[CTX + 32];
        snprintf(pctx, sizeof pctx, "%s.plateaus[%zu]", ctx, i);
        rc = parse_plateau(&c->plateau[c->n_plateau++], json_array_get(list, i), c->unit, pctx, err);
    }
    return rc;
}

static int parse_curve(struct hw_curve *c, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const known[] = { "name", "kind", "op", "dtype", "x", "isa", "level", "pages", "node", "n_threads",
                                         "unit", "kernel", "cpus", "date", "points", "saturation_x", "plateaus" };
    int64_t n_threads = 0;
    if (hw_check_fields(o, ctx, known, ARRAY_LEN(known), err) != 0 ||
        hw_get_text(o, ctx, "name", true, c->name, sizeof c->name, err) != 0 ||
        hw_get_text(o, ctx, "kind", true, c->kind, sizeof c->kind, err) != 0 ||
        hw_get_text(o, ctx, "op", true, c->op, sizeof c->op, err) != 0 ||
        hw_get_text(o, ctx, "dtype", false, c->dtype, sizeof c->dtype, err) != 0 ||
        hw_get_text(o, ctx, "x", true, c->x, sizeof c->x, err) != 0 ||
        hw_get_text(o, ctx, "isa", false, c->isa, sizeof c->isa, err) != 0 ||
        hw_get_text(o, ctx, "level", false, c->level, sizeof c->level, err) != 0 ||
        hw_get_text(o, ctx, "pages", false, c->pages, sizeof c->pages, err) != 0 ||
        hw_get_text(o, ctx, "node", false, c->node, sizeof c->node, err) != 0 ||
        hw_get_text(o, ctx, "unit", true, c->unit, sizeof c->unit, err) != 0 ||
        hw_get_text(o, ctx, "kernel", false, c->kernel, sizeof c->kernel, err) != 0 ||
        hw_get_text(o, ctx, "cpus", false, c->cpus, sizeof c->cpus, err) != 0 ||
        hw_get_text(o, ctx, "date", false, c->date, sizeof c->date, err) != 0 ||
        json_get_int_opt(o, ctx, "n_threads", 0, 1 << 20, &n_threads, err) != 0 ||
        json_get_num_opt(o, ctx, "saturation_x", &c->saturation_x, err) != 0)
        return -1;
    c->n_threads = (int)n_threads;
    int kind = hw_check_choice(c->kind, kinds, ARRAY_LEN(kinds), ctx, "kind", err);
    if (kind < 0 || hw_check_choice(c->x, xs, ARRAY_LEN(xs), ctx, "x", err) < 0 ||
        (c->level[0] && hw_check_choice(c->level, levels, ARRAY_LEN(levels), ctx, "level", err) < 0) ||
        check_unit(c->unit, (enum kind)kind, ctx, err) != 0)
        return -1;
    return parse_points(c, o, ctx, err) != 0 ? -1 : parse_plateaus(c, o, ctx, err);
}

int hw_parse_curves(struct hwprofile *h, const json_t *a, const char *pctx, struct error *err)
{
    int rc;
    const json_t *list = get_array(a, pctx, "curves", MAX_CURVES, &rc, err);
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        struct hw_curve c = { .n_point = 0, .saturation_x = NAN };
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%s: curves[%zu]", pctx, i);
        rc = parse_curve(&c, json_array_get(list, i), ctx, err);
        const struct hw_curve *same = rc == 0 ? hwprofile_curve(h, c.name) : NULL;
        rc = same ? name_taken(c.name, "curves", (size_t)(same - h->curve), ctx, err) : rc;
        rc = rc ? rc : hwprofile_add_curve(h, &c, err);
        free(c.point);
    }
    return rc;
}
