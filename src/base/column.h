/*
 * column.h: members of structs as columns, each described once: saved records (run/) are written and read by them, tables (report/table.h)
 * printed, doc/formats.md generated.
 */
#ifndef BASE_COLUMN_H
#define BASE_COLUMN_H

#include "base/base.h"
#include "base/json.h"

/* ---- a value ----------------------------------------------------------------------------------- */

enum cell_kind {
    CELL_NULL,   /* not known, not measured, not applicable */
    CELL_ABSENT, /* JSON leaves the field out; elsewhere as CELL_NULL */
    CELL_TEXT,
    CELL_WHOLE,
    CELL_REAL,
    CELL_BOOL,
    CELL_JSON, /* nested */
};
struct cell {
    enum cell_kind kind;
    const char *text;
    int64_t whole; /* of BOOL: 0 or 1 */
    double real;   /* of WHOLE: the same */
    json_t *json;
};
struct cell cell_text(const char *s); /* NULL: CELL_NULL */
struct cell cell_real(double v);      /* not finite: CELL_NULL; whole below 2^53: CELL_WHOLE */
struct cell cell_whole(int64_t v);

/* ---- a column ----------------------------------------------------------------------------------- */

enum column_style {
    COL_TEXT,
    COL_INT,
    COL_FLOAT,    /* tables: 3 significant digits */
    COL_SI,       /* tables: scaled with k M G T, and the unit */
    COL_SI_BARE,  /* the same without the unit */
    COL_FRACTION, /* 0.873 -> "87.3 %" in tables */
    COL_SECONDS,  /* 0.00478 -> "4.78 ms" */
    COL_BOOL,     /* yes / no / ? for null */
};

/* Outputs that have a column, and its importance. A table too wide for its terminal omits MINOR columns first, then MEDIUM, MAJOR
 * and KEY ones, the rightmost of a rank first; the first column is always shown. */
enum column_rank { COL_MAJOR, COL_DATA /* csv, sql and json only */, COL_MEDIUM, COL_MINOR, COL_KEY, COL_JSON /* json only */ };

/* The C type of a struct's member. */
enum field_kind {
    FIELD_DOUBLE, /* NaN, infinite: null */
    FIELD_INT,    /* with COL_BOOL -1 is null */
    FIELD_U32,
    FIELD_U64,
    FIELD_BOOL,
    FIELD_STRING, /* const char *; NULL: null */
    FIELD_CHARS,  /* char [] */
    FIELD_CELL,   /* struct cell */
    FIELD_JSON,   /* json_t *; NULL: absent */
};
/* Meaning of 0, "" and NULL. */
enum field_empty {
    EMPTY_VALUE,    /* a value */
    EMPTY_NEVER,    /* integers: not valid, at least 1 */
    EMPTY_MINUS_1,  /* integers: a value, and -1 is one too */
    EMPTY_NULL,     /* null, but a double's 0 is a value */
    EMPTY_ZERO,     /* null, a double's 0 too */
    EMPTY_OPTIONAL, /* as EMPTY_NULL; older files have no such field */
    EMPTY_ABSENT,   /* JSON has no such field then */
};

struct column {
    const char *key;    /* field of JSON, heading of csv */
    const char *header; /* of tables; NULL: key */
    enum column_style style;
    const char *unit; /* of the raw values: csv, sql and JSON are SI without prefixes */
    int rank;         /* enum column_rank */
    enum field_kind field;
    size_t offset, size;
    enum field_empty empty;
    const char *type; /* in doc/formats.md; NULL: derived from field and empty */
    const char *help;
};

/* The members field, offset and size of a column whose value is member m of the type s. */
#define COLUMN_AT(s, m)                                                                                                                     \
    _Generic(&((s *)0)->m, char **: FIELD_STRING, default: _Generic(((s *)0)->m, double: FIELD_DOUBLE, int: FIELD_INT, uint32_t: FIELD_U32, \
             uint64_t: FIELD_U64, bool: FIELD_BOOL, const char *: FIELD_STRING, char *: FIELD_CHARS, struct cell: FIELD_CELL,               \
             json_t *: FIELD_JSON)),                                                                                                        \
        offsetof(s, m), sizeof(((s *)0)->m)

struct cell column_cell(const struct column *c, const void *row);
json_t *cell_json(const struct cell *v); /* CELL_ABSENT: as CELL_NULL; NULL: out of memory */

/* The columns of a kind of row, documented in doc/formats.md under the heading `section`. */
struct table_fields {
    const char *section;
    const struct column *cols;
    size_t n;
};

#endif
