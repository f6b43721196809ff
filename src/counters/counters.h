/*
 * counters: hardware and software event counts behind one interface. A backend is a row of backends[]: null (counts nothing, always
 * available), perf, papi, likwid, replay. A backend counts events; an event belongs to a field and has a scale (field units per count).
 * A sample states which fields are valid, and the reason for the others. Events are calibrated on known work; only trusted ones are
 * used.
 */
#ifndef COUNTERS_COUNTERS_H
#define COUNTERS_COUNTERS_H

#include "base/base.h"
#include "base/json.h"

enum counter_field {
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_FLOP, /* f16, f32, f64; a multiply-add is 2; without dot products of int8 or bf16 */
    COUNTER_BF16_FLOP,
    COUNTER_INT8_OPS,      /* multiplications and additions of integer dot products */
    COUNTER_L1_FILL_BYTES, /* lines filled into L1, L2, L3 times their size */
    COUNTER_L2_FILL_BYTES,
    COUNTER_L3_FILL_BYTES,
    COUNTER_DRAM_READ_BYTES,  /* at the memory controllers, whole machine: with prefetch, write-allocate and write-back */
    COUNTER_DRAM_WRITE_BYTES, /* likewise */
    COUNTER_DRAM_BYTES,       /* read + write */
    COUNTER_TASK_CLOCK_NS,
    COUNTER_CONTEXT_SWITCHES,
    COUNTER_PAGE_FAULTS,
    COUNTER_SW_BYTES, /* software-defined: published by the engine */
    COUNTER_SW_FLOP,
    COUNTER_SW_TOKENS,
    COUNTER_FIELD_COUNT,
};

struct counter_sample {
    uint64_t value[COUNTER_FIELD_COUNT]; /* defined where valid */
    bool valid[COUNTER_FIELD_COUNT];
};

/* Counts that the engine publishes for software-defined events; read asynchronously. */
struct counter_source {
    long long bytes, flop, tokens;
};

struct counters; /* opaque */

struct counters_options {
    const char *backend;              /* "auto", "null" (also for NULL), "perf", "papi", ... or "NAME:ARGUMENT" */
    const struct counter_source *src; /* borrowed, outlives the counters; may be NULL */
    int n_threads;
    const char *const *data_dirs; /* NULL-terminated, with events/NAME.json; NULL: generic events only */
    const char *root;             /* prefix of /sys and /proc for tests; "" or NULL: live */
    const struct cpulist *cpus;   /* CPUs of the threads; NULL: the affinity mask. likwid counts exactly these */
    const char *likwid_helper;    /* helper program of the likwid backend; NULL: the installed one */
    bool uncalibrated;            /* trust events without calibration, and report so */
};

/* Opens a backend and calibrates it on the calling thread (well below 0.5 s). auto takes the backend with the most valid fields,
 * falls back to null and keeps the reasons; one requested by name that is unusable is an error. One open papi at a time publishes
 * software-defined events; they are invalid in a second one. */
struct counters *counters_open(const struct counters_options *o, struct error *err);
void counters_close(struct counters *c);
const char *counters_name(const struct counters *c);
/* Why a field is invalid; "" when valid. */
const char *counters_reason(const struct counters *c, enum counter_field f);
const char *counter_field_name(enum counter_field f);
/* Counted per process or machine, not per thread: software-defined fields and memory traffic. */
bool counters_field_shared(const struct counters *c, enum counter_field f);
/* Source of a valid field: core or uncore counters. */
enum number_source counters_field_source(const struct counters *c, enum counter_field f);

/* Call once on each thread of the team before reading. Events that cannot be started there are invalid in its samples
 * (counters_reason names the thread). Fails only for a tid out of range or already started. stop runs on the same thread, before
 * counters_close. */
int counters_thread_start(struct counters *c, int tid, struct error *err);
void counters_thread_stop(struct counters *c, int tid);
/* Totals of this thread since thread_start, for fields of the selected set. Shared fields are counted by thread 0 (valid and 0
 * elsewhere), so that sums over threads are exact. */
void counters_read(struct counters *c, int tid, struct counter_sample *out);
/* out = b - a; valid where both are. */
void counter_sample_diff(struct counter_sample *out, const struct counter_sample *a,
                         const struct counter_sample *b);
/* sum += s; valid where all summands are. Initialise sum to zero, all valid. */
void counter_sample_add(struct counter_sample *sum, const struct counter_sample *s);

/*
 * Event sets: more events than hardware counters are split into sets, one counted at a time, never multiplexed. The same deterministic
 * work runs once per set; counters_join combines the results.
 */
int counters_n_set(const struct counters *c); /* at least 1 */
/* Call on each started thread; all threads select the same set. Initially set 0. */
void counters_thread_select(struct counters *c, int tid, int set);
/* part[n_set]: samples of the same work, one per set. A field is valid where it is in every set with events of it. */
void counters_join(const struct counters *c, const struct counter_sample *part, struct counter_sample *out);

/* ---- calibration certificate, methods.md (85) ---- */
enum counter_class {
    COUNTER_UNCHECKED, /* calibration skipped, or no known work for it here */
    COUNTER_EXACT,     /* within 0.1 % of the known count at three sizes */
    COUNTER_SCALED,    /* constant multiple of it within 1 % */
    COUNTER_POLLUTED,  /* neither, or counts in the control */
    COUNTER_DEAD,      /* always 0 */
};
const char *counter_class_name(enum counter_class k);

enum { COUNTER_CHECK_SIZES = 3 };
struct counter_check {
    enum counter_class class;
    double ratio;                      /* counted / known, median; NaN: unchecked */
    double known[COUNTER_CHECK_SIZES]; /* true count at each size, field units; NaN: not run */
    double counted[COUNTER_CHECK_SIZES];
    char work[32]; /* name of the known work; "": none */
    char why[128]; /* reason for POLLUTED, DEAD, UNCHECKED */
};

struct counter_event {
    char name[96]; /* "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE", "PAPI_TOT_CYC" */
    enum counter_field field;
    char work[32]; /* its known work (known_work.c); "": none */
    double scale;  /* field units per count */
    int set;
    bool shared; /* per process or machine: counted by thread 0 */
    enum number_source source;
    char units[64]; /* PMU units summed, on how many sockets: "6 x uncore_imc on 2"; "": one */
    struct counter_check check;
};
size_t counters_n_event(const struct counters *c);
const struct counter_event *counters_event(const struct counters *c, size_t i);
/* Calibration results as the JSON array run.certificate (doc/formats.md). NULL: out of memory. */
json_t *counters_certificate(const struct counters *c);

/* The file of events/ for this machine's CPU, or the one under root: "Zen 4 (events/zen4.json): 14 events". 1: found; 0: none, text
 * names the CPU ("GenuineIntel family 6 model 42"); -1: a file cannot be read. */
int counters_describe_events(char *text, size_t size, const char *const *data_dirs, const char *root, struct error *err);

/* Backend i for `roofcast list counters`; NULL past the end. reason: "" if usable. */
const char *counters_backend_at(size_t i, char *reason, size_t reason_size);

#endif
