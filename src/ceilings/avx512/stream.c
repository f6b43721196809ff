/*
 * AVX-512 streams, 64 bytes per instruction: write, copy, a + s b, plain and non-temporal, and row gather. Assembly, so that compilers
 * do not substitute library calls. Writes store the pattern already in memory, not zero, which some caches store at lower cost.
 */
#include "ceilings/memory.h"

#define SWEEPS(body, step, end)                                                                      \
    static const uint32_t c[2] = { 0x5a5a5a5a, 0x3f000000 };                                         \
    for (uint64_t s = 0; s < sweeps; s++) {                                                          \
        intptr_t i = -(intptr_t)bytes;                                                               \
        __asm__ volatile("vpbroadcastd 0(%4), %%zmm8\n\tvpbroadcastd 4(%4), %%zmm9\n\t"              \
                         ".p2align 5\n1:\n\t" body "add $" #step ", %0\n\tjnz 1b\n\t" end            \
                         : "+r"(i)                                                                   \
                         : "r"((char *)dst + bytes), "r"((const char *)a + bytes),                   \
                           "r"((const char *)b + bytes), "r"(c)                                      \
                         : "zmm0", "zmm1", "zmm2", "zmm3", "zmm8", "zmm9", "cc", "memory");          \
    }                                                                                                \
    __asm__ volatile("vzeroupper" ::: "zmm0", "zmm1", "zmm2", "zmm3", "zmm8", "zmm9")

#define FOUR(op, a, b, c, d) op(a, 0) op(b, 1) op(c, 2) op(d, 3)
#define BODY4(op) FOUR(op, 0, 64, 128, 192)
#define BODY16(op)                                                                                   \
    FOUR(op, 0, 64, 128, 192) FOUR(op, 256, 320, 384, 448) FOUR(op, 512, 576, 640, 704)              \
        FOUR(op, 768, 832, 896, 960)
#define WRITE(off, r) "vmovdqa64 %%zmm8, " #off "(%1,%0)\n\t"
#define WRITE_NT(off, r) "vmovntdq %%zmm8, " #off "(%1,%0)\n\t"
#define COPY(off, r) "vmovdqa64 " #off "(%2,%0), %%zmm" #r "\n\tvmovdqa64 %%zmm" #r ", " #off "(%1,%0)\n\t"
#define COPY_NT(off, r) "vmovdqa64 " #off "(%2,%0), %%zmm" #r "\n\tvmovntdq %%zmm" #r ", " #off "(%1,%0)\n\t"
#define TRIAD_OF(store, off, r)                                                                      \
    "vmovaps " #off "(%2,%0), %%zmm" #r "\n\tvfmadd231ps " #off "(%3,%0), %%zmm9, %%zmm" #r "\n\t" store \
    " %%zmm" #r ", " #off "(%1,%0)\n\t"
#define TRIAD(off, r) TRIAD_OF("vmovaps", off, r)
#define TRIAD_NT(off, r) TRIAD_OF("vmovntps", off, r)

static void write_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY4(WRITE), 256, "");
}

static void write_x16(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY16(WRITE), 1024, "");
}

static void write_nt_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY4(WRITE_NT), 256, "sfence");
}

static void copy_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY4(COPY), 256, "");
}

static void copy_nt_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY4(COPY_NT), 256, "sfence");
}

static void triad_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY4(TRIAD), 256, "");
}

static void triad_nt_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY4(TRIAD_NT), 256, "sfence");
}

const struct stream_kernel ceilings_avx512_stream[] = {
    { "avx512", CPU_AVX512, MEM_WRITE, "vmovdqa64 zmm x4", 256, write_x4, true, true },
    { "avx512", CPU_AVX512, MEM_WRITE, "vmovdqa64 zmm x16", 1024, write_x16, true, true },
    { "avx512", CPU_AVX512, MEM_WRITE_NT, "vmovntdq zmm x4", 256, write_nt_x4, true, true },
    { "avx512", CPU_AVX512, MEM_COPY, "vmovdqa64 zmm x4", 256, copy_x4, true, true },
    { "avx512", CPU_AVX512, MEM_COPY, "vmovdqa64, vmovntdq", 256, copy_nt_x4, false, true },
    { "avx512", CPU_AVX512, MEM_TRIAD, "vfmadd231ps zmm x4", 256, triad_x4, true, true },
    { "avx512", CPU_AVX512, MEM_TRIAD, "vfmadd231ps, vmovntps", 256, triad_nt_x4, false, true },
    { 0 },
};

#define LINE(p) __asm__ volatile("vmovdqa64 (%0), %%zmm0" ::"r"(p) : "zmm0", "memory")
#define GATHER_END __asm__ volatile("vzeroupper" ::: "zmm0")
#include "ceilings/gather_loops.h"

const struct gather_kernel ceilings_avx512_gather[] = {
    { "avx512", CPU_AVX512, "vmovdqa64 zmm", gather },
    { "avx512", CPU_AVX512, "vmovdqa64 zmm t0 2k ahead", gather_ahead },
    { 0 },
};
