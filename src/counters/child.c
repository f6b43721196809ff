/* counters/child.c: start, query and stop the helper. */
#include "counters/child.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define EXIT_GRACE_S 1.0 /* grace period after its input is closed */

int child_start(struct child *c, char *const *argv, struct error *err)
{
    int talk[2], complain[2];
    posix_spawn_file_actions_t actions;
    *c = (struct child){ .fd = -1, .err_fd = -1 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) != 0)
        return error_set(err, ERROR_SYSTEM, "%s: %s", argv[0], strerror(errno));
    if (pipe2(complain, O_CLOEXEC) != 0) {
        close(talk[0]);
        close(talk[1]);
        return error_set(err, ERROR_SYSTEM, "%s: %s", argv[0], strerror(errno));
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, talk[1], 0);
    posix_spawn_file_actions_adddup2(&actions, talk[1], 1);
    posix_spawn_file_actions_adddup2(&actions, complain[1], 2);
    const int failed = posix_spawn(&c->pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(talk[1]);
    close(complain[1]);
    c->fd = talk[0];
    c->err_fd = complain[0];
    fcntl(c->err_fd, F_SETFL, O_NONBLOCK);
    if (failed == 0)
        return 0;
    c->pid = 0;
    child_stop(c);
    return error_set(err, ERROR_UNAVAILABLE, "%s: %s", argv[0], strerror(failed));
}

/* Drains standard error, so that the helper does not block; keeps the last line. */
static void drain_stderr(struct child *c)
{
    char text[512];
    ssize_t n;
    while (c->err_fd >= 0 && (n = read(c->err_fd, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            size_t len = strlen(c->said);
            if (len > 0 && c->said[len - 1] == '\n' && text[i] != '\n')
                len = 0; /* a new line begins */
            if (len + 1 == sizeof c->said || text[i] == 0 || (text[i] == '\n' && len == 0))
                continue;
            c->said[len] = text[i];
            c->said[len + 1] = 0;
        }
}

/* Waits up to timeout_s, then kills. Exit status, or -1: killed. */
static int wait_exit(struct child *c, double timeout_s)
{
    const double end = clock_now_s() + timeout_s;
    int status = -1;
    pid_t done = 0;
    while (c->pid && (done = waitpid(c->pid, &status, WNOHANG)) == 0 && clock_now_s() < end)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    if (c->pid && done == 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, &status, 0);
        status = -1;
    }
    c->pid = 0;
    return status;
}

static int ended(struct child *c, char *why, size_t size)
{
    const int status = wait_exit(c, EXIT_GRACE_S);
    drain_stderr(c);
    c->said[strcspn(c->said, "\n")] = 0;
    if (status != -1 && WIFSIGNALED(status))
        snprintf(why, size, "its helper died of signal %d", WTERMSIG(status));
    else
        snprintf(why, size, "its helper ended (status %d)", status == -1 ? -1 : WEXITSTATUS(status));
    const size_t len = strlen(why);
    if (c->said[0])
        snprintf(why + len, size - len, ": %s", c->said);
    return -1;
}

static int too_late(struct child *c, double timeout_s, char *why, size_t size)
{
    kill(c->pid, SIGKILL);
    wait_exit(c, EXIT_GRACE_S);
    snprintf(why, size, "its helper did not answer within %g s", timeout_s);
    return -1;
}

/* The next complete line; false: none yet. */
static bool take_line(struct child *c, char *answer, size_t size)
{
    char *end = memchr(c->line, '\n', c->len);
    if (!end)
        return false;
    *end = 0;
    snprintf(answer, size, "%s", c->line);
    c->len -= (size_t)(end + 1 - c->line);
    memmove(c->line, end + 1, c->len);
    return true;
}

static int send_line(struct child *c, const char *line)
{
    char text[128];
    const int n = snprintf(text, sizeof text, "%s\n", line);
    return send(c->fd, text, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -1; /* no SIGPIPE if it has ended */
}

int child_ask(struct child *c, const char *line, char *answer, size_t size, double timeout_s, char *why, size_t why_size)
{
    const double end = clock_now_s() + timeout_s;
    if (!c->pid) {
        snprintf(why, why_size, "its helper is gone");
        return -1;
    }
    if (line && send_line(c, line) != 0)
        return ended(c, why, why_size);
    while (!take_line(c, answer, size)) {
        struct pollfd p[2] = { { .fd = c->fd, .events = POLLIN }, { .fd = c->err_fd, .events = POLLIN } };
        const double left = end - clock_now_s();
        if (left <= 0 || c->len == sizeof c->line)
            return too_late(c, timeout_s, why, why_size);
        if (poll(p, 2, (int)ceil(1e3 * left)) < 0 && errno != EINTR)
            return too_late(c, timeout_s, why, why_size);
        if (p[1].revents & POLLIN)
            drain_stderr(c);
        if (!(p[0].revents & (POLLIN | POLLHUP | POLLERR)))
            continue;
        const ssize_t n = recv(c->fd, c->line + c->len, sizeof c->line - c->len, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return ended(c, why, why_size);
        c->len += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

void child_stop(struct child *c)
{
    if (c->fd >= 0)
        close(c->fd);
    if (c->pid)
        wait_exit(c, EXIT_GRACE_S);
    if (c->err_fd >= 0)
        close(c->err_fd);
    *c = (struct child){ .fd = -1, .err_fd = -1 };
}
