/* Interruption flag: set by the program's signal handlers (signals.c), tested by long loops. */
#include "base/base.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t pending; /* global: set by signal handlers */

void interrupt_set(int sig)
{
    pending = sig;
}

bool interrupt_pending(void)
{
    return pending != 0;
}

int interrupt_check(struct error *err)
{
    if (!pending)
        return 0;
    return error_set(err, ERROR_INTERRUPTED, pending == SIGXCPU ? "interrupted: the limit of CPU time is reached" : "interrupted");
}

/* poll with a timeout: a signal before read(2) or in another thread would not end it. */
ssize_t interrupt_read(int fd, void *buf, size_t n)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    while (!pending) {
        const int ready = poll(&p, 1, 200);
        const ssize_t got = ready > 0 ? read(fd, buf, n) : ready;
        if (ready != 0 && (got >= 0 || errno != EINTR))
            return got;
    }
    errno = EINTR;
    return -1;
}
