/* What the files of measure share. */
#ifndef DATASET_INTERNAL_H
#define DATASET_INTERNAL_H

#include "dataset/measure.h"

/* A row with nothing said. */
struct measurement measure_empty(enum measure_kind kind);
/* Append a copy. */
int measure_add(struct measurements *l, const struct measurement *m, struct error *err);
/* A copy of s that lives as long as l; NULL: out of memory, said in err. */
const char *measure_copy_text(struct measurements *l, const char *s, struct error *err);

/* Rows of l->csv. */
int throughput_read(struct measurements *l, struct error *err);
int gpu_ops_read(struct measurements *l, struct error *err);
int all_reduce_read(struct measurements *l, struct error *err);
int serving_read(struct measurements *l, struct error *err);
int gpu_kernels_read(struct measurements *l, struct error *err);

/* A value in a text of JSON that jansson has read, for messages: jansson keeps no places. */
struct json_position {
    const char *at;
    size_t line, column; /* in the file, from 1; columns count bytes */
};
/* The text's value; it begins in that line of the file. */
void json_position_init(struct json_position *t, const char *text, size_t line);
/* Of an array, to its first element; from an element to the next one. */
void json_position_enter(struct json_position *t);
void json_position_next(struct json_position *t);
/* Where the object's field stands, or the object where it has none of that name. */
struct json_position json_position_field(const struct json_position *o, const char *key);
/* What a refusal of base/json.h or run is about, by its text behind the file's name: 'rows[3]: field "seconds": expected ...'. */
struct json_position json_position_of_error(const struct json_position *o, const char *said);
/* "FILE: line 3, column 17: " and the text. Always returns -1. */
int json_position_error(const struct json_position *t, const char *name, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* What texts of a file are read: longer ones are refused. */
enum { MEASURE_MAX_TEXT = 4096 };

/* Of llama-bench: rows of l->csv, an object of its JSON, its INSERT statements, its table (NUL-terminated). */
int llama_bench_csv(struct measurements *l, const struct measure_context *x, struct error *err);
int llama_bench_json(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x,
                     struct error *err);
int llama_bench_sql(struct measurements *l, const char *text, const struct measure_context *x, struct error *err);
int llama_bench_md(struct measurements *l, const char *text, const struct measure_context *x, struct error *err);
bool llama_bench_is(const json_t *o);
bool llama_bench_is_sql(const char *text);
/* A line of the text is the head of one of its tables, or of llama-batched-bench's. */
bool llama_bench_is_md(const char *text);
int vllm_read(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x, struct error *err);
bool vllm_is(const json_t *o);
/* schema: of a run or of bench's output. */
int run_read(struct measurements *l, const json_t *doc, const char *schema, const struct json_position *at, const struct measure_context *x,
             struct error *err);
/* Results of servers: names and devices of a row from the command line, where the file does not say them; a latency of ms > 0 as a row; what requests
 * at once are by Little's law, of a closed loop a whole number; and what is assumed where nothing says how many. */
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

/* Tags from "tags=a,b=2; text"; also threads=, ubatch=, out=, and what the text says of attention in one kernel (doc/formats.md): the first
 * that is understood. */
void measure_read_notes(struct measurement *m);

/* What is to be said of a text that ought to say when: "n/a" or "yesterday" is no date, version, build or commit, and no year is before
 * MEASURE_FIRST_YEAR. NULL: nothing. */
const char *measure_date_remark(const char *text);

#endif
