/* trace_internal.h: what the readers of traces share: records of text cells, and requests made of them. */
#ifndef SERVING_TRACE_INTERNAL_H
#define SERVING_TRACE_INTERNAL_H

#include "serving/trace.h"

struct trace_text {
    const char *p, *end;
    uint32_t line;
};

enum cell_kind {
    CELL_NONE,   /* absent, null, or an empty field */
    CELL_NUMBER, /* a JSON number */
    CELL_FIELD,  /* a field of CSV */
    CELL_STRING, /* the inside of a JSON string, escapes as they are */
    CELL_ARRAY,  /* with its brackets */
    CELL_OTHER,  /* an object, true, false, NaN */
};

struct cell {
    const char *s;
    size_t n;
    uint32_t line;
    enum cell_kind kind;
};

struct trace_reader {
    const char *name;
    const struct trace_format *format;
    const struct trace_options *o;
    struct trace_notes *notes;
    struct trace_text at;
    uint32_t line; /* of the record */
    struct cell cell[TRACE_MOST_COLUMNS]; /* of the record, by number of format->column */
    /* CSV: field i is column column_of[i] or none of interest (-1). */
    unsigned n_field;
    signed char column_of[64];
    struct serve_workload *w;
    size_t cap, run_cap, line_cap;
    uint32_t *lines; /* [w->n] */
    size_t n_line;
    double first_time, last_time; /* of roots, in units of the file; NAN: none yet */
    uint64_t *id;                 /* of the record's array of ids */
    size_t n_id, id_cap;
};

/* Always -1, with "NAME:LINE: " in front. */
int trace_refuse(const struct trace_reader *t, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same of a cell: "NAME:LINE: COLUMN is TEXT: " and the text. */
int trace_refuse_cell(const struct trace_reader *t, int column, struct error *err, const char *expected);

/* ---- text (trace_text.c) ---- */
/* Passes white space and counts lines; false: the end. */
bool text_more(struct trace_text *x);
/* A JSON value as a cell, whatever it is; false: no JSON, *what says what is wrong. */
bool text_value(struct trace_text *x, struct cell *c, const char **what);
/* From the brace of an object on: the next key, behind its colon. 1, 0: the object has ended, -1: no JSON. first: true at the start. */
int text_key(struct trace_text *x, bool *first, struct cell *key, const char **what);
/* From the bracket of an array on: to its next value. 1, 0: the array has ended, -1. */
int text_element(struct trace_text *x, bool *first, const char **what);
/* The next line of CSV as fields, blank lines passed over; -1: no CSV, 0: the end. */
int text_fields(struct trace_text *x, struct cell *field, unsigned most, const char **what);
/* ---- cells (trace_cell.c) ---- */
bool cell_is(const struct cell *c, const char *text);
/* A number of digits, sign, point and exponent; false: none, or not finite. */
bool cell_number(const struct cell *c, double *v);
bool cell_u64(const struct cell *c, uint64_t *v);
/* The text of a JSON string; free(). NULL: out of memory. Wrong escapes become "?". */
char *cell_string(const struct cell *c, size_t *n);

/* ---- records (trace_rows.c) ---- */
/* Sets t->cell. 1: a record, 0: the end, -1. */
int trace_next(struct trace_reader *t, struct error *err);
/* Of a JSON object that begins at t->at. */
int trace_object(struct trace_reader *t, struct error *err);
bool trace_has(const struct trace_reader *t, int column);
int trace_need(const struct trace_reader *t, int column, struct error *err);
/* Whole tokens, lo to SERVE_MAX_TOKENS. */
int trace_tokens(const struct trace_reader *t, int column, uint32_t lo, uint32_t *v, struct error *err);
int trace_whole(const struct trace_reader *t, int column, uint64_t hi, uint64_t *v, struct error *err);
/* At least 0; a duration becomes picoseconds. */
int trace_number(const struct trace_reader *t, int column, double *v, struct error *err);
int trace_duration(const struct trace_reader *t, int column, double unit_s, uint64_t *ps, struct error *err);
/* Time since the first root; times before the last one are refused. */
int trace_time(struct trace_reader *t, int column, double unit_s, uint64_t *ps, struct error *err);
/* An array of identities as t->id. */
int trace_ids(struct trace_reader *t, int column, struct error *err);
/* Tokens of a text, a string named what. */
int trace_count(struct trace_reader *t, const struct cell *c, const char *what, uint32_t *v, struct error *err);

/* ---- requests (trace.c) ---- */
static inline struct serve_request trace_request(const struct trace_reader *t)
{
    return (struct serve_request){ .parent = SERVE_NO_PARENT, .run0 = (uint32_t)t->w->n_run, .end = (uint8_t)t->format->end };
}
/* Identities that follow those of the request being made; equal neighbours become one run. */
int trace_add_run(struct trace_reader *t, struct serve_request *r, uint64_t first, uint32_t n, struct error *err);
int trace_add(struct trace_reader *t, const struct serve_request *r, struct error *err);
bool trace_full(const struct trace_reader *t); /* as many requests as asked for */

/* Identities of the prompt's chunks (trace_hashed.c). */
int trace_hash_runs(struct trace_reader *t, struct serve_request *r, int column, uint32_t chunk, struct error *err);

/* ---- continuations (trace_continue.c) ---- */
/*
 * Identities of generated tokens, from the requests whose prompts contain them. A request continues another one where its prompt begins
 * with all full chunks of the other's and is at least as long as the other's prompt and output.
 *
 * by_parent  the other is the request's parent; else the one in whose prompt the last full chunk occurred first: a chunk that an
 *            earlier request had is a shared prefix, which says nothing of who continues whom
 */
int trace_continue(struct serve_workload *w, bool by_parent, struct error *err);

enum { TRACE_MOST_ID_BITS = 62 }; /* of identities in files; those that readers make have a higher bit set */

int trace_read_azure(struct trace_reader *t, struct error *err);
int trace_read_burstgpt(struct trace_reader *t, struct error *err);
int trace_read_timed(struct trace_reader *t, struct error *err);
int trace_read_agentic(struct trace_reader *t, struct error *err);
int trace_read_aiperf(struct trace_reader *t, struct error *err);
int trace_read_servingsim(struct trace_reader *t, struct error *err);
int trace_read_custom(struct trace_reader *t, struct error *err);
int trace_read_result(struct trace_reader *t, struct error *err);
int trace_read_sharegpt(struct trace_reader *t, struct error *err);
int trace_read_plain(struct trace_reader *t, struct error *err);

#endif
