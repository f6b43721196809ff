/*
 * kernels/avx512/simd512.h: AVX-512 under the names of kernels/simd/: vf 16 floats, vi 16
 * int32, vm a mask of lanes. Static inline only.
 */
#ifndef KERNELS_AVX512_SIMD512_H
#define KERNELS_AVX512_SIMD512_H

#include "kernels/inline.h"
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VL = 16,        /* lanes of 32 bits */
    DENSE_TOK = 12, /* tokens of a tile of float products: 24 accumulators of 32 registers */
    ATT_ROWS = 6,   /* query rows of a tile of attention, */
    ATT_VECS = 4,   /* and vectors of keys or dims */
};
typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

/* The first n lanes, n of any size. */
INLINE vm vm_first(size_t n)
{
    return n >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << n) - 1);
}
/* Lanes [from, to). */
INLINE vm vm_range(size_t from, size_t to)
{
    return (__mmask16)(vm_first(to) & ~vm_first(from));
}
INLINE vf vf_set1(float x)
{
    return _mm512_set1_ps(x);
}
INLINE vf vf_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
INLINE vf vf_load_m(vm m, const float *p) /* other lanes 0, and not touched */
{
    return _mm512_maskz_loadu_ps(m, p);
}
INLINE void vf_store(float *p, vf v)
{
    _mm512_storeu_ps(p, v);
}
INLINE void vf_store_m(float *p, vm m, vf v)
{
    _mm512_mask_storeu_ps(p, m, v);
}
INLINE vf vf_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}
INLINE vf vf_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}
INLINE vf vf_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}
INLINE vf vf_div(vf a, vf b)
{
    return _mm512_div_ps(a, b);
}
INLINE vf vf_fma(vf a, vf b, vf c) /* a * b + c */
{
    return _mm512_fmadd_ps(a, b, c);
}
INLINE vf vf_fnma(vf a, vf b, vf c) /* c - a * b */
{
    return _mm512_fnmadd_ps(a, b, c);
}
INLINE vf vf_fms(vf a, vf b, vf c) /* a * b - c */
{
    return _mm512_fmsub_ps(a, b, c);
}
INLINE bool vf_any_above(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
}
INLINE vf vf_max(vf a, vf b) /* b where one is NaN */
{
    return _mm512_max_ps(a, b);
}
INLINE vf vf_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}
INLINE vf vf_select(vm m, vf yes, vf no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}
INLINE vf vf_round(vf x) /* to the nearest integer */
{
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE vf vf_scale2(vf x, vf n) /* x * 2^n */
{
    return _mm512_scalef_ps(x, n);
}
INLINE float vf_sum(vf x)
{
    return _mm512_reduce_add_ps(x);
}
INLINE float vf_largest(vf x)
{
    return _mm512_reduce_max_ps(x);
}
INLINE vf vf_swap_pairs(vf x)
{
    return _mm512_permute_ps(x, 0xb1);
}
INLINE vf vf_even(vf x) /* each even lane twice */
{
    return _mm512_moveldup_ps(x);
}
INLINE vf vf_odd(vf x)
{
    return _mm512_movehdup_ps(x);
}
INLINE vf vf_all_even(vf lo, vf hi) /* the even lanes of both, in order */
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(lo, even, hi);
}
INLINE vf vf_all_odd(vf lo, vf hi)
{
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(lo, odd, hi);
}
INLINE vf vf_fmaddsub(vf a, vf b, vf c) /* a * b - c in even lanes, + c in odd ones */
{
    return _mm512_fmaddsub_ps(a, b, c);
}

/* 16-bit floats: the first n of VL, the others 0. */
INLINE __m256i load_u16(const void *p, size_t n)
{
    return _mm256_maskz_loadu_epi16(vm_first(n), p);
}
INLINE vf vf_from_f16(const void *p, size_t n)
{
    return _mm512_cvtph_ps(load_u16(p, n));
}
INLINE vf vf_from_bf16(const void *p, size_t n)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_u16(p, n)), 16));
}
/* VL signed bytes; VL nibbles, one a byte, shift 0 or 4, less 8. */
INLINE vf vf_from_i8(const void *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(p)));
}
INLINE vf vf_from_nibbles(const void *p, unsigned shift)
{
    __m512i x = _mm512_srli_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128(p)), shift);
    x = _mm512_and_si512(x, _mm512_set1_epi32(15));
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(x, _mm512_set1_epi32(8)));
}
INLINE void vf_to_f16(uint16_t *p, vm m, vf v)
{
    _mm256_mask_storeu_epi16(p, m, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
/* Round to nearest even by integers: the BF16 instructions lose subnormals. NaN stays a
 * quiet NaN. */
INLINE void vf_to_bf16(uint16_t *p, vm m, vf v)
{
    __m512i u = _mm512_castps_si512(v), hi = _mm512_srli_epi32(u, 16);
    __m512i odd = _mm512_and_si512(hi, _mm512_set1_epi32(1));
    __m512i r = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
    r = _mm512_srli_epi32(r, 16);
    r = _mm512_mask_or_epi32(r, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), hi, _mm512_set1_epi32(0x40));
    _mm256_mask_storeu_epi16(p, m, _mm512_cvtepi32_epi16(r));
}

/* Bits of a where mask is set, else of b. */
INLINE vi bits_select(vi mask, vi a, vi b)
{
    return _mm512_ternarylogic_epi64(mask, a, b, 0xca);
}

INLINE vi vi_load(const void *p) /* aligned */
{
    return _mm512_load_si512(p);
}
INLINE void vi_store(void *p, vi v)
{
    _mm512_store_si512(p, v);
}
INLINE vi vi_set1(int32_t x)
{
    return _mm512_set1_epi32(x);
}
INLINE vf vi_to_vf(vi x)
{
    return _mm512_cvtepi32_ps(x);
}
INLINE vi vf_bits(vf x)
{
    return _mm512_castps_si512(x);
}
INLINE vf vi_floats(vi x)
{
    return _mm512_castsi512_ps(x);
}

/* r as a 16x16 matrix of 32-bit elements becomes its transpose. */
INLINE void vi_transpose(vi r[VL])
{
    __m512i t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) { /* pairs of rows: [a0 b0 a1 b1] in each 128-bit lane */
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* r[4i+j]: rows 4i..4i+3 of column 4*lane + j */
        r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) { /* gather the lanes: 0x88 takes lanes 0 2, 0xdd lanes 1 3 */
        __m512i a = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88);
        __m512i b = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
        __m512i c = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88);
        __m512i d = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
        t[j] = _mm512_shuffle_i32x4(a, c, 0x88);
        t[8 + j] = _mm512_shuffle_i32x4(a, c, 0xdd);
        t[4 + j] = _mm512_shuffle_i32x4(b, d, 0x88);
        t[12 + j] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = t[i];
}

/* The largest |x| of 32 floats as bits, for q8_scale(). */
INLINE uint32_t block_max_bits(const float *x, size_t n)
{
    const __m512i abs = _mm512_set1_epi32(0x7fffffff);
    __m512i a = _mm512_and_si512(vf_bits(vf_load_m(vm_first(n), x)), abs);
    __m512i b = _mm512_and_si512(vf_bits(vf_load_m(vm_first(n < 16 ? 0 : n - 16), x + 16)), abs);
    return (uint32_t)_mm512_reduce_max_epu32(_mm512_max_epu32(a, b));
}

/* 32 floats times inverse, rounded to nearest even, as bytes. */
INLINE __m256i block_round(const float *x, size_t n, float inverse)
{
    __m512 s = _mm512_set1_ps(inverse);
    __m512 a = _mm512_mul_ps(vf_load_m(vm_first(n), x), s);
    __m512 b = _mm512_mul_ps(vf_load_m(vm_first(n < 16 ? 0 : n - 16), x + 16), s);
    return _mm256_set_m128i(_mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(b)), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(a)));
}

/* Sums of the lanes of four vectors of int32, a 128-bit lane at a time: result lane l holds
 * [sum of a's lane l, of b's, of c's, of d's]. */
INLINE __m512i lane_sums4(__m512i a, __m512i b, __m512i c, __m512i d)
{
    __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}

INLINE float f16_at(const void *p)
{
    uint16_t h;
    __builtin_memcpy(&h, p, sizeof h);
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
}

#endif
