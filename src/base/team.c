/*
 * A team of threads. Workers spin between runs (the next pass of a decode loop comes within microseconds), then sleep. Barriers
 * spin, then yield: a preempted peer needs a CPU.
 */
#include "base/program.h"
#include "base/topology.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SPIN_RUN = 4000, SPIN_BARRIER = 10000, CACHE_LINE = 64 };

struct worker {
    struct team *team;
    pthread_t thread;
    int tid;
    bool started;
};

struct team {
    int n;
    team_fn *fn;
    void *arg;
    bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    hwloc_topology_t topo; /* for pinning; NULL when not pinned */
    hwloc_bitmap_t caller; /* the caller's CPUs before it was pinned */
    int *cpu;              /* [n] or NULL */
    struct worker *worker; /* n - 1 */
    _Alignas(CACHE_LINE) atomic_uint generation; /* bumped to start a run */
    _Alignas(CACHE_LINE) atomic_int arrived;     /* barrier */
    _Alignas(CACHE_LINE) atomic_uint phase;      /* barrier */
};

static inline void spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void pin(hwloc_topology_t topo, int cpu)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set)
        return;
    hwloc_bitmap_set(set, (unsigned)cpu);
    /* Best effort: a failure costs speed only. */
    (void)hwloc_set_cpubind(topo, set, HWLOC_CPUBIND_THREAD | HWLOC_CPUBIND_STRICT);
    hwloc_bitmap_free(set);
}

static unsigned wait_generation(struct team *t, unsigned seen)
{
    for (int i = 0; i < SPIN_RUN; i++) {
        unsigned g = atomic_load_explicit(&t->generation, memory_order_acquire);
        if (g != seen)
            return g;
        spin_pause();
    }
    pthread_mutex_lock(&t->lock);
    while (atomic_load_explicit(&t->generation, memory_order_acquire) == seen)
        pthread_cond_wait(&t->wake, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return atomic_load_explicit(&t->generation, memory_order_acquire);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct team *t = w->team;
    if (t->cpu)
        pin(t->topo, t->cpu[w->tid]);
    unsigned seen = 0;
    for (;;) {
        seen = wait_generation(t, seen);
        if (t->stop)
            return NULL;
        t->fn(t->arg, w->tid, t->n);
        team_barrier(t);
    }
}

static void start_generation(struct team *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add_explicit(&t->generation, 1, memory_order_release);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

static int check_size(int n, const struct cpulist *cpus, struct error *err)
{
    struct cpulist usable;
    if (n < 1)
        return error_set(err, ERROR_USAGE, "threads: expected at least 1, found %d", n);
    if (cpus && (size_t)n > cpus->n)
        return error_set(err, ERROR_USAGE, "threads: %d requested, the CPU list has %zu", n, cpus->n);
    if (n == 1)
        return 0;
    if (cpulist_usable(&usable, err) != 0)
        return -1;
    size_t have = usable.n;
    cpulist_free(&usable);
    if ((size_t)n > have)
        return error_set(err, ERROR_USAGE, "threads: %d requested, this process may use %zu CPU%s", n,
                         have, have == 1 ? "" : "s");
    return 0;
}

static int pin_setup(struct team *t, const struct cpulist *cpus, struct error *err)
{
    t->cpu = calloc((size_t)t->n, sizeof *t->cpu);
    t->caller = hwloc_bitmap_alloc();
    if (!t->cpu || !t->caller)
        return error_oom(err, (size_t)t->n * sizeof *t->cpu, "the thread team");
    for (int i = 0; i < t->n; i++)
        t->cpu[i] = cpus->cpu[i];
    if (!(t->topo = topology_open(NULL, err)))
        return -1;
    if (hwloc_get_cpubind(t->topo, t->caller, HWLOC_CPUBIND_THREAD) != 0)
        hwloc_bitmap_zero(t->caller);
    pin(t->topo, t->cpu[0]);
    return 0;
}

struct team *team_new(int n, const struct cpulist *cpus, struct error *err)
{
    if (check_size(n, cpus, err) != 0)
        return NULL;
    struct team *t = aligned_alloc(CACHE_LINE, size_align_up(sizeof *t, CACHE_LINE));
    if (!t) {
        error_oom(err, sizeof *t, "the thread team");
        return NULL;
    }
    memset(t, 0, sizeof *t);
    t->n = n;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    t->worker = calloc((size_t)n, sizeof *t->worker);
    if (!t->worker) {
        error_oom(err, (size_t)n * sizeof *t->worker, "the thread team");
        goto fail;
    }
    if (cpus && pin_setup(t, cpus, err) != 0)
        goto fail;
    for (int i = 1; i < n; i++) {
        struct worker *w = &t->worker[i - 1];
        *w = (struct worker){ .team = t, .tid = i };
        int e = thread_start(&w->thread, worker_main, w);
        if (e != 0) {
            error_set(err, ERROR_SYSTEM, "cannot start thread %d of %d: %s", i, n, strerror(e));
            goto fail;
        }
        w->started = true;
    }
    return t;
fail:
    team_free(t);
    return NULL;
}

void team_free(struct team *t)
{
    if (!t)
        return;
    t->stop = true;
    start_generation(t);
    for (int i = 0; t->worker && i < t->n - 1; i++)
        if (t->worker[i].started)
            pthread_join(t->worker[i].thread, NULL);
    if (t->caller && t->topo && !hwloc_bitmap_iszero(t->caller))
        (void)hwloc_set_cpubind(t->topo, t->caller, HWLOC_CPUBIND_THREAD);
    hwloc_bitmap_free(t->caller);
    topology_close(t->topo);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->wake);
    free(t->cpu);
    free(t->worker);
    free(t);
}

void team_unpinned(struct team *t, void (*fn)(void *arg), void *arg)
{
    const bool pinned = t->caller && t->topo && !hwloc_bitmap_iszero(t->caller);
    if (pinned)
        (void)hwloc_set_cpubind(t->topo, t->caller, HWLOC_CPUBIND_THREAD);
    fn(arg);
    if (pinned)
        pin(t->topo, t->cpu[0]);
}

int team_size(const struct team *t)
{
    return t->n;
}

void team_run(struct team *t, team_fn *fn, void *arg)
{
    t->fn = fn;
    t->arg = arg;
    if (t->n > 1)
        start_generation(t);
    fn(arg, 0, t->n);
    team_barrier(t);
}

void team_barrier(struct team *t)
{
    if (t->n == 1)
        return;
    unsigned phase = atomic_load_explicit(&t->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) == t->n - 1) {
        atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&t->phase, phase + 1, memory_order_release);
        return;
    }
    for (int i = 0; atomic_load_explicit(&t->phase, memory_order_acquire) == phase; i++) {
        if (i < SPIN_BARRIER)
            spin_pause();
        else
            sched_yield();
    }
}
