/*
 * reach: how far to either side of a prediction an interval of 90 % reaches that is as short as it can be, of seconds, whose errors
 * have a long tail to one side. Source: methods.md (61).
 */
#ifndef LEARN_REACH_H
#define LEARN_REACH_H

#include "base/base.h"

struct reach_row {
    double ln_out;  /* ln |error / half|, half the width that rows like it have, fitted without what it is of */
    double ln_half; /* of the logarithm of the seconds */
    double weight;  /* above 0 */
    bool faster;    /* than predicted */
};

/* Logarithms of what a half is multiplied by. */
struct reach {
    double slower, faster;
};

/* ln_out that nine in ten of the rows do not exceed. Sorts the rows; n > 0 */
double reach_within(struct reach_row *row, size_t n);
/* Nine in ten of the rows lie within, and the seconds between the ends are the fewest, as far as rows can say so: few have one
 * distance both ways. Sorts the rows; n > 0 */
struct reach reach_shortest(struct reach_row *row, size_t n);

#endif
