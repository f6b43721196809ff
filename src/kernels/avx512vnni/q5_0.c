/* avx512vnni/q5_0.c: Q5_0, f16 scale, fifth bits, nibbles, value = d * (q - 16). methods.md
 * (1) */
#include "kernels/avx512vnni/q5.h"

enum { BLOCK_BYTES = 22 };

INLINE __m512i weights(const unsigned char *p, bool both)
{
    return q5_pair(p + 2, BLOCK_BYTES, both);
}

void vnni_gemv_q5_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv32(a, row0, row1,
           (struct format32){ .block_bytes = BLOCK_BYTES,
                              .bias_lo = 16,
                              .bias_hi = 16,
                              .hi_scale = 1,
                              .weights = weights });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += BLOCK_BYTES) {
        store_first(q + 32 * b, q5_pair(p + 2, 0, false));
        meta[b] = f16_at(p);
    }
}

void vnni_gemm_q5_0(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 32, BLOCK_BYTES, 32, 16, false, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
