/* Interfaces of `roofcast memory`. */
#ifndef REPORT_MEMORY_REPORT_H
#define REPORT_MEMORY_REPORT_H

#include "report/report.h"
#include "cost/memory.h"
#include "learn/anchors.h"
#include "predict/options.h"
#include "report/fields.h"

struct memory_cli {
    const char *model, *hw, *save;
    const char *contexts, *batches; /* lists */
    struct pricing_options price;
    int64_t block, max_batched_tokens, max_seqs; /* 0: the default */
    double utilization, reserved;                /* NaN: the default */
    bool server, local;
    bool compiled;    /* the server's kernels, before this start */
    unsigned release; /* of the server, memory_release_find(); 0: the newest */
    enum report_format format;
};

/* A deployment: a model on a machine. */
struct memory_subject {
    const struct model *m;
    const struct hwprofile *h;
    const struct op_classes *classes;
    const struct memory_model *memory;
    struct memory_plan plan;
    const char *reason; /* why the model cannot run; NULL: it can */
    bool served;
};

extern const struct table_fields memory_fields;
/* memory_report.c: adds a row (of memory_row_size): largest batch at context n_ctx (n_seq 0), or largest context of n_seq sequences. */
extern const size_t memory_row_size;
void memory_add_row(struct table_rows *rows, const struct memory_subject *s, uint64_t n_ctx, uint64_t n_seq);
/* The memory plan of a device, a line per item. */
void memory_add_plan(struct strbuf *b, const struct memory_subject *s);
/* All rows, to --save and to the terminal; a table is followed by the plans. */
int memory_print(const struct table_rows *rows, const struct strbuf *plans, const struct memory_cli *o, const struct model *m,
                 struct error *err);

#endif
