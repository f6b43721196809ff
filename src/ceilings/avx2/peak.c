/*
 * Peak loops of AVX2 with FMA, vector and scalar; see avx512/peak.c. With sixteen registers one operand serves as both factors and as
 * addend, and is subtracted half a loop later, which leaves fifteen accumulators.
 */
#include "ceilings/internal.h"
#include "ceilings/mix.h"

#define YMM_ALL                                                                              \
    "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", \
        "ymm11", "ymm12", "ymm13", "ymm14", "ymm15"
#define START(r) "vmovups 192(%1), %%ymm" #r "\n\t"
#define START13                                                                                                        \
    START(0) START(1) START(2) START(3) START(4) START(5) START(6) START(7) START(8) START(9) START(10) START(11)      \
    START(12)
#define ASM(fn, load, body, operands)                                                                                  \
    static void fn(uint64_t n)                                                                                         \
    {                                                                                                                  \
        __asm__ volatile(START13 load ".p2align 5\n1:\n\t" body "dec %0\n\tjnz 1b\n\tvzeroupper"                      \
                         : "+r"(n)                                                                                     \
                         : "r"(operands)                                                                               \
                         : YMM_ALL, "cc", "memory");                                                                   \
    }
/* ymm15: y; the pattern with +, then with -, twice. */
#define LOOP_F(fn, mix, operands)                                                                                      \
    ASM(fn, START(13) START(14) "vmovups 64(%1), %%ymm15\n\t", mix(PLUS) mix(MINUS) mix(PLUS) mix(MINUS), operands)
/* 13: x; 14, 15: y and -y. */
#define LOOP_I(fn, mix, operands)                                                                                      \
    ASM(fn, "vmovups (%1), %%ymm13\n\tvmovups 64(%1), %%ymm14\n\tvmovups 128(%1), %%ymm15\n\t",                        \
        mix(14) mix(15) mix(14) mix(15), operands)
#define FAMILY(prefix, operands)                                                                                       \
    LOOP_F(prefix##_8, MIX_F8, operands)                                                                               \
    LOOP_F(prefix##_10, MIX_F10, operands)                                                                             \
    LOOP_F(prefix##_12, MIX_F12, operands)                                                                             \
    LOOP_F(prefix##_8_4, MIX_F8A4, operands)                                                                           \
    LOOP_F(prefix##_10_5, MIX_F10A5, operands)                                                                         \
    LOOP_F(prefix##_9_6, MIX_F9A6, operands)                                                                           \
    LOOP_F(prefix##_8_7, MIX_F8A7, operands)

PEAK_OPERANDS(float, f32, TIMES8);
PEAK_OPERANDS(double, f64, TIMES4);

#define FMA_PLUS "vfmadd231"
#define FMA_MINUS "vfnmadd231"
#define ADD_PLUS "vadd"
#define ADD_MINUS "vsub"
#define F(r, y) FMA_##y "ps %%ymm15, %%ymm15, %%ymm" #r "\n\t"
#define A(r, y) ADD_##y "ps %%ymm15, %%ymm" #r ", %%ymm" #r "\n\t"
FAMILY(f32, f32)
#undef F
#undef A
#define F(r, y) FMA_##y "pd %%ymm15, %%ymm15, %%ymm" #r "\n\t"
#define A(r, y) ADD_##y "pd %%ymm15, %%ymm" #r ", %%ymm" #r "\n\t"
FAMILY(f64, f64)
#undef F
#undef A
#define F(r, y) FMA_##y "ss %%xmm15, %%xmm15, %%xmm" #r "\n\t"
#define A(r, y) ADD_##y "ss %%xmm15, %%xmm" #r ", %%xmm" #r "\n\t"
FAMILY(s32, f32)
#undef F
#undef A
#define F(r, y) FMA_##y "sd %%xmm15, %%xmm15, %%xmm" #r "\n\t"
#define A(r, y) ADD_##y "sd %%xmm15, %%xmm" #r ", %%xmm" #r "\n\t"
FAMILY(s64, f64)
#undef F
#undef A

/* int16 and int8 operands without overflow; y of the first and second half cancel. Rows: x, y, -y, ones (also start values). */
static const _Alignas(64) int16_t i16[4][32] = {
    { TIMES16(173, -91) }, { TIMES16(57, 113) }, { TIMES16(-57, -113) }, { TIMES16(1, 1) }
};
static const _Alignas(64) int8_t i8[4][64] = {
    { TIMES16(17, 45, 93, 81) }, { TIMES16(57, 113, -31, 77) }, { TIMES16(-57, -113, 31, -77) }, { TIMES16(1, 0, 1, 0) }
};
/* Register renaming: one temporary suffices. ymm12 holds ones. */
#define F(r, y) "vpmaddwd %%ymm" #y ", %%ymm13, %%ymm11\n\tvpaddd %%ymm11, %%ymm" #r ", %%ymm" #r "\n\t"
LOOP_I(i16_8, MIX_F8, i16)
LOOP_I(i16_10, MIX_F10, i16)
#undef F
#define F(r, y)                                                                                                        \
    "vpmaddubsw %%ymm" #y ", %%ymm13, %%ymm11\n\tvpmaddwd %%ymm12, %%ymm11, %%ymm11\n\t"                               \
    "vpaddd %%ymm11, %%ymm" #r ", %%ymm" #r "\n\t"
LOOP_I(i8_8, MIX_F8, i8)
LOOP_I(i8_10, MIX_F10, i8)

static void chain(uint64_t n)
{
    uint64_t x = n | 1, y = n | 3;
    __asm__ volatile("vxorps %%ymm0, %%ymm0, %%ymm0\n\t" CHAIN_X86
                     "vfmadd231ps %%ymm0, %%ymm0, %%ymm0\n\t" CHAIN_X86_END "\n\tvzeroupper"
                     : "+r"(n), "+r"(x)
                     : "r"(y)
                     : "ymm0", "cc");
}

#define NEED CPU_AVX2
/* Per iteration of four patterns: multiply-adds count two, additions one. */
#define ROWS(isa, math, name, prefix, lanes, bits, elem)                                                               \
    { isa, NEED, math, name " 8", 4 * (16 + 0) * (lanes), prefix##_8, chain, ISSUE_FMA, bits, elem },                  \
    { isa, NEED, math, name " 10", 4 * (20 + 0) * (lanes), prefix##_10, chain, ISSUE_FMA, bits, elem },                \
    { isa, NEED, math, name " 12", 4 * (24 + 0) * (lanes), prefix##_12, chain, ISSUE_FMA, bits, elem },                \
    { isa, NEED, math, name " 8 + 4 add", 4 * (16 + 4) * (lanes), prefix##_8_4, chain, ISSUE_FMA, bits, elem },        \
    { isa, NEED, math, name " 10 + 5 add", 4 * (20 + 5) * (lanes), prefix##_10_5, chain, ISSUE_FMA, bits, elem },      \
    { isa, NEED, math, name " 9 + 6 add", 4 * (18 + 6) * (lanes), prefix##_9_6, chain, ISSUE_FMA, bits, elem },        \
    { isa, NEED, math, name " 8 + 7 add", 4 * (16 + 7) * (lanes), prefix##_8_7, chain, ISSUE_FMA, bits, elem }
const struct peak_kernel ceilings_avx2_peak[] = {
    ROWS("scalar", MATH_FP64, "fma sd", s64, 1, 64, 64),
    ROWS("scalar", MATH_FP32, "fma ss", s32, 1, 32, 32),
    ROWS("avx2", MATH_FP64, "fma pd ymm", f64, 4, 256, 64),
    ROWS("avx2", MATH_FP32, "fma ps ymm", f32, 8, 256, 32),
    { "avx2", NEED, MATH_BF16, "fma ps ymm 12, widened", 4 * 24 * 8, f32_12, chain, ISSUE_FMA_ONLY, 256, 32 },
    { "avx2", NEED, MATH_INT16, "vpmaddwd+vpaddd ymm 8", 4 * 8 * 16 * 2, i16_8, chain, ISSUE_MADD16, 256, 16 },
    { "avx2", NEED, MATH_INT16, "vpmaddwd+vpaddd ymm 10", 4 * 10 * 16 * 2, i16_10, chain, ISSUE_MADD16, 256, 16 },
    { "avx2", NEED, MATH_INT8, "vpmaddubsw+wd ymm 8", 4 * 8 * 32 * 2, i8_8, chain, ISSUE_MADD8, 256, 8 },
    { "avx2", NEED, MATH_INT8, "vpmaddubsw+wd ymm 10", 4 * 10 * 32 * 2, i8_10, chain, ISSUE_MADD8, 256, 8 },
    { .run = NULL },
};
