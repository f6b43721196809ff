/* program.h: runs another program to its end, without a shell, reading its output, with a time limit. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include "base/base.h"

enum program_end {
    PROGRAM_ENDED,       /* status: waitpid(2)'s */
    PROGRAM_NOT_STARTED, /* status: an errno */
    PROGRAM_LATE,        /* exceeded timeout_s: killed with its children */
    PROGRAM_INTERRUPTED, /* interrupt_check(): killed likewise */
};

struct program {
    char *const *argv; /* looked up in PATH */
    bool output;       /* text also has standard output; else standard error alone */
    const char *out_path; /* not output: this file gets standard output, or NULL */
    double timeout_s;
    char *text; /* [size] output, NUL-terminated; the excess is dropped */
    size_t size, n_text;
    int status;
};
enum program_end program_run(struct program *p);
/* Kills running programs and their children; async-signal-safe. */
void program_kill_all(void);

/* pthread_create(3) with a stack of at least THREAD_STACK, independent of `ulimit -s`. 0, or an errno. */
enum { THREAD_STACK = 2 << 20 };
int thread_start(pthread_t *thread, void *(*begin)(void *), void *arg);

#endif
