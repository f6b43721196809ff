/*
 * What the files of ceilings share: the tables of compute and read kernels, the driver. Only ceilings and its
 * ISA directories include this, and nothing here has a body: an ISA file must not leave copies of
 * shared functions compiled with its flags.
 */
#ifndef CEILINGS_INTERNAL_H
#define CEILINGS_INTERNAL_H

#include "base/cpu_topology.h"
#include "ceilings/ceilings.h"

/* What limits a loop beside latency, as the table of cores (core.c) counts. Methods.md (74). */
enum issue {
    ISSUE_NONE,     /* not known of any core */
    ISSUE_FMA,      /* multiply-adds, and additions where pipes are left */
    ISSUE_FMA_ONLY, /* multiply-adds alone: a type that is widened to these */
    ISSUE_MUL_ADD,  /* products and sums apart */
    ISSUE_MADD16,   /* two instructions: products of words and their pairs' sum, an addition */
    ISSUE_MADD8,    /* three: products of bytes, of words, an addition */
    ISSUE_DOT16,    /* a dot product is one instruction */
    ISSUE_DOT8,
    ISSUE_DOT_BF16,
    ISSUE_MATRIX, /* Arm's 2x8 by 8x2 */
    ISSUE_TILE,
};

/*
 * A register-only loop.
 * run      n iterations; touches no memory
 * flop     of one iteration (a multiply-add is two)
 */
struct peak_kernel {
    const char *isa; /* as kernels.h names the rungs, or "scalar", "sse", "avxvnni", "avx512fp16", "amx", "fp16", "bf16" */
    unsigned need;   /* cpu_flags that must be there */
    enum math math;
    const char *text; /* what is repeated, for struct ceiling.kernel */
    double flop;
    void (*run)(uint64_t n);
    /* n times 32 dependent additions and one of the loop's instructions; NULL: clock.c's */
    void (*chain)(uint64_t n);
    enum issue issue; /* what the core issues in a cycle decides */
    int bits;         /* of the vector */
    int elem_bits;    /* of what is multiplied: lanes are bits / elem_bits */
};

/* 32 dependent additions, register to register: recent cores fold chains of "add constant" away
 * when they rename registers. %0 counts iterations down, %1 is the sum, %2 what is added. */
#define CHAIN_ADD4(add) add add add add
#define CHAIN_ADD32(add)                                                              \
    CHAIN_ADD4(add) CHAIN_ADD4(add) CHAIN_ADD4(add) CHAIN_ADD4(add) CHAIN_ADD4(add)   \
    CHAIN_ADD4(add) CHAIN_ADD4(add) CHAIN_ADD4(add)
#define CHAIN_X86 ".p2align 5\n1:\n\t" CHAIN_ADD32("add %2, %1\n\t")
#define CHAIN_X86_END "dec %0\n\tjnz 1b"

/*
 * A loop that reads.
 * run      reads `bytes` (a multiple of granule) at p, `sweeps` times, front to back
 * far      tried for DRAM and L3, near for L1 and L2
 */
struct read_kernel {
    const char *isa;
    unsigned need;
    const char *text;
    size_t granule;
    void (*run)(const void *p, size_t bytes, uint64_t sweeps);
    bool near, far; /* tried for L1 and L2; for L3 and DRAM */
};

/* The tables of the ISA directories, each ended by a row whose run is NULL. */
extern const struct peak_kernel ceilings_ref_peak[], ceilings_sse_peak[], ceilings_avx2_peak[], ceilings_avxvnni_peak[],
    ceilings_avx512_peak[], ceilings_avx512vnni_peak[], ceilings_avx512bf16_peak[], ceilings_avx512fp16_peak[],
    ceilings_amx_peak[], ceilings_amxfp16_peak[], ceilings_neon_peak[], ceilings_dotprod_peak[], ceilings_i8mm_peak[],
    ceilings_armfp16_peak[], ceilings_armbf16_peak[];
extern const struct read_kernel ceilings_ref_read[], ceilings_avx2_read[], ceilings_avx512_read[], ceilings_neon_read[];

/* Row i of all tables one after another, in the ladder's order; NULL past the end. */
const struct peak_kernel *peak_kernel_at(size_t i); /* compute.c */
const struct read_kernel *read_kernel_at(size_t i); /* memory.c */
/* Runs here, and is not the portable row where another one runs. */
bool peak_kernel_wanted(const struct peak_kernel *k, unsigned cpu_flags);
bool read_kernel_wanted(const struct read_kernel *k, unsigned cpu_flags);

/* ---- core.c: what a core issues in a cycle ------------------------------------------- */

struct core;
/* The core that this process runs on (CPU 0's, where they differ), or NULL: not in the table. */
const struct core *core_this(void);
/* vendor: CPUID's, with its family and model; "" on Arm, with MIDR_EL1's implementer and part. */
const struct core *core_find(const char *vendor, int family, int model);
/* FLOP or OP a cycle at most, of any loop of k's kind; NaN: not known. */
double core_per_cycle(const struct core *c, const struct peak_kernel *k);

enum level { LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_DRAM, LEVEL_COUNT };

/* footprint.c, whose other functions are in memory.h: what each of n threads touches in each cache (0: cannot be), and all
 * of them together in memory. methods.md (75). */
int footprint_plan(const struct ceilings_options *o, int n, size_t cache[LEVEL_DRAM], size_t *memory, bool *small, struct error *err);

/* ---- reference.c: small products of the engine's own, beside samples and beside runs. methods.md (80) ---------- */

enum reference_kind {
    REFERENCE_CORE,  /* Q4_K by 16 tokens: by the widest vectors */
    REFERENCE_TILES, /* BF16 by 64 tokens: by tiles */
    REFERENCE_COUNT
};
struct reference;
/* For so many threads, by the best kernels of this CPU. *out NULL without an error: it has no tiles. */
int reference_new(struct reference **out, enum reference_kind kind, int n_threads, struct error *err);
void reference_free(struct reference *r);
/* Such products as a roof; *out NULL without an error: no tiles here. */
int reference_add(struct job **out, struct job_list *l, enum reference_kind kind, int n_threads, struct error *err);

/* ---- exchange.c: what cores pass to each other, as a roof. methods.md (33) --------------------------------------- */

/* By n_threads with the kernels of cpu_flags: bytes a second of all of them, or a barrier's seconds. -1: no memory. */
int exchange_add(struct job **out, struct job_list *l, enum coherence_kind what, int n_threads, unsigned cpu_flags, struct error *err);

/* ---- meter.c: one thread count, its team and its memory -------------------------- */

struct meter_reference {
    struct reference *product; /* NULL: none is run */
    uint64_t n;                /* products: some 0.1 ms */
};

struct meter {
    struct team *team;
    int n;
    struct cpu_topology topology; /* of the machine */
    int *cpu;             /* n: where the threads are */
    char cpus[64];        /* "0-1" */
    unsigned char *mem;   /* NULL: compute only */
    size_t mem_bytes;     /* of all threads */
    bool mem_lent;        /* not this meter's: only read, and not given back */
    size_t chunk_bytes;   /* of one thread, its part of mem */
    bool mem_small;       /* less than four times the last-level caches */
    const struct job *warm; /* of those that walk memory the one that was sampled last, whose footprint the caches hold; NULL: none */
    struct meter_slot *slot;
    struct meter_reference reference[REFERENCE_COUNT]; /* run beside samples */
};

/* memory: enough of it for DRAM's roof (footprint_of_memory), touched by the threads that will read it. */
int meter_init(struct meter *m, int n_threads, bool memory, const struct ceilings_options *o, struct error *err);
void meter_free(struct meter *m);
/* A millisecond or so of work on all threads: clocks rise. */
void meter_warm(struct meter *m);
/* Untimed, if the last sample was not j's: walks, a call each, of all that a cache is to hold. methods.md (75) */
void meter_fill(struct meter *m, const struct job *j, void (*walk)(void *arg, int tid), void *arg);

/* From now on samples of jobs whose class has .core stand between two looks at what cores give; -1: no memory. */
int meter_watch_cores(struct meter *m, struct error *err);
/* Such a look: FLOP/s of all threads; *disturbed is set where the system took a CPU away. 0: nothing is watched. */
double meter_reference_now(struct meter *m, enum reference_kind kind, bool *disturbed);

/* Cycles a second by 32 * n dependent additions; chain NULL: additions alone. */
double clock_chain_hz(void (*chain)(uint64_t n), uint64_t n);

/* ---- driver.c: the jobs of one thread count ---------------------------------------- */

/* Prepare j, choose its variant and its repetitions, in some trial_s seconds; a sample is to last about sample_s. */
int driver_choose(struct job *j, struct meter *m, double trial_s, double sample_s, struct error *err);
/* n more samples, of that round. Disturbed ones are taken again, once each, before deadline_s. */
int driver_sample(struct job *j, struct meter *m, int n, int round, double deadline_s, struct error *err);
/* Median, interval and the rest of what the driver knows. */
void driver_to_ceiling(const struct job *j, const struct meter *m, struct ceiling *c);

/* How the jobs of a thread count are measured. */
struct effort {
    int n_rounds, n_per_round; /* at most */
    double trial;              /* part of a job's time for the choice of its variant */
    double sample_s;           /* a sample lasts at most so long (unless it is one repetition) */
};
/* Rounds over all jobs of l until deadline_s; the first round is never skipped: every roof gets its samples.
 * done, share: of the progress. What was sampled is in the jobs whatever the outcome. */
struct driver {
    const struct effort *e;
    const struct ceilings_options *o;
    double start_s, deadline_s; /* of this thread count */
    double end_s;               /* of everything, for what progress says is left */
    double begin_s;             /* of everything */
};
int driver_run(const struct driver *d, struct job_list *l, struct meter *m, struct error *err);
/* Every job that has samples, or a reason, into h. */
int driver_keep(const struct job_list *l, const struct meter *m, struct hwprofile *h, struct error *err);

/* ---- the providers of this module, and single jobs of theirs ---------------------------------------------- */

extern const struct ceilings_provider ceilings_compute, ceilings_memory, ceilings_kernels;
/* The best kernel of a math on any ISA, without additions beside its multiply-adds; ERROR_UNAVAILABLE: none here. */
struct job *compute_add_best(struct job_list *l, enum math math, unsigned cpu_flags, struct error *err);
/* DRAM read of m's memory, in windows of 1/n_window of a thread's part, a sample each. */
struct job *memory_add_dram(struct job_list *l, struct meter *m, size_t n_window, unsigned cpu_flags, struct error *err);

/* ---- check.c ------------------------------------------------------------------------ */

/* The test of likwid-bench that does what c does; false: it has none. */
bool check_test_of(const struct ceiling *c, char *test, size_t size);
/* Medians, ratio and verdict of n (1 to 5) turns. */
void check_judge(struct ceilings_check *c, const double *ours, const double *theirs, size_t n);

#endif
