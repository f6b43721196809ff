/* avx512/attention.c: simd/attention.h for AVX-512. */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/simd512.h"

INLINE vf vf_fraction(vf y)
{
    return _mm512_reduce_ps(y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
INLINE vf vf_times2(vf x, vf y)
{
    return _mm512_scalef_ps(x, y);
}
INLINE vf vf_sums(const vf r[VL])
{
    vf half[8], lane[4];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) { /* [r_k lo, hi, r_k+4 lo, hi], k = 0..3, 8..11 */
        vf a = r[i / 4 * 8 + i % 4], b = r[i / 4 * 8 + i % 4 + 4];
        half[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) /* 128-bit lanes: r_k, r_k+4, r_k+8, r_k+12 */
        lane[i] =
            _mm512_add_ps(_mm512_shuffle_f32x4(half[i], half[i + 4], 0x88), _mm512_shuffle_f32x4(half[i], half[i + 4], 0xdd));
    vf a = _mm512_add_ps(_mm512_unpacklo_ps(lane[0], lane[1]), _mm512_unpackhi_ps(lane[0], lane[1]));
    vf b = _mm512_add_ps(_mm512_unpacklo_ps(lane[2], lane[3]), _mm512_unpackhi_ps(lane[2], lane[3]));
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
}

#include "kernels/simd/attention.h" /* written in the names of the header above */

void avx512_attention(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1, bool count_kv,
                      struct work *w)
{
    simd_attention(a, head0, head1, tok0, tok1, count_kv, false, w);
}

void avx512_attention_once(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1,
                           bool count_kv, struct work *w)
{
    simd_attention(a, head0, head1, tok0, tok1, count_kv, true, w);
}
