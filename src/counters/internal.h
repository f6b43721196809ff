/* counters/internal.h: the backend interface. */
#ifndef COUNTERS_INTERNAL_H
#define COUNTERS_INTERNAL_H

#include "counters/counters.h"

#define COUNTER_REASON_LEN 256
enum { COUNTER_EVENT_MAX = 96, COUNTER_SET_MAX = 16 };

/* State of one thread, accessed by it alone, on its own cache lines. */
struct counter_thread {
    _Alignas(64) bool started;
    int set;                    /* selected */
    bool ok[COUNTER_EVENT_MAX]; /* counts on this thread */
    char reason[COUNTER_REASON_LEN];  /* why one does not */
    uint64_t base[COUNTER_EVENT_MAX]; /* readings at selection */
    void *own; /* backend's */
};

struct counters {
    const struct counter_backend *backend;
    struct counters_options o;
    const char *argument; /* of "NAME:ARGUMENT", else "" */
    int n_threads;
    struct counter_event event[COUNTER_EVENT_MAX];
    size_t n_event;
    int n_set;
    bool limited[COUNTER_FIELD_COUNT]; /* counted only partly; see reason */
    bool valid[COUNTER_FIELD_COUNT];
    char reason[COUNTER_FIELD_COUNT][COUNTER_REASON_LEN]; /* "" where valid */
    struct counter_thread *thread;
    void *own; /* backend's */
};

/*
 * A row of backends[]. open adds events (counters_add_event) and reasons (counters_set_reason) and fails only if nothing can be
 * counted. thread_*, select and read run on the thread concerned.
 */
struct counter_backend {
    const char *name;
    /* 0: usable here; else -1 with the reason. NULL: always usable. */
    int (*probe)(char *reason, size_t size);
    int (*open)(struct counters *c, struct error *err);
    void (*close)(struct counters *c); /* also after a failed open. NULL: nothing to release */
    /* Starts set 0. t->ok: events that count on this thread, in any set; t->reason otherwise. NULL: all count, nothing to start. */
    void (*thread_start)(struct counters *c, struct counter_thread *t, int tid);
    void (*thread_stop)(struct counters *c, struct counter_thread *t, int tid);
    /* Switches to that set. NULL: one set only. */
    void (*select)(struct counters *c, struct counter_thread *t, int tid, int set);
    /* raw[i] for events i of t->set with t->ok[i]; shared ones on thread 0 only. An incomplete count clears t->ok[i] for good and
     * sets t->reason. */
    void (*read)(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw);
};

extern const struct counter_backend counters_null, counters_perf, counters_likwid, counters_replay;
#ifdef HAVE_PAPI
extern const struct counter_backend counters_papi;
#endif

/* ---- for backends ----------------------------------------------------------------------------------------- */
/* Append a copy of *e. -1: COUNTER_EVENT_MAX reached. */
int counters_add_event(struct counters *c, const struct counter_event *e);
void counters_set_reason(struct counters *c, enum counter_field f, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The events of a field count only part of it, for this reason. */
void counters_limit(struct counters *c, enum counter_field f, const char *why);
bool counter_field_is_sw(enum counter_field f);
/* Value of a software field; 0 for a hardware field. */
long long counter_source_value(const struct counter_source *s, enum counter_field f);
/* Adds software events that read the engine's counts directly, for backends without their own mechanism. */
void counters_add_published(struct counters *c);

/* Computes fields that are sums of others. */
void counters_derive(const struct counters *c, struct counter_sample *out);

/* ---- calibrate.c -------------------------------------------------------------------------------------------- */
/* Runs the known work of every event on the calling thread; fills event[].check. */
int counters_calibrate(struct counters *c, struct error *err);
struct counter_control {
    double known, counted; /* true and counted units of the control; known NaN: no control */
    double within;         /* for known > 0: tolerance of the control's ratio, relative to the work's */
};
/* Class, ratio and reason from k->known and k->counted. */
enum counter_class counter_classify(struct counter_check *k, const struct counter_control *control);

#endif
