/* kernels/simd/format.h: how a product reads a quantized format, a chunk of columns at a
 * time. */
#ifndef KERNELS_SIMD_FORMAT_H
#define KERNELS_SIMD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CHUNK_META: a scale and a min for each 16 columns of a chunk. */
enum { CHUNK_K = 256, CHUNK_META = 32 };

/*
 * n_k weights (a multiple of 32, at most CHUNK_K) from src: bytes to q[CHUNK_K], the
 * scale of group g to meta[g], its min to meta[CHUNK_K / group + g]. q and meta are
 * 64-byte aligned.
 */
typedef void q8_unpack_fn(const unsigned char *src, size_t n_k, uint8_t *q, float *meta);

struct q8_format {
    unsigned block_elems, block_bytes;
    unsigned group; /* weights a scale, and a min: 32 or 16 */
    int bias;       /* the byte of a weight is its quant plus bias, so >= 0; 0 with mins */
    bool has_min;   /* value = scale * quant - min */
    bool w_signed;  /* the byte is the signed quant; bias 0 */
    q8_unpack_fn *unpack;
};

#endif
