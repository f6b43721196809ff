/*
 * serving_compare.h: two runs of the same requests side by side, one measured and one simulated, or any two: errors of the figures, distances of the
 * distributions, and which kind of step took longer than the other run has for it. methods.md (104)
 */
#ifndef REPORT_SERVING_COMPARE_H
#define REPORT_SERVING_COMPARE_H

#include "report/serving_saved.h"

/* A figure, or a distance of two distributions: a, b null. */
struct compare_row {
    const char *figure, *name, *unit; /* unit NULL: a number */
    double a, b, difference, error;   /* difference b - a, or the distance; error b / a - 1, of a distance in seconds / a's mean. NaN: none */
    double model_lo, model_hi;        /* of b */
    int inside;                       /* a lies between them; -1: not known */
};

/* A class of steps. NaN: the run has none of them. */
struct compare_step {
    uint32_t decode_lo, decode_hi, prompt_lo, prompt_hi;
    char decode[24], prompt[24];      /* "5-8" */
    uint64_t n_a, n_b;
    double decode_a_tok, decode_b_tok, prompt_a_tok, prompt_b_tok; /* of a step, mean */
    double a_s, b_s, error;           /* of a step, mean; b_s / a_s - 1 */
    double share_a, share_b;          /* of the time of all steps */
    double price_s, number_s;         /* n_a (b_s - a_s); (n_b - n_a) b_s: of a class that one has alone all is number_s */
    double tok_a_s, tok_b_s;          /* tokens/s */
    double bytes_a_s, bytes_b_s, flop_a_s, flop_b_s, mbu_a, mbu_b; /* of a device */
};

struct serving_comparison {
    const struct serving_saved *a, *b;
    char name_a[16], name_b[16];      /* "measured", "simulated", or "first", "second" */
    struct table_rows figures, steps; /* struct compare_row, struct compare_step */
    size_t n_figure;                  /* of figures, those before the distances */
    double busy_a_s, busy_b_s;        /* of all steps */
    double price_s, number_s;         /* sums over the classes: busy_b_s - busy_a_s */
    double price;                     /* price_s / seconds of a's steps in the classes that both have; NaN: none */
    struct strbuf differences;        /* settings that differ: "kv_blocks 100 and 200, seed 0 and 1" */
};

/*
 * a, b     outlive *c, which serving_comparison_free() frees
 * errors   ERROR_INPUT  not of the same requests at the same rate: names the field and both values; out of memory
 */
int serving_compare(struct serving_comparison *c, const struct serving_saved *a, const struct serving_saved *b, struct error *err);
void serving_comparison_free(struct serving_comparison *c);

extern const struct table_fields serving_compare_fields, serving_compare_step_fields;
/* What agrees, what is off most, which steps explain it. */
void serving_compare_add_summary(struct strbuf *out, const struct serving_comparison *c);
/*
 * Figures of b that are worse than a's by more than `limit` (0.05): means and percentiles of times, and the duration, that are longer; rates of requests and
 * tokens that are lower. Their number; *worst: the first of those that are furthest off, if any.
 */
size_t serving_compare_worse(const struct serving_comparison *c, double limit, const struct compare_row **worst);
/* Table, md: summary, figures, distances, steps. json: rows of figures and distances, and `steps`. csv, jsonl, sql: those rows, or with `steps` the
 * classes of steps. path NULL: standard output. */
int serving_compare_print(const char *path, enum report_format format, const struct serving_comparison *c, bool steps, struct error *err);
/* serving_charts.c: the distributions of both, b's dashed. */
int serving_chart_compare(const struct serving_chart *c, const struct serving_comparison *x, struct strbuf *notes, struct error *err);

#endif
