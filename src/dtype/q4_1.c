/*
 * q4_1.c: Q4_1: 32 elements in 20 bytes.
 *
 *     half d; half m; u8 q[16]          value = d * q + m
 *
 * Nibbles as in Q4_0, but q runs from 0 to 15 above the block's minimum m.
 */
#include "dtype/internal.h"
#include <math.h>

void q4_1_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += Q4_1_ELEMS, b += Q4_1_BYTES) {
        float d = half_load(b), m = half_load(b + Q4_1_M);
        for (size_t j = 0; j < 16; j++) {
            dst[i + j] = d * (float)(b[Q4_1_Q + j] & 15) + m;
            dst[i + j + 16] = d * (float)(b[Q4_1_Q + j] >> 4) + m;
        }
    }
}

/* Both numbers are fitted above the smallest element, where the sums lose nothing to a large m. */
void q4_1_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += Q4_1_ELEMS, b += Q4_1_BYTES) {
        float x[Q4_1_ELEMS], scale, min;
        block_load(src + i, x, Q4_1_ELEMS);
        float lo = x[0];
        for (size_t j = 1; j < Q4_1_ELEMS; j++)
            lo = x[j] < lo ? x[j] : lo;
        for (size_t j = 0; j < Q4_1_ELEMS; j++)
            x[j] -= lo;
        affine_fit(x, Q4_1_ELEMS, 15, -INFINITY, &scale, &min);
        float m = scale_store(b + Q4_1_M, lo - min), d = scale_store(b, scale);
        float inv = d > 0 ? 1.0f / d : 0;
        uint8_t q[Q4_1_ELEMS];
        for (size_t j = 0; j < Q4_1_ELEMS; j++)
            q[j] = (uint8_t)round_clamp((x[j] + (lo - m)) * inv, 0, 15);
        for (size_t j = 0; j < 16; j++)
            b[Q4_1_Q + j] = (uint8_t)(q[j] | q[j + 16] << 4);
    }
}
