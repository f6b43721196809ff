/*
 * kernels/simd/panel_q8.h: what simd/gemm_q8.h prepares before it multiplies: a chunk of
 * columns of a panel of rows as interleaved bytes, and of all tokens the scales and sums
 * that go with them. Over the vector names of an ISA's simd header; static inline only.
 */
#ifndef KERNELS_SIMD_PANEL_Q8_H
#define KERNELS_SIMD_PANEL_Q8_H

#include "kernels/internal.h"
#include "kernels/simd/format.h"
#include <string.h>

enum {
    Q8_ROWS = 2 * VL, /* rows a panel */
    Q8_PANELS = 2,    /* panels unpacked before walking the tokens */
};

struct q8_panel {
    uint8_t w[CHUNK_K / 4][Q8_ROWS][4];
    float meta[CHUNK_META][Q8_ROWS];
};

/* Per token and chunk: scales, and for each group what a format needs in addition: no
 * format has a bias and mins. */
struct q8_tok {
    _Alignas(64) float d[CHUNK_K / 32];
    union {
        int32_t start[CHUNK_K / 16]; /* of the accumulators, for a bias */
        float xsum[CHUNK_K / 16];    /* d * sum, for mins */
    };
};

struct q8_scratch {
    struct q8_panel panel[Q8_PANELS];
    uint8_t linear[Q8_ROWS][CHUNK_K];
    float meta[Q8_ROWS][CHUNK_META];
    struct q8_tok tok[];
};
_Static_assert(sizeof(struct q8_scratch) <= SCRATCH_PANEL_BYTES, "fixed part of the scratch");
_Static_assert(sizeof(struct q8_tok) <= SCRATCH_TOK_BYTES, "token part of the scratch");

/* ---- weights ----------------------------------------------------------------------- */

/* Rows of 4-byte groups become VL-row columns of them. */
static void q8_interleave(const struct q8_scratch *s, struct q8_panel *p, size_t n_k, size_t n_meta)
{
    vi r[VL];
    for (size_t h = 0; h < Q8_ROWS; h += VL) {
        for (size_t k = 0; k < n_k; k += 4 * VL) {
            for (size_t i = 0; i < VL; i++)
                r[i] = vi_load(&s->linear[h + i][k]);
            vi_transpose(r);
            for (size_t i = 0; i < VL; i++)
                vi_store(&p->w[k / 4 + i][h], r[i]);
        }
        for (size_t g = 0; g < n_meta; g += VL) {
            for (size_t i = 0; i < VL; i++)
                r[i] = vi_load(&s->meta[h + i][g]);
            vi_transpose(r);
            for (size_t i = 0; i < VL; i++)
                vi_store(&p->meta[g + i][h], r[i]);
        }
    }
}

/* src: the chunk in the panel's first row. Rows past n_rows keep old bytes: never stored.
 */
static void q8_unpack_panel(struct q8_scratch *s, struct q8_panel *p, const struct q8_format *f, const unsigned char *src,
                            size_t row_bytes, size_t n_rows, size_t n_k)
{
    for (size_t r = 0; r < n_rows && r < Q8_ROWS; r++)
        f->unpack(src + r * row_bytes, n_k, s->linear[r], s->meta[r]);
    q8_interleave(s, p, n_k, CHUNK_K / f->group * (f->has_min ? 2 : 1));
}

/* ---- activations ------------------------------------------------------------------- */

/* Loops of constant length over copies, for the compiler to vectorize. */
static void q8_prepare_tokens(struct q8_tok *tok, const struct acts *x, const struct q8_format *f, size_t k, size_t n_k)
{
    int16_t sum[CHUNK_K / 16] = { 0 };
    float d[CHUNK_K / 32] = { 0 };
    for (size_t t = 0; t < x->n_tok; t++) {
        size_t at = t * x->stride + k;
        if (n_k == CHUNK_K) {
            memcpy(sum, x->sum + at / 16, sizeof sum);
            memcpy(d, x->d + at / 32, sizeof d);
        } else {
            memcpy(sum, x->sum + at / 16, n_k / 16 * sizeof *sum);
            memcpy(d, x->d + at / 32, n_k / 32 * sizeof *d);
        }
        memcpy(tok[t].d, d, sizeof d);
        int32_t q_sum[CHUNK_K / 16] = { 0 }; /* of each group, and its scale */
        float q_d[CHUNK_K / 16] = { 0 };
        if (f->group == 16)
            for (size_t g = 0; g < CHUNK_K / 16; g++) {
                q_sum[g] = sum[g];
                q_d[g] = d[g / 2];
            }
        else
            for (size_t b = 0; b < CHUNK_K / 32; b++) {
                q_sum[b] = sum[2 * b] + sum[2 * b + 1];
                q_d[b] = d[b];
            }
        if (f->has_min)
            for (size_t g = 0; g < CHUNK_K / 16; g++)
                tok[t].xsum[g] = q_d[g] * (float)q_sum[g];
        else
            for (size_t g = 0; g < CHUNK_K / 16; g++)
                tok[t].start[g] = -f->bias * q_sum[g];
    }
}

#endif
