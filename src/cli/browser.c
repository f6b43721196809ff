/* A page in the user's browser. */
#include "cli/browser.h"
#include "base/environment.h"
#include "base/notify.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Desktop openers first: they know the user's choice. Debian's, macOS's and WSL's names. */
static const char *const programs[] = { "xdg-open", "open", "wslview", "sensible-browser", "x-www-browser" };

/* The first of the programs that a folder of PATH has; false: none. */
static bool find_program(char *path, size_t size)
{
    const char *list = environment()->program_path ? environment()->program_path : "";
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        for (const char *dir = list; *dir; dir += strcspn(dir, ":"), dir += *dir == ':') {
            const int n = snprintf(path, size, "%.*s/%s", (int)strcspn(dir, ":"), dir, programs[i]);
            if (n > 0 && (size_t)n < size && access(path, X_OK) == 0)
                return true;
        }
    return false;
}

/* In a session of its own, without our terminal: it outlives this process. The middle process ends at once, so that init takes the child. */
static void start(const char *program, const char *page)
{
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && nothing >= 0; fd++)
        (void)dup2(nothing, fd);
    if (setsid() < 0)
        _exit(1);
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, page, (char *)NULL);
        _exit(127);
    }
    _exit(child < 0);
}

int browser_open(const char *path, struct error *err)
{
    char program[4096];
    char *page = realpath(path, NULL);
    int status = 0, rc = 0;
    if (!page)
        return error_set(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    if (!find_program(program, sizeof program)) {
        notify_note("--open: no browser: none of xdg-open, open, wslview, sensible-browser and x-www-browser is in PATH");
        free(page);
        return 0;
    }
    const pid_t child = fork();
    if (child == 0)
        start(program, page);
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        rc = error_set(err, ERROR_SYSTEM, "--open: cannot start %s: %s", program, strerror(errno));
    free(page);
    return rc;
}
