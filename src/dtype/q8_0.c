/*
 * q8_0.c: Q8_0: 32 elements in 34 bytes.
 *
 *     half d; i8 q[32]          value = d * q
 *
 * d = max|x| / 127, so the largest element becomes +-127; -128 is never written.
 */
#include "dtype/internal.h"

void q8_0_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += Q8_0_ELEMS, b += Q8_0_BYTES) {
        float d = half_load(b);
        for (size_t j = 0; j < Q8_0_ELEMS; j++)
            dst[i + j] = d * (float)(int8_t)b[Q8_0_Q + j];
    }
}

void q8_0_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += Q8_0_ELEMS, b += Q8_0_BYTES) {
        float x[Q8_0_ELEMS], max = block_load(src + i, x, Q8_0_ELEMS);
        float d = scale_store(b, (max < 0 ? -max : max) / 127.0f);
        float inv = d > 0 ? 1.0f / d : 0;
        for (size_t j = 0; j < Q8_0_ELEMS; j++)
            b[Q8_0_Q + j] = (uint8_t)round_clamp(x[j] * inv, -127, 127);
    }
}
