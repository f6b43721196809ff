/* base: errors, checked sizes, strings, files, names, units, statistics, clock, CPUs, threads, random numbers. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* fmin and fmax for arguments that are never NaN, inlined. */
static inline double min2(double a, double b)
{
    return a < b ? a : b;
}

static inline double max2(double a, double b)
{
    return a > b ? a : b;
}

/* ---- errors ------------------------------------------------------------- Every function that can fail takes `struct error *err`
 * last, returns 0 or -1 (or pointer / NULL), and names file, field, found and expected value in the message. */
enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,       /* command line: exit status 2 */
    ERROR_INPUT,       /* wrong file or value: 1 */
    ERROR_SYSTEM,      /* system call failed (open, mmap, memory): 1 */
    ERROR_UNAVAILABLE, /* optional feature missing: 3 */
    ERROR_INTERRUPTED, /* SIGINT, SIGTERM, SIGHUP, SIGXCPU: 130 */
    ERROR_PIPE,        /* reader of the output closed it: exit by SIGPIPE; 1 where SIGPIPE is ignored */
    ERROR_REGRESSION,  /* --fail-over: a test is slower by more than that: 4 */
};

struct error {
    enum error_kind kind;
    char msg[1024];
};

/* Fill *err (may be NULL). Always returns -1, so `return error_set(...)`. */
int error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Put "text: " in front of the message already in *err. Always returns -1. */
int error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Error of a failed write with reason errno e; 0: an earlier write failed. Always returns -1. */
int error_write(struct error *err, int e, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "out of memory (need N bytes for WHAT)". Always returns -1. */
int error_oom(struct error *err, size_t bytes, const char *what);
/* Exit status of the program for this error. */
int error_exit_status(const struct error *err);

/* ---- source of a traffic or work figure ---- */
enum number_source {
    SOURCE_UNCORE_COUNTERS, /* memory controllers and fabrics: bytes that crossed them */
    SOURCE_CORE_COUNTERS,   /* core PMUs; the kernel for software events */
    SOURCE_EXACT_ORACLE,    /* exact count, by an emulator or by the code itself */
    SOURCE_CACHE_SIMULATION,
    SOURCE_ANALYTICAL, /* compulsory bytes by formula */
    SOURCE_COUNT,
};
/* "uncore counters", "core counters", "exact oracle", "cache simulation", "analytical compulsory bytes" */
const char *number_source_name(enum number_source s);

/* ---- checked sizes (values from files) ---------------------------------- */
bool size_mul(size_t a, size_t b, size_t *out); /* false on overflow */
bool size_add(size_t a, size_t b, size_t *out);
size_t size_align_up(size_t n, size_t align); /* align is a power of two; no overflow check */
static inline uint32_t u32_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t u64_ceil_div(uint64_t a, uint64_t b);
/* Row stride in floats of a matrix of `columns`: an odd number of cache lines, which spreads a column over all cache sets. */
size_t size_row_floats(size_t columns);
/* Cache-line aligned, in large pages when it fills some. Not zeroed; free(). NULL: no memory. */
void *size_alloc(size_t bytes);

/* ---- strbuf: a growing string; an allocation failure is sticky (.oom) ---- */
struct strbuf {
    char *s; /* NUL-terminated once anything was added; NULL when empty */
    size_t len, cap;
    bool oom;
};
void strbuf_free(struct strbuf *b);
void strbuf_add(struct strbuf *b, const void *data, size_t n);
void strbuf_adds(struct strbuf *b, const char *s);
/* The text, "" when nothing was added; NULL with the error after an allocation failure. */
const char *strbuf_text(const struct strbuf *b, const char *what, struct error *err);
enum { DIGITS_SIX = 16 };
/* v as printf's %.6g, faster; no terminating NUL. Returns the bytes written. */
size_t digits_six(char out[DIGITS_SIX], double v);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- files --------------------------------------------------------------- */
/* A whole file mapped read-only. Empty files map to data != NULL, size 0. */
struct filemap {
    const unsigned char *data;
    size_t size;
};
int filemap_open(struct filemap *m, const char *path, struct error *err);
void filemap_close(struct filemap *m);

/*
 * Reads a file into the page cache front to back, unless it is resident or larger than half of memory. A mapping faulted in
 * at random gets small pages, which read a third slower. Interruptible; the open that follows reports a read error.
 */
int file_warm(const char *path, struct error *err);

/*
 * Temporary files next to the final file: PATH plus a random suffix, locked, with PATH's permissions. Removed when a signal ends the
 * process; those of killed processes are removed when the same PATH is written again.
 */
int temporary_create(char **tmp, const char *path, struct error *err); /* the open file descriptor; -1 */
int temporary_rename(char *tmp, const char *path);                     /* 0, or -1 with errno and the file removed; both free tmp */
void temporary_remove(char *tmp);
/* The same for a folder: path ends in XXXXXX and stays the caller's. Returns the open folder, which holds the lock; -1. */
int temporary_folder(char *path, struct error *err);
/* Registers a file or folder to be removed when a signal ends the process, until temporary_forget. path stays the caller's. */
void temporary_add(char *path);
void temporary_forget(char *path);
void temporary_remove_all(void); /* async-signal-safe */

/*
 * A result file: written under a temporary name in the same folder; commit flushes, syncs and renames it; abort and a fatal signal remove
 * it. Links are followed, dangling ones too. An existing path that is no regular file (/dev/stdout, a pipe) is written directly.
 * "-" is standard output.
 */
struct outfile {
    FILE *f;
    char *path, *tmp; /* tmp is NULL when written directly */
};
int outfile_open(struct outfile *o, const char *path, struct error *err);
int outfile_commit(struct outfile *o, struct error *err);
void outfile_abort(struct outfile *o);
/* Commits with rc 0, else aborts. Returns rc, or the commit's error. */
int outfile_end(struct outfile *o, int rc, struct error *err);
/* Opens and aborts one: reports an unwritable path before minutes of work. */
int outfile_check(const char *path, struct error *err);

/* Create a directory and its parents (like mkdir -p). */
int dir_make(const char *path, struct error *err);
bool file_exists(const char *path);
/* Same device and inode. */
bool file_same(const char *a, const char *b);
/* Same non-empty content. */
bool file_alike(const char *a, const char *b);

/* ---- data files by name: DIR/SUB/NAME.json, dirs NULL-terminated (or NULL) ---- */
enum { NAME_SIZE = 128 }; /* including ".json"; longer names are skipped */
/* Names in all directories, sorted, unique; free with name_list_free. A missing directory has none. */
int name_list(char ***names, size_t *n, const char *const *dirs, const char *sub, struct error *err);
void name_list_free(char **names, size_t n);
/* Canonical form for comparison: letters, digits and '+' in lower case, without the words in drop (NULL-terminated or NULL): "RTX
 * 4090", "rtx-4090" and, with "nvidia" dropped, "NVIDIA RTX_4090" are equal. A name of such words alone keeps them. */
void name_fold(char *out, size_t size, const char *name, const char *const *drop);
/* The same with blanks between words and decimal points kept: "rtx 4090", "llama 3.1 8b". */
void name_words(char *out, size_t size, const char *name, const char *const *drop);
/* File of `name` in the first directory that has it; else false. */
bool name_file(char *path, size_t size, const char *const *dirs, const char *sub, const char *name);
/* Levenshtein distance of the first NAME_SIZE characters. */
unsigned edit_distance(const char *a, const char *b);
/* Rank distance of a candidate from a name, both folded; 0: equal; only the order is meaningful. Prefixes up to a word or number
 * end are nearest, longer ones first; then other prefixes and substrings; then edit distance. */
unsigned name_distance(const char *asked, const char *candidate);
/* True when more than half of the name would change: too distant to suggest. */
bool name_too_distant(const char *asked, unsigned distance);

/* ---- lazy initialisation ---- */

struct once {
    pthread_mutex_t lock;
    atomic_bool tried;
    int rc;
    struct error failure;
};
#define ONCE_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }
/* Calls read() once, in the first thread; later calls return its result and error. */
int read_once(struct once *o, int (*read)(struct error *err), struct error *err);

/*
 * ---- interruption ----
 * main() installs the handlers; long loops call interrupt_check. The signal flags and the list of temporary files are mutable
 * globals because a signal handler has no argument.
 */
void interrupt_install(void);
/* Later signals do not end the process: launchers such as mpirun may send several. */
void interrupt_ignore_repeated(void);
/* Async-signal-safe: signal sig arrived, long loops stop. */
void interrupt_set(int sig);
bool interrupt_pending(void);
/* -1 with ERROR_INTERRUPTED after SIGINT, SIGTERM, SIGHUP or SIGXCPU, else 0. */
int interrupt_check(struct error *err);
/* Removes temporary files and child programs and ends the process with a message: the program's notify_handlers.out_of_memory. */
_Noreturn void interrupt_end_without_memory(void);
/* Ends the process by SIGPIPE if that signal arrived; returns otherwise. */
void interrupt_end_by_pipe(void);
/* read(2) that an interrupt ends within 200 ms, in whichever thread the signal arrives: -1 with EINTR. */
ssize_t interrupt_read(int fd, void *buf, size_t n);

/* ---- units: SI by default; GiB says so ------------------------------------ */
/* "41.2 GB/s" from (41.2e9, "B/s"); 3 significant digits, k M G T P and m u n below 1. */
const char *units_si(char *buf, size_t n, double v, const char *unit);
/* "1.50 GiB" from bytes. */
const char *units_gib(char *buf, size_t n, double bytes);
/* "204.8 GB/s", "16 GiB", "3.2e9": number, optional prefix, unit must match `unit`
 * ("B", "B/s", "FLOP/s", "Hz", ...). NaN when it does not parse. */
double units_parse(const char *s, const char *unit);

/* ---- numbers from the command line, texts --------------------------------- */
/* Whole-string integer, or decimal number without blanks, in [lo, hi], else ERROR_USAGE naming `what`, found and range. */
int parse_int(const char *s, int64_t lo, int64_t hi, const char *what, int64_t *out,
              struct error *err);
int parse_double(const char *s, double lo, double hi, const char *what, double *out,
                 struct error *err);

bool text_ends_with(const char *s, const char *end);
/* The space-separated list contains the word. */
bool text_lists(const char *list, const char *word);
/* Skips a byte-order mark: moves *text and *size. Refuses UTF-16 and UTF-32 as "name: line 1, column 1". */
int text_begin(const char *name, const char **text, size_t *size, struct error *err);

/* Replaces bytes of control characters, including two-byte UTF-8 ones, by '?'; newline and tab stay. */
void text_show(char *s, size_t n);

/* ---- statistics ------------------------------------------------------------ */
double stats_mean(const double *x, size_t n);
double stats_sd(const double *x, size_t n); /* sample sd (n-1); 0 for n < 2 */
/* Linear interpolation between order statistics (type 7); q in [0,1]; x need not be sorted;
 * NaN for n == 0. Source: methods.md (70). */
double stats_quantile(const double *x, size_t n, double q);
double stats_median(const double *x, size_t n);
/* 95 % bootstrap interval of the median (1000 resamples, fixed seed). methods.md (70). */
void stats_median_ci(const double *x, size_t n, double *lo, double *hi);
/* The same for samples in blocks (equal, adjacent block numbers): resamples whole blocks. One block: stats_median_ci. methods.md
 * (70). */
void stats_median_block_ci(const double *x, const int *block, size_t n, double *lo, double *hi);
/* Standard deviation between blocks in excess of that within, relative to the mean (one-way random effects); 0: none; NaN: fewer
 * than two blocks, or no block of two samples. methods.md (70). */
double stats_between_blocks(const double *x, const int *block, size_t n);

/* ---- clock ------------------------------------------------------------------ */
double clock_now_s(void); /* CLOCK_MONOTONIC_RAW */
uint64_t clock_now_ns(void);
/* "2026-11-20T19:06:00Z" */
const char *clock_date(char *buf, size_t n);

/* ---- random numbers: splitmix64 + xoshiro256**, same stream everywhere ------- */
struct rng {
    uint64_t s[4];
};
void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_u64(struct rng *r);
/* A seed that cannot be guessed: getrandom(2); where that fails, of the clock and the process. */
uint64_t rng_entropy(void);
double rng_uniform(struct rng *r); /* [0, 1) */
double rng_normal(struct rng *r);  /* mean 0, sd 1 */

/* FNV-1a, 64 bits. Source: Fowler, Noll and Vo, draft-eastlake-fnv */
uint64_t hash_bytes(const void *data, size_t n);

/* ---- CPUs -------------------------------------------------------------------- */
enum cpu_flag {
    CPU_AVX2 = 1 << 0,   /* with FMA and F16C */
    CPU_AVX512 = 1 << 1, /* F BW DQ VL */
    CPU_AVX512VNNI = 1 << 2,
    CPU_AVX512BF16 = 1 << 3,
    CPU_AVX512FP16 = 1 << 4,
    CPU_AMX_INT8 = 1 << 5,
    CPU_AMX_BF16 = 1 << 6,
    CPU_NEON = 1 << 7, /* 64-bit Arm baseline */
    CPU_DOTPROD = 1 << 8,
    CPU_I8MM = 1 << 9,
    CPU_SSE42 = 1 << 10, /* x86-64-v2 */
    CPU_AVXVNNI = 1 << 11,
    CPU_AMX_FP16 = 1 << 12,
    CPU_ARM_FP16 = 1 << 13, /* FP16 vectors */
    CPU_ARM_BF16 = 1 << 14,
    CPU_HW_PREFETCH = 1 << 15,   /* tuning: the hardware prefetcher suffices for sequential scans */
    CPU_SLOW_DOT_BF16 = 1 << 16, /* tuning: FP32 FMA has more throughput than vdpbf16ps */
    CPU_SW_PREFETCH = 1 << 17,   /* tuning: one software prefetch per line, into L1 only */
    CPU_TWO_PORTS = 1 << 18,     /* tuning: 512-bit ALU and FMA share two ports */
    CPU_AVX512VBMI = 1 << 19,
    CPU_TUNING = CPU_HW_PREFETCH | CPU_SW_PREFETCH | CPU_TWO_PORTS, /* flags that select a variant, not an instruction set */
};
unsigned cpu_flags(void);
/* Requests AMX tile state from Linux; once per process suffices. False: no AMX, or refused. */
bool cpu_request_amx_tiles(void);
/* "Intel(R) Xeon(R) Processor"; "unknown CPU" when /proc has none. */
const char *cpu_model_name(char *buf, size_t n);

/* An ordered list of OS CPU numbers. */
struct cpulist {
    int *cpu;
    size_t n;
};
/* "0-3,8,10-11" */
int cpulist_parse(struct cpulist *l, const char *text, struct error *err);
/* CPUs of the affinity mask in thread placement order (cpu_topology.h): one hardware thread per core first, fast cores first, spread
 * over packages, NUMA nodes and caches. */
int cpulist_usable(struct cpulist *l, struct error *err);
/* CPUs in llama.cpp's --numa order: DISTRIBUTE round-robin over NUMA nodes, ISOLATE only the node of the running CPU. topology:
 * NULL, or hwloc's synthetic description ("node:2 core:4 pu:1") of another machine, all of whose CPUs are usable, seen from CPU
 * `here`. */
enum numa_mode { NUMA_DISTRIBUTE, NUMA_ISOLATE };
int cpulist_numa(struct cpulist *l, enum numa_mode mode, const char *topology, int here, struct error *err);
void cpulist_free(struct cpulist *l);

/* ---- resource limits and use of this process (process.c) ---- */
/* CPU quota of the control groups: the least cpu.max (v2) or cpu.cfs_quota_us (v1) from its own group up; INFINITY: no limit. root:
 * "", or a folder that stands for /. */
double cgroup_cpus(const char *root);
/* Memory limit of the control groups: the least memory.max (v2) or memory.limit_in_bytes (v1); INFINITY: no limit. */
double cgroup_memory_bytes(const char *root);
/* Threads that the quota keeps running on n CPUs: rounded down, at least 1. */
int threads_within(size_t n_cpus, double quota_cpus);
/* Peak resident memory, mapped files included: VmHWM of status ("/proc/self/status"). NaN with an error when unavailable. */
double memory_peak_bytes(const char *status, struct error *err);
/* Resets the peak to the resident size, if the kernel permits. */
void memory_peak_reset(void);

/* Ticks (mostly 10 ms) of these CPUs since boot: total and steal time of the hypervisor. root as for cgroup_cpus(). Both NaN when
 * /proc/stat is unavailable (proc(5)). */
struct cpu_ticks {
    double all, stolen;
};
struct cpu_ticks cpu_ticks(const char *root, const struct cpulist *cpus);
/* Involuntary context switches of this process; NaN: unavailable. */
double process_involuntary_switches(void);
/* CPU time of this process, all threads; NaN: unavailable. */
double process_cpu_seconds(void);

/* ---- threads ------------------------------------------------------------------ */
/*
 * A team of n threads, the caller being thread 0. team_run runs fn(arg, tid, n) on every thread and returns when all are done. Workers spin
 * briefly after a run, then sleep. team_barrier may be called inside fn, by all n threads.
 */
struct team;
typedef void team_fn(void *arg, int tid, int n_threads);
/* cpus: pin thread i to cpus->cpu[i % n], the caller as thread 0 included; NULL: do not pin. More threads than usable CPUs is an
 * error. */
struct team *team_new(int n_threads, const struct cpulist *cpus, struct error *err);
void team_free(struct team *t);
int team_size(const struct team *t);
void team_run(struct team *t, team_fn *fn, void *arg);
void team_barrier(struct team *t);
/* fn on the calling thread, with the CPUs that it had before team_new() pinned it: for threads that it starts, which inherit them. */
void team_unpinned(struct team *t, void (*fn)(void *arg), void *arg);

#endif
