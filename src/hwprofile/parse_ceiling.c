/* Measured roofs of a hwprofile from and to JSON: ceilings and curves. */
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

static int put_between_rounds(json_t *o, const void *p)
{
    const struct ceiling *c = p;
    return c->n_samples > 1 && !isnan(c->between_rounds) ? hw_put(o, "between_rounds", json_real(c->between_rounds)) : 0;
}

/* Table rows of members of struct ceiling. */
#define TEXT(k, f) HW_TEXT_FIELD(#k, struct ceiling, k, f)
#define COUNT(k) HW_INT_FIELD(#k, struct ceiling, k, 0, 0, 1 << 20)
#define NUMBER(k, f) HW_NUMBER_FIELD(#k, struct ceiling, k, f)
static const struct hw_field ceiling_fields[] = {
    TEXT(name, HW_REQUIRED | HW_ALWAYS),
    TEXT(kind, HW_REQUIRED | HW_ALWAYS),
    TEXT(op, 0),
    TEXT(dtype, HW_ALWAYS),
    TEXT(isa, HW_ALWAYS),
    TEXT(level, HW_ALWAYS),
    TEXT(pages, 0),
    TEXT(node, 0),
    HW_INT_FIELD("n_threads", struct ceiling, n_threads, HW_REQUIRED | HW_ALWAYS, 1, 1 << 20),
    COUNT(n_tok),
    COUNT(head_dim),
    COUNT(n_query),
    COUNT(n_key),
    NUMBER(footprint_bytes, 0),
    NUMBER(value, HW_ALWAYS),
    TEXT(unit, HW_REQUIRED | HW_ALWAYS),
    NUMBER(ci_lo, HW_ALWAYS),
    NUMBER(ci_hi, HW_ALWAYS),
    HW_INT_FIELD("n_samples", struct ceiling, n_samples, HW_ALWAYS, 0, 1 << 30),
    { .key = "between_rounds", .kind = HW_NUMBER, .put = put_between_rounds, HW_MEMBER(struct ceiling, between_rounds) },
    NUMBER(loads_bytes_s, 0),
    NUMBER(product_flop_s, 0),
    NUMBER(tile_flop_s, 0),
    TEXT(kernel, HW_ALWAYS),
    NUMBER(clock_hz, HW_ALWAYS),
    NUMBER(per_cycle, 0),
    NUMBER(issue_fraction, 0),
    TEXT(cpus, HW_ALWAYS),
    TEXT(date, HW_NULL),
    HW_CHILD_FIELD("core_flop_s", NULL, NULL), /* ignored: older profiles, by another loop */
};

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
    for (size_t i = 0; i < ARRAY_LEN(ceiling_fields); i++) {
        const struct hw_field *f = &ceiling_fields[i];
        if (f->kind == HW_NUMBER && !f->put && /* between_rounds may be 0 */
            check_number(*(const double *)((const char *)c + f->offset), (enum kind)kind, c->unit, f->key, ctx, err) != 0)
            return -1;
    }
    if (!isnan(c->between_rounds) && !(c->between_rounds >= 0 && c->between_rounds < 1e6))
        return error_set(err, ERROR_INPUT, "%s: field \"between_rounds\": expected at least 0, found %g", ctx, c->between_rounds);
    return check_interval(c->value, c->ci_lo, c->ci_hi, ctx, err);
}

static int parse_ceiling(struct ceiling *c, const json_t *o, const char *ctx, struct error *err)
{
    *c = (struct ceiling){ 0 };
    return hw_read_fields(c, ceiling_fields, ARRAY_LEN(ceiling_fields), o, ctx, err) != 0 ? -1 : check_ceiling(c, ctx, err);
}

json_t *ceiling_to_json(const struct ceiling *c, struct error *err)
{
    json_t *o = hw_fields_to_json(c, ceiling_fields, ARRAY_LEN(ceiling_fields));
    if (!o)
        error_set(err, ERROR_SYSTEM, "ceiling \"%s\": out of memory or not UTF-8", c->name);
    return o;
}

/* Names of ceilings and curves must be unique. */
static int name_taken(const char *name, const char *list, size_t of, const char *ctx, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: field \"name\": \"%s\" is the name of %s[%zu] too, expected each once", ctx, name, list, of);
}

const struct hw_list hw_ceiling_list = {
    .count = offsetof(struct hwprofile, n_ceiling), .size = sizeof(struct ceiling), .fields = ceiling_fields, .n_fields = ARRAY_LEN(ceiling_fields),
};

int hw_read_ceilings(void *p, const json_t *o, const char *pctx, struct error *err)
{
    struct hwprofile *h = p;
    const json_t *list;
    int rc = hw_get_list(o, pctx, "ceilings", MAX_CEILINGS, &list, err);
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

static const struct hw_field point_fields[] = {
    HW_NUMBER_FIELD("x", struct hw_point, x, HW_REQUIRED | HW_ALWAYS),
    HW_NUMBER_FIELD("value", struct hw_point, value, HW_REQUIRED | HW_ALWAYS),
    HW_NUMBER_FIELD("ci_lo", struct hw_point, ci_lo, HW_ALWAYS),
    HW_NUMBER_FIELD("ci_hi", struct hw_point, ci_hi, HW_ALWAYS),
    HW_INT_FIELD("n_samples", struct hw_point, n_samples, HW_ALWAYS, 0, 1 << 30),
};

static int check_point(const void *curve, size_t i, const char *ctx, struct error *err)
{
    const struct hw_curve *c = curve;
    const struct hw_point *p = &c->point[i];
    if (!(p->x >= 0 && p->x <= hw_q_flop_s.hi))
        return error_set(err, ERROR_INPUT, "%s: field \"x\": expected at least 0, found %g", ctx, p->x);
    if (i > 0 && !(p->x > p[-1].x))
        return error_set(err, ERROR_INPUT, "%s: field \"x\": expected more than the point before, %g, found %g", ctx, p[-1].x, p->x);
    return check_number(p->value, BANDWIDTH, c->unit, "value", ctx, err) != 0 || check_number(p->ci_lo, BANDWIDTH, c->unit, "ci_lo", ctx, err) != 0 ||
                   check_number(p->ci_hi, BANDWIDTH, c->unit, "ci_hi", ctx, err) != 0 ?
               -1 :
               check_interval(p->value, p->ci_lo, p->ci_hi, ctx, err);
}

static const struct hw_list points = {
    .count = offsetof(struct hw_curve, n_point), .size = sizeof(struct hw_point), .most = MAX_POINTS,
    .fields = point_fields, .n_fields = ARRAY_LEN(point_fields), .check = check_point,
};

static const struct hw_field plateau_fields[] = {
    HW_TEXT_FIELD("level", struct hw_plateau, level, HW_ALWAYS),
    HW_NUMBER_FIELD("from_x", struct hw_plateau, from_x, HW_ALWAYS),
    HW_NUMBER_FIELD("to_x", struct hw_plateau, to_x, HW_ALWAYS),
    HW_NUMBER_FIELD("value", struct hw_plateau, value, HW_ALWAYS),
    HW_NUMBER_FIELD("edge_x", struct hw_plateau, edge_x, HW_ALWAYS),
    HW_NUMBER_FIELD("stated_x", struct hw_plateau, stated_x, HW_ALWAYS),
    HW_TEXT_FIELD("finding", struct hw_plateau, finding, 0),
};

static int check_plateau(const void *curve, size_t i, const char *ctx, struct error *err)
{
    const struct hw_curve *c = curve;
    const struct hw_plateau *l = &c->plateau[i];
    if (l->level[0] && hw_check_choice(l->level, levels, ARRAY_LEN(levels), ctx, "level", err) < 0)
        return -1;
    return check_number(l->value, BANDWIDTH, c->unit, "value", ctx, err);
}

static const struct hw_list plateaus = {
    .inside = true, .count = offsetof(struct hw_curve, n_plateau), .size = sizeof(struct hw_plateau), .most = HW_PLATEAUS,
    .fields = plateau_fields, .n_fields = ARRAY_LEN(plateau_fields), .check = check_plateau,
};

static int put_saturation(json_t *o, const void *curve)
{
    const struct hw_curve *c = curve;
    return c->saturation_x > 0 ? hw_put(o, "saturation_x", json_num(c->saturation_x)) : 0;
}

static int check_curve(const struct hw_curve *c, const char *ctx, struct error *err)
{
    return hw_check_choice(c->x, xs, ARRAY_LEN(xs), ctx, "x", err) < 0 ||
                   (c->level[0] && hw_check_choice(c->level, levels, ARRAY_LEN(levels), ctx, "level", err) < 0)
               ? -1
               : 0;
}

/* Kind and unit are checked before the points, whose range depends on them. */
static int read_unit(void *curve, const json_t *o, const char *ctx, struct error *err)
{
    struct hw_curve *c = curve;
    const int kind = hw_check_choice(c->kind, kinds, ARRAY_LEN(kinds), ctx, "kind", err);
    return kind < 0 || hw_get_text(o, ctx, "unit", true, c->unit, sizeof c->unit, err) != 0 ? -1 : check_unit(c->unit, (enum kind)kind, ctx, err);
}

static const struct hw_field curve_fields[] = {
    HW_TEXT_FIELD("name", struct hw_curve, name, HW_REQUIRED | HW_ALWAYS),
    HW_TEXT_FIELD("kind", struct hw_curve, kind, HW_REQUIRED | HW_ALWAYS),
    HW_TEXT_FIELD("op", struct hw_curve, op, HW_REQUIRED | HW_ALWAYS),
    HW_TEXT_FIELD("dtype", struct hw_curve, dtype, 0),
    HW_TEXT_FIELD("x", struct hw_curve, x, HW_REQUIRED | HW_ALWAYS),
    HW_TEXT_FIELD("isa", struct hw_curve, isa, 0),
    HW_TEXT_FIELD("level", struct hw_curve, level, 0),
    HW_TEXT_FIELD("pages", struct hw_curve, pages, 0),
    HW_TEXT_FIELD("node", struct hw_curve, node, 0),
    HW_INT_FIELD("n_threads", struct hw_curve, n_threads, 0, 0, 1 << 20),
    { .key = "unit", .kind = HW_TEXT, .flags = HW_ALWAYS, .read = read_unit, HW_MEMBER(struct hw_curve, unit) },
    HW_TEXT_FIELD("kernel", struct hw_curve, kernel, 0),
    HW_TEXT_FIELD("cpus", struct hw_curve, cpus, 0),
    HW_TEXT_FIELD("date", struct hw_curve, date, 0),
    HW_LIST_FIELD("points", struct hw_curve, point, HW_ALWAYS, &points),
    { .key = "saturation_x", .kind = HW_NUMBER, .put = put_saturation, HW_MEMBER(struct hw_curve, saturation_x) },
    HW_LIST_FIELD("plateaus", struct hw_curve, plateau, 0, &plateaus),
};

const struct hw_list hw_curve_list = {
    .count = offsetof(struct hwprofile, n_curve), .size = sizeof(struct hw_curve), .fields = curve_fields, .n_fields = ARRAY_LEN(curve_fields),
};

int hw_read_curves(void *p, const json_t *o, const char *pctx, struct error *err)
{
    struct hwprofile *h = p;
    const json_t *list;
    int rc = hw_get_list(o, pctx, "curves", MAX_CURVES, &list, err);
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        struct hw_curve c = { .n_point = 0 };
        char ctx[CTX];
        snprintf(ctx, sizeof ctx, "%s: curves[%zu]", pctx, i);
        rc = hw_read_fields(&c, curve_fields, ARRAY_LEN(curve_fields), json_array_get(list, i), ctx, err);
        rc = rc ? rc : check_curve(&c, ctx, err);
        const struct hw_curve *same = rc == 0 ? hwprofile_curve(h, c.name) : NULL;
        rc = same ? name_taken(c.name, "curves", (size_t)(same - h->curve), ctx, err) : rc;
        rc = rc ? rc : hwprofile_add_curve(h, &c, err);
        free(c.point);
    }
    return rc;
}

