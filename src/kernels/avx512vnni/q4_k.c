/* avx512vnni/q4_k.c: Q4_K. methods.md (1) */
#include "kernels/avx512vnni/q45k.h"

enum { BLOCK_BYTES = 144 };

/* Odd sub-blocks stay in the high nibbles, as 16 times the quant: hi_scale undoes it. */
INLINE void weights(const unsigned char *p, __m512i w[4])
{
    const __m512i low = _mm512_set1_epi8(15);
    __m512i a = _mm512_loadu_si512(p + 16), b = _mm512_loadu_si512(p + 80);
    w[0] = _mm512_and_si512(a, low);
    w[1] = _mm512_andnot_si512(low, a);
    w[2] = _mm512_and_si512(b, low);
    w[3] = _mm512_andnot_si512(low, b);
}

void vnni_gemv_q4_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    q45k_gemv(a, row0, row1, (struct format45k){ BLOCK_BYTES, 1.0f / 16, weights });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    const __m256i low = _mm256_set1_epi8(15);
    for (size_t k = 0; k < n_k; k += 64) {
        __m256i w = _mm256_loadu_si256((const __m256i *)(p + 16 + k / 2));
        _mm256_store_si256((__m256i *)(q + k), _mm256_and_si256(w, low));
        _mm256_store_si256((__m256i *)(q + k + 32),
                           _mm256_and_si256(_mm256_srli_epi16(w, 4), low));
    }
    k_meta(p, meta);
}

void vnni_gemm_q4_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 256, BLOCK_BYTES, 32, 0, true, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
