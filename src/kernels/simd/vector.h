/*
 * kernels/simd/vector.h: norm, gates, addition, rotation, conversions over the vector
 * names of an ISA's simd header, which the includer includes first. Static inline only.
 */
#ifndef KERNELS_SIMD_VECTOR_H
#define KERNELS_SIMD_VECTOR_H

#include "kernels/internal.h"
#include "kernels/q8.h"
#include <float.h>
#include <math.h>
#include <string.h>

/*
 * e^x = (1 + p) 2^n: returns p = e^r - 1 and the integer n, where x = n ln 2 + r with
 * |r| <= ln 2 / 2, the product n ln 2 in two pieces so that r is exact to the last bit (the
 * first has 15 significant bits: exact times n); p by the Taylor series of e^r, whose next
 * term r^8/8! is below 6e-9. x is clamped where f32 ends; NaN stays.
 */
INLINE vf vf_exp_split(vf x, vf *n)
{
    x = vf_min(vf_set1(89.0f), vf_max(vf_set1(-104.0f), x));
    *n = vf_round(vf_mul(x, vf_set1(0x1.715476p+0f)));
    vf r = vf_fnma(*n, vf_set1(0x1.62e4p-1f), x);
    r = vf_fnma(*n, vf_set1(0x1.7f7d1cp-20f), r);
    vf p = vf_fma(r, vf_set1(1.0f / 5040), vf_set1(1.0f / 720));
    p = vf_fma(p, r, vf_set1(1.0f / 120));
    p = vf_fma(p, r, vf_set1(1.0f / 24));
    p = vf_fma(p, r, vf_set1(1.0f / 6));
    p = vf_fma(p, r, vf_set1(0.5f));
    return vf_fma(vf_mul(p, r), r, r);
}

/* e^x to a relative error near 2^-23: 0 or a subnormal below, infinity above. */
INLINE vf vf_exp(vf x)
{
    vf n, p = vf_exp_split(x, &n);
    return vf_scale2(vf_add(p, vf_set1(1.0f)), n);
}

/* tanh x = t / (t + 2), t = e^(2x) - 1 = 2^n p + (2^n - 1), which loses nothing near 0 (n =
 * 0) and little elsewhere; from |x| = 10 on, tanh is 1 in f32. */
INLINE vf vf_tanh(vf x)
{
    x = vf_min(vf_set1(10.0f), vf_max(vf_set1(-10.0f), x));
    const vf one = vf_set1(1.0f);
    vf n, p = vf_exp_split(vf_add(x, x), &n), power = vf_scale2(one, n);
    vf t = vf_fma(power, p, vf_sub(power, one));
    return vf_div(t, vf_add(t, vf_set1(2.0f)));
}

/* methods.md (7) */
INLINE void simd_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps)
{
    vf s[4] = { vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0) };
    size_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL)
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++) {
            vf x = vf_load(src + i + j * VL);
            s[j] = vf_fma(x, x, s[j]);
        }
    for (; i < n; i += VL) {
        vf x = vf_load_m(vm_first(n - i), src + i);
        s[0] = vf_fma(x, x, s[0]);
    }
    float ss = vf_sum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3])));
    vf scale = vf_set1(1.0f / sqrtf(ss / (float)n + eps));
    for (i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        vf_store_m(dst + i, m, vf_mul(vf_mul(vf_load_m(m, src + i), scale), vf_load_m(m, w + i)));
    }
}

/* x / (1 + exp(-y)), of the same sign: 0 for x = -infinity, NaN for NaN. methods.md (13) */
INLINE vf vf_gate(vf x, vf y)
{
    vf e = vf_exp(vf_sub(vf_set1(0), y));
    return vf_div(vf_max(vf_set1(-FLT_MAX), x), vf_add(vf_set1(1.0f), e));
}

INLINE void simd_silu_mul(float *dst, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        vf x = vf_load_m(m, a + i);
        vf_store_m(dst + i, m, vf_mul(vf_gate(x, x), vf_load_m(m, b + i)));
    }
}

INLINE void simd_gelu_mul(float *dst, const float *a, const float *b, size_t n)
{
    const vf scale = vf_set1((float)(2 * GELU_SCALE));
    const vf cube = vf_set1((float)(2 * GELU_SCALE * GELU_CUBE));
    for (size_t i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        vf x = vf_load_m(m, a + i);
        vf y = vf_mul(x, vf_fma(cube, vf_mul(x, x), scale));
        vf_store_m(dst + i, m, vf_mul(vf_gate(x, y), vf_load_m(m, b + i)));
    }
}

INLINE void simd_swiglu_oai(float *dst, const float *a, const float *b, size_t n)
{
    const vf most = vf_set1((float)SWIGLU_MAX), least = vf_set1((float)-SWIGLU_MAX);
    const vf alpha = vf_set1((float)SWIGLU_ALPHA), one = vf_set1(1.0f);
    for (size_t i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        vf g = vf_min(most, vf_load_m(m, a + i));
        vf u = vf_max(least, vf_min(most, vf_load_m(m, b + i)));
        vf_store_m(dst + i, m, vf_mul(vf_gate(g, vf_mul(alpha, g)), vf_add(u, one)));
    }
}

/* methods.md (11). A NaN that the maximum passes over comes back in the sum. */
INLINE void simd_softmax(float *x, size_t n)
{
    vf top = vf_set1(-INFINITY), sum = vf_set1(0);
    for (size_t i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        top = vf_max(top, vf_select(m, vf_load_m(m, x + i), vf_set1(-INFINITY)));
    }
    const vf max = vf_set1(vf_largest(top));
    for (size_t i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        vf e = vf_exp(vf_sub(vf_load_m(m, x + i), max));
        vf_store_m(x + i, m, e);
        sum = vf_add(sum, vf_select(m, e, vf_set1(0)));
    }
    const vf scale = vf_set1(1.0f / vf_sum(sum));
    for (size_t i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        vf_store_m(x + i, m, vf_mul(vf_load_m(m, x + i), scale));
    }
}

/* methods.md (12) */
INLINE void simd_softcap(float *x, size_t n, float cap)
{
    const vf c = vf_set1(cap);
    for (size_t i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        vf_store_m(x + i, m, vf_mul(c, vf_tanh(vf_div(vf_load_m(m, x + i), c))));
    }
}

/* methods.md (14) */
INLINE void simd_add(float *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        vf_store_m(dst + i, m, vf_add(vf_load_m(m, dst + i), vf_load_m(m, src + i)));
    }
}

/* methods.md (9) */
INLINE void simd_rope(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs)
{
    for (size_t h = 0; h < n_head; h++)
        for (size_t i = 0; i + 1 < n_rot; i += VL) {
            vm m = vm_first((n_rot - i) & ~(size_t)1);
            float *p = x + h * head_stride + i;
            vf v = vf_load_m(m, p), t = vf_load_m(m, cs + i);
            vf_store_m(p, m, vf_fmaddsub(v, vf_even(t), vf_mul(vf_swap_pairs(v), vf_odd(t))));
        }
}

INLINE void simd_rope_neox(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs)
{
    const size_t half = n_rot / 2;
    for (size_t i = 0; i < half; i += VL) {
        size_t n = half - i;
        vm m = vm_first(n);
        vf lo = vf_load_m(vm_first(2 * n), cs + 2 * i), hi = vf_set1(0);
        if (2 * n > VL)
            hi = vf_load_m(vm_first(2 * n - VL), cs + 2 * i + VL);
        vf c = vf_all_even(lo, hi), s = vf_all_odd(lo, hi);
        for (size_t h = 0; h < n_head; h++) {
            float *p = x + h * head_stride + i;
            vf a = vf_load_m(m, p), b = vf_load_m(m, p + half);
            vf_store_m(p, m, vf_fnma(b, s, vf_mul(a, c)));
            vf_store_m(p + half, m, vf_fma(a, s, vf_mul(b, c)));
        }
    }
}

INLINE void simd_f32_to_f16(uint16_t *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i += VL) {
        vm m = vm_first(n - i);
        vf_to_f16(dst + i, m, vf_load_m(m, src + i));
    }
}

INLINE void simd_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1)
{
    for (size_t t = tok0; t < tok1; t++) {
        uint16_t *dst = a->bf16 + t * a->stride;
        for (size_t c = 0; c < a->cols; c += VL) {
            vm m = vm_first(a->cols - c);
            vf_to_bf16(dst + c, m, vf_load_m(m, x + t * ld + c));
        }
        memset(dst + a->cols, 0, (a->stride - a->cols) * sizeof *dst);
    }
}

#ifdef __AVX2__ /* bytes are 256 bits wide here; another ISA brings its own */
/* Token t from column c on, block by block. methods.md (89) */
INLINE void simd_act_prepare_q8_from(struct acts *a, const float *x, size_t ld, size_t t, size_t c)
{
    for (; c < a->stride; c += 32) {
        size_t n = c < a->cols ? a->cols - c : 0, i = t * a->stride + c;
        const float *src = x + t * ld + (n ? c : 0);
        struct q8_scale s = q8_scale(block_max_bits(src, n), a->pow2);
        __m256i q = _mm256_setzero_si256();
        if (s.inverse != 0)
            q = block_round(src, n, s.inverse);
        /* sums of 4 as int32, then across each half */
        const __m256i one8 = _mm256_set1_epi8(1), one16 = _mm256_set1_epi16(1);
        __m256i sum = _mm256_madd_epi16(_mm256_maddubs_epi16(one8, q), one16);
        sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0x4e));
        sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0xb1));
        _mm256_store_si256((__m256i *)(a->q + i), q);
        a->d[i / 32] = s.d;
        a->sum[i / 16] = (int16_t)_mm256_extract_epi16(sum, 0);
        a->sum[i / 16 + 1] = (int16_t)_mm256_extract_epi16(sum, 8);
    }
}
INLINE void simd_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1)
{
    for (size_t t = tok0; t < tok1; t++)
        simd_act_prepare_q8_from(a, x, ld, t, 0);
}
#endif

/* Slots of all of these but act_prepare[ACT_Q8]. */
INLINE void simd_vector_slots(struct kernels *k)
{
    k->act_prepare[ACT_BF16] = simd_act_prepare_bf16;
    k->rms_norm = simd_rms_norm;
    k->silu_mul = simd_silu_mul;
    k->gelu_mul = simd_gelu_mul;
    k->swiglu_oai = simd_swiglu_oai;
    k->add = simd_add;
    k->softmax = simd_softmax;
    k->softcap = simd_softcap;
    k->rope = simd_rope;
    k->rope_neox = simd_rope_neox;
    k->f32_to_f16 = simd_f32_to_f16;
}

#endif
