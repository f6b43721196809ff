/*
 * comparison.h: two measurements side by side, test by test: runs, outputs of llama-bench and of servers' benchmarks, profiles, predictions. The
 * ratio of the speeds with its interval, and whether it is told from 1. methods.md (106)
 */
#ifndef REPORT_COMPARISON_H
#define REPORT_COMPARISON_H

#include "base/ratio.h"
#include "report/output.h"


/* ---- a side (comparison_read.c) ----------------------------------------------------------------------------- */

enum compare_kind { COMPARE_RUN, COMPARE_PROFILE, COMPARE_PREDICTION, COMPARE_MEASUREMENTS };
const char *compare_kind_name(enum compare_kind k); /* "run" "profile" "prediction" "measurements" */

/* What a test was run with; "": not stated, which matches anything. */
enum compare_setting { SETTING_TYPE, SETTING_THREADS, SETTING_UBATCH, SETTING_TYPE_K, SETTING_TYPE_V, SETTING_MACHINE, SETTING_LAYERS, SETTING_HOST, SETTING_FLASH, COMPARE_SETTINGS };
const char *compare_setting_name(enum compare_setting s);

/* One execution of a test. */
struct compare_entry {
    const char *model, *test, *unit, *setting[COMPARE_SETTINGS];
    bool lower;              /* seconds: less is faster */
    bool compute;            /* compute-bound: the probe is that of FLOP/s */
    double value;            /* in `unit` */
    double ln_sd;            /* of ln value: of repetitions, of the interval of a prediction or ceiling; NaN: not known */
    size_t n;                /* repetitions that ln_sd is of; 0: ln_sd is of `value` itself */
    bool n_assumed;          /* n is a default */
    size_t sample, n_sample; /* in the side's samples */
    bool probed;             /* all samples have their probe */
    bool matched;
};
struct compare_sample {
    double rate, bytes_s, flop_s; /* probes adjacent to the repetition; NaN: none */
};
struct compare_side {
    const char *file;             /* of messages; the caller's */
    enum compare_kind kind;
    size_t n_file;
    const char *what;             /* "roofcast 0.1.0, avx512vnni, 2026-01-02T03:04:05Z" */
    struct table_rows entry, sample, op; /* struct compare_entry, compare_sample, compare_op (comparison_internal.h) */
};

/*
 * Adds a file to a side: executions in order. Further files of a side must be of its kind. name: a file, or of a profile its name or "this".
 *
 * *s       zero first; compare_side_free(), after an error too
 * errors   ERROR_INPUT  no such file, not a measurement: names file and field; out of memory
 */
int compare_side_add(struct compare_side *s, const char *name, struct error *err);
/* The same from memory. fuzzed */
int compare_side_parse(struct compare_side *s, const char *name, const void *data, size_t size, struct error *err);
void compare_side_free(struct compare_side *s);

/* ---- the comparison (comparison.c) ---------------------------------------------------------------------------- */

/* p below this is a difference. */
#define COMPARE_LEVEL 0.05

struct comparison_row {
    const char *model, *test, *unit, *settings, *basis, *verdict, *note;
    double a, b;                   /* as measured: medians of executions, in `unit` */
    double ratio, low, high;       /* speed of B over that of A; above 1: B is faster */
    double plain;                  /* ratio without the probes; NaN: as `ratio` */
    double p, p_holm, correlation;
    int n_a, n_b;                  /* repetitions; executions, where there are several */
    int regressed;                 /* -1: not asked */
    json_t *pairs;                 /* [[a, b], ...] of executions in turn; NULL: none */
};

/* A role or op of a test in both. */
struct comparison_op {
    const char *test, *role, *op, *bound;
    double a_s, b_s, difference_s; /* of a pass */
    double share;                  /* of the test's difference */
    double ratio;                  /* a_s / b_s: speed */
    double machine;                /* what the probes adjacent to the timed ops say of the machines: roof of B over that of A */
};

struct comparison {
    const struct compare_side *a, *b;
    struct table_rows row, op;     /* struct comparison_row, comparison_op; ops by test, largest difference first */
    struct strbuf differences;     /* settings that differ in all tests: "threads 8 and 16" */
    double fail_over;              /* fraction; NaN: not asked */
    size_t n_row, n_faster, n_slower, n_unsure, n_alone, n_regressed; /* n_row: in both */
};

/*
 * a, b        outlive *c, which comparison_free() frees; their entries are marked
 * fail_over   0.05: rows that are slower (told from equal), and by more than 5 %, have regressed; NaN: none
 * errors      ERROR_INPUT  kinds that have no test in common, no test in common: names some of both; out of memory
 */
int comparison_make(struct comparison *c, struct compare_side *a, struct compare_side *b, double fail_over, struct error *err);
void comparison_free(struct comparison *c);

/* ---- its output (comparison_print.c) -------------------------------------------------------------------------- */

extern const struct table_fields comparison_fields, comparison_op_fields;
/* Rows, and the tests' ops, as tables; meta is the caller's to free. */
int comparison_table(struct table *out, json_t **meta, const struct comparison *c, struct error *err);
/* The answer in a sentence or two. */
void comparison_add_summary(struct strbuf *out, const struct comparison *c);
/* Table, md: summary, tests, ops. json: rows and `ops`. csv, jsonl, sql: rows, or with `ops` those. path NULL: standard output. */
int comparison_print(const char *path, enum report_format format, const struct comparison *c, bool ops, struct error *err);

#endif
