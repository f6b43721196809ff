/* avx512vnni/q3_k.c: Q3_K: 256 weights of 3 bits, 16 groups of 16 with signed 6-bit scales,
 * value = d * sc * (q - 4). methods.md (1) */
#include "kernels/avx512vnni/k16.h"

enum { BLOCK_BYTES = 110, BIAS = 4, QS = 32, SCALES = 96, D = 108 };

/* Third bits: bit g of byte l of 32 is that of element 32g + l. */
INLINE void weights(const unsigned char *p, __m512i w[4])
{
    const __m512i four = _mm512_set1_epi8(4);
    const __m512i h = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)p));
    k16_bit_pairs(p + QS, w);
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) { /* bits 2v and 2v + 1 to bit 2 */
        const long long r0 = (2 * v - 2) & 63, r1 = (2 * v - 1) & 63;
        __m512i bit =
            _mm512_rorv_epi64(h, _mm512_set_epi64(r1, r1, r1, r1, r0, r0, r0, r0));
        /* w | (bit & four) is truth table 0xf8 */
        w[v] = _mm512_ternarylogic_epi64(w[v], bit, four, 0xf8);
    }
}

INLINE __m512 scales(const unsigned char *p)
{
    return k16_times(k16_lanes(q3_k_scales(p + SCALES)), p + D);
}

void vnni_gemv_q3_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    k16_gemv(a, row0, row1, (struct format16){ BLOCK_BYTES, BIAS, weights, scales, NULL });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights(p, w);
    k16_store(q, w);
    _mm512_store_ps(meta, k16_times(q3_k_scales(p + SCALES), p + D));
}

void vnni_gemm_q3_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 256, BLOCK_BYTES, 16, BIAS, false, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
