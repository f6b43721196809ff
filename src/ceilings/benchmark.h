/*
 * Interface for providers of measured roofs. A provider (compute.c, memory.c, or one registered by the caller of ceilings_measure)
 * lists its benchmarks for a thread count. A benchmark is one roof or one curve point: it has variants (kernels) and takes one sample
 * at a time. The driver (driver.c) selects the variant and the sample length, runs rounds within the time limit, and computes median
 * and interval. Source: methods.md (73), (70), (71).
 */
#ifndef CEILINGS_BENCHMARK_H
#define CEILINGS_BENCHMARK_H

#include "hwprofile/hwprofile.h"

struct ceilings_options;
struct harness; /* pinned team, memory and clocks */

/* One sample. */
struct sample {
    double value;          /* in the ceiling's unit; NaN: failed */
    double clock_hz;       /* core clock during the sample, mean over threads; NaN: not measured */
    double seconds;        /* first start to last end */
    double shared_s;       /* time with ideal load balance: n over the sum of the threads' rates */
    double loads_bytes_s;  /* adjacent bandwidth probe, plain loads of the same memory; 0: none */
    double product_flop_s; /* adjacent vector probe, */
    double tile_flop_s;    /* and tile probe; 0: none */
    bool disturbed;        /* involuntary context switch: repeated if time permits */
};

struct benchmark;

struct benchmark_class {
    bool lower; /* smaller is better (latency) */
    bool core;  /* depends on core speed: core probes surround its samples. methods.md (80) */
    /* Once, before the first sample. ERROR_UNAVAILABLE: ceiling is NaN with err's text as reason; other errors end the profile.
     * NULL: nothing to do. */
    int (*prepare)(struct benchmark *j, struct harness *m, struct error *err);
    /* n repetitions of one variant on all threads of m. */
    void (*sample)(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s);
    /* Name the result and add it to h (a ceiling or a curve point). The driver has set value, interval, samples, clock, per_cycle,
     * threads, CPUs and date in *c; value NaN: unavailable, reason in c->kernel. j->variant is the chosen one. */
    int (*keep)(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err);
    void (*free)(struct benchmark *j); /* frees data and what prepare allocated; NULL: nothing */
};

enum { BENCHMARK_MAX_SAMPLES = 256, BENCHMARK_MAX_VARIANTS = 64 };

struct benchmark {
    /* set by the provider: */
    const struct benchmark_class *class;
    void *data;
    char what[48];       /* progress text: "fp32 avx512", "read DRAM" */
    int n_variant;       /* 1 to BENCHMARK_MAX_VARIANTS */
    double weight;       /* share of the provider's time; 0 means 1 */
    bool of_curve;       /* a curve point: excluded from the cross-check */
    bool tiles;          /* uses AMX tiles: tile probes surround its samples too */
    double min_sample_s; /* minimum sample length; 0: driver's default */
    double warmup_s;     /* untimed warm-up before a turn's samples */
    bool once;           /* one repetition per sample, however long */
    /* set by the driver: */
    bool prepared, chosen;
    char reason[160]; /* why there is no value; "" */
    int variant;
    uint64_t n;     /* repetitions per sample */
    double share_s; /* time limit over all rounds, seconds */
    double cost_s;  /* of a sample with its overhead */
    int n_sample;
    double value[BENCHMARK_MAX_SAMPLES], clock_hz[BENCHMARK_MAX_SAMPLES], loads_bytes_s[BENCHMARK_MAX_SAMPLES], product_flop_s[BENCHMARK_MAX_SAMPLES],
        tile_flop_s[BENCHMARK_MAX_SAMPLES];
    int round[BENCHMARK_MAX_SAMPLES]; /* round of each sample, ascending */
};

struct benchmark_list {
    struct benchmark **v;
    size_t n, room;
};

/* A zeroed benchmark with class and n_variant 1, owned by the list. NULL with err: no memory. */
struct benchmark *benchmark_add(struct benchmark_list *l, const struct benchmark_class *class, struct error *err);
void benchmark_list_free(struct benchmark_list *l);

struct ceilings_provider {
    const char *name; /* "compute" */
    double weight;    /* share of time */
    /* Append the benchmarks at m's thread count, in execution order. Unavailable ones may be added to h directly as NaN with a
     * reason. h has the topology; o the effort. */
    int (*plan)(struct benchmark_list *l, struct harness *m, struct hwprofile *h, const struct ceilings_options *o,
                struct error *err);
};

/* ---- services of the harness ---- */

int harness_threads(const struct harness *m);
struct team *harness_team(struct harness *m);
/* Bytes of all threads that exceed all caches: four times the LLC, within the measured memory; all of it if caches are unknown. */
double harness_dram_bytes(const struct harness *m);
/* Thread tid's part of the memory, first touched by it. */
void *harness_memory(const struct harness *m, int tid, size_t *bytes);
/* Reads one byte per 32 KiB (eight page-table entries, a line) to warm page translations, as in memory scanned repeatedly. (78) */
void harness_warm_tlb(const unsigned char *p, size_t bytes);
/* Runs run(arg, tid) on all threads from a barrier. Fills seconds, clock_hz (chain: clock_chain_hz, directly after; NULL: plain
 * additions) and disturbed; the caller computes value. */
void harness_time(struct harness *m, void (*run)(void *arg, int tid), void *arg, void (*chain)(uint64_t n), struct sample *s);

#endif
