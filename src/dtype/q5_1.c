/*
 * q5_1.c: Q5_1: 32 elements in 24 bytes.
 *
 *     half d; half m; u32 high; u8 q[16]          value = d * q + m
 *
 * Bits placed as in Q5_0, but q runs from 0 to 31 above the block's minimum m.
 */
#include "dtype/internal.h"

void q5_1_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += Q5_1_ELEMS, b += Q5_1_BYTES) {
        float d = half_load(b), m = half_load(b + Q5_1_M);
        for (size_t j = 0; j < 16; j++) {
            int lo = (b[Q5_1_Q + j] & 15) | ((b[Q5_1_HIGH + j / 8] >> (j & 7)) & 1) << 4;
            int hi = (b[Q5_1_Q + j] >> 4) | ((b[Q5_1_HIGH + 2 + j / 8] >> (j & 7)) & 1) << 4;
            dst[i + j] = d * (float)lo + m;
            dst[i + j + 16] = d * (float)hi + m;
        }
    }
}

void q5_1_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += Q5_1_ELEMS, b += Q5_1_BYTES) {
        float x[Q5_1_ELEMS];
        block_load(src + i, x, Q5_1_ELEMS);
        float lo = x[0], hi = x[0];
        for (size_t j = 1; j < Q5_1_ELEMS; j++) {
            lo = x[j] < lo ? x[j] : lo;
            hi = x[j] > hi ? x[j] : hi;
        }
        float m = scale_store(b + Q5_1_M, lo);
        float d = scale_store(b, hi > m ? (hi - m) / 31.0f : 0);
        float inv = d > 0 ? 1.0f / d : 0;
        uint8_t q[Q5_1_ELEMS];
        for (size_t j = 0; j < Q5_1_ELEMS; j++) /* an m rounded up may leave x - m below 0 */
            q[j] = (uint8_t)round_clamp((x[j] - m) * inv, 0, 31);
        memset(b + Q5_1_HIGH, 0, 4);
        for (size_t j = 0; j < Q5_1_ELEMS; j++)
            b[Q5_1_HIGH + j / 8] |= (uint8_t)((q[j] >> 4) << (j & 7));
        for (size_t j = 0; j < 16; j++)
            b[Q5_1_Q + j] = (uint8_t)((q[j] & 15) | (q[j + 16] & 15) << 4);
    }
}
