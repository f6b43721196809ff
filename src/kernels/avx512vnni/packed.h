/*
 * kernels/avx512vnni/packed.h: products of packed weights (pack.h). For several tokens a chunk of 32 rows x 256 columns of any format is
 * unpacked to bytes and scales, which all tokens use. methods.md (90), doc/notes/kernels.md
 */
#ifndef KERNELS_AVX512VNNI_PACKED_H
#define KERNELS_AVX512VNNI_PACKED_H

#include "kernels/internal.h"

enum {
    PANEL_ROWS = 32, /* two panels of pack.h: each broadcast of activations feeds two dot products */
    PANEL_K = 256,
    PANEL_BLOCKS = PANEL_K / 32,
    PACKED_FEW_TOK = 32, /* tokens whose activations fit L2: a decode batch, not a prompt */
    IN_PLACE_TOK = 64, /* tokens up to which copying the weights is slower, if masks have ports of their own. Zen 4, from L2, 17, 32, 64
                          tokens, % of a vpdpbusd a cycle, with and without a copy: Q8_0 68, 75, 82 and 83, 84, 86; Q4_0 72, 77, 81
                          and 82, 83, 83; Q4_K 66, 72, 76 and 73, 75, 76 */
};

/* Start value of integer accumulators, and the float of these bits: methods.md (90). */
#define PANEL_ONE_BITS 0x4b400000
#define PANEL_ONE      0x1.8p23f

/* Scales and mins of a row and block. */
enum panel_meta {
    META_SCALE, /* PANEL_16, in pairs: two int16, of 16 columns each; of the other 16 rows the second one first */
    META_MIN,  /* what is subtracted (PANEL_8_MINS: of `unpack` and `floats` alone); PANEL_2_MINS: times the integers that follow */
    META_MINS, /* PANEL_2_MINS: two int16. PANEL_8_MINS: of blocks 2i two int16, of block 1 what all eight times */
    META_COUNT,
    META_SCALE2 = META_MIN, /* PANEL_16: of the second 16 columns */
    META_D = META_MIN,      /* in pairs: of the first of 8 blocks what all their scales times, twice */
};

/* 32 columns: weights as bytes >= 0, four to a row, rows as lanes; 16 rows, then the other 16. Lines are written in sequence: alternate
 * lines take more than twice the time on Intel cores. */
struct panel_block {
    _Alignas(64) uint8_t w[2][8][64];
    float meta[META_COUNT][2][16];
};

/* How scales and bytes make weights; the value of a byte w. */
enum panel_kind {
    PANEL_32,      /* scale * (w - bias), a scale for 32 columns */
    PANEL_32_MIN,  /* scale * w - min */
    PANEL_16,      /* scale * (w - bias), a scale for 16 columns */
    PANEL_2_MINS,  /* scale * w - min * (integer of 16 columns) */
    PANEL_8_MINS,  /* scale * w - min; of 256 columns mins are integers of at most 6 bits times one float */
};

/* How weights are packed (pack.h): packed_place.h. */
enum panel_place {
    PLACE_PANEL,     /* unpacked only */
    PLACE_BYTES,     /* Q8_0: as they are */
    PLACE_NIBBLES,   /* Q4_0: of four units the lower nibbles, then the upper ones */
    PLACE_NIBBLES_1, /* Q4_1 */
    PLACE_FIVES,     /* Q5_0: nibbles behind a unit of fifth bits */
    PLACE_FIVES_1,   /* Q5_1 */
    PLACE_NL,        /* IQ4_NL: nibbles are numbers of a table */
    PLACE_E2M1,      /* MXFP4 */
    PLACE_NIBBLES_K, /* Q4_K: the lower nibbles of eight units; of the next block the upper ones, times 16, with its scale divided by 16 */
    PLACE_FIVES_K,   /* Q5_K: the same without the factor; fifth bits in eight units for eight blocks */
    PLACE_SIXES,     /* Q6_K: three units hold a quad of four blocks */
    PLACE_NL_K,      /* IQ4_XS */
};
enum { PLACES = PLACE_NL_K + 1 };

/* n blocks of 32 columns of a panel of 16 rows at src to half h of dst. */
typedef void panel_unpack_fn(const unsigned char *src, size_t n, struct panel_block *dst, size_t h);

struct panel_format {
    enum panel_kind kind;
    int bias;
    panel_unpack_fn *unpack;
    panel_unpack_fn *scales; /* without the weights, which tiles read at `place`; NULL: none */
    panel_unpack_fn *pairs;  /* PANEL_16: the same in pairs of integers, for exact scales of activations; NULL: separate sums. methods.md (91) */
    panel_unpack_fn *floats; /* scales and mins as floats, for weights without factors, which AMX reads at `place`; NULL: AMX uses `unpack` */
    enum panel_place place;
    unsigned in_place_tok; /* tokens up to which all tiles read the weights at `place`; 0: the first tile only */
};

enum {
    VNNI_FEW_TOK = 3,    /* tokens up to which memory bandwidth is the limit */
    VNNI_BATCH_TOK = 6,  /* tokens of one pass, sums in registers. With more, tiles (packed_gemm.c) are faster: Zen 5, two threads, tokens/s
                            of 6, 8, 12, 16 sequences by passes and by tiles: Q4_K_M 302, 312, 367, 354 and 288, 379, 444, 467;
                            Q8_0 197, 272, 335, 408 and 188, 256, 392, 520; Q4_0 420, 463, 468, 474 and 346, 454, 498, 518 */
    VNNI_BATCH_MOST = 8, /* on CPU_HW_PREFETCH, for types whose weights the first tile copies, except MXFP4. Zen 4, one thread, GOP/s of 8
                            tokens by tiles and by passes: Q5_K 262 and 263, Q6_K 263 and 283, IQ4_XS 317 and 327, IQ4_NL 315 and
                            335, Q4_1 275 and 314, Q5_0 272 and 309, Q5_1 200 and 281; MXFP4, two threads, tokens/s 844 and 810 */
};

/* Products of a type, packed. */
struct vnni_packed {
    matmul_fn *gemv;     /* of at most VNNI_BATCH_TOK tokens; rows begin at a multiple of PACK_ROWS */
    matmul_fn *streams;  /* the same for CPU_HW_PREFETCH: with less prefetch, */
    matmul_fn *once;     /* and for CPU_SW_PREFETCH */
    unsigned streams_tok; /* of streams, at most */
    struct panel_format panel;
    struct panel_format two_ports; /* for CPU_TWO_PORTS, where masks and blends take the ports of products: nibbles are masked once, and
                                      sums stay apart; zeros: as panel */
};
/* Of the types of packed_32.c and packed_k.c; NULL: another type. */
const struct vnni_packed *vnni_packed_32(enum dtype type);
const struct vnni_packed *vnni_packed_k(enum dtype type);
/* Of both; the second also for two_ports. */
const struct vnni_packed *vnni_packed(enum dtype type);
const struct panel_format *panel_format(enum dtype type, bool two_ports);

matmul_fn vnni_packed_gemm, vnni_packed_gemm_two_ports;
pack_acts_fn vnni_pack_acts, vnni_pack_acts_two_ports;

#endif
