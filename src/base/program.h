/* base/program: another program, run to its end: no shell, what it says read, a limit of time. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include "base/base.h"

enum program_end {
    PROGRAM_ENDED,       /* status: of waitpid(2) */
    PROGRAM_NOT_STARTED, /* status: an errno */
    PROGRAM_LATE,        /* not within timeout_s: killed, with what it had started */
    PROGRAM_INTERRUPTED, /* interrupt_check(): likewise */
};

struct program {
    char *const *argv; /* argv[0] is looked for in PATH */
    bool output;       /* text has standard output, too; else standard error alone */
    double timeout_s;
    char *text;        /* [size], what it said, NUL-terminated; what does not fit is read and dropped */
    size_t size, n_text;
    int status;
};
enum program_end program_run(struct program *p);
/* Kills the programs that run, with what they have started: from a signal's handler. */
void program_kill_all(void);

/* pthread_create(3) with a stack of at least THREAD_STACK, whatever `ulimit -s` says: glibc's own where there is no limit. 0, or an errno. */
enum { THREAD_STACK = 2 << 20 };
int thread_start(pthread_t *thread, void *(*begin)(void *), void *arg);

#endif
