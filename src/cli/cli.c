/* What the commands share: data directories, the profile's path, progress and warnings on stderr,
 * output files. */
#include "cli/cli.h"
#include "dataset/machine.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- this machine's profile -------------------------------------------------------- */

const char *cli_profile_path(void)
{
    static char path[4096]; /* same value every time: the environment does not change */
    const char *own = getenv("ROOFCAST_PROFILE"), *xdg = getenv("XDG_DATA_HOME"),
               *home = getenv("HOME");
    if (own && *own)
        snprintf(path, sizeof path, "%s", own);
    else if (xdg && *xdg == '/')
        snprintf(path, sizeof path, "%s/roofcast/this.json", xdg);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/.local/share/roofcast/this.json", home);
    else
        return NULL;
    return path;
}

int cli_no_profile_path(struct error *err)
{
    return error_set(err, ERROR_USAGE, "where is this machine's profile? HOME is not set: set it, XDG_DATA_HOME, or "
                                       "ROOFCAST_PROFILE to a file");
}

/* True when this program runs from the tree it was built in, not from where it was installed. */
static bool in_build_tree(void)
{
    char exe[4096];
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    const size_t dir = strlen(BUILDDIR);
    return n > 0 && (size_t)n > dir && strncmp(exe, BUILDDIR, dir) == 0 && exe[dir] == '/';
}

const char *const *cli_data_dirs(void)
{
    static const char *dirs[3]; /* same value every time, as above */
    size_t n = 0;
    const char *own = getenv("ROOFCAST_DATA");
    if (own && *own)
        dirs[n++] = own;
    dirs[n++] = in_build_tree() ? SRCDIR : PKGDATADIR;
    dirs[n] = NULL;
    return dirs;
}

int cli_check_data(struct error *err)
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

const char *cli_root(void)
{
    const char *own = getenv("ROOFCAST_ROOT");
    return own ? own : "";
}

bool cli_data_file(char *path, size_t n, const char *name)
{
    for (const char *const *d = cli_data_dirs(); *d; d++) {
        snprintf(path, n, "%s/%s", *d, name);
        if (file_exists(path))
            return true;
    }
    return false;
}

const char *cli_temporary_path(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

int cli_measured_machine(const char **out, const char *hw, struct error *err)
{
    *out = hw;
    if (!hw || strcmp(hw, "this") != 0)
        return 0;
    *out = cli_profile_path();
    if (!*out)
        return cli_no_profile_path(err);
    if (!file_exists(*out))
        return error_set(err, ERROR_UNAVAILABLE, "this machine has no profile yet (%s): run `roofcast profile` first", *out);
    return 0;
}

int cli_hwprofile_load(struct hwprofile *h, const char *spec, struct error *err)
{
    const char *path;
    if (cli_measured_machine(&path, spec, err) != 0 || hwprofile_load(h, path, err) != 0)
        return -1;
    size_t n = 0;
    for (size_t i = 0; i < h->n_ceiling; i++)
        n += ceiling_rounds_scales(&h->ceiling[i]);
    if (n > 0)
        cli_note("%s: %zu products of more than 32 tokens are left out: they were measured with scales of activations that are powers of two, "
                 "faster ones than are priced; `roofcast profile` measures them anew", path, n);
    return 0;
}

/* "; did you mean rtx-5060?" of an error, as far as it goes. */
static void say_guess(const char *spec, const struct error *unknown, const char *note)
{
    static const char asks[] = "did you mean ";
    const char *near = strstr(unknown->msg, asks);
    const int n = near ? (int)strcspn(near, "?") : 0;
    cli_note("no profile of \"%.80s\"%s%.*s%s: %s; a file of its bandwidth and a peak says more (doc/formats.md)", spec, near ? " (" : "", n, near ? near : "",
             near ? "?)" : "", note);
}

int cli_machine_load(struct hwprofile *h, const char *spec, struct error *err)
{
    struct error unknown = { 0 };
    char note[256];
    bool found = false;
    char one[256];
    int n;
    if (strcmp(spec, "this") == 0 || hwprofile_is_path(spec))
        return cli_hwprofile_load(h, spec, err);
    (void)hardware_one(one, sizeof one, spec, &n);
    if (n > 1)
        return error_set(err, ERROR_USAGE, "machine \"%.80s\": %d devices: name one, \"%.80s\", and how they divide the work: --tp %d (every tensor) or --pp %d (layers)",
                         spec, n, one, n, n);
    if (hwprofile_find(h, spec, &found, err) != 0)
        return -1;
    if (found)
        return 0;
    if (machine_guess(h, spec, &found, note, sizeof note, err) != 0)
        return -1;
    const int rc = found ? hwprofile_load(&(struct hwprofile){ 0 }, spec, &unknown) : hwprofile_load(h, spec, err);
    if (found && *note)
        say_guess(spec, &unknown, note);
    return found ? 0 : rc;
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

void cli_progress(void *ctx, const char *what, double fraction)
{
    (void)ctx;
    if (progress.quiet)
        return;
    char shown[sizeof progress.what];
    int percent = fraction >= 0 && fraction <= 1 ? (int)(100 * fraction) : -1;
    bool same = strncmp(progress.what, what, sizeof progress.what - 1) == 0;
    if (same && percent == progress.percent)
        return;
    snprintf(progress.what, sizeof progress.what, "%s", what);
    snprintf(shown, sizeof shown, "%s", what); /* a name from outside may be in it */
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

void cli_progress_done(void)
{
    if (progress.line_open)
        fputs("\r\033[K", stderr);
    progress.line_open = false;
    progress.what[0] = 0;
    progress.percent = -1;
}

__attribute__((format(printf, 2, 0))) static void say(const char *before, const char *fmt, va_list ap)
{
    if (progress.line_open)
        fputs("\r\033[K", stderr);
    progress.line_open = false;
    char text[4096];
    if (vsnprintf(text, sizeof text, fmt, ap) < 0) /* what does not fit is cut off */
        snprintf(text, sizeof text, "%s", fmt);
    text_show(text, strlen(text));
    fprintf(stderr, "%s%s\n", before, text);
}

void cli_note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!progress.quiet)
        say("roofcast: ", fmt, ap);
    va_end(ap);
}

void cli_warn(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say("roofcast: warning: ", fmt, ap);
    va_end(ap);
}

/* ---- output ---------------------------------------------------------------------------- */

static bool wide_tables; /* --wide */

void cli_set_wide(void)
{
    wide_tables = true;
}

size_t cli_width(FILE *f)
{
    struct winsize size;
    const int fd = fileno(f);
    return !wide_tables && fd >= 0 && isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

__attribute__((format(printf, 3, 0))) static void print(size_t width, size_t indent, const char *fmt, va_list ap)
{
    struct strbuf out = { 0 };
    char *text;
    const int n = vasprintf(&text, fmt, ap);
    if (n < 0)
        interrupt_end_without_memory();
    text_show(text, (size_t)n);
    report_wrap(&out, text, width, indent);
    free(text);
    if (out.oom)
        interrupt_end_without_memory();
    fwrite(out.s, 1, out.len, stdout); /* main() looks at what became of it */
    strbuf_free(&out);
}

void cli_print(size_t indent, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print(cli_width(stdout), indent, fmt, ap);
    va_end(ap);
}

void cli_print_within(size_t most, size_t indent, const char *fmt, ...)
{
    const size_t width = cli_width(stdout);
    va_list ap;
    va_start(ap, fmt);
    print(width ? width : most, indent, fmt, ap);
    va_end(ap);
}

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

int cli_report(const char *path, enum report_format fmt, const struct report_doc *d,
               struct error *err)
{
    struct outfile o;
    if (outfile_open(&o, path ? path : "-", err) != 0)
        return -1;
    if (report_print(o.f, fmt, d, cli_width(o.f), err) != 0) {
        outfile_abort(&o);
        return error_prefix(err, "%s", path && strcmp(path, "-") != 0 ? path : "standard output");
    }
    return outfile_commit(&o, err);
}
