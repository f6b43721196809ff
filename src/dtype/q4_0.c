/*
 * q4_0.c: Q4_0: 32 elements in 18 bytes.
 *
 *     half d; u8 q[16]          value = d * (q - 8)
 *
 * Byte j holds element j in its low nibble and element j + 16 in its high nibble. q - 8 runs
 * from -8 to 7: the side with 8 steps is given to the element of largest magnitude, by letting
 * d be negative when that element is positive.
 */
#include "dtype/internal.h"

void q4_0_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += Q4_0_ELEMS, b += Q4_0_BYTES) {
        float d = half_load(b);
        for (size_t j = 0; j < 16; j++) {
            dst[i + j] = d * (float)((b[Q4_0_Q + j] & 15) - 8);
            dst[i + j + 16] = d * (float)((b[Q4_0_Q + j] >> 4) - 8);
        }
    }
}

void q4_0_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += Q4_0_ELEMS, b += Q4_0_BYTES) {
        float x[Q4_0_ELEMS], max = block_load(src + i, x, Q4_0_ELEMS);
        float d = scale_store(b, max / -8.0f);
        float inv = d != 0 ? 1.0f / d : 0;
        uint8_t q[Q4_0_ELEMS];
        for (size_t j = 0; j < Q4_0_ELEMS; j++)
            q[j] = (uint8_t)(round_clamp(x[j] * inv, -8, 7) + 8);
        for (size_t j = 0; j < 16; j++)
            b[Q4_0_Q + j] = (uint8_t)(q[j] | q[j + 16] << 4);
    }
}
