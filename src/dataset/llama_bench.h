/* Outputs of llama-bench: what its forms have in common (llama_bench.c) and the texts among them (llama_bench_text.c). */
#ifndef DATASET_LLAMA_BENCH_H
#define DATASET_LLAMA_BENCH_H

#include "dataset/internal.h"

enum field { F_FILE, F_LABEL, F_SIZE, F_PARAMS, F_BACKENDS, F_CPU, F_GPU, F_BATCH, F_UBATCH, F_THREADS, F_TYPE_K, F_TYPE_V, F_NGL, F_FLASH,
             F_PROMPT, F_GEN, F_DEPTH, F_RATE, F_NS, F_TEST, F_COMMIT, F_BUILD, F_DATE, F_SPLIT, F_MAIN, F_DEVICES, F_CPU_MOE, F_OVERRIDES,
             F_NO_KV, F_CUDA, F_METAL, F_VULKAN, F_SYCL, F_OPENCL, F_IK, F_RATIOS, N_FIELD };
extern const char *const llama_bench_fields[N_FIELD];

/* One test: texts of its fields, "" where the file has none, and where they stand, for messages. */
struct test {
    const char *v[N_FIELD];
    const char *name;             /* of the file */
    size_t line;
    const struct json_position *json; /* json: where it stands; else NULL */
    const struct csv *csv;        /* csv: row and columns; else NULL */
    size_t row;
    const int *col;
    const char *text;             /* sql, md: the file, where in it the test begins and each value, NULL: not there; else NULL */
    const char *begin, *at[N_FIELD];
    char ignored[160];             /* fields that are not understood, "name=value, ..."; "": none */
};
/* Takes note of a field of a test that is neither read nor known to leave the figures as they are, unless its value says nothing. */
void llama_bench_note_ignored(struct test *t, const char *name, const char *value);

/* The cells of a row of a table of Markdown, and where in the file its line begins. */
struct md_line {
    char *const *head, *const *cell;
    size_t n;
    const char *copy, *at; /* cells point into the copy */
    const char *build;     /* the line "build: 4426e298 (2824)" behind the table; NULL: none */
};
/* The cell under that head; "": none. */
const char *llama_bench_cell(char *const *head, char *const *cell, size_t n, const char *name);

/* llama-batched-bench: how it ran; -1 layers and -2 flash: not said. */
struct batched_setup {
    double ubatch, flash, shared, layers, threads;
};
struct batched_setup batched_bench_setup(const char *text, const char *end);
bool batched_bench_head(char *const *head, size_t n);
int batched_bench_row(struct measurements *l, const struct md_line *r, const char *text, size_t line, const struct measure_context *x, struct error *err);

void llama_bench_text_position(const char *text, const char *at, size_t *line, size_t *column);
/* Where a field stands, for messages; where the test does, if it has none. */
const char *llama_bench_position(const struct test *t, enum field f, char *buf, size_t size);
/* A test as a row. */
int llama_bench_row(struct measurements *l, const struct test *t, const struct measure_context *x, struct error *err);

#endif
