/*
 * half_width: shortest 90 % interval of seconds whose errors are skewed, as half-widths to both sides. Source: methods.md (61).
 */
#ifndef LEARN_HALF_WIDTH_H
#define LEARN_HALF_WIDTH_H

#include "base/base.h"

struct half_width_row {
    double ln_out;  /* ln |error / half|, half: the half-width of such rows, fitted without their group */
    double ln_half; /* of ln seconds */
    double weight;  /* above 0 */
    bool faster;    /* than predicted */
};

/* ln inflation of half-widths. */
struct half_width {
    double slower, faster;
};

/* 90 % quantile of ln_out. Sorts the rows; n > 0 */
double half_width_within(struct half_width_row *row, size_t n);
/* Half-widths with 90 % coverage and the shortest interval in seconds, as far as the number of rows allows: symmetric for few rows.
 * Sorts the rows; n > 0 */
struct half_width half_width_shortest(struct half_width_row *row, size_t n);

#endif
