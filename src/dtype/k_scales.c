/*
 * k_scales.c: what Q4_K and Q5_K share: the packed 6-bit scales and minima, and their choice.
 *
 * A super-block is 8 sub-blocks of 32: value = (d * sc[j]) * q - (dmin * mn[j]), with sc and mn
 * six-bit integers. The choice goes in two steps: first the best real scale and minimum for each
 * sub-block alone (fit), then d = largest scale / 63, dmin = largest minimum / 63, rounded as
 * the file will hold them, and every q again against those.
 */
#include "dtype/internal.h"
#include <math.h>

void k_scales_unpack(const uint8_t packed[K_SCALE_BYTES], uint8_t sc[K_SUB], uint8_t mn[K_SUB])
{
    for (int j = 0; j < 4; j++) {
        sc[j] = packed[j] & 63;
        mn[j] = packed[j + 4] & 63;
        sc[j + 4] = (uint8_t)((packed[j + 8] & 15) | (packed[j] >> 6) << 4);
        mn[j + 4] = (uint8_t)((packed[j + 8] >> 4) | (packed[j + 4] >> 6) << 4);
    }
}

void k_scales_pack(const uint8_t sc[K_SUB], const uint8_t mn[K_SUB], uint8_t packed[K_SCALE_BYTES])
{
    for (int j = 0; j < 4; j++) {
        packed[j] = (uint8_t)(sc[j] | (sc[j + 4] >> 4) << 6);
        packed[j + 4] = (uint8_t)(mn[j] | (mn[j + 4] >> 4) << 6);
        packed[j + 8] = (uint8_t)((sc[j + 4] & 15) | (mn[j + 4] & 15) << 4);
    }
}

/* Sums over the 32 elements of a sub-block for one assignment of quants. */
struct sums {
    float x, xx, xq; /* sum of x, x*x, x*q */
    int32_t q, qq;
};

enum { LANES = 4 }; /* independent partial sums: what a compiler may vectorize in order */

static float lanes_sum(const float s[LANES])
{
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* q = round((x - lo) * inv) limited to 0..q_max, and the sums that depend on it. */
static void assign(const float *x, float lo, float inv, int q_max, struct sums *s)
{
    int32_t q[K_SUB_ELEMS];
    float xq[LANES] = { 0 };
    s->q = s->qq = 0;
    for (int i = 0; i < K_SUB_ELEMS; i++)
        q[i] = round_clamp((x[i] - lo) * inv, 0, q_max);
    for (int i = 0; i < K_SUB_ELEMS; i++) {
        s->q += q[i];
        s->qq += q[i] * q[i];
    }
    for (int i = 0; i < K_SUB_ELEMS; i += LANES)
        for (int l = 0; l < LANES; l++)
            xq[l] += x[i + l] * (float)q[i + l];
    s->xq = lanes_sum(xq);
}

/*
 * For fixed q, the scale and minimum (>= 0) that minimize E = sum (scale * q - min - x)^2.
 * Setting both derivatives to zero gives scale = (n Sxq - Sx Sq) / (n Sqq - Sq^2) and
 * min = (scale Sq - Sx) / n; where that minimum is negative it is 0 and scale = Sxq / Sqq.
 * Returns E, by the normal equations Sxx - scale Sxq + min Sx; negative scale: not a solution.
 */
static float solve(const struct sums *s, float *scale, float *min)
{
    const float n = K_SUB_ELEMS;
    float det = n * (float)s->qq - (float)s->q * (float)s->q;
    *scale = det > 0 ? (n * s->xq - s->x * (float)s->q) / det : 0;
    *min = (*scale * (float)s->q - s->x) / n;
    if (!(det > 0) || *min < 0) {
        *min = 0;
        *scale = s->qq > 0 ? s->xq / (float)s->qq : 0;
    }
    return s->xx - *scale * s->xq + *min * s->x;
}

/*
 * The best scale and minimum for one sub-block. The start spans min(x, 0)..max(x) with q_max
 * steps; then a few spans somewhat shorter or longer are rounded and solved, since a slightly
 * clipped largest element can pay for finer steps everywhere else. The best E wins.
 */
static void fit(const float *x, int q_max, float *scale, float *min)
{
    static const float spans[] = { 0, -1.2f, -0.9f, -0.6f, -0.3f, 0.3f, 0.6f };
    float lo = 0, hi = x[0], sx[LANES] = { 0 }, sxx[LANES] = { 0 }, best = INFINITY;
    for (int i = 0; i < K_SUB_ELEMS; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    *scale = 0;
    *min = -lo;
    if (!(hi - lo > 0x1p-100f)) /* all equal and not positive, or too small for any half */
        return;
    for (int i = 0; i < K_SUB_ELEMS; i += LANES)
        for (int l = 0; l < LANES; l++) {
            sx[l] += x[i + l];
            sxx[l] += x[i + l] * x[i + l];
        }
    struct sums s = { .x = lanes_sum(sx), .xx = lanes_sum(sxx) };
    for (size_t k = 0; k < ARRAY_LEN(spans); k++) {
        float sc, mn, e;
        assign(x, lo, ((float)q_max + spans[k]) / (hi - lo), q_max, &s);
        e = solve(&s, &sc, &mn);
        if (sc > 0 && e < best) {
            best = e;
            *scale = sc;
            *min = mn;
        }
    }
}

static float max_of(const float *v, int n)
{
    float m = 0;
    for (int i = 0; i < n; i++)
        m = v[i] > m ? v[i] : m;
    return m;
}

/* 6-bit multiples of unit. */
static void to_six_bits(const float *v, float unit, uint8_t *out)
{
    float inv = unit > 0 ? 1.0f / unit : 0;
    for (int j = 0; j < K_SUB; j++)
        out[j] = (uint8_t)round_clamp(v[j] * inv, 0, 63);
}

void k_quantize(const float *src, int q_max, uint8_t *head, uint8_t *q)
{
    float x[K_ELEMS], scale[K_SUB], min[K_SUB];
    uint8_t sc[K_SUB], mn[K_SUB];
    block_load(src, x, K_ELEMS);
    for (int j = 0; j < K_SUB; j++)
        fit(x + j * K_SUB_ELEMS, q_max, scale + j, min + j);
    float d = scale_store(head, max_of(scale, K_SUB) / 63.0f);
    float dmin = scale_store(head + 2, max_of(min, K_SUB) / 63.0f);
    to_six_bits(scale, d, sc);
    to_six_bits(min, dmin, mn);
    k_scales_pack(sc, mn, head + 4);
    for (int j = 0; j < K_SUB; j++) {
        float step = d * (float)sc[j], low = dmin * (float)mn[j];
        float inv = step > 0 ? 1.0f / step : 0;
        for (int i = j * K_SUB_ELEMS; i < (j + 1) * K_SUB_ELEMS; i++)
            q[i] = (uint8_t)round_clamp((x[i] + low) * inv, 0, q_max);
    }
}
