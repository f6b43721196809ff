/*
 * table.h: rows of structs, described once a column, and printed as table, md, csv, sql, json or jsonl. doc/formats.md is
 * generated from the same columns (tests/report/fields.sh).
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "base/column.h"

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON, REPORT_JSONL, REPORT_MD, REPORT_SQL };
int report_format_find(const char *name, enum report_format *out, struct error *err);

/* ---- columns --------------------------------------------------------------------------------------------- */

/* Sets the rank of the columns with these blank-separated keys. */
void columns_rank(struct column *cols, size_t n, const char *keys, enum column_rank rank);

/* The heading and table of doc/formats.md. */
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
/* A cell's text as tables have it, not cleaned; as csv has it, not quoted. */
void table_cell_text(struct strbuf *b, const struct column *c, const struct cell *v);
void table_cell_raw(struct strbuf *b, const struct cell *v);
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
