/* avx512vnni/iq4_xs.c: IQ4_XS: 256 nibbles, 8 sub-blocks of 32 with signed 6-bit scales,
 * value = d * sc * T[q]. methods.md (1)
 *
 * T = dtype_iq4 is signed and reaches -127: its bytes are biased by 128. */
#include "kernels/avx512vnni/k16.h"

enum { BLOCK_BYTES = 136, BIAS = IQ4_BIAS, SCALES = 2, QS = 8 };

/* A sub-block has 16 bytes, the low nibbles its elements 0-15, the high ones 16-31. */
INLINE void weights(const unsigned char *p, __m512i w[4])
{
    const __m512i table = _mm512_broadcast_i32x4(iq4_biased()), low = _mm512_set1_epi8(15);
    const __m512i shift = _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0);
    const __m512i twice = _mm512_set_epi64(3, 2, 3, 2, 1, 0, 1, 0);
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        __m256i b = _mm256_loadu_si256((const __m256i *)(p + QS + 32 * v));
        __m512i x = _mm512_permutexvar_epi64(twice, _mm512_castsi256_si512(b));
        w[v] =
            _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srlv_epi64(x, shift), low));
    }
}

/* Sub-block scales times d, in element order. */
INLINE __m256 scales_8(const unsigned char *p)
{
    return _mm256_mul_ps(_mm256_cvtepi32_ps(iq4_xs_scales(p + SCALES)),
                         _mm256_set1_ps(f16_at(p)));
}

INLINE __m512 scales(const unsigned char *p)
{
    const __m512i lanes = _mm512_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6, 1, 3, 5, 7, 1, 3, 5, 7);
    return _mm512_permutexvar_ps(lanes, _mm512_castps256_ps512(scales_8(p)));
}

void vnni_gemv_iq4_xs(const struct matmul_args *a, size_t row0, size_t row1)
{
    k16_gemv(a, row0, row1, (struct format16){ BLOCK_BYTES, BIAS, weights, scales, NULL });
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights(p, w);
    k16_store(q, w);
    _mm256_store_ps(meta, scales_8(p));
}

void vnni_gemm_iq4_xs(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 256, BLOCK_BYTES, 32, BIAS, false, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
