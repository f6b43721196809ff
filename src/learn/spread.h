/*
 * spread: how wide the interval around a prediction is. Rows are predicted as if the machine, the engine or the model they are
 * of had not been in the fit (cross.h); how far out they are, over what was expected, by what kind of rows they are and what
 * was known of them, sets the width (quantile.h). Source: methods.md (58), (59).
 */
#ifndef LEARN_SPREAD_H
#define LEARN_SPREAD_H

#include "fit/quantile.h"
#include "learn/half_width.h"
#include "learn/score.h"
#include "stacks/effects.h"
#include "stacks/traits.h"

/* What a fit knew of a row before it predicted it. */
enum situation {
    SITUATION_SEEN,        /* rows of its machine, its engine and its model (all-reduces: its topology) */
    SITUATION_NEW_WORK,    /* none of its model or topology */
    SITUATION_ANCHORED,    /* of its machine only the rows that it was shown */
    SITUATION_NEW_ENGINE,  /* none of its engine */
    SITUATION_NEW_MACHINE, /* none of its machine */
    SITUATION_COUNT,
};

/* Where measured seconds lie, beside those predicted. */
enum side { SIDE_SLOWER, SIDE_FASTER, SIDE_COUNT };

/* What rows were of, as texts "hardware=NVIDIA RTX 4090", sorted. */
struct training_groups {
    char **text;
    size_t n, cap;
};
void training_free(struct training_groups *k);
int training_add_text(struct training_groups *k, const char *text, struct error *err);
/* Machine, model, engine and topology of a row. */
int training_add_row(struct training_groups *k, const struct priced *p, struct error *err);
/* shown: machines that rows were shown of; by: those behind the fit. */
enum situation situation_of(const struct training_groups *by, const struct training_groups *shown, const struct priced *p);
/* LEAVE_MODEL, of all-reduces LEAVE_TOPOLOGY. */
enum leave_out situation_work_key(const struct priced *p);

/* A fit with its rows: n_seen that it learned from, then those it was shown. */
struct spread_input {
    const struct fit *fit;
    const struct fit_row *row;
    const struct fitted_row *fitted;
    const struct priced *const *priced;
    size_t n, n_seen;
    double sigma;       /* what is left over, in sigmas of a row */
    double shown_sigma; /* of a row that is shown */
    bool apart;         /* predictions will take the constants as independent */
};
/* Learns the effects of f from how the rows of x are predicted when they are left out. errors: as of cross_leave_out */
int spread_fit(struct fit *f, const struct spread_input *x, struct error *err);
/* How far the 90 % interval of the logarithm of the seconds reaches to a side: base is the expected spread of the row. */
double spread_half(const struct fit *f, enum situation s, enum side side, const struct priced *p, double base);
/* The effects of a row that lies to that side; of those f does not know the variance is loose, unless they are to be added. -1: too many, or out of memory. */
int spread_effects(struct fit *f, bool add, enum situation s, enum side side, const struct priced *p, struct quantile_row *out,
                   struct error *err);
/* The side of a row, by ln predicted - ln measured; SIDE_SLOWER where sides are not told apart. */
enum side spread_side(const struct priced *p, double error);
/* Rates, and seconds of a token, have effects of either side (60); other seconds the shortest interval (61). */
bool spread_has_sides(const struct priced *p);
/* Adds to the effect of a situation and side that f has. */
void spread_inflate(struct fit *f, enum situation s, enum side side, double by);
/* Of rows without effects of sides: how far intervals reach in a situation, from n rows. -1: too many effects, or out of memory */
int spread_set_half_width(struct fit *f, enum situation s, const struct half_width *r, size_t n, struct error *err);
/* The name of an effect is one that spread_fit could have made. */
bool spread_is_name(const char *name);

#endif
