/* Perplexity and KL divergence: methods.md (98). In double: sums over 1e5 tokens times the vocabulary. */
#include "engine/quality.h"
#include <math.h>
#include <stdlib.h>

/* Log-softmax: ln p(i) = (x[i] - max) - ln_sum, kept separate for precision. */
struct softmax {
    const float *x;
    double max, ln_sum; /* sum exp(x - max) */
    uint32_t top;
};

static struct softmax softmax_of(const float *x, uint32_t n)
{
    struct softmax s = { .x = x };
    for (uint32_t i = 1; i < n; i++)
        if (x[i] > x[s.top])
            s.top = i;
    s.max = x[s.top];
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += exp(x[i] - s.max); /* largest term 1: no overflow */
    s.ln_sum = log(sum);
    return s;
}

static double ln_p(const struct softmax *s, uint32_t i)
{
    return (s->x[i] - s->max) - s->ln_sum;
}

static double kl_divergence(const struct softmax *p, const struct softmax *q, uint32_t n)
{
    double kl = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double lp = ln_p(p, i);
        kl += exp(lp) * (lp - ln_p(q, i));
    }
    return kl > 0 ? kl : 0; /* rounding may give -1e-17 */
}

struct token_quality quality_token(const float *logits, const float *base, uint32_t n_vocab, int32_t token)
{
    const struct softmax q = softmax_of(logits, n_vocab);
    struct token_quality t = { .nll = -ln_p(&q, (uint32_t)token), .nll_base = NAN, .kl = NAN };
    if (!base)
        return t;
    const struct softmax p = softmax_of(base, n_vocab);
    t.nll_base = -ln_p(&p, (uint32_t)token);
    t.kl = kl_divergence(&p, &q, n_vocab);
    t.same_top = p.top == q.top;
    return t;
}

/* ---- sums ------------------------------------------------------------------------ */

static void mean_se(const double *x, size_t n, double *mean, double *se)
{
    *mean = stats_mean(x, n);
    *se = n > 1 ? stats_sd(x, n) / sqrt((double)n) : NAN;
}

static void sum_base(struct quality *q, const struct token_quality *t, size_t n, double *x)
{
    double nll, nll_se, n_same = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = t[i].nll_base;
    mean_se(x, n, &nll, &nll_se);
    q->ppl_base = exp(nll);
    q->ppl_base_se = q->ppl_base * nll_se;
    for (size_t i = 0; i < n; i++)
        x[i] = t[i].nll - t[i].nll_base;
    mean_se(x, n, &q->ln_ratio, &q->ln_ratio_se);
    for (size_t i = 0; i < n; i++) {
        const double dp = exp(-t[i].nll) - exp(-t[i].nll_base);
        x[i] = dp * dp;
        n_same += t[i].same_top;
    }
    q->dp_rms = sqrt(stats_mean(x, n));
    q->same_top = n_same / (double)n;
    q->same_top_se = n > 1 ? sqrt(q->same_top * (1 - q->same_top) / (double)(n - 1)) : NAN;
    for (size_t i = 0; i < n; i++)
        x[i] = t[i].kl;
    mean_se(x, n, &q->kl, &q->kl_se);
    q->kl_median = stats_median(x, n);
    q->kl_p99 = stats_quantile(x, n, 0.99);
    q->kl_p999 = stats_quantile(x, n, 0.999);
    q->kl_max = stats_quantile(x, n, 1);
}

int quality_sum(struct quality *q, const struct token_quality *t, size_t n, struct error *err)
{
    *q = (struct quality){ .n_tokens = n,      .ppl_base = NAN, .ppl_base_se = NAN, .ln_ratio = NAN,
                           .ln_ratio_se = NAN, .kl = NAN,       .kl_se = NAN,       .kl_median = NAN,
                           .kl_p99 = NAN,      .kl_p999 = NAN,  .kl_max = NAN,      .dp_rms = NAN,
                           .same_top = NAN,    .same_top_se = NAN };
    double *x = calloc(n, sizeof *x);
    if (!x)
        return error_oom(err, n * sizeof *x, "the scored tokens");
    for (size_t i = 0; i < n; i++)
        x[i] = t[i].nll;
    mean_se(x, n, &q->nll, &q->nll_se);
    q->ppl = exp(q->nll);
    q->ppl_se = q->ppl * q->nll_se;
    if (!isnan(t[0].kl))
        sum_base(q, t, n, x);
    free(x);
    return 0;
}
