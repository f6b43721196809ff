/* avx512/vector.c: the vector kernels of simd/vector.h for AVX-512. */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/simd512.h"

#include "kernels/simd/vector.h" /* written in the names of the header above */

/* Scales of 16 blocks of 32 from the bits of their largest |x|: q8_scale, a lane a block. */
INLINE __m512 scales_16(__m512i amax_bits, bool pow2, float inverse[16])
{
    const __m512 amax = _mm512_castsi512_ps(amax_bits), full = _mm512_set1_ps(127.0f);
    const __m512i most = _mm512_set1_epi32(pow2 ? Q8_POW2_MAX_BITS : 0x7f800000);
    const __mmask16 bad = _mm512_cmpge_epu32_mask(amax_bits, most);
    const __mmask16 some = (__mmask16)(~bad & _mm512_cmp_ps_mask(amax, _mm512_set1_ps(0x1p-112f), _CMP_GE_OQ));
    __m512 d = _mm512_maskz_div_ps(some, amax, full), upside = _mm512_maskz_div_ps(some, full, amax);
    if (pow2) {
        const __m512i up = _mm512_add_epi32(_mm512_castps_si512(d), _mm512_set1_epi32(0x007fffff));
        d = _mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(0x7f800000)));
        upside = _mm512_maskz_div_ps(some, _mm512_set1_ps(1.0f), d);
    }
    _mm512_storeu_ps(inverse, upside);
    return _mm512_mask_blend_ps(bad, d, _mm512_set1_ps(NAN));
}

/* Two blocks, 64 floats, times the inverse of their scales: bytes. A block whose inverse is 0 is 0. */
INLINE __m512i round_64(const float *x, const float *inverse)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i r[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m512 s = _mm512_set1_ps(inverse[i / 2]);
        const __mmask16 any = _mm512_cmp_ps_mask(s, _mm512_setzero_ps(), _CMP_NEQ_OQ);
        r[i] = _mm512_maskz_cvtps_epi32(any, _mm512_mul_ps(_mm512_loadu_ps(x + 16 * i), s));
    }
    const __m512i q = _mm512_packs_epi16(_mm512_packs_epi32(r[0], r[1]), _mm512_packs_epi32(r[2], r[3]));
    return _mm512_permutexvar_epi32(order, q);
}

/* Sums of each 16 of 64 bytes. */
INLINE void store_sums(int16_t *to, __m512i q)
{
    const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
    __m512i s = _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_set1_epi8(1), q), _mm512_set1_epi16(1));
    s = _mm512_add_epi32(s, _mm512_shuffle_epi32(s, 0x4e));
    s = _mm512_add_epi32(s, _mm512_shuffle_epi32(s, 0xb1));
    const __m128i four = _mm512_castsi512_si128(_mm512_permutexvar_epi32(firsts, s));
    _mm_storel_epi64((__m128i *)to, _mm_packs_epi32(four, four));
}

/* 16 whole blocks, whose maxima are found together. */
INLINE void prepare_512(struct acts *a, const float *x, size_t at)
{
    const __m512i abs = _mm512_set1_epi32(0x7fffffff);
    vi m[VL];
    float inverse[16];
#pragma GCC unroll 16
    for (size_t b = 0; b < 16; b++)
        m[b] = _mm512_max_epu32(_mm512_and_si512(vf_bits(vf_load(x + 32 * b)), abs),
                                _mm512_and_si512(vf_bits(vf_load(x + 32 * b + 16)), abs));
    vi_transpose(m);
#pragma GCC unroll 4
    for (size_t half = 8; half > 0; half /= 2)
#pragma GCC unroll 8
        for (size_t b = 0; b < half; b++)
            m[b] = _mm512_max_epu32(m[b], m[b + half]);
    _mm512_storeu_ps(a->d + at / 32, scales_16(m[0], a->pow2, inverse));
    for (size_t b = 0; b < 16; b += 2) {
        const __m512i q = round_64(x + 32 * b, inverse + b);
        _mm512_storeu_si512(a->q + at + 32 * b, q);
        store_sums(a->sum + at / 16 + 2 * b, q);
    }
}

/* methods.md (89) */
static void prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1)
{
    for (size_t t = tok0; t < tok1; t++) {
        size_t c = 0;
        for (; c + 512 <= a->cols; c += 512)
            prepare_512(a, x + t * ld + c, t * a->stride + c);
        simd_act_prepare_q8_from(a, x, ld, t, c);
    }
}

void avx512_vector_slots(struct kernels *k)
{
    simd_vector_slots(k);
    k->act_prepare[ACT_Q8] = prepare_q8;
}
