/*
 * counters: hardware and software event counts behind one interface. A backend is a row of
 * backends[]: null (always there, counts nothing and says why) and papi. Every sample says
 * which fields are valid and why the others are not.
 */
#ifndef COUNTERS_COUNTERS_H
#define COUNTERS_COUNTERS_H

#include "base/base.h"

enum counter_field {
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_FLOP,        /* floating point only: int8 dot products are not seen by FLOP events */
    COUNTER_DRAM_BYTES,
    COUNTER_SW_BYTES,    /* software-defined: bytes the engine published */
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

/* name: "auto" (the backend with the most valid fields), "null" (also for NULL), "papi". src is kept by
 * reference (may be NULL) and must outlive the counters. A backend asked for by name that cannot be used is
 * an error that says why; auto falls back to null and keeps the reasons. At most one open papi at a time
 * publishes software-defined events: to a second one they are not valid, and the reason says so. */
struct counters *counters_open(const char *name, const struct counter_source *src, int n_threads,
                               struct error *err);
void counters_close(struct counters *c);
const char *counters_name(const struct counters *c);
/* Why a field is not valid ("" when it is): "PAPI perf_event component disabled: ...". */
const char *counters_reason(const struct counters *c, enum counter_field f);
const char *counter_field_name(enum counter_field f);

/* On each thread of the team, once, before reading: opens the thread's event sets. Events that cannot be
 * started on this thread are not valid in its samples (counters_reason then names the thread); fails only for a
 * tid out of range or started already. stop runs on the thread too, before counters_close. */
int counters_thread_start(struct counters *c, int tid, struct error *err);
void counters_thread_stop(struct counters *c, int tid);
/* Running totals of this thread since thread_start. The software-defined fields count the whole
 * process and belong to thread 0 (valid and 0 on the others), so that a sum over threads is exact. */
void counters_read(struct counters *c, int tid, struct counter_sample *out);
/* out = b - a, valid where both are. */
void counter_sample_diff(struct counter_sample *out, const struct counter_sample *a,
                         const struct counter_sample *b);
/* sum += s; a field stays valid only if valid in every summand. First summand: sum zeroed, all valid. */
void counter_sample_add(struct counter_sample *sum, const struct counter_sample *s);

/* The backends known, for `roofcast list counters`; NULL past the end; reason: "" usable, else why not ("not
 * built in ..."). */
const char *counters_backend_at(size_t i, char *reason, size_t reason_size);

#endif
