/* csv.h: comma-separated values (RFC 4180), read whole. Fields keep line and column for error messages. */
#ifndef DATASET_CSV_H
#define DATASET_CSV_H

#include "base/base.h"

struct csv_field {
    const char *s;        /* unquoted; NUL-terminated */
    uint32_t line, column; /* position of its first character in the file, from 1; columns count bytes */
};

struct csv {
    char name[256];          /* file name, for messages */
    char *text;              /* fields point into this */
    size_t n_col, n_row;     /* n_row: without the header */
    struct csv_field *header; /* [n_col] */
    struct csv_field *field;  /* [n_row][n_col] */
    bool *requested;              /* [n_col]: found by csv_find() */
};

/*
 * Header and rows of equal length. A byte-order mark is skipped; lines end in LF or CRLF; quoted fields may contain commas, line breaks and
 * doubled quotes; blanks around unquoted fields, blank lines and trailing empty lines are ignored. errors, with line and column: a quote
 * inside an unquoted field, text after a closing quote, an open quote, a NUL, a field above 4096 bytes, a row of another length than the
 * header, a duplicate column. Fuzzed.
 */
int csv_parse(struct csv *c, const char *name, const void *data, size_t size, struct error *err);
/* The same for a part of a file that begins at that line. */
int csv_parse_at(struct csv *c, const char *name, const void *data, size_t size, uint32_t line, struct error *err);
void csv_free(struct csv *c);
/* Frees the table of fields; their texts stay until csv_free(). */
void csv_free_table(struct csv *c);

/* Index of a column; -1: none. */
int csv_find(const struct csv *c, const char *column);
/* Indices of n columns, -1 for missing ones. errors: one of needed[] is missing */
int csv_find_all(const struct csv *c, const char *const *name, int n, const int *needed, size_t n_needed, int *column,
                 struct error *err);
/* Field of a row; "" for column -1. */
const struct csv_field *csv_at(const struct csv *c, size_t row, int column);
/* Error "FILE: line 3, column 17 (tokens_per_s): ...". Always returns -1. */
int csv_error(const struct csv *c, size_t row, int column, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Number in [lo, hi]; empty: NaN, or an error with `must`. Decimal digits, point and exponent only. */
int csv_number(const struct csv *c, size_t row, int column, double lo, double hi, bool must, double *out,
               struct error *err);
/* The same for integers. */
int csv_count(const struct csv *c, size_t row, int column, double lo, double hi, bool must, double *out,
              struct error *err);
/* Number of a text, as above; NaN: none. */
double csv_to_number(const char *s);

#endif
