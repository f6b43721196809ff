/*
 * mxfp4.c: MXFP4: 32 elements in 17 bytes.
 *
 *     u8 e; u8 q[16]          value = 2^(e - 127) * T[q] / 2
 *
 * Nibbles as in Q4_0. e is an E8M0 number, q an E2M1 one, of which T = dtype_e2m1 holds the
 * doubles. As the standard has it, e = 255 is NaN and so are the block's elements; from e = 253
 * the largest elements exceed a float and are infinite.
 */
#include "dtype/internal.h"

const int8_t dtype_e2m1[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/* 2^(e - 127); the lowest is subnormal. */
static float e8m0_to_f32(uint8_t e)
{
    uint32_t u = e == 255 ? 0x7fc00000 : e == 0 ? 0x00400000 : (uint32_t)e << 23;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

void mxfp4_dequantize(const void *src, float *dst, size_t n)
{
    const uint8_t *b = src;
    for (size_t i = 0; i < n; i += MXFP4_ELEMS, b += MXFP4_BYTES) {
        float scale = e8m0_to_f32(b[0]);
        for (size_t j = 0; j < 16; j++) {
            dst[i + j] = scale * (0.5f * (float)dtype_e2m1[b[MXFP4_Q + j] & 15]);
            dst[i + j + 16] = scale * (0.5f * (float)dtype_e2m1[b[MXFP4_Q + j] >> 4]);
        }
    }
}

/* The codes nearest to x * inv, ties to the even one, and the squared error of that. */
static float nearest(const float *x, float inv, uint8_t q[MXFP4_ELEMS])
{
    /* midpoints above the even and above the odd codes of 0, 0.5, 1, 1.5, 2, 3, 4, 6 */
    static const float even[] = { 0.25f, 1.25f, 2.5f, 5 }, odd[] = { 0.75f, 1.75f, 3.5f };
    float a[MXFP4_ELEMS], error = 0;
    int32_t code[MXFP4_ELEMS];
    for (int i = 0; i < MXFP4_ELEMS; i++) {
        a[i] = (x[i] < 0 ? -x[i] : x[i]) * inv;
        code[i] = 0;
    }
    for (size_t k = 0; k < ARRAY_LEN(even); k++)
        for (int i = 0; i < MXFP4_ELEMS; i++)
            code[i] += a[i] > even[k];
    for (size_t k = 0; k < ARRAY_LEN(odd); k++)
        for (int i = 0; i < MXFP4_ELEMS; i++)
            code[i] += a[i] >= odd[k];
    for (int i = 0; i < MXFP4_ELEMS; i++) {
        float r = a[i] - 0.5f * (float)dtype_e2m1[code[i]];
        error += r * r;
        q[i] = (uint8_t)(code[i] | (x[i] < 0 && code[i] ? 8 : 0));
    }
    return error;
}

/*
 * The standard's exponent is floor(log2 max) - 2, which puts the largest element in 4..8 and clips
 * it at 6. One more clips nothing and costs the others a bit. The smaller squared error decides;
 * of equals, the standard's.
 */
void mxfp4_quantize(const float *src, void *dst, size_t n)
{
    uint8_t *b = dst;
    for (size_t i = 0; i < n; i += MXFP4_ELEMS, b += MXFP4_BYTES) {
        float x[MXFP4_ELEMS], max = block_load(src + i, x, MXFP4_ELEMS);
        uint8_t q[MXFP4_ELEMS], wider[MXFP4_ELEMS];
        uint32_t u;
        memcpy(&u, &max, sizeof u);
        uint32_t e = u >> 23 & 255;
        e = e > 2 ? e - 2 : 0;
        float error = nearest(x, e8m0_to_f32((uint8_t)(254 - e)), q);
        if (4 * nearest(x, e8m0_to_f32((uint8_t)(253 - e)), wider) < error) {
            memcpy(q, wider, sizeof q);
            e++;
        }
        b[0] = (uint8_t)e;
        for (size_t j = 0; j < 16; j++)
            b[MXFP4_Q + j] = (uint8_t)(q[j] | q[j + 16] << 4);
    }
}
