/*
 * ceilings: the measured roofs of this machine: peak FLOP/s per operand type and ISA, bandwidth per memory level, and
 * what else providers (job.h) measure, for 1..N threads. Compute kernels live one file an ISA in ceilings/<isa>/.
 */
#ifndef CEILINGS_CEILINGS_H
#define CEILINGS_CEILINGS_H

#include "ceilings/job.h"
#include "hwprofile/hwprofile.h"

enum ceilings_effort {
    CEILINGS_QUICK,   /* under 30 s: the best ISA of each type only */
    CEILINGS_DEFAULT, /* under 2 minutes */
    CEILINGS_FULL,    /* under 6 minutes: narrower intervals, more token counts, weights as files have them, products by many tokens
                       * from caches */
    CEILINGS_BRIEF,   /* short samples in little memory, one round: shows that it works, not how fast */
};

struct ceilings_options {
    enum ceilings_effort effort;
    int n_threads;               /* largest count; all counts 1, 2, 4, ... and this one */
    unsigned cpu_flags;
    const struct cpulist *cpus;
    /* Of a prober: memory that is there and is only read, in place of some of its own; NULL: its own. What a page of memory gives
     * can depend on how the system backs it: a run's own pages are the ones to probe. */
    const void *memory;
    size_t memory_bytes;
    bool memory_whole; /* each sample reads all of it, so that what a cache keeps of it shows; else a part that no cache has */
    const char *memory_kernel; /* a prober reads memory with the kernel of that text, where there is one; NULL: with the fastest */
    const char *only; /* of a cross-check: a part of the names of those wanted, as in "read DRAM 2t"; NULL: all */
    bool reference; /* a prober's peaks are the small products that a profile has beside its samples, whatever the math. methods.md (80) */
    bool memory_only; /* a prober looks at no peak */
    const struct ceilings_provider *const *provider; /* beside compute and memory */
    size_t n_provider;
    void (*progress)(void *ctx, const char *what, double fraction);
    void *progress_ctx;
};

/* Measure everything into h (already filled by hwprofile_host). Stops at an interrupt and keeps what is done
 * (returns -1 with ERROR_INTERRUPTED, h stays valid). */
int ceilings_measure(struct hwprofile *h, const struct ceilings_options *o, struct error *err);

/* Bytes of memory that are free, of the machine and the control group: MemAvailable and the group's limit less what it uses; 0: nobody says. */
double ceilings_free_bytes(void);

/*
 * Short probes beside a benchmark (some 0.1 s each): the adjacent ceilings. The prober keeps its team, its memory and
 * the kernels that were fastest when it was made, so that probes can stand between repetitions.
 */
struct ceilings_prober;
struct ceilings_prober *ceilings_prober_new(enum math math, int n_threads, const struct ceilings_options *o,
                                            struct error *err);
/* DRAM read; the peak of the prober's math, value NaN when no kernel here does that math; with ceilings_options.reference the small
 * product instead, and the one by tiles, value NaN elsewhere and without such, and what cores exchange, NaN elsewhere and of one thread. */
struct ceilings_probed {
    struct ceiling dram, peak, tiles;
    double exchange[COHERENCE_COUNT];
};
int ceilings_probe(struct ceilings_prober *p, struct ceilings_probed *now, struct error *err);
/* The same in some 40 ms (with both products 60, with what cores exchange 20 more), for between the steps of one repetition: the medians alone. */
struct ceilings_glanced {
    double bytes_s, flop_s, tile_flop_s;
    double exchange[COHERENCE_COUNT];
};
int ceilings_glance(struct ceilings_prober *p, struct ceilings_glanced *now, struct error *err);
/* Why there is no peak; "" when there is. */
const char *ceilings_prober_reason(const struct ceilings_prober *p);
/* Memory that it has of its own; 0: it reads what options.memory lends. */
size_t ceilings_prober_bytes(const struct ceilings_prober *p);
void ceilings_prober_free(struct ceilings_prober *p);

/* Core clock by a dependent-add chain on the calling thread (about 10 ms), in Hz. */
double ceilings_clock_hz(void);

/*
 * Cross-check: every compute and bandwidth ceiling that likwid-bench has a kernel for, with one and with all threads,
 * measured in turns by both. row is told each; -1 from it ends the check. ERROR_UNAVAILABLE: likwid-bench is not there.
 */
struct ceilings_check {
    char name[64]; /* of the ceiling */
    char test[40]; /* likwid-bench -t */
    char unit[8];
    double ours, theirs; /* medians; NaN with ratio: no answer, the note says why */
    double ratio;        /* median of ours / theirs, turn by turn */
    int n_turns;
    bool pass;           /* ratio at least 0.97 */
    char note[160];
};
typedef int ceilings_check_fn(void *ctx, const struct ceilings_check *c, struct error *err);
int ceilings_cross_check(const struct ceilings_options *o, ceilings_check_fn *row, void *ctx, struct error *err);

/* "Zen 4; issue rates: SOURCE", or that they are not known: up to 200 bytes. */
const char *ceilings_core(char *buf, size_t n);

#endif
