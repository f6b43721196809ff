/*
 * fit: constants of a time model from measurements. A model has slots (a fraction of the bandwidth reached, seconds a
 * layer, ...); the logarithm of a slot is a sum of effects: one all rows share, one of the row's engine, of its class
 * of machine, ... Every effect has a prior, so that a machine or an engine nobody measured keeps its class's value, with
 * its class's spread. Robust least squares (least.h) of the logarithms of seconds; the spread of an
 * effect comes from the curvature at the minimum. Source: methods.md (57).
 */
#ifndef FIT_FIT_H
#define FIT_FIT_H

#include "base/base.h"

enum { FIT_MAX_SLOTS = 25, FIT_MAX_EFFECTS = 6, FIT_MAX_NAME = 96, FIT_NO_EFFECT = 0xffff };

struct fit_effect {
    char name[FIT_MAX_NAME]; /* "bandwidth", "bandwidth class=Apple GPU" */
    double prior, sd;  /* of the logarithm, before looking */
    double value, se;  /* after; prior and sd until then */
    size_t n_row;      /* that had it */
    uint64_t from;     /* sources of those: fit_row.from of all together */
};

struct fit_row {
    const void *features;                             /* what fit_model.ln_seconds reads */
    double ln_seconds;                                /* measured */
    double sigma;                                     /* spread of the logarithm expected of a good row */
    uint64_t from;                                    /* where it is from: one bit, the caller's affair */
    uint16_t effect[FIT_MAX_SLOTS][FIT_MAX_EFFECTS]; /* FIT_NO_EFFECT: none */
    double base[FIT_MAX_SLOTS];  /* added to the effects: priors of those that all rows share and the fit does not know */
    double loose[FIT_MAX_SLOTS]; /* variance of effects that the row has and the fit does not know; predictions only */
};

struct fit_model {
    int n_slot;
    double (*ln_seconds)(const void *features, const double *slot); /* slot: logarithms, n_slot of them */
    /* g [n_slot]: its derivatives; NULL, or false: not known in closed form, differences are taken */
    bool (*gradient)(const void *features, const double *slot, double *g);
};

struct fit {
    struct fit_effect *effect;
    size_t n_effect;
    double *cov;      /* [n_effect][n_effect] of the logarithms; NULL before fit_run: priors alone */
    uint16_t *bucket; /* [n_bucket], a power of two: effects by the hash of their names; FIT_NO_EFFECT: empty */
    size_t n_bucket;
};

void fit_init(struct fit *f);
void fit_free(struct fit *f);
/* Number of the effect of that name, added with this prior if it is new; FIT_NO_EFFECT and err: out of memory, or too many. */
uint16_t fit_effect(struct fit *f, const char *name, double prior, double sd, struct error *err);
uint16_t fit_find(const struct fit *f, const char *name); /* FIT_NO_EFFECT: unknown */
/* Names of effects are put together in char name[FIT_MAX_NAME], hundreds for a prediction, and cut where it is full: "bandwidth", then
 * " class=Apple GPU" at where that ended, ... Both return where the next goes. */
char *fit_name_begin(char *name, const char *what);
char *fit_name_add(const char *name, char *at, const char *group, const char *value);

/* Fits every effect of f to the rows of keep (NULL: all). A row far out counts less (its weight falls with its distance
 * beyond three sigma). errors: out of memory, or a model that gives no finite number */
int fit_run(struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n_row, const bool *keep,
            struct error *err);

/* The values of the effects after so many steps of Gauss and Newton from where they are, for those who know that the minimum is near: spreads
 * stay as they were. errors: as of fit_run */
int fit_steps(struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n_row, const bool *keep, int n_step,
              struct error *err);

/* Logarithms of the slots of a row: sums of its effects. */
void fit_slots(const struct fit *f, const struct fit_model *m, const struct fit_row *row, double *slot);
/* ln seconds of a row; *sd (may be NULL): its spread from that of the constants; share (may be NULL) [n_slot]: the part of the variance
 * that each slot's effects bring (their sum is 1, up to what they share). */
double fit_predict(const struct fit *f, const struct fit_model *m, const struct fit_row *row, double *sd, double *share);


/* ---- for what works on a fit (cross.h, quantile.h) -------------------------------------------------- */

/* The softened residual of a row, in its sigmas; g [n_slot]: d ln seconds / d slot; slope: of the softening there. */
double fit_residual(const struct fit *f, const struct fit_model *m, const struct fit_row *row, double *g, double *slope);
/* g [n_slot] at these slots, which come back as they were. */
void fit_gradient(const struct fit_model *m, const struct fit_row *row, double *slot, double *g);

#endif
