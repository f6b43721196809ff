/* What the files of measure share. */
#ifndef MEASURE_INTERNAL_H
#define MEASURE_INTERNAL_H

#include "measure/measure.h"

/* A row with nothing said. */
struct measurement measure_empty(enum measure_kind kind);
/* Append a copy. */
int measure_add(struct measurements *l, const struct measurement *m, struct error *err);
/* A copy of s that lives as long as l; NULL: out of memory, said in err. */
const char *measure_keep(struct measurements *l, const char *s, struct error *err);

/* Rows of l->csv. */
int throughput_read(struct measurements *l, struct error *err);
int gpu_ops_read(struct measurements *l, struct error *err);
int all_reduce_read(struct measurements *l, struct error *err);
int serving_read(struct measurements *l, struct error *err);

/* A text of JSON, for messages: which of its objects, and the line of the file its first is. */
struct json_text {
    const char *text;
    size_t index, line;
};
/* Where the object's field stands, or the object where it has none of that name. */
void json_place(const struct json_text *t, const char *key, size_t *line, size_t *column);

/* Of llama-bench: rows of l->csv, an object of its JSON, its INSERT statements, its table (NUL-terminated). */
int llama_bench_csv(struct measurements *l, const struct measure_context *x, struct error *err);
int llama_bench_json(struct measurements *l, const json_t *o, const struct json_text *at, const struct measure_context *x,
                     struct error *err);
int llama_bench_sql(struct measurements *l, const char *text, const struct measure_context *x, struct error *err);
int llama_bench_md(struct measurements *l, const char *text, const struct measure_context *x, struct error *err);
bool llama_bench_is(const json_t *o);
int vllm_read(struct measurements *l, const json_t *o, const struct json_text *at, const struct measure_context *x, struct error *err);
bool vllm_is(const json_t *o);
/* schema: of a run or of bench's output. */
int run_read(struct measurements *l, const json_t *doc, const char *schema, const struct measure_context *x, struct error *err);
int aiperf_read(struct measurements *l, const char *text, const struct measure_context *x, struct error *err);

/* Tags from "tags=a,b=2; text"; also threads=, ubatch=, out=. */
void measure_read_notes(struct measurement *m);

#endif
