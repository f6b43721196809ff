/* avx512vnni/q8_0.c: Q8_0, f16 scale and 32 signed bytes. methods.md (1) */
#include "kernels/avx512vnni/gemv32.h"

enum { BLOCK_BYTES = 34 };

INLINE __m512i weights(const unsigned char *p, bool both)
{
    __m512i w = _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)(p + 2)));
    if (both)
        w = _mm512_inserti64x4(
            w, _mm256_loadu_si256((const __m256i *)(p + BLOCK_BYTES + 2)), 1);
    return _mm512_xor_si512(w, _mm512_set1_epi8(-128)); /* + 128 */
}

void vnni_gemv_q8_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv32(a, row0, row1,
           (struct format32){ .block_bytes = BLOCK_BYTES,
                              .bias_lo = -128,
                              .bias_hi = -128,
                              .hi_scale = 1,
                              .weights = weights });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += BLOCK_BYTES) {
        __m256i w = _mm256_loadu_si256((const __m256i *)(p + 2));
        _mm256_store_si256((__m256i *)(q + 32 * b),
                           _mm256_xor_si256(w, _mm256_set1_epi8(-128)));
        meta[b] = f16_at(p);
    }
}

void vnni_gemm_q8_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 32, BLOCK_BYTES, 32, 128, false, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
