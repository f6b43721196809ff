/*
 * AVX-512 read loops: 64-byte loads, one sequential stream, no arithmetic, which would shrink the out-of-order window. Variants differ
 * in unroll and prefetch distance; the driver selects by measurement (driver.c).
 */
#include "ceilings/internal.h"

#define LOAD(off, r) "vmovdqa64 " #off "(%0), %%zmm" #r "\n\t"
#define LOAD4(a, b, c, d) LOAD(a, 0) LOAD(b, 1) LOAD(c, 2) LOAD(d, 3)
#define FETCH(hint, off) #hint " " #off "(%0)\n\t"
#define FETCH4(hint, a, b, c, d) FETCH(hint, a) FETCH(hint, b) FETCH(hint, c) FETCH(hint, d)
#define LOAD16                                                                                \
    LOAD4(0, 64, 128, 192) LOAD4(256, 320, 384, 448) LOAD4(512, 576, 640, 704)                \
        LOAD4(768, 832, 896, 960)
#define LOAD32                                                                                \
    LOAD16 LOAD4(1024, 1088, 1152, 1216) LOAD4(1280, 1344, 1408, 1472)                        \
        LOAD4(1536, 1600, 1664, 1728) LOAD4(1792, 1856, 1920, 1984)

#define SWEEPS(body, step)                                                                    \
    for (uint64_t s = 0; s < sweeps; s++) {                                                   \
        const char *q = p, *end = q + bytes;                                                  \
        __asm__ volatile(".p2align 5\n1:\n\t" body "add $" #step ", %0\n\t"                   \
                         "cmp %1, %0\n\t"                                                     \
                         "jb 1b"                                                              \
                         : "+r"(q)                                                            \
                         : "r"(end)                                                           \
                         : "zmm0", "zmm1", "zmm2", "zmm3", "cc", "memory");                   \
    }                                                                                         \
    __asm__ volatile("vzeroupper" ::: "zmm0", "zmm1", "zmm2", "zmm3")

static void read_x4(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(LOAD4(0, 64, 128, 192), 256);
}

static void read_x16(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(LOAD16, 1024);
}

static void read_x32(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(LOAD32, 2048);
}

static void read_x4_t0_1k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht0, 1024, 1088, 1152, 1216) LOAD4(0, 64, 128, 192), 256);
}

static void read_x4_t0_2k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht0, 2048, 2112, 2176, 2240) LOAD4(0, 64, 128, 192), 256);
}

static void read_x4_t0_4k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht0, 4096, 4160, 4224, 4288) LOAD4(0, 64, 128, 192), 256);
}

static void read_x4_t0_8k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht0, 8192, 8256, 8320, 8384) LOAD4(0, 64, 128, 192), 256);
}

static void read_x4_t1_8k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht1, 8192, 8256, 8320, 8384) LOAD4(0, 64, 128, 192), 256);
}

static void read_x4_t1_16k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht1, 16384, 16448, 16512, 16576) LOAD4(0, 64, 128, 192), 256);
}

static void read_x4_t0_2k_t1_4k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht0, 2048, 2112, 2176, 2240) FETCH4(prefetcht1, 4096, 4160, 4224, 4288) LOAD4(0, 64, 128, 192), 256);
}

static void read_x4_t0_4k_t1_6k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetcht0, 4096, 4160, 4224, 4288) FETCH4(prefetcht1, 6144, 6208, 6272, 6336) LOAD4(0, 64, 128, 192), 256);
}

static void read_x4_nta_2k(const void *p, size_t bytes, uint64_t sweeps)
{
    SWEEPS(FETCH4(prefetchnta, 2048, 2112, 2176, 2240) LOAD4(0, 64, 128, 192), 256);
}

const struct read_kernel ceilings_avx512_read[] = {
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x4", 256, read_x4, true, true },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x16", 1024, read_x16, true, true },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x32", 2048, read_x32, true, false },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x4 t0+1k", 256, read_x4_t0_1k, true, true },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x4 t0+2k", 256, read_x4_t0_2k, true, true },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x4 t0+4k", 256, read_x4_t0_4k, false, true },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x4 t0+8k", 256, read_x4_t0_8k, false, true },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x4 t1+8k", 256, read_x4_t1_8k, false, true },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x4 t1+16k", 256, read_x4_t1_16k, false, true },
    { "avx512", CPU_AVX512, "zmm x4 t0+2k t1+4k", 256, read_x4_t0_2k_t1_4k, false, true },
    { "avx512", CPU_AVX512, "zmm x4 t0+4k t1+6k", 256, read_x4_t0_4k_t1_6k, false, true },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm x4 nta+2k", 256, read_x4_nta_2k, false, true },
    { 0 },
};
