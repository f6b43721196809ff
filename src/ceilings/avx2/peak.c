/*
 * Peak loops in AVX2: FP32 multiply-add and INT8 products; see avx512/peak.c for the reasons.
 * Twelve accumulators and four operands fill the sixteen registers.
 */
#include "ceilings/internal.h"

#define FMA(acc, x, y) "vfmadd231ps %%ymm" #x ", %%ymm" #y ", %%ymm" #acc "\n\t"
#define FMA12(y)                                                                             \
    FMA(0, 12, y) FMA(1, 13, y) FMA(2, 12, y) FMA(3, 13, y) FMA(4, 12, y) FMA(5, 13, y)      \
        FMA(6, 12, y) FMA(7, 13, y) FMA(8, 12, y) FMA(9, 13, y) FMA(10, 12, y) FMA(11, 13, y)
#define CLEAR(a) "vxorps %%ymm" #a ", %%ymm" #a ", %%ymm" #a "\n\t"
#define CLEAR6(a, b, c, d, e, f) CLEAR(a) CLEAR(b) CLEAR(c) CLEAR(d) CLEAR(e) CLEAR(f)
#define YMM_ALL                                                                              \
    "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", \
        "ymm11", "ymm12", "ymm13", "ymm14", "ymm15"

static void fma_f32(uint64_t n)
{
    static const float c[4] = { 1.25F, -0.75F, 0.8125F, -0.8125F };
    __asm__ volatile(CLEAR6(0, 1, 2, 3, 4, 5) CLEAR6(6, 7, 8, 9, 10, 11)
                     "vbroadcastss 0(%1), %%ymm12\n\t"
                     "vbroadcastss 4(%1), %%ymm13\n\t"
                     "vbroadcastss 8(%1), %%ymm14\n\t"
                     "vbroadcastss 12(%1), %%ymm15\n\t"
                     ".p2align 5\n"
                     "1:\n\t" FMA12(14) FMA12(15) FMA12(14) FMA12(15) "dec %0\n\t"
                                                                      "jnz 1b\n\t"
                                                                      "vzeroupper"
                     : "+r"(n)
                     : "r"(c)
                     : YMM_ALL, "cc", "memory");
}

/* Registers are renamed: three temporaries are enough for any number of products in flight. */
#define DOT(acc, t, x)                                     \
    "vpmaddubsw %%ymm" #x ", %%ymm12, %%ymm" #t "\n\t"     \
    "vpmaddwd %%ymm" #t ", %%ymm15, %%ymm" #t "\n\t"       \
    "vpaddd %%ymm" #t ", %%ymm" #acc ", %%ymm" #acc "\n\t"

static void madd_i8(uint64_t n)
{
    static const int32_t c[4] = { 0x51372d19, 0x03fd05f9, 0x11ef13e5, 0x00010001 };
    __asm__ volatile(CLEAR6(0, 1, 2, 3, 4, 5) CLEAR(6) CLEAR(7)
                     "vpbroadcastd 0(%1), %%ymm12\n\t"
                     "vpbroadcastd 4(%1), %%ymm13\n\t"
                     "vpbroadcastd 8(%1), %%ymm14\n\t"
                     "vpbroadcastd 12(%1), %%ymm15\n\t"
                     ".p2align 5\n"
                     "1:\n\t" DOT(0, 8, 13) DOT(1, 9, 14) DOT(2, 10, 13) DOT(3, 11, 14)
                         DOT(4, 8, 13) DOT(5, 9, 14) DOT(6, 10, 13) DOT(7, 11, 14)
                     "dec %0\n\t"
                     "jnz 1b\n\t"
                     "vzeroupper"
                     : "+r"(n)
                     : "r"(c)
                     : YMM_ALL, "cc", "memory");
}

static void chain(uint64_t n)
{
    uint64_t x = n | 1, y = n | 3;
    __asm__ volatile("vxorps %%ymm0, %%ymm0, %%ymm0\n\t" CHAIN_X86
                     "vfmadd231ps %%ymm0, %%ymm0, %%ymm0\n\t" CHAIN_X86_END "\n\tvzeroupper"
                     : "+r"(n), "+r"(x)
                     : "r"(y)
                     : "ymm0", "cc");
}

const struct peak_kernel ceilings_avx2_peak[] = {
    { "avx2", CPU_AVX2, MATH_FP32, "vfmadd231ps ymm x12", 48 * 8 * 2, fma_f32, chain },
    { "avx2", CPU_AVX2, MATH_BF16, "vfmadd231ps ymm, widened", 48 * 8 * 2, fma_f32, chain },
    { "avx2", CPU_AVX2, MATH_INT8, "vpmaddubsw+vpmaddwd ymm", 8 * 32 * 2, madd_i8, chain },
    { 0 },
};
