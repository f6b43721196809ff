/* avx2/attention.c: simd/attention.h for AVX2. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"

INLINE vf vf_fms(vf a, vf b, vf c)
{
    return _mm256_fmsub_ps(a, b, c);
}
INLINE vf vf_fraction(vf y)
{
    return _mm256_sub_ps(y, _mm256_floor_ps(y));
}
/* x near 1; 0 where the power is below 2^-126. */
INLINE vf vf_times2(vf x, vf y)
{
    __m256i n = _mm256_slli_epi32(_mm256_cvtps_epi32(_mm256_floor_ps(y)), 23);
    vf normal = _mm256_cmp_ps(y, vf_set1(-126), _CMP_NLT_UQ); /* NaN stays */
    return _mm256_and_ps(_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), n)), normal);
}
INLINE bool vf_any_above(vf a, vf b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
}
INLINE vf vf_sums(const vf r[VL])
{
    vf half[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        half[i] = _mm256_add_ps(_mm256_permute2f128_ps(r[i], r[i + 4], 0x20), _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    return _mm256_hadd_ps(_mm256_hadd_ps(half[0], half[1]), _mm256_hadd_ps(half[2], half[3]));
}

#include "kernels/simd/attention.h" /* written in the names of the header above */

void avx2_attention(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1, bool count_kv,
                    struct work *w)
{
    simd_attention(a, head0, head1, tok0, tok1, count_kv, false, w);
}
