/* counters/internal.h: what a backend is. */
#ifndef COUNTERS_INTERNAL_H
#define COUNTERS_INTERNAL_H

#include "counters/counters.h"

#define COUNTER_REASON_LEN 256
enum { COUNTER_EVENT_MAX = 96, COUNTER_SET_MAX = 16 };

/* One thread's state, on cache lines of its own: only that thread touches it. */
struct counter_thread {
    _Alignas(64) bool started;
    int set;                           /* being counted */
    bool ok[COUNTER_EVENT_MAX];        /* events that count on this thread */
    char reason[COUNTER_REASON_LEN];   /* why one of them does not */
    uint64_t base[COUNTER_EVENT_MAX];  /* readings when the set was selected */
    void *own;                         /* the backend's */
};

struct counters {
    const struct counter_backend *backend;
    struct counters_options o;
    const char *argument; /* of "NAME:ARGUMENT"; "" */
    int n_threads;
    struct counter_event event[COUNTER_EVENT_MAX];
    size_t n_event;
    int n_set;
    bool limited[COUNTER_FIELD_COUNT]; /* its events do not count all of the field: reason says what is missing */
    bool valid[COUNTER_FIELD_COUNT];
    char reason[COUNTER_FIELD_COUNT][COUNTER_REASON_LEN]; /* "" where valid */
    struct counter_thread *thread;
    void *own; /* the backend's */
};

/*
 * A row of backends[]. open lists the events (counters_add_event) and says why fields have none (counters_set_reason); it
 * fails only when the backend counts nothing at all. The thread functions run on the thread they are for.
 */
struct counter_backend {
    const char *name;
    /* 0 when usable here, else -1 with the reason. */
    int (*probe)(char *reason, size_t size);
    int (*open)(struct counters *c, struct error *err);
    void (*close)(struct counters *c); /* also after an open that failed */
    /* Start the events of set 0 on this thread: t->ok of those that count here (in any set), t->reason where one does not. */
    void (*thread_start)(struct counters *c, struct counter_thread *t, int tid);
    void (*thread_stop)(struct counters *c, struct counter_thread *t, int tid);
    /* Count the events of that set and no others. NULL: there is one set. */
    void (*select)(struct counters *c, struct counter_thread *t, int tid, int set);
    /* raw[i] of the events i of t->set with t->ok[i], shared ones on thread 0 only; a count that is not whole makes t->ok[i]
     * false, for good, and t->reason says why. */
    void (*read)(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw);
};

extern const struct counter_backend counters_null, counters_perf, counters_likwid, counters_replay;
#ifdef HAVE_PAPI
extern const struct counter_backend counters_papi;
#endif

/* ---- for backends ----------------------------------------------------------------------------------------- */
/* Append an event; *e is copied. -1: there are COUNTER_EVENT_MAX already. */
int counters_add_event(struct counters *c, const struct counter_event *e);
void counters_set_reason(struct counters *c, enum counter_field f, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The events of a field count only part of it, and why. */
void counters_limit(struct counters *c, enum counter_field f, const char *why);
bool counter_field_is_sw(enum counter_field f);
/* Value of a software field in the source; 0 for a hardware field. */
long long counter_source_value(const struct counter_source *s, enum counter_field f);
/* The engine's counts, read where it keeps them: events for backends without a way of their own to them. */
void counters_add_published(struct counters *c);

/* Fields that are sums of others. */
void counters_derive(const struct counters *c, struct counter_sample *out);

/* ---- calibrate.c -------------------------------------------------------------------------------------------- */
/* Every event counts its known work on the calling thread; fills event[].check. */
int counters_calibrate(struct counters *c, struct error *err);
struct counter_control {
    double known, counted; /* units that the control had, and counted; known NaN: there was none */
    double within;         /* with known above 0: which part of the work's ratio its own may be off by */
};
/* The class, ratio and reason of what k->known and k->counted hold. */
enum counter_class counter_classify(struct counter_check *k, const struct counter_control *control);

#endif
