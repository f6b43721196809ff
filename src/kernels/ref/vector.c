/* ref/vector.c: norm, gate, addition, rotation, conversion: one rounding each, from double.
 */
#include "kernels/ref/ref.h"
#include <math.h>

/* methods.md (5) */
void ref_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps)
{
    double ss = 0;
    for (size_t i = 0; i < n; i++)
        ss += (double)src[i] * (double)src[i];
    double scale = 1.0 / sqrt(ss / (double)n + (double)eps);
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)((double)src[i] * scale * (double)w[i]);
}

/* methods.md (8) */
void ref_silu_mul(float *dst, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = (double)a[i];
        dst[i] = (float)(x / (1.0 + exp(-x)) * (double)b[i]);
    }
}

/* methods.md (9) */
void ref_add(float *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] += src[i];
}

/* methods.md (6) */
void ref_rope(float *x, size_t n_head, size_t head_dim, size_t n_rot, const float *cs)
{
    for (size_t h = 0; h < n_head; h++)
        for (size_t i = 0; i + 1 < n_rot; i += 2) {
            float *p = x + h * head_dim + i;
            double c = (double)cs[i], s = (double)cs[i + 1];
            double x0 = (double)p[0], x1 = (double)p[1];
            p[0] = (float)(x0 * c - x1 * s);
            p[1] = (float)(x0 * s + x1 * c);
        }
}

void ref_f32_to_f16(uint16_t *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = f32_to_f16(src[i]);
}
