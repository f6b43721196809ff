/* blocks.c: how every block quantizer takes its input in and puts its scale out. */
#include "dtype/internal.h"

float scale_store(uint8_t *p, float scale)
{
    uint16_t h = f32_to_f16(scale);
    if ((h & 0x7fff) == 0x7c00) /* infinity: 65504, the largest finite half */
        h = (uint16_t)(h - 1);
    half_store(p, h);
    return f16_to_f32(h);
}

/* Magnitudes are compared as integers: the same order as floats, and no NaN special cases. */
float block_load(const float *src, float *x, size_t n)
{
    const uint32_t limit = 0x4d800000; /* 2^28 */
    uint32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t u, a;
        memcpy(&u, src + i, sizeof u);
        a = u & 0x7fffffff;
        a = a > 0x7f800000 ? 0 : a;
        a = a > limit ? limit : a;
        max = a > max ? a : max;
        u = (u & 0x80000000) | a;
        memcpy(x + i, &u, sizeof u);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, x + i, sizeof u);
        if ((u & 0x7fffffff) == max)
            return x[i];
    }
    return 0;
}
