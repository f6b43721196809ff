/*
 * speculate.h: speculative decoding. A drafter proposes gamma tokens of each sequence; one pass of the target over all of them and the
 * token before (verification) accepts a prefix and adds one token. methods.md (53)
 */
#ifndef PREDICT_SPECULATE_H
#define PREDICT_SPECULATE_H

#include "predict/predict.h"

enum { SPEC_MAX_GAMMA = 64, SPEC_BEST_GAMMA = 16 /* range of the search for the best gamma */ };

/* Kind of drafter. */
enum spec_kind {
    SPEC_MODEL, /* a smaller model on the same machine, one pass a token */
    SPEC_NGRAM, /* a search in the text so far: no pass */
    SPEC_MTP,   /* the target's own layer of multi-token prediction, one pass of it a token */
};
const char *spec_kind_name(enum spec_kind k); /* "model", "ngram", "mtp" */

/* ---- tokens of a round --------------------------------------------------------- */

/* Chance in [0, 1] that the drafted token at position 1, 2, ... is right when those before it are; the last one holds for
 * all positions that follow. n >= 1. */
struct acceptance {
    const double *a;
    size_t n;
};

struct spec_tokens {
    double mean, variance;
    double all; /* chance that all drafts are accepted */
};
/* Of the tokens of a round with gamma drafted ones: 1 to gamma + 1. */
struct spec_tokens spec_tokens(const struct acceptance *a, uint32_t gamma);
/* Mean tokens of a sequence that the drafter's first pass computes after a round: a layer of multi-token prediction computes all that the round yielded; a
 * model the last one, and the last draft where all were accepted, which it did not compute. */
double spec_first_tokens(enum spec_kind k, const struct spec_tokens *t);
/* Rate with drafts over the rate without: tokens a round, seconds of a plain step, of all drafting and of the verification
 * of a round. */
double spec_gain(double tokens, double plain_s, double draft_s, double verify_s);

/* ---- seconds of a round ---------------------------------------------------------------------- */

struct spec_options {
    enum spec_kind kind;
    const struct model *draft; /* SPEC_MODEL; else NULL */
    uint32_t gamma;            /* tokens drafted a round, 1 to SPEC_MAX_GAMMA */
    struct acceptance acceptance;
    double host_s;             /* seconds a round of the drafter's work on the host: 0 where it is hidden or not known */
};

/* A drafter for predictions. Holds pointers into itself: must not be copied. */
struct drafter {
    enum spec_kind kind;
    struct layout layout; /* of a draft model: the target's tensor parallelism where that divides it, else whole copies */
    struct op_list ops;
    struct op_classes classes;
    struct nextn nextn;     /* MTP */
    struct step_model step; /* .n 0: no pass */
    double weight_bytes;    /* on the device that holds most, beyond the target's own */
    double kv_seq_bytes;    /* of a sequence of n_ctx positions there */
};
/* The target's classes outlive it. n_ctx, n_ubatch: for kv_seq_bytes. Fails with ERROR_USAGE where the vocabularies differ. */
int drafter_init(struct drafter *d, const struct spec_options *s, const struct op_classes *target,
                 const struct step_options *o, uint64_t n_ctx, uint32_t n_ubatch, struct error *err);
void drafter_free(struct drafter *d);

/* Seconds of a round of n_seq sequences at n_past positions, which yields so many tokens of each. */
struct spec_round {
    double draft_s, verify_s, draft_flop, verify_flop;
};
struct spec_round spec_round(const struct step_model *target, const struct roofs *r, const struct drafter *d,
                             const struct roofs *draft_r, uint32_t n_seq, uint32_t n_past, uint32_t gamma, const struct spec_tokens *tokens);

/* ---- a prediction with it ----------------------------------------------------------------------- */

struct speculation {
    struct spec_tokens tokens; /* a round and sequence */
    double draft_s, verify_s, round_s; /* draft_s: with host_s */
    double gain;               /* tokens/s over those of plain decode */
    double tok_s_sd;           /* of tokens/s over the generation, all sequences together */
    double flop_factor;        /* FLOP a token over those of plain decode */
    uint32_t best_gamma;       /* of 1 to SPEC_BEST_GAMMA */
    double best_gain;
};

/*
 * predict() with a drafter: in r, decode is the mean per token, of verification and drafting together (ITL is the mean), the prompt's TTFT
 * includes the drafter's own pass over it, and memory includes its weights and cache and gamma look-ahead positions a sequence.
 */
int speculate(struct speculation *out, struct predict_result *r, const struct model *m, const struct hwprofile *h,
              const struct predict_options *o, const struct spec_options *s, struct error *err);

#endif
