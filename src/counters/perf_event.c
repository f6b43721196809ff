/*
 * counters/perf_event.c: event groups by perf_event_open(2). A group is scheduled as a whole; a pinned leader counts whenever the thread
 * runs, or is in an error state that a read shows. So counts cover the same code, and every read checks running == enabled.
 */
#include "counters/perf_event.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(struct perf_event_attr *a, struct perf_target t, int leader)
{
    return (int)syscall(SYS_perf_event_open, a, t.pid, t.cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

/* The mmap page for user-space reads; NULL: read() only. */
static struct perf_event_mmap_page *map_page(int fd)
{
    void *p = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool user_readable(const struct perf_member *m)
{
#ifdef __x86_64__
    return m->page && m->page->cap_user_rdpmc;
#else
    (void)m; /* 64-bit Arm needs a sysctl and per-counter registers: read() instead */
    return false;
#endif
}

int perf_group_add(struct perf_group *g, const struct perf_event_attr *a, struct perf_target t)
{
    struct perf_event_attr attr = *a;
    if (g->n == PERF_GROUP_MAX) {
        errno = EINVAL;
        return -1;
    }
    attr.size = sizeof attr;
    attr.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.disabled = g->n == 0;
    attr.pinned = a->pinned && g->n == 0;
    struct perf_member m = { .fd = open_event(&attr, t, g->n ? g->member[0].fd : -1) };
    if (m.fd < 0)
        return -1;
    if (ioctl(m.fd, PERF_EVENT_IOC_ID, &m.id) != 0) {
        close(m.fd);
        return -1;
    }
    m.page = t.pid == 0 ? map_page(m.fd) : NULL;
    g->software = (g->n == 0 || g->software) && a->type == PERF_TYPE_SOFTWARE;
    g->rdpmc = (g->n == 0 || g->rdpmc) && user_readable(&m) && t.pid == 0 && t.cpu == -1;
    g->member[g->n++] = m;
    return 0;
}

void perf_group_close(struct perf_group *g)
{
    for (size_t i = g->n; i-- > 0;) {
        if (g->member[i].page)
            munmap(g->member[i].page, (size_t)sysconf(_SC_PAGESIZE));
        close(g->member[i].fd);
    }
    *g = (struct perf_group){ 0 };
}

int perf_group_enable(struct perf_group *g)
{
    return g->n ? ioctl(g->member[0].fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) : 0;
}

int perf_group_disable(struct perf_group *g)
{
    return g->n ? ioctl(g->member[0].fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP) : 0;
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

#ifdef __x86_64__
static uint64_t rdpmc(uint32_t counter)
{
    uint32_t lo, hi;
    __asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(counter));
    return (uint64_t)hi << 32 | lo;
}

/* perf_event_open(2), cap_user_rdpmc. False: not on a counter now. */
static bool read_member(const struct perf_member *m, uint64_t *value, bool *whole)
{
    const volatile struct perf_event_mmap_page *p = m->page;
    uint32_t lock, index;
    uint64_t count = 0;
    do {
        lock = p->lock;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        index = p->index;
        count = (uint64_t)p->offset;
        *whole = p->time_enabled == p->time_running;
        if (index) {
            const unsigned shift = 64u - p->pmc_width;
            count += (uint64_t)((int64_t)(rdpmc(index - 1) << shift) >> shift);
        }
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (p->lock != lock);
    *value = count;
    return index != 0;
}
#else
static bool read_member(const struct perf_member *m, uint64_t *value, bool *whole)
{
    (void)m, (void)value, (void)whole;
    return false;
}
#endif

/* All members without a system call; false: one is not on a counter. */
static bool read_user(const struct perf_group *g, uint64_t *value, bool *whole)
{
    bool all = true;
    for (size_t i = 0; i < g->n; i++) {
        bool one = true;
        if (!read_member(&g->member[i], &value[i], &one))
            return false;
        all &= one;
    }
    *whole = all;
    return true;
}

/* Allowed enabled - running of software events: nonzero only during rescheduling (ctx_resched). */
#define RESCHEDULE_NS 100000u

static bool ran_whole(const struct perf_group *g, uint64_t enabled, uint64_t running)
{
    return running == enabled || (g->software && running > 0 && enabled - running <= RESCHEDULE_NS + enabled / 1000);
}

static int lose(struct perf_group *g)
{
    g->lost = true;
    return -1;
}

static int read_kernel(struct perf_group *g, uint64_t *value, char *why, size_t size)
{
    struct {
        uint64_t n, enabled, running;
        struct {
            uint64_t value, id;
        } v[PERF_GROUP_MAX];
    } r;
    const ssize_t got = read(g->member[0].fd, &r, sizeof r);
    if (got == 0) {
        snprintf(why, size, "the kernel has no counters free for the group (another user, such as the NMI watchdog, has them)");
        return lose(g);
    }
    if (got < (ssize_t)(3 * sizeof(uint64_t)) || r.n != g->n) {
        snprintf(why, size, "read of a perf event group: %s", got < 0 ? strerror(errno) : "short");
        return lose(g);
    }
    if (!ran_whole(g, r.enabled, r.running)) {
        snprintf(why, size, "counted only %.1f %% of the time: counters were shared with other users",
                 r.enabled ? 100.0 * (double)r.running / (double)r.enabled : 0.0);
        return lose(g);
    }
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < r.n; k++)
            if (r.v[k].id == g->member[i].id)
                value[i] = r.v[k].value;
    return 0;
}

int perf_group_read(struct perf_group *g, uint64_t *value, char *why, size_t size)
{
    bool whole = true;
    if (g->lost)
        return -1;
    if (g->rdpmc && read_user(g, value, &whole) && whole)
        return 0;
    return read_kernel(g, value, why, size);
}

/* ---- errors -------------------------------------------------------------------------------------------------- */

static int paranoid(const char *root)
{
    char path[4200];
    int level = 2;
    snprintf(path, sizeof path, "%s/proc/sys/kernel/perf_event_paranoid", root ? root : "");
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &level) != 1)
        level = 2;
    if (f)
        fclose(f);
    return level;
}

void perf_explain(char *why, size_t size, const char *root, const char *event, int error,
                  const struct perf_event_attr *a, struct perf_target t)
{
    /* Documentation/admin-guide/sysctl/kernel.rst: highest level that permits user space 2, kernel 1, all of a CPU 0 */
    const int needs = t.pid == -1 ? 0 : a->exclude_kernel ? 2 : 1;
    switch (error) {
    case EACCES:
    case EPERM:
        snprintf(why, size,
                 "%s: not permitted: /proc/sys/kernel/perf_event_paranoid is %d, and this needs %d or less, or CAP_PERFMON",
                 event, paranoid(root), needs);
        break;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        snprintf(why, size, "%s: this CPU, or the virtual machine, has no such event", event);
        break;
    case EINVAL:
        snprintf(why, size, "%s: the kernel refuses the event", event);
        break;
    case EMFILE:
        snprintf(why, size, "%s: too many open files", event);
        break;
    case ENOSYS:
        snprintf(why, size, "%s: the kernel has no perf_event_open, or a sandbox forbids it", event);
        break;
    default:
        snprintf(why, size, "%s: perf_event_open: %s", event, strerror(error));
        break;
    }
}
