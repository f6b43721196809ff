/*
 * Shared by the memory roofs (memory.c and parts; ceilings/<isa>/stream.c): stream kernels, footprints, pages, pointer chase, plateaus.
 * No function bodies, like internal.h.
 */
#ifndef CEILINGS_MEMORY_H
#define CEILINGS_MEMORY_H

#include "base/cpu_topology.h"
#include "ceilings/internal.h"

enum mem_op { MEM_READ, MEM_WRITE, MEM_WRITE_NT, MEM_COPY, MEM_TRIAD, MEM_OPS };

/*
 * A loop over streams.
 *
 * run      `sweeps` times: write dst, copy a to dst, or dst = a + s * b; streams are cache-line aligned, `bytes` (a multiple of
 *          granule) each. Unused arguments are any valid pointer.
 * near     candidate for L1 and L2; far: for L3 and DRAM
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

/* Reads rows row[0..n) of row_bytes (a multiple of 64). row[n..n + GATHER_AHEAD) must be valid too, for prefetch. */
enum { GATHER_AHEAD = 64 };
struct gather_kernel {
    const char *isa;
    unsigned need;
    const char *text;
    void (*run)(const void *table, const uint32_t *row, size_t n, size_t row_bytes);
};

/* Terminated by run NULL. */
extern const struct stream_kernel ceilings_ref_stream[], ceilings_avx2_stream[], ceilings_avx512_stream[],
    ceilings_neon_stream[];
extern const struct gather_kernel ceilings_ref_gather[], ceilings_avx2_gather[], ceilings_avx512_gather[],
    ceilings_neon_gather[];

/* ---- streams.c: the tables, and an op in one call ------------------------------------------------ */

/* Row i of the concatenated tables; NULL past the end. */
const struct stream_kernel *stream_kernel_at(size_t i);
const struct gather_kernel *gather_kernel_at(size_t i);
const char *mem_op_name(enum mem_op op); /* "write-nt" */
int mem_op_streams(enum mem_op op);      /* copy 2, triad 3, else 1 */

/* Kernel of an op; read has its own tables (internal.h). One of the two is set. */
struct mem_kernel {
    const struct read_kernel *read;
    const struct stream_kernel *stream;
};
const char *mem_kernel_text(const struct mem_kernel *k);
const char *mem_kernel_isa(const struct mem_kernel *k);
/* k-th usable kernel of op for that level; false: past the last. */
bool mem_kernel_find(struct mem_kernel *out, enum mem_op op, enum level level, unsigned cpu_flags, size_t k);
/* Bytes per stream of a footprint: whole KiB (read: unchanged), at least one. */
size_t mem_stream_bytes(enum mem_op op, size_t bytes);
/* Memory needed by a footprint with gaps: streams are not a multiple of 4 KiB apart (4K aliasing). */
size_t mem_room_bytes(enum mem_op op, size_t bytes);
/* `sweeps` passes over a footprint of `bytes` at p. */
void mem_run(const struct mem_kernel *k, enum mem_op op, void *p, size_t bytes, uint64_t sweeps);

/* Upper bound of the gaps. */
enum { MEM_GAPS = 16384 };

/* ---- footprint.c ---- */

/* Footprint per thread on cpu[0..n) that is served by that cache; 0 with *why: impossible. methods.md (75). */
size_t footprint_of_cache(const struct cpu_topology *p, const int *cpu, size_t n, enum level level, const char **why);
/* Total footprint for DRAM: four times the caches, at least least_bytes, at most half of free memory (0: unknown). *small: below
 * four times the caches. */
size_t footprint_of_memory(double cache_bytes, double free_bytes, double least_bytes, bool *small);
/* The same for an effort on this machine. */
size_t footprint_of_effort(const struct cpu_topology *p, const int *cpu, size_t n, enum ceilings_effort effort, bool *small);
/* Footprints from lo to hi, per_octave per doubling, multiples of 4 KiB, ascending; returns their number. */
size_t footprint_grid(double lo, double hi, int per_octave, size_t *bytes, size_t max);

extern const char *const level_names[LEVEL_COUNT]; /* "L1" ... "DRAM" */

/* ---- plateaus.c: levels by change points ------------------------------------------------------------ */

/* A plateau: points `first` to `last`, value: their median. */
struct plateau {
    size_t first, last;
    double from_x, to_x, value;
    double edge_x; /* geometric midpoint of the transition to the next plateau; last one: where it halves or doubles; NaN: nowhere */
};
enum { PLATEAUS_MAX = 6 };
/* x and values > 0. methods.md (76). out holds PLATEAUS_MAX. */
int plateaus_find(const struct hw_point *p, size_t n, struct plateau *out, size_t *n_found, struct error *err);
/* First x with at least `share` of the maximum; NaN: no points. doc/notes/charts.md. */
double plateaus_saturation(const struct hw_point *p, size_t n, double share);

/* ---- pages.c: memory in pages of a given size ---- */

enum page_kind { PAGES_DEFAULT, PAGES_4K, PAGES_2M };
struct pages {
    unsigned char *mem; /* 2 MiB aligned */
    size_t bytes;
    void *map;
    size_t map_bytes;
    enum page_kind kind;
    bool reserved; /* 2 MiB pages from the reserved pool */
};
/* Untouched mapping: readers first-touch their part (pages_touch) for locality. */
int pages_map(struct pages *p, size_t bytes, enum page_kind kind, struct error *err);
void pages_touch(struct pages *p, size_t at, size_t bytes);
/* Huge-page bytes of [mem, mem + bytes) by text in /proc/self/smaps format; NaN: unknown. */
double pages_huge_bytes(FILE *smaps, const void *mem, size_t bytes);
/* After touching: "" if the page size was granted, else "unavailable: ...". */
void pages_check(const struct pages *p, char *why, size_t size);
void pages_unmap(struct pages *p);
/* Bind an untouched mapping to a NUMA node (OS index); ERROR_UNAVAILABLE: refused. */
int pages_bind(struct pages *p, int os_index, struct error *err);

/* ---- chase.c: dependent loads ---- */

enum { CHASE_LINE = 64, CHASE_SLOTS = 8 };
/* One random cycle through all lines of [p, p + bytes); methods.md (77). Pointers are at offset `slot` of each line, so CHASE_SLOTS
 * footprints share the memory. Starts at p + slot pointers. */
void chase_build(void *p, size_t bytes, int slot, uint64_t seed);
/* n loads from *at, which is advanced. 64-byte aligned memory. */
void chase_run(void **at, uint64_t n);

/* ---- memory.c: stream benchmarks ---- */

/* Benchmark data of a memory op. */
struct streams {
    enum mem_op op;
    enum level level;
    size_t bytes;            /* per thread and sweep */
    size_t n_window, window; /* windows in rotation, one per sample; 0: fixed */
    int n_active;            /* first n_active threads work */
    int *chunk;              /* NULL: own memory; else thread t sweeps chunks chunk[t * n_chunk ...] in turn */
    int n_chunk;
    double x;                     /* x of a curve point */
    const struct benchmark *like; /* benchmark whose fastest kernel is used; NULL: own variants */
    struct mem_kernel kernel[BENCHMARK_MAX_VARIANTS];
    enum page_kind page_kind; /* not default: separate mapping, pages_each bytes per thread */
    struct pages *pages;
    size_t pages_each;
};
/* A benchmark with a copy of *d (takes d->chunk), freed by streams_free. */
struct benchmark *streams_add(struct benchmark_list *l, const struct benchmark_class *class, const struct streams *d, struct error *err);
const struct mem_kernel *streams_kernel(const struct benchmark *j, int variant); /* NULL: none */
void streams_only(struct benchmark *j, const char *text); /* restrict the variants to that kernel, if present */
void streams_sample(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s);
void streams_free(struct benchmark *j);

/* Coverage of an effort. */
struct memory_effort {
    size_t n_window;
    int per_octave, chase_per_octave; /* curve points */
    bool all_ops;                     /* write, copy, add for every thread count and level; else DRAM with all threads */
    bool all_curves;                  /* curves of these too */
    bool pages;                       /* 4 KiB and 2 MiB pages */
    bool brief;                       /* little memory, no curves */
};

/* ---- curves.c ------------------------------------------------------------------------------------------ */

/* Curve "OP footprint Nt", 4 KiB to four times the caches; rows: benchmarks of OP per level. */
int curves_plan_footprints(struct benchmark_list *l, struct harness *m, enum mem_op op, struct benchmark *const rows[LEVEL_COUNT],
                           const struct memory_effort *e, struct error *err);
/* Curves "read threads DRAM" and "read threads L3": the first 1, 2, 3, ... of m's threads. */
int curves_plan_threads(struct benchmark_list *l, struct harness *m, struct benchmark *const rows[LEVEL_COUNT], struct error *err);
/* Thread counts up to n: all to 8, then 12, 16, 24, 32, ... and n. */
size_t curves_counts(int n, int *count, size_t max);
/* Distribution of all n threads' memory over the first n_active, node-local and equal: chunk[t * *n_chunk ...]. NULL: no memory. */
int *curves_share_chunks(const struct cpu_topology *p, const int *cpu, int n, int n_active, int *n_chunk, struct error *err);
/* Adds a point, sorted by x; creates the curve if missing. */
int curves_add_point(struct hwprofile *h, const struct hw_curve *head, const struct hw_point *point, struct error *err);
/* Plateaus of footprint curves, saturation of thread curves, after the last point. */
int curves_finish(struct hwprofile *h, const struct harness *m, struct error *err);
/* Matches plateaus with a thread's cache shares (share[0]: L1; 0: none), into c. */
void curves_compare(struct hw_curve *c, const struct plateau *found, size_t n, const double share[3]);

/* ---- pointer chase ---- */

/* Memory for up to CHASE_SLOTS cycles, mapped by the first user, freed with the last. */
struct chase_memory {
    struct pages pages;
    size_t bytes;
    enum page_kind kind;
    int mem_node; /* OS index of its NUMA node; -1: first touch */
    int n_jobs, n_slots;
    bool ready;
    char why[128]; /* why unavailable; "" */
};

/* Benchmark data of a chase. */
struct chase {
    struct chase_memory *mem;
    size_t bytes;
    int slot;
    int tid;          /* chasing thread */
    void *at;         /* NULL: cycle not built */
    enum level level; /* of a row */
    char node[24];    /* "" or "remote 0-1" */
    /* loaded latency: */
    const struct benchmark *read;
    uint64_t pause; /* the others' pause between reads; UINT64_MAX: idle */
    uint64_t unit;  /* loads per repetition; 0: one */
    double load_bytes_s[BENCHMARK_MAX_SAMPLES];
};
/* Chases `bytes` of the shared mem; mem NULL: separate mapping of that size and page kind. */
struct benchmark *chase_add(struct benchmark_list *l, const struct benchmark_class *class, const struct chase *d, enum page_kind kind,
                      struct error *err);
int chase_prepare(struct benchmark *j, struct harness *m, struct error *err);
void chase_sample(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s);
void chase_free(struct benchmark *j);

/* ---- latency.c, gather.c, nodes.c ------------------------------------------------------------------------ */

int latency_plan(struct benchmark_list *l, struct harness *m, const struct memory_effort *e, struct error *err);
/* One thread chases while the others read at rates from none to maximum. */
int latency_plan_loaded(struct benchmark_list *l, struct harness *m, const struct benchmark *read, struct error *err);
int gather_plan(struct benchmark_list *l, struct harness *m, const struct memory_effort *e, unsigned cpu_flags, struct error *err);
/* Next row of a thread's pseudo-random scan of 2^bits rows, each visited once per period. */
uint32_t gather_next(uint64_t *state, int bits);

/* CPUs of one NUMA node, memory of another or the same. */
struct node_pair {
    int cpu_node, mem_node; /* rows of cpu_topology.node */
    int n_threads;          /* threads on cpu_node */
};
/* All pairs of nodes with threads and nodes with memory; 0 for a single node. */
size_t nodes_pairs(const struct cpu_topology *p, const int *cpu, int n, struct node_pair *pair, size_t max);
int nodes_plan(struct benchmark_list *l, struct harness *m, const struct benchmark *read, const struct memory_effort *e, struct error *err);
/* Bandwidth and latency of one pair. */
int nodes_add_pair(struct benchmark_list *l, struct harness *m, const struct node_pair *pair, const struct benchmark *read,
                   struct error *err);

#endif
