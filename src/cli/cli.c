/* Shared by the commands: data directories, the profile's path, progress and warnings on stderr, output files. */
#include "cli/cli.h"
#include "base/environment.h"
#include "base/notify.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- this machine's profile -------------------------------------------------------- */

static const char *user_dir(void)
{
    static char path[4000]; /* same value every time: the environment does not change */
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (xdg && *xdg == '/')
        snprintf(path, sizeof path, "%s/roofcast", xdg);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/.local/share/roofcast", home);
    else
        return NULL;
    return path;
}

static const char *profile_path(void)
{
    static char path[4096]; /* as above */
    const char *own = getenv("ROOFCAST_PROFILE");
    if (own && *own)
        snprintf(path, sizeof path, "%s", own);
    else if (user_dir())
        snprintf(path, sizeof path, "%s/this.json", user_dir());
    else
        return NULL;
    return path;
}

/* True when this program runs from the tree it was built in, not from where it was installed. */
static bool in_build_tree(void)
{
    char exe[4096];
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    const size_t dir = strlen(BUILDDIR);
    return n > 0 && (size_t)n > dir && strncmp(exe, BUILDDIR, dir) == 0 && exe[dir] == '/';
}

static const char *const *data_dirs(void)
{
    static const char *dirs[4]; /* same value every time, as above */
    size_t n = 0;
    const char *own = getenv("ROOFCAST_DATA");
    if (own && *own)
        dirs[n++] = own;
    if (user_dir() && file_exists(user_dir()))
        dirs[n++] = user_dir();
    dirs[n++] = in_build_tree() ? SRCDIR : PKGDATADIR;
    dirs[n] = NULL;
    return dirs;
}

static int check_data(struct error *err)
{
    static const char *const subs[] = { "models", "hwprofiles" };
    const char *own = getenv("ROOFCAST_DATA");
    char path[4096];
    if (!own || !*own)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(subs); i++) {
        snprintf(path, sizeof path, "%s/%s", own, subs[i]);
        if (file_exists(path))
            return 0;
    }
    return error_set(err, ERROR_USAGE, "ROOFCAST_DATA is %s, which has neither models/ nor hwprofiles/", own);
}

int cli_environment(struct error *err)
{
    const char *root = getenv("ROOFCAST_ROOT"), *dir = getenv("TMPDIR");
    if (!getenv("HWLOC_XMLFILE")) /* the XML plugin is needed only with this file; loading plugins takes milliseconds */
        setenv("HWLOC_PLUGINS_PATH", "", 0);
    environment_set(&(struct environment){ .data_dirs = data_dirs(), .root = root ? root : "", .profile_path = profile_path(), .user_dir = user_dir(),
                                           .temporary_path = dir && *dir ? dir : "/tmp" });
    return check_data(err);
}

/* ---- stderr ------------------------------------------------------------------------- */

static struct {
    bool quiet, line_open;
    int percent;
    char what[160];
} progress = { .percent = -1 };

void cli_set_quiet(bool quiet)
{
    progress.quiet = quiet;
}

static void show_progress(const char *what, double fraction)
{
    if (progress.quiet)
        return;
    char shown[sizeof progress.what];
    int percent = fraction >= 0 && fraction <= 1 ? (int)(100 * fraction) : -1;
    bool same = strncmp(progress.what, what, sizeof progress.what - 1) == 0;
    if (same && percent == progress.percent)
        return;
    snprintf(progress.what, sizeof progress.what, "%s", what);
    snprintf(shown, sizeof shown, "%s", what); /* it may contain a name from a file */
    text_show(shown, strlen(shown));
    progress.percent = percent;
    if (isatty(STDERR_FILENO)) {
        if (percent >= 0)
            fprintf(stderr, "\r%3d %%  %.70s\033[K", percent, shown);
        else
            fprintf(stderr, "\r       %.70s\033[K", shown);
        progress.line_open = true;
        fflush(stderr);
    } else if (!same) {
        fprintf(stderr, "%s\n", shown);
    }
}

static void end_progress(void)
{
    if (progress.line_open)
        fputs("\r\033[K", stderr);
    progress.line_open = false;
    progress.what[0] = 0;
    progress.percent = -1;
}

static void say(const char *before, const char *text)
{
    if (progress.line_open)
        fputs("\r\033[K", stderr);
    progress.line_open = false;
    struct strbuf shown = { 0 };
    strbuf_add(&shown, text, strlen(text));
    if (!shown.oom)
        text_show(shown.s, shown.len);
    fprintf(stderr, "%s%s\n", before, shown.oom ? "" : shown.s);
    strbuf_free(&shown);
}

static void show_note(const char *text)
{
    if (!progress.quiet)
        say("roofcast: ", text);
}

static void show_warning(const char *text)
{
    say("roofcast: warning: ", text);
}

void cli_notify(void)
{
    static const struct notify_handlers handlers = { show_progress, end_progress, show_note, show_warning, interrupt_end_without_memory };
    notify_set(&handlers);
}

/* ---- output ---------------------------------------------------------------------------- */

char *cli_partial_path(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    const size_t n = strlen(path), stem = dot && dot > name ? (size_t)(dot - path) : n;
    for (int i = 1;; i++) {
        char number[16] = "", *partial;
        if (i > 1)
            snprintf(number, sizeof number, "-%d", i);
        if (asprintf(&partial, "%.*s.partial%s%s", (int)stem, path, number, path + stem) < 0) {
            error_oom(err, n, "a file name");
            return NULL;
        }
        if (!file_exists(partial))
            return partial;
        free(partial);
    }
}
