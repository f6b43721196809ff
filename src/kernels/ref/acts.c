/* ref/acts.c: activations copied, rounded to BF16, or quantized to 8 bits. */
#include "kernels/q8.h"
#include "kernels/ref/ref.h"
#include <math.h>
#include <string.h>

void ref_act_prepare_f32(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1)
{
    for (size_t t = tok0; t < tok1; t++) {
        float *dst = (float *)(uintptr_t)(a->f32 + t * a->stride); /* ours: acts_bind made it */
        if (dst == x + t * ld)
            continue;
        memcpy(dst, x + t * ld, a->cols * sizeof *dst);
        memset(dst + a->cols, 0, (a->stride - a->cols) * sizeof *dst);
    }
}

void ref_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1)
{
    for (size_t t = tok0; t < tok1; t++) {
        uint16_t *dst = a->bf16 + t * a->stride;
        for (size_t c = 0; c < a->cols; c++)
            dst[c] = f32_to_bf16(x[t * ld + c]);
        memset(dst + a->cols, 0, (a->stride - a->cols) * sizeof *dst);
    }
}

/* One block of 32, of which n are real. */
static void quantize_block(const float *x, size_t n, bool pow2, int8_t *q, float *d, int16_t *sum)
{
    uint32_t amax = 0;
    float v[32] = { 0 };
    memcpy(v, x, n * sizeof *v);
    for (size_t i = 0; i < 32; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        bits &= 0x7fffffff;
        amax = bits > amax ? bits : amax;
    }
    struct q8_scale s = q8_scale(amax, pow2);
    *d = s.d;
    sum[0] = sum[1] = 0;
    for (size_t i = 0; i < 32; i++) {
        int r = s.inverse == 0 ? 0 : (int)rintf(v[i] * s.inverse);
        q[i] = (int8_t)r;
        sum[i / 16] = (int16_t)(sum[i / 16] + r);
    }
}

void ref_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1)
{
    for (size_t t = tok0; t < tok1; t++)
        for (size_t c = 0; c < a->stride; c += 32) {
            size_t left = c < a->cols ? a->cols - c : 0, i = t * a->stride + c;
            quantize_block(x + t * ld + (left ? c : 0), left < 32 ? left : 32, a->pow2, a->q + i, a->d + i / 32, a->sum + i / 16);
        }
}
