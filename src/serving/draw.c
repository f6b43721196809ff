#include "serving/draw.h"

/* Rejection accepts more than 95 % of the proposals for any shape >= 1, so 20 pairs of numbers are exceeded with a probability below
 * 1e-26; the last proposal is then taken as it is. */
enum { GAMMA_TRIES = 20, GAMMA_NUMBERS = 64 };

static double gamma_above_one(uint64_t seed, enum draw_stream stream, uint64_t i, double shape)
{
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    double v = 1;
    for (uint64_t k = 0; k < GAMMA_TRIES; k++) {
        /* A normal takes two numbers: those of 3k and 3k + 1; the third decides. */
        const uint64_t at = GAMMA_NUMBERS * i + 3 * k;
        const double x = sqrt(-2 * log(draw_uniform(seed, stream, at))) * cos(6.283185307179586 * draw_uniform(seed, stream, at + 1));
        const double u = draw_uniform(seed, stream, at + 2), w = 1 + c * x;
        if (!(w > 0))
            continue;
        v = w * w * w;
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v))
            break;
    }
    return d * v;
}

double draw_gamma(uint64_t seed, enum draw_stream stream, uint64_t i, double shape)
{
    if (shape >= 1)
        return gamma_above_one(seed, stream, i, shape) / shape;
    /* X of shape + 1 times U^(1/shape) has that shape (ibid., section 6). */
    const double u = draw_uniform(seed, stream, GAMMA_NUMBERS * i + GAMMA_NUMBERS - 1);
    return gamma_above_one(seed, stream, i, shape + 1) * pow(u, 1 / shape) / shape;
}
