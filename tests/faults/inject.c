/*
 * A library to preload that counts what the program asks of the system and refuses one request, or tells where each was made.
 *
 *   FAULT=KIND:N      refuse the N-th request of that kind (alloc open read write sync rename mmap thread spawn), from 1 on
 *   FAULT_LOG=FD      an open descriptor. Without FAULT: a line "KIND N" the first time a kind of request is made from a place (the
 *                     ten innermost frames), and last "KIND total N". With FAULT: "refused KIND in LIBRARY" and the frames
 *
 * Programs that are started from the one that was preloaded are left alone: the library takes itself out of their environment.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

enum kind { ALLOC, OPEN, READ, WRITE, SYNC, RENAME, MMAP, THREAD, SPAWN, KINDS };
static const char *const kind_names[KINDS] = { "alloc", "open", "read", "write", "sync", "rename", "mmap", "thread", "spawn" };
enum { FRAMES = 10, SKIPPED = 2 /* unwinding's own */, PLACES = 1 << 16 };

static atomic_long count[KINDS];
static long refuse_at;
static int refuse_kind = -1, log_fd = -1;
static bool active;
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t places[PLACES];

struct frames {
    uintptr_t at[FRAMES];
    int n, skip;
};

static _Unwind_Reason_Code next_frame(struct _Unwind_Context *c, void *arg)
{
    struct frames *f = arg;
    if (f->skip-- > 0)
        return _URC_NO_REASON;
    f->at[f->n++] = _Unwind_GetIP(c);
    return f->n == FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* The first time that this kind is asked for from here? */
static bool first_time(enum kind k, const struct frames *f)
{
    uint64_t h = 1469598103934665603u + (uint64_t)k;
    for (int i = 0; i < f->n; i++)
        h = (h ^ f->at[i]) * 1099511628211u;
    h += h == 0;
    for (size_t i = h % PLACES, tries = 0; tries < PLACES; i = (i + 1) % PLACES, tries++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&places[i], &found, h))
            return true;
        if (found == h)
            return false;
    }
    return false;
}

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    ssize_t (*real)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (n > 0)
        (void)!real(log_fd, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static const char *object_of(uintptr_t at, uintptr_t *base)
{
    Dl_info d;
    *base = 0;
    if (!dladdr((void *)at, &d) || !d.dli_fname)
        return "?";
    *base = (uintptr_t)d.dli_fbase;
    const char *slash = strrchr(d.dli_fname, '/');
    return slash ? slash + 1 : d.dli_fname;
}

static void note_refused(enum kind k, const struct frames *f)
{
    uintptr_t base, own;
    const char *in = "?";
    (void)object_of((uintptr_t)note_refused, &own);
    /* the C library asks for others: the one that called it is meant */
    for (int i = 0; i < f->n; i++)
        if (strncmp(in = object_of(f->at[i], &base), "libc.so", 7) != 0 && base != own)
            break;
    note("refused %s in %s\n", kind_names[k], in);
    for (int i = 0; i < f->n; i++) {
        const char *object = object_of(f->at[i], &base);
        note("  %s+0x%lx\n", object, (unsigned long)(f->at[i] - base));
    }
}

/* Counts; true: this is the one that fails. */
static bool refused(enum kind k)
{
    if (!active || inside)
        return false;
    const long n = atomic_fetch_add(&count[k], 1) + 1;
    const bool hit = refuse_kind == (int)k && n == refuse_at;
    if (log_fd < 0 || (refuse_kind >= 0 && !hit))
        return hit;
    inside = true;
    const int e = errno;
    struct frames f = { .skip = SKIPPED };
    _Unwind_Backtrace(next_frame, &f);
    if (hit)
        note_refused(k, &f);
    else if (first_time(k, &f))
        note("%s %ld\n", kind_names[k], n);
    errno = e;
    inside = false;
    return hit;
}

__attribute__((constructor)) static void begin(void)
{
    const char *fault = getenv("FAULT"), *log = getenv("FAULT_LOG"), *colon = fault ? strchr(fault, ':') : NULL;
    for (int k = 0; colon && k < KINDS; k++)
        if (strlen(kind_names[k]) == (size_t)(colon - fault) && strncmp(fault, kind_names[k], (size_t)(colon - fault)) == 0)
            refuse_kind = k;
    if (colon)
        refuse_at = atol(colon + 1);
    if (log)
        log_fd = atoi(log);
    if (log_fd >= 0)
        (void)fcntl(log_fd, F_SETFD, FD_CLOEXEC);
    unsetenv("LD_PRELOAD");
    unsetenv("FAULT");
    unsetenv("FAULT_LOG");
    active = fault || log;
}

__attribute__((destructor)) static void end(void)
{
    if (!active || refuse_kind >= 0 || log_fd < 0)
        return;
    inside = true;
    for (int k = 0; k < KINDS; k++)
        note("%s total %ld\n", kind_names[k], atomic_load(&count[k]));
}

#define REAL(name) ((__typeof__(name) *)real_of(#name))
static void *real_of(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static bool fails(enum kind k, int e)
{
    const bool hit = refused(k);
    if (hit)
        errno = e;
    return hit;
}

/* ---- memory: glibc's own names, since dlsym() allocates ---------------------------------------------------------------- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

void *malloc(size_t n)
{
    return fails(ALLOC, ENOMEM) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails(ALLOC, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return n > 0 && fails(ALLOC, ENOMEM) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return fails(ALLOC, ENOMEM) ? NULL : __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    if (refused(ALLOC))
        return ENOMEM;
    *p = __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}

/* ---- files ------------------------------------------------------------------------------------------------------------- */

static mode_t mode_of(int flags, va_list ap)
{
    return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? (mode_t)va_arg(ap, int) : 0;
}

#define OPEN_AS(name)                                                                                                                  \
    int name(const char *path, int flags, ...)                                                                                         \
    {                                                                                                                                  \
        va_list ap;                                                                                                                    \
        va_start(ap, flags);                                                                                                           \
        const mode_t mode = mode_of(flags, ap);                                                                                        \
        va_end(ap);                                                                                                                    \
        return fails(OPEN, EMFILE) ? -1 : REAL(name)(path, flags, mode);                                                               \
    }
OPEN_AS(open)
OPEN_AS(open64)

int openat(int dir, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return fails(OPEN, EMFILE) ? -1 : REAL(openat)(dir, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    return fails(OPEN, EMFILE) ? NULL : REAL(fopen)(path, mode);
}

FILE *fdopen(int fd, const char *mode)
{
    return fails(OPEN, ENOMEM) ? NULL : REAL(fdopen)(fd, mode);
}

int mkostemp(char *template, int flags)
{
    return fails(OPEN, EACCES) ? -1 : REAL(mkostemp)(template, flags);
}

char *mkdtemp(char *template)
{
    return fails(OPEN, EACCES) ? NULL : REAL(mkdtemp)(template);
}

DIR *opendir(const char *path)
{
    return fails(OPEN, EMFILE) ? NULL : REAL(opendir)(path);
}

DIR *fdopendir(int fd)
{
    return fails(OPEN, ENOMEM) ? NULL : REAL(fdopendir)(fd);
}

/* A stream whose descriptor cannot do that, for the time of a call; *saved: what it was. */
static void spoil(FILE *f, int flags, int *saved)
{
    const int fd = fileno(f), null = REAL(open)("/dev/null", flags | O_CLOEXEC, 0);
    *saved = fd >= 0 && null >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (*saved >= 0)
        (void)dup2(null, fd);
    if (null >= 0)
        (void)close(null);
}

static void mend(FILE *f, int saved, int e)
{
    if (saved >= 0) {
        (void)dup2(saved, fileno(f));
        (void)close(saved);
    }
    errno = e;
}

ssize_t read(int fd, void *buf, size_t n)
{
    return fails(READ, EIO) ? -1 : REAL(read)(fd, buf, n);
}

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
    return fails(READ, EIO) ? -1 : REAL(pread)(fd, buf, n, at);
}

size_t fread(void *buf, size_t size, size_t n, FILE *f)
{
    if (!refused(READ))
        return REAL(fread)(buf, size, n, f);
    int saved;
    spoil(f, O_WRONLY, &saved);
    const size_t got = REAL(fread)(buf, size, n, f);
    mend(f, saved, EIO);
    return got;
}

char *fgets(char *buf, int n, FILE *f)
{
    if (!refused(READ))
        return REAL(fgets)(buf, n, f);
    int saved;
    spoil(f, O_WRONLY, &saved);
    char *got = REAL(fgets)(buf, n, f);
    mend(f, saved, EIO);
    return got;
}

struct dirent *readdir(DIR *d)
{
    return fails(READ, EIO) ? NULL : REAL(readdir)(d);
}

ssize_t write(int fd, const void *buf, size_t n)
{
    return fails(WRITE, ENOSPC) ? -1 : REAL(write)(fd, buf, n);
}

size_t fwrite(const void *buf, size_t size, size_t n, FILE *f)
{
    if (!refused(WRITE))
        return REAL(fwrite)(buf, size, n, f);
    int saved;
    spoil(f, O_RDONLY, &saved);
    size_t done = REAL(fwrite)(buf, size, n, f);
    if (REAL(fflush)(f) != 0)
        done = 0;
    mend(f, saved, ENOSPC);
    return done;
}

int fflush(FILE *f)
{
    if (!f || !refused(WRITE))
        return REAL(fflush)(f);
    int saved;
    spoil(f, O_RDONLY, &saved);
    const int rc = REAL(fflush)(f);
    mend(f, saved, ENOSPC);
    return rc;
}

int fclose(FILE *f)
{
    const bool writes = __fwriting(f) != 0;
    if (!writes || !refused(WRITE))
        return REAL(fclose)(f);
    (void)REAL(fclose)(f);
    errno = EIO; /* as network file systems say what they could not write */
    return EOF;
}

int fsync(int fd)
{
    return fails(SYNC, EIO) ? -1 : REAL(fsync)(fd);
}

int rename(const char *from, const char *to)
{
    return fails(RENAME, EIO) ? -1 : REAL(rename)(from, to);
}

#define MMAP_AS(name)                                                                                                                  \
    void *name(void *at, size_t n, int prot, int flags, int fd, off_t offset)                                                          \
    {                                                                                                                                  \
        return fails(MMAP, ENOMEM) ? MAP_FAILED : REAL(name)(at, n, prot, flags, fd, offset);                                          \
    }
MMAP_AS(mmap)
MMAP_AS(mmap64)

/* ---- threads and programs ------------------------------------------------------------------------------------------------ */

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*start)(void *), void *arg)
{
    return refused(THREAD) ? EAGAIN : REAL(pthread_create)(t, a, start, arg);
}

#define SPAWN_AS(name)                                                                                                                 \
    int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,                   \
             char *const argv[], char *const envp[])                                                                                   \
    {                                                                                                                                  \
        return refused(SPAWN) ? EAGAIN : REAL(name)(pid, path, actions, attr, argv, envp);                                             \
    }
SPAWN_AS(posix_spawn)
SPAWN_AS(posix_spawnp)

pid_t fork(void)
{
    return fails(SPAWN, EAGAIN) ? -1 : REAL(fork)();
}
