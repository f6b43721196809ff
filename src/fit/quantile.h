/*
 * quantile: how far out the measurements lie that an interval of 90 % must still hold, by kind of row. The logarithm of the
 * factor is a sum of effects with priors, as in a fit (fit.h); what is least is the quantile's own loss, so that of every
 * effect's rows nine in ten are held, as far as there are enough of them to say so. Source: methods.md (59).
 */
#ifndef FIT_QUANTILE_H
#define FIT_QUANTILE_H

#include "fit/fit.h"

enum { QUANTILE_MAX_EFFECTS = 20 };

struct quantile_row {
    double ln_ratio; /* of how far a row is out, |error| over its expected spread */
    double weight;   /* rows that it counts as: less than 1 of one that many are like */
    uint16_t effect[QUANTILE_MAX_EFFECTS];
    int n_effect;
    double loose; /* variance of effects that the row has and f does not know; predictions only */
};

/* Fits the effects of f so that the share `level` of the rows is within; f->cov is their covariance. errors: out of memory */
int quantile_run(struct fit *f, const struct quantile_row *row, size_t n, double level, struct error *err);
/* Logarithm of a row's factor, longer by what effects are missing: held on average, not at the best guess alone. (59) */
double quantile_predict(const struct fit *f, const struct quantile_row *row);
/* Of f, fitted to the rows: by how much of the logarithm each lies outside its factor when that is fitted without the rows of its
 * fold, 0 to n_fold - 1. errors: out of memory */
int quantile_cross(struct fit *f, const struct quantile_row *row, size_t n, double level, const uint8_t *fold, int n_fold,
                   double *outside_by, struct error *err);

#endif
