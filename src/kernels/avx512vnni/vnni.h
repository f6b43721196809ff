/* kernels/avx512vnni/vnni.h: products of quantized weights with 8-bit activations by vpdpbusd. */
#ifndef KERNELS_AVX512VNNI_VNNI_H
#define KERNELS_AVX512VNNI_VNNI_H

#include "kernels/internal.h"

/* gemm: k a weight chunk, rows a panel, tokens a tile. */
enum { CHUNK_K = 256, PANEL_ROWS = 32, TILE_TOK = 6 };

/* How gemm reads a weight format. The byte of a weight is its quant plus bias, so >= 0. */
struct gemm_format {
    unsigned block_elems, block_bytes;
    unsigned group; /* weights a scale: 32 or 16 */
    int bias;
    bool has_min; /* value = scale * quant - min; group 32 */
    /*
     * n_k weights (a multiple of 32, at most CHUNK_K) from src: bytes to q[CHUNK_K], scales to
     * meta[0..15] of group 16; scales to meta[0..7] and mins to meta[8..15] of group 32.
     */
    void (*unpack)(const unsigned char *src, size_t n_k, uint8_t *q, float *meta);
};

void vnni_gemm(const struct matmul_args *a, size_t row0, size_t row1,
               const struct gemm_format *f);

matmul_fn vnni_gemv_q8_0, vnni_gemm_q8_0, vnni_gemv_q4_0, vnni_gemm_q4_0;
matmul_fn vnni_gemv_q5_0, vnni_gemm_q5_0, vnni_gemv_q5_1, vnni_gemm_q5_1;
matmul_fn vnni_gemv_q4_k, vnni_gemm_q4_k, vnni_gemv_q5_k, vnni_gemm_q5_k;
matmul_fn vnni_gemv_q6_k, vnni_gemm_q6_k;

#endif
