/*
 * priors: prior distributions of software constants, and counts from kernels' sources: hwprofiles/stacks/priors.json, each with its source
 * (doc/formats.md). Loaded once, immutable then. Source: methods.md (57), (35), (36).
 */
#ifndef STACKS_PRIORS_H
#define STACKS_PRIORS_H

#include "stacks/attend.h"
#include "stacks/effects.h"
#include "stacks/units.h"

/* Single numbers, by their names in the file. */
enum prior_number {
    PRIOR_CPU_APART,
    PRIOR_SCALE_OPS,
    PRIOR_DISPATCH_S,
    PRIOR_SERVER_NETWORK_BYTES_S,
    PRIOR_SERVER_NETWORK_HOP,
    PRIOR_GRAPH_LAUNCH, /* launch in a captured graph over one by the host */
    PRIOR_ECC_BYTES,
    PRIOR_TILE_OPS,
    PRIOR_VULKAN_MORE,
    PRIOR_CPU_LOOKED_UP,
    PRIOR_CPU_OTHER,
    PRIOR_CPU_TILE_TOKENS,
    PRIOR_CPU_STEPS_REACH,
    PRIOR_TILE_PART,
    PRIOR_CACHED_ACTS,  /* seconds of bytes in a GPU's last cache over those in memory */
    PRIOR_UNNAMED_BITS, /* spread of the logarithm of seconds */
    PRIOR_ATTEND_BANDWIDTH,      /* attention kernels of a step (46): fraction of the memory bandwidth; */
    PRIOR_ATTEND_SPLIT_KEYS,     /* least keys of a split; */
    PRIOR_ATTEND_COMBINE_CYCLES, /* combining splits, */
    PRIOR_ATTEND_SPLIT_CYCLES,   /* per split */
    PRIOR_GUESSED_DENSE, /* spread of ln seconds with guessed dimensions: steps of dense models; prompts, mixtures, */
    PRIOR_GUESSED_DENSE_PROMPT,
    PRIOR_GUESSED_MIXTURE,
    PRIOR_GUESSED_MIXTURE_PROMPT,
    PRIOR_GUESSED_ACTIVE, /* and the active part of a mixture */
    PRIOR_KERNELS_LEFT, /* residual spread with a machine's measured kernels, */
    PRIOR_KERNELS_LEFT_PROBED, /* and the total one, under roofs rescaled to adjacent probes */
    PRIOR_NUMBER_COUNT,
};

struct priors {
    json_t *doc; /* owns the texts */
    struct effect_prior *effect[FITTED_KIND_COUNT];
    size_t n_effect[FITTED_KIND_COUNT];
    struct {
        double compute, attention; /* relative to all units */
    } unit[UNIT_COUNT];
    double number[PRIOR_NUMBER_COUNT];
    struct attend_kernel attend[ATTEND_COUNT];
};

/* Strict: every constant, dimension, trait and number by its name, each prior with its source. Fuzzed. errors: file, field, expected and
 * found */
int priors_parse(struct priors *p, const char *name, const void *data, size_t size, struct error *err);
void priors_free(struct priors *p);
/* Loads the file, stacks' rules and constants of kernels, once; required before a fit or a prediction. errors: not found, or invalid */
int priors_load(struct error *err);
/* The priors loaded; after an error none, and numbers are NaN. */
const struct priors *priors(void);
double prior(enum prior_number n);

#endif
