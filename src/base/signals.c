/*
 * SIGINT, SIGTERM and, but for nohup, SIGHUP set a flag that long loops look at; a second one ends the process. So does SIGXCPU,
 * which comes every second of CPU until the hard limit: it never ends the process. SIGPIPE is left to the write that failed: what
 * goes to another file goes on. A file that grows too large is an error of the write, and one that shrinks while it is mapped
 * ends the process with a message. Whatever ends it, its temporary files go first, and the programs it runs.
 */
#include "base/program.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t patient, piped;

static void clear_up(void)
{
    program_kill_all();
    temporary_remove_all();
}

static void end_by(int sig)
{
    clear_up();
    signal(sig, SIG_DFL);
    raise(sig); /* at the return from a handler of it */
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

void interrupt_patient(void)
{
    patient = 1;
}

/* A page of a mapped file is gone: what reads it cannot go on. */
static void on_bus(int sig)
{
    static const char text[] = "\nroofcast: a file that is being read became shorter, or its disk failed\n";
    (void)sig;
    clear_up();
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(n < 0 ? 3 : 1);
}

void interrupt_end_without_memory(void)
{
    static const char text[] = "\nroofcast: out of memory\n";
    clear_up();
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(n < 0 ? 3 : 1);
}

/* Unless the parent process ignores it. Child processes inherit ignored signals, not handlers. */
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
    signal(SIGCHLD, SIG_DFL); /* ignored by the parent process it would leave waitpid(2) no status */
    signal(SIGBUS, on_bus);
}
