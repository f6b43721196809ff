#include "base/environment.h"
#include "base/base.h"
#include <string.h>
#include <unistd.h>

static const char *const installed[] = { PKGDATADIR, NULL };
static struct environment current = { .data_dirs = installed, .root = "", .temporary_path = "/tmp" }; /* global: set once by main before threads start */

void environment_set(const struct environment *e)
{
    current = *e;
}

void environment_set_dirs(const char *const *dirs)
{
    current.data_dirs = dirs;
}

void environment_set_topology(bool other)
{
    current.other_topology = other;
}

const char *const *environment_installed(void)
{
    return installed;
}

const struct environment *environment(void)
{
    return &current;
}

bool environment_file(char *path, size_t n, const char *name)
{
    *path = 0;
    for (const char *const *d = current.data_dirs; d && *d; d++) {
        snprintf(path, n, "%s/%s", *d, name);
        if (file_exists(path))
            return true;
    }
    return false;
}

/* Programs are built at the top (roofcast) and two folders below it (tests/MODULE/test_...). */
bool environment_build_tree(char *build, size_t n)
{
    char file[4200];
    const ssize_t len = readlink("/proc/self/exe", build, n - 1);
    build[len > 0 ? len : 0] = 0;
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(build, '/');
        if (!slash || slash == build)
            return false;
        *slash = 0;
        snprintf(file, sizeof file, "%.4000s/roofcast.srcdir", build);
        if (file_exists(file))
            return true;
    }
    return false;
}
