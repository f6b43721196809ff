/*
 * priors: what is believed of software before anything is measured, and what was counted in its kernels: hwprofiles/stacks/priors.json, each with its
 * source (doc/formats.md). Read once, at the first question; it stays. Source: methods.md (57), (35), (36).
 */
#ifndef STACKS_PRIORS_H
#define STACKS_PRIORS_H

#include "stacks/attend.h"
#include "stacks/effects.h"
#include "stacks/traits.h"
#include "stacks/units.h"

/* Single numbers, by their names in the file. */
enum prior_number {
    PRIOR_CPU_APART,
    PRIOR_SCALE_OPS,
    PRIOR_DISPATCH_S,
    PRIOR_PCIE_BYTES_S,
    PRIOR_NETWORK_BYTES_S,
    PRIOR_NETWORK_CARDS,
    PRIOR_BOARD_HOP_S,
    PRIOR_PCIE_HOP_S,
    PRIOR_NETWORK_HOP_S,
    PRIOR_SERVER_NETWORK_BYTES_S,
    PRIOR_SERVER_NETWORK_HOP,
    PRIOR_ECC_BYTES,
    PRIOR_TILE_OPS,
    PRIOR_VULKAN_MORE,
    PRIOR_CPU_LOOKED_UP,
    PRIOR_CPU_OTHER,
    PRIOR_CPU_TILE_TOKENS,
    PRIOR_CPU_STEPS_REACH,
    PRIOR_TILE_PART,
    PRIOR_CACHED_ACTS,  /* seconds of bytes in a GPU's last cache, over those of as many in memory */
    PRIOR_UNNAMED_BITS, /* spread of the logarithm of seconds */
    PRIOR_ATTEND_BANDWIDTH,      /* of attention's kernels in a step (46): part of the memory's bandwidth; */
    PRIOR_ATTEND_SPLIT_KEYS,     /* keys that a part of a split has at least; */
    PRIOR_ATTEND_COMBINE_CYCLES, /* putting parts together, */
    PRIOR_ATTEND_SPLIT_CYCLES,   /* and each of them; */
    PRIOR_L2_BYTES_CYCLE,        /* bytes a cycle and multiprocessor from a GPU's last cache; */
    PRIOR_ATTEND_LEFT,           /* spread of the logarithm of seconds that it leaves */
    PRIOR_GUESSED_DENSE, /* the same, of steps of dense models whose dimensions are guessed; then of prompts, of mixtures, and of */
    PRIOR_GUESSED_DENSE_PROMPT,
    PRIOR_GUESSED_MIXTURE,
    PRIOR_GUESSED_MIXTURE_PROMPT,
    PRIOR_GUESSED_ACTIVE, /* the share of a mixture that a token uses */
    PRIOR_KERNELS_LEFT, /* the same, of what a machine's measured kernels leave, */
    PRIOR_KERNELS_LEFT_PROBED, /* and of all that predictions are off by under roofs that were probed beside the run */
    PRIOR_NUMBER_COUNT,
};

/* An effect of intervals: which traits set it apart (bits), and how far. */
struct interval_prior {
    unsigned traits;
    double sd;
};

struct priors {
    json_t *doc; /* whose texts the others point to */
    struct effect_prior *effect[FITTED_KIND_COUNT];
    size_t n_effect[FITTED_KIND_COUNT];
    struct interval_prior *interval;
    size_t n_interval;
    struct {
        double compute, attention; /* over what all units share */
    } unit[UNIT_COUNT];
    double number[PRIOR_NUMBER_COUNT];
    struct attend_kernel attend[ATTEND_COUNT];
};

/* Strict: every constant, dimension, trait and number by its name, each belief with its source. Fuzzed. */
int priors_parse(struct priors *p, const char *name, const void *data, size_t size, struct error *err);
void priors_free(struct priors *p);
/* Reads the file; whoever fits or predicts asks this first. errors: it is nowhere, or cannot be read */
int priors_load(struct error *err);
/* What was read; where nothing could be, there are no beliefs and numbers are NaN. */
const struct priors *priors(void);
double prior(enum prior_number n);

#endif
