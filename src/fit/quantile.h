/*
 * quantile: interval half-widths by kind of row: the factor on the expected spread within which 90 % of the errors lie. Its logarithm is a
 * sum of effects with priors, as in fit.h, fitted with the quantile (pinball) loss.
 *
 * source   methods.md (59)
 */
#ifndef FIT_QUANTILE_H
#define FIT_QUANTILE_H

#include "fit/fit.h"

enum { QUANTILE_MAX_EFFECTS = 20 };

struct quantile_row {
    double ln_ratio; /* of |error| / expected standard deviation */
    double weight;   /* number of rows that it counts as; < 1 for near duplicates */
    uint16_t effect[QUANTILE_MAX_EFFECTS];
    int n_effect;
    double prior_var; /* prior variance of effects that f does not have; predictions only */
};

/* Fits the effects of f for quantile `level` (0.9); f->cov is their covariance. errors: out of memory */
int quantile_run(struct fit *f, const struct quantile_row *row, size_t n, double level, struct error *err);
/* ln factor of a row, inflated for missing effects, so that coverage holds on average. (59) */
double quantile_predict(const struct fit *f, const struct quantile_row *row);
/*
 * Cross-validation of f, fitted to the rows: ln by which each row exceeds its factor when f is fitted without the row's fold.
 *
 * fold         [n] 0 to n_fold - 1
 * outside_by   [n]
 * errors       out of memory
 */
int quantile_cross(struct fit *f, const struct quantile_row *row, size_t n, double level, const uint8_t *fold, int n_fold,
                   double *outside_by, struct error *err);

#endif
