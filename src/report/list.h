/* The lists of `roofcast list`: the rows and columns of each; which rows are kept, and in which order and groups. */
#ifndef REPORT_LIST_H
#define REPORT_LIST_H

#include "report/output.h"
#include "run/run.h"

/* Appends a row built by json_pack; NULL (out of memory, not UTF-8) is an error. */
int list_add_row(json_t *rows, json_t *row, struct error *err);

/* ---- rows: every list appends its own ---------------------------------------- */
extern const struct column list_model_cols[];
extern const size_t list_n_model_cols;
int list_models(json_t *rows, struct error *err);
extern const struct column list_hw_cols[];
extern const size_t list_n_hw_cols;
int list_hw(json_t *rows, struct error *err);
extern const struct column list_type_cols[];
extern const size_t list_n_type_cols;
int list_types(json_t *rows, struct error *err);
extern const struct column list_isa_cols[];
extern const size_t list_n_isa_cols;
int list_isa(json_t *rows, struct error *err);
extern const struct column list_counter_cols[];
extern const size_t list_n_counter_cols;
int list_counters(json_t *rows, struct error *err);
extern const struct column list_arch_cols[];
extern const size_t list_n_arch_cols;
int list_archs(json_t *rows, struct error *err);
extern const struct column list_chat_cols[];
extern const size_t list_n_chat_cols;
int list_chat(json_t *rows, struct error *err);

extern const struct column list_stack_cols[];
extern const size_t list_n_stack_cols;
int list_stacks(json_t *rows, struct error *err);

/* ---- what of them (list_filter.c) -------------------------------------------- */
struct list_filter {
    struct strbuf text;     /* words, each of which has to be in a name; "" for any */
    const char *kind, *arch; /* NULL: any */
    double min_memory_bytes, min_bandwidth_bytes_s, min_params, max_params; /* NaN: any; a row without the number is not it */
    const char *sort;       /* a column's word: "bandwidth" "memory" "params" "name"; NULL: by groups */
};
/* "80G", "80 GiB", "1.5 TB/s": into *to; what the option takes stands in its error. */
int list_parse_bytes(double *to, const char *arg, const char *option, struct error *err);
/* "7B", "700M", "1.5e9" parameters. */
int list_parse_count(double *to, const char *arg, const char *option, struct error *err);
/* A new array of the rows that are asked for, in order; none is an error that names the list. NULL on error. */
json_t *list_select(const json_t *rows, const struct list_filter *f, const char *list, struct error *err);
/* The heading that a row of `hw` or `models` stands under: "GPU, NVIDIA", "llama". */
void list_group(char *out, size_t size, const json_t *row);

#endif
