/* avx512vnni/q4_0.c: Q4_0, f16 scale and 32 nibbles, value = d * (q - 8). methods.md (1) */
#include "kernels/avx512vnni/gemv32.h"

enum { BLOCK_BYTES = 18 };

/* Elements 16-31 stay in the high nibbles, as 16 times the quant: hi_scale undoes it. */
INLINE __m512i weights(const unsigned char *p, bool both)
{
    __m512i w =
        _mm512_maskz_broadcast_i32x4(0x00ff, _mm_loadu_si128((const __m128i *)(p + 2)));
    if (both)
        w = _mm512_mask_broadcast_i32x4(
            w, 0xff00, _mm_loadu_si128((const __m128i *)(p + BLOCK_BYTES + 2)));
    return _mm512_and_si512(
        w, _mm512_broadcast_i64x4(
               _mm256_set_m128i(_mm_set1_epi8(-16), _mm_set1_epi8(15)))); /* 0xf0, 0x0f */
}

void vnni_gemv_q4_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv32(a, row0, row1,
           (struct format32){ .block_bytes = BLOCK_BYTES,
                              .bias_lo = 8,
                              .bias_hi = -128,
                              .hi_scale = 1.0f / 16,
                              .weights = weights });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    const __m128i low = _mm_set1_epi8(15);
    for (size_t b = 0; b < n_k / 32; b++, p += BLOCK_BYTES) {
        __m128i w = _mm_loadu_si128((const __m128i *)(p + 2));
        _mm_store_si128((__m128i *)(q + 32 * b), _mm_and_si128(w, low));
        _mm_store_si128((__m128i *)(q + 32 * b + 16),
                        _mm_and_si128(_mm_srli_epi16(w, 4), low));
        meta[b] = f16_at(p);
    }
}

void vnni_gemm_q4_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 32, BLOCK_BYTES, 32, 8, false, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
