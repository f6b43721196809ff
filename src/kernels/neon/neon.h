/*
 * kernels/neon/neon.h: the functions of the NEON rung, and what the rungs above it share
 * with it: packed weights (kernels/pack.h) unpacked to bytes, a chunk of columns of a panel
 * of 16 rows at a time, and the walk over panels, chunks and tokens. Those rungs bring a
 * tile: the product of a panel with four tokens.
 */
#ifndef KERNELS_NEON_NEON_H
#define KERNELS_NEON_NEON_H

#include "kernels/internal.h"
#include "kernels/pack.h"

enum {
    NEON_K = 256, /* columns of a chunk: whole blocks of every type */
    NEON_TOK = 4, /* tokens of a tile */
};

/* A chunk of a panel: value = d * q - m, d and m of groups of 16 or 32 columns. */
struct neon_panel {
    int8_t q[NEON_K / 4][PACK_ROWS][4];
    float d[NEON_K / 16][PACK_ROWS];
    float m[NEON_K / 16][PACK_ROWS]; /* of formats that have mins */
};

/* A chunk of the activations of four tokens; those past the last are 0. */
struct neon_acts {
    int8_t q[NEON_K / 16][NEON_TOK][16]; /* as the tile wants them (struct neon_dot.pack) */
    float d[NEON_K / 16][NEON_TOK];      /* scales, one for each group of the weights */
    float s[NEON_K / 16][NEON_TOK];      /* scale times sum of q, for mins */
};

struct neon_format {
    unsigned group; /* columns a scale: 16 or 32 */
    bool has_min;
    /* n_k columns (a multiple of 32) of a panel, from a chunk of its packed bytes. */
    void (*unpack)(const unsigned char *chunk, size_t n_k, struct neon_panel *p);
};
/* Of a type; NULL: none. */
const struct neon_format *neon_format(enum dtype type);

/* y of n_rows rows and n_tok tokens grows by a chunk; of the first chunk it begins there. */
struct neon_tile {
    const struct neon_format *f;
    const struct neon_panel *w;
    const struct neon_acts *x;
    size_t n_k, n_rows, n_tok;
    float *y;
    size_t y_stride;
    bool first;
};

/* How a rung multiplies. */
struct neon_dot {
    /* 16 columns of four tokens, bytes [token][16], into x->q[i]; NULL: as they are. */
    void (*pack)(int8_t q[NEON_TOK][16]);
    /* Bytes of a panel rearranged after they were unpacked; NULL: as they are. */
    void (*arrange)(struct neon_panel *p, size_t n_k);
    void (*tile)(const struct neon_tile *t);
};
extern const struct neon_dot neon_dot;

/* Rows [row0, row1), row0 a multiple of PACK_ROWS, of quantized weights as packed or as in the file;
 * `few` is how up to NEON_TOK tokens are multiplied, `many` how more are. */
void neon_product(const struct matmul_args *a, size_t row0, size_t row1, bool packed, const struct neon_dot *few,
                  const struct neon_dot *many);

/* Slots of F32, F16 and BF16: as in the file; packed. */
void neon_dense_slots(struct kernels *k);
void neon_packed_dense_slots(struct kernels *k);
void neon_vector_slots(struct kernels *k);
attention_fn neon_attention;

#endif
