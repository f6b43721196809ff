/* Peak loop of the INT8 dot product vpdpbusd: the shape of avx512/peak.c; 32-bit sums wrap. */
#include "ceilings/internal.h"

#define DOT(acc, x, y) "vpdpbusd %%zmm" #x ", %%zmm" #y ", %%zmm" #acc "\n\t"
#define DOT4(a, b, c, d, y) DOT(a, 24, y) DOT(b, 25, y) DOT(c, 26, y) DOT(d, 27, y)
#define DOT24(y0, y1)                                                                         \
    DOT4(0, 1, 2, 3, y0) DOT4(4, 5, 6, 7, y1) DOT4(8, 9, 10, 11, y0) DOT4(12, 13, 14, 15, y1) \
        DOT4(16, 17, 18, 19, y0) DOT4(20, 21, 22, 23, y1)

static void dot_i8(uint64_t n)
{
    static const int32_t c[6] = { 0x03fd05f9, 0x11ef13e5, 0x1f07fbf1, 0x2bd50b17, 0x51372d19,
                                  0x6b8c1ef3 };
    __asm__ volatile("vpbroadcastd 0(%1), %%zmm24\n\t"
                     "vpbroadcastd 4(%1), %%zmm25\n\t"
                     "vpbroadcastd 8(%1), %%zmm26\n\t"
                     "vpbroadcastd 12(%1), %%zmm27\n\t"
                     "vpbroadcastd 16(%1), %%zmm28\n\t"
                     "vpbroadcastd 20(%1), %%zmm29\n\t"
                     ".p2align 5\n"
                     "1:\n\t" DOT24(28, 29) DOT24(29, 28) "dec %0\n\t"
                                                          "jnz 1b\n\t"
                     "vzeroupper"
                     : "+r"(n)
                     : "r"(c)
                     : "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8",
                       "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16",
                       "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24",
                       "zmm25", "zmm26", "zmm27", "zmm28", "zmm29", "cc", "memory");
}

static void chain(uint64_t n)
{
    uint64_t x = n | 1, y = n | 3;
    __asm__ volatile(CHAIN_X86
                     "vpdpbusd %%zmm0, %%zmm0, %%zmm0\n\t" CHAIN_X86_END "\n\tvzeroupper"
                     : "+r"(n), "+r"(x)
                     : "r"(y)
                     : "zmm0", "cc");
}

const struct peak_kernel ceilings_avx512vnni_peak[] = {
    { "avx512vnni", CPU_AVX512 | CPU_AVX512VNNI, MATH_INT8, "vpdpbusd zmm x24", 48 * 64 * 2,
      dot_i8, chain },
    { 0 },
};
