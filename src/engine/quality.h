/*
 * quality: how well logits foretell a text, and how far they are from another model's: perplexity,
 * KL divergence and what else is reported beside them. Arithmetic alone: methods.md (98).
 */
#ifndef ENGINE_QUALITY_H
#define ENGINE_QUALITY_H

#include "base/base.h"

/* What one position says of the token that follows it. Logarithms are natural: nats. */
struct token_quality {
    double nll;      /* -ln p(token) */
    double nll_base; /* the same by the other model; NaN without one, as is the next */
    double kl;       /* KL(base || ours) >= 0; exactly 0 for the same logits */
    bool same_top;   /* both have the same most likely token */
};

/*
 * logits   [n_vocab] f32, finite, of the model in question; base: of the other one, or NULL
 * token    the one that follows, in [0, n_vocab)
 * errors   none
 * source   methods.md (98)
 */
struct token_quality quality_token(const float *logits, const float *base, uint32_t n_vocab, int32_t token);

/* Over all scored tokens. _se: standard error, NaN for fewer than two tokens. Without another model all from
 * ppl_base on are NaN. */
struct quality {
    size_t n_tokens;
    double nll, nll_se; /* mean, nats */
    double ppl, ppl_se;
    double ppl_base, ppl_base_se;
    double ln_ratio, ln_ratio_se; /* ln(ppl / ppl_base), its error paired */
    double kl, kl_se, kl_median, kl_p99, kl_p999, kl_max; /* nats */
    double dp_rms;                /* of p(token) - p_base(token): a fraction */
    double same_top, same_top_se; /* fraction */
};
/* Sum up t [n], n >= 1; all with a base or all without. methods.md (98), quantiles (70). */
int quality_sum(struct quality *q, const struct token_quality *t, size_t n, struct error *err);

#endif
