#include "base/environment.h"
#include "base/base.h"

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
