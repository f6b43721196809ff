/*
 * counters/child.h: a helper process with a line protocol. Each answer has a timeout; a crash or hang of the helper becomes an error
 * reason.
 */
#ifndef COUNTERS_CHILD_H
#define COUNTERS_CHILD_H

#include "base/base.h"
#include <sys/types.h>

struct child {
    pid_t pid;  /* 0: not running */
    int fd;     /* its standard input and output; -1: closed */
    int err_fd; /* its standard error; -1: closed */
    char line[2048];
    size_t len;     /* bytes of the incomplete line */
    char said[160]; /* last line of its standard error */
};

/* argv[0] is a path. Standard input and output are a socket; standard error is captured. */
int child_start(struct child *c, char *const *argv, struct error *err);
/* Send a line (NULL: none) and wait for one. -1 with the reason: timeout (the helper is killed), or it ended (status and message). */
int child_ask(struct child *c, const char *line, char *answer, size_t size, double timeout_s, char *why, size_t why_size);
/* Close its input, wait, then kill. Idempotent, also after a failed child_start. */
void child_stop(struct child *c);

#endif
