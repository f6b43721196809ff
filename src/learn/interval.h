/*
 * interval: half-widths of 90 % intervals that grow with what is new about a row. Every training row is predicted without its publisher, machine,
 * design of the machine, class and model in turn, of a single publisher also without its engine (cross.h); the errors, in expected spreads, of
 * rows with as much that is new to the fit calibrate the half-widths of later rows like them (conformal prediction).
 *
 * source   methods.md (59), (60)
 */
#ifndef LEARN_INTERVAL_H
#define LEARN_INTERVAL_H

#include "learn/training.h"
#include "stacks/effects.h"

/* Side of measured seconds relative to the prediction. */
enum side { SIDE_SLOWER, SIDE_FASTER, SIDE_COUNT };

/* What rows were left out with. */
enum fold { FOLD_SOURCE, FOLD_HARDWARE, FOLD_GENERATION, FOLD_CLASS, FOLD_ENGINE, FOLD_WORK, FOLD_ANCHORED, FOLD_COUNT };
extern const char *const fold_names[FOLD_COUNT]; /* "source" "hardware" ... */
/* Rows predicted without their group. */
struct fold_figure {
    size_t n;
    double median_ape, mean_ln, coverage90; /* |predicted / measured - 1|; mean |ln|; share within the half-widths, in sample */
};

/* A fit with its rows: n_seen training rows, then anchors. */
struct interval_input {
    const struct fit *fit;
    const struct fit_row *row;
    const struct fitted_row *fitted;
    const struct workload *const *workload;
    size_t n, n_seen;
    double sigma;       /* residual error, in sigma of a row */
    double shown_sigma; /* of an anchor */
    bool apart;         /* predictions treat the constants as independent */
    struct fold_figure *figure; /* [FOLD_COUNT], set by interval_fit(); NULL: not wanted */
};
/* A training row as predicted without some of the others. */
struct held_row {
    const struct workload *p;
    enum novelty novelty;
    enum side side;
    enum fold fold;
    double error;   /* ln predicted - ln measured */
    double ratio;   /* |error| over the expected spread */
    uint32_t alike; /* group of rows with correlated errors: of a publisher, machine, engine and phase */
    double weight;  /* set by interval_calibrate() */
};
/* Half-widths from n rows left out, as interval_fit() sets them. errors: out of memory, or too many effects */
int interval_calibrate(struct fit *f, struct held_row *held, size_t n, struct error *err);
/* Sets effects of f: ln of half-widths over expected spreads, by name. errors: as of cross_leave_out() */
int interval_fit(struct fit *f, const struct interval_input *x, struct error *err);
/* Half-width of the 90 % interval of ln seconds to a side. base: expected spread of the row. */
double interval_half(const struct fit *f, enum novelty novelty, enum side side, const struct workload *p, double base);
/* The name can be that of an effect of interval_fit(). */
bool interval_is_name(const char *name);

#endif
