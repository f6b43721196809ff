/*
 * q5_0.c: Q5_0: 32 elements in 22 bytes.
 *
 *     half d; u32 high; u8 q[16]          value = d * (q - 16)
 *
 * Nibbles as in Q4_0; bit j of high (little-endian) is the fifth bit of element j. q - 16 runs
 * from -16 to 15, and the sign of d gives the longer side to the largest element.
 */
#include "dtype/internal.h"

void q5_0_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += Q5_0_ELEMS, b += Q5_0_BYTES) {
        float d = half_load(b);
        for (size_t j = 0; j < 16; j++) {
            int lo = (b[Q5_0_Q + j] & 15) | ((b[Q5_0_HIGH + j / 8] >> (j & 7)) & 1) << 4;
            int hi = (b[Q5_0_Q + j] >> 4) | ((b[Q5_0_HIGH + 2 + j / 8] >> (j & 7)) & 1) << 4;
            dst[i + j] = d * (float)(lo - 16);
            dst[i + j + 16] = d * (float)(hi - 16);
        }
    }
}

void q5_0_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += Q5_0_ELEMS, b += Q5_0_BYTES) {
        float x[Q5_0_ELEMS], max = block_load(src + i, x, Q5_0_ELEMS);
        float d = scale_store(b, max / -16.0f);
        float inv = d != 0 ? 1.0f / d : 0;
        uint8_t q[Q5_0_ELEMS];
        for (size_t j = 0; j < Q5_0_ELEMS; j++)
            q[j] = (uint8_t)(round_clamp(x[j] * inv, -16, 15) + 16);
        memset(b + Q5_0_HIGH, 0, 4);
        for (size_t j = 0; j < Q5_0_ELEMS; j++)
            b[Q5_0_HIGH + j / 8] |= (uint8_t)((q[j] >> 4) << (j & 7));
        for (size_t j = 0; j < 16; j++)
            b[Q5_0_Q + j] = (uint8_t)((q[j] & 15) | (q[j + 16] & 15) << 4);
    }
}
