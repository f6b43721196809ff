/*
 * Shared by the files of ceilings: tables of compute and read kernels, driver. Included only by ceilings and its ISA directories; no
 * function bodies, as an ISA file would emit copies with its flags.
 */
#ifndef CEILINGS_INTERNAL_H
#define CEILINGS_INTERNAL_H

#include "base/cpu_topology.h"
#include "ceilings/ceilings.h"

/* Throughput limit of a loop, per core in core.c. Methods.md (74). */
enum issue {
    ISSUE_NONE,     /* unknown */
    ISSUE_FMA,      /* FMA, and additions on free pipes */
    ISSUE_FMA_ONLY, /* FMA only (widened types) */
    ISSUE_MUL_ADD,  /* separate multiply and add */
    ISSUE_MADD16,   /* vpmaddwd and an add */
    ISSUE_MADD8,    /* vpmaddubsw, vpmaddwd and an add */
    ISSUE_DOT16,    /* dot-product instruction */
    ISSUE_DOT8,
    ISSUE_DOT_BF16,
    ISSUE_MATRIX, /* Arm, 2x8 by 8x2 */
    ISSUE_TILE,
};

/*
 * A register-only loop.
 *
 * run      n iterations; no memory access
 * flop     per iteration (a multiply-add is two)
 */
struct peak_kernel {
    const char *isa; /* a rung name of kernels.h, or "scalar", "sse", "avxvnni", "avx512fp16", "amx", "fp16", "bf16" */
    unsigned need;   /* required cpu_flags */
    enum math math;
    const char *text; /* loop body, for struct ceiling.kernel */
    double flop;
    void (*run)(uint64_t n);
    /* n times 32 dependent additions with one of the loop's instructions; NULL: clock.c's */
    void (*chain)(uint64_t n);
    enum issue issue; /* throughput limit */
    int bits;         /* vector width */
    int elem_bits;    /* element width: bits / elem_bits elements per vector */
};

/* 32 dependent register additions (recent cores eliminate additions of constants at rename). %0 counts down, %1 is the sum, %2 the
 * addend. */
#define CHAIN_ADD4(add) add add add add
#define CHAIN_ADD32(add)                                                              \
    CHAIN_ADD4(add) CHAIN_ADD4(add) CHAIN_ADD4(add) CHAIN_ADD4(add) CHAIN_ADD4(add)   \
    CHAIN_ADD4(add) CHAIN_ADD4(add) CHAIN_ADD4(add)
#define CHAIN_X86 ".p2align 5\n1:\n\t" CHAIN_ADD32("add %2, %1\n\t")
#define CHAIN_X86_END "dec %0\n\tjnz 1b"

/*
 * A read loop.
 *
 * run      reads `bytes` (a multiple of granule) at p, `sweeps` times, sequentially
 */
struct read_kernel {
    const char *isa;
    unsigned need;
    const char *text;
    size_t granule;
    void (*run)(const void *p, size_t bytes, uint64_t sweeps);
    bool near, far; /* candidate for L1 and L2; for L3 and DRAM */
};

/* Tables of the ISA directories, terminated by run NULL. */
extern const struct peak_kernel ceilings_ref_peak[], ceilings_sse_peak[], ceilings_avx2_peak[], ceilings_avxvnni_peak[],
    ceilings_avx512_peak[], ceilings_avx512vnni_peak[], ceilings_avx512bf16_peak[], ceilings_avx512fp16_peak[],
    ceilings_amx_peak[], ceilings_amxfp16_peak[], ceilings_neon_peak[], ceilings_dotprod_peak[], ceilings_i8mm_peak[],
    ceilings_armfp16_peak[], ceilings_armbf16_peak[];
extern const struct read_kernel ceilings_ref_read[], ceilings_avx2_read[], ceilings_avx512_read[], ceilings_neon_read[];

/* Row i of the concatenated tables in ladder order; NULL past the end. */
const struct peak_kernel *peak_kernel_at(size_t i); /* compute.c */
const struct read_kernel *read_kernel_at(size_t i); /* memory.c */
/* Runs on this CPU; portable rows only if no other row does. */
bool peak_kernel_wanted(const struct peak_kernel *k, unsigned cpu_flags);
bool read_kernel_wanted(const struct read_kernel *k, unsigned cpu_flags);

/* ---- core.c: what a core issues in a cycle ------------------------------------------- */

struct core;
/* The core of this process (CPU 0's if they differ); NULL: unknown. */
const struct core *core_this(void);
/* vendor, family, model: CPUID's; on Arm "", implementer and part of MIDR_EL1. */
const struct core *core_find(const char *vendor, int family, int model);
/* Peak FLOP or OP per cycle of a loop like k's; NaN: unknown. */
double core_per_cycle(const struct core *c, const struct peak_kernel *k);

enum level { LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_DRAM, LEVEL_COUNT };

/* footprint.c (rest: memory.h): footprint per thread for each cache (0: none) and total for DRAM. methods.md (75). */
int footprint_plan(const struct ceilings_options *o, int n, size_t cache[LEVEL_DRAM], size_t *memory, bool *small, struct error *err);

/* ---- core_probe.c: core probes, small products adjacent to samples and runs. methods.md (80) ---- */

enum core_probe_kind {
    CORE_PROBE_VECTOR, /* vector probe: Q4_K, 16 tokens */
    CORE_PROBE_TILE,   /* tile probe: BF16, 64 tokens, AMX */
    CORE_PROBE_COUNT
};
struct core_probe;
/* For n_threads, with the CPU's best kernels. *out NULL without error: no AMX. */
int core_probe_new(struct core_probe **out, enum core_probe_kind kind, int n_threads, struct error *err);
void core_probe_free(struct core_probe *r);
/* The same as a roof; *out NULL without error: no AMX. */
int core_probe_add(struct benchmark **out, struct benchmark_list *l, enum core_probe_kind kind, int n_threads, struct error *err);

/* ---- coherence.c: coherence traffic between cores as a roof. methods.md (33) ---- */

/* With n_threads and the kernels of cpu_flags; B/s of all threads, or seconds per barrier. -1: no memory. */
int coherence_add(struct benchmark **out, struct benchmark_list *l, enum coherence_kind what, int n_threads, unsigned cpu_flags, struct error *err);

/* ---- harness.c: team and memory of one thread count ---- */

struct harness_core_probe {
    struct core_probe *product; /* NULL: not run */
    uint64_t n;                 /* products per probe: about 0.1 ms */
};

struct harness {
    struct team *team;
    int n;
    struct cpu_topology topology; /* of the machine */
    int *cpu;                     /* [n] CPU of each thread */
    char cpus[64];                /* "0-1" */
    unsigned char *mem;           /* NULL: compute only */
    size_t mem_bytes;             /* all threads */
    bool mem_borrowed;            /* borrowed: read-only, not freed */
    size_t chunk_bytes;           /* per thread */
    bool mem_small;               /* less than four times the LLC */
    const struct benchmark *warm; /* benchmark whose footprint is in the caches (last one sampled that uses memory); NULL: none */
    struct harness_slot *slot;
    struct harness_core_probe core_probe[CORE_PROBE_COUNT]; /* adjacent probes */
};

/* memory: allocates footprint_of_memory bytes, first touched by the threads that read it. */
int harness_init(struct harness *m, int n_threads, bool memory, const struct ceilings_options *o, struct error *err);
void harness_free(struct harness *m);
/* About a millisecond of work on all threads, to raise clocks. */
void harness_warm(struct harness *m);
/* Untimed passes over a cached footprint, unless the last sample was j's. methods.md (75) */
void harness_fill_cache(struct harness *m, const struct benchmark *j, void (*walk)(void *arg, int tid), void *arg);

/* Enable core probes around samples of classes with .core; -1: no memory. */
int harness_enable_core_probes(struct harness *m, struct error *err);
/* Core probe: FLOP/s of all threads; sets *disturbed on an involuntary context switch. 0: not enabled. */
double harness_probe_cores(struct harness *m, enum core_probe_kind kind, bool *disturbed);

/* Cycles per second, by 32 * n dependent additions; chain NULL: additions only. */
double clock_chain_hz(void (*chain)(uint64_t n), uint64_t n);

/* ---- driver.c: the benchmarks of one thread count ---- */

/* Texts of a roof or curve; NULL: as they are. */
struct roof_texts {
    const char *kind, *op, *dtype, *level, *pages, *node, *unit, *isa;
};
void roof_describe(struct ceiling *c, const struct roof_texts *t);
/* An empty curve of these over x, measured as c was. */
void roof_curve(struct hw_curve *curve, const struct ceiling *c, const char *x, const char *kernel, const struct roof_texts *t);

/* Prepare j, choose variant and repetitions in about trial_s; samples last about sample_s. */
int driver_choose(struct benchmark *j, struct harness *m, double trial_s, double sample_s, struct error *err);
/* n samples of a round; disturbed ones are repeated once, before deadline_s. */
int driver_sample(struct benchmark *j, struct harness *m, int n, int round, double deadline_s, struct error *err);
/* Median, interval and metadata. */
void driver_to_ceiling(const struct benchmark *j, const struct harness *m, struct ceiling *c);

/* Effort per thread count. */
struct effort {
    int n_rounds, n_per_round; /* upper limits */
    double trial;              /* fraction of a benchmark's time for variant selection */
    double sample_s;           /* longest sample (unless it is a single repetition) */
};
/* Rounds over all benchmarks until deadline_s; the first round is always complete. done, share: progress. Samples are kept whatever
 * the result. */
struct driver {
    const struct effort *e;
    const struct ceilings_options *o;
    double start_s, deadline_s; /* of this thread count */
    double end_s;               /* of the whole profile, for progress */
    double begin_s;             /* of the whole profile */
};
int driver_run(const struct driver *d, struct benchmark_list *l, struct harness *m, struct error *err);
/* Benchmarks with samples or a reason, as ceilings of h. */
int driver_keep(const struct benchmark_list *l, const struct harness *m, struct hwprofile *h, struct error *err);

/* ---- this module's providers, and single benchmarks ---- */

extern const struct ceilings_provider ceilings_compute, ceilings_memory, ceilings_kernels;
/* Best kernel of a math over all ISAs, multiply-adds only; ERROR_UNAVAILABLE: none. */
struct benchmark *compute_add_best(struct benchmark_list *l, enum math math, unsigned cpu_flags, struct error *err);
/* DRAM read of m's memory, one window of 1/n_window of a thread's part per sample. */
struct benchmark *memory_add_dram(struct benchmark_list *l, struct harness *m, size_t n_window, unsigned cpu_flags, struct error *err);

/* ---- check.c ------------------------------------------------------------------------ */

/* likwid-bench test equivalent to c; false: none. */
bool check_test_of(const struct ceiling *c, char *test, size_t size);
/* Medians, ratio and verdict of n (1 to 5) turns. */
void check_judge(struct ceilings_check *c, const double *ours, const double *theirs, size_t n);

#endif
