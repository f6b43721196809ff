/*
 * spread: interval half-widths. Rows are predicted by cross-validation without their machine, engine or model (cross.h); their errors over
 * the expected spread, by kind of row and situation, determine the half-width (quantile.h). Source: methods.md (58), (59).
 */
#ifndef LEARN_SPREAD_H
#define LEARN_SPREAD_H

#include "fit/quantile.h"
#include "learn/half_width.h"
#include "learn/score.h"
#include "stacks/effects.h"
#include "stacks/traits.h"

/* Training groups of a fit relative to the row it predicts. */
enum situation {
    SITUATION_SEEN,        /* rows of its machine, its engine and its model */
    SITUATION_NEW_WORK,    /* none of its model */
    SITUATION_ANCHORED,    /* of its machine only anchors */
    SITUATION_NEW_ENGINE,  /* none of its engine */
    SITUATION_NEW_MACHINE, /* none of its machine */
    SITUATION_COUNT,
};

/* Side of measured seconds relative to the prediction. */
enum side { SIDE_SLOWER, SIDE_FASTER, SIDE_COUNT };

/* Training groups of rows, as texts "hardware=NVIDIA RTX 4090", sorted. */
struct training_groups {
    char **text;
    size_t n, cap;
};
void training_free(struct training_groups *k);
int training_add_text(struct training_groups *k, const char *text, struct error *err);
/* Adds machine, model, engine and topology of a row. errors: out of memory */
int training_add_row(struct training_groups *k, const struct workload *p, struct error *err);
/* by: training groups of the fit; shown: machines of its anchors. */
enum situation situation_of(const struct training_groups *by, const struct training_groups *shown, const struct workload *p);

/* A fit with its rows: n_seen training rows, then anchors. */
struct spread_input {
    const struct fit *fit;
    const struct fit_row *row;
    const struct fitted_row *fitted;
    const struct workload *const *workload;
    size_t n, n_seen;
    double sigma;       /* residual error, in sigma of a row */
    double shown_sigma; /* of an anchor */
    bool apart;         /* predictions treat the constants as independent */
};
/* Fits the effects of f to the errors of x's rows in cross-validation. errors: as of cross_leave_out() */
int spread_fit(struct fit *f, const struct spread_input *x, struct error *err);
/* Half-width of the 90 % interval of ln seconds to a side; base: expected spread of the row. */
double spread_half(const struct fit *f, enum situation s, enum side side, const struct workload *p, double base);
/* The effects of a row on that side; effects that f does not have count in prior_var, or are added with `add`. -1: too many, or out of
 * memory. */
int spread_effects(struct fit *f, bool add, enum situation s, enum side side, const struct workload *p, struct quantile_row *out,
                   struct error *err);
/* The side of a row, by ln predicted - ln measured; SIDE_SLOWER without effects of sides. */
enum side spread_side(const struct workload *p, double error);
/* Rates and TPOT have effects of both sides (60); other seconds the shortest interval (61). */
bool spread_has_sides(const struct workload *p);
/* Adds to the effect of a situation and side that f has. */
void spread_inflate(struct fit *f, enum situation s, enum side side, double by);
/* For rows without effects of sides: half-widths of a situation, from n rows. -1: too many effects, or out of memory */
int spread_set_half_width(struct fit *f, enum situation s, const struct half_width *r, size_t n, struct error *err);
/* The name can be that of an effect of spread_fit(). */
bool spread_is_name(const char *name);

#endif
