/*
 * Loop of all tile products; macros only. Sums in tmm0 to 4, x in tmm5, y and -y in tmm6 and 7, each 16 rows of 64 bytes. Operand rows:
 * x, y, -y, start.
 */
#ifndef CEILINGS_AMX_TILE_H
#define CEILINGS_AMX_TILE_H

#include "ceilings/mix.h"

/* Palette 1: 16 rows of 64 bytes for each of the eight tiles. Source: Intel SDM, LDTILECFG. */
#define TILE_CONFIG                                                                                                    \
    static const _Alignas(64) uint8_t config[64] = { [0] = 1, [16] = 64, [18] = 64, [20] = 64, [22] = 64, [24] = 64,   \
                                                     [26] = 64, [28] = 64, [30] = 64, [48] = 16, [49] = 16, [50] = 16, \
                                                     [51] = 16, [52] = 16, [53] = 16, [54] = 16, [55] = 16 }
/* Stride 0: all tile rows are one operand row. */
#define LOAD(t, at) "tileloadd " #at "(%1,%3,1), %%tmm" #t "\n\t"
#define LOOP(fn, mix, operands)                                                                                        \
    static void fn(uint64_t n)                                                                                         \
    {                                                                                                                  \
        TILE_CONFIG;                                                                                                   \
        __asm__ volatile("ldtilecfg (%2)\n\t" LOAD(0, 192) LOAD(1, 192) LOAD(2, 192) LOAD(3, 192) LOAD(4, 192)         \
                             LOAD(5, 0) LOAD(6, 64) LOAD(7, 128) ".p2align 5\n1:\n\t" mix(6) mix(7) mix(6) mix(7)      \
                         "dec %0\n\tjnz 1b\n\ttilerelease"                                                             \
                         : "+r"(n)                                                                                     \
                         : "r"(operands), "r"(config), "r"((uint64_t)0)                                                \
                         : "cc", "memory");                                                                            \
    }
#define TILES(prefix, operands)                                                                                        \
    LOOP(prefix##_4, MIX_F4, operands)                                                                                 \
    LOOP(prefix##_5, MIX_F5, operands)
/* A product: 16 x 16 sums of `depth` pairs. */
#define TILE_ROWS(isa, need, math, name, prefix, depth, elem)                                                          \
    { isa, need, math, name " 4", 4 * 4 * 256 * 2.0 * (depth), prefix##_4, NULL, ISSUE_TILE, 512, elem },              \
    { isa, need, math, name " 5", 4 * 5 * 256 * 2.0 * (depth), prefix##_5, NULL, ISSUE_TILE, 512, elem }

#endif
