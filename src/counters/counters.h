/*
 * counters: hardware and software event counts behind one interface. A backend is a row of backends[]: null (always
 * there, counts nothing and says why), perf, papi. What it counts is a list of events; an event belongs to a field and
 * says how many units of the field a count stands for. Every sample says which fields are valid and why the others are
 * not. Before anything is reported, every event counts work that is known (calibration), and only what counts it is used.
 */
#ifndef COUNTERS_COUNTERS_H
#define COUNTERS_COUNTERS_H

#include "base/base.h"
#include "base/json.h"

enum counter_field {
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_FLOP,             /* f16, f32, f64; a multiply-add is 2. Dot products of int8 or bf16 are not among them */
    COUNTER_BF16_FLOP,
    COUNTER_INT8_OPS,         /* multiplies and additions of integer dot products */
    COUNTER_L1_FILL_BYTES,    /* lines that came into L1, L2, L3 from beyond it, x their size */
    COUNTER_L2_FILL_BYTES,
    COUNTER_L3_FILL_BYTES,
    COUNTER_DRAM_READ_BYTES,  /* at the memory controllers: prefetches, write-allocates and write-backs are among them, */
    COUNTER_DRAM_WRITE_BYTES, /* and so is what the rest of the machine does meanwhile */
    COUNTER_DRAM_BYTES,       /* both */
    COUNTER_TASK_CLOCK_NS,
    COUNTER_CONTEXT_SWITCHES,
    COUNTER_PAGE_FAULTS,
    COUNTER_SW_BYTES,         /* software-defined: what the engine published */
    COUNTER_SW_FLOP,
    COUNTER_SW_TOKENS,
    COUNTER_FIELD_COUNT,
};

struct counter_sample {
    uint64_t value[COUNTER_FIELD_COUNT]; /* meaningful only where valid */
    bool valid[COUNTER_FIELD_COUNT];
};

/* What the engine publishes for software-defined events; read by the backend at any time. */
struct counter_source {
    long long bytes, flop, tokens;
};

struct counters; /* opaque */

struct counters_options {
    const char *backend; /* "auto", "null" (also for NULL), "perf", "papi", ... or "NAME:ARGUMENT" for one that takes it */
    const struct counter_source *src; /* kept by reference; may be NULL; outlives the counters */
    int n_threads;
    const char *const *data_dirs; /* NULL-terminated, with events/NAME.json; NULL: only what every CPU has */
    const char *root;             /* "" or NULL, or a folder that stands for / (sys/, proc/): for tests */
    const struct cpulist *cpus;   /* of the threads; NULL: those this thread may use. likwid counts these and no others */
    const char *likwid_helper;    /* program that counts for likwid; NULL: the one that belongs to this program */
    bool uncalibrated;            /* events are believed as they are, and said to be */
};

/* A backend asked for by name that cannot be used is an error that says why; auto takes the backend with the most valid
 * fields, falls back to null and keeps the reasons. At most one open papi at a time publishes software-defined events: to a
 * second one they are not valid, and the reason says so. Runs the known work on the calling thread: well below 0.5 s. */
struct counters *counters_open(const struct counters_options *o, struct error *err);
void counters_close(struct counters *c);
const char *counters_name(const struct counters *c);
/* Why a field is not valid ("" when it is): "PAPI perf_event component disabled: ...". */
const char *counters_reason(const struct counters *c, enum counter_field f);
const char *counter_field_name(enum counter_field f);
/* Counted for the whole process or machine, not by thread: software-defined fields, and bytes at memory controllers. */
bool counters_field_shared(const struct counters *c, enum counter_field f);
/* What kind of number a valid field is: core or uncore counters. */
enum number_source counters_field_source(const struct counters *c, enum counter_field f);

/* On each thread of the team, once, before reading: opens the thread's event sets. Events that cannot be
 * started on this thread are not valid in its samples (counters_reason then names the thread); fails only for a
 * tid out of range or started already. stop runs on the thread too, before counters_close. */
int counters_thread_start(struct counters *c, int tid, struct error *err);
void counters_thread_stop(struct counters *c, int tid);
/* Running totals of this thread since thread_start, of the fields with events in the set being counted. Shared fields
 * belong to thread 0 (valid and 0 on the others), so that a sum over threads is exact. */
void counters_read(struct counters *c, int tid, struct counter_sample *out);
/* out = b - a, valid where both are. */
void counter_sample_diff(struct counter_sample *out, const struct counter_sample *a,
                         const struct counter_sample *b);
/* sum += s; a field stays valid only if valid in every summand. First summand: sum zeroed, all valid. */
void counter_sample_add(struct counter_sample *sum, const struct counter_sample *s);

/*
 * More events than the CPU has counters: sets, of which one is counted at a time, so that nothing is ever multiplexed. The
 * same deterministic work is done once for each set, and the parts are joined.
 */
int counters_n_set(const struct counters *c); /* at least 1 */
/* On each thread that is started; all threads count the same set. Set 0 is counted after thread_start. */
void counters_thread_select(struct counters *c, int tid, int set);
/* part[n_set]: of the same work, one a set. A field is valid where every set with events of it is. */
void counters_join(const struct counters *c, const struct counter_sample *part, struct counter_sample *out);

/* ---- the certificate: what calibration found, methods.md (85) ---------------------------------------------- */
enum counter_class {
    COUNTER_UNCHECKED, /* calibration was skipped, or no known work exercises the event here */
    COUNTER_EXACT,     /* the known count within 0.1 % at three sizes */
    COUNTER_SCALED,    /* a constant multiple of it, within 1 % */
    COUNTER_POLLUTED,  /* neither, or it counts in work that has none of it */
    COUNTER_DEAD,      /* 0 */
};
const char *counter_class_name(enum counter_class k);

enum { COUNTER_CHECK_SIZES = 3 };
struct counter_check {
    enum counter_class class;
    double ratio;                          /* counted / known, median; NaN: not checked */
    double known[COUNTER_CHECK_SIZES];     /* units of the field that the work at each size has; NaN: not done */
    double counted[COUNTER_CHECK_SIZES];
    char work[32];                         /* name of the known work; "": none */
    char why[128];                         /* of POLLUTED, DEAD, UNCHECKED */
};

struct counter_event {
    char name[96]; /* "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE", "PAPI_TOT_CYC" */
    enum counter_field field;
    char work[32]; /* known work that exercises it (known_work.c); "": none is known */
    double scale;  /* units of the field a count */
    int set;
    bool shared;   /* of the process or machine: counted by thread 0 */
    enum number_source source;
    char units[64]; /* which PMU units it sums, on how many sockets: "6 x uncore_imc on 2"; "": one */
    struct counter_check check;
};
size_t counters_n_event(const struct counters *c);
const struct counter_event *counters_event(const struct counters *c, size_t i);
/* The events with what calibration found: an array of run.certificate (doc/formats.md). NULL: out of memory. */
json_t *counters_certificate(const struct counters *c);

/* Which file of events/ describes the CPU of this machine, or of the one whose files are below root: "Zen 4 (events/zen4.json): 14
 * events". 1: found; 0: there is none, and text has the CPU: "GenuineIntel family 6 model 42"; -1: a file cannot be read. */
int counters_describe_events(char *text, size_t size, const char *const *data_dirs, const char *root, struct error *err);

/* The backends known, for `roofcast list counters`; NULL past the end; reason: "" usable, else why not ("not
 * built in ..."). */
const char *counters_backend_at(size_t i, char *reason, size_t reason_size);

#endif
