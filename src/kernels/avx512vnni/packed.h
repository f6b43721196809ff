/*
 * kernels/avx512vnni/packed.h: products of packed weights (pack.h) with several tokens: a chunk of 32 rows x
 * 256 columns of any format becomes bytes and scales, which all tokens then use. methods.md (90), doc/notes/kernels.md
 */
#ifndef KERNELS_AVX512VNNI_PACKED_H
#define KERNELS_AVX512VNNI_PACKED_H

#include "kernels/internal.h"

enum {
    PANEL_ROWS = 32, /* two panels of pack.h: each broadcast of activations feeds two dot products */
    PANEL_K = 256,
    PANEL_BLOCKS = PANEL_K / 32,
    PACKED_FEW_TOK = 32, /* tokens whose activations stay in the L2 cache: a batch that decodes, not a prompt */
    IN_PLACE_TOK = 64, /* tokens for which a copy of the weights does not pay, where masks have ports of their own. Zen 4, from L2, 17, 32,
                          64 tokens: Q8_0 68, 75, 82 % of a vpdpbusd a cycle with a copy before the tiles, 83, 84, 86 without; Q4_0 72, 77, 81
                          and 82, 83, 83; Q4_K 66, 72, 76 and 73, 75, 76 */
};

/* Where integer accumulators start, and the float of these bits: methods.md (90). */
#define PANEL_ONE_BITS 0x4b400000
#define PANEL_ONE      0x1.8p23f

/* Numbers of a row and block beside its weights. */
enum panel_meta {
    META_SCALE, /* PANEL_16, in pairs: two int16, of 16 columns each; of the other 16 rows the second one first */
    META_MIN,  /* what is subtracted (PANEL_8_MINS: of `unpack` and `floats` alone); PANEL_2_MINS: times the integers that follow */
    META_MINS, /* PANEL_2_MINS: two int16. PANEL_8_MINS: of blocks 2i two int16, of block 1 what all eight times */
    META_COUNT,
    META_SCALE2 = META_MIN, /* PANEL_16: of the second 16 columns */
    META_D = META_MIN,      /* in pairs: of the first of 8 blocks what all their scales times, twice */
};

/* 32 columns: weights as bytes >= 0, four to a row, rows as lanes; 16 rows, then the other 16. They are written line after
 * line: storing every other one takes more than twice the time on Intel's cores. */
struct panel_block {
    _Alignas(64) uint8_t w[2][8][64];
    float meta[META_COUNT][2][16];
};

/* How a format's weights are made of bytes; the value of a byte w. */
enum panel_kind {
    PANEL_32,      /* scale * (w - bias), a scale for 32 columns */
    PANEL_32_MIN,  /* scale * w - min */
    PANEL_16,      /* scale * (w - bias), a scale for 16 columns */
    PANEL_2_MINS,  /* scale * w - min * (integer of 16 columns) */
    PANEL_8_MINS,  /* scale * w - min; of 256 columns mins are integers of at most 6 bits times one float */
};

/* How weights are packed (pack.h), and so where a tile finds them: packed_place.h. */
enum panel_place {
    PLACE_PANEL,     /* unpacked, and nowhere else */
    PLACE_BYTES,     /* Q8_0: as they are */
    PLACE_NIBBLES,   /* Q4_0: of four units the lower nibbles, then the upper ones */
    PLACE_NIBBLES_1, /* Q4_1 */
    PLACE_FIVES,     /* Q5_0: nibbles behind a unit of fifth bits */
    PLACE_FIVES_1,   /* Q5_1 */
    PLACE_NL,        /* IQ4_NL: nibbles are numbers of a table */
    PLACE_E2M1,      /* MXFP4 */
    PLACE_NIBBLES_K, /* Q4_K: of eight units the lower nibbles, of the next block the upper ones, 16 times too large as its scale is too small */
    PLACE_FIVES_K,   /* Q5_K: the same, as they should be; fifth bits in eight units for eight blocks */
    PLACE_SIXES,     /* Q6_K: three units hold a quad of four blocks */
    PLACE_NL_K,      /* IQ4_XS */
};
enum { PLACES = PLACE_NL_K + 1 };

/* n blocks of 32 columns of a panel of 16 rows at src to half h of dst. */
typedef void panel_unpack_fn(const unsigned char *src, size_t n, struct panel_block *dst, size_t h);

struct panel_format {
    uint16_t block_elems, block_bytes; /* in the file */
    enum panel_kind kind;
    int bias;
    panel_unpack_fn *unpack;
    panel_unpack_fn *scales; /* without the weights, which tiles read at `place`; NULL: they do not */
    panel_unpack_fn *pairs;  /* PANEL_16: the same, in pairs of integers; where activations' scales are exact. NULL: sums stay apart. methods.md (91) */
    panel_unpack_fn *floats; /* scales and mins as floats, for weights as small as they are: AMX reads these at `place`. NULL: unpacked */
    enum panel_place place;
    unsigned in_place_tok; /* up to so many tokens all tiles read the weights at `place`; 0: none does but the first */
};

extern const struct panel_format panel_q8_0, panel_q4_0, panel_q4_1, panel_q5_0, panel_q5_1, panel_iq4_nl, panel_mxfp4;
extern const struct panel_format panel_q2_k, panel_q3_k, panel_q4_k, panel_q5_k, panel_q6_k, panel_iq4_xs;
/* For CPU_TWO_PORTS, where masks and blends take the ports of products: nibbles are masked once, and sums stay apart. */
extern const struct panel_format panel_q4_0_two_ports, panel_q4_k_two_ports, panel_q6_k_two_ports;

matmul_fn packed_gemm_q8_0, packed_gemm_q4_0, packed_gemm_q4_1, packed_gemm_q5_0, packed_gemm_q5_1;
matmul_fn packed_gemm_iq4_nl, packed_gemm_mxfp4, packed_gemm_q2_k, packed_gemm_q3_k, packed_gemm_q4_k;
matmul_fn packed_gemm_q5_k, packed_gemm_q6_k, packed_gemm_iq4_xs;
matmul_fn packed_gemm_q4_0_two_ports, packed_gemm_q4_k_two_ports, packed_gemm_q6_k_two_ports;
arrange_fn packed_arrange_q8_0, packed_arrange_q4_0, packed_arrange_q4_1, packed_arrange_q5_0, packed_arrange_q5_1;
arrange_fn packed_arrange_iq4_nl, packed_arrange_mxfp4, packed_arrange_q2_k, packed_arrange_q3_k, packed_arrange_q4_k;
arrange_fn packed_arrange_q5_k, packed_arrange_q6_k, packed_arrange_iq4_xs;
arrange_fn packed_arrange_q4_0_two_ports, packed_arrange_q4_k_two_ports, packed_arrange_q6_k_two_ports;

#endif
