/* Whole files mapped read-only; result files that appear complete or not at all. */
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Missing or unreadable files are input errors; descriptors, memory and disk are system errors. */
static enum error_kind kind_of_open(int e)
{
    return e == ENOENT || e == ENOTDIR || e == EACCES || e == EPERM || e == ELOOP || e == ENAMETOOLONG ? ERROR_INPUT : ERROR_SYSTEM;
}

int filemap_open(struct filemap *m, const char *path, struct error *err)
{
    *m = (struct filemap){ 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* no wait for the writer of a FIFO */
    if (fd < 0)
        return error_set(err, kind_of_open(errno), "%s: %s", path, strerror(errno));
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

/* True when all pages of the file are resident. */
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

static bool of_system(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

/* Target of a link: realpath(3) fails on missing files, and /dev/stdout must not be followed. */
static char *follow_links(const char *path, struct error *err)
{
    enum { MAX_LINKS = 40 /* path_resolution(7) */ };
    char *own = strdup(path), to[PATH_MAX];
    ssize_t n = 0;
    for (int i = 0; own && i < MAX_LINKS; i++) {
        if (of_system(own) || (n = readlink(own, to, sizeof to - 1)) < 0)
            return own;
        to[n] = 0;
        const char *slash = *to == '/' ? NULL : strrchr(own, '/'); /* relative to the link's folder */
        char *next = NULL;
        if (asprintf(&next, "%.*s%s", slash ? (int)(slash - own) + 1 : 0, own, to) < 0)
            next = NULL;
        free(own);
        own = next;
    }
    if (own)
        error_write(err, ELOOP, "%s: cannot write", path);
    else
        error_oom(err, strlen(path) + 1, "a file name");
    free(own);
    return NULL;
}

/* An existing special file or one of /dev and /proc: written in place. */
static int open_special(struct outfile *o, const char *path, struct error *err)
{
    struct stat st;
    if (stat(o->path, &st) != 0 || (!of_system(o->path) && S_ISREG(st.st_mode)))
        return 0;
    if (S_ISDIR(st.st_mode))
        return error_set(err, ERROR_SYSTEM, "%s: is a directory", path);
    o->f = fopen(o->path, of_system(o->path) ? "ab" : "wb"); /* append: /dev/stdout may be a file */
    return o->f ? 0 : error_write(err, errno, "%s: cannot write", path);
}

int outfile_open(struct outfile *o, const char *path, struct error *err)
{
    const bool std = strcmp(path, "-") == 0;
    *o = (struct outfile){ .path = std ? strdup("standard output") : follow_links(path, err) };
    if (!o->path)
        return std ? error_oom(err, sizeof "standard output", "a file name") : -1;
    if (std)
        o->f = stdout;
    else if (open_special(o, path, err) != 0)
        goto fail;
    if (o->f)
        return 0;
    const int fd = temporary_create(&o->tmp, o->path, err);
    if (fd < 0)
        goto fail;
    o->f = fdopen(fd, "wb");
    if (o->f)
        return 0;
    error_write(err, errno, "%s: cannot write", path);
    close(fd);
fail:
    outfile_abort(o);
    return -1;
}

int outfile_commit(struct outfile *o, struct error *err)
{
    const bool failed = ferror(o->f) != 0;
    int e = fflush(o->f) != 0 ? errno : 0;
    if (o->tmp && !e && !failed && fsync(fileno(o->f)) != 0 && errno != EINVAL)
        e = errno;
    const int held = o->tmp ? fcntl(fileno(o->f), F_DUPFD_CLOEXEC, 0) : -1; /* holds the lock until the rename */
    if (o->f != stdout && fclose(o->f) != 0 && !e)
        e = errno;
    o->f = NULL;
    if (o->tmp && !e && !failed) {
        if (temporary_rename(o->tmp, o->path) != 0)
            e = errno;
        o->tmp = NULL;
    }
    if (held >= 0)
        close(held);
    const int rc = e || failed ? error_write(err, e, "%s: cannot write", o->path) : 0;
    outfile_abort(o);
    return rc;
}

void outfile_abort(struct outfile *o)
{
    if (o->f && o->f != stdout)
        (void)fclose(o->f); /* content is discarded */
    temporary_remove(o->tmp);
    free(o->path);
    *o = (struct outfile){ 0 };
}

int outfile_end(struct outfile *o, int rc, struct error *err)
{
    if (rc == 0)
        return outfile_commit(o, err);
    outfile_abort(o);
    return rc;
}

int outfile_check(const char *path, struct error *err)
{
    struct outfile o;
    if (outfile_open(&o, path, err) != 0)
        return -1;
    outfile_abort(&o);
    return 0;
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
