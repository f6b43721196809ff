/* Picking the next token: greedy, or by temperature. */
#include "engine/engine.h"
#include <math.h>

bool logits_finite(const float *logits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(logits[i]))
            return false;
    return true;
}

void sampler_init(struct sampler *s, double temperature, uint64_t seed)
{
    s->temperature = temperature;
    rng_init(&s->rng, seed);
}

static int32_t greedy(const float *logits, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

int32_t sampler_pick(struct sampler *s, const float *logits, uint32_t n_vocab)
{
    const int32_t best = greedy(logits, n_vocab);
    if (s->temperature <= 0)
        return best;
    /* Two walks instead of a table of probabilities: no memory, and the first is needed anyway. */
    const double top = logits[best];
    double sum = 0;
    for (uint32_t i = 0; i < n_vocab; i++)
        sum += exp(((double)logits[i] - top) / s->temperature);
    double at = rng_uniform(&s->rng) * sum;
    for (uint32_t i = 0; i < n_vocab; i++) {
        at -= exp(((double)logits[i] - top) / s->temperature);
        if (at < 0)
            return (int32_t)i;
    }
    return best;
}
