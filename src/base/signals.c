/*
 * The program's signal handlers. SIGINT, SIGTERM and, unless ignored, SIGHUP set a flag that long loops test; a second one ends the
 * process. SIGXCPU (every second of CPU beyond the soft limit) sets it too and never ends the process. SIGPIPE is reported by the
 * failed write. A file that grows too large is a write error; one that shrinks while mapped ends the process. Temporary files and child
 * programs are removed first.
 */
#include "base/program.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t patient, piped; /* global: a signal handler has no argument */

static void clean_up(void)
{
    program_kill_all();
    temporary_remove_all();
}

static void end_by(int sig)
{
    clean_up();
    signal(sig, SIG_DFL);
    raise(sig); /* delivered when the handler returns */
}

static void on_signal(int sig)
{
    if (interrupt_pending() && !patient && sig != SIGXCPU)
        end_by(sig);
    interrupt_set(sig);
}

static void on_pipe(int sig)
{
    (void)sig;
    piped = 1;
}

void interrupt_end_by_pipe(void)
{
    if (piped)
        end_by(SIGPIPE);
}

void interrupt_ignore_repeated(void)
{
    patient = 1;
}

/* A page of a mapped file is gone: the reader cannot continue. */
static void on_bus(int sig)
{
    static const char text[] = "\nroofcast: a file that is being read became shorter, or its disk failed\n";
    (void)sig;
    clean_up();
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(n < 0 ? 3 : 1);
}

void interrupt_end_without_memory(void)
{
    static const char text[] = "\nroofcast: out of memory\n";
    clean_up();
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(n < 0 ? 3 : 1);
}

/* Leaves signals that the parent ignores. Children inherit ignored signals, not handlers. */
static void catch_unless_ignored(int sig, void (*handler)(int))
{
    struct sigaction sa, old;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handler;
    sigemptyset(&sa.sa_mask);
    if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(sig, &sa, NULL);
}

void interrupt_install(void)
{
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_signal;
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGXCPU, &sa, NULL);
    catch_unless_ignored(SIGHUP, on_signal);
    catch_unless_ignored(SIGPIPE, on_pipe);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* if inherited as ignored, waitpid(2) has no status */
    signal(SIGBUS, on_bus);
}
