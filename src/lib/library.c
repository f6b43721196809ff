/* Version, data directories, messages, errors: what all of the library shares. */
#include "base/environment.h"
#include "base/notify.h"
#include "config.h"
#include "lib/internal.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_DIRS = 8 };

/* What a program sets before its threads run. */
static struct {
    char *dir[MOST_DIRS + 1]; /* NULL-terminated */
    char *profile_path;
    roofcast_message_fn *message;
    void *ctx;
} settings;

const char *roofcast_version(void)
{
    return PACKAGE_VERSION;
}

/* ---- errors ------------------------------------------------------------------------------- */

static int kind_of(enum error_kind kind)
{
    switch (kind) {
    case ERROR_NONE:
        return ROOFCAST_ERROR_NONE;
    case ERROR_USAGE:
        return ROOFCAST_ERROR_USAGE;
    case ERROR_INPUT:
        return ROOFCAST_ERROR_INPUT;
    case ERROR_SYSTEM:
    case ERROR_INTERRUPTED: /* of handlers that the program alone installs */
    case ERROR_PIPE:
    case ERROR_REGRESSION:
        return ROOFCAST_ERROR_SYSTEM;
    case ERROR_UNAVAILABLE:
        return ROOFCAST_ERROR_UNAVAILABLE;
    }
    return ROOFCAST_ERROR_SYSTEM;
}

int lib_error(struct roofcast_error *err, int kind, const char *text)
{
    if (err) {
        err->kind = kind;
        snprintf(err->message, sizeof err->message, "%s", text);
    }
    return -1;
}

int lib_fail(struct roofcast_error *err, const struct error *e)
{
    return lib_error(err, kind_of(e->kind), e->msg);
}

const char *roofcast_error_name(int kind)
{
    static const char *const names[] = { "none", "usage", "input", "system", "unavailable" };
    return kind >= 0 && kind < (int)ARRAY_LEN(names) ? names[kind] : "?";
}

/* ---- options ------------------------------------------------------------------------------ */

/* Options begin with a size_t: the size of a struct of any version is a multiple of it. */
enum { MOST_OPTIONS_BYTES = 65536 };

int lib_options(void *to, size_t size, const void *from, struct roofcast_error *err)
{
    size_t theirs;
    if (!from)
        return 0;
    memcpy(&theirs, from, sizeof theirs);
    if (theirs < sizeof theirs || theirs % sizeof theirs != 0 || theirs > MOST_OPTIONS_BYTES)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "options without a size: expected roofcast_..._options_init(&o, sizeof o) first");
    memcpy(to, from, theirs < size ? theirs : size);
    return 0;
}

void lib_options_init(void *to, size_t to_size, const void *defaults, size_t size)
{
    memset(to, 0, to_size);
    memcpy(to, defaults, to_size < size ? to_size : size);
    if (to_size >= sizeof to_size)
        memcpy(to, &to_size, sizeof to_size);
}

/* ---- where data is ------------------------------------------------------------------------ */

static void set_environment(void)
{
    struct environment e = *environment();
    e.profile_path = settings.profile_path;
    e.data_dirs = settings.dir[0] ? (const char *const *)settings.dir : environment_installed();
    environment_set(&e);
}

static void clear_dirs(char **dir)
{
    for (size_t i = 0; i < MOST_DIRS; i++) {
        free(dir[i]);
        dir[i] = NULL;
    }
}

int roofcast_set_data_dirs(const char *const *dir, size_t n, struct roofcast_error *err)
{
    char *copy[MOST_DIRS] = { NULL };
    if (n > MOST_DIRS)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "data directories: at most 8");
    for (size_t i = 0; i < n; i++)
        if (!(copy[i] = strdup(dir[i]))) {
            clear_dirs(copy);
            return lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: data directories");
        }
    clear_dirs(settings.dir);
    memcpy(settings.dir, copy, sizeof copy);
    set_environment();
    return 0;
}

const char *roofcast_data_dir(size_t i)
{
    const char *const *d = environment()->data_dirs;
    for (; d && *d && i > 0; i--)
        d++;
    return d ? *d : NULL;
}

int roofcast_set_profile_path(const char *path, struct roofcast_error *err)
{
    char *copy = path ? strdup(path) : NULL;
    if (path && !copy)
        return lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: the profile's path");
    free(settings.profile_path);
    settings.profile_path = copy;
    set_environment();
    return 0;
}

void roofcast_names_free(char **names, size_t n)
{
    name_list_free(names, n);
}

/* ---- messages ----------------------------------------------------------------------------- */

static void note(const char *text)
{
    settings.message(settings.ctx, ROOFCAST_NOTE, text);
}

static void warn(const char *text)
{
    settings.message(settings.ctx, ROOFCAST_WARNING, text);
}

void roofcast_set_message_handler(roofcast_message_fn *fn, void *ctx)
{
    static const struct notify_handlers handlers = { .note = note, .warn = warn };
    settings.message = fn;
    settings.ctx = ctx;
    notify_set(fn ? &handlers : NULL);
}
