/* Peak loops of AVX-VNNI (vpdpbusd, vpdpwssd, 32-byte vectors), as in avx2/peak.c. */
#include "ceilings/internal.h"
#include "ceilings/mix.h"

#define YMM_ALL                                                                              \
    "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", \
        "ymm11", "ymm12", "ymm13", "ymm14", "ymm15"
#define START(r) "vmovups 192(%1), %%ymm" #r "\n\t"
#define START12                                                                                                        \
    START(0) START(1) START(2) START(3) START(4) START(5) START(6) START(7) START(8) START(9) START(10) START(11)
#define LOOP(fn, mix, operands)                                                                                        \
    static void fn(uint64_t n)                                                                                         \
    {                                                                                                                  \
        __asm__ volatile(START12 "vmovups (%1), %%ymm13\n\tvmovups 64(%1), %%ymm14\n\tvmovups 128(%1), %%ymm15\n\t"    \
                                 ".p2align 5\n1:\n\t" mix(14) mix(15) mix(14) mix(15) "dec %0\n\tjnz 1b\n\tvzeroupper" \
                         : "+r"(n)                                                                                     \
                         : "r"(operands)                                                                               \
                         : YMM_ALL, "cc", "memory");                                                                   \
    }

/* x, y, -y, start. */
static const _Alignas(64) int16_t i16[4][32] = {
    { TIMES16(173, -91) }, { TIMES16(57, 113) }, { TIMES16(-57, -113) }, { TIMES16(11, 23) }
};
static const _Alignas(64) int8_t i8[4][64] = {
    { TIMES16(17, 45, 93, 81) }, { TIMES16(57, 113, -31, 77) }, { TIMES16(-57, -113, 31, -77) }, { TIMES16(11, 23, 5, 9) }
};
#define F(r, y) "%{vex%} vpdpbusd %%ymm" #y ", %%ymm13, %%ymm" #r "\n\t"
LOOP(i8_8, MIX_F8, i8)
LOOP(i8_10, MIX_F10, i8)
LOOP(i8_12, MIX_F12, i8)
#undef F
#define F(r, y) "%{vex%} vpdpwssd %%ymm" #y ", %%ymm13, %%ymm" #r "\n\t"
LOOP(i16_8, MIX_F8, i16)
LOOP(i16_10, MIX_F10, i16)
LOOP(i16_12, MIX_F12, i16)

#define NEED (CPU_AVX2 | CPU_AVXVNNI)
const struct peak_kernel ceilings_avxvnni_peak[] = {
    { "avxvnni", NEED, MATH_INT16, "vpdpwssd ymm 8", 4 * 8 * 16 * 2, i16_8, NULL, ISSUE_DOT16, 256, 16 },
    { "avxvnni", NEED, MATH_INT16, "vpdpwssd ymm 10", 4 * 10 * 16 * 2, i16_10, NULL, ISSUE_DOT16, 256, 16 },
    { "avxvnni", NEED, MATH_INT16, "vpdpwssd ymm 12", 4 * 12 * 16 * 2, i16_12, NULL, ISSUE_DOT16, 256, 16 },
    { "avxvnni", NEED, MATH_INT8, "vpdpbusd ymm 8", 4 * 8 * 32 * 2, i8_8, NULL, ISSUE_DOT8, 256, 8 },
    { "avxvnni", NEED, MATH_INT8, "vpdpbusd ymm 10", 4 * 10 * 32 * 2, i8_10, NULL, ISSUE_DOT8, 256, 8 },
    { "avxvnni", NEED, MATH_INT8, "vpdpbusd ymm 12", 4 * 12 * 32 * 2, i8_12, NULL, ISSUE_DOT8, 256, 8 },
    { .run = NULL },
};
