/* counters/internal.h: what a backend is. */
#ifndef COUNTERS_INTERNAL_H
#define COUNTERS_INTERNAL_H

#include "counters/counters.h"

#define COUNTER_REASON_LEN 256
#define COUNTER_HW_MAX     4 /* hardware events in one set: few enough never to multiplex */

/* One thread's state, on cache lines of its own: only that thread touches it. */
struct counter_thread {
    _Alignas(64) bool started;
    bool valid[COUNTER_FIELD_COUNT];     /* subset of counters.valid */
    char reason[COUNTER_REASON_LEN];     /* why a field of counters.valid is missing on this
                                            thread */
    long long base[COUNTER_FIELD_COUNT]; /* readings at thread_start */
    bool registered;                     /* papi: with PAPI, by us */
    int hw_set, sw_set;                  /* papi: event sets */
    enum counter_field
        hw_field[COUNTER_HW_MAX]; /* field of each event of hw_set, in order */
    int n_hw;
};

struct counters {
    const struct counter_backend *backend;
    const struct counter_source *src;
    int n_threads;
    bool valid[COUNTER_FIELD_COUNT];
    char reason[COUNTER_FIELD_COUNT][COUNTER_REASON_LEN]; /* "" where valid */
    const char
        *event[COUNTER_FIELD_COUNT]; /* papi: name of the event that counts the field */
    bool owns_sde;
    struct counter_thread *thread;
};

/*
 * A row of backends[]. open fills valid and reason of every field and fails only when the
 * backend counts nothing at all. The thread functions run on the thread they are for.
 */
struct counter_backend {
    const char *name;
    /* 0 when usable here, else -1 with the reason. */
    int (*probe)(char *reason, size_t size);
    int (*open)(struct counters *c, struct error *err);
    void (*close)(struct counters *c);
    void (*thread_start)(struct counters *c, struct counter_thread *t, int tid);
    void (*thread_stop)(struct counters *c, struct counter_thread *t, int tid);
    /* Fills value and valid of the fields of t->valid; the others were cleared. */
    void (*read)(const struct counters *c, const struct counter_thread *t, int tid,
                 struct counter_sample *out);
};

extern const struct counter_backend counters_null;
#ifdef HAVE_PAPI
extern const struct counter_backend counters_papi;
#endif

bool counter_field_is_sw(enum counter_field f);
/* Value of a software field in the source; 0 for a hardware field. */
long long counter_source_value(const struct counter_source *s, enum counter_field f);
void counters_set_reason(struct counters *c, enum counter_field f, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
