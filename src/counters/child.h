/*
 * counters/child.h: a helper program in a process of its own, which may hang or end as it likes: lines go back and forth, each
 * answer has its time, and the end of the helper is a reason here, never ours.
 */
#ifndef COUNTERS_CHILD_H
#define COUNTERS_CHILD_H

#include "base/base.h"
#include <sys/types.h>

struct child {
    pid_t pid; /* 0: none, or ended */
    int fd;    /* its standard input and output; -1 */
    int err_fd; /* its standard error; -1 */
    char line[2048];
    size_t len;      /* of line: what has come of the next one */
    char said[160];  /* its last line of complaint */
};

/* argv[0] is a path. Its standard input and output are a socket, its standard error is kept. */
int child_start(struct child *c, char *const *argv, struct error *err);
/* Send a line (NULL: none), then wait for a line: 0; -1 with the reason: time ran out, in which case the helper is killed, or
 * the helper ended, with its status and what it said. */
int child_ask(struct child *c, const char *line, char *answer, size_t size, double timeout_s, char *why, size_t why_size);
/* Close its input and wait a moment; then kill. After child_start, whether that worked or not; may be repeated. */
void child_stop(struct child *c);

#endif
