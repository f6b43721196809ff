/*
 * iq4_nl.c: IQ4_NL: 32 elements in 18 bytes.
 *
 *     half d; u8 q[16]          value = d * T[q]
 *
 * Nibbles as in Q4_0; T is the table dtype_iq4.
 */
#include "dtype/internal.h"

void iq4_nl_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += IQ4_NL_ELEMS, b += IQ4_NL_BYTES) {
        float d = half_load(b);
        for (size_t j = 0; j < 16; j++) {
            dst[i + j] = d * (float)dtype_iq4[b[IQ4_NL_Q + j] & 15];
            dst[i + j + 16] = d * (float)dtype_iq4[b[IQ4_NL_Q + j] >> 4];
        }
    }
}

void iq4_nl_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += IQ4_NL_ELEMS, b += IQ4_NL_BYTES) {
        float x[IQ4_NL_ELEMS], max = block_load(src + i, x, IQ4_NL_ELEMS);
        float d = scale_store(b, iq4_fit(x, max));
        int32_t q[IQ4_NL_ELEMS];
        iq4_nearest(x, d != 0 ? 1.0f / d : 0, q);
        for (size_t j = 0; j < 16; j++)
            b[IQ4_NL_Q + j] = (uint8_t)(q[j] | q[j + 16] << 4);
    }
}
