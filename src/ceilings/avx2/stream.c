/* AVX2 streams, 32 bytes per instruction; see avx512/stream.c. */
#include "ceilings/memory.h"

#define SWEEPS(body, step, end)                                                                      \
    static const uint32_t c[2] = { 0x5a5a5a5a, 0x3f000000 };                                         \
    for (uint64_t s = 0; s < sweeps; s++) {                                                          \
        intptr_t i = -(intptr_t)bytes;                                                               \
        __asm__ volatile("vpbroadcastd 0(%4), %%ymm8\n\tvpbroadcastd 4(%4), %%ymm9\n\t"              \
                         ".p2align 5\n1:\n\t" body "add $" #step ", %0\n\tjnz 1b\n\t" end            \
                         : "+r"(i)                                                                   \
                         : "r"((char *)dst + bytes), "r"((const char *)a + bytes),                   \
                           "r"((const char *)b + bytes), "r"(c)                                      \
                         : "ymm0", "ymm1", "ymm2", "ymm3", "ymm8", "ymm9", "cc", "memory");          \
    }                                                                                                \
    __asm__ volatile("vzeroupper" ::: "ymm0", "ymm1", "ymm2", "ymm3", "ymm8", "ymm9")

#define FOUR(op, a, b, c, d) op(a, 0) op(b, 1) op(c, 2) op(d, 3)
#define BODY8(op) FOUR(op, 0, 32, 64, 96) FOUR(op, 128, 160, 192, 224)
#define BODY32(op)                                                                                   \
    BODY8(op) FOUR(op, 256, 288, 320, 352) FOUR(op, 384, 416, 448, 480) FOUR(op, 512, 544, 576, 608) \
        FOUR(op, 640, 672, 704, 736) FOUR(op, 768, 800, 832, 864) FOUR(op, 896, 928, 960, 992)
#define WRITE(off, r) "vmovdqa %%ymm8, " #off "(%1,%0)\n\t"
#define WRITE_NT(off, r) "vmovntdq %%ymm8, " #off "(%1,%0)\n\t"
#define COPY(off, r) "vmovdqa " #off "(%2,%0), %%ymm" #r "\n\tvmovdqa %%ymm" #r ", " #off "(%1,%0)\n\t"
#define COPY_NT(off, r) "vmovdqa " #off "(%2,%0), %%ymm" #r "\n\tvmovntdq %%ymm" #r ", " #off "(%1,%0)\n\t"
#define TRIAD_OF(store, off, r)                                                                      \
    "vmovaps " #off "(%2,%0), %%ymm" #r "\n\tvfmadd231ps " #off "(%3,%0), %%ymm9, %%ymm" #r "\n\t" store \
    " %%ymm" #r ", " #off "(%1,%0)\n\t"
#define TRIAD(off, r) TRIAD_OF("vmovaps", off, r)
#define TRIAD_NT(off, r) TRIAD_OF("vmovntps", off, r)

static void write_x8(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY8(WRITE), 256, "");
}

static void write_x32(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY32(WRITE), 1024, "");
}

static void write_nt_x8(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY8(WRITE_NT), 256, "sfence");
}

static void copy_x8(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY8(COPY), 256, "");
}

static void copy_nt_x8(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY8(COPY_NT), 256, "sfence");
}

static void triad_x8(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY8(TRIAD), 256, "");
}

static void triad_nt_x8(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(BODY8(TRIAD_NT), 256, "sfence");
}

const struct stream_kernel ceilings_avx2_stream[] = {
    { "avx2", CPU_AVX2, MEM_WRITE, "vmovdqa ymm x8", 256, write_x8, true, true },
    { "avx2", CPU_AVX2, MEM_WRITE, "vmovdqa ymm x32", 1024, write_x32, true, true },
    { "avx2", CPU_AVX2, MEM_WRITE_NT, "vmovntdq ymm x8", 256, write_nt_x8, true, true },
    { "avx2", CPU_AVX2, MEM_COPY, "vmovdqa ymm x8", 256, copy_x8, true, true },
    { "avx2", CPU_AVX2, MEM_COPY, "vmovdqa, vmovntdq", 256, copy_nt_x8, false, true },
    { "avx2", CPU_AVX2, MEM_TRIAD, "vfmadd231ps ymm x8", 256, triad_x8, true, true },
    { "avx2", CPU_AVX2, MEM_TRIAD, "vfmadd231ps, vmovntps", 256, triad_nt_x8, false, true },
    { 0 },
};

#define LINE(p) __asm__ volatile("vmovdqa (%0), %%ymm0\n\tvmovdqa 32(%0), %%ymm0" ::"r"(p) : "ymm0", "memory")
#define GATHER_END __asm__ volatile("vzeroupper" ::: "ymm0")
#include "ceilings/gather_loops.h"

const struct gather_kernel ceilings_avx2_gather[] = {
    { "avx2", CPU_AVX2, "vmovdqa ymm", gather },
    { "avx2", CPU_AVX2, "vmovdqa ymm t0 2k ahead", gather_ahead },
    { 0 },
};
