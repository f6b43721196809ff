/*
 * iq4_xs.c: IQ4_XS: 256 elements in 136 bytes.
 *
 *     half d; u16 high; u8 low[4]; u8 q[128]          value = d * (sc[j] - 32) * T[q]
 *
 * j = element / 32; T is the table dtype_iq4. The low four bits of sc[j] are nibble j % 2 of
 * low[j / 2], the upper two are bits 2 * j and up of high. Each sub-block has 16 bytes of q, its
 * nibbles as in Q4_0.
 */
#include "dtype/internal.h"

void iq4_xs_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += K_ELEMS, b += IQ4_XS_BYTES) {
        float d = half_load(b);
        for (size_t j = 0; j < K_SUB; j++) {
            int low = (b[IQ4_XS_SCALES + j / 2] >> (j % 2 * 4)) & 15;
            int high = (b[IQ4_XS_HIGH + j / 4] >> (j % 4 * 2)) & 3;
            float step = d * (float)((low | high << 4) - 32);
            const uint8_t *q = b + IQ4_XS_Q + j * 16;
            float *y = dst + i + j * K_SUB_ELEMS;
            for (size_t l = 0; l < 16; l++) {
                y[l] = step * (float)dtype_iq4[q[l] & 15];
                y[l + 16] = step * (float)dtype_iq4[q[l] >> 4];
            }
        }
    }
}

void iq4_xs_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += K_ELEMS, b += IQ4_XS_BYTES) {
        float x[K_ELEMS], scale[K_SUB], max = 0;
        for (size_t j = 0; j < K_SUB; j++) {
            float m = block_load(src + i + j * K_SUB_ELEMS, x + j * K_SUB_ELEMS, K_SUB_ELEMS);
            scale[j] = iq4_fit(x + j * K_SUB_ELEMS, m);
            if (scale[j] * scale[j] > max * max)
                max = scale[j];
        }
        /* the scale of largest magnitude becomes -32 */
        float d = scale_store(b, max / -32.0f), inv_d = d != 0 ? 1.0f / d : 0;
        memset(b + IQ4_XS_HIGH, 0, IQ4_XS_Q - IQ4_XS_HIGH);
        for (size_t j = 0; j < K_SUB; j++) {
            int32_t sc = round_clamp(scale[j] * inv_d, -32, 31), q[K_SUB_ELEMS];
            float step = d * (float)sc;
            b[IQ4_XS_SCALES + j / 2] |= (uint8_t)(((sc + 32) & 15) << (j % 2 * 4));
            b[IQ4_XS_HIGH + j / 4] |= (uint8_t)(((sc + 32) >> 4) << (j % 4 * 2));
            iq4_nearest(x + j * K_SUB_ELEMS, step != 0 ? 1.0f / step : 0, q);
            for (size_t l = 0; l < 16; l++)
                b[IQ4_XS_Q + j * 16 + l] = (uint8_t)(q[l] | q[l + 16] << 4);
        }
    }
}
