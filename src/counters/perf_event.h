/*
 * counters/perf_event.h: perf_event_open as it is: events in groups that the kernel counts together or not at all, read in
 * one go, never multiplexed behind the reader's back.
 */
#ifndef COUNTERS_PERF_EVENT_H
#define COUNTERS_PERF_EVENT_H

#include "base/base.h"
#include <linux/perf_event.h>
#include <sys/types.h>

enum { PERF_GROUP_MAX = 24 };

struct perf_member {
    int fd;
    uint64_t id;                       /* PERF_FORMAT_ID */
    struct perf_event_mmap_page *page; /* NULL: read() only */
};

/* Zeroed: empty. */
struct perf_group {
    struct perf_member member[PERF_GROUP_MAX];
    size_t n;
    bool software; /* no member needs a counter of the hardware */
    bool rdpmc; /* the kernel lets user space read every member's counter */
    bool lost;  /* a read found that the group had not counted all the time: for good */
};

struct perf_target {
    pid_t pid; /* 0: this thread; -1: everything on cpu */
    int cpu;   /* -1: wherever the thread runs */
};

/*
 * Append an event, disabled; the first is the leader, and pinned where a->pinned is set. a: type, config and the flags that
 * are the event's own; read_format, disabled, and inherit are the group's. -1 with errno, and the group is as it was.
 */
int perf_group_add(struct perf_group *g, const struct perf_event_attr *a, struct perf_target t);
void perf_group_close(struct perf_group *g);
/* All members at once, from where they stand. */
int perf_group_enable(struct perf_group *g);
int perf_group_disable(struct perf_group *g);
/*
 * value[g->n]: counts since the group was opened. -1 where they are not whole, and why (of size) says so: the kernel took
 * the counters away, or had them shared with others (running < enabled; of software events by more than a moment). Never scaled.
 */
int perf_group_read(struct perf_group *g, uint64_t *value, char *why, size_t size);
/* What a failed open means: "perf_event_paranoid is 3: ..."; root: of struct counters_options; a: what was asked for. */
void perf_explain(char *why, size_t size, const char *root, const char *event, int error,
                  const struct perf_event_attr *a, struct perf_target t);

#endif
