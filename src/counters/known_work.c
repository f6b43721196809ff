/*
 * counters/known_work.c: calibration workloads. Instruction loops are assembly, so that their counts do not depend on the compiler;
 * memory workloads touch every line once.
 */
#include "counters/known_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64 };

typedef double work_fn(struct work_memory *m, int size);

struct known_work {
    const char *name;
    work_fn *run;          /* returns the units of the field */
    unsigned cpu_flags;    /* required features */
    size_t (*bytes)(void); /* of memory; NULL: none */
    bool chained;          /* pointer cycle of so many bytes */
    enum { CONTROL_NONE, CONTROL_ZERO, CONTROL_MIX, CONTROL_WALK } control;
};

/* ---- instructions -------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define LOOP(body, n)                                                                                                  \
    do {                                                                                                               \
        uint64_t count_ = (n);                                                                                         \
        __asm__ volatile("1:\n\t" body "dec %0\n\tjnz 1b" : "+r"(count_) : : "cc", "memory", "rax", "xmm0", "xmm1",    \
                         "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");                                              \
    } while (0)
#define NOP4 "nop\n\tnop\n\tnop\n\tnop\n\t"
#define CHAIN2 "imul %%rax, %%rax\n\timul %%rax, %%rax\n\t"
enum { CHAIN_CYCLES = 3 }; /* latency of imul r64, r64: Agner Fog, instruction_tables.pdf, Intel since Nehalem and AMD since Zen */
#elif defined(__aarch64__)
#define LOOP(body, n)                                                                                                  \
    do {                                                                                                               \
        uint64_t count_ = (n);                                                                                         \
        __asm__ volatile("1:\n\t" body "subs %0, %0, #1\n\tb.ne 1b" : "+r"(count_) : : "cc", "memory", "x9", "v0",     \
                         "v1", "v2", "v3", "v4", "v5", "v6", "v7");                                                    \
    } while (0)
#define NOP4 "nop\n\tnop\n\tnop\n\tnop\n\t"
#define CHAIN2 "mul x9, x9, x9\n\tmul x9, x9, x9\n\t"
enum { CHAIN_CYCLES = 3 }; /* 2 to 4 by core: the ratio absorbs it */
#else
#error "known work is written for x86-64 and 64-bit Arm"
#endif

static const uint64_t rounds[COUNTER_CHECK_SIZES] = { 250000, 500000, 1000000 };

static double instructions(struct work_memory *m, int size)
{
    (void)m;
    LOOP("", rounds[size]);
    return 2.0 * (double)rounds[size];
}

static double cycles(struct work_memory *m, int size)
{
    (void)m;
    LOOP(CHAIN2 CHAIN2 CHAIN2 CHAIN2, rounds[size] / 4);
    return 8.0 * CHAIN_CYCLES * (double)(rounds[size] / 4);
}

/* Another instruction mix than instructions(): an event that counts a subset has another ratio. */
static double mix(void)
{
    LOOP(NOP4 NOP4 NOP4 NOP4, rounds[0]);
    return 18.0 * (double)rounds[0];
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------------- */

/* Eight multiply-adds on independent registers. */
#if defined(__x86_64__)
#define FMA8(op, r)                                                                                                    \
    op " %%" r "0, %%" r "0, %%" r "0\n\t" op " %%" r "1, %%" r "1, %%" r "1\n\t" op " %%" r "2, %%" r "2, %%" r "2\n\t" \
    op " %%" r "3, %%" r "3, %%" r "3\n\t" op " %%" r "4, %%" r "4, %%" r "4\n\t" op " %%" r "5, %%" r "5, %%" r "5\n\t" \
    op " %%" r "6, %%" r "6, %%" r "6\n\t" op " %%" r "7, %%" r "7, %%" r "7\n\t"
/* Zeros avoid infinities and slow denormals. */
static void clear_registers(void)
{
    __asm__ volatile("pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\tpxor %%xmm3, %%xmm3\n\t"
                     "pxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\tpxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}
#define ARITHMETIC(name, op, r, units)                                                                                 \
    static double name(struct work_memory *m, int size)                                                                \
    {                                                                                                                  \
        (void)m;                                                                                                       \
        clear_registers();                                                                                             \
        LOOP(FMA8(op, r), rounds[size] / 8);                                                                           \
        return 8.0 * (units) * (double)(rounds[size] / 8);                                                             \
    }
ARITHMETIC(f32_scalar, "vfmadd231ss", "xmm", 2)
ARITHMETIC(f32_128, "vfmadd231ps", "xmm", 8)
ARITHMETIC(f32_256, "vfmadd231ps", "ymm", 16)
ARITHMETIC(f32_512, "vfmadd231ps", "zmm", 32)
ARITHMETIC(f64_scalar, "vfmadd231sd", "xmm", 2)
ARITHMETIC(f64_128, "vfmadd231pd", "xmm", 4)
ARITHMETIC(f64_256, "vfmadd231pd", "ymm", 8)
ARITHMETIC(f64_512, "vfmadd231pd", "zmm", 16)
ARITHMETIC(f16_scalar, "vfmadd231sh", "xmm", 2)
ARITHMETIC(f16_128, "vfmadd231ph", "xmm", 16)
ARITHMETIC(f16_256, "vfmadd231ph", "ymm", 32)
ARITHMETIC(f16_512, "vfmadd231ph", "zmm", 64)
ARITHMETIC(bf16_512, "vdpbf16ps", "zmm", 64)
ARITHMETIC(int8_128, "vpdpbusd", "xmm", 32)
ARITHMETIC(int8_256, "vpdpbusd", "ymm", 64)
ARITHMETIC(int8_512, "vpdpbusd", "zmm", 128)
/* The widest vectors available. */
static double f32_widest(struct work_memory *m, int size)
{
    const unsigned f = cpu_flags();
    return f & CPU_AVX512 ? f32_512(m, size) : f & CPU_AVX2 ? f32_256(m, size) : 0;
}
enum { F32_NEEDS = CPU_AVX2 };
#define X86_ONLY(fn) fn
#define ARM_ONLY(fn) NULL
#else
static double f32_neon(struct work_memory *m, int size)
{
    (void)m;
    LOOP("fmla v0.4s, v0.4s, v0.4s\n\tfmla v1.4s, v1.4s, v1.4s\n\tfmla v2.4s, v2.4s, v2.4s\n\tfmla v3.4s, v3.4s, v3.4s\n\t",
         rounds[size] / 4);
    return 4 * 8.0 * (double)(rounds[size] / 4);
}
static double f32_widest(struct work_memory *m, int size)
{
    return f32_neon(m, size);
}
/* The vector length is the machine's; FP_SCALE_OPS_SPEC counts in 128-bit units. */
static double f32_sve(struct work_memory *m, int size)
{
    uint64_t bytes;
    (void)m;
    __asm__ volatile(".arch_extension sve\n\trdvl %0, #1\n\tptrue p0.s" : "=r"(bytes));
    LOOP(".arch_extension sve\n\tfmla z0.s, p0/m, z0.s, z0.s\n\tfmla z1.s, p0/m, z1.s, z1.s\n\t", rounds[size] / 4);
    return 2 * 2.0 * (double)(bytes / sizeof(float)) * (double)(rounds[size] / 4);
}
enum { F32_NEEDS = 0 };
#define X86_ONLY(fn) NULL
#define ARM_ONLY(fn) fn
#endif

/* ---- memory ---------------------------------------------------------------------------------------------------------------- */

static size_t l1_bytes(void)
{
    return 256 << 10; /* larger than any L1, smaller than any L2 */
}

static size_t l2_bytes(void)
{
    return 8 << 20; /* larger than any L2 (4 MiB) */
}

/* Four times the last-level cache: a second pass hits nothing. */
static size_t memory_bytes(void)
{
    const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const size_t least = 64u << 20, most = 512u << 20, room = (size_t)pages * (size_t)page / 4;
    size_t n = l3 > 0 ? 4 * (size_t)l3 : least;
    n = n < least ? least : n > most ? most : n;
    return n < room ? n : room / LINE * LINE;
}

/* Sattolo's algorithm: one random cycle through all lines. Defeats prefetchers; loads are serialised. */
static void chain(struct work_memory *m, size_t bytes)
{
    const size_t n = bytes / LINE;
    struct rng r;
    rng_init(&r, 7);
    if (m->chained && m->chain == bytes)
        return;
    for (size_t i = 0; i < n; i++)
        *(size_t *)(void *)(m->data + i * LINE) = i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t *a = (size_t *)(void *)(m->data + i * LINE), *b = (size_t *)(void *)(m->data + rng_u64(&r) % i * LINE);
        const size_t t = *a;
        *a = *b;
        *b = t;
    }
    m->chained = true;
    m->chain = bytes;
}

static double chase(struct work_memory *m, int size)
{
    const size_t loads = (size_t)20000 << size;
    size_t at = 0;
    for (size_t i = 0; i < loads; i++)
        at = *(const volatile size_t *)(const volatile void *)(m->data + at * LINE);
    return (double)loads * LINE;
}

/* Sequential scan: exercises prefetchers. Events that count demand misses only, or prefetches twice, are right on the chain and
 * wrong here. Tolerance: the part of the memory that may be cached at the start. */
#define WALK_WITHIN 0.25

static size_t walk_bytes(const struct known_work *w)
{
    const size_t bytes = w->bytes();
    return w->bytes == memory_bytes ? bytes : 4 * bytes;
}

static double walk(const struct work_memory *m, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE)
        (void)*(const volatile uint64_t *)(const volatile void *)(m->data + i);
    return (double)bytes;
}

/* size + 1 alternating halves. */
static double sweep_read(struct work_memory *m, int size)
{
    const size_t half = m->size / 2 / LINE * LINE;
    for (int k = 0; k <= size; k++)
        for (size_t i = 0; i < half; i += LINE)
            (void)*(const volatile uint64_t *)(const volatile void *)(m->data + (size_t)((k + size) % 2) * half + i);
    return (double)(size + 1) * (double)half;
}

static double sweep_write(struct work_memory *m, int size)
{
    const size_t half = m->size / 2 / LINE * LINE;
    for (int k = 0; k <= size; k++)
        for (size_t i = 0; i < half; i += sizeof(uint64_t))
            *(volatile uint64_t *)(volatile void *)(m->data + (size_t)((k + size) % 2) * half + i) = i;
    return (double)(size + 1) * (double)half;
}

/* ---- the kernel's own counts ------------------------------------------------------------------------------------------------- */

static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double task_clock(struct work_memory *m, int size)
{
    const double start = thread_ns();
    double now = start;
    (void)m;
    while (now - start < 2e6 * (double)(1 << size))
        now = thread_ns();
    return now - start;
}

static double switches(void)
{
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) == 0 ? (double)(u.ru_nvcsw + u.ru_nivcsw) : 0;
}

static double context_switches(struct work_memory *m, int size)
{
    const double start = switches();
    (void)m;
    for (int i = 0; i < 5 << size; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
    return switches() - start;
}

static double page_faults(struct work_memory *m, int size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (size_t)64 << size;
    unsigned char *p = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)m;
    if (p == MAP_FAILED)
        return 0;
    madvise(p, n * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < n; i++)
        ((volatile unsigned char *)p)[i * page] = 1;
    munmap(p, n * page);
    return (double)n;
}

/* ---- the table ------------------------------------------------------------------------------------------------------------------ */

static const struct known_work works[] = {
    { .name = "instructions", .run = instructions, .control = CONTROL_MIX },
    { .name = "cycles", .run = cycles },
    { .name = "flop_f32", .run = f32_widest, .cpu_flags = F32_NEEDS, .control = CONTROL_ZERO },
    { .name = "flop_f32_scalar", .run = X86_ONLY(f32_scalar), .cpu_flags = CPU_AVX2, .control = CONTROL_ZERO },
    { .name = "flop_f32_128", .run = X86_ONLY(f32_128), .cpu_flags = CPU_AVX2, .control = CONTROL_ZERO },
    { .name = "flop_f32_256", .run = X86_ONLY(f32_256), .cpu_flags = CPU_AVX2, .control = CONTROL_ZERO },
    { .name = "flop_f32_512", .run = X86_ONLY(f32_512), .cpu_flags = CPU_AVX512, .control = CONTROL_ZERO },
    { .name = "flop_f64_scalar", .run = X86_ONLY(f64_scalar), .cpu_flags = CPU_AVX2, .control = CONTROL_ZERO },
    { .name = "flop_f64_128", .run = X86_ONLY(f64_128), .cpu_flags = CPU_AVX2, .control = CONTROL_ZERO },
    { .name = "flop_f64_256", .run = X86_ONLY(f64_256), .cpu_flags = CPU_AVX2, .control = CONTROL_ZERO },
    { .name = "flop_f64_512", .run = X86_ONLY(f64_512), .cpu_flags = CPU_AVX512, .control = CONTROL_ZERO },
    { .name = "flop_f16_scalar", .run = X86_ONLY(f16_scalar), .cpu_flags = CPU_AVX512FP16, .control = CONTROL_ZERO },
    { .name = "flop_f16_128", .run = X86_ONLY(f16_128), .cpu_flags = CPU_AVX512FP16, .control = CONTROL_ZERO },
    { .name = "flop_f16_256", .run = X86_ONLY(f16_256), .cpu_flags = CPU_AVX512FP16, .control = CONTROL_ZERO },
    { .name = "flop_f16_512", .run = X86_ONLY(f16_512), .cpu_flags = CPU_AVX512FP16, .control = CONTROL_ZERO },
    { .name = "bf16_512", .run = X86_ONLY(bf16_512), .cpu_flags = CPU_AVX512BF16, .control = CONTROL_ZERO },
    { .name = "int8_128", .run = X86_ONLY(int8_128), .cpu_flags = CPU_AVX512VNNI, .control = CONTROL_ZERO },
    { .name = "int8_256", .run = X86_ONLY(int8_256), .cpu_flags = CPU_AVX512VNNI, .control = CONTROL_ZERO },
    { .name = "int8_512", .run = X86_ONLY(int8_512), .cpu_flags = CPU_AVX512VNNI, .control = CONTROL_ZERO },
    { .name = "flop_neon", .run = ARM_ONLY(f32_neon), .control = CONTROL_ZERO },
    { .name = "flop_sve", .run = ARM_ONLY(f32_sve), .control = CONTROL_ZERO },
    { .name = "l1_fill", .run = chase, .bytes = l1_bytes, .chained = true, .control = CONTROL_WALK },
    { .name = "l2_fill", .run = chase, .bytes = l2_bytes, .chained = true, .control = CONTROL_WALK },
    { .name = "l3_fill", .run = chase, .bytes = memory_bytes, .chained = true, .control = CONTROL_WALK },
    { .name = "dram_read", .run = sweep_read, .bytes = memory_bytes, .control = CONTROL_ZERO },
    { .name = "dram_write", .run = sweep_write, .bytes = memory_bytes, .control = CONTROL_ZERO },
    { .name = "task_clock", .run = task_clock },
    { .name = "context_switches", .run = context_switches },
    { .name = "page_faults", .run = page_faults, .control = CONTROL_ZERO },
};

const struct known_work *known_work_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(works); i++)
        if (strcmp(works[i].name, name) == 0)
            return &works[i];
    return NULL;
}

bool known_work_possible(const struct known_work *w, char *why, size_t size)
{
    bool here = w->run && (cpu_flags() & w->cpu_flags) == w->cpu_flags;
#ifdef __aarch64__
    if (strcmp(w->name, "flop_sve") == 0)
        here = here && (getauxval(AT_HWCAP) & (1ul << 22)); /* HWCAP_SVE, linux/arch/arm64/include/uapi/asm/hwcap.h */
#endif
    if (!here)
        snprintf(why, size, "this CPU has no instructions for %s", w->name);
    return here;
}

void work_memory_free(struct work_memory *m)
{
    if (m->data)
        munmap(m->data, m->size);
    *m = (struct work_memory){ 0 };
}

static int reserve(struct work_memory *m, size_t bytes, struct error *err)
{
    if (m->size >= bytes)
        return 0;
    work_memory_free(m);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return error_oom(err, bytes, "the known work of events");
    *m = (struct work_memory){ .data = p, .size = bytes };
    madvise(p, bytes, MADV_HUGEPAGE); /* page walks are traffic too */
    return 0;
}

int known_work_prepare(const struct known_work *w, struct work_memory *m, struct error *err)
{
    const size_t bytes = w->bytes ? w->bytes() : 0, walked = w->control == CONTROL_WALK ? walk_bytes(w) : bytes;
    if (!bytes)
        return 0;
    if (reserve(m, walked, err) != 0)
        return -1;
    if (!w->chained) { /* dirty throughout, as the work leaves it */
        m->chained = false;
        sweep_write(m, 1);
        return 0;
    }
    /* Of a memory chain half is walked, after the other half has evicted it. The rest is written too: untouched pages share one
     * physical page. */
    const size_t n = w->bytes == memory_bytes ? bytes / 2 : bytes;
    chain(m, n);
    for (size_t i = n / LINE * LINE; i < walked; i += LINE)
        ((volatile unsigned char *)m->data)[i] = 1;
    return 0;
}

double known_work_run(const struct known_work *w, struct work_memory *m, int size)
{
    return w->run(m, size);
}

double known_work_control(const struct known_work *w, struct work_memory *m)
{
    switch (w->control) {
    case CONTROL_NONE:
        break;
    case CONTROL_ZERO:
        mix();
        return 0;
    case CONTROL_MIX:
        return mix();
    case CONTROL_WALK:
        return walk(m, walk_bytes(w));
    }
    return NAN;
}

double known_work_control_within(const struct known_work *w)
{
    return w->control == CONTROL_WALK ? WALK_WITHIN : 0.01;
}
