/*
 * Measurement harness of one thread count: pinned team, first-touch memory, samples from a barrier to the last thread's end.
 * Source: methods.md (73).
 */
#include "ceilings/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    CACHE_LINE = 64,
    HUGE_PAGE = 2 << 20,
    CLOCK_STEPS = 4000, /* 128,000 cycles, about 40 us */
};

/* One cache line per thread, to avoid false sharing. */
struct harness_slot {
    _Alignas(CACHE_LINE) double start_s, end_s, clock_hz;
    bool preempted;
};

struct run {
    struct harness *m;
    void (*run)(void *arg, int tid);
    void *arg;
    void (*chain)(uint64_t n);
};

static void touch_chunk(void *arg, int tid, int n_threads)
{
    struct harness *m = arg;
    (void)n_threads;
    /* Nonzero: zero pages may be shared. In pieces, as touching can take seconds. */
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

static int map_memory(struct harness *m, size_t bytes, struct error *err)
{
    /* room to align chunks to huge pages */
    m->chunk_bytes = bytes / (size_t)m->n / HUGE_PAGE * HUGE_PAGE;
    if (m->chunk_bytes == 0)
        m->chunk_bytes = HUGE_PAGE;
    m->mem_bytes = m->chunk_bytes * (size_t)m->n;
    void *p = mmap(NULL, m->mem_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return error_oom(err, m->mem_bytes, "the bandwidth test");
    m->mem = p;
#ifdef MADV_HUGEPAGE
    /* A roof is best case: avoid page walks. */
    (void)madvise(p, m->mem_bytes, MADV_HUGEPAGE);
#endif
    team_run(m->team, touch_chunk, m);
    return interrupt_check(err);
}

static int set_cpus(struct harness *m, const struct cpulist *cpus, struct error *err)
{
    m->cpu = malloc((size_t)m->n * sizeof *m->cpu);
    if (!m->cpu)
        return error_oom(err, (size_t)m->n * sizeof *m->cpu, "the threads' CPUs");
    memcpy(m->cpu, cpus->cpu, (size_t)m->n * sizeof *m->cpu);
    return cpu_topology_load(&m->topology, NULL, err);
}

int harness_init(struct harness *m, int n_threads, bool memory, const struct ceilings_options *o, struct error *err)
{
    struct cpulist usable = { 0 };
    const struct cpulist *cpus = o->cpus;
    *m = (struct harness){ .n = n_threads };
    if (!cpus) {
        if (cpulist_usable(&usable, err) != 0)
            return -1;
        cpus = &usable;
    }
    if (n_threads < 1 || (size_t)n_threads > cpus->n) {
        error_set(err, ERROR_USAGE, "threads: %d requested, the CPU list has %zu", n_threads, cpus->n);
        goto fail;
    }
    /* before pinning, which changes the affinity mask */
    if (set_cpus(m, cpus, err) != 0 || !(m->team = team_new(n_threads, cpus, err)))
        goto fail;
    cpus_text(m->cpus, sizeof m->cpus, cpus, n_threads);
    m->slot = aligned_alloc(CACHE_LINE, (size_t)n_threads * sizeof *m->slot);
    if (!m->slot) {
        error_oom(err, (size_t)n_threads * sizeof *m->slot, "the threads' clocks");
        goto fail;
    }
    if (memory && o->memory && o->memory_bytes >= (size_t)n_threads * (o->memory_whole ? 1 : 16) * HUGE_PAGE) {
        m->mem = (unsigned char *)(uintptr_t)o->memory;
        m->mem_borrowed = true;
        const size_t piece = o->memory_whole ? 4096 : HUGE_PAGE;
        m->chunk_bytes = o->memory_bytes / (size_t)n_threads / piece * piece;
        m->mem_bytes = m->chunk_bytes * (size_t)n_threads;
    } else if (memory && map_memory(m, footprint_of_effort(&m->topology, m->cpu, (size_t)m->n, o->effort, &m->mem_small), err) != 0)
        goto fail;
    cpulist_free(&usable);
    return 0;
fail:
    cpulist_free(&usable);
    harness_free(m);
    return -1;
}

double harness_dram_bytes(const struct harness *m)
{
    const double caches = cpu_topology_llc_bytes(&m->topology, m->cpu, (size_t)m->n), all = (double)m->mem_bytes;
    return caches > 0 ? fmin(fmax(4 * caches, 1 << 26), all) : all;
}

void harness_free(struct harness *m)
{
    if (m->mem && !m->mem_borrowed)
        munmap(m->mem, m->mem_bytes);
    for (int i = 0; i < CORE_PROBE_COUNT; i++)
        core_probe_free(m->core_probe[i].product);
    free(m->slot);
    free(m->cpu);
    cpu_topology_free(&m->topology);
    team_free(m->team);
    *m = (struct harness){ 0 };
}

/* Involuntary context switches of this thread; 0: unknown. */
static long involuntary_switches(void)
{
#ifdef RUSAGE_THREAD
    struct rusage u;
    if (getrusage(RUSAGE_THREAD, &u) == 0)
        return u.ru_nivcsw;
#endif
    return 0;
}

static void run_one(void *arg, int tid, int n_threads)
{
    struct run *r = arg;
    struct harness_slot *s = &r->m->slot[tid];
    (void)n_threads;
    long before = involuntary_switches();
    team_barrier(r->m->team);
    s->start_s = clock_now_s();
    r->run(r->arg, tid);
    s->end_s = clock_now_s();
    s->clock_hz = clock_chain_hz(r->chain, CLOCK_STEPS);
    s->preempted = involuntary_switches() != before;
}

void harness_time(struct harness *m, void (*run)(void *arg, int tid), void *arg, void (*chain)(uint64_t n), struct sample *s)
{
    struct run r = { .m = m, .run = run, .arg = arg, .chain = chain };
    team_run(m->team, run_one, &r);
    double start = m->slot[0].start_s, end = m->slot[0].end_s, hz = 0, rates = 0;
    *s = (struct sample){ .value = NAN };
    for (int i = 0; i < m->n; i++) {
        start = fmin(start, m->slot[i].start_s);
        end = fmax(end, m->slot[i].end_s);
        hz += m->slot[i].clock_hz;
        rates += 1 / (m->slot[i].end_s - m->slot[i].start_s);
        s->disturbed |= m->slot[i].preempted;
    }
    s->seconds = end - start;
    s->shared_s = m->n / rates;
    s->clock_hz = hz / m->n;
}

static void run_nothing(void *arg, int tid)
{
    (void)arg, (void)tid;
    (void)clock_chain_hz(NULL, 25 * CLOCK_STEPS); /* a few milliseconds */
}

void harness_warm(struct harness *m)
{
    struct sample s;
    harness_time(m, run_nothing, NULL, NULL, &s);
}

/* Several passes: Intel's victim L3 retains lines on their second use. Emerald Rapids, 64 MiB, GB/s per pass: 16.6, 16.9, 23.4,
 * 28.8, 29.0, 29.6. */
enum { FILL_WALKS = 4 };
static const double FILL_MOST_S = 0.03;

void harness_fill_cache(struct harness *m, const struct benchmark *j, void (*walk)(void *arg, int tid), void *arg)
{
    double spent = 0;
    for (int i = 0; m->warm != j && i < FILL_WALKS && spent < FILL_MOST_S; i++) {
        struct sample s;
        harness_time(m, walk, arg, NULL, &s);
        spent += s.seconds;
    }
    m->warm = j;
}

void harness_warm_tlb(const unsigned char *p, size_t bytes)
{
    enum { STEP = 8 * 4096 };
    for (size_t at = 0; at < bytes; at += STEP)
        (void)*(volatile const unsigned char *)(p + at);
}

int harness_threads(const struct harness *m)
{
    return m->n;
}

struct team *harness_team(struct harness *m)
{
    return m->team;
}

void *harness_memory(const struct harness *m, int tid, size_t *bytes)
{
    *bytes = m->chunk_bytes;
    return m->mem ? m->mem + m->chunk_bytes * (size_t)tid : NULL;
}
