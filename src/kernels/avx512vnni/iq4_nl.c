/* avx512vnni/iq4_nl.c: IQ4_NL, f16 scale and 32 nibbles, value = d * T[q]. methods.md (1)
 *
 * T = dtype_iq4 is signed and reaches -127: its bytes are biased by 128. */
#include "kernels/avx512vnni/nibbles.h"

enum { BLOCK_BYTES = 18, BIAS = IQ4_BIAS };

INLINE __m512i weights(const unsigned char *p, bool both)
{
    return lookup_pair(p + 2, BLOCK_BYTES, both, iq4_biased());
}

void vnni_gemv_iq4_nl(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv32(a, row0, row1,
           (struct format32){ .block_bytes = BLOCK_BYTES,
                              .bias_lo = -BIAS,
                              .bias_hi = -BIAS,
                              .hi_scale = 1,
                              .weights = weights });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += BLOCK_BYTES) {
        store_first(q + 32 * b, weights(p, false));
        meta[b] = f16_at(p);
    }
}

void vnni_gemm_iq4_nl(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 32, BLOCK_BYTES, 32, BIAS, false, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
