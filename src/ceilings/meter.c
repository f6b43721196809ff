/*
 * One thread count at a time: a pinned team, memory that its threads touched first, and samples
 * that start at a barrier and last from the first thread's start to the last one's end.
 * Source: methods.md (18).
 */
#include "ceilings/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    CACHE_LINE = 64,
    HUGE_PAGE = 2 << 20,
    CLOCK_STEPS = 4000, /* 128,000 cycles, some 40 us */
};

/* A thread's own line, so that storing the end time disturbs nobody. */
struct meter_slot {
    _Alignas(CACHE_LINE) double start_s, end_s, clock_hz;
    bool preempted;
};

struct run {
    struct meter *m;
    const struct task *t;
};

static void touch_chunk(void *arg, int tid, int n_threads)
{
    struct meter *m = arg;
    (void)n_threads;
    /* Not zero: a kernel may back zero pages with one shared page. In pieces: fresh memory can take seconds. */
    for (size_t at = 0; at < m->chunk_bytes && interrupt_check(NULL) == 0; at += HUGE_PAGE)
        memset(m->mem + m->chunk_bytes * (size_t)tid + at, 0x5a, HUGE_PAGE);
}

/* "0-3,8" */
static void cpus_text(char *buf, size_t size, const struct cpulist *l, int n)
{
    size_t len = 0;
    buf[0] = 0;
    for (int i = 0; i < n && len < size;) {
        int first = l->cpu[i], last = first;
        const char *comma = i ? "," : "";
        for (i++; i < n && l->cpu[i] == last + 1; i++)
            last++;
        if (last > first)
            len += (size_t)snprintf(buf + len, size - len, "%s%d-%d", comma, first, last);
        else
            len += (size_t)snprintf(buf + len, size - len, "%s%d", comma, first);
    }
    if (len >= size)
        memcpy(buf + size - 4, "...", 4);
}

static int map_memory(struct meter *m, size_t bytes, struct error *err)
{
    /* Room to start each chunk on a huge page. */
    m->chunk_bytes = bytes / (size_t)m->n / HUGE_PAGE * HUGE_PAGE;
    if (m->chunk_bytes == 0)
        m->chunk_bytes = HUGE_PAGE;
    m->mem_bytes = m->chunk_bytes * (size_t)m->n;
    void *p = mmap(NULL, m->mem_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return error_oom(err, m->mem_bytes, "the bandwidth test");
    m->mem = p;
#ifdef MADV_HUGEPAGE
    /* A roof is what the memory gives at best: without table walks where the system allows. */
    (void)madvise(p, m->mem_bytes, MADV_HUGEPAGE);
#endif
    team_run(m->team, touch_chunk, m);
    return interrupt_check(err);
}

int meter_init(struct meter *m, int n_threads, size_t mem_bytes, const struct ceilings_options *o,
               struct error *err)
{
    struct cpulist usable = { 0 };
    const struct cpulist *cpus = o->cpus;
    *m = (struct meter){ .n = n_threads };
    if (!cpus) {
        if (cpulist_usable(&usable, err) != 0)
            return -1;
        cpus = &usable;
    }
    size_t bytes = (size_t)n_threads * sizeof *m->slot;
    m->team = team_new(n_threads, cpus, err);
    if (!m->team)
        goto fail;
    cpus_text(m->cpus, sizeof m->cpus, cpus, n_threads);
    m->slot = aligned_alloc(CACHE_LINE, bytes);
    if (!m->slot) {
        error_oom(err, bytes, "the threads' clocks");
        goto fail;
    }
    if (mem_bytes && map_memory(m, mem_bytes, err) != 0)
        goto fail;
    cpulist_free(&usable);
    return 0;
fail:
    cpulist_free(&usable);
    meter_free(m);
    return -1;
}

void meter_free(struct meter *m)
{
    if (m->mem)
        munmap(m->mem, m->mem_bytes);
    free(m->slot);
    team_free(m->team);
    *m = (struct meter){ 0 };
}

/* How often the system took the CPU from this thread; 0 where it does not say. */
static long preemptions(void)
{
#ifdef RUSAGE_THREAD
    struct rusage u;
    if (getrusage(RUSAGE_THREAD, &u) == 0)
        return u.ru_nivcsw;
#endif
    return 0;
}

static void run_task(void *arg, int tid, int n_threads)
{
    struct run *r = arg;
    const struct task *t = r->t;
    struct meter_slot *s = &r->m->slot[tid];
    (void)n_threads;
    const unsigned char *p = NULL;
    if (t->read)
        p = r->m->mem + r->m->chunk_bytes * (size_t)tid + t->window * t->bytes;
    long before = preemptions();
    team_barrier(r->m->team);
    s->start_s = clock_now_s();
    if (t->read)
        t->read->run(p, t->bytes, t->n);
    else
        t->peak->run(t->n);
    s->end_s = clock_now_s();
    s->clock_hz = clock_chain_hz(t->peak ? t->peak->chain : NULL, CLOCK_STEPS);
    s->preempted = preemptions() != before;
}

bool meter_sample(struct meter *m, struct task *t, double *rate, double *clock_hz, double *seconds)
{
    struct run r = { .m = m, .t = t };
    team_run(m->team, run_task, &r);
    double start = m->slot[0].start_s, end = m->slot[0].end_s, hz = 0;
    bool preempted = false;
    for (int i = 0; i < m->n; i++) {
        start = fmin(start, m->slot[i].start_s);
        end = fmax(end, m->slot[i].end_s);
        hz += m->slot[i].clock_hz;
        preempted |= m->slot[i].preempted;
    }
    if (t->n_window)
        t->window = (t->window + 1) % t->n_window;
    double amount = (t->read ? (double)t->bytes : t->peak->flop) * (double)t->n * m->n;
    *rate = end > start ? amount / (end - start) : NAN;
    if (clock_hz)
        *clock_hz = hz / m->n;
    if (seconds)
        *seconds = end - start;
    return !preempted;
}

void meter_calibrate(struct meter *m, struct task *t, double seconds)
{
    enum { MAX_DOUBLINGS = 40 };
    double rate, s = 0, again = 0;
    t->n = 1;
    for (int i = 0; i < MAX_DOUBLINGS; i++) {
        (void)meter_sample(m, t, &rate, NULL, &s);
        /* One interruption must not pass for a slow machine: twice, and the faster one counts. */
        if (s >= seconds / 4) {
            (void)meter_sample(m, t, &rate, NULL, &again);
            s = fmin(s, again);
        }
        if (s >= seconds / 4)
            break;
        t->n *= 2;
    }
    double n = s > 0 ? (double)t->n * seconds / s : (double)t->n;
    t->n = n < 1 ? 1 : (uint64_t)n;
}
