/*
 * Peak loops of x86-64-v2 (SSE to SSE4.2), 16-byte vectors and scalars: separate multiplications and additions. Products are doubled,
 * then halved: exact and bounded. See avx512/peak.c.
 */
#include "ceilings/internal.h"
#include "ceilings/mix.h"

#define XMM_ALL                                                                                                        \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",         \
        "xmm13", "xmm14", "xmm15"
#define START(r) "movups 192(%1), %%xmm" #r "\n\t"
#define START12                                                                                                        \
    START(0) START(1) START(2) START(3) START(4) START(5) START(6) START(7) START(8) START(9) START(10) START(11)

/* 14, 15: factors two and a half, or y and -y of integers; 12, 13: y and -y. */
#define LOOP(fn, mix, operands)                                                                                        \
    static void fn(uint64_t n)                                                                                         \
    {                                                                                                                  \
        __asm__ volatile(START12 "movups 64(%1), %%xmm12\n\tmovups 128(%1), %%xmm13\n\t"                               \
                                 "movups (%2), %%xmm14\n\tmovups 16(%2), %%xmm15\n\t"                                  \
                                 ".p2align 5\n1:\n\t" mix(14) mix(15) mix(14) mix(15) "dec %0\n\tjnz 1b"               \
                         : "+r"(n)                                                                                     \
                         : "r"(operands), "r"(operands##_factor)                                                       \
                         : XMM_ALL, "cc", "memory");                                                                   \
    }

PEAK_OPERANDS(float, f32, TIMES8);
PEAK_OPERANDS(double, f64, TIMES4);
static const float f32_factor[8] = { 2, 2, 2, 2, 0.5F, 0.5F, 0.5F, 0.5F };
static const double f64_factor[4] = { 2, 2, 0.5, 0.5 };

#define SUM_14 "12"
#define SUM_15 "13"
#define F(r, y) "mulps %%xmm" #y ", %%xmm" #r "\n\t"
#define A(r, y) "addps %%xmm" SUM_##y ", %%xmm" #r "\n\t"
LOOP(f32_6_6, MIX_F6A6, f32)
LOOP(f32_8_4, MIX_F8A4, f32)
#undef F
#undef A
#define F(r, y) "mulpd %%xmm" #y ", %%xmm" #r "\n\t"
#define A(r, y) "addpd %%xmm" SUM_##y ", %%xmm" #r "\n\t"
LOOP(f64_6_6, MIX_F6A6, f64)
LOOP(f64_8_4, MIX_F8A4, f64)
#undef F
#undef A
#define F(r, y) "mulss %%xmm" #y ", %%xmm" #r "\n\t"
#define A(r, y) "addss %%xmm" SUM_##y ", %%xmm" #r "\n\t"
LOOP(s32_6_6, MIX_F6A6, f32)
#undef F
#undef A
#define F(r, y) "mulsd %%xmm" #y ", %%xmm" #r "\n\t"
#define A(r, y) "addsd %%xmm" SUM_##y ", %%xmm" #r "\n\t"
LOOP(s64_6_6, MIX_F6A6, f64)
#undef F
#undef A

/* int8 and int16 operands without overflow; rows: x or ones, y, -y, start. Factors are y and -y. */
static const _Alignas(64) int16_t i16[4][32] = {
    { TIMES16(173, -91) }, { TIMES16(57, 113) }, { TIMES16(-57, -113) }, { TIMES16(11, 23) }
};
static const _Alignas(64) int8_t i8[4][64] = {
    { TIMES16(1, 0, 1, 0) }, { TIMES16(57, 113, -31, 77) }, { TIMES16(-57, -113, 31, -77) }, { TIMES16(11, 23, 5, 9) }
};
static const int16_t i16_factor[16] = { TIMES8(57), TIMES8(-57) };
static const int8_t i8_factor[32] = { TIMES16(57), TIMES16(-57) };

/* Register renaming: one temporary suffices. */
#define F(r, y)                                                                                                        \
    "movdqa %%xmm12, %%xmm8\n\tpmaddwd %%xmm" #y ", %%xmm8\n\tpaddd %%xmm8, %%xmm" #r "\n\t"
LOOP(i16_8, MIX_F8, i16)
#undef F
#define F(r, y)                                                                                                        \
    "movdqa %%xmm12, %%xmm8\n\tpmaddubsw %%xmm" #y ", %%xmm8\n\tpmaddwd %%xmm13, %%xmm8\n\t"                           \
    "paddd %%xmm8, %%xmm" #r "\n\t"
LOOP(i8_8, MIX_F8, i8)

#define NEED CPU_SSE42
const struct peak_kernel ceilings_sse_peak[] = {
    { "scalar", NEED, MATH_FP64, "mulsd+addsd 6+6", 4 * 12, s64_6_6, NULL, ISSUE_MUL_ADD, 64, 64 },
    { "scalar", NEED, MATH_FP32, "mulss+addss 6+6", 4 * 12, s32_6_6, NULL, ISSUE_MUL_ADD, 32, 32 },
    { "sse", NEED, MATH_FP64, "mulpd+addpd 6+6", 4 * 12 * 2, f64_6_6, NULL, ISSUE_MUL_ADD, 128, 64 },
    { "sse", NEED, MATH_FP64, "mulpd+addpd 8+4", 4 * 12 * 2, f64_8_4, NULL, ISSUE_MUL_ADD, 128, 64 },
    { "sse", NEED, MATH_FP32, "mulps+addps 6+6", 4 * 12 * 4, f32_6_6, NULL, ISSUE_MUL_ADD, 128, 32 },
    { "sse", NEED, MATH_FP32, "mulps+addps 8+4", 4 * 12 * 4, f32_8_4, NULL, ISSUE_MUL_ADD, 128, 32 },
    { "sse", NEED, MATH_INT16, "pmaddwd+paddd x8", 4 * 8 * 8 * 2, i16_8, NULL, ISSUE_MADD16, 128, 16 },
    { "sse", NEED, MATH_INT8, "pmaddubsw+pmaddwd x8", 4 * 8 * 16 * 2, i8_8, NULL, ISSUE_MADD8, 128, 8 },
    { .run = NULL },
};
