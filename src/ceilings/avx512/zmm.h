/*
 * Loop of all 64-byte ISAs; macros only. Accumulators zmm0 to 23, temporary 27, constants 28, x in 29, y and -y in 30 and 31. Operand
 * rows: x, y, -y, start.
 */
#ifndef CEILINGS_AVX512_ZMM_H
#define CEILINGS_AVX512_ZMM_H

#include "ceilings/mix.h"

#define ZMM_ALL                                                                                                        \
    "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10", "zmm11", "zmm12",         \
        "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24",    \
        "zmm25", "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31"
#define START(r) "vmovups 192(%1), %%zmm" #r "\n\t"
#define START24                                                                                                        \
    START(0) START(1) START(2) START(3) START(4) START(5) START(6) START(7) START(8) START(9) START(10) START(11)      \
    START(12) START(13) START(14) START(15) START(16) START(17) START(18) START(19) START(20) START(21) START(22)      \
    START(23) START(28)
#define LOOP(fn, mix, operands)                                                                                        \
    static void fn(uint64_t n)                                                                                         \
    {                                                                                                                  \
        __asm__ volatile(START24 "vmovups (%1), %%zmm29\n\tvmovups 64(%1), %%zmm30\n\tvmovups 128(%1), %%zmm31\n\t"    \
                                 ".p2align 5\n1:\n\t" mix(30) mix(31) "dec %0\n\tjnz 1b\n\tvzeroupper"                 \
                         : "+r"(n)                                                                                     \
                         : "r"(operands)                                                                               \
                         : ZMM_ALL, "cc", "memory");                                                                   \
    }
/* Additions and one instruction of the measured kind: the clock under such instructions. */
#define CHAIN(fn, instruction)                                                                                         \
    static void fn(uint64_t n)                                                                                         \
    {                                                                                                                  \
        uint64_t x = n | 1, y = n | 3;                                                                                 \
        __asm__ volatile("vpxorq %%zmm0, %%zmm0, %%zmm0\n\t" CHAIN_X86 instruction                                     \
                         " %%zmm0, %%zmm0, %%zmm0\n\t" CHAIN_X86_END "\n\tvzeroupper"                                  \
                         : "+r"(n), "+r"(x)                                                                            \
                         : "r"(y)                                                                                      \
                         : "zmm0", "cc");                                                                              \
    }

/* Multiply-adds, and mixes with additions. */
#define FAMILY(prefix, operands)                                                                                       \
    LOOP(prefix##_8, MIX_F8, operands)                                                                                 \
    LOOP(prefix##_12, MIX_F12, operands)                                                                               \
    LOOP(prefix##_16, MIX_F16, operands)                                                                               \
    LOOP(prefix##_24, MIX_F24, operands)                                                                               \
    LOOP(prefix##_8_2, MIX_F8A2, operands)                                                                             \
    LOOP(prefix##_8_4, MIX_F8A4, operands)                                                                             \
    LOOP(prefix##_12_6, MIX_F12A6, operands)                                                                           \
    LOOP(prefix##_12_12, MIX_F12A12, operands)
/* Per iteration of two patterns: multiply-adds count two, additions one. */
#define ROWS(isa, need, math, name, prefix, lanes, elem)                                                               \
    { isa, need, math, name " 8", 2 * (16 + 0) * (lanes), prefix##_8, chain, ISSUE_FMA, 512, elem },                   \
    { isa, need, math, name " 12", 2 * (24 + 0) * (lanes), prefix##_12, chain, ISSUE_FMA, 512, elem },                 \
    { isa, need, math, name " 16", 2 * (32 + 0) * (lanes), prefix##_16, chain, ISSUE_FMA, 512, elem },                 \
    { isa, need, math, name " 24", 2 * (48 + 0) * (lanes), prefix##_24, chain, ISSUE_FMA, 512, elem },                 \
    { isa, need, math, name " 8 + 2 add", 2 * (16 + 2) * (lanes), prefix##_8_2, chain, ISSUE_FMA, 512, elem },         \
    { isa, need, math, name " 8 + 4 add", 2 * (16 + 4) * (lanes), prefix##_8_4, chain, ISSUE_FMA, 512, elem },         \
    { isa, need, math, name " 12 + 6 add", 2 * (24 + 6) * (lanes), prefix##_12_6, chain, ISSUE_FMA, 512, elem },       \
    { isa, need, math, name " 12 + 12 add", 2 * (24 + 12) * (lanes), prefix##_12_12, chain, ISSUE_FMA, 512, elem }

/* Dot products, without additions. */
#define DOTS(prefix, operands)                                                                                         \
    LOOP(prefix##_8, MIX_F8, operands)                                                                                 \
    LOOP(prefix##_12, MIX_F12, operands)                                                                               \
    LOOP(prefix##_16, MIX_F16, operands)                                                                               \
    LOOP(prefix##_24, MIX_F24, operands)
#define DOT_ROWS(isa, need, math, name, prefix, products, issue, elem)                                                 \
    { isa, need, math, name " 8", 2 * 16 * (products), prefix##_8, chain, issue, 512, elem },                          \
    { isa, need, math, name " 12", 2 * 24 * (products), prefix##_12, chain, issue, 512, elem },                        \
    { isa, need, math, name " 16", 2 * 32 * (products), prefix##_16, chain, issue, 512, elem },                        \
    { isa, need, math, name " 24", 2 * 48 * (products), prefix##_24, chain, issue, 512, elem }

#endif
