/*
 * k_scales.c: Q4_K and Q5_K: the packed 6-bit scales and minima, and their choice.
 *
 * A super-block is 8 sub-blocks of 32: value = (d * sc[j]) * q - (dmin * mn[j]), with sc and mn
 * six-bit integers. The choice goes in two steps: first the best real scale and minimum for each
 * sub-block alone (affine_fit), then d = largest scale / 63, dmin = largest minimum / 63, rounded
 * as the file will hold them, and every q again against those.
 */
#include "dtype/internal.h"

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
        affine_fit(x + j * K_SUB_ELEMS, K_SUB_ELEMS, q_max, 0, scale + j, min + j);
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
