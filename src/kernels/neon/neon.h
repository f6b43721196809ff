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
    enum dtype type;
    unsigned group; /* columns a scale: 16 or 32 */
    bool has_min;
    /* n_k columns (a multiple of 32) of a panel, from a chunk of its packed bytes. */
    void (*unpack)(const unsigned char *chunk, size_t n_k, struct neon_panel *p);
};
extern const struct neon_format neon_q8_0, neon_q4_0, neon_q4_1, neon_q5_0, neon_q5_1;
extern const struct neon_format neon_q2_k, neon_q3_k, neon_q4_k, neon_q5_k, neon_q6_k;
extern const struct neon_format neon_iq4_nl, neon_iq4_xs, neon_mxfp4;

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

/* Rows [row0, row1), row0 a multiple of PACK_ROWS, of weights as packed or as in the file;
 * `few` is how up to NEON_TOK tokens are multiplied, `many` how more are. */
void neon_product(const struct matmul_args *a, size_t row0, size_t row1, const struct neon_format *f, bool packed,
                  const struct neon_dot *few, const struct neon_dot *many);

matmul_fn neon_gemv_f32, neon_gemm_f32, neon_gemv_f16, neon_gemm_f16, neon_gemv_bf16, neon_gemm_bf16;
matmul_fn neon_packed_f32, neon_packed_f16, neon_packed_bf16;
attention_fn neon_attention;
void neon_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1);
void neon_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1);
void neon_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps);
void neon_silu_mul(float *dst, const float *a, const float *b, size_t n);
void neon_gelu_mul(float *dst, const float *a, const float *b, size_t n);
void neon_swiglu_oai(float *dst, const float *a, const float *b, size_t n);
void neon_add(float *dst, const float *src, size_t n);
void neon_softmax(float *x, size_t n);
void neon_softcap(float *x, size_t n, float cap);
void neon_rope(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs);
void neon_rope_neox(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs);
void neon_f32_to_f16(uint16_t *dst, const float *src, size_t n);

#endif
