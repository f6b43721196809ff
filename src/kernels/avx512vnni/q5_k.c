/* avx512vnni/q5_k.c: Q5_K: Q4_K with a fifth bit: bit s of byte l for element l of
 * sub-block s. methods.md (1) */
#include "kernels/avx512vnni/q45k.h"

enum { BLOCK_BYTES = 176, QH = 16, QS = 48 };

/* The fifth bits of sub-block s in the lower half and of s + 2 in the upper, added to
 * nibbles. */
INLINE __m512i with_fifth(__m512i nibbles, __m512i qh, int s)
{
    __m512i bit = _mm512_inserti64x4(_mm512_set1_epi8((char)(1 << s)),
                                     _mm256_set1_epi8((char)(1 << (s + 2))), 1);
    return _mm512_mask_add_epi8(nibbles, _mm512_test_epi8_mask(qh, bit), nibbles,
                                _mm512_set1_epi8(16));
}

INLINE void weights(const unsigned char *p, __m512i w[4])
{
    const __m512i low = _mm512_set1_epi8(15);
    __m512i qh = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)(p + QH)));
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
        __m512i a = _mm512_loadu_si512(p + QS + 64 * v);
        w[2 * v] = with_fifth(_mm512_and_si512(a, low), qh, 4 * v);
        w[2 * v + 1] =
            with_fifth(_mm512_and_si512(_mm512_srli_epi16(a, 4), low), qh, 4 * v + 1);
    }
}

void vnni_gemv_q5_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    q45k_gemv(a, row0, row1, (struct format45k){ BLOCK_BYTES, 1, weights });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights(p, w);
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) { /* back from sub-blocks 0 2, 1 3 to 0 1, 2 3 */
        _mm512_store_si512(q + 128 * v, _mm512_shuffle_i64x2(w[2 * v], w[2 * v + 1], 0x44));
        _mm512_store_si512(q + 128 * v + 64,
                           _mm512_shuffle_i64x2(w[2 * v], w[2 * v + 1], 0xee));
    }
    k_meta(p, meta);
}

void vnni_gemm_q5_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 256, BLOCK_BYTES, 32, 0, true, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
