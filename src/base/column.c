/* Members of structs as cells, and cells as JSON. */
#include "base/column.h"
#include <math.h>
#include <string.h>

struct cell cell_text(const char *s)
{
    return s ? (struct cell){ .kind = CELL_TEXT, .text = s } : (struct cell){ 0 };
}

struct cell cell_whole(int64_t v)
{
    return (struct cell){ .kind = CELL_WHOLE, .whole = v, .real = (double)v };
}

struct cell cell_real(double v)
{
    if (!isfinite(v))
        return (struct cell){ 0 };
    if (v == floor(v) && fabs(v) < 9007199254740992.0) /* 2^53: as json_num() */
        return cell_whole((int64_t)v);
    return (struct cell){ .kind = CELL_REAL, .real = v };
}

static struct cell cell_bool(bool v)
{
    return (struct cell){ .kind = CELL_BOOL, .whole = v };
}

/* Members are read by memcpy(): offset came from offsetof(). */
#define MEMBER(type, name) \
    type name;             \
    memcpy(&name, p, sizeof name)

static struct cell member_cell(const struct column *c, const void *p)
{
    switch (c->field) {
    case FIELD_DOUBLE: {
        MEMBER(double, v);
        return cell_real(v);
    }
    case FIELD_INT: {
        MEMBER(int, v);
        return c->style != COL_BOOL ? cell_whole(v) : v < 0 ? (struct cell){ 0 } : cell_bool(v);
    }
    case FIELD_U32: {
        MEMBER(uint32_t, v);
        return cell_whole(v);
    }
    case FIELD_U64: {
        MEMBER(uint64_t, v);
        return cell_whole((int64_t)u64_min(v, INT64_MAX));
    }
    case FIELD_BOOL: {
        MEMBER(bool, v);
        return cell_bool(v);
    }
    case FIELD_STRING: {
        MEMBER(const char *, v);
        return cell_text(v);
    }
    case FIELD_CHARS:
        return cell_text(p);
    case FIELD_CELL: {
        MEMBER(struct cell, v);
        return v;
    }
    case FIELD_JSON: {
        MEMBER(json_t *, v);
        return v ? (struct cell){ .kind = CELL_JSON, .json = v } : (struct cell){ .kind = CELL_ABSENT };
    }
    }
    return (struct cell){ 0 };
}

static bool is_empty(const struct column *c, const struct cell *v)
{
    return v->kind == CELL_NULL || (v->kind == CELL_TEXT && !*v->text) || (v->kind == CELL_WHOLE && v->whole == 0 && (c->field != FIELD_DOUBLE || c->empty == EMPTY_ZERO));
}

struct cell column_cell(const struct column *c, const void *row)
{
    const struct cell v = member_cell(c, (const char *)row + c->offset);
    if (c->empty <= EMPTY_MINUS_1 || !is_empty(c, &v))
        return v;
    return (struct cell){ .kind = c->empty == EMPTY_ABSENT ? CELL_ABSENT : CELL_NULL };
}

json_t *cell_json(const struct cell *v)
{
    switch (v->kind) {
    case CELL_TEXT:
        return json_text(v->text);
    case CELL_WHOLE:
        return json_integer(v->whole);
    case CELL_REAL:
        return json_real(v->real);
    case CELL_BOOL:
        return json_boolean(v->whole);
    case CELL_JSON:
        return json_incref(v->json);
    case CELL_NULL:
    case CELL_ABSENT:
        break;
    }
    return json_null();
}
