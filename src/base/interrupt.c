/* SIGINT, SIGTERM and, but for nohup, SIGHUP set a flag that long loops look at; a second one ends the process. A file that grows too large
 * is an error of the write, and one that shrinks while it is mapped ends the process with a message. */
#include "base/base.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t pending, patient;

static void on_signal(int sig)
{
    pending = 1;
    if (!patient)
        signal(sig, SIG_DFL);
}

void interrupt_patient(void)
{
    patient = 1;
}

/* A page of a mapped file is gone: what reads it cannot go on. */
static void on_bus(int sig)
{
    static const char text[] = "\nroofcast: a file that is being read became shorter, or its disk failed\n";
    (void)sig;
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(n < 0 ? 3 : 1);
}

void interrupt_install(void)
{
    struct sigaction sa, hup;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_signal;
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &sa, NULL);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGBUS, on_bus);
}

int interrupt_check(struct error *err)
{
    return pending ? error_set(err, ERROR_INTERRUPTED, "interrupted") : 0;
}

/* A signal just before read(2) would not end it, and one that another thread takes never does: the wait looks up. */
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
