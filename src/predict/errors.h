/* errors.h: error correlation of two predictions. methods.md (64)-(66) */
#ifndef PREDICT_ERRORS_H
#define PREDICT_ERRORS_H

#include "predict/limits.h"
#include "predict/whatif.h"

/* Covariance of ln seconds; residual_correlation: of the residual errors. */
double error_covariance(const struct error_parts *a, const struct error_parts *b, double residual_correlation);
/* Correlation of a prompt and its steps on one machine and stack; NaN: an error is unknown. */
double error_correlation(const struct error_parts *a, const struct error_parts *b);
/* Probability that two standard normals of that correlation are at most h and k. */
double normal_both(double h, double k, double correlation);
/* Error correlation of a prediction and its what-if: 1 for a change of the machine only, 0 for another stack. */
double predictions_alike(const struct predict_result *base, const struct predict_result *changed, const struct whatif *w);

/* Tokens/s of a changed prediction over the base's; 90 % are between lo and hi, NaN: no interval. */
struct ratio {
    double value, lo, hi;
};

struct ratio prediction_ratio(const struct prediction *base, const struct prediction *changed, double alike);

#endif
