/*
 * fit.c: the scale of a few elements alone: candidates are rounded, each rounding is solved for
 * its best scale by least squares, and the candidate with the smallest error wins. A slightly
 * clipped largest element can pay for finer steps everywhere else.
 */
#include "dtype/internal.h"
#include <math.h>

/* Sums over the elements for one assignment of quants. */
struct sums {
    float x, xx, xq; /* sum of x, x*x, x*q */
    int32_t q, qq;
};

enum {
    LANES = 4,  /* independent partial sums: what a compiler may vectorize in order */
    CHUNK = 16, /* every n is a multiple */
};

static float lanes_sum(const float s[LANES])
{
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* q = round((x - lo) * inv) limited to q_min..q_max, and the sums that depend on it. */
static void assign(const float *x, int n, float lo, float inv, int q_min, int q_max, struct sums *s)
{
    float xq[LANES] = { 0 };
    s->q = s->qq = 0;
    for (int c = 0; c < n; c += CHUNK, x += CHUNK) {
        int32_t q[CHUNK];
        for (int i = 0; i < CHUNK; i++)
            q[i] = round_clamp((x[i] - lo) * inv, (float)q_min, (float)q_max);
        for (int i = 0; i < CHUNK; i++) {
            s->q += q[i];
            s->qq += q[i] * q[i];
        }
        for (int i = 0; i < CHUNK; i += LANES)
            for (int l = 0; l < LANES; l++)
                xq[l] += x[i + l] * (float)q[i + l];
    }
    s->xq = lanes_sum(xq);
}

/*
 * For fixed q the best scale is Sxq / Sqq and its error Sxx - Sxq^2 / Sqq: the largest
 * Sxq^2 / Sqq wins.
 */
float span_fit(const float *x, float max, const float *spans, size_t n_spans, int q_min, int q_max)
{
    float best = 0, scale = 0;
    if (!(max > 0x1p-100f || max < -0x1p-100f)) /* zeros, or too small for any half */
        return 0;
    for (size_t k = 0; k < n_spans; k++) {
        struct sums s;
        assign(x, CHUNK, 0, -spans[k] / max, q_min, q_max, &s);
        float gain = s.qq > 0 ? s.xq * s.xq / (float)s.qq : 0;
        if (gain > best) {
            best = gain;
            scale = s.xq / (float)s.qq;
        }
    }
    return scale;
}

/*
 * For fixed q, the scale and minimum that minimize E = sum (scale * q - min - x)^2.
 * Setting both derivatives to zero gives scale = (n Sxq - Sx Sq) / (n Sqq - Sq^2) and
 * min = (scale Sq - Sx) / n; where that minimum is below least it is 0 and scale = Sxq / Sqq.
 * Returns E, by the normal equations Sxx - scale Sxq + min Sx; negative scale: not a solution.
 */
static float solve(const struct sums *s, int elems, float least, float *scale, float *min)
{
    const float n = (float)elems;
    float det = n * (float)s->qq - (float)s->q * (float)s->q;
    *scale = det > 0 ? (n * s->xq - s->x * (float)s->q) / det : 0;
    *min = (*scale * (float)s->q - s->x) / n;
    if (!(det > 0) || *min < least) {
        *min = 0;
        *scale = s->qq > 0 ? s->xq / (float)s->qq : 0;
    }
    return s->xx - *scale * s->xq + *min * s->x;
}

/* The start spans min(x, 0)..max(x) with q_max steps; then spans somewhat shorter or longer. */
void affine_fit(const float *x, int n, int q_max, float least, float *scale, float *min)
{
    static const float spans[] = { 0, -1.2f, -0.9f, -0.6f, -0.3f, 0.3f, 0.6f };
    float lo = 0, hi = x[0], sx[LANES] = { 0 }, sxx[LANES] = { 0 }, best = INFINITY;
    for (int i = 0; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    *scale = 0;
    *min = -lo;
    if (!(hi - lo > 0x1p-100f)) /* all equal and not positive, or too small for any half */
        return;
    for (int i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            sx[l] += x[i + l];
            sxx[l] += x[i + l] * x[i + l];
        }
    struct sums s = { .x = lanes_sum(sx), .xx = lanes_sum(sxx) };
    for (size_t k = 0; k < ARRAY_LEN(spans); k++) {
        float sc, mn, e;
        assign(x, n, lo, ((float)q_max + spans[k]) / (hi - lo), 0, q_max, &s);
        e = solve(&s, n, least, &sc, &mn);
        if (sc > 0 && e < best) {
            best = e;
            *scale = sc;
            *min = mn;
        }
    }
}
