/*
 * q3_k.c: Q3_K: 256 elements in 110 bytes, the scale at the end.
 *
 *     u8 high[32]; u8 q[64]; u8 scales[12]; half d      value = d * (sc[s] - 32) * (q - 4)
 *
 * s = element / 16. Bits 0 and 1 of q: two_bits; bit 2 of element e is bit e / 32 of high[e % 32].
 * Of the six bits of sc[s], the low four are nibble s / 8 of scales[s % 8], the upper two are
 * bits 2 * (s / 4) and up of scales[8 + s % 4].
 */
#include "dtype/internal.h"

enum { SUB = 16, SUB_ELEMS = 16 };

void q3_k_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q3_K_BYTES) {
        float d = half_load(b + Q3_K_D);
        for (size_t s = 0; s < SUB; s++) {
            int low = (b[Q3_K_SCALES + s % 8] >> (s / 8 * 4)) & 15;
            int high = (b[Q3_K_SCALES + 8 + s % 4] >> (s / 4 * 2)) & 3;
            float step = d * (float)((low | high << 4) - 32);
            for (size_t e = s * SUB_ELEMS; e < (s + 1) * SUB_ELEMS; e++) {
                int q = two_bits(b + Q3_K_Q, e) | ((b[e % 32] >> (e / 32)) & 1) << 2;
                dst[i + e] = step * (float)(q - 4);
            }
        }
    }
}

/* As in Q4_0 the element of largest magnitude starts at -4; then spans a little wider and narrower. */
void q3_k_quantize(const float *src, void *dst, size_t n)
{
    static const float spans[] = { 4, 4.5f, 3.5f, 3 };
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += K_ELEMS, b += Q3_K_BYTES) {
        float x[K_ELEMS], scale[SUB], max = 0;
        uint8_t q[K_ELEMS];
        for (size_t s = 0; s < SUB; s++) {
            float m = block_load(src + i + s * SUB_ELEMS, x + s * SUB_ELEMS, SUB_ELEMS);
            scale[s] = span_fit(x + s * SUB_ELEMS, m, spans, ARRAY_LEN(spans), -4, 3);
            if (scale[s] * scale[s] > max * max)
                max = scale[s];
        }
        /* the scale of largest magnitude becomes -32 */
        float d = scale_store(b + Q3_K_D, max / -32.0f), inv_d = d != 0 ? 1.0f / d : 0;
        memset(b, 0, 32);
        memset(b + Q3_K_SCALES, 0, 12);
        for (size_t s = 0; s < SUB; s++) {
            int32_t sc = round_clamp(scale[s] * inv_d, -32, 31);
            float step = d * (float)sc, inv = step != 0 ? 1.0f / step : 0;
            b[Q3_K_SCALES + s % 8] |= (uint8_t)(((sc + 32) & 15) << (s / 8 * 4));
            b[Q3_K_SCALES + 8 + s % 4] |= (uint8_t)(((sc + 32) >> 4) << (s / 4 * 2));
            for (size_t e = s * SUB_ELEMS; e < (s + 1) * SUB_ELEMS; e++) {
                q[e] = (uint8_t)(round_clamp(x[e] * inv, -4, 3) + 4);
                b[e % 32] |= (uint8_t)((q[e] >> 2) << (e / 32));
            }
        }
        two_bits_pack(q, b + Q3_K_Q);
    }
}
