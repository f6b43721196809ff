/* Peak loop of the BF16 dot product vdpbf16ps: the shape of avx512/peak.c. */
#include "ceilings/internal.h"

#define DOT(acc, x, y) "vdpbf16ps %%zmm" #x ", %%zmm" #y ", %%zmm" #acc "\n\t"
#define DOT4(a, b, c, d, y) DOT(a, 24, y) DOT(b, 25, y) DOT(c, 26, y) DOT(d, 27, y)
#define DOT24(y0, y1)                                                                         \
    DOT4(0, 1, 2, 3, y0) DOT4(4, 5, 6, 7, y1) DOT4(8, 9, 10, 11, y0) DOT4(12, 13, 14, 15, y1) \
        DOT4(16, 17, 18, 19, y0) DOT4(20, 21, 22, 23, y1)
#define CLEAR(a) "vpxorq %%zmm" #a ", %%zmm" #a ", %%zmm" #a "\n\t"
#define CLEAR4(a, b, c, d) CLEAR(a) CLEAR(b) CLEAR(c) CLEAR(d)

static void dot_bf16(uint64_t n)
{
    /* bf16 pairs near 1; the last two are the two before with both signs turned. */
    static const int32_t c[8] = { 0x3fa0bf40, (int32_t)0xbf403fc0, 0x3f203f50, 0x3fb0bf60,
                                  0x3f503fa0, (int32_t)0xbfb03f70, (int32_t)0xbf50bfa0, 0x3fb0bf70 };
    __asm__ volatile(CLEAR4(0, 1, 2, 3) CLEAR4(4, 5, 6, 7) CLEAR4(8, 9, 10, 11)
                         CLEAR4(12, 13, 14, 15) CLEAR4(16, 17, 18, 19) CLEAR4(20, 21, 22, 23)
                     "vpbroadcastd 0(%1), %%zmm24\n\t"
                     "vpbroadcastd 4(%1), %%zmm25\n\t"
                     "vpbroadcastd 8(%1), %%zmm26\n\t"
                     "vpbroadcastd 12(%1), %%zmm27\n\t"
                     "vpbroadcastd 16(%1), %%zmm28\n\t"
                     "vpbroadcastd 20(%1), %%zmm29\n\t"
                     "vpbroadcastd 24(%1), %%zmm30\n\t"
                     "vpbroadcastd 28(%1), %%zmm31\n\t"
                     ".p2align 5\n"
                     "1:\n\t" DOT24(28, 29) DOT24(30, 31) "dec %0\n\t"
                                                          "jnz 1b\n\t"
                     "vzeroupper"
                     : "+r"(n)
                     : "r"(c)
                     : "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8",
                       "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16",
                       "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24",
                       "zmm25", "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31", "cc",
                       "memory");
}

static void chain(uint64_t n)
{
    uint64_t x = n | 1, y = n | 3;
    __asm__ volatile("vpxorq %%zmm0, %%zmm0, %%zmm0\n\t" CHAIN_X86
                     "vdpbf16ps %%zmm0, %%zmm0, %%zmm0\n\t" CHAIN_X86_END "\n\tvzeroupper"
                     : "+r"(n), "+r"(x)
                     : "r"(y)
                     : "zmm0", "cc");
}

const struct peak_kernel ceilings_avx512bf16_peak[] = {
    { "avx512bf16", CPU_AVX512 | CPU_AVX512BF16, MATH_BF16, "vdpbf16ps zmm x24", 48 * 32 * 2,
      dot_bf16, chain },
    { 0 },
};
