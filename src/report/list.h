/* The lists of `roofcast list`: rows and columns, filter, order and groups. */
#ifndef REPORT_LIST_H
#define REPORT_LIST_H

#include "report/output.h"
#include "run/run.h"

struct list {
    const struct column *cols;
    size_t n_cols;
    const char *order; /* as in struct table */
    size_t row_size;
    int (*rows)(struct table_rows *rows, struct error *err); /* appends them */
};
extern const struct list list_models, list_hw, list_types, list_isa, list_counters, list_archs, list_chat, list_stacks;

/* A row of hw or models; NULL and NaN: not a column of this list, or unknown. */
struct list_row {
    const char *id, *name, *kind, *vendor, *arch, *file, *peak_math, *link;
    double memory_bytes, bandwidth_bytes_s, peak_flop_s, link_bytes_s, n_params;
    uint32_t n_ceilings, link_devices, n_layer, n_embd, n_head, n_head_kv, n_ff, n_vocab, n_ctx_train;
    bool tied;
    json_t *nested; /* aliases */
};

/* ---- filters (list_filter.c) -------------------------------------------- */
struct list_filter {
    struct strbuf text;     /* words that must all occur in names; "": any */
    const char *kind, *arch; /* NULL: any */
    double min_memory_bytes, min_bandwidth_bytes_s, min_params, max_params; /* NaN: any; rows without the number do not match */
    const char *sort;       /* a column's word: "bandwidth" "memory" "params" "name"; NULL: by groups */
};
/* Parses "80G", "80 GiB", "1.5 TB/s" into *to. */
int list_parse_bytes(double *to, const char *arg, const char *option, struct error *err);
/* "7B", "700M", "1.5e9" parameters. */
int list_parse_count(double *to, const char *arg, const char *option, struct error *err);
/* Keeps the matching rows, sorted; none: an error that names the list. */
int list_select(struct table_rows *rows, const struct list_filter *f, const char *list, struct error *err);
/* Heading of a row's group in `hw` or `models`: "GPU, NVIDIA", "llama". */
void list_group(char *out, size_t size, const struct list_row *row);

#endif
