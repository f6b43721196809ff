/*
 * reach: how far to either side of a prediction an interval of 90 % reaches that is as short as it can be, of seconds, whose errors
 * have a long tail to one side. Source: methods.md (61).
 */
#ifndef LEARN_HALF_WIDTH_H
#define LEARN_HALF_WIDTH_H

#include "base/base.h"

struct half_width_row {
    double ln_out;  /* ln |error / half|, half the width that rows like it have, fitted without what it is of */
    double ln_half; /* of the logarithm of the seconds */
    double weight;  /* above 0 */
    bool faster;    /* than predicted */
};

/* Logarithms of what a half is multiplied by. */
struct half_width {
    double slower, faster;
};

/* ln_out that nine in ten of the rows do not exceed. Sorts the rows; n > 0 */
double half_width_within(struct half_width_row *row, size_t n);
/* Nine in ten of the rows lie within, and the seconds between the ends are the fewest, as far as rows can say so: few have one
 * distance both ways. Sorts the rows; n > 0 */
struct half_width half_width_shortest(struct half_width_row *row, size_t n);

#endif
