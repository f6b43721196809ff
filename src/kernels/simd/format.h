/* kernels/simd/format.h: how a product reads a quantized format, a chunk of columns at a
 * time. */
#ifndef KERNELS_SIMD_FORMAT_H
#define KERNELS_SIMD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHUNK_K = 256, CHUNK_META = 16 };

/* The byte of a weight is its quant plus bias, so >= 0; bias 0 and w_signed: the signed
 * quant. */
struct q8_format {
    unsigned block_elems, block_bytes;
    unsigned group; /* weights a scale: 32 or 16 */
    int bias;
    bool has_min; /* value = scale * quant - min; group 32 */
    bool w_signed;
    /*
     * n_k weights (a multiple of 32, at most CHUNK_K) from src: bytes to q[CHUNK_K], scales
     * to meta[0..15] of group 16; scales to meta[0..7] and mins to meta[8..15] of group 32.
     * q and meta are 64-byte aligned.
     */
    void (*unpack)(const unsigned char *src, size_t n_k, uint8_t *q, float *meta);
};

#endif
