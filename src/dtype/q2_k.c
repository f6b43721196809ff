/*
 * q2_k.c: Q2_K: 256 elements in 84 bytes, the scales at both ends.
 *
 *     u8 scales[16]; u8 q[64]; half d; half dmin      value = d * sc[s] * q - dmin * mn[s]
 *
 * s = element / 16; sc is the low nibble of scales[s], mn the high one. q: two_bits.
 */
#include "dtype/internal.h"
#include <math.h>

enum { SUB = 16, SUB_ELEMS = 16 };

void q2_k_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q2_K_BYTES) {
        float d = half_load(b + Q2_K_D), dmin = half_load(b + Q2_K_DMIN);
        for (size_t e = 0; e < K_ELEMS; e++) {
            float step = d * (float)(b[e / 16] & 15), low = dmin * (float)(b[e / 16] >> 4);
            dst[i + e] = step * (float)two_bits(b + Q2_K_Q, e) - low;
        }
    }
}

void two_bits_pack(const uint8_t v[K_ELEMS], uint8_t q[64])
{
    memset(q, 0, 64);
    for (size_t e = 0; e < K_ELEMS; e++)
        q[e / 128 * 32 + e % 32] |= (uint8_t)((v[e] & 3) << (e % 128 / 32 * 2));
}

/* The quants of a sub-block for this scale and minimum, and its squared error. */
static float try_steps(const float *x, float step, float low, uint8_t *q)
{
    float inv = step > 0 ? 1.0f / step : 0, e[4] = { 0 };
    int32_t v[SUB_ELEMS];
    for (int i = 0; i < SUB_ELEMS; i++)
        v[i] = round_clamp((x[i] + low) * inv, 0, 3);
    for (int i = 0; i < SUB_ELEMS; i += 4)
        for (int l = 0; l < 4; l++) {
            float r = step * (float)v[i + l] - low - x[i + l];
            e[l] += r * r;
        }
    for (int i = 0; i < SUB_ELEMS; i++)
        q[i] = (uint8_t)v[i];
    return (e[0] + e[1]) + (e[2] + e[3]);
}

/*
 * Four bits are coarse for a scale, and the nearest are not the best: of the fitted scale's and
 * minimum's neighbours below and above, the pair with the smallest error.
 */
static uint8_t choose(const float *x, float d, float dmin, float scale, float min, uint8_t *q)
{
    float sc_real = d > 0 ? scale / d : 0, mn_real = dmin > 0 ? min / dmin : 0, best = INFINITY;
    int sc0 = sc_real < 15 ? (int)sc_real : 15, mn0 = mn_real < 15 ? (int)mn_real : 15;
    uint8_t packed = 0;
    for (int sc = sc0; sc <= sc0 + 1 && sc <= 15; sc++)
        for (int mn = mn0; mn <= mn0 + 1 && mn <= 15; mn++) {
            uint8_t v[SUB_ELEMS];
            float e = try_steps(x, d * (float)sc, dmin * (float)mn, v);
            if (e < best) {
                best = e;
                packed = (uint8_t)(sc | mn << 4);
                memcpy(q, v, sizeof v);
            }
        }
    return packed;
}

void q2_k_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q2_K_BYTES) {
        float x[K_ELEMS], scale[SUB], min[SUB], max_scale = 0, max_min = 0;
        uint8_t q[K_ELEMS];
        block_load(src + i, x, K_ELEMS);
        for (size_t s = 0; s < SUB; s++) {
            affine_fit(x + s * SUB_ELEMS, SUB_ELEMS, 3, 0, scale + s, min + s);
            max_scale = scale[s] > max_scale ? scale[s] : max_scale;
            max_min = min[s] > max_min ? min[s] : max_min;
        }
        float d = scale_store(b + Q2_K_D, max_scale / 15.0f);
        float dmin = scale_store(b + Q2_K_DMIN, max_min / 15.0f);
        for (size_t s = 0; s < SUB; s++)
            b[s] = choose(x + s * SUB_ELEMS, d, dmin, scale[s], min[s], q + s * SUB_ELEMS);
        two_bits_pack(q, b + Q2_K_Q);
    }
}
