/*
 * quality: perplexity and KL divergence of logits. Arithmetic only: methods.md (98).
 */
#ifndef ENGINE_QUALITY_H
#define ENGINE_QUALITY_H

#include "base/base.h"

/* One position and the token that follows, in nats. */
struct token_quality {
    double nll;      /* -ln p(token) */
    double nll_base; /* of the base model; NaN without one, like kl */
    double kl;       /* KL(base || model) >= 0; exactly 0 for equal logits */
    bool same_top;   /* same argmax */
};

/*
 * logits   [n_vocab] f32, finite; base: of the base model, or NULL
 * token    the token that follows, in [0, n_vocab)
 * errors   none
 * source   methods.md (98)
 */
struct token_quality quality_token(const float *logits, const float *base, uint32_t n_vocab, int32_t token);

/* Over all scored tokens. _se: standard error, NaN for fewer than two tokens. NaN from ppl_base on without a base model. */
struct quality {
    size_t n_tokens;
    double nll, nll_se; /* mean, nats */
    double ppl, ppl_se;
    double ppl_base, ppl_base_se;
    double ln_ratio, ln_ratio_se; /* ln(ppl / ppl_base), paired error */
    double kl, kl_se, kl_median, kl_p99, kl_p999, kl_max; /* nats */
    double dp_rms;                /* RMS of p(token) - p_base(token), fraction */
    double same_top, same_top_se; /* fraction */
};
/* Summary of t [n], n >= 1; all with a base or all without. methods.md (98), quantiles (70). */
int quality_sum(struct quality *q, const struct token_quality *t, size_t n, struct error *err);

#endif
