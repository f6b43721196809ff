/*
 * avx512vnni/q6_k.c: Q6_K: 256 weights of 6 bits, 16 groups of 16 with signed 8-bit scales,
 * value = d * sc * (q - 32). methods.md (1)
 *
 * Unpacked in element order, each 128-bit lane of a vector is one group, so the sums of the
 * four vectors transpose into one vector of 16 groups: lane 4l + v is group 4v + l.
 */
#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/vnni.h"

enum { BLOCK_BYTES = 210, QH = 128, SCALES = 192, D = 208 };

struct act256 {
    int32_t start[16]; /* -32 * sum of q, of each group in lane order */
    float d[16];
};
_Static_assert(sizeof(struct act256) * GEMV_MAX_TOK <= 256 * SCRATCH_COL_BYTES, "scratch");

/* 128 weights from 64 bytes of low nibbles and 32 of high bit pairs: elements 0-63 and
 * 64-127. */
INLINE void weights_128(const unsigned char *ql, const unsigned char *qh, __m512i *w)
{
    const __m512i low = _mm512_set1_epi8(15), six = _mm512_set1_epi8(63);
    __m512i l = _mm512_loadu_si512(ql);
    __m512i h = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)qh));
    /* pairs 0 1 of the byte serve elements 0-31 and 32-63, pairs 2 3 the others; to bits
     * 4-5 */
    __m512i h0 = _mm512_sllv_epi64(h, _mm512_set_epi64(2, 2, 2, 2, 4, 4, 4, 4));
    __m512i h1 = _mm512_srlv_epi64(h, _mm512_set_epi64(2, 2, 2, 2, 0, 0, 0, 0));
    /* bits of the nibble where low is set, else of the pair: a select is truth table 0xca
     */
    w[0] = _mm512_and_si512(six, _mm512_ternarylogic_epi64(low, l, h0, 0xca));
    w[1] = _mm512_and_si512(
        six, _mm512_ternarylogic_epi64(low, _mm512_srli_epi16(l, 4), h1, 0xca));
}

INLINE void weights(const unsigned char *p, __m512i w[4])
{
    weights_128(p, p + QH, w);
    weights_128(p + 64, p + QH + 32, w + 2);
}

INLINE void prepare_acts(struct act256 *dst, const struct acts *x, size_t t)
{
    for (size_t c = 0; c < x->cols; c += 256, dst++)
        for (size_t g = 0; g < 16; g++) {
            size_t at = (t * x->stride + c) / 16 + g, lane = 4 * (g % 4) + g / 4;
            dst->start[lane] = -32 * x->sum[at];
            dst->d[lane] = x->d[at / 2];
        }
}

INLINE void step(const unsigned char *p, const struct act256 *const *x,
                 const int8_t *const *q, size_t i, int n_tok, __m512 *acc)
{
    __m512i w[4];
    for (unsigned b = 0; b < BLOCK_BYTES; b += 64)
        PREFETCH_LINE(p + b);
    weights(p, w);
    __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m128i sc8 = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + SCALES)), order);
    __m512 sc = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(sc8)),
                              _mm512_set1_ps(f16_at(p + D)));
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        const struct act256 *a = x[t] + i;
        __m512i dot[4];
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            dot[v] =
                _mm512_dpbusd_epi32(_mm512_setzero_si512(), w[v],
                                    _mm512_loadu_si512(q[t] + 256 * i + 64 * (size_t)v));
        __m512i sum = _mm512_add_epi32(lane_sums4(dot[0], dot[1], dot[2], dot[3]),
                                       _mm512_load_si512(a->start));
        __m512 s = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_load_ps(a->d));
        acc[t] = _mm512_fmadd_ps(s, sc, acc[t]);
    }
}

INLINE void rows(const struct matmul_args *a, size_t row0, size_t row1, int n_tok)
{
    const size_t n = a->cols / 256;
    struct act256 *all = a->scratch;
    const struct act256 *x[GEMV_MAX_TOK];
    const int8_t *q[GEMV_MAX_TOK];
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        prepare_acts(all + (size_t)t * n, a->x, (size_t)t);
        x[t] = all + (size_t)t * n;
        q[t] = a->x->q + (size_t)t * a->x->stride;
    }
    for (size_t r = row0; r < row1; r++) {
        const unsigned char *p = a->w + r * a->w_row_bytes;
        __m512 acc[GEMV_MAX_TOK];
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            acc[t] = _mm512_setzero_ps();
        for (size_t i = 0; i < n; i++, p += BLOCK_BYTES)
            step(p, x, q, i, n_tok, acc);
#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++)
            a->y[(size_t)t * a->y_stride + r] = _mm512_reduce_add_ps(acc[t]);
    }
}

void vnni_gemv_q6_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    switch (a->x->n_tok) {
    case 1:
        rows(a, row0, row1, 1);
        break;
    case 2:
        rows(a, row0, row1, 2);
        break;
    case 3:
        rows(a, row0, row1, 3);
        break;
    default:
        rows(a, row0, row1, GEMV_MAX_TOK);
        break;
    }
}

static void unpack(const unsigned char *p, size_t n_k, uint8_t *q, float *meta)
{
    __m512i w[4];
    (void)n_k;
    weights(p, w);
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
        _mm512_store_si512(q + 64 * v, w[v]);
    __m512i sc = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(p + SCALES)));
    _mm512_store_ps(meta,
                    _mm512_mul_ps(_mm512_cvtepi32_ps(sc), _mm512_set1_ps(f16_at(p + D))));
}

void vnni_gemm_q6_k(const struct matmul_args *a, size_t row0, size_t row1)
{
    static const struct q8_format f = { 256, BLOCK_BYTES, 16, 32, false, false, unpack };
    vnni_gemm(a, row0, row1, &f);
}
