/* likwid-bench in a process of its own, with a limit of time. */
#include "ceilings/likwid.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_OUTPUT = 64 << 10 };

/* A program's CPUs are those of the thread that starts it, and posix_spawn has no word for others: one that is pinned to a single
 * CPU would make all threads of likwid-bench share it. */
struct lent {
    cpu_set_t *own;
    size_t size;
};

static void lend(struct lent *l, const int *cpu, int n)
{
    enum { MAX_CPUS = 8192 };
    cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
    l->size = CPU_ALLOC_SIZE(MAX_CPUS);
    l->own = CPU_ALLOC(MAX_CPUS);
    if (set && l->own && sched_getaffinity(0, l->size, l->own) == 0) {
        CPU_ZERO_S(l->size, set);
        for (int i = 0; i < n; i++)
            CPU_SET_S((size_t)cpu[i], l->size, set);
        (void)sched_setaffinity(0, l->size, set); /* refused: likwid-bench's own words on where its threads ran tell */
    } else if (l->own) {
        CPU_FREE(l->own);
        l->own = NULL;
    }
    CPU_FREE(set);
}

static void take_back(struct lent *l)
{
    if (l->own)
        (void)sched_setaffinity(0, l->size, l->own);
    CPU_FREE(l->own);
}

/* stdout and stderr into one pipe; 0 or an errno. */
static int start(pid_t *pid, char *const argv[], int fd[2])
{
    posix_spawn_file_actions_t fa;
    if (pipe(fd) != 0)
        return errno;
    int rc = posix_spawn_file_actions_init(&fa);
    if (rc != 0) {
        close(fd[0]);
        close(fd[1]);
        return rc;
    }
    rc = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&fa, fd[1], 1);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&fa, fd[1], 2);
    rc = rc ? rc : posix_spawn_file_actions_addclose(&fa, fd[0]);
    rc = rc ? rc : posix_spawnp(pid, argv[0], &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    close(fd[1]);
    if (rc != 0)
        close(fd[0]);
    return rc;
}

/* All it says until it closes the pipe; false: not in time, or Ctrl-C. What does not fit is read and dropped. */
static bool read_all(int fd, char *buf, size_t *n, double deadline_s)
{
    char rest[512];
    *n = 0;
    for (;;) {
        const double left = deadline_s - clock_now_s();
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (left <= 0 || interrupt_check(NULL) != 0)
            return false;
        const int ready = poll(&p, 1, left > 0.2 ? 200 : (int)(1000 * left) + 1);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        const bool room = *n < MAX_OUTPUT;
        const ssize_t got = room ? read(fd, buf + *n, MAX_OUTPUT - *n) : read(fd, rest, sizeof rest);
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        if (got > 0 && room)
            *n += (size_t)got;
    }
}

int likwid_run(struct likwid_result *r, const char *test, double bytes, const int *cpu, int n_threads, uint64_t iterations,
               double timeout_s, struct error *err)
{
    char work[64], n[32], program[] = "likwid-bench", t[] = "-t", w[] = "-w", i[] = "-i", name[64];
    char *argv[] = { program, t, name, w, work, iterations ? i : NULL, n, NULL };
    int fd[2], status = 0;
    pid_t pid;
    size_t n_text = 0;
    snprintf(name, sizeof name, "%s", test);
    snprintf(work, sizeof work, "N:%.0fkB:%d", bytes < 1000 ? 1 : bytes / 1000, n_threads);
    snprintf(n, sizeof n, "%llu", (unsigned long long)iterations);
    char *text = malloc(MAX_OUTPUT);
    if (!text)
        return error_oom(err, MAX_OUTPUT, "the output of likwid-bench");
    struct lent lent;
    lend(&lent, cpu, n_threads);
    const int rc = start(&pid, argv, fd);
    take_back(&lent);
    if (rc != 0) {
        free(text);
        return error_set(err, ERROR_UNAVAILABLE, "likwid-bench cannot be started: %s (Debian: apt install likwid)", strerror(rc));
    }
    const bool done = read_all(fd[0], text, &n_text, clock_now_s() + timeout_s);
    close(fd[0]);
    if (!done)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int ok = 0;
    if (interrupt_check(err) != 0)
        ok = -1;
    else if (!done)
        ok = error_set(err, ERROR_SYSTEM, "likwid-bench -t %s: no answer within %.0f s", test, timeout_s);
    else if (WIFSIGNALED(status))
        ok = error_set(err, ERROR_SYSTEM, "likwid-bench -t %s: killed by signal %d", test, WTERMSIG(status));
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && n_text == 0)
        ok = error_set(err, ERROR_UNAVAILABLE, "likwid-bench cannot be started (Debian: apt install likwid)");
    else if (likwid_parse(r, text, n_text, err) != 0)
        ok = -1;
    else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        ok = error_set(err, ERROR_SYSTEM, "likwid-bench -t %s: exit status %d", test, WEXITSTATUS(status));
    else if (r->n_threads != n_threads || r->n_cpus != n_threads)
        ok = error_set(err, ERROR_SYSTEM, "likwid-bench -t %s: %d threads on %d CPUs, expected %d on as many", test, r->n_threads, r->n_cpus,
                       n_threads);
    free(text);
    return ok;
}
