/* avx512vnni/q2_k.c: Q2_K: 256 weights of 2 bits, 16 groups of 16, each with a byte of two
 * 4-bit numbers, scale and min: value = d * sc * q - dmin * m. methods.md (1) */
#include "kernels/avx512vnni/k16.h"

enum { BLOCK_BYTES = 84, QS = 16, D = 80, DMIN = 82 };

INLINE void weights(const unsigned char *p, __m512i w[4])
{
    k16_bit_pairs(p + QS, w);
}

/* The scales, or the mins when shift is 4, in element order. */
INLINE __m128i nibbles(const unsigned char *p, int shift)
{
    __m128i b = _mm_loadu_si128((const __m128i *)p);
    return _mm_and_si128(_mm_srli_epi16(b, shift), _mm_set1_epi8(15));
}

INLINE __m512 scales(const unsigned char *p)
{
    return k16_times(k16_lanes(nibbles(p, 0)), p + D);
}

INLINE __m512 mins(const unsigned char *p)
{
    return k16_times(k16_lanes(nibbles(p, 4)), p + DMIN);
}

void vnni_gemv_q2_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    k16_gemv(a, row0, row1, (struct format16){ BLOCK_BYTES, 0, weights, scales, mins });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights(p, w);
    k16_store(q, w);
    _mm512_store_ps(meta, k16_times(nibbles(p, 0), p + D));
    _mm512_store_ps(meta + 16, k16_times(nibbles(p, 4), p + DMIN));
}

void vnni_gemm_q2_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 256, BLOCK_BYTES, 16, 0, true, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
