/* Rotary frequencies: plain, linear, YaRN and per-frequency scaling. methods.md (9), (10) */
#include "model/op.h"
#include <math.h>

/* Index (real) of the pair with `turns` turns in the original context. */
static double pair_of(const struct rope *r, double turns)
{
    return r->n_rot * log(r->n_ctx_orig / (turns * 2 * M_PI)) / (2 * log(r->theta));
}

/* Weight of the unscaled frequency: 1 for fast pairs, 0 for slow ones. */
static double own_share(const struct rope *r, uint32_t k)
{
    const double low = fmax(0, floor(pair_of(r, r->beta_fast)));
    const double high = fmin(r->n_rot - 1, ceil(pair_of(r, r->beta_slow)));
    const double ramp = (k - low) / fmax(0.001, high - low);
    return 1 - fmin(1, fmax(0, ramp));
}

double rope_frequencies(const struct rope *r, const float *factors, double *freq)
{
    for (uint32_t k = 0; k < r->n_rot / 2; k++) {
        const double own = pow(r->theta, -2.0 * k / r->n_rot) / (factors ? (double)factors[k] : 1);
        const double share = r->ext_factor > 0 ? r->ext_factor * own_share(r, k) : 0;
        freq[k] = own * (r->freq_scale * (1 - share) + share);
    }
    return r->ext_factor > 0 ? r->amplitude * (1 + 0.1 * log(1 / r->freq_scale)) : r->amplitude;
}

const struct tensor *rope_factors(const struct rope *r, uint32_t n_ctx)
{
    return r->factors_short && n_ctx <= r->n_ctx_orig ? r->factors_short : r->factors;
}
