/*
 * q6_k.c: Q6_K: 256 elements in 210 bytes, the scale at the end.
 *
 *     u8 low[128]; u8 high[64]; i8 sc[16]; half d      value = d * sc[element / 16] * (q - 32)
 *
 * Each half of 128 elements has 64 bytes of low and 32 of high. For l in 0..31 the four elements
 * l, l + 32, l + 64, l + 96 of that half take their upper two bits from high[l], at bits 0, 2, 4
 * and 6; their lower four are the low nibbles of low[l] and low[l + 32], then the high nibbles.
 */
#include "dtype/internal.h"

enum { SUB = 16, SUB_ELEMS = 16 };

void q6_k_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q6_K_BYTES) {
        float d = half_load(b + Q6_K_D);
        for (size_t e = 0; e < K_ELEMS; e++) {
            size_t half = e / 128, quarter = e % 128 / 32, l = e % 32;
            uint8_t low = b[half * 64 + quarter % 2 * 32 + l], high = b[Q6_K_HIGH + half * 32 + l];
            int q = ((low >> (quarter / 2 * 4)) & 15) | ((high >> (quarter * 2)) & 3) << 4;
            float step = d * (float)(int8_t)b[Q6_K_SCALES + e / SUB_ELEMS];
            dst[i + e] = step * (float)(q - 32);
        }
    }
}

static void pack(const uint8_t q[K_ELEMS], uint8_t *b)
{
    for (size_t half = 0; half < 2; half++)
        for (size_t l = 0; l < 32; l++) {
            const uint8_t *e = q + half * 128 + l;
            b[half * 64 + l] = (uint8_t)((e[0] & 15) | (e[64] & 15) << 4);
            b[half * 64 + l + 32] = (uint8_t)((e[32] & 15) | (e[96] & 15) << 4);
            b[Q6_K_HIGH + half * 32 + l] =
                (uint8_t)(e[0] >> 4 | (e[32] >> 4) << 2 | (e[64] >> 4) << 4 | (e[96] >> 4) << 6);
        }
}

/* As in Q4_0 the element of largest magnitude starts at -32; then spans a little narrower and wider. */
void q6_k_quantize(const float *src, void *dst, size_t n)
{
    static const float spans[] = { 32.0f, 31.5f, 31.0f, 32.5f, 33.0f };
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q6_K_BYTES) {
        float x[K_ELEMS], scale[SUB], max = 0;
        uint8_t q[K_ELEMS];
        for (size_t s = 0; s < SUB; s++) {
            float m = block_load(src + i + s * SUB_ELEMS, x + s * SUB_ELEMS, SUB_ELEMS);
            scale[s] = span_fit(x + s * SUB_ELEMS, m, spans, ARRAY_LEN(spans), -32, 31);
            if (scale[s] * scale[s] > max * max)
                max = scale[s];
        }
        /* the scale of largest magnitude becomes -128 */
        float d = scale_store(b + Q6_K_D, max / -128.0f), inv_d = d != 0 ? 1.0f / d : 0;
        for (size_t s = 0; s < SUB; s++) {
            int32_t sc = round_clamp(scale[s] * inv_d, -128, 127);
            float step = d * (float)sc, inv = step != 0 ? 1.0f / step : 0;
            b[Q6_K_SCALES + s] = (uint8_t)sc;
            for (size_t j = s * SUB_ELEMS; j < (s + 1) * SUB_ELEMS; j++)
                q[j] = (uint8_t)(round_clamp(x[j] * inv, -32, 31) + 32);
        }
        pack(q, b);
    }
}
