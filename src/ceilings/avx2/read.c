/* AVX2 read loops, 32-byte loads; see avx512/read.c. */
#include "ceilings/internal.h"

#define LOAD(off, r) "vmovdqa " #off "(%0), %%ymm" #r "\n\t"
#define LINE(a, b, r, s) LOAD(a, r) LOAD(b, s)
#define LOAD8 LINE(0, 32, 0, 1) LINE(64, 96, 2, 3) LINE(128, 160, 0, 1) LINE(192, 224, 2, 3)
#define LOAD32                                                                                \
    LOAD8 LINE(256, 288, 0, 1) LINE(320, 352, 2, 3) LINE(384, 416, 0, 1) LINE(448, 480, 2, 3) \
        LINE(512, 544, 0, 1) LINE(576, 608, 2, 3) LINE(640, 672, 0, 1) LINE(704, 736, 2, 3)   \
            LINE(768, 800, 0, 1) LINE(832, 864, 2, 3) LINE(896, 928, 0, 1) LINE(960, 992, 2, 3)
#define FETCH(hint, off) #hint " " #off "(%0)\n\t"
#define FETCH4(hint, a, b, c, d) FETCH(hint, a) FETCH(hint, b) FETCH(hint, c) FETCH(hint, d)

#define SWEEPS(body, step)                                                                    \
    for (uint64_t s = 0; s < sweeps; s++) {                                                   \
        const char *q = p, *end = q + bytes;                                                  \
        __asm__ volatile(".p2align 5\n1:\n\t" body "add $" #step ", %0\n\t"                   \
                         "cmp %1, %0\n\t"                                                     \
                         "jb 1b"                                                              \
                         : "+r"(q)                                                            \
                         : "r"(end)                                                           \
                         : "ymm0", "ymm1", "ymm2", "ymm3", "cc", "memory");                   \
    }                                                                                         \
    __asm__ volatile("vzeroupper" ::: "ymm0", "ymm1", "ymm2", "ymm3")

static void read_x8(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(LOAD8, 256);
}

static void read_x32(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(LOAD32, 1024);
}

static void read_x8_t0_2k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht0, 2048, 2112, 2176, 2240) LOAD8, 256);
}

static void read_x8_t0_4k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht0, 4096, 4160, 4224, 4288) LOAD8, 256);
}

const struct read_kernel ceilings_avx2_read[] = {
    { "avx2", CPU_AVX2, "vmovdqa ymm x8", 256, read_x8, true, true },
    { "avx2", CPU_AVX2, "vmovdqa ymm x32", 1024, read_x32, true, true },
    { "avx2", CPU_AVX2, "vmovdqa ymm x8 t0+2k", 256, read_x8_t0_2k, true, true },
    { "avx2", CPU_AVX2, "vmovdqa ymm x8 t0+4k", 256, read_x8_t0_4k, false, true },
    { 0 },
};
