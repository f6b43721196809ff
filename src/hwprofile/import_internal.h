/* What the importers share. */
#ifndef HWPROFILE_IMPORT_INTERNAL_H
#define HWPROFILE_IMPORT_INTERNAL_H

#include "hwprofile/import.h"
#include "hwprofile/internal.h"

/* One file being read: a text that ends in NUL, without any before. */
struct import {
    struct hwprofile *h;
    const char *file;
    char *text;
    size_t size;
    const struct import_options *o;
    struct strbuf *notes;
    struct strbuf skipped; /* names of tests that are no roof here, the first of n_skipped */
    size_t n_skipped;
};

/* Lines of a text, one after another; s[n] is a NUL that was the line's end. false: no more. */
struct import_lines {
    char *next;
    char *s;
    size_t n;
    int number;
};
bool import_line(struct import_lines *l);

/* A whole number or a number, finite, nothing behind it but blanks; else false. */
bool import_number(const char *s, double *v);
bool import_count(const char *s, long lo, long hi, long *v);
/* Nothing measured; what a tool has one of. */
struct ceiling import_ceiling(const char *kind, const char *level, const char *unit, double value, int n_threads);
/* Of two of the same name the higher one stays: a roof is the best that was seen. The value has to be one that a profile may
 * have, else the error names `at` ("line 12: MByte/s"). */
int import_add(struct import *im, const struct ceiling *c, const char *at, struct error *err);
/* A rate (B/s, FLOP/s) that a profile may have, else an error of that line. */
int import_check_value(const struct import *im, double v, int line, const char *field, struct error *err);
void import_skip(struct import *im, const char *text);
void import_clean(char *s); /* what is no printable ASCII becomes a question mark */
/* "file: line 12: expected ..., found ..." */
int import_bad_line(const struct import *im, int line, const char *field, const char *expected, const char *found,
                    struct error *err);

int import_ert(struct import *im, const json_t *doc, struct error *err);   /* doc NULL: text */
int import_likwid(struct import *im, struct error *err);
int import_clpeak(struct import *im, const json_t *doc, struct error *err); /* doc NULL: text */

#endif
