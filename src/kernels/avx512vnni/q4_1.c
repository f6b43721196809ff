/* avx512vnni/q4_1.c: Q4_1, f16 scale and min, 32 nibbles, value = d * q + m. methods.md (1)
 */
#include "kernels/avx512vnni/nibbles.h"

enum { BLOCK_BYTES = 20 };

INLINE __m512i weights(const unsigned char *p, bool both)
{
    return nibbles_in_place(p + 4, BLOCK_BYTES, both);
}

void vnni_gemv_q4_1(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv32(a, row0, row1,
           (struct format32){ .block_bytes = BLOCK_BYTES,
                              .hi_scale = 1.0f / 16,
                              .has_min = true,
                              .weights = weights });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += BLOCK_BYTES) {
        store_first(q + 32 * b, nibbles_pair(p + 4, 0, false));
        meta[b] = f16_at(p);
        meta[8 + b] = -f16_at(p + 2);
    }
}

void vnni_gemm_q4_1(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 32, BLOCK_BYTES, 32, 0, true, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
