/* Shared by the readers of measurements. */
#ifndef DATASET_INTERNAL_H
#define DATASET_INTERNAL_H

#include "dataset/measure.h"

/* A row without any field. */
struct measurement measure_empty(enum measure_kind kind);
/* Appends a copy of m. */
int measure_add(struct measurements *l, const struct measurement *m, struct error *err);
/* Copy of s, owned by l; NULL: *err. */
/* llama.cpp's offload options in m->notes, as of doc/formats.md. */
int measure_read_offload(struct measurements *l, struct measurement *m, struct error *err);
const char *measure_copy_text(struct measurements *l, const char *s, struct error *err);
/* Takes a block from malloc() of that many bytes, to be freed with l; NULL is an error. On error the block is freed. */
int measure_keep(struct measurements *l, void *block, size_t bytes, struct error *err);

/* Readers of l->csv. */
int throughput_read(struct measurements *l, struct error *err);
int gpu_ops_read(struct measurements *l, struct error *err);
int all_reduce_read(struct measurements *l, struct error *err);
int serving_read(struct measurements *l, struct error *err);
int gpu_kernels_read(struct measurements *l, struct error *err);

/* Position of a JSON value in its text, for error messages (jansson keeps none). */
struct json_position {
    const char *at;
    size_t line, column; /* from 1; columns count bytes */
};
/* Position of a text's value; the text begins at that line. */
void json_position_init(struct json_position *t, const char *text, size_t line);
/* enter: first element of an array or object; next: the following one. */
void json_position_enter(struct json_position *t);
void json_position_next(struct json_position *t);
/* Position of an object's field, or of the object if the field is missing. */
struct json_position json_position_field(const struct json_position *o, const char *key);
/* Position that an error of base/json.h or run refers to, from its text after the file's name: 'rows[3]: field "seconds": expected ...'. */
struct json_position json_position_of_error(const struct json_position *o, const char *message);
/* Error "FILE: line 3, column 17: ...". Always returns -1. */
int json_position_error(const struct json_position *t, const char *name, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Limit of text fields; longer ones are errors. */
enum { MEASURE_MAX_TEXT = 4096 };

/* Readers of llama-bench outputs: l->csv, a JSON object, INSERT statements, a Markdown table (NUL-terminated). */
int llama_bench_csv(struct measurements *l, const struct measure_context *x, struct error *err);
int llama_bench_json(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x,
                     struct error *err);
int llama_bench_sql(struct measurements *l, const char *text, const struct measure_context *x, struct error *err);
int llama_bench_md(struct measurements *l, const char *text, const struct measure_context *x, struct error *err);
bool llama_bench_is(const json_t *o);
bool llama_bench_is_sql(const char *text);
/* The text contains a table head of llama-bench or llama-batched-bench. */
bool llama_bench_is_md(const char *text);
int vllm_read(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x, struct error *err);
bool vllm_is(const json_t *o);
/* schema: roofcast.run or roofcast.bench. */
int run_read(struct measurements *l, const json_t *doc, const char *schema, const struct json_position *at, const struct measure_context *x,
             struct error *err);
/*
 * Server results: names and devices from the command line where not in the file; a latency of ms > 0 as a row; concurrency from Little's
 * law, rounded for closed loops; the assumption without any concurrency.
 */
int measure_name_row(struct measurements *l, struct measurement *m, const char *engine, const char *model, const struct measure_context *x,
                     struct error *err);
int measure_add_latency(struct measurements *l, struct measurement m, enum measure_metric metric, double ms, struct error *err);
double measure_users(double little);
extern const char measure_one_at_a_time[];
bool aiperf_is(const json_t *o);
int aiperf_json(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x, struct error *err);
bool guidellm_is(const json_t *o);
int guidellm_json(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x, struct error *err);
bool batched_bench_is(const json_t *o);
int batched_bench_json(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x, struct error *err);
int aiperf_read(struct measurements *l, const char *text, const struct measure_context *x, struct error *err);

/* Tags of "tags=a,b=2; text"; also threads=, ubatch=, out=, and the setting of flash attention (doc/formats.md), the first that parses. */
void measure_read_notes(struct measurement *m);

/* Remark on an invalid date: a text without date, version, build or commit, as "n/a", or a year before MEASURE_FIRST_YEAR. NULL: none. */
const char *measure_date_remark(const char *text);

#endif
