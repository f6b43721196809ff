/* Shared by the commands: data directories, the profile's path, progress and warnings on stderr, output files. */
#include "cli/cli.h"
#include "base/environment.h"
#include "base/notify.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- this machine's profile -------------------------------------------------------- */

/* What the environment says, once for all. */
static struct {
    char user[4000], profile[4096], sources[4096];
    const char *data[4];
} paths;

static const char *user_dir(void)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (xdg && *xdg == '/')
        snprintf(paths.user, sizeof paths.user, "%s/roofcast", xdg);
    else if (home && *home)
        snprintf(paths.user, sizeof paths.user, "%s/.local/share/roofcast", home);
    return *paths.user ? paths.user : NULL;
}

static const char *profile_path(void)
{
    const char *own = getenv("ROOFCAST_PROFILE");
    if (own && *own)
        snprintf(paths.profile, sizeof paths.profile, "%s", own);
    else if (*paths.user)
        snprintf(paths.profile, sizeof paths.profile, "%s/this.json", paths.user);
    return *paths.profile ? paths.profile : NULL;
}

/* The sources' folder, when this program runs where it was built, not where it was installed. */
static bool find_sources(void)
{
    char file[4200], build[4000];
    FILE *f = NULL;
    if (environment_build_tree(build, sizeof build)) {
        snprintf(file, sizeof file, "%s/roofcast.srcdir", build);
        f = fopen(file, "r");
    }
    const bool found = f && fgets(paths.sources, sizeof paths.sources, f);
    paths.sources[strcspn(paths.sources, "\n")] = 0;
    if (f)
        fclose(f);
    return found;
}

static const char *const *data_dirs(void)
{
    size_t n = 0;
    const char *own = getenv("ROOFCAST_DATA");
    if (own && *own)
        paths.data[n++] = own;
    if (*paths.user && file_exists(paths.user))
        paths.data[n++] = paths.user;
    paths.data[n] = find_sources() ? paths.sources : PKGDATADIR;
    return paths.data;
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
    const char *user = user_dir(), *profile = profile_path();
    const bool xml = getenv("HWLOC_XMLFILE") != NULL;
    if (!xml) /* the XML plugin is needed only with this file; loading plugins takes milliseconds */
        setenv("HWLOC_PLUGINS_PATH", "", 0);
    environment_set(&(struct environment){ .data_dirs = data_dirs(), .root = root ? root : "", .profile_path = profile, .user_dir = user,
                                           .temporary_path = dir && *dir ? dir : "/tmp", .program_path = getenv("PATH"),
                                           .other_topology = xml || getenv("HWLOC_SYNTHETIC") });
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
