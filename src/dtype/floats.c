/*
 * floats.c: F32, F16, BF16: one element a block, little-endian, no scale.
 *
 * NaN and infinities are values of these formats and pass through.
 */
#include "dtype/internal.h"

static uint32_t load32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void f32_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++) {
        uint32_t u = load32(p + 4 * i);
        memcpy(dst + i, &u, sizeof u);
    }
}

void f32_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *p = dst;
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, src + i, sizeof u);
        for (int b = 0; b < 4; b++)
            p[4 * i + (size_t)b] = (uint8_t)(u >> 8 * b);
    }
}

void f16_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++)
        dst[i] = half_load(p + 2 * i);
}

void f16_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *p = dst;
    for (size_t i = 0; i < n; i++)
        half_store(p + 2 * i, f32_to_f16(src[i]));
}

void bf16_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++)
        dst[i] = bf16_to_f32((uint16_t)(p[2 * i] | p[2 * i + 1] << 8));
}

void bf16_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *p = dst;
    for (size_t i = 0; i < n; i++)
        half_store(p + 2 * i, f32_to_bf16(src[i]));
}
