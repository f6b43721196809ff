/* family_experts.h: features of a layer's routed experts. methods.md (109) */
#ifndef STACKS_FAMILY_EXPERTS_H
#define STACKS_FAMILY_EXPERTS_H

#include "stacks/family.h"

/* Tokens of the experts of one device. */
struct experts_load {
    double touched;   /* experts with a token */
    double visits;    /* (token, expert) pairs */
    double tiles;     /* blocks' rows of tile_m tokens over these experts */
    double tile_m;    /* tokens of a tile: the power of two from the mean tokens of an expert, 16 to 128 */
};

struct experts_features {
    double n_unit, clock_hz, memory_bytes_s, cache_bytes, cache_bytes_s, peak; /* of the machine; peak: FLOP/s of the operands' type */
    bool async;
    double n_embd, n_ff;            /* width of a token, of an expert on this device */
    double n_tok, n_expert_used;    /* tokens of all devices that share the experts */
    double weight_bytes, act_bytes; /* an element */
    bool gated, quantized;          /* gate and up projections; activations are rounded before each product */
    struct experts_load load;
};

/*
 * Tokens of the most loaded of n_ep devices: n_tok tokens by n_used of n_expert experts; skew 0: evenly, else experts' shares are drawn from a
 * power law with that exponent (mean of a few draws by a fixed generator).
 */
void experts_load_init(struct experts_load *l, double n_tok, double n_used, double n_expert, double n_ep, double skew);
/* ln seconds of the layer; parameter: logarithms, in the order of family_experts. */
double experts_ln_seconds(const void *features, const double *parameter);

#endif
