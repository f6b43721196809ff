/* avx512vnni/q6_k.c: Q6_K: 256 weights of 6 bits, 16 groups of 16 with signed 8-bit scales,
 * value = d * sc * (q - 32). methods.md (1) */
#include "kernels/avx512vnni/k16.h"

enum { BLOCK_BYTES = 210, BIAS = 32, QH = 128, SCALES = 192, D = 208 };

/* 128 weights from 64 bytes of low nibbles and 32 of high bit pairs: elements 0-63 and
 * 64-127. */
INLINE void weights_128(const unsigned char *ql, const unsigned char *qh, __m512i *w)
{
    const __m512i low = _mm512_set1_epi8(15), six = _mm512_set1_epi8(63);
    __m512i l = _mm512_loadu_si512(ql);
    __m512i h = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)qh));
    /* pairs 0 1 of the byte serve elements 0-31 and 32-63, pairs 2 3 the others; to bits
     * 4-5 */
    __m512i h0 = _mm512_sllv_epi64(h, _mm512_set_epi64(2, 2, 2, 2, 4, 4, 4, 4));
    __m512i h1 = _mm512_srlv_epi64(h, _mm512_set_epi64(2, 2, 2, 2, 0, 0, 0, 0));
    /* bits of the nibble where low is set, else of the pair: a select is truth table 0xca
     */
    w[0] = _mm512_and_si512(six, _mm512_ternarylogic_epi64(low, l, h0, 0xca));
    w[1] = _mm512_and_si512(
        six, _mm512_ternarylogic_epi64(low, _mm512_srli_epi16(l, 4), h1, 0xca));
}

INLINE void weights(const unsigned char *p, __m512i w[4])
{
    weights_128(p, p + QH, w);
    weights_128(p + 64, p + QH + 32, w + 2);
}

INLINE __m512 scales(const unsigned char *p)
{
    return k16_times(k16_lanes(_mm_loadu_si128((const __m128i *)(p + SCALES))), p + D);
}

void vnni_gemv_q6_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    k16_gemv(a, row0, row1, (struct format16){ BLOCK_BYTES, BIAS, weights, scales, NULL });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights(p, w);
    k16_store(q, w);
    _mm512_store_ps(meta, k16_times(_mm_loadu_si128((const __m128i *)(p + SCALES)), p + D));
}

void vnni_gemm_q6_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 256, BLOCK_BYTES, 16, BIAS, false, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
