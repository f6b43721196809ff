/*
 * kernels/avx2/simd256.h: AVX2, FMA and F16C under the names of kernels/simd/: vf 8 floats,
 * vi 8 int32, vm a mask of lanes. Static inline only.
 */
#ifndef KERNELS_AVX2_SIMD256_H
#define KERNELS_AVX2_SIMD256_H

#include "kernels/inline.h"
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VL = 8,        /* lanes of 32 bits */
    DENSE_TOK = 6, /* tokens of a tile of float products: 12 accumulators of 16 registers */
    ATT_ROWS = 6,  /* query rows of a tile of attention, */
    ATT_VECS = 2,  /* and vectors of keys or dims */
};
typedef __m256 vf;
typedef __m256i vi;
/* Masked stores are slow on some CPUs, so a full mask is known to be one. */
typedef struct {
    __m256i lanes;
    bool all;
} vm;

/* Lanes [from, to). */
INLINE vm vm_range(size_t from, size_t to)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int lo = from > 8 ? 8 : (int)from, hi = to > 8 ? 8 : (int)to;
    __m256i m =
        _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(lo), lane), _mm256_cmpgt_epi32(_mm256_set1_epi32(hi), lane));
    return (vm){ m, lo == 0 && hi == 8 };
}
/* The first n lanes, n of any size. */
INLINE vm vm_first(size_t n)
{
    return vm_range(0, n);
}
INLINE vf vf_set1(float x)
{
    return _mm256_set1_ps(x);
}
INLINE vf vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
INLINE vf vf_load_m(vm m, const float *p) /* other lanes 0, and not touched */
{
    return m.all ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, m.lanes);
}
INLINE void vf_store(float *p, vf v)
{
    _mm256_storeu_ps(p, v);
}
INLINE void vf_store_m(float *p, vm m, vf v)
{
    if (m.all)
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, m.lanes, v);
}
INLINE vf vf_add(vf a, vf b)
{
    return _mm256_add_ps(a, b);
}
INLINE vf vf_sub(vf a, vf b)
{
    return _mm256_sub_ps(a, b);
}
INLINE vf vf_mul(vf a, vf b)
{
    return _mm256_mul_ps(a, b);
}
INLINE vf vf_div(vf a, vf b)
{
    return _mm256_div_ps(a, b);
}
INLINE vf vf_fma(vf a, vf b, vf c) /* a * b + c */
{
    return _mm256_fmadd_ps(a, b, c);
}
INLINE vf vf_fnma(vf a, vf b, vf c) /* c - a * b */
{
    return _mm256_fnmadd_ps(a, b, c);
}
INLINE vf vf_max(vf a, vf b) /* b where one is NaN */
{
    return _mm256_max_ps(a, b);
}
INLINE vf vf_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}
INLINE vf vf_select(vm m, vf yes, vf no)
{
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m.lanes));
}
INLINE vf vf_round(vf x) /* to the nearest integer */
{
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* x * 2^n for n in [-252, 254], in two factors since one exponent reaches 127 only. */
INLINE vf vf_scale2(vf x, vf n)
{
    __m256i e = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(e, 1);
    __m256i rest = _mm256_sub_epi32(e, half), bias = _mm256_set1_epi32(127);
    __m256i a = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    __m256i b = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(x, _mm256_castsi256_ps(a)), _mm256_castsi256_ps(b));
}
INLINE float vf_sum(vf x)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
INLINE float vf_largest(vf x)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
INLINE vf vf_swap_pairs(vf x)
{
    return _mm256_permute_ps(x, 0xb1);
}
INLINE vf vf_even(vf x) /* each even lane twice */
{
    return _mm256_moveldup_ps(x);
}
INLINE vf vf_odd(vf x)
{
    return _mm256_movehdup_ps(x);
}
/* The even lanes of both, in order: 64-bit pieces come as lo's, hi's, lo's, hi's. */
INLINE vf vf_join(__m256 x)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
}
INLINE vf vf_all_even(vf lo, vf hi)
{
    return vf_join(_mm256_shuffle_ps(lo, hi, 0x88));
}
INLINE vf vf_all_odd(vf lo, vf hi)
{
    return vf_join(_mm256_shuffle_ps(lo, hi, 0xdd));
}
INLINE vf vf_fmaddsub(vf a, vf b, vf c) /* a * b - c in even lanes, + c in odd ones */
{
    return _mm256_fmaddsub_ps(a, b, c);
}

/* 16-bit floats: the first n of VL, the others 0. */
INLINE __m128i load_u16(const void *p, size_t n)
{
    if (n >= VL)
        return _mm_loadu_si128((const __m128i *)p);
    uint16_t part[VL] = { 0 };
    __builtin_memcpy(part, p, n * sizeof *part);
    return _mm_loadu_si128((const __m128i *)part);
}
INLINE void store_u16(uint16_t *p, vm m, __m128i v)
{
    if (m.all) {
        _mm_storeu_si128((__m128i *)p, v);
        return;
    }
    uint16_t part[VL];
    _mm_storeu_si128((__m128i *)part, v);
    int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(m.lanes));
    for (int i = 0; i < VL; i++)
        if (lanes >> i & 1)
            p[i] = part[i];
}
INLINE vf vf_from_f16(const void *p, size_t n)
{
    return _mm256_cvtph_ps(load_u16(p, n));
}
INLINE vf vf_from_bf16(const void *p, size_t n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_u16(p, n)), 16));
}
/* VL signed bytes; VL nibbles, one a byte, shift 0 or 4, less 8. */
INLINE vf vf_from_i8(const void *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(p)));
}
INLINE vf vf_from_nibbles(const void *p, unsigned shift)
{
    __m256i x = _mm256_srli_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64(p)), (int)shift);
    x = _mm256_and_si256(x, _mm256_set1_epi32(15));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(x, _mm256_set1_epi32(8)));
}
INLINE void vf_to_f16(uint16_t *p, vm m, vf v)
{
    store_u16(p, m, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
/* Round to nearest even by integers; NaN stays a quiet NaN. */
INLINE void vf_to_bf16(uint16_t *p, vm m, vf v)
{
    __m256i u = _mm256_castps_si256(v), hi = _mm256_srli_epi32(u, 16);
    __m256i odd = _mm256_and_si256(hi, _mm256_set1_epi32(1));
    __m256i r = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
    __m256i quiet = _mm256_or_si256(hi, _mm256_set1_epi32(0x40));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    r = _mm256_blendv_epi8(_mm256_srli_epi32(r, 16), quiet, nan);
    store_u16(p, m, _mm_packus_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1)));
}

INLINE vi vi_load(const void *p) /* aligned */
{
    return _mm256_load_si256((const __m256i *)p);
}
INLINE void vi_store(void *p, vi v)
{
    _mm256_store_si256((__m256i *)p, v);
}
INLINE vi vi_set1(int32_t x)
{
    return _mm256_set1_epi32(x);
}
INLINE vf vi_to_vf(vi x)
{
    return _mm256_cvtepi32_ps(x);
}
INLINE vi vf_bits(vf x)
{
    return _mm256_castps_si256(x);
}
INLINE vf vi_floats(vi x)
{
    return _mm256_castsi256_ps(x);
}

/* r as an 8x8 matrix of 32-bit elements becomes its transpose. */
INLINE void vi_transpose(vi r[VL])
{
    __m256i t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* pairs of rows: [a0 b0 a1 b1] in each 128-bit lane */
        t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) { /* r[4i+j]: rows 4i..4i+3 of column 4*lane + j */
        r[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        t[j] = _mm256_permute2x128_si256(r[j], r[4 + j], 0x20);
        t[4 + j] = _mm256_permute2x128_si256(r[j], r[4 + j], 0x31);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        r[i] = t[i];
}

/* The largest |x| of 32 floats as bits, for q8_scale(). Magnitudes are >= 0 as int32 too.
 */
INLINE uint32_t block_max_bits(const float *x, size_t n)
{
    const __m256i abs = _mm256_set1_epi32(0x7fffffff);
    __m256i m = _mm256_setzero_si256();
    for (size_t i = 0; i < 32 && i < n; i += VL)
        m = _mm256_max_epi32(m, _mm256_and_si256(vf_bits(vf_load_m(vm_first(n - i), x + i)), abs));
    __m128i s = _mm_max_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(s);
}

/* 32 floats times inverse, rounded to nearest even, as bytes. */
INLINE __m256i block_round(const float *x, size_t n, float inverse)
{
    __m256i r[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        r[i] = _mm256_cvtps_epi32(
            _mm256_mul_ps(vf_load_m(vm_first(n > VL * i ? n - VL * i : 0), x + VL * i), _mm256_set1_ps(inverse)));
    /* packs work in 128-bit lanes: the permutation puts the dwords back in order */
    __m256i q = _mm256_packs_epi16(_mm256_packs_epi32(r[0], r[1]), _mm256_packs_epi32(r[2], r[3]));
    return _mm256_permutevar8x32_epi32(q, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Lane sums of 4 products of bytes: w unsigned and at most 63, so that pairs fit in int16;
 * or, when w_signed, any signed byte: |w| and x with w's sign, pairs at most 2 * 128 * 127.
 */
INLINE vi dot4(vi acc, vi w, vi x, bool w_signed)
{
    if (w_signed) {
        x = _mm256_sign_epi8(x, w);
        w = _mm256_abs_epi8(w);
    }
    __m256i pairs = _mm256_maddubs_epi16(w, x);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

INLINE float f16_at(const void *p)
{
    uint16_t h;
    __builtin_memcpy(&h, p, sizeof h);
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
}

#endif
