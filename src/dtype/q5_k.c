/*
 * q5_k.c: Q5_K: 256 elements in 176 bytes.
 *
 *     half d; half dmin; u8 scales[12]; u8 high[32]; u8 q[128]
 *     value = d * sc[j] * q - dmin * mn[j]
 *
 * As Q4_K with a fifth bit: bit j of high[l] belongs to element l of sub-block j (= element / 32).
 */
#include "dtype/internal.h"

void q5_k_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q5_K_BYTES) {
        float d = half_load(b), dmin = half_load(b + Q5_K_DMIN);
        uint8_t sc[K_SUB], mn[K_SUB];
        k_scales_unpack(b + Q5_K_SCALES, sc, mn);
        for (size_t j = 0; j < K_SUB; j++) {
            float step = d * (float)sc[j], low = dmin * (float)mn[j];
            const uint8_t *q = b + Q5_K_Q + j / 2 * 32, *high = b + Q5_K_HIGH;
            int shift = j % 2 ? 4 : 0;
            for (size_t l = 0; l < K_SUB_ELEMS; l++) {
                int v = ((q[l] >> shift) & 15) | ((high[l] >> j) & 1) << 4;
                dst[i + j * K_SUB_ELEMS + l] = step * (float)v - low;
            }
        }
    }
}

void q5_k_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q5_K_BYTES) {
        uint8_t q[K_ELEMS];
        k_quantize(src + i, 31, b, q);
        memset(b + Q5_K_HIGH, 0, 32);
        for (size_t j = 0; j < K_SUB; j++)
            for (size_t l = 0; l < 32; l++)
                b[Q5_K_HIGH + l] |= (uint8_t)((q[j * 32 + l] >> 4) << j);
        for (size_t g = 0; g < 4; g++)
            for (size_t l = 0; l < 32; l++)
                b[Q5_K_Q + g * 32 + l] =
                    (uint8_t)((q[g * 64 + l] & 15) | (q[g * 64 + 32 + l] & 15) << 4);
    }
}
