/* family_gemm.h: features of one product, which experts have, too. methods.md (108) */
#ifndef STACKS_FAMILY_GEMM_H
#define STACKS_FAMILY_GEMM_H

#include "stacks/family.h"

enum { GEMM_STEP_BYTES = 128, GEMM_OUT_BYTES = 2, GEMM_SUM_BYTES = 4 }; /* of k in a step; an element of results, of partial sums */

struct gemm_features {
    double n_unit, clock_hz, memory_bytes_s, cache_bytes, cache_bytes_s, peak; /* of the machine; peak: FLOP/s of the operands' type */
    bool async;
    double m, n, k;                    /* tokens; rows and columns of the weight */
    double weight_bytes, act_bytes;    /* an element */
    double copies;                     /* weights in turn; 0: they stay in the last cache */
    double rounds;                     /* bytes moved an activation before the product, rounding it; 0: none */
};

/* What a machine and the constants make of a block. */
struct gemm_rates {
    double n_unit, flop_unit_s, cache_unit_bytes_s; /* multiprocessors; FLOP/s and bytes/s from the last cache of one */
    double step_s, wave_s;                          /* latency of a step of k; of a block without its steps */
    bool async;
};
struct gemm_tile {
    double m, n;                      /* of one block */
    double act_bytes, weight_bytes;   /* an element */
    double blocks, steps;             /* in all; of GEMM_STEP_BYTES of k, of each */
};
#define GEMM_ASYNC_STEP 0.55 /* of a step's latency with copies that run by themselves */
/* Seconds of the blocks in waves over the multiprocessors. */
double gemm_waves_seconds(const struct gemm_rates *r, const struct gemm_tile *t);

void gemm_features_init(struct gemm_features *f, const struct family_machine *on, const struct family_type *type, double m, double n, double k);
/* ln seconds of a product; parameter: logarithms, in the order of family_gemm. */
double gemm_ln_seconds(const void *features, const double *parameter);

#endif
