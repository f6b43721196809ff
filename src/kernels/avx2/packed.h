/*
 * kernels/avx2/packed.h: products of packed quantized weights (kernels/pack.h). Lanes are rows: a line of a
 * panel, 16 rows x 4 bytes, is two vectors, multiplied by a broadcast of the activations of the same columns.
 *
 * Bytes of weights are unsigned, quant + bias. vpmaddubsw adds pairs of products in 16 bits; weights of up to
 * 5 bits are summed there over 16 or 32 columns, and one vpmaddwd a sum brings them to 32 bits, for K-quants
 * times their integer scale. The sums start at -bias * (sum of the activations), separately for the two lanes
 * of 16 bits, so that they end as sums of quant * activation: at most 16 * 16 * 127 or 8 * 32 * 127 in a lane,
 * below 2^15 (what comes between may wrap). Weights of 8 bits do not fit: they and the activations are widened
 * to 16 bits and multiplied by vpmaddwd.
 */
#ifndef KERNELS_AVX2_PACKED_H
#define KERNELS_AVX2_PACKED_H

#include "kernels/avx2/simd256.h"
#include "kernels/internal.h"
#include "kernels/pack.h"
#include "kernels/simd/format.h"

enum { PACKED_TILE = 3 }; /* tokens of a tile: 6 integer and 6 float accumulators of 16 registers */

/* Compile-time parameters of a format. */
struct packed_shape {
    unsigned elems, bytes, head, group; /* pack.h: of a block; bytes a row of its first field; blocks a group */
    unsigned sum_k;                     /* columns a sum in integers: 16 or 32 */
    unsigned min_k;                     /* columns a min; 0: value = scale * quant, else scale * quant - min */
    int bias;                           /* of the bytes; 0 with mins */
    bool wide;                          /* bytes of 8 bits */
    bool int_scale;                     /* scale = d * integer */
    bool pairs;                         /* int_scale, sum_k 16: two sums times scales fit 32 bits */
    unsigned lines, outs; /* a step decodes `lines` lines, each to `outs` vectors of the columns span apart */
};
/* Columns between the vectors of a line. */
#define PACKED_SPAN(f) ((f).lines * 4)
#define PACKED_STEP(f) (PACKED_SPAN(f) * (f).outs)

/* Scales of a chunk of columns of 16 rows. */
struct packed_meta {
    union {
        _Alignas(64) float scale[CHUNK_K / 32][PACK_ROWS];
        int32_t pair[CHUNK_K / 16][PACK_ROWS]; /* int_scale: of each sum, twice as int16 */
    };
    float d[PACK_ROWS], dmin[PACK_ROWS]; /* int_scale: factors of scales and mins */
    float min[CHUNK_K / 16][PACK_ROWS];
};

/* Bytes as products read them: w[k / 4][row][k % 4]; wide: as 16 bits, columns 0 and 2 of four of all k, then 1
 * and 3. */
struct packed_panel {
    _Alignas(64) uint8_t w[2 * CHUNK_K][PACK_ROWS];
    struct packed_meta meta;
};

/* Activations of a token and a chunk; q (narrow) or int16 x[2][CHUNK_K / 4][2] (wide, in the order of the
 * panel's) follows. */
struct packed_tok {
    float d[CHUNK_K / 32];
    union { /* no format has a bias and mins */
        int32_t start[CHUNK_K / 16]; /* of each sum: two int16, or wide one int32 */
        float xsum[CHUNK_K / 16];    /* of each min: d * sum of q */
    };
    _Alignas(32) int8_t q[];
};
enum {
    PACKED_TOK_BYTES = 384, /* from token to token, */
    PACKED_TOK_WIDE = 640,  /* of wide formats */
    PACKED_SLAB = 512,      /* tokens at a time */
    PACKED_PANELS = 4,      /* panels unpacked at a time, each multiplied by the same tile of tokens */
};
_Static_assert(sizeof(struct packed_tok) + CHUNK_K <= PACKED_TOK_BYTES, "narrow");
_Static_assert(sizeof(struct packed_tok) + 2 * CHUNK_K <= PACKED_TOK_WIDE, "wide");
_Static_assert(PACKED_SLAB * PACKED_TOK_WIDE + PACKED_PANELS * sizeof(struct packed_panel) <=
                   PACKED_SLAB * SCRATCH_TOK_BYTES + SCRATCH_PANEL_BYTES,
               "a slab of tokens in the scratch");
_Static_assert(PACKED_TOK_WIDE <= CHUNK_K * SCRATCH_COL_BYTES, "one token, all its chunks, in the scratch");

/* One tile: all 16 rows of the panel, n_tok <= PACKED_TILE tokens. */
struct packed_tile {
    const struct packed_panel *panel;
    const unsigned char *tok; /* struct packed_tok of the first token */
    float *y;                 /* of the first row and token */
    size_t y_stride, n_k, n_rows;
    bool first; /* y is written, not added to */
};

struct packed_format {
    matmul_fn *gemv, *gemv_streams; /* of one token; the second for CPU_HW_PREFETCH: without prefetch */
    struct packed_shape shape;
    /* n_k columns, at most CHUNK_K, of the panel's 16 rows at p */
    void (*unpack)(struct packed_panel *panel, const unsigned char *p, size_t n_k);
    void (*tile)(const struct packed_tile *t, size_t n_tok);
};
/* Of the types of packed_32.c and packed_k.c; NULL: another type. */
const struct packed_format *avx2_packed_32(enum dtype type);
const struct packed_format *avx2_packed_k(enum dtype type);
static inline const struct packed_format *avx2_packed(enum dtype type)
{
    const struct packed_format *f = avx2_packed_32(type);
    return f ? f : avx2_packed_k(type);
}

/* Columns [k, k + n_k) of token t of x. */
void packed_prepare(struct packed_tok *tok, const struct acts *x, size_t t, size_t k, size_t n_k,
                    const struct packed_shape *f);
matmul_fn avx2_packed_gemm;

#endif
