/*
 * Peak loops in AVX-512: FP32 multiply-add, and INT8 products without VNNI.
 *
 * Written in assembly because the point is what the core can do: a compiler that spills one
 * accumulator halves the figure. 24 accumulators in zmm0-23 (two pipes x latency 4 need 8), operands
 * in zmm24-31. The operands are not zero, differ between neighbours and change sign half-way, so
 * that the sums stay bounded, never denormal, and the multipliers toggle as in real work.
 */
#include "ceilings/internal.h"

#define FMA(acc, x, y) "vfmadd231ps %%zmm" #x ", %%zmm" #y ", %%zmm" #acc "\n\t"
#define FMA4(a, b, c, d, y) FMA(a, 24, y) FMA(b, 25, y) FMA(c, 26, y) FMA(d, 27, y)
#define FMA24(y0, y1)                                                                         \
    FMA4(0, 1, 2, 3, y0) FMA4(4, 5, 6, 7, y1) FMA4(8, 9, 10, 11, y0) FMA4(12, 13, 14, 15, y1) \
        FMA4(16, 17, 18, 19, y0) FMA4(20, 21, 22, 23, y1)
#define ZERO4(a, b, c, d)                                                       \
    "vpxorq %%zmm" #a ", %%zmm" #a ", %%zmm" #a "\n\tvpxorq %%zmm" #b ", %%zmm" #b ", %%zmm" #b  \
    "\n\tvpxorq %%zmm" #c ", %%zmm" #c ", %%zmm" #c "\n\tvpxorq %%zmm" #d ", %%zmm" #d          \
    ", %%zmm" #d "\n\t"
#define ZERO24                                                                    \
    ZERO4(0, 1, 2, 3)                                                             \
    ZERO4(4, 5, 6, 7) ZERO4(8, 9, 10, 11) ZERO4(12, 13, 14, 15) ZERO4(16, 17, 18, 19) \
        ZERO4(20, 21, 22, 23)
#define ZMM_ALL                                                                               \
    "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10",  \
        "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19",      \
        "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25", "zmm26", "zmm27", "zmm28",      \
        "zmm29", "zmm30", "zmm31"

static void fma_f32(uint64_t n)
{
    static const float c[8] = { 1.25F, -0.75F, 0.625F, 1.5F, 0.8125F, -1.375F, -0.8125F, 1.375F };
    __asm__ volatile(ZERO24 "vbroadcastss 0(%1), %%zmm24\n\t"
                            "vbroadcastss 4(%1), %%zmm25\n\t"
                            "vbroadcastss 8(%1), %%zmm26\n\t"
                            "vbroadcastss 12(%1), %%zmm27\n\t"
                            "vbroadcastss 16(%1), %%zmm28\n\t"
                            "vbroadcastss 20(%1), %%zmm29\n\t"
                            "vbroadcastss 24(%1), %%zmm30\n\t"
                            "vbroadcastss 28(%1), %%zmm31\n\t"
                            ".p2align 5\n"
                            "1:\n\t" FMA24(28, 29) FMA24(30, 31) "dec %0\n\t"
                                                                 "jnz 1b\n\t"
                     "vzeroupper"
                     : "+r"(n)
                     : "r"(c)
                     : ZMM_ALL, "cc", "memory");
}

/* u8 x s8 pairs to s16 (may saturate: it is a rate, not a result), pairs of those to s32, added. */
#define DOT(acc, t, x)                                                  \
    "vpmaddubsw %%zmm" #x ", %%zmm28, %%zmm" #t "\n\t"                  \
    "vpmaddwd %%zmm" #t ", %%zmm29, %%zmm" #t "\n\t"                    \
    "vpaddd %%zmm" #t ", %%zmm" #acc ", %%zmm" #acc "\n\t"
#define DOT4(a, b, c, d) DOT(a, 16, 24) DOT(b, 17, 25) DOT(c, 18, 26) DOT(d, 19, 27)

static void madd_i8(uint64_t n)
{
    static const int32_t c[6] = { 0x03fd05f9, 0x11ef13e5, 0x1f07fbf1, 0x2bd50b17, 0x51372d19,
                                  0x00010001 };
    __asm__ volatile(ZERO4(0, 1, 2, 3) ZERO4(4, 5, 6, 7) ZERO4(8, 9, 10, 11) ZERO4(12, 13, 14, 15)
                         "vpbroadcastd 0(%1), %%zmm24\n\t"
                         "vpbroadcastd 4(%1), %%zmm25\n\t"
                         "vpbroadcastd 8(%1), %%zmm26\n\t"
                         "vpbroadcastd 12(%1), %%zmm27\n\t"
                         "vpbroadcastd 16(%1), %%zmm28\n\t"
                         "vpbroadcastd 20(%1), %%zmm29\n\t"
                         ".p2align 5\n"
                         "1:\n\t" DOT4(0, 1, 2, 3) DOT4(4, 5, 6, 7) DOT4(8, 9, 10, 11)
                             DOT4(12, 13, 14, 15) "dec %0\n\t"
                                                  "jnz 1b\n\t"
                     "vzeroupper"
                     : "+r"(n)
                     : "r"(c)
                     : ZMM_ALL, "cc", "memory");
}

static void chain(uint64_t n)
{
    uint64_t x = n | 1, y = n | 3;
    __asm__ volatile("vpxorq %%zmm0, %%zmm0, %%zmm0\n\t" CHAIN_X86
                     "vfmadd231ps %%zmm0, %%zmm0, %%zmm0\n\t" CHAIN_X86_END "\n\tvzeroupper"
                     : "+r"(n), "+r"(x)
                     : "r"(y)
                     : "zmm0", "cc");
}

const struct peak_kernel ceilings_avx512_peak[] = {
    { "avx512", CPU_AVX512, MATH_FP32, "vfmadd231ps zmm x24", 48 * 16 * 2, fma_f32, chain },
    { "avx512", CPU_AVX512, MATH_BF16, "vfmadd231ps zmm, widened", 48 * 16 * 2, fma_f32, chain },
    { "avx512", CPU_AVX512, MATH_INT8, "vpmaddubsw+vpmaddwd zmm", 16 * 64 * 2, madd_i8, chain },
    { 0 },
};
