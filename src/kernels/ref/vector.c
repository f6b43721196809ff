/* ref/vector.c: norm, gate, addition, rotation, conversion: one rounding each, from double.
 */
#include "kernels/ref/ref.h"
#include <float.h>
#include <math.h>

/* methods.md (7) */
void ref_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps)
{
    double ss = 0;
    for (size_t i = 0; i < n; i++)
        ss += (double)src[i] * (double)src[i];
    double scale = 1.0 / sqrt(ss / (double)n + (double)eps);
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)((double)src[i] * scale * (double)w[i]);
}

/* x / (1 + exp(-y)), of the same sign: 0 for x = -infinity, NaN for NaN. methods.md (13) */
static double gate(double x, double y)
{
    return (x < -FLT_MAX ? -FLT_MAX : x) / (1.0 + exp(-y));
}

void ref_silu_mul(float *dst, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = (double)a[i];
        dst[i] = (float)(gate(x, x) * (double)b[i]);
    }
}

void ref_gelu_mul(float *dst, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = (double)a[i];
        double y = 2 * GELU_SCALE * x * (1 + GELU_CUBE * x * x);
        dst[i] = (float)(gate(x, y) * (double)b[i]);
    }
}

void ref_swiglu_oai(float *dst, const float *a, const float *b, size_t n)
{
    const double most = SWIGLU_MAX;
    for (size_t i = 0; i < n; i++) {
        double g = (double)a[i], u = (double)b[i];
        g = g > most ? most : g;
        u = u > most ? most : u < -most ? -most : u;
        dst[i] = (float)(gate(g, SWIGLU_ALPHA * g) * (u + 1));
    }
}

/* methods.md (11) */
void ref_softmax_row(float *x, size_t n)
{
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        max = (double)x[i] > max ? (double)x[i] : max;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)x[i] - max);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(exp((double)x[i] - max) / sum);
}

/* methods.md (12) */
void ref_softcap(float *x, size_t n, float cap)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((double)cap * tanh((double)x[i] / (double)cap));
}

/* methods.md (14) */
void ref_add(float *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] += src[i];
}

static void turn(float *p0, float *p1, const float *cs)
{
    double c = (double)cs[0], s = (double)cs[1], x0 = (double)*p0, x1 = (double)*p1;
    *p0 = (float)(x0 * c - x1 * s);
    *p1 = (float)(x0 * s + x1 * c);
}

/* methods.md (9) */
void ref_rope(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs)
{
    for (size_t h = 0; h < n_head; h++)
        for (size_t i = 0; i < n_rot / 2; i++) {
            float *p = x + h * head_stride + 2 * i;
            turn(p, p + 1, cs + 2 * i);
        }
}

void ref_rope_neox(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs)
{
    for (size_t h = 0; h < n_head; h++)
        for (size_t i = 0; i < n_rot / 2; i++) {
            float *p = x + h * head_stride + i;
            turn(p, p + n_rot / 2, cs + 2 * i);
        }
}

void ref_f32_to_f16(uint16_t *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = f32_to_f16(src[i]);
}
