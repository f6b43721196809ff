/*
 * Loop of all Neon files; macros only. Sums in v0 to v23, temporaries v26 and v27, x in v29, y and -y in v30 and v31. Operand rows of
 * 64 bytes: x, y, -y, start.
 */
#ifndef CEILINGS_NEON_VREG_H
#define CEILINGS_NEON_VREG_H

#include "ceilings/mix.h"

#define V_ALL                                                                                                          \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",       \
        "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v26", "v27", "v29", "v30", "v31"
#define START(r) "ldr q" #r ", [%1, #192]\n\t"
#define START24                                                                                                        \
    START(0) START(1) START(2) START(3) START(4) START(5) START(6) START(7) START(8) START(9) START(10) START(11)      \
    START(12) START(13) START(14) START(15) START(16) START(17) START(18) START(19) START(20) START(21) START(22)      \
    START(23)
#define LOOP(fn, mix, operands)                                                                                        \
    static void fn(uint64_t n)                                                                                         \
    {                                                                                                                  \
        __asm__ volatile(START24 "ldr q29, [%1]\n\tldr q30, [%1, #64]\n\tldr q31, [%1, #128]\n\t"                      \
                                 ".p2align 5\n1:\n\t" mix(30) mix(31) "subs %0, %0, #1\n\tb.ne 1b"                     \
                         : "+r"(n)                                                                                     \
                         : "r"(operands)                                                                               \
                         : V_ALL, "cc", "memory");                                                                     \
    }
#define FAMILY(prefix, operands)                                                                                       \
    LOOP(prefix##_8, MIX_F8, operands)                                                                                 \
    LOOP(prefix##_16, MIX_F16, operands)                                                                               \
    LOOP(prefix##_24, MIX_F24, operands)                                                                               \
    LOOP(prefix##_8_4, MIX_F8A4, operands)                                                                             \
    LOOP(prefix##_12_6, MIX_F12A6, operands)                                                                           \
    LOOP(prefix##_12_12, MIX_F12A12, operands)
/* Per iteration of two patterns: multiply-adds count two, additions one. */
#define ROWS(isa, need, math, name, prefix, lanes, bits, elem)                                                         \
    { isa, need, math, name " 8", 2 * (16 + 0) * (lanes), prefix##_8, NULL, ISSUE_FMA, bits, elem },                   \
    { isa, need, math, name " 16", 2 * (32 + 0) * (lanes), prefix##_16, NULL, ISSUE_FMA, bits, elem },                 \
    { isa, need, math, name " 24", 2 * (48 + 0) * (lanes), prefix##_24, NULL, ISSUE_FMA, bits, elem },                 \
    { isa, need, math, name " 8 + 4 add", 2 * (16 + 4) * (lanes), prefix##_8_4, NULL, ISSUE_FMA, bits, elem },         \
    { isa, need, math, name " 12 + 6 add", 2 * (24 + 6) * (lanes), prefix##_12_6, NULL, ISSUE_FMA, bits, elem },       \
    { isa, need, math, name " 12 + 12 add", 2 * (24 + 12) * (lanes), prefix##_12_12, NULL, ISSUE_FMA, bits, elem }

#define DOTS(prefix, operands)                                                                                         \
    LOOP(prefix##_8, MIX_F8, operands)                                                                                 \
    LOOP(prefix##_16, MIX_F16, operands)                                                                               \
    LOOP(prefix##_24, MIX_F24, operands)
#define DOT_ROWS(isa, need, math, name, prefix, products, issue, elem)                                                 \
    { isa, need, math, name " 8", 2 * 16 * (products), prefix##_8, NULL, issue, 128, elem },                           \
    { isa, need, math, name " 16", 2 * 32 * (products), prefix##_16, NULL, issue, 128, elem },                         \
    { isa, need, math, name " 24", 2 * 48 * (products), prefix##_24, NULL, issue, 128, elem }

#endif
