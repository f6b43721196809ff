/* Neon reads and streams, register pairs; stnp is only a non-temporal hint. See avx512/stream.c. */
#include "ceilings/memory.h"

#define LDP(off, p, r, s) "ldp q" #r ", q" #s ", [" p ", #" #off "]\n\t"
#define STP(off, p, r, s) "stp q" #r ", q" #s ", [" p ", #" #off "]\n\t"
#define STNP(off, p, r, s) "stnp q" #r ", q" #s ", [" p ", #" #off "]\n\t"

static void read_x8(const void *p, size_t bytes, uint64_t sweeps)
{
    for (uint64_t s = 0; s < sweeps; s++) {
        const char *q = p, *end = q + bytes;
        __asm__ volatile(".p2align 5\n1:\n\t" LDP(0, "%0", 0, 1) LDP(32, "%0", 2, 3) LDP(64, "%0", 4, 5)
                             LDP(96, "%0", 6, 7) LDP(128, "%0", 0, 1) LDP(160, "%0", 2, 3) LDP(192, "%0", 4, 5)
                                 LDP(224, "%0", 6, 7) "add %0, %0, #256\n\tcmp %0, %1\n\tb.lo 1b"
                         : "+r"(q)
                         : "r"(end)
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc", "memory");
    }
}

static void read_x8_2k(const void *p, size_t bytes, uint64_t sweeps)
{
    for (uint64_t s = 0; s < sweeps; s++) {
        const char *q = p, *end = q + bytes;
        __asm__ volatile(".p2align 5\n1:\n\tprfm pldl1keep, [%0, #2048]\n\tprfm pldl1keep, [%0, #2112]\n\t"
                         "prfm pldl1keep, [%0, #2176]\n\tprfm pldl1keep, [%0, #2240]\n\t" LDP(0, "%0", 0, 1)
                             LDP(32, "%0", 2, 3) LDP(64, "%0", 4, 5) LDP(96, "%0", 6, 7) LDP(128, "%0", 0, 1)
                                 LDP(160, "%0", 2, 3) LDP(192, "%0", 4, 5) LDP(224, "%0", 6, 7)
                         "add %0, %0, #256\n\tcmp %0, %1\n\tb.lo 1b"
                         : "+r"(q)
                         : "r"(end)
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc", "memory");
    }
}

const struct read_kernel ceilings_neon_read[] = {
    { "neon", CPU_NEON, "ldp q x8", 256, read_x8, true, true },
    { "neon", CPU_NEON, "ldp q x8 l1+2k", 256, read_x8_2k, true, true },
    { 0 },
};

#define SWEEPS(body)                                                                                 \
    static const uint32_t c[2] = { 0x5a5a5a5a, 0x3f000000 };                                         \
    for (uint64_t s = 0; s < sweeps; s++) {                                                          \
        char *d = dst, *end = d + bytes;                                                             \
        const char *x = a, *y = b;                                                                   \
        __asm__ volatile("ld1r {v16.4s}, [%4]\n\tmov v17.16b, v16.16b\n\tldr s18, [%4, #4]\n\t"      \
                         ".p2align 5\n1:\n\t" body "add %0, %0, #128\n\tadd %1, %1, #128\n\t"        \
                         "add %2, %2, #128\n\tcmp %0, %3\n\tb.lo 1b"                                 \
                         : "+r"(d), "+r"(x), "+r"(y)                                                 \
                         : "r"(end), "r"(c)                                                          \
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "cc", \
                           "memory");                                                                \
    }
#define WRITE_OF(st) st(0, "%0", 16, 17) st(32, "%0", 16, 17) st(64, "%0", 16, 17) st(96, "%0", 16, 17)
#define COPY_OF(st)                                                                                  \
    LDP(0, "%1", 0, 1) LDP(32, "%1", 2, 3) LDP(64, "%1", 4, 5) LDP(96, "%1", 6, 7)                   \
        st(0, "%0", 0, 1) st(32, "%0", 2, 3) st(64, "%0", 4, 5) st(96, "%0", 6, 7)
#define MADD(off, r, s, t, u)                                                                        \
    LDP(off, "%1", r, s) LDP(off, "%2", t, u) "fmla v" #r ".4s, v" #t ".4s, v18.s[0]\n\t"            \
    "fmla v" #s ".4s, v" #u ".4s, v18.s[0]\n\t"
#define TRIAD_OF(st)                                                                                 \
    MADD(0, 0, 1, 2, 3) st(0, "%0", 0, 1) MADD(32, 4, 5, 6, 7) st(32, "%0", 4, 5)                    \
        MADD(64, 0, 1, 2, 3) st(64, "%0", 0, 1) MADD(96, 4, 5, 6, 7) st(96, "%0", 4, 5)

static void write_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(WRITE_OF(STP))
}

static void write_nt_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(WRITE_OF(STNP))
}

static void copy_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(COPY_OF(STP))
}

static void copy_nt_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(COPY_OF(STNP))
}

static void triad_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(TRIAD_OF(STP))
}

static void triad_nt_x4(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    SWEEPS(TRIAD_OF(STNP))
}

const struct stream_kernel ceilings_neon_stream[] = {
    { "neon", CPU_NEON, MEM_WRITE, "stp q x4", 128, write_x4, true, true },
    { "neon", CPU_NEON, MEM_WRITE_NT, "stnp q x4", 128, write_nt_x4, true, true },
    { "neon", CPU_NEON, MEM_COPY, "ldp stp q x4", 128, copy_x4, true, true },
    { "neon", CPU_NEON, MEM_COPY, "ldp stnp q x4", 128, copy_nt_x4, false, true },
    { "neon", CPU_NEON, MEM_TRIAD, "fmla stp q x4", 128, triad_x4, true, true },
    { "neon", CPU_NEON, MEM_TRIAD, "fmla stnp q x4", 128, triad_nt_x4, false, true },
    { 0 },
};

#define LINE(p) __asm__ volatile("ldp q0, q1, [%0]\n\tldp q0, q1, [%0, #32]" ::"r"(p) : "v0", "v1", "memory")
#define GATHER_END (void)0
#include "ceilings/gather_loops.h"

const struct gather_kernel ceilings_neon_gather[] = {
    { "neon", CPU_NEON, "ldp q", gather },
    { "neon", CPU_NEON, "ldp q l1 2k ahead", gather_ahead },
    { 0 },
};
