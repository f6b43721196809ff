/* Whole files mapped read-only, and result files that appear complete or not at all. */
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int filemap_open(struct filemap *m, const char *path, struct error *err)
{
    *m = (struct filemap){ 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO without a writer would wait */
    if (fd < 0)
        return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fd, &st) != 0) {
        error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        error_set(err, ERROR_INPUT, "%s: expected a regular file, found %s", path,
                  S_ISDIR(st.st_mode) ? "a directory" : "a special file");
        goto fail;
    }
    if (st.st_size == 0) {
        m->data = (const unsigned char *)"";
        close(fd);
        return 0;
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        error_set(err, ERROR_SYSTEM, "%s: cannot map %lld bytes: %s", path, (long long)st.st_size,
                  strerror(errno));
        goto fail;
    }
    m->data = p;
    m->size = (size_t)st.st_size;
    close(fd);
    return 0;
fail:
    close(fd);
    return -1;
}

void filemap_close(struct filemap *m)
{
    if (m->size)
        munmap((void *)(uintptr_t)m->data, m->size);
    *m = (struct filemap){ 0 };
}

/* True when every page of the file is in memory, as far as the system tells. */
static bool resident(int fd, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (size + page - 1) / page;
    bool all = false;
    unsigned char *in = malloc(n);
    void *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (in && p != MAP_FAILED && mincore(p, size, in) == 0) {
        size_t i = 0;
        while (i < n && (in[i] & 1))
            i++;
        all = i == n;
    }
    if (p != MAP_FAILED)
        munmap(p, size);
    free(in);
    return all;
}

int file_warm(const char *path, struct error *err)
{
    enum { PIECE = 1 << 20 };
    struct stat st;
    int rc = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && (double)st.st_size < memory / 2 &&
        !resident(fd, (size_t)st.st_size)) {
        char *piece = malloc(PIECE);
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        while (piece && rc == 0 && read(fd, piece, PIECE) > 0)
            rc = interrupt_check(err);
        free(piece);
    }
    close(fd);
    return rc;
}

int outfile_open(struct outfile *o, const char *path, struct error *err)
{
    *o = (struct outfile){ 0 };
    bool std = strcmp(path, "-") == 0;
    struct stat st;
    /* /dev/stdout and its like may be a file that somebody writes already: it is added to, never replaced. */
    const bool of_system = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
    const bool special = !std && stat(path, &st) == 0 && (of_system || !S_ISREG(st.st_mode));
    if (special && S_ISDIR(st.st_mode))
        return error_set(err, ERROR_SYSTEM, "%s: is a directory", path);
    /* A link stays one: what it points to is replaced. */
    o->path = !std && lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ? realpath(path, NULL) : NULL;
    if (!o->path)
        o->path = strdup(path);
    if (!o->path)
        return error_oom(err, strlen(path) + 1, "a file name");
    if (std) {
        o->f = stdout;
        return 0;
    }
    if (special) {
        o->f = fopen(path, of_system ? "ab" : "wb");
        if (!o->f)
            goto fail_errno;
        return 0;
    }
    size_t n = strlen(o->path) + 16;
    o->tmp = malloc(n);
    if (!o->tmp) {
        error_oom(err, n, "a file name");
        goto fail;
    }
    snprintf(o->tmp, n, "%s.tmpXXXXXX", o->path);
    int fd = mkstemp(o->tmp);
    if (fd < 0) {
        free(o->tmp);
        o->tmp = NULL;
        goto fail_errno;
    }
    mode_t mask = umask(0);
    umask(mask);
    const bool replaces = stat(path, &st) == 0; /* and keeps what its owner allows */
    fchmod(fd, replaces ? st.st_mode & 0777 : 0666 & ~mask);
    o->f = fdopen(fd, "wb");
    if (!o->f) {
        int e = errno;
        close(fd);
        unlink(o->tmp);
        errno = e;
        goto fail_errno;
    }
    return 0;
fail_errno:
    error_set(err, ERROR_SYSTEM, "%s: cannot write: %s", path, strerror(errno));
fail:
    free(o->tmp);
    free(o->path);
    *o = (struct outfile){ 0 };
    return -1;
}

int outfile_commit(struct outfile *o, struct error *err)
{
    bool failed = ferror(o->f) != 0;
    int e = failed ? EIO : 0;
    if (fflush(o->f) != 0)
        e = errno;
    if (o->tmp && !e && fsync(fileno(o->f)) != 0 && errno != EINVAL)
        e = errno;
    if (o->f != stdout && fclose(o->f) != 0 && !e)
        e = errno;
    o->f = NULL;
    if (o->tmp && !e && rename(o->tmp, o->path) != 0)
        e = errno;
    int rc = e ? error_set(err, ERROR_SYSTEM, "%s: cannot write: %s", o->path, strerror(e)) : 0;
    if (rc && o->tmp)
        unlink(o->tmp);
    free(o->tmp);
    free(o->path);
    *o = (struct outfile){ 0 };
    return rc;
}

void outfile_abort(struct outfile *o)
{
    if (o->f && o->f != stdout)
        fclose(o->f);
    if (o->tmp)
        unlink(o->tmp);
    free(o->tmp);
    free(o->path);
    *o = (struct outfile){ 0 };
}

int dir_make(const char *path, struct error *err)
{
    char *p = strdup(path);
    if (!p)
        return error_oom(err, strlen(path) + 1, "a directory name");
    int rc = 0;
    for (char *s = p + 1; rc == 0; s++) {
        if (*s != '/' && *s != 0)
            continue;
        char c = *s;
        *s = 0;
        struct stat st;
        if (mkdir(p, 0777) != 0 && (errno != EEXIST || stat(p, &st) != 0 || !S_ISDIR(st.st_mode)))
            rc = error_set(err, ERROR_SYSTEM, "%s: cannot make the directory: %s", p, strerror(errno));
        *s = c;
        if (!c)
            break;
    }
    free(p);
    return rc;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool file_alike(const char *a, const char *b)
{
    struct filemap x, y = { 0 };
    struct error unused = { 0 };
    if (filemap_open(&x, a, &unused) != 0)
        return false;
    const bool alike = filemap_open(&y, b, &unused) == 0 && x.size > 0 && x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    filemap_close(&x);
    filemap_close(&y);
    return alike;
}
