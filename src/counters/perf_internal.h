/*
 * counters/perf_internal.h: shared by perf.c (event and set selection) and perf_thread.c (opening, reading).
 */
#ifndef COUNTERS_PERF_INTERNAL_H
#define COUNTERS_PERF_INTERNAL_H

#include "counters/events.h"
#include "counters/internal.h"
#include "counters/perf_event.h"

enum kind { KIND_CORE, KIND_GENERIC, KIND_SOFTWARE, KIND_UNCORE, KIND_PUBLISHED };

/* perf parameters of an event of counters.event. */
struct slot {
    enum kind kind;
    char pmu[32];     /* KIND_UNCORE: name pattern of the units */
    char config[128]; /* KIND_CORE, KIND_UNCORE: terms */
    uint64_t number;  /* KIND_GENERIC, KIND_SOFTWARE: PERF_COUNT_... */
};

/* An uncore PMU unit on one CPU, with one set's group. */
struct unit {
    size_t pmu; /* index in pmus */
    int cpu, set;
};

struct perf {
    struct pmu_list pmus;
    struct event_file file;
    struct slot slot[COUNTER_EVENT_MAX];
    struct unit *unit;
    bool *phantom; /* [n_unit] implausible counts: excluded */
    size_t n_unit;
};

/* Thread 0 also opens the uncore. member: index of event i in its group. */
struct perf_thread {
    struct perf_group core[COUNTER_SET_MAX], software;
    struct perf_group *unit; /* [n_unit] */
    size_t member[COUNTER_EVENT_MAX];
};

/* Backend functions (internal.h). */
void perf_thread_start(struct counters *c, struct counter_thread *t, int tid);
void perf_thread_stop(struct counters *c, struct counter_thread *t, int tid);
void perf_thread_select(struct counters *c, struct counter_thread *t, int tid, int set);
void perf_thread_read(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw);

/* Append event i to a group, as an event of that PMU (NULL: kernel event); -1 with the reason. */
int perf_add_member(struct counters *c, struct perf_thread *t, size_t i, struct perf_group *g, const struct pmu *pmu,
                    struct perf_target target, char *why, size_t size);
/* Event i is counted by that unit. */
bool perf_in_unit(const struct counters *c, size_t i, const struct unit *u);

#endif
