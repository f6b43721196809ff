/*
 * Temporary files and folders: removed when a signal ends the process, and locked while it lives. An unlocked one was left by a killed
 * process; the next writer of the same name removes it.
 */
#include "base/base.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK ".tmp-roofcast-"
enum { N_RANDOM = 6 /* of mkstemp(3) */, MAX_SLOTS = 64 };

/* Global: a signal handler removes these paths. Lock-free. When all slots are used, the next start cleans up. A path whose slot the
 * handler took is never freed, as the handler may still read it. */
static _Atomic(char *) slot[MAX_SLOTS];

void temporary_add(char *path)
{
    for (size_t i = 0; i < MAX_SLOTS; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&slot[i], &none, path))
            return;
    }
}

/* false: no slot, or the handler took it */
static bool release(char *path)
{
    for (size_t i = 0; i < MAX_SLOTS; i++) {
        char *own = path;
        if (atomic_compare_exchange_strong(&slot[i], &own, NULL))
            return true;
    }
    return false;
}

void temporary_forget(char *path)
{
    (void)release(path);
}

void temporary_remove_all(void)
{
    char *path[MAX_SLOTS];
    for (size_t i = 0; i < MAX_SLOTS; i++)
        if ((path[i] = atomic_exchange(&slot[i], NULL)) != NULL)
            (void)unlink(path[i]);
    for (size_t i = 0; i < MAX_SLOTS; i++)
        if (path[i])
            (void)rmdir(path[i]); /* folders after their files */
}

/* ---- locks ------------------------------------------------------------------------------------------------ */

/* flock(2) belongs to the open file and ends with the process; children do not inherit it (O_CLOEXEC). On file systems without
 * locks nothing counts as abandoned. */
enum lock { LOCK_OURS, LOCK_OTHERS, LOCK_UNSUPPORTED };
static enum lock lock(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return LOCK_OURS;
    return errno == EWOULDBLOCK ? LOCK_OTHERS : LOCK_UNSUPPORTED;
}

static bool is_temporary(const char *name, const char *prefix, size_t n_prefix)
{
    if (strncmp(name, prefix, n_prefix) != 0 || strlen(name + n_prefix) != N_RANDOM)
        return false;
    for (const char *p = name + n_prefix; *p; p++)
        if (!((*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z')))
            return false;
    return true;
}

/* Removes the files of an abandoned folder; subfolders stay, and then so does the folder. */
static void empty_folder(int fd)
{
    struct stat st;
    DIR *d = fdopendir(fd);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    else
        close(fd);
}

static void remove_if_abandoned(int dir, const char *name, bool folder)
{
    enum { FLAGS = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
    struct stat st;
    int fd = folder ? openat(dir, name, O_RDONLY | O_DIRECTORY | FLAGS) : openat(dir, name, O_RDWR | FLAGS);
    if (fd < 0 && !folder && errno == EACCES) /* a read-only result */
        fd = openat(dir, name, O_RDONLY | FLAGS);
    if (fd < 0)
        return;
    const bool ours = fstat(fd, &st) == 0 && st.st_uid == geteuid() && (folder || S_ISREG(st.st_mode));
    if (ours && lock(fd) == LOCK_OURS) {
        if (folder) {
            const int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
            if (again >= 0)
                empty_folder(again);
        }
        (void)unlinkat(dir, name, folder ? AT_REMOVEDIR : 0);
    }
    close(fd);
}

/* pattern: a path that ends in N_RANDOM characters X. */
static void remove_abandoned(const char *pattern, bool folder)
{
    const char *slash = strrchr(pattern, '/'), *name = slash ? slash + 1 : pattern;
    const size_t n_prefix = strlen(name) - N_RANDOM;
    char *path = slash ? strndup(pattern, slash == pattern ? 1 : (size_t)(slash - pattern)) : strdup(".");
    DIR *d = path ? opendir(path) : NULL;
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (is_temporary(e->d_name, name, n_prefix))
            remove_if_abandoned(dirfd(d), e->d_name, folder);
    if (d)
        closedir(d);
    free(path);
}

/* ---- files and folders ---------------------------------------------------------------------------------------- */

/* "DIR/NAME" MARK "XXXXXX"; the name is truncated to the file system's limit. NULL: no memory. */
static char *temporary_pattern(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t n = strlen(path) + sizeof MARK + N_RANDOM, most = NAME_MAX - (sizeof MARK - 1) - N_RANDOM;
    char *pattern = malloc(n);
    if (pattern)
        snprintf(pattern, n, "%.*s%.*s" MARK "XXXXXX", (int)(name - path), path, (int)u64_min(strlen(name), most), name);
    return pattern;
}

/* path: a pattern. Another process may remove a new file before it is locked: then retry with another name. */
static int create_locked(char *path, bool folder)
{
    enum { MAX_TRIES = 100 };
    const size_t at = strlen(path) - N_RANDOM;
    for (int i = 0; i < MAX_TRIES; i++) {
        struct stat st;
        memset(path + at, 'X', N_RANDOM);
        if (folder && !mkdtemp(path))
            return -1;
        const int fd = folder ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : mkostemp(path, O_CLOEXEC);
        if (fd < 0 && (!folder || errno != ENOENT))
            return -1;
        if (fd >= 0 && lock(fd) != LOCK_OTHERS && fstat(fd, &st) == 0 && st.st_nlink > 0)
            return fd;
        if (fd >= 0)
            close(fd);
        (void)(folder ? rmdir(path) : unlink(path));
    }
    errno = EEXIST;
    return -1;
}

int temporary_create(char **out, const char *path, struct error *err)
{
    char *own = temporary_pattern(path);
    if (!own)
        return error_oom(err, strlen(path), "a file name");
    remove_abandoned(own, false);
    const int fd = create_locked(own, false);
    if (fd < 0) {
        error_write(err, errno, "%s: cannot write", path);
        free(own);
        return -1;
    }
    mode_t mask = umask(0);
    umask(mask);
    struct stat st;
    const bool replaces = stat(path, &st) == 0; /* keeps its permissions */
    (void)fchmod(fd, replaces ? st.st_mode & 0777 : 0666 & ~mask);
    temporary_add(own);
    *out = own;
    return fd;
}

void temporary_remove(char *path)
{
    if (!path)
        return;
    (void)unlink(path);
    if (release(path))
        free(path);
}

int temporary_rename(char *tmp, const char *path)
{
    const int rc = rename(tmp, path), e = errno;
    if (rc != 0)
        (void)unlink(tmp);
    if (release(tmp))
        free(tmp);
    errno = e;
    return rc;
}

int temporary_folder(char *path, struct error *err)
{
    remove_abandoned(path, true);
    const int fd = create_locked(path, true);
    if (fd < 0)
        return error_set(err, ERROR_SYSTEM, "%s: cannot make a folder: %s", path, strerror(errno));
    temporary_add(path);
    return fd;
}
