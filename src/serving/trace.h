/*
 * trace.h: files of requests that others recorded or made, as workloads: a table of formats, each with the columns it is recognised by.
 * Readers take text in memory; a wrong value is an error that names file, line, field, found and expected.
 */
#ifndef SERVING_TRACE_H
#define SERVING_TRACE_H

#include "serving/workload.h"

/* Tokens of a text, in UTF-8; 0 with the error set. */
typedef size_t trace_count_fn(void *ctx, const char *text, size_t n, struct error *err);

enum trace_flag {
    TRACE_NO_OUTPUTS = 1,  /* identities of generated tokens stay unknown (a replay that does not send them back, such as vLLM's) */
    TRACE_SHARED_TOOLS = 2, /* agentic sessions: conversations with equal tool_tokens share these tokens (of the companion file) */
    TRACE_UNFILTERED = 4,  /* ShareGPT: without vLLM's filter of short and long requests */
};

struct trace_options {
    unsigned flags;            /* enum trace_flag */
    size_t most;               /* requests read; 0: all */
    uint32_t hash_tokens;      /* tokens of a hash id; 0: the format's, or what the lengths say */
    double unit_s;             /* of a timestamp; 0: the format's */
    uint32_t custom_out;       /* output tokens of vLLM's custom rows without their own; 0: 256, as vLLM */
    trace_count_fn *count;     /* tokens of texts; NULL: characters / 4 */
    void *count_ctx;
    const char *companion;     /* agentic sessions: text of the file of conversations; NULL: none */
    size_t companion_size;
};

/* What a reader did beyond copying values. */
struct trace_notes {
    const char *format;
    size_t n_row;     /* records of the file as far as read */
    size_t n_failed;  /* dropped: without output tokens */
    size_t n_filtered; /* dropped by the format's filter */
    size_t n_raised;  /* requests of 0 output tokens that count as 1, for others follow them */
    bool timed;       /* requests have arrival times; false: all due at 0, for an arrival process to set */
    bool estimated;   /* lengths are characters / 4 */
};

enum { TRACE_MOST_COLUMNS = 12 };
enum trace_kind { TRACE_CSV, TRACE_OBJECTS, TRACE_ARRAY }; /* JSON objects one after the other; a JSON array */

struct trace_reader;
struct trace_format {
    const char *name, *help;
    enum trace_kind kind;
    const char *known_by[4]; /* columns or keys that say that a file is of this format; NULL-terminated if fewer */
    int (*read)(struct trace_reader *t, struct error *err);
    const char *column[TRACE_MOST_COLUMNS]; /* names of enum trace_column, by the reader's own numbers */
    enum serve_end end;
    uint32_t hash_tokens; /* 0: by the lengths in the file */
    double unit_s;        /* of a timestamp; 0: the reader's */
};

/* Formats in the order in which they are tried; NULL past the end. */
const struct trace_format *trace_format(size_t i);
const struct trace_format *trace_find(const char *name);

/*
 * format   NULL: recognised by its columns
 * o        NULL: defaults
 * notes    may be NULL
 * errors   ERROR_INPUT  an unknown format, with what is known; a wrong value, by line; no requests; out of memory
 * cost     about 0.3 us a request of Azure's form, 64 bytes
 */
int trace_parse(struct serve_workload *w, struct trace_notes *notes, const char *name, const char *data, size_t size,
                const struct trace_format *format, const struct trace_options *o, struct error *err);
/* The same of a file. A companion FILE_conv.csv of an agentic trace FILE.csv is found by itself. */
int trace_load(struct serve_workload *w, struct trace_notes *notes, const char *path, const struct trace_format *format,
               const struct trace_options *o, struct error *err);

#endif
