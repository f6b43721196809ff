/* Each program runs in its own process group, so that its children end with it. */
#include "base/program.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_PROGRAMS = 8 };
static _Atomic pid_t running[MAX_PROGRAMS]; /* global: a signal handler kills these; lock-free */

static void swap_running(pid_t from, pid_t to)
{
    for (size_t i = 0; i < MAX_PROGRAMS; i++) {
        pid_t found = from;
        if (atomic_compare_exchange_strong(&running[i], &found, to))
            return;
    }
}

void program_kill_all(void)
{
    for (size_t i = 0; i < MAX_PROGRAMS; i++) {
        const pid_t pid = atomic_load(&running[i]);
        if (pid)
            (void)kill(-pid, SIGKILL);
    }
}

/* 0, or an errno; standard input is /dev/null */
static int start(pid_t *pid, const struct program *p, const int fd[2])
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&fa);
    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attr);
    if (rc != 0) {
        posix_spawn_file_actions_destroy(&fa);
        return rc;
    }
    rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    rc = rc ? rc : posix_spawnattr_setpgroup(&attr, 0);
    rc = rc ? rc : posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    rc = rc ? rc : p->output ? posix_spawn_file_actions_adddup2(&fa, fd[1], 1) : posix_spawn_file_actions_addopen(&fa, 1, p->out_path ? p->out_path : "/dev/null", O_WRONLY | (p->out_path ? O_CREAT | O_TRUNC : 0), 0600);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&fa, fd[1], 2);
    rc = rc ? rc : posix_spawnp(pid, p->argv[0], &fa, &attr, p->argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&fa);
    return rc;
}

/* One piece of output; false: end. */
static bool read_piece(struct program *p, int fd)
{
    char drop[512];
    const size_t room = p->size - 1 - p->n_text;
    const ssize_t got = room ? read(fd, p->text + p->n_text, room) : read(fd, drop, sizeof drop);
    if (got > 0 && room)
        p->n_text += (size_t)got;
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Until the program has ended and its output is read. Children that hold the pipe open are not waited for. */
static enum program_end wait_for(struct program *p, pid_t pid, int fd)
{
    enum { LOOK_MS = 200, REAP_MS = 5 };
    const double end_s = clock_now_s() + p->timeout_s;
    bool open = true, ended = false;
    for (;;) {
        struct pollfd f = { .fd = fd, .events = POLLIN };
        if (interrupt_check(NULL) != 0)
            return PROGRAM_INTERRUPTED;
        if (!ended && clock_now_s() >= end_s)
            return PROGRAM_LATE;
        ended = ended || waitpid(pid, &p->status, WNOHANG) == pid;
        const double left_ms = 1e3 * (end_s - clock_now_s()) + 1;
        const int ready = poll(&f, open, ended ? 0 : !open ? REAP_MS : left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
        if (ready > 0)
            open = read_piece(p, fd);
        if (ended && (ready == 0 || !open))
            return PROGRAM_ENDED;
    }
}

enum program_end program_run(struct program *p)
{
    int fd[2];
    pid_t pid;
    p->n_text = 0;
    p->text[0] = 0;
    p->status = pipe2(fd, O_CLOEXEC) != 0 ? errno : 0;
    if (p->status != 0)
        return PROGRAM_NOT_STARTED;
    p->status = start(&pid, p, fd);
    close(fd[1]);
    if (p->status != 0) {
        close(fd[0]);
        return PROGRAM_NOT_STARTED;
    }
    swap_running(0, pid);
    const enum program_end end = wait_for(p, pid, fd[0]);
    if (end == PROGRAM_LATE || end == PROGRAM_INTERRUPTED)
        (void)kill(-pid, SIGKILL);
    while (end != PROGRAM_ENDED && waitpid(pid, &p->status, 0) < 0 && errno == EINTR)
        ;
    swap_running(pid, 0);
    close(fd[0]);
    p->text[p->n_text] = 0;
    return end;
}

/* ---- threads -------------------------------------------------------------------------------------------- */

int thread_start(pthread_t *thread, void *(*begin)(void *), void *arg)
{
    pthread_attr_t attr;
    size_t size;
    int e = pthread_attr_init(&attr);
    if (e != 0)
        return e;
    if (pthread_attr_getstacksize(&attr, &size) == 0 && size < THREAD_STACK)
        e = pthread_attr_setstacksize(&attr, THREAD_STACK);
    e = e ? e : pthread_create(thread, &attr, begin, arg);
    pthread_attr_destroy(&attr);
    return e;
}
