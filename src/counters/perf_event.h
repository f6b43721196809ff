/*
 * counters/perf_event.h: perf_event_open groups: counted together or not at all, read at once, never multiplexed.
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

/* Zero-initialised: empty. */
struct perf_group {
    struct perf_member member[PERF_GROUP_MAX];
    size_t n;
    bool software; /* no member needs a hardware counter */
    bool rdpmc;    /* user-space reads are permitted for all members */
    bool lost;     /* a read was incomplete: permanent */
};

struct perf_target {
    pid_t pid; /* 0: this thread; -1: all on cpu */
    int cpu;   /* -1: any */
};

/*
 * Append an event, disabled; the first is the leader, pinned if a->pinned. a: type, config and event flags; read_format, disabled and
 * inherit are set here. -1 with errno, and the group is unchanged.
 */
int perf_group_add(struct perf_group *g, const struct perf_event_attr *a, struct perf_target t);
void perf_group_close(struct perf_group *g);
/* Enables all members without reset. */
int perf_group_enable(struct perf_group *g);
int perf_group_disable(struct perf_group *g);
/*
 * value[g->n]: counts since opening, never scaled. -1 with the reason in why: incomplete, as the kernel removed or shared the counters
 * (running < enabled; software events: by more than RESCHEDULE_NS).
 */
int perf_group_read(struct perf_group *g, uint64_t *value, char *why, size_t size);
/* Explains a failed open: "perf_event_paranoid is 3: ...". root: of struct counters_options; a: the requested event. */
void perf_explain(char *why, size_t size, const char *root, const char *event, int error,
                  const struct perf_event_attr *a, struct perf_target t);

#endif
