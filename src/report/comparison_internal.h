/* comparison_internal.h: shared by the readers of a comparison's sides. */
#ifndef REPORT_COMPARISON_INTERNAL_H
#define REPORT_COMPARISON_INTERNAL_H

#include "report/comparison.h"

/* Seconds of a role in a phase: of a whole prompt, of a decode step. */
struct compare_op {
    const char *test, *role, *op, *bound;
    double seconds, bytes_s, flop_s; /* sums over n_file files; of the probes adjacent to the timed ops, NaN: none */
    size_t n_file;
};

const char *compare_text(struct compare_side *s, const char *text); /* a copy that lives as long as the side; never NULL */
const char *compare_count(struct compare_side *s, double n);       /* "": not above 0 */
/* An entry without values, valid until the next one. Its samples are added to the side's, then closed. */
struct compare_entry *compare_entry_new(struct compare_side *s);
void compare_entry_close(struct compare_side *s, struct compare_entry *e);

/* doc: of that schema. errors: as compare_side_add() */
int compare_read_run(struct compare_side *s, const char *name, const json_t *doc, const char *schema, struct error *err);
int compare_read_prediction(struct compare_side *s, const char *name, const json_t *doc, struct error *err);

/* Executions of one test: indices of the side's entries. */
struct compare_group {
    const struct compare_side *side;
    size_t *at, n;
};
static inline const struct compare_entry *compare_entry_at(const struct compare_side *s, size_t i)
{
    return table_row(&s->entry, i);
}
/* comparison_test.c: compares the executions of both; sets basis, n_a, n_b, plain and pairs of the row. */
struct ratio comparison_test(struct comparison_row *row, struct comparison *c, const struct compare_group *a, const struct compare_group *b);
/* A note after another one, or NULL. */
const char *comparison_note(struct comparison *c, const char *before, const char *text);
/* comparison_ops.c: rows of the roles of the tests that both sides have ops of, into c->op. */
void comparison_add_ops(struct comparison *c);

#endif
