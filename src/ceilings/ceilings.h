/*
 * ceilings: measured roofs of this machine for 1..N threads: peak FLOP/s per operand type and ISA, bandwidth per memory level, and what
 * other providers (benchmark.h) measure. Compute kernels: one file per ISA in ceilings/<isa>/.
 */
#ifndef CEILINGS_CEILINGS_H
#define CEILINGS_CEILINGS_H

#include "ceilings/benchmark.h"
#include "hwprofile/hwprofile.h"

enum ceilings_effort {
    CEILINGS_QUICK,   /* < 30 s: best ISA of each type only */
    CEILINGS_DEFAULT, /* < 2 minutes */
    CEILINGS_FULL,    /* < 6 minutes: narrower intervals, more token counts, file-layout weights, cached weights */
    CEILINGS_BRIEF,   /* functional test: little memory, short samples, one round */
};

struct ceilings_options {
    enum ceilings_effort effort;
    double seconds; /* target time of the whole profile; 0: the effort's */
    int n_threads;  /* counts 1, 2, 4, ... and this one */
    unsigned cpu_flags;
    const struct cpulist *cpus;
    /* Prober: existing memory to read instead of an own buffer, since bandwidth can depend on page backing; NULL: own buffer. */
    const void *memory;
    size_t memory_bytes;
    bool memory_whole;         /* each sample reads all of it, so that LLC hits count; else a part larger than the caches in turn */
    const char *memory_kernel; /* prober: text of the read kernel to use if available; NULL: the fastest */
    const char *only;          /* cross-check: substring of the names to check, "read DRAM 2t"; NULL: all */
    bool core_probes;          /* prober: vector and tile probes (small products) instead of the math's peak. methods.md (80) */
    bool memory_only;          /* prober: bandwidth only */
    const struct ceilings_provider *const *provider; /* in addition to compute and memory; NULL-terminated */
    size_t n_provider;
    void (*progress)(void *ctx, const char *what, double fraction);
    void *progress_ctx;
};

/* Measure everything into h (from hwprofile_host). An interrupt returns -1 with ERROR_INTERRUPTED; results so far are kept in h. */
int ceilings_measure(struct hwprofile *h, const struct ceilings_options *o, struct error *err);

/* Free memory, bytes: MemAvailable and the control group's remaining limit; 0: unknown. */
double ceilings_free_bytes(void);

/*
 * Adjacent probes: short measurements (about 0.1 s each) between repetitions of a benchmark. The prober keeps its team, memory and
 * chosen kernels.
 */
struct ceilings_prober;
struct ceilings_prober *ceilings_prober_new(enum math math, int n_threads, const struct ceilings_options *o,
                                            struct error *err);
/* DRAM read; peak of the prober's math, NaN without a kernel. With options.core_probes: vector probe, tile probe (NaN without AMX)
 * and coherence probes (NaN for one thread) instead. */
struct ceilings_probed {
    struct ceiling dram, peak, tiles;
    double coherence[COHERENCE_COUNT];
};
int ceilings_probe(struct ceilings_prober *p, struct ceilings_probed *now, struct error *err);
/* Quick probe: the same as medians only, 40 ms (60 with both products, 80 with coherence), between steps of a repetition. */
struct ceilings_quick_probe {
    double bytes_s, flop_s, tile_flop_s;
    double coherence[COHERENCE_COUNT];
};
int ceilings_probe_quick(struct ceilings_prober *p, struct ceilings_quick_probe *now, struct error *err);
/* Why there is no peak; "" otherwise. */
const char *ceilings_prober_reason(const struct ceilings_prober *p);
/* The prober's own buffer, bytes; 0: it reads options.memory. */
size_t ceilings_prober_bytes(const struct ceilings_prober *p);
void ceilings_prober_free(struct ceilings_prober *p);

/* Core clock (Hz) by a dependent-add chain on the calling thread, about 10 ms. */
double ceilings_clock_hz(void);

/*
 * Cross-check: compute and bandwidth ceilings that likwid-bench has a kernel for, with one and all threads, measured in turn by both.
 * row is called per ceiling; -1 from it stops. ERROR_UNAVAILABLE: likwid-bench is not installed.
 */
struct ceilings_check {
    char name[64]; /* the ceiling's name */
    char test[40]; /* likwid-bench -t */
    char unit[8];
    double ours, theirs; /* medians; NaN with ratio: failed, see note */
    double ratio;        /* median over turns of ours / theirs */
    int n_turns;
    bool pass; /* ratio >= 0.97 */
    char note[160];
};
typedef int ceilings_check_fn(void *ctx, const struct ceilings_check *c, struct error *err);
int ceilings_cross_check(const struct ceilings_options *o, ceilings_check_fn *row, void *ctx, struct error *err);

/* "Zen 4; issue rates: SOURCE", or unknown; up to 200 bytes */
const char *ceilings_core(char *buf, size_t n);

#endif
