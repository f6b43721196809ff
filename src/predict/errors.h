/* errors.h: what the errors of two predictions have in common. methods.md (64)-(66) */
#ifndef PREDICT_ERRORS_H
#define PREDICT_ERRORS_H

#include "predict/limits.h"
#include "predict/whatif.h"

/* Covariance of the logarithms of their seconds; left_together: the correlation of what is left over. */
double error_covariance(const struct error_parts *a, const struct error_parts *b, double left_together);
/* Of a prompt's and its steps' on one machine and stack; NaN: nothing is known of one. */
double error_correlation(const struct error_parts *a, const struct error_parts *b);
/* Chance that normals of that correlation are at most h and k. */
double normal_both(double h, double k, double correlation);
/* How much of the errors a change leaves as they are: 1 of the machine's alone, 0 of another stack. */
double predictions_alike(const struct predict_result *base, const struct predict_result *changed, const struct whatif *w);

/* Tokens/s of a changed prediction over the base's; 90 % are between lo and hi, NaN: no interval. */
struct ratio {
    double value, lo, hi;
};

struct ratio prediction_ratio(const struct prediction *base, const struct prediction *changed, double alike);

#endif
