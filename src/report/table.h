/*
 * table.h: rows of structs, described once a column, and printed as table, md, csv, sql, json or jsonl. doc/formats.md is
 * generated from the same columns (tests/report/fields.sh).
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "base/base.h"
#include "base/json.h"

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON, REPORT_JSONL, REPORT_MD, REPORT_SQL };
int report_format_find(const char *name, enum report_format *out, struct error *err);

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
enum field_empty { EMPTY_VALUE, EMPTY_NULL /* but a double's 0 is a value */, EMPTY_ZERO /* and that too is null */, EMPTY_ABSENT };

struct column {
    const char *key;    /* field of JSON, heading of csv */
    const char *header; /* of tables; NULL: key */
    enum column_style style;
    const char *unit; /* of the raw values: csv, sql and JSON are SI without prefixes */
    int rank;         /* enum column_rank */
    enum field_kind field;
    size_t offset;
    enum field_empty empty;
    const char *type; /* in doc/formats.md; NULL: derived from field and empty */
    const char *help;
};

/* The members field and offset of a column whose value is member m of the type s. */
#define COLUMN_AT(s, m)                                                                                                                     \
    _Generic(&((s *)0)->m, char **: FIELD_STRING, default: _Generic(((s *)0)->m, double: FIELD_DOUBLE, int: FIELD_INT, uint32_t: FIELD_U32, \
             uint64_t: FIELD_U64, bool: FIELD_BOOL, const char *: FIELD_STRING, char *: FIELD_CHARS, struct cell: FIELD_CELL,               \
             json_t *: FIELD_JSON)),                                                                                                        \
        offsetof(s, m)

struct cell column_cell(const struct column *c, const void *row);
/* Sets the rank of the columns with these blank-separated keys. */
void columns_rank(struct column *cols, size_t n, const char *keys, enum column_rank rank);

/* The columns of a kind of row, documented in doc/formats.md under the heading `section`. */
struct table_fields {
    const char *section;
    const struct column *cols;
    size_t n;
};
/* That heading and table. */
void table_fields_print(FILE *f, const struct table_fields *t);

/* ---- rows ------------------------------------------------------------------------------------------ */

/* Rows of one struct of `size` bytes, and the memory they point to. All zero except size: empty. */
struct table_rows {
    size_t size, n, cap;
    void *v;
    struct table_kept *kept;
};
void *table_add(struct table_rows *r); /* a row of zeros, valid until the next one is added */
void *table_row(const struct table_rows *r, size_t i);
const char *table_text(struct table_rows *r, const char *s); /* a copy as UTF-8 that lives as long as the rows; of NULL and "" NULL */
json_t *table_keep_json(struct table_rows *r, json_t *j); /* takes j, until the rows are freed */
void table_rows_free(struct table_rows *r);

/*
 * JSON is {"schema": schema, "version": version, meta..., "rows": [...]}; jsonl one compact row a line, each with schema and version. sql
 * creates the table that the schema names and inserts the rows. null is "-" in tables, an empty cell in csv, NULL in sql.
 */
struct table {
    const char *schema;
    int version;
    const json_t *meta; /* object merged into the document before "rows"; may be NULL */
    const struct column *cols; /* in the order of JSON's fields */
    size_t n_cols;
    const struct table_rows *rows;
    const char *order; /* blank-separated keys of the columns of the other formats; JSON has these and COL_JSON ones; NULL: all, as in cols */
};
/* Whether a row has a value under that key. */
bool table_has(const struct table *t, const char *key);
/* As columns_rank(), for columns with a value in some row of t. */
void columns_rank_known(struct column *cols, size_t n, const struct table *t, const char *keys, enum column_rank rank);
/* The columns of csv, sql and tables, in order: their number, at most n_cols. */
size_t table_columns(const struct table *t, const struct column **out);
/* The document, and its rows. Out of memory ends the process. */
json_t *table_json(const struct table *t);
json_t *table_rows_json(const struct table *t);
/* width: of the terminal in columns; a table omits columns that do not fit and names them. 0: all columns. */
int report_print(FILE *out, enum report_format fmt, const struct table *t, size_t width, struct error *err);

/*
 * Wraps text at blanks so that no line exceeds width columns, except for longer words; 0: no wrapping. A break is followed by
 * indent blanks, 4 if indent exceeds half of width. A line end before a blank or another line end is kept, any other counts as a blank.
 */
void report_wrap(struct strbuf *out, const char *text, size_t width, size_t indent);

#endif
