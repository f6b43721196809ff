/*
 * What a measured roof is made of, for those who add some. A provider (compute.c, memory.c, or one that the caller of
 * ceilings_measure registers) says which jobs there are at a thread count. A job is one roof, or one point of a curve:
 * it has variants (kernels to choose from) and takes one sample at a time. All else is the driver's (driver.c): which
 * variant is fastest, how long a sample lasts, the rounds in which the jobs take turns, the time that is left, the
 * median and its interval, progress and interruption. Source: methods.md (73), (70), (71).
 */
#ifndef CEILINGS_JOB_H
#define CEILINGS_JOB_H

#include "hwprofile/hwprofile.h"

struct ceilings_options;
struct meter; /* a pinned team of the threads that are measured, its memory and its clocks */

/* One sample. */
struct sample {
    double value;   /* in the ceiling's unit; NaN: could not be taken */
    double clock_hz; /* of the core while it was taken, mean over threads; NaN: not looked at */
    double seconds; /* from the first thread's start to the last one's end */
    double shared_s; /* as long as it would have taken had those that were done helped the others: n over the sum of their rates */
    double loads_bytes_s; /* what plain loads read of the same memory right before and after; 0: not looked at */
    double product_flop_s; /* what a small product did on the same cores right before and after, */
    double tile_flop_s;    /* and one by tiles; 0: not looked at */
    bool disturbed; /* the system took a CPU away meanwhile: taken again while there is time */
};

struct job;

struct job_class {
    bool lower; /* the smallest value is the best: a latency */
    bool core;  /* what it finds depends on what the cores give: samples stand between two looks at that. methods.md (80) */
    /* Once, before the first sample: operands. ERROR_UNAVAILABLE: the ceiling is kept as NaN with err's text as the
     * reason, and the profile goes on; other errors end it. NULL: nothing to do. */
    int (*prepare)(struct job *j, struct meter *m, struct error *err);
    /* n repetitions of one variant on all threads of m. */
    void (*sample)(struct job *j, struct meter *m, int variant, uint64_t n, struct sample *s);
    /* Name what was found and put it into h (a ceiling, or a point of a curve). Of *c the driver has filled value,
     * interval, samples, clock, per_cycle, threads, CPUs and date; value NaN: unavailable, with c->kernel the reason.
     * j->variant is the one that was chosen. */
    int (*keep)(const struct job *j, const struct meter *m, struct ceiling *c, struct hwprofile *h, struct error *err);
    void (*free)(struct job *j); /* what prepare and data hold; NULL: nothing */
};

enum { JOB_MAX_SAMPLES = 256, JOB_MAX_VARIANTS = 64 };

struct job {
    /* Of the provider: */
    const struct job_class *class;
    void *data;
    char what[48];  /* for progress: "fp32 avx512", "read DRAM" */
    int n_variant;  /* 1 to JOB_MAX_VARIANTS */
    double weight;  /* of the provider's time, among its jobs; 0 means 1 */
    bool of_curve;  /* a point of a curve, not a ceiling: the cross-check passes it over */
    bool tiles;     /* it multiplies by tiles: samples stand between two looks at those as well */
    double least_s; /* of a sample; 0: the driver's own */
    double lead_s;  /* of the same before a turn's samples, which nobody times */
    bool once;      /* n is always 1: a sample is one repetition, however long that takes */
    /* Of the driver: */
    bool prepared, chosen;
    char reason[160]; /* why there is no value; "": there is one */
    int variant;
    uint64_t n;     /* repetitions of a sample */
    double share_s; /* seconds it may take over all rounds */
    double cost_s;  /* of a sample, with what goes with it */
    int n_sample;
    double value[JOB_MAX_SAMPLES], clock_hz[JOB_MAX_SAMPLES], loads_bytes_s[JOB_MAX_SAMPLES], product_flop_s[JOB_MAX_SAMPLES],
        tile_flop_s[JOB_MAX_SAMPLES];
    int round[JOB_MAX_SAMPLES]; /* ascending: which round a sample is of */
};

struct job_list {
    struct job **job;
    size_t n, room;
};

/* A new job, zeroed, class and n_variant 1 set; owned by the list. NULL with err: no memory. */
struct job *job_add(struct job_list *l, const struct job_class *class, struct error *err);
void job_list_free(struct job_list *l);

struct ceilings_provider {
    const char *name;  /* "compute" */
    double weight;     /* of the time, among providers */
    /* The jobs at m's thread count, in the order in which they are run. What this machine lacks may go into h at once
     * as a ceiling of NaN with its reason. h has the topology; o the effort. */
    int (*plan)(struct job_list *l, struct meter *m, struct hwprofile *h, const struct ceilings_options *o,
                struct error *err);
};

/* ---- what a job may ask of its meter -------------------------------------------------------------------------- */

int meter_threads(const struct meter *m);
struct team *meter_team(struct meter *m);
/* Bytes of all threads that lie beyond all caches: four times what the last ones hold, of the memory there is to measure in; all of that
 * where nobody tells of caches, which may be large. */
double meter_far_bytes(const struct meter *m);
/* The part of thread tid of the memory that the provider asked for; its pages were touched by that thread. */
void *meter_memory(const struct meter *m, int tid, size_t *bytes);
/* Reads a byte of every 32 KiB: where pages stand (eight entries of a table, a line) is then known nearby, as it is of memory that is
 * walked again and again, though no cache has it. (78) */
void meter_translate(const unsigned char *p, size_t bytes);
/* All threads start at a barrier and call run(arg, tid). Fills seconds, clock_hz (chain: clock_chain_hz, right behind
 * the work; NULL: plain additions) and disturbed; value is the caller's to work out. */
void meter_time(struct meter *m, void (*run)(void *arg, int tid), void *arg, void (*chain)(uint64_t n), struct sample *s);

#endif
