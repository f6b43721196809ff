/*
 * base: what every module stands on: errors, checked sizes, strings, files, names,
 * units, statistics, clock, CPUs, threads, random numbers.
 */
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

/* fmin and fmax of numbers that are never NaN, without a call. */
static inline double min2(double a, double b)
{
    return a < b ? a : b;
}

static inline double max2(double a, double b)
{
    return a > b ? a : b;
}

/* ---- errors -------------------------------------------------------------
 * Every function that can fail takes `struct error *err` last, returns 0 or -1
 * (or pointer / NULL), and says file, field, found and expected in the message.
 */
enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,       /* the command line: exit status 2 */
    ERROR_INPUT,       /* a file or value is wrong: 1 */
    ERROR_SYSTEM,      /* the system refused (open, mmap, memory): 1 */
    ERROR_UNAVAILABLE, /* something optional is missing here: 3 */
    ERROR_INTERRUPTED, /* SIGINT, SIGTERM, SIGHUP, SIGXCPU: 130 */
    ERROR_PIPE,        /* the reader of the output is gone: the exit is SIGPIPE's; 1 where SIGPIPE is ignored */
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
/* A write that failed, with its errno as the reason; 0: one before it failed. Always returns -1. */
int error_write(struct error *err, int e, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "out of memory (need N bytes for WHAT)". Always returns -1. */
int error_oom(struct error *err, size_t bytes, const char *what);
/* Exit status of the program for this error. */
int error_exit_status(const struct error *err);

/* ---- where a number comes from: every measured or computed traffic and work carries one of these ------------ */
enum number_source {
    SOURCE_UNCORE_COUNTERS, /* of memory controllers and fabrics: what really crossed them */
    SOURCE_CORE_COUNTERS,   /* of the cores, and of the kernel for software events */
    SOURCE_EXACT_ORACLE,    /* every instruction executed or access made, counted by an emulator or by the code itself */
    SOURCE_CACHE_SIMULATION,
    SOURCE_ANALYTICAL,      /* compulsory bytes by formula */
    SOURCE_COUNT,
};
/* "uncore counters", "core counters", "exact oracle", "cache simulation", "analytical compulsory bytes" */
const char *number_source_name(enum number_source s);

/* ---- checked sizes (values from files) ---------------------------------- */
bool size_mul(size_t a, size_t b, size_t *out); /* false on overflow */
bool size_add(size_t a, size_t b, size_t *out);
size_t size_align_up(size_t n, size_t align); /* align is a power of two; no overflow check */
uint64_t u64_min(uint64_t a, uint64_t b);
uint64_t u64_max(uint64_t a, uint64_t b);
uint64_t u64_ceil_div(uint64_t a, uint64_t b);
/* Floats from row to row of a matrix of so many columns: an odd number of lines, so that one column of many rows is in all sets of a
 * cache and not in a few. doc/notes/kernels.md */
size_t size_row_floats(size_t columns);
/* Aligned to lines, in large pages where it fills some: products of many tokens walk over thousands of small ones. Not zeroed; free().
 * NULL: no memory. */
void *size_alloc(size_t bytes);

/* ---- strbuf: a growing string. Out of memory is sticky (.oom). ----------- */
struct strbuf {
    char *s; /* NUL-terminated once anything was added; NULL when empty */
    size_t len, cap;
    bool oom;
};
void strbuf_free(struct strbuf *b);
void strbuf_add(struct strbuf *b, const void *data, size_t n);
void strbuf_adds(struct strbuf *b, const char *s);
/* The finished text, "" where nothing was added; NULL with the error where one of the additions had no memory: b.s itself says
 * neither. */
const char *strbuf_text(const struct strbuf *b, const char *what, struct error *err);
enum { DIGITS_SIX = 16 };
/* v as printf's %.6g has it, some times quicker; without a 0 at its end. Bytes written. */
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
 * Bring a file into the page cache by reading it front to back, unless it is there already or larger than half of
 * the machine's memory. A mapping that is faulted in at random gets small pages instead: a third slower to read.
 * Interruptible; a file that cannot be read is left for the open that follows to report.
 */
int file_warm(const char *path, struct error *err);

/*
 * Temporary files next to their final name: in PATH's folder under PATH's name and a suffix of random letters, locked, readable as
 * PATH is or would be. They are removed when a signal ends the process; those of processes that were killed, when the same PATH is
 * written again.
 */
int temporary_create(char **tmp, const char *path, struct error *err); /* the open file; -1 */
int temporary_rename(char *tmp, const char *path); /* 0, or -1 with errno: it is removed. Both free tmp. */
void temporary_remove(char *tmp);
/* The same of a folder: path ends in XXXXXX and stays the caller's. The open folder, which holds the lock; -1. */
int temporary_folder(char *path, struct error *err);
/* A file or folder that goes with the process when a signal ends it, until it is forgotten. path stays the caller's. */
void temporary_add(char *path);
void temporary_forget(char *path);
void temporary_remove_all(void); /* from a signal's handler */

/*
 * A result file: written under a temporary name beside `path`, renamed by commit (after
 * fflush and fsync), removed by abort and when a signal ends the process. A link is followed, also one to
 * a file that is not there yet. A path that exists and is not a
 * regular file (/dev/stdout, a pipe) is written directly. "-" is standard output.
 */
struct outfile {
    FILE *f;
    char *path, *tmp; /* tmp is NULL when written directly */
};
int outfile_open(struct outfile *o, const char *path, struct error *err);
int outfile_commit(struct outfile *o, struct error *err);
void outfile_abort(struct outfile *o);
/* Opens and aborts one: before minutes of work, not after them. */
int outfile_check(const char *path, struct error *err);

/* Create a directory and its parents (like mkdir -p). */
int dir_make(const char *path, struct error *err);
bool file_exists(const char *path);
/* One file, by device and inode: links and other spellings of a path are the same. */
bool file_same(const char *a, const char *b);
/* Two files of the same bytes, one at least. */
bool file_alike(const char *a, const char *b);

/* ---- data files by name: DIR/SUB/NAME.json, dirs NULL-terminated (or NULL) ---- */
enum { NAME_SIZE = 128 }; /* of a name with its .json; longer ones are passed over */
/* The names in all directories, sorted, each once; name_list_free them. A directory that is not there has none. */
int name_list(char ***names, size_t *n, const char *const *dirs, const char *sub, struct error *err);
void name_list_free(char **names, size_t n);
/* How names are compared: the letters, digits and '+' of name in lower case, without the words in drop (NULL-terminated
 * or NULL): "RTX 4090", "rtx-4090" and, with "nvidia" dropped, "NVIDIA RTX_4090" are one. Nothing but such words: they stay. */
void name_fold(char *out, size_t size, const char *name, const char *const *drop);
/* The same with a blank between words and the points of numbers: "rtx 4090", "llama 3.1 8b". */
void name_words(char *out, size_t size, const char *name, const char *const *drop);
/* The file of `name` in the first directory that has it; else false. */
bool name_file(char *path, size_t size, const char *const *dirs, const char *sub, const char *name);
/* Edits (insert, delete, replace a character) between two names, of each the first NAME_SIZE characters. */
unsigned edit_distance(const char *a, const char *b);
/* How far a candidate is from what was asked for, folded; only the order says something, and 0: the same. Where one is the
 * beginning of the other, to the end of a word or number, that is nearer than anything else, the longer the nearer; then what
 * begins with or contains it; then edits. */
unsigned name_distance(const char *asked, const char *candidate);
/* Is a candidate at that distance more than half rewritten? To suggest it would be noise. */
bool name_far(const char *asked, unsigned distance);

/* ---- files that are read once ------------------------------------------------ */

struct once {
    pthread_mutex_t lock;
    atomic_bool tried;
    int rc;
    struct error failure;
};
#define ONCE_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }
/* Calls read() the first time, by whichever thread; later calls return what that did, its error too. */
int read_once(struct once *o, int (*read)(struct error *err), struct error *err);

/* ---- interruption ---------------------------------------------------------
 * main() installs the handlers; long loops ask. The signals' flags and the list of temporary files are the mutable globals.
 */
void interrupt_install(void);
/* A second signal does not end the process: what starts others (mpirun) may send several at once. */
void interrupt_patient(void);
/* From a signal's handler: sig came, and long loops end. */
void interrupt_set(int sig);
bool interrupt_pending(void);
/* -1 with ERROR_INTERRUPTED after SIGINT, SIGTERM, SIGHUP or SIGXCPU, else 0. */
int interrupt_check(struct error *err);
/* Ends the process with a message, its temporary files and the programs it runs first: notify_handlers.out_of_memory of the program. */
_Noreturn void interrupt_end_without_memory(void);
/* Ends the process by SIGPIPE when that signal came; returns when it did not, or is ignored. */
void interrupt_end_by_pipe(void);
/* read(2) that an interrupt ends within a fifth of a second, wherever and whenever its signal arrives: -1 with EINTR. */
ssize_t interrupt_read(int fd, void *buf, size_t n);

/* ---- units: SI by default; GiB says so ------------------------------------ */
/* "41.2 GB/s" from (41.2e9, "B/s"); 3 significant digits, k M G T P and m u n below 1. */
const char *units_si(char *buf, size_t n, double v, const char *unit);
/* "1.50 GiB" from bytes. */
const char *units_gib(char *buf, size_t n, double bytes);
/* "204.8 GB/s", "16 GiB", "3.2e9": number, optional prefix, unit must match `unit`
 * ("B", "B/s", "FLOP/s", "Hz", ...). NaN when it does not parse. */
double units_parse(const char *s, const char *unit);

/* ---- numbers from the command line ---------------------------------------- */
/* Whole-string integer in [lo, hi], else ERROR_USAGE naming `what`, found and range. */
int parse_int(const char *s, int64_t lo, int64_t hi, const char *what, int64_t *out,
              struct error *err);
int parse_double(const char *s, double lo, double hi, const char *what, double *out,
                 struct error *err);

/* The text of a file begins behind a byte-order mark: moves *text and *size there. Refuses UTF-16 and UTF-32, as "name: line 1, column 1". */
int text_begin(const char *name, const char **text, size_t *size, struct error *err);

/* What a terminal would obey in a text from outside ('?' a byte): control characters but the end of a line and tabs, also those of
 * two bytes in UTF-8. */
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
/* The same where samples of one block (equal numbers, one behind the other) are more alike than those of different ones:
 * whole blocks are drawn. One block: stats_median_ci. methods.md (70). */
void stats_median_block_ci(const double *x, const int *block, size_t n, double *lo, double *hi);
/* Standard deviation between blocks beyond what their samples differ within, as a part of the mean (one-way random
 * effects); 0: none; NaN: fewer than two blocks, or no block of two samples. methods.md (70). */
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
double rng_uniform(struct rng *r); /* [0, 1) */
double rng_normal(struct rng *r);  /* mean 0, sd 1 */

/* ---- CPUs -------------------------------------------------------------------- */
enum cpu_flag {
    CPU_AVX2 = 1 << 0,   /* with FMA and F16C */
    CPU_AVX512 = 1 << 1, /* F BW DQ VL */
    CPU_AVX512VNNI = 1 << 2,
    CPU_AVX512BF16 = 1 << 3,
    CPU_AVX512FP16 = 1 << 4,
    CPU_AMX_INT8 = 1 << 5,
    CPU_AMX_BF16 = 1 << 6,
    CPU_NEON = 1 << 7, /* 64-bit Arm: every one has it */
    CPU_DOTPROD = 1 << 8,
    CPU_I8MM = 1 << 9,
    CPU_SSE42 = 1 << 10, /* x86-64-v2 */
    CPU_AVXVNNI = 1 << 11,
    CPU_AMX_FP16 = 1 << 12,
    CPU_ARM_FP16 = 1 << 13, /* vectors of half floats */
    CPU_ARM_BF16 = 1 << 14,
    CPU_HW_PREFETCH = 1 << 15, /* no instructions: its prefetchers keep up with a sequential walk by themselves */
    CPU_SLOW_DOT_BF16 = 1 << 16, /* no instructions: multiply-adds of floats multiply faster than vdpbf16ps */
    CPU_SW_PREFETCH = 1 << 17, /* no instructions: wants each line of a walk that computes asked for once, and for L1 alone */
    CPU_TWO_PORTS = 1 << 18, /* no instructions: all there is to do with 512 bits but loads and stores takes the ports of products */
    CPU_AVX512VBMI = 1 << 19,
    CPU_LIKES = CPU_HW_PREFETCH | CPU_SW_PREFETCH | CPU_TWO_PORTS, /* which of several ways is the fastest */
};
unsigned cpu_flags(void);
/* Linux lends AMX's tiles to processes that ask: this asks, once is enough. False: the CPU has none, or they are not to be had. */
bool cpu_tiles_lent(void);
/* "Intel(R) Xeon(R) Processor", or the machine's name where /proc has none. */
const char *cpu_model_name(char *buf, size_t n);

/* An ordered list of OS CPU numbers. */
struct cpulist {
    int *cpu;
    size_t n;
};
/* "0-3,8,10-11" */
int cpulist_parse(struct cpulist *l, const char *text, struct error *err);
/* The CPUs this process may run on (affinity mask), in the order threads take them (places.h): one hardware thread of
 * every core first, fast cores before slow ones, spread over packages, memory nodes and caches. */
int cpulist_usable(struct cpulist *l, struct error *err);
/* The same CPUs as NUMA nodes order or limit them (llama.cpp's --numa): DISTRIBUTE takes one of every node in turn, so
 * that the first n are spread evenly; ISOLATE has only those of the node that this process runs on. topology: NULL, or
 * hwloc's description of another machine ("node:2 core:4 pu:1"), all of whose CPUs may be used, seen from CPU `here`. */
enum numa_mode { NUMA_DISTRIBUTE, NUMA_ISOLATE };
int cpulist_numa(struct cpulist *l, enum numa_mode mode, const char *topology, int here, struct error *err);
void cpulist_free(struct cpulist *l);

/* ---- what the system grants this process (process.c) --------------------------- */
/* CPUs that its control groups let it use on average: the least cpu.max (v2) or cpu.cfs_quota_us (v1) from its own
 * group up; INFINITY: no limit. root: "", or a folder that stands for / ("proc/self/cgroup" and what that leads to). */
double cgroup_cpus(const char *root);
/* Bytes of memory that they let it use: the least memory.max (v2) or memory.limit_in_bytes (v1); INFINITY: no limit. */
double cgroup_memory_bytes(const char *root);
/* Threads that such a quota keeps running on n CPUs: rounded down, at least 1. */
int threads_within(size_t n_cpus, double quota_cpus);
/* Most memory that was ever resident, pages of mapped files included: VmHWM in status ("/proc/self/status"). NaN with an
 * error that gives the reason where the system does not say. */
double memory_peak_bytes(const char *status, struct error *err);
/* Begin anew: what is resident now is the peak. Where the system refuses, the peak goes on. */
void memory_peak_reset(void);

/*
 * Time of these CPUs since the system started, in its ticks of mostly 10 ms: all of it, and what a hypervisor gave to others
 * while they had work (steal). root as for cgroup_cpus(). NaN both where the system does not say (proc(5), /proc/stat).
 */
struct cpu_ticks {
    double all, stolen;
};
struct cpu_ticks cpu_ticks(const char *root, const struct cpulist *cpus);
/* How often the system took a CPU from a thread of this process that wanted to go on; NaN: it does not say. */
double process_preemptions(void);
/* Seconds that threads of this process have run on a CPU; NaN: the system does not say. */
double process_cpu_seconds(void);

/* ---- threads ------------------------------------------------------------------ */
/*
 * A team of n threads, the caller being thread 0. team_run runs fn(arg, tid, n) on every
 * thread and returns when all are done. Workers spin for a short while after a run, then
 * sleep. team_barrier may be called inside fn, by all n threads.
 */
struct team;
typedef void team_fn(void *arg, int tid, int n_threads);
/* cpus: pin thread i to cpus->cpu[i % n] (thread 0, the caller, too); NULL: do not pin.
 * n_threads larger than the CPUs usable is an error (a spinning team needs its own CPUs). */
struct team *team_new(int n_threads, const struct cpulist *cpus, struct error *err);
void team_free(struct team *t);
int team_size(const struct team *t);
void team_run(struct team *t, team_fn *fn, void *arg);
void team_barrier(struct team *t);

#endif
