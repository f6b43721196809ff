/*
 * What the files of the memory roofs share (memory.c and its pieces; ceilings/<isa>/stream.c): kernels that read, write,
 * copy, add and gather, footprints, pages, the pointer chase, plateaus. Like internal.h it has no bodies.
 */
#ifndef CEILINGS_MEMORY_H
#define CEILINGS_MEMORY_H

#include "base/cpu_topology.h"
#include "ceilings/internal.h"

enum mem_op { MEM_READ, MEM_WRITE, MEM_WRITE_NT, MEM_COPY, MEM_TRIAD, MEM_OPS };

/*
 * A loop over streams.
 * run      `sweeps` times: write dst, copy a to dst, or dst = a + s * b; each stream has `bytes`, a multiple of granule,
 *          and starts on a line. What an op does not use is any valid pointer.
 * near     tried for L1 and L2; far: for L3 and DRAM
 */
struct stream_kernel {
    const char *isa;
    unsigned need; /* cpu_flags */
    enum mem_op op;
    const char *text;
    size_t granule;
    void (*run)(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps);
    bool near, far;
};

/* Reads rows of a table: row[0..n) of row_bytes (a multiple of 64) each, all of every row. row[n..n + GATHER_AHEAD) are
 * valid rows too: a kernel may fetch them early. */
enum { GATHER_AHEAD = 64 };
struct gather_kernel {
    const char *isa;
    unsigned need;
    const char *text;
    void (*run)(const void *table, const uint32_t *row, size_t n, size_t row_bytes);
};

/* Each ended by a row whose run is NULL. */
extern const struct stream_kernel ceilings_ref_stream[], ceilings_avx2_stream[], ceilings_avx512_stream[],
    ceilings_neon_stream[];
extern const struct gather_kernel ceilings_ref_gather[], ceilings_avx2_gather[], ceilings_avx512_gather[],
    ceilings_neon_gather[];

/* ---- streams.c: the tables, and an op in one call ------------------------------------------------ */

/* Row i of all tables one after another; NULL past the end. */
const struct stream_kernel *stream_kernel_at(size_t i);
const struct gather_kernel *gather_kernel_at(size_t i);
const char *mem_op_name(enum mem_op op); /* "write-nt" */
int mem_op_streams(enum mem_op op);      /* copy 2, triad 3, else 1 */

/* An op's kernel: read has tables of its own (internal.h). One of the two is set. */
struct mem_kernel {
    const struct read_kernel *read;
    const struct stream_kernel *stream;
};
const char *mem_kernel_text(const struct mem_kernel *k);
const char *mem_kernel_isa(const struct mem_kernel *k);
/* The k-th kernel of op that runs with these flags and is meant for that level; false: there are no more. */
bool mem_kernel_find(struct mem_kernel *out, enum mem_op op, enum level level, unsigned cpu_flags, size_t k);
/* Bytes of one stream of a footprint of `bytes`: whole KiB (read: as it is), at least one. */
size_t mem_stream_bytes(enum mem_op op, size_t bytes);
/* What a footprint takes of memory, the gaps between streams included: no two streams are a multiple of 4 KiB apart, where
 * some cores take a load for one that waits for a store. */
size_t mem_room_bytes(enum mem_op op, size_t bytes);
/* `sweeps` times over a footprint of `bytes` at p. */
void mem_run(const struct mem_kernel *k, enum mem_op op, void *p, size_t bytes, uint64_t sweeps);

/* Room for the gaps between the streams of any op. */
enum { MEM_GAPS = 16384 };

/* ---- footprint.c: how many bytes ------------------------------------------------------------------ */

/* Bytes that each thread on cpu[0..n) touches so that they come from that cache; 0 and *why: that cannot be.
 * methods.md (75). */
size_t footprint_of_cache(const struct cpu_topology *p, const int *cpu, size_t n, enum level level, const char **why);
/* Bytes of all threads together for memory: four times the caches, at least least_bytes, at most half of what is free
 * (0: not known). *small: less than four times the caches. */
size_t footprint_of_memory(double cache_bytes, double free_bytes, double least_bytes, bool *small);
/* The same in an effort's bounds, here. */
size_t footprint_of_effort(const struct cpu_topology *p, const int *cpu, size_t n, enum ceilings_effort effort, bool *small);
/* Bytes that may be taken here without pushing others out, control groups included; 0: not known. */
/* Footprints from lo up to hi, per_octave of them to each doubling, in whole 4 KiB, rising; how many. */
size_t footprint_grid(double lo, double hi, int per_octave, size_t *bytes, size_t max);

extern const char *const level_names[LEVEL_COUNT]; /* "L1" ... "DRAM" */

/* ---- plateaus.c: levels by change points ------------------------------------------------------------ */

/* A stretch of a curve that is level. x from point `first` to `last`, value: median of its points. */
struct plateau {
    size_t first, last;
    double from_x, to_x, value;
    double edge_x; /* where the curve has gone half of the way to the next one, on a log scale; of the last one: to
                      * half or twice of it; NaN: it does not */
};
enum { PLATEAUS_MAX = 6 };
/* x and values are positive. methods.md (76). out has room for PLATEAUS_MAX. */
int plateaus_find(const struct hw_point *p, size_t n, struct plateau *out, size_t *n_found, struct error *err);
/* The first x where the value is at least `share` of the largest one; NaN: no points. doc/notes/charts.md. */
double plateaus_saturation(const struct hw_point *p, size_t n, double share);

/* ---- pages.c: memory in pages of one size ---------------------------------------------------------- */

enum page_kind { PAGES_DEFAULT, PAGES_4K, PAGES_2M };
struct pages {
    unsigned char *mem; /* starts on 2 MiB */
    size_t bytes;
    void *map;
    size_t map_bytes;
    enum page_kind kind;
    bool reserved; /* 2 MiB pages from the system's pool, where it has one */
};
/* Untouched: whoever reads a part writes it first (pages_touch), so that it lies near. */
int pages_map(struct pages *p, size_t bytes, enum page_kind kind, struct error *err);
void pages_touch(struct pages *p, size_t at, size_t bytes);
/* Bytes of [mem, mem + bytes) that have large pages, by a text of the form of /proc/self/smaps; NaN: it does not say. */
double pages_huge_bytes(FILE *smaps, const void *mem, size_t bytes);
/* After touching: did the system give what was asked for? "" or the reason ("unavailable: ..."). */
void pages_check(const struct pages *p, char *why, size_t size);
void pages_unmap(struct pages *p);
/* Bind untouched memory to a node of that number; ERROR_UNAVAILABLE: the system refuses. */
int pages_bind(struct pages *p, int os_index, struct error *err);

/* ---- chase.c: a load that depends on the one before -------------------------------------------------- */

enum { CHASE_LINE = 64, CHASE_SLOTS = 8 };
/* One cycle through all lines of [p, p + bytes), in random order; methods.md (77). The pointers are at place
 * `slot` of each line: cycles of up to CHASE_SLOTS footprints share the memory. A run begins at p + slot pointers. */
void chase_build(void *p, size_t bytes, int slot, uint64_t seed);
/* n loads, from *at on; *at is where the next one begins. p itself is 64-byte aligned. */
void chase_run(void **at, uint64_t n);

/* ---- memory.c: jobs of streams, and what the plan is made of ----------------------------------------- */

/* Data of a job that times an op. */
struct streams {
    enum mem_op op;
    enum level level;
    size_t bytes;            /* footprint of a thread, a sweep */
    size_t n_window, window; /* its memory holds that many; each sample takes the next one; 0: always the same */
    int n_active;            /* threads that work, the first ones */
    int *chunk;              /* NULL: each its own; else thread t sweeps the memory of chunk[t * n_chunk ...] in turn */
    int n_chunk;
    double x;                /* of a curve */
    const struct job *like;  /* takes the kernel that is the fastest there; NULL: has variants */
    struct mem_kernel kernel[JOB_MAX_VARIANTS];
    enum page_kind page_kind; /* other than default: memory of its own, pages_each of it a thread */
    struct pages *pages;
    size_t pages_each;
};
/* A job with a copy of *d, which streams_free frees; d->chunk is its own then. */
struct job *streams_add(struct job_list *l, const struct job_class *class, const struct streams *d, struct error *err);
const struct mem_kernel *streams_kernel(const struct job *j, int variant); /* NULL: there is none to be like */
void streams_only(struct job *j, const char *text); /* of its variants that one, where it has it */
void streams_sample(struct job *j, struct meter *m, int variant, uint64_t n, struct sample *s);
void streams_free(struct job *j);

/* What an effort looks at. */
struct memory_effort {
    size_t n_window;
    int per_octave, chase_per_octave; /* points of curves */
    bool all_ops;    /* every thread count and level: also writes, copies, additions; else in memory, with all threads */
    bool all_curves; /* of those too */
    bool pages;      /* 4 KiB and 2 MiB */
    bool brief;      /* little memory, no curves */
};

/* ---- curves.c ------------------------------------------------------------------------------------------ */

/* The points of "OP footprint Nt", from 4 KiB to four times the caches; rows: the jobs of OP at each level. */
int curves_plan_footprints(struct job_list *l, struct meter *m, enum mem_op op, struct job *const rows[LEVEL_COUNT],
                           const struct memory_effort *e, struct error *err);
/* "read threads DRAM" and "read threads L3": the first 1, 2, 3, ... of m's threads. */
int curves_plan_threads(struct job_list *l, struct meter *m, struct job *const rows[LEVEL_COUNT], struct error *err);
/* The counts up to n: all of them to 8, then 12, 16, 24, 32, ... and n. */
size_t curves_counts(int n, int *count, size_t max);
/* Which threads' memory each of the first n_active of n reads, so that all of it on their nodes is used, each as much:
 * chunk[t * *n_chunk ...]. NULL: no memory. */
int *curves_share_chunks(const struct cpu_topology *p, const int *cpu, int n, int n_active, int *n_chunk, struct error *err);
/* One more point of the curve of head's name, sorted in by x; the curve is made where it is not there. */
int curves_add_point(struct hwprofile *h, const struct hw_curve *head, const struct hw_point *point, struct error *err);
/* When all points are there: plateaus of curves over footprints, saturation of those over threads. */
int curves_finish(struct hwprofile *h, const struct meter *m, struct error *err);
/* Compares found plateaus with a thread's shares of caches (share[0] of L1 ...; 0: none), into c. */
void curves_compare(struct hw_curve *c, const struct plateau *found, size_t n, const double share[3]);

/* ---- chases: memory that jobs share ------------------------------------------------------------------------ */

/* Memory for up to CHASE_SLOTS cycles, mapped when the first job needs it, freed with the last. */
struct chase_memory {
    struct pages pages;
    size_t bytes;
    enum page_kind kind;
    int mem_node; /* the system's number of the node it is bound to; -1: where it is touched */
    int n_jobs, n_slots;
    bool ready;
    char why[128]; /* why it cannot be had; "": it can */
};

/* Data of a job that chases. */
struct chase {
    struct chase_memory *mem;
    size_t bytes;
    int slot;
    int tid; /* the thread that chases */
    void *at; /* NULL: the cycle is not built */
    enum level level; /* of a row */
    char node[24];    /* "" or "remote 0-1" */
    /* Beside load: */
    const struct job *read;
    uint64_t pause; /* the others', between two reads; UINT64_MAX: they do nothing */
    uint64_t unit;  /* loads of a repetition; 0: one */
    double load_bytes_s[JOB_MAX_SAMPLES];
};
/* A job that chases `bytes` of mem, which it shares; mem NULL: memory of its own, of those bytes and that kind. */
struct job *chase_add(struct job_list *l, const struct job_class *class, const struct chase *d, enum page_kind kind,
                      struct error *err);
int chase_prepare(struct job *j, struct meter *m, struct error *err);
void chase_sample(struct job *j, struct meter *m, int variant, uint64_t n, struct sample *s);
void chase_free(struct job *j);

/* ---- latency.c, gather.c, nodes.c ------------------------------------------------------------------------ */

int latency_plan(struct job_list *l, struct meter *m, const struct memory_effort *e, struct error *err);
/* One thread chases, the others read at rates from nothing to all they can. */
int latency_plan_loaded(struct job_list *l, struct meter *m, const struct job *read, struct error *err);
int gather_plan(struct job_list *l, struct meter *m, const struct memory_effort *e, unsigned cpu_flags, struct error *err);
/* The next row of a thread's walk through a table of 2^bits rows, each of which is visited once in 2^bits steps. */
uint32_t gather_next(uint64_t *state, int bits);

/* CPUs of one memory node and memory of one: the matrix of local and remote. */
struct node_pair {
    int cpu_node, mem_node; /* rows of cpu_topology.node */
    int n_threads;          /* of the meter's on cpu_node */
};
/* All pairs of nodes that have threads and nodes that have memory; 0 where there is one node. */
size_t nodes_pairs(const struct cpu_topology *p, const int *cpu, int n, struct node_pair *pair, size_t max);
int nodes_plan(struct job_list *l, struct meter *m, const struct job *read, const struct memory_effort *e, struct error *err);
/* Bandwidth and latency of one pair. */
int nodes_add_pair(struct job_list *l, struct meter *m, const struct node_pair *pair, const struct job *read,
                   struct error *err);

#endif
