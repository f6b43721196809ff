/* gnuplot as a child process: no shell, its complaints in our error message, pictures
 * checked to be whole. */
#include "config.h"
#include "report/draw.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* 'text' as gnuplot reads it: a quote is written twice, nothing else is special. */
static void add_quoted(struct strbuf *b, const char *before, const char *text)
{
    strbuf_addf(b, "%s'", before);
    for (const char *p = text; *p; p++)
        strbuf_add(b, *p == '\'' ? "''" : p, *p == '\'' ? 2 : 1);
    strbuf_adds(b, "'");
}

/* The first bytes of what the child says; the rest is read and dropped, so that it never
 * blocks. */
static void read_complaint(int fd, char *text, size_t size)
{
    char drop[512];
    size_t n = 0;
    for (;;) {
        bool room = n + 1 < size;
        ssize_t got = read(fd, room ? text + n : drop, room ? size - 1 - n : sizeof drop);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += room ? (size_t)got : 0;
    }
    text[n] = 0;
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
}

/* Standard output and input to /dev/null, standard error to the pipe. */
static int spawn(pid_t *pid, char *const *argv, int pipe_fd[2])
{
    posix_spawn_file_actions_t fa;
    int rc = posix_spawn_file_actions_init(&fa);
    if (rc)
        return rc;
    rc = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&fa, pipe_fd[1], 2);
    rc = rc ? rc : posix_spawnp(pid, argv[0], &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    return rc;
}

static int run(char *const *argv, char *complaint, size_t size, int *status, struct error *err)
{
    int fd[2];
    pid_t pid;
    if (pipe2(fd, O_CLOEXEC) != 0)
        return error_set(err, ERROR_SYSTEM, "gnuplot: cannot make a pipe: %s", strerror(errno));
    int rc = spawn(&pid, argv, fd);
    close(fd[1]);
    if (rc) {
        close(fd[0]);
        if (rc == ENOENT || rc == EACCES)
            return error_set(err, ERROR_UNAVAILABLE,
                             "gnuplot was not found, so there is no picture yet: install it "
                             "(Debian: apt-get install gnuplot-nox) and run");
        return error_set(err, ERROR_SYSTEM, "gnuplot: cannot start: %s", strerror(rc));
    }
    read_complaint(fd[0], complaint, size);
    close(fd[0]);
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return error_set(err, ERROR_SYSTEM, "gnuplot: %s", strerror(errno));
    return interrupt_check(err);
}

/* gnuplot does not report a disk that filled up: the file's last bytes tell. */
static int check_end(const char *path, const char *end, size_t n_end, struct error *err)
{
    char tail[64];
    FILE *f = fopen(path, "rb");
    long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    size_t n = 0;
    if (size > (long)sizeof tail && fseek(f, -(long)sizeof tail, SEEK_END) == 0)
        n = fread(tail, 1, sizeof tail, f);
    if (f)
        fclose(f);
    for (size_t i = 0; i + n_end <= n; i++)
        if (memcmp(tail + i, end, n_end) == 0)
            return 0;
    return error_set(err, ERROR_SYSTEM, "%s: gnuplot left %s (is the disk full?)", path,
                     size < 0 ? "no picture" : "an incomplete picture");
}

int gnuplot_render(const char *dir, const char *script, const char *const *picture, struct error *err)
{
    struct strbuf text[CHART_FORMATS + 2] = { 0 }, *cd = &text[CHART_FORMATS], *path = &text[CHART_FORMATS + 1];
    char complaint[600] = "", name[] = "gnuplot", defaults[] = "-d", e[] = "-e";
    char *argv[2 * CHART_FORMATS + 6] = { name, defaults, e };
    int status = 0, n = 3, rc = -1;
    bool oom = false;
    /* "./" keeps a leading '~' from being expanded. */
    add_quoted(cd, *dir == '/' ? "cd " : "cd './'.", dir);
    argv[n++] = cd->s;
    for (int i = 0; i < CHART_FORMATS; i++) {
        char set[16];
        if (!picture[i])
            continue;
        snprintf(set, sizeof set, "%s = ", chart_format_name[i]);
        add_quoted(&text[i], set, picture[i]);
        argv[n++] = e;
        argv[n++] = text[i].s;
    }
    strbuf_adds(path, script);
    argv[n] = path->s;
    for (size_t i = 0; i < ARRAY_LEN(text); i++)
        oom |= text[i].oom;
    if (oom)
        rc = error_oom(err, 4096, "gnuplot's command line");
    else
        rc = run(argv, complaint, sizeof complaint, &status, err);
    if (rc == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        rc = error_set(err, ERROR_SYSTEM, "gnuplot failed (%s %d): %.500s",
                       WIFSIGNALED(status) ? "signal" : "exit status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), complaint);
    for (size_t i = 0; i < ARRAY_LEN(text); i++)
        strbuf_free(&text[i]);
    return rc;
}

const char *const chart_format_name[CHART_FORMATS] = { "svg", "png", "pdf", "txt" };

int gnuplot_check(const char *path, int format, struct error *err)
{
    static const char *const end[CHART_FORMATS] = { "</svg>", "IEND", "%%EOF", "\n" };
    return check_end(path, end[format], strlen(end[format]), err);
}
