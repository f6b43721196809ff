/* Shared by the importers. */
#ifndef HWPROFILE_IMPORT_INTERNAL_H
#define HWPROFILE_IMPORT_INTERNAL_H

#include "hwprofile/import.h"
#include "hwprofile/internal.h"

/* One file: NUL-terminated text without other NULs. */
struct import {
    struct hwprofile *h;
    const char *file;
    char *text;
    size_t size;
    const struct import_options *o;
    struct strbuf *notes;
    struct strbuf skipped; /* names of tests that are no roof, the first of n_skipped */
    size_t n_skipped;
};

/* Iterates over lines, NUL-terminated in place; false: end. */
struct import_lines {
    char *next;
    char *s;
    size_t n;
    int number;
};
bool import_line(struct import_lines *l);

/* A finite number, trailing blanks allowed; else false. */
bool import_number(const char *s, double *v);
bool import_count(const char *s, long lo, long hi, long *v);
/* A ceiling without other measurements. */
struct ceiling import_ceiling(const char *kind, const char *level, const char *unit, double value, int n_threads);
/* The higher of two values of one name is kept. An implausible value is an error that names `at` ("line 12: MByte/s"). */
int import_add(struct import *im, const struct ceiling *c, const char *at, struct error *err);
/* Checks a rate (B/s, FLOP/s) for plausibility; else an error of that line. */
int import_check_value(const struct import *im, double v, int line, const char *field, struct error *err);
void import_skip(struct import *im, const char *text);
void import_clean(char *s); /* replaces non-printable and non-ASCII by '?' */
/* "file: line 12: expected ..., found ..." */
int import_bad_line(const struct import *im, int line, const char *field, const char *expected, const char *found,
                    struct error *err);

int import_ert(struct import *im, const json_t *doc, struct error *err); /* doc NULL: text */
int import_likwid(struct import *im, struct error *err);
int import_clpeak(struct import *im, const json_t *doc, struct error *err); /* doc NULL: text */

#endif
