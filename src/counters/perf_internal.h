/*
 * counters/perf_internal.h: what the files of the perf backend share: perf.c chooses the events and their sets, perf_thread.c
 * opens and reads them.
 */
#ifndef COUNTERS_PERF_INTERNAL_H
#define COUNTERS_PERF_INTERNAL_H

#include "counters/events.h"
#include "counters/internal.h"
#include "counters/perf_event.h"

enum kind { KIND_CORE, KIND_GENERIC, KIND_SOFTWARE, KIND_UNCORE, KIND_PUBLISHED };

/* What an event of counters.event is to the kernel. */
struct slot {
    enum kind kind;
    char pmu[32];     /* KIND_UNCORE: pattern of its units */
    char config[128]; /* KIND_CORE, KIND_UNCORE: fields and values */
    uint64_t number;  /* KIND_GENERIC, KIND_SOFTWARE: PERF_COUNT_... */
};

/* A group of a set on one unit and CPU of an uncore PMU. */
struct unit {
    size_t pmu; /* of pmus */
    int cpu, set;
};

struct perf {
    struct pmu_list pmus;
    struct event_file file;
    struct slot slot[COUNTER_EVENT_MAX];
    struct unit *unit;
    bool *phantom; /* [n_unit] counts what cannot be: left out */
    size_t n_unit;
};

/* Thread 0 also has the uncore's. member: index of event i in its group. */
struct perf_thread {
    struct perf_group core[COUNTER_SET_MAX], software;
    struct perf_group *unit; /* [n_unit] */
    size_t member[COUNTER_EVENT_MAX];
};

/* Of a backend (internal.h). */
void perf_thread_start(struct counters *c, struct counter_thread *t, int tid);
void perf_thread_stop(struct counters *c, struct counter_thread *t, int tid);
void perf_thread_select(struct counters *c, struct counter_thread *t, int tid, int set);
void perf_thread_read(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw);

/* Append event i to a group, as an event of that PMU (NULL: of the kernel, or there is none); -1 with the reason. */
int perf_add_member(struct counters *c, struct perf_thread *t, size_t i, struct perf_group *g, const struct pmu *pmu,
                    struct perf_target target, char *why, size_t size);
/* Is event i counted by that unit? */
bool perf_in_unit(const struct counters *c, size_t i, const struct unit *u);

#endif
