/* avx512vnni/mxfp4.c: MXFP4, an exponent and 32 nibbles, value = 2^(e - 127) / 2 * T[q].
 * methods.md (1) */
#include "kernels/avx512vnni/nibbles.h"

enum { BLOCK_BYTES = 17, BIAS = E2M1_BIAS };

INLINE __m512i weights(const unsigned char *p, bool both)
{
    return lookup_pair(p + 1, BLOCK_BYTES, both, e2m1_biased());
}

void vnni_gemv_mxfp4(const struct matmul_args *a, size_t row0, size_t row1)
{
    gemv32(a, row0, row1,
           (struct format32){ .block_bytes = BLOCK_BYTES,
                              .bias_lo = BIAS,
                              .bias_hi = BIAS,
                              .hi_scale = 1,
                              .e8m0 = true,
                              .weights = weights });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    for (size_t b = 0; b < n_k / 32; b++, p += BLOCK_BYTES) {
        store_first(q + 32 * b, weights(p, false));
        int32_t d = e8m0_half(p[0]);
        memcpy(meta + b, &d, sizeof d);
    }
}

void vnni_gemm_mxfp4(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 32, BLOCK_BYTES, 32, BIAS, false, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
