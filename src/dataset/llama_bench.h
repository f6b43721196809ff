/* llama_bench.h: shared by the readers of llama-bench's outputs: common parts (llama_bench.c), text formats (llama_bench_text.c). */
#ifndef DATASET_LLAMA_BENCH_H
#define DATASET_LLAMA_BENCH_H

#include "dataset/internal.h"

enum field { F_FILE, F_LABEL, F_SIZE, F_PARAMS, F_BACKENDS, F_CPU, F_GPU, F_BATCH, F_UBATCH, F_THREADS, F_TYPE_K, F_TYPE_V, F_NGL, F_FLASH,
             F_PROMPT, F_GEN, F_DEPTH, F_RATE, F_NS, F_TEST, F_COMMIT, F_BUILD, F_DATE, F_SPLIT, F_MAIN, F_DEVICES, F_CPU_MOE, F_OVERRIDES,
             F_NO_KV, F_CUDA, F_METAL, F_VULKAN, F_SYCL, F_OPENCL, F_IK, F_RATIOS, F_SD, F_MMAP, F_NO_OP, N_FIELD };
extern const char *const llama_bench_fields[N_FIELD];

/* One test: texts of its fields ("": missing) and their positions, for messages. */
struct test {
    const char *v[N_FIELD];
    const char *name;             /* file name */
    size_t line;
    const struct json_position *json; /* json: position of the test; else NULL */
    const struct csv *csv;        /* csv: row and columns; else NULL */
    size_t row;
    const int *col;
    const char *text;             /* sql, md: text of the file, start of the test, and of each value (NULL: missing); else NULL */
    const char *begin, *at[N_FIELD];
    const json_t *samples;        /* tokens/s of the repetitions, an array; NULL: not stated */
    char ignored[160];             /* ignored fields, "name=value, ..."; "": none */
};
/* Records an unknown field, unless it is harmless or its value is empty. */
void llama_bench_note_ignored(struct test *t, const char *name, const char *value);

/* Cells of a Markdown table row, and the start of its line in the file. */
struct md_line {
    char *const *head, *const *cell;
    size_t n;
    const char *copy, *at; /* cells point into copy */
    const char *build;     /* line "build: 4426e298 (2824)" after the table; NULL: none */
};
/* Cell of a column; "": none. */
const char *llama_bench_cell(char *const *head, char *const *cell, size_t n, const char *name);

/* Settings of llama-batched-bench; layers -1, flash -2: not stated. */
struct batched_setup {
    double ubatch, flash, shared, layers, threads;
};
struct batched_setup batched_bench_setup(const char *text, const char *end);
bool batched_bench_head(char *const *head, size_t n);
int batched_bench_row(struct measurements *l, const struct md_line *r, const char *text, size_t line, const struct measure_context *x, struct error *err);

void llama_bench_text_position(const char *text, const char *at, size_t *line, size_t *column);
/* Position of a field, else of its test, for messages. */
const char *llama_bench_position(const struct test *t, enum field f, char *buf, size_t size);
/* Adds a test as a row. */
int llama_bench_row(struct measurements *l, const struct test *t, const struct measure_context *x, struct error *err);

#endif
