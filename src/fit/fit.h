/*
 * fit: parameters of a time model from measurements. The logarithm of a parameter (fraction of the bandwidth attained,
 * seconds a layer, ...) is a sum of effects: one common to all rows, one of the row's engine, one of its class of machine, ...
 * Every effect has a Gaussian prior: an unmeasured machine or engine keeps the value and spread of its class. Robust least
 * squares (least.h) of ln seconds; the spread of an effect comes from the curvature at the minimum.
 *
 * thread safety   a struct fit is used by one thread at a time
 * source          methods.md (57)
 */
#ifndef FIT_FIT_H
#define FIT_FIT_H

#include "base/base.h"

enum { FIT_MAX_PARAMETERS = 25, FIT_MAX_EFFECTS = 6, FIT_MAX_NAME = 96, FIT_NO_EFFECT = 0xffff };

struct fit_effect {
    char name[FIT_MAX_NAME]; /* "bandwidth", "bandwidth class=Apple GPU" */
    double prior, sd;  /* of the logarithm */
    double value, se;  /* fitted; prior and sd before fit_run() */
    size_t n_row;      /* rows that have it */
    uint64_t from;     /* OR of their fit_row.from */
};

struct fit_row {
    const void *features;                             /* what fit_model.ln_seconds reads */
    double ln_seconds;                                /* measured */
    double sigma;                                     /* expected standard deviation of ln_seconds */
    uint64_t from;                                    /* one bit for its source, defined by the caller */
    uint16_t effect[FIT_MAX_PARAMETERS][FIT_MAX_EFFECTS]; /* FIT_NO_EFFECT: none */
    double base[FIT_MAX_PARAMETERS];  /* added to the effects: priors of common effects that the fit does not have */
    double prior_var[FIT_MAX_PARAMETERS]; /* prior variance of effects that the fit does not have; predictions only */
};

struct fit_model {
    int n_parameter;
    double (*ln_seconds)(const void *features, const double *parameter); /* parameter: logarithms, n_parameter of them */
    /* g [n_parameter]: derivatives; NULL, or returns false: central differences are used */
    bool (*gradient)(const void *features, const double *parameter, double *g);
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
/* Builds the name of an effect in char name[FIT_MAX_NAME], truncated there: "bandwidth", then " class=Apple GPU", ... Both return the end, where the
 * next part goes. */
char *fit_name_begin(char *name, const char *what);
char *fit_name_add(const char *name, char *at, const char *group, const char *value);

/*
 * Fits every effect of f to the rows with keep[i] (NULL: all). Outliers have less weight: it falls with the distance beyond three sigma.
 *
 * row      [n_row]
 * keep     [n_row]
 * errors   out of memory; a model value that is not finite
 */
int fit_run(struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n_row, const bool *keep,
            struct error *err);

/* n_step Gauss-Newton steps from the current values, near a minimum; spreads stay. errors: as of fit_run() */
int fit_steps(struct fit *f, const struct fit_model *m, const struct fit_row *row, size_t n_row, const bool *keep, int n_step,
              struct error *err);

/* Logarithms of the parameters of a row: sums of its effects. */
void fit_parameters(const struct fit *f, const struct fit_model *m, const struct fit_row *row, double *parameter);
/* ln seconds of a row; *sd (may be NULL): its standard deviation from the spread of the parameters; share (may be NULL) [n_parameter]: fraction of that
 * variance by parameter (their sum is 1 without covariances). */
double fit_predict(const struct fit *f, const struct fit_model *m, const struct fit_row *row, double *sd, double *share);


/* ---- for cross.h ------------------------------------------------------------------- */

/* Robust residual of a row, in sigma; g [n_parameter]: d ln seconds / d parameter; slope: derivative of the robust loss there. */
double fit_residual(const struct fit *f, const struct fit_model *m, const struct fit_row *row, double *g, double *slope);
/* g [n_parameter] at parameter [n_parameter], which is restored on return. */
void fit_gradient(const struct fit_model *m, const struct fit_row *row, double *parameter, double *g);

#endif
