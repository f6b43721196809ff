/*
 * dtype/internal.h: prototypes of the formats, named by the table in
 * dtype.c, little-endian halves, and the helpers of the quantizers.
 *
 * Every function takes n elements, n a multiple of the format's block, and any alignment of the
 * packed side. Quantizers are deterministic: plain float arithmetic in a fixed order.
 */
#ifndef DTYPE_INTERNAL_H
#define DTYPE_INTERNAL_H

#include "dtype/dtype.h"
#include <string.h>

void f32_dequantize(const void *src, float *dst, size_t n);
void f32_quantize(const float *src, void *dst, size_t n);
void f16_dequantize(const void *src, float *dst, size_t n);
void f16_quantize(const float *src, void *dst, size_t n);
void bf16_dequantize(const void *src, float *dst, size_t n);
void bf16_quantize(const float *src, void *dst, size_t n);
void q8_0_dequantize(const void *src, float *dst, size_t n);
void q8_0_quantize(const float *src, void *dst, size_t n);
void q4_0_dequantize(const void *src, float *dst, size_t n);
void q4_0_quantize(const float *src, void *dst, size_t n);
void q4_1_dequantize(const void *src, float *dst, size_t n);
void q4_1_quantize(const float *src, void *dst, size_t n);
void q5_0_dequantize(const void *src, float *dst, size_t n);
void q5_0_quantize(const float *src, void *dst, size_t n);
void q5_1_dequantize(const void *src, float *dst, size_t n);
void q5_1_quantize(const float *src, void *dst, size_t n);
void q2_k_dequantize(const void *src, float *dst, size_t n);
void q2_k_quantize(const float *src, void *dst, size_t n);
void q3_k_dequantize(const void *src, float *dst, size_t n);
void q3_k_quantize(const float *src, void *dst, size_t n);
void q4_k_dequantize(const void *src, float *dst, size_t n);
void q4_k_quantize(const float *src, void *dst, size_t n);
void q5_k_dequantize(const void *src, float *dst, size_t n);
void q5_k_quantize(const float *src, void *dst, size_t n);
void q6_k_dequantize(const void *src, float *dst, size_t n);
void q6_k_quantize(const float *src, void *dst, size_t n);
void iq4_nl_dequantize(const void *src, float *dst, size_t n);
void iq4_nl_quantize(const float *src, void *dst, size_t n);
void iq4_xs_dequantize(const void *src, float *dst, size_t n);
void iq4_xs_quantize(const float *src, void *dst, size_t n);
void mxfp4_dequantize(const void *src, float *dst, size_t n);
void mxfp4_quantize(const float *src, void *dst, size_t n);

/* A little-endian half at p, and back. */
static inline float half_load(const uint8_t *p)
{
    return f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

static inline void half_store(uint8_t *p, uint16_t h)
{
    p[0] = (uint8_t)(h & 255);
    p[1] = (uint8_t)(h >> 8);
}

/*
 * x limited to lo..hi (integers below 2^22) and rounded to nearest, ties to even: adding
 * 1.5 * 2^23 leaves the integer in the low bits of the significand. Unlike lrintf this is a few
 * instructions in any lane width.
 */
static inline int32_t round_clamp(float x, float lo, float hi)
{
    int32_t bits;
    x = x > lo ? x : lo;
    x = x < hi ? x : hi;
    x += 0x1.8p23f;
    memcpy(&bits, &x, sizeof bits);
    return bits - 0x4b400000;
}

/*
 * Store a scale as a half (at most the largest finite one) and return the value that a reader
 * will see, so that the elements are rounded against the scale that is really in the block.
 */
float scale_store(uint8_t *p, float scale);

/*
 * x[i] = src[i] with NaN as 0 and magnitudes limited to 2^28, which is more than any block with
 * a half for its scale can express (65504 * 128 * 32). Returns the element of largest magnitude,
 * with its sign; the first one of equals.
 */
float block_load(const float *src, float *x, size_t n);

/*
 * The scale of 16 elements for which scale * q, with q integers in q_min..q_max, has the least squared error against x,
 * among the roundings q = round(x * -spans[k] / max); 0 if none is better than zeros. max: the element of largest
 * magnitude, with its sign.
 */
float span_fit(const float *x, float max, const float *spans, size_t n_spans, int q_min, int q_max);

/*
 * The scale >= 0 and minimum for which scale * q - min, with q in 0..q_max, comes closest to n
 * elements (n % 16 == 0), among several spans. A minimum below least is not taken, but 0.
 */
void affine_fit(const float *x, int n, int q_max, float least, float *scale, float *min);

/* ---- Q2_K and Q3_K: 256 elements in 64 bytes of 2 bits each ---- */

/*
 * The bits of element e. Each 128 elements have 32 bytes, and byte l of them holds elements l,
 * l + 32, l + 64 and l + 96, from the low bits up.
 */
static inline int two_bits(const uint8_t q[64], size_t e)
{
    return (q[e / 128 * 32 + e % 32] >> (e % 128 / 32 * 2)) & 3;
}

/* The lowest two bits of each v[e] to their places. */
void two_bits_pack(const uint8_t v[256], uint8_t q[64]);

/* ---- Q4_K and Q5_K: 256 elements, 8 sub-blocks, 6-bit scales and minima ---- */
enum { K_ELEMS = 256, K_SUB = 8, K_SUB_ELEMS = 32, K_SCALE_BYTES = 12 };

/* The 12 bytes that hold 8 six-bit scales and 8 six-bit minima: methods.md (1). */
void k_scales_unpack(const uint8_t packed[K_SCALE_BYTES], uint8_t sc[K_SUB], uint8_t mn[K_SUB]);
void k_scales_pack(const uint8_t sc[K_SUB], const uint8_t mn[K_SUB], uint8_t packed[K_SCALE_BYTES]);

/*
 * Choose the head of a Q4_K or Q5_K block (d, dmin, packed scales: 16 bytes at head) for 256
 * floats and the quants q[256] in 0..q_max.
 */
void k_quantize(const float *src, int q_max, uint8_t *head, uint8_t *q);

/* ---- IQ4_NL and IQ4_XS: 32 elements and the table dtype_iq4 ---- */

/* The index of the entry nearest to each x * inv. */
void iq4_nearest(const float *x, float inv, int32_t q[32]);
/* The scale for which scale * entry comes closest to x in squared error, among several; max is
 * the element of largest magnitude. */
float iq4_fit(const float *x, float max);

#endif
