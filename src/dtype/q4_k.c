/*
 * q4_k.c: Q4_K: 256 elements in 144 bytes.
 *
 *     half d; half dmin; u8 scales[12]; u8 q[128]      value = d * sc[j] * q - dmin * mn[j]
 *
 * j = element / 32; sc and mn are six bits each (k_scales.c unpacks them). Every 64 elements take
 * 32 bytes of q: the low nibbles are the first 32, the high nibbles the next 32.
 */
#include "dtype/internal.h"

void q4_k_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q4_K_BYTES) {
        float d = half_load(b), dmin = half_load(b + Q4_K_DMIN);
        uint8_t sc[K_SUB], mn[K_SUB];
        k_scales_unpack(b + Q4_K_SCALES, sc, mn);
        for (size_t j = 0; j < K_SUB; j++) {
            float step = d * (float)sc[j], low = dmin * (float)mn[j];
            const uint8_t *q = b + Q4_K_Q + j / 2 * 32;
            int shift = j % 2 ? 4 : 0;
            for (size_t l = 0; l < K_SUB_ELEMS; l++)
                dst[i + j * K_SUB_ELEMS + l] = step * (float)((q[l] >> shift) & 15) - low;
        }
    }
}

void q4_k_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q4_K_BYTES) {
        uint8_t q[K_ELEMS];
        k_quantize(src + i, 15, b, q);
        for (size_t g = 0; g < 4; g++)
            for (size_t l = 0; l < 32; l++)
                b[Q4_K_Q + g * 32 + l] = (uint8_t)(q[g * 64 + l] | q[g * 64 + 32 + l] << 4);
    }
}
