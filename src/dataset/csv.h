/*
 * dataset/csv.h: comma-separated values as RFC 4180 has them, read whole. Every field knows where it stood, so that a
 * mistake is named by line and column.
 */
#ifndef DATASET_CSV_H
#define DATASET_CSV_H

#include "base/base.h"

struct csv_field {
    const char *s;        /* without its quotes; NUL-terminated */
    uint32_t line, column; /* of its first character in the file, from 1 (columns count bytes) */
};

struct csv {
    char name[256];          /* of the file, for messages */
    char *text;              /* what the fields point into */
    size_t n_col, n_row;     /* rows without the header */
    struct csv_field *header; /* [n_col] */
    struct csv_field *field;  /* [n_row][n_col] */
    bool *requested;              /* [n_col]: csv_find() has found it */
};

/*
 * Header and rows of equal length. A byte-order mark is passed over, lines end in LF or CRLF, quoted fields may hold
 * commas, line breaks and doubled quotes; empty lines at the end are none. A quote inside a bare field, text behind a
 * closing quote, a quote left open, a NUL, a field of more than 4096 bytes, a row that is longer or shorter than the header and a
 * column named twice are refused with line and column. Blanks around a field without quotes are not of it, blank lines are no rows. (fuzzed)
 */
int csv_parse(struct csv *c, const char *name, const void *data, size_t size, struct error *err);
/* The same of a part of a file that begins in that line. */
int csv_parse_at(struct csv *c, const char *name, const void *data, size_t size, uint32_t line, struct error *err);
void csv_free(struct csv *c);
/* Without the table of fields: what they point to stays. */
void csv_free_table(struct csv *c);

/* Column of that name, or -1. */
int csv_find(const struct csv *c, const char *column);
/* Columns of n names, -1 where there is none; a missing one of those needed is an error. */
int csv_find_all(const struct csv *c, const char *const *name, int n, const int *needed, size_t n_needed, int *column,
                 struct error *err);
/* "" for column -1: what a file does not have is not said. */
const struct csv_field *csv_at(const struct csv *c, size_t row, int column);
/* "FILE: line 3, column 17 (tokens_per_s): " and the text. Always returns -1. */
int csv_error(const struct csv *c, size_t row, int column, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* A number in [lo, hi]; an empty field leaves *out NaN unless must, which refuses it. Digits, point and exponent alone:
 * no hexadecimal, infinity or blanks. */
int csv_number(const struct csv *c, size_t row, int column, double lo, double hi, bool must, double *out,
               struct error *err);
/* The same without a fraction. */
int csv_count(const struct csv *c, size_t row, int column, double lo, double hi, bool must, double *out,
              struct error *err);
/* The number a text is, as above; NaN: none. */
double csv_to_number(const char *s);

#endif
