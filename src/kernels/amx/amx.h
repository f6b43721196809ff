/* amx/amx.h: products of packed weights with many tokens, and attention, by tiles of bf16. methods.md (5), (93) */
#ifndef KERNELS_AMX_AMX_H
#define KERNELS_AMX_AMX_H

#include "kernels/avx512vnni/packed.h"

enum {
    AMX_MIN_TOK = 30,      /* converting the weights to bf16 costs more than some tokens by vpdpbusd: tiles multiply 24, 28, 32, 40, 48 tokens 0.87-1.06,
                              0.93-1.18, 0.99-1.31, 1.11-1.37, 1.23-1.61 times as fast (five types, [2048, 2048], in turn, one thread and two) */
    AMX_MIN_TOK_BF16 = 7,  /* BF16 has no copy: 8, 10, 12 sequences 1.2, 1.4, 1.5 times as fast as by vdpbf16ps, 7 as fast (TinyLlama, two threads) */
    AMX_MIN_TOK_F16 = 13,  /* F16 has one of two numbers, and up to 12 tokens one pass: tiles multiply 10, 12, 16, 24, 32 tokens 0.83, 0.91, 1.1, 1.3,
                              1.6 times as fast ([2048, 2048], in turn, one thread; two alike) */
    AMX_MIN_TOK_F32 = 64,  /* F32 has one of three, and half the speed: tiles multiply 32, 64, 65, 72, 80, 96, 128, 512 tokens 0.78, 0.98-1.05, 0.98,
                              1.01-1.06, 1.17, 1.2-1.3, 1.3, 1.7-1.9 times as fast (the same) */
    AMX_BLOCK_TOK = 512,   /* tokens whose sums fit L2 */
};

matmul_fn amx_gemm_q8, amx_gemm_numbers; /* of 8-bit activations; of F32, F16, BF16 */
pack_acts_fn amx_pack_acts_q8, amx_pack_acts_numbers;

pack_acts_row_fn amx_pack_acts_row, amx_pack_acts_row_f32; /* any type but F32; F32 */

attention_fn amx_attention;

/* A chunk of a panel of 32 rows, packed: 16 rows and the other 16, and its blocks' scales. */
struct amx_packed {
    const unsigned char *half[2];
    const struct panel_block *meta;
    unsigned blocks; /* of 32 columns */
};
/* Quads [first, first + n), of each block those of the first 16 rows, then the others', to bf16: to[quads][2][16 rows][2 columns]. */
typedef void amx_convert_fn(uint16_t *to, const struct amx_packed *from, size_t first, size_t n, const struct panel_format *f);
extern const struct panel_format amx_f16, amx_f32; /* weights become two numbers each; three */
amx_convert_fn *amx_convert_of(const struct panel_format *f);
/* room: for `blocks` blocks, used until they are converted. */
void amx_convert_begin(struct amx_packed *from, const struct panel_format *f, const unsigned char *first, const unsigned char *second, size_t blocks,
                       struct panel_block *room);

/* Palette 1: 16 rows of 64 bytes for each tile. Source: Intel SDM, LDTILECFG. Tile instructions are inline
 * assembly: compilers do not model the operands of the intrinsics. */
static inline void amx_tiles_begin(void)
{
    static const _Alignas(64) uint8_t config[64] = { [0] = 1, [16] = 64, [18] = 64, [20] = 64, [22] = 64, [24] = 64,
                                                     [26] = 64, [28] = 64, [30] = 64, [48] = 16, [49] = 16, [50] = 16,
                                                     [51] = 16, [52] = 16, [53] = 16, [54] = 16, [55] = 16 };
    __asm__ volatile("ldtilecfg (%0)" ::"r"(config) : "memory");
}
static inline void amx_tiles_end(void)
{
    __asm__ volatile("tilerelease" ::: "memory");
}

#endif
