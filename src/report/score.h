/* score.h: how a score is printed. */
#ifndef REPORT_SCORE_H
#define REPORT_SCORE_H

#include "learn/score.h"
#include "report/output.h"

extern const struct table_fields score_fields, score_group_fields;

struct score_print {
    const char *file;
    const struct score_options *score;
    int64_t n_worst; /* rows furthest off */
    bool all_groups; /* for people too: not only those that a table has room for */
    enum report_format format;
};
/* rows [l->n] and their groups to standard output: JSON has the rows furthest off and the groups, csv and jsonl the groups, for people both. */
int score_print(const struct scored *rows, const struct measurements *l, const struct score_groups *g, const struct score_print *o, struct error *err);

#endif
