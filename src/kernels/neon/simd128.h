/*
 * kernels/neon/simd128.h: Advanced SIMD (NEON) of 64-bit Arm under the names of
 * kernels/simd/: vf 4 floats, vi 4 int32, vm a mask of lanes. Static inline only.
 */
#ifndef KERNELS_NEON_SIMD128_H
#define KERNELS_NEON_SIMD128_H

#include "kernels/inline.h"
#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    VL = 4,         /* lanes of 32 bits */
    DENSE_TOK = 12, /* tokens of a tile of float products: 24 accumulators of 32 registers */
    ATT_ROWS = 6,   /* query rows of a tile of attention, */
    ATT_VECS = 4,   /* and vectors of keys or dims */
};
typedef float32x4_t vf;
typedef int32x4_t vi;
/* There are no masked loads and stores: partial vectors go lane by lane. */
typedef struct {
    uint32x4_t lanes;
    size_t from, to;
    bool all;
} vm;

/* Lanes [from, to). */
INLINE vm vm_range(size_t from, size_t to)
{
    static const uint32_t lane[VL] = { 0, 1, 2, 3 };
    const uint32_t lo = from > VL ? VL : (uint32_t)from, hi = to > VL ? VL : (uint32_t)to;
    const uint32x4_t at = vld1q_u32(lane);
    return (vm){ vandq_u32(vcgeq_u32(at, vdupq_n_u32(lo)), vcltq_u32(at, vdupq_n_u32(hi))), lo, hi, !lo && hi == VL };
}
/* The first n lanes, n of any size. */
INLINE vm vm_first(size_t n)
{
    return vm_range(0, n);
}
INLINE vf vf_set1(float x)
{
    return vdupq_n_f32(x);
}
INLINE vf vf_load(const float *p)
{
    return vld1q_f32(p);
}
INLINE vf vf_load_m(vm m, const float *p) /* other lanes 0, and not touched */
{
    if (m.all)
        return vld1q_f32(p);
    float part[VL] = { 0 };
    for (size_t i = m.from; i < m.to; i++)
        part[i] = p[i];
    return vld1q_f32(part);
}
INLINE void vf_store(float *p, vf v)
{
    vst1q_f32(p, v);
}
INLINE void vf_store_m(float *p, vm m, vf v)
{
    if (m.all) {
        vst1q_f32(p, v);
        return;
    }
    float part[VL];
    vst1q_f32(part, v);
    for (size_t i = m.from; i < m.to; i++)
        p[i] = part[i];
}
INLINE vf vf_add(vf a, vf b)
{
    return vaddq_f32(a, b);
}
INLINE vf vf_sub(vf a, vf b)
{
    return vsubq_f32(a, b);
}
INLINE vf vf_mul(vf a, vf b)
{
    return vmulq_f32(a, b);
}
INLINE vf vf_div(vf a, vf b)
{
    return vdivq_f32(a, b);
}
INLINE vf vf_fma(vf a, vf b, vf c) /* a * b + c */
{
    return vfmaq_f32(c, a, b);
}
INLINE vf vf_fnma(vf a, vf b, vf c) /* c - a * b */
{
    return vfmsq_f32(c, a, b);
}
INLINE vf vf_fms(vf a, vf b, vf c) /* a * b - c */
{
    return vfmaq_f32(vnegq_f32(c), a, b);
}
INLINE vf vf_max(vf a, vf b) /* b where one is NaN */
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
INLINE vf vf_min(vf a, vf b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
INLINE vf vf_select(vm m, vf yes, vf no)
{
    return vbslq_f32(m.lanes, yes, no);
}
INLINE vf vf_round(vf x) /* to the nearest integer */
{
    return vrndnq_f32(x);
}
/* x * 2^n for n in [-252, 254], in two factors since one exponent reaches 127 only. */
INLINE vf vf_scale2(vf x, vf n)
{
    const int32x4_t e = vcvtq_s32_f32(n), half = vshrq_n_s32(e, 1), bias = vdupq_n_s32(127);
    const int32x4_t a = vshlq_n_s32(vaddq_s32(half, bias), 23);
    const int32x4_t b = vshlq_n_s32(vaddq_s32(vsubq_s32(e, half), bias), 23);
    return vmulq_f32(vmulq_f32(x, vreinterpretq_f32_s32(a)), vreinterpretq_f32_s32(b));
}
/* y - floor(y); and x * 2^floor(y) for y below 128: 0 for y below -126. Infinitely low y count as -127. */
INLINE vf vf_fraction(vf y)
{
    y = vf_max(vdupq_n_f32(-127), y);
    return vsubq_f32(y, vrndmq_f32(y));
}
INLINE vf vf_times2(vf x, vf y)
{
    const int32x4_t n = vcvtmq_s32_f32(vf_max(vdupq_n_f32(-127), y));
    return vmulq_f32(x, vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23)));
}
INLINE bool vf_any_above(vf a, vf b)
{
    return vmaxvq_u32(vcgtq_f32(a, b)) != 0;
}
INLINE float vf_sum(vf x)
{
    return vaddvq_f32(x);
}
/* Lane i: the sum of the lanes of x[i]. */
INLINE vf vf_sums(const vf x[VL])
{
    return vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3]));
}
INLINE float vf_largest(vf x)
{
    return vmaxnmvq_f32(x);
}
INLINE vf vf_swap_pairs(vf x)
{
    return vrev64q_f32(x);
}
INLINE vf vf_even(vf x) /* each even lane twice */
{
    return vtrn1q_f32(x, x);
}
INLINE vf vf_odd(vf x)
{
    return vtrn2q_f32(x, x);
}
/* The even lanes of both, in order. */
INLINE vf vf_all_even(vf lo, vf hi)
{
    return vuzp1q_f32(lo, hi);
}
INLINE vf vf_all_odd(vf lo, vf hi)
{
    return vuzp2q_f32(lo, hi);
}
INLINE vf vf_fmaddsub(vf a, vf b, vf c) /* a * b - c in even lanes, + c in odd ones */
{
    const uint32x4_t even = vreinterpretq_u32_u64(vdupq_n_u64(0x80000000));
    return vfmaq_f32(vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(c), even)), a, b);
}

/* 16-bit floats: the first n of VL, the others 0. */
INLINE uint16x4_t load_u16(const void *p, size_t n)
{
    uint16_t part[VL] = { 0 };
    memcpy(part, p, n >= VL ? sizeof part : n * sizeof *part);
    return vld1_u16(part);
}
INLINE void store_u16(uint16_t *p, vm m, uint16x4_t v)
{
    uint16_t part[VL];
    vst1_u16(part, v);
    if (m.all)
        memcpy(p, part, sizeof part);
    else
        for (size_t i = m.from; i < m.to; i++)
            p[i] = part[i];
}
INLINE vf vf_from_f16(const void *p, size_t n)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(load_u16(p, n)));
}
INLINE vf vf_from_bf16(const void *p, size_t n)
{
    return vreinterpretq_f32_u32(vshll_n_u16(load_u16(p, n), 16));
}
/* VL signed bytes; VL nibbles, one a byte, shift 0 or 4, less 8. */
INLINE vf vf_from_i8(const void *p)
{
    int32_t x;
    memcpy(&x, p, sizeof x);
    const int16x8_t w = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(x)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(w)));
}
INLINE vf vf_from_nibbles(const void *p, unsigned shift)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    const uint8x8_t b = vreinterpret_u8_u32(vdup_n_u32(x >> shift & 0x0f0f0f0f));
    const int16x8_t w = vsubq_s16(vreinterpretq_s16_u16(vmovl_u8(b)), vdupq_n_s16(8));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(w)));
}
INLINE void vf_to_f16(uint16_t *p, vm m, vf v)
{
    store_u16(p, m, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
/* Round to nearest even by integers; NaN stays a quiet NaN. */
INLINE void vf_to_bf16(uint16_t *p, vm m, vf v)
{
    const uint32x4_t u = vreinterpretq_u32_f32(v), hi = vshrq_n_u32(u, 16);
    const uint32x4_t odd = vandq_u32(hi, vdupq_n_u32(1));
    const uint32x4_t r = vaddq_u32(vaddq_u32(u, vdupq_n_u32(0x7fff)), odd);
    const uint32x4_t quiet = vorrq_u32(hi, vdupq_n_u32(0x40));
    store_u16(p, m, vmovn_u32(vbslq_u32(vceqq_f32(v, v), vshrq_n_u32(r, 16), quiet)));
}

INLINE vi vi_load(const void *p)
{
    return vld1q_s32(p);
}
INLINE void vi_store(void *p, vi v)
{
    vst1q_s32(p, v);
}
INLINE vi vi_set1(int32_t x)
{
    return vdupq_n_s32(x);
}
INLINE vf vi_to_vf(vi x)
{
    return vcvtq_f32_s32(x);
}
INLINE vi vf_bits(vf x)
{
    return vreinterpretq_s32_f32(x);
}
INLINE vf vi_floats(vi x)
{
    return vreinterpretq_f32_s32(x);
}

/* r as a 4x4 matrix of 32-bit elements becomes its transpose. */
INLINE void vi_transpose(vi r[VL])
{
    const int64x2_t a = vreinterpretq_s64_s32(vtrn1q_s32(r[0], r[1])), b = vreinterpretq_s64_s32(vtrn2q_s32(r[0], r[1])),
                    c = vreinterpretq_s64_s32(vtrn1q_s32(r[2], r[3])), d = vreinterpretq_s64_s32(vtrn2q_s32(r[2], r[3]));
    r[0] = vreinterpretq_s32_s64(vtrn1q_s64(a, c));
    r[1] = vreinterpretq_s32_s64(vtrn1q_s64(b, d));
    r[2] = vreinterpretq_s32_s64(vtrn2q_s64(a, c));
    r[3] = vreinterpretq_s32_s64(vtrn2q_s64(b, d));
}

/* The largest |x| of 32 floats as bits, for q8_scale(). */
INLINE uint32_t block_max_bits(const float *x, size_t n)
{
    uint32x4_t m = vdupq_n_u32(0);
    for (size_t i = 0; i < 32 && i < n; i += VL) {
        const vf v = vf_load_m(vm_first(n - i), x + i);
        m = vmaxq_u32(m, vandq_u32(vreinterpretq_u32_f32(v), vdupq_n_u32(0x7fffffff)));
    }
    return vmaxvq_u32(m);
}

/* 32 floats times inverse, rounded to nearest even, as bytes. */
INLINE int8x16x2_t block_round(const float *x, size_t n, float inverse)
{
    int16x4_t r[8];
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
        const vf v = vf_load_m(vm_first(n > VL * i ? n - VL * i : 0), x + VL * i);
        r[i] = vqmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(v, inverse)));
    }
    int8x16x2_t q;
#pragma GCC unroll 2
    for (size_t i = 0; i < 2; i++)
        q.val[i] =
            vcombine_s8(vqmovn_s16(vcombine_s16(r[4 * i], r[4 * i + 1])), vqmovn_s16(vcombine_s16(r[4 * i + 2], r[4 * i + 3])));
    return q;
}

INLINE float f16_at(const void *p)
{
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0);
}

#endif
