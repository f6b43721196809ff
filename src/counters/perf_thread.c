/* counters/perf_thread.c: opens and reads perf events on a thread and on uncore units. */
#include "counters/perf_internal.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening on a thread ------------------------------------------------------------------------------------------------ */

/* perf_event_attr of event i on a core PMU (NULL: none) or unit. */
static int event_attr(struct perf_event_attr *a, const struct counters *c, size_t i, const struct pmu *pmu, struct error *err)
{
    const struct perf *p = c->own;
    const struct slot *s = &p->slot[i];
    struct pmu_config config = { { 0 } };
    *a = (struct perf_event_attr){ .exclude_kernel = 1, .exclude_hv = 1, .pinned = 1 };
    switch (s->kind) {
    case KIND_PUBLISHED:
        return 0;
    case KIND_SOFTWARE: /* switches happen in the kernel */
        a->type = PERF_TYPE_SOFTWARE;
        a->config = s->number;
        a->exclude_kernel = s->number != PERF_COUNT_SW_CONTEXT_SWITCHES;
        a->pinned = 0;
        return 0;
    case KIND_GENERIC: /* on hybrid CPUs the upper half selects the core PMU */
        a->type = PERF_TYPE_HARDWARE;
        a->config = s->number | (pmu && pmu->has_cpus && strncmp(pmu->name, "cpu_", 4) == 0 ? (uint64_t)pmu->type << 32 : 0);
        return 0;
    case KIND_UNCORE: /* includes kernel and other processes */
        a->exclude_kernel = a->exclude_hv = 0;
        a->pinned = 0;
        break;
    case KIND_CORE:
        break;
    }
    if (!pmu)
        return error_set(err, ERROR_UNAVAILABLE, "the kernel has no PMU of the cores here: a virtual machine without one?");
    if (pmu_encode(&config, &p->pmus, pmu, s->config, err) != 0)
        return -1;
    a->type = pmu->type;
    a->config = config.word[0];
    a->config1 = config.word[1];
    a->config2 = config.word[2];
    return 0;
}

/* PMU of this thread's CPUs; the reason if the affinity mask spans several PMUs. */
static const struct pmu *thread_pmu(const struct perf *p, char *why, size_t size)
{
    cpu_set_t mask;
    const struct pmu *pmu = pmu_core(&p->pmus, sched_getcpu());
    if (!pmu || !pmu->has_cpus || sched_getaffinity(0, sizeof mask, &mask) != 0)
        return pmu;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        const struct pmu *other = CPU_ISSET(cpu, &mask) ? pmu_core(&p->pmus, cpu) : pmu;
        if (other && other != pmu) {
            snprintf(why, size, "the thread may run on cores of %s and of %s, which count apart: pin it", pmu->name, other->name);
            return NULL;
        }
    }
    return pmu;
}

int perf_add_member(struct counters *c, struct perf_thread *t, size_t i, struct perf_group *g, const struct pmu *pmu,
                    struct perf_target target, char *why, size_t size)
{
    struct perf_event_attr a;
    struct error err = { 0 };
    if (event_attr(&a, c, i, pmu, &err) != 0) {
        snprintf(why, size, "%.*s", (int)size - 1, err.msg);
        return -1;
    }
    if (perf_group_add(g, &a, target) != 0) {
        perf_explain(why, size, c->o.root, c->event[i].name, errno, &a, target);
        return -1;
    }
    t->member[i] = g->n - 1;
    return 0;
}

bool perf_in_unit(const struct counters *c, size_t i, const struct unit *u)
{
    const struct perf *p = c->own;
    return p->slot[i].kind == KIND_UNCORE && c->event[i].set == u->set && pmu_matches(p->pmus.pmu[u->pmu].name, p->slot[i].pmu);
}

/* Opens the uncore groups: every unit, on one CPU per socket. */
static void open_units(struct counters *c, struct counter_thread *t, char *why, size_t size)
{
    struct perf *p = c->own;
    struct perf_thread *pt = t->own;
    pt->unit = calloc(p->n_unit ? p->n_unit : 1, sizeof *pt->unit);
    for (size_t u = 0; u < p->n_unit; u++)
        for (size_t i = 0; i < c->n_event; i++) {
            const struct unit *unit = &p->unit[u];
            const struct perf_target target = { -1, unit->cpu };
            if (!perf_in_unit(c, i, unit))
                continue;
            if (!pt->unit || perf_add_member(c, pt, i, &pt->unit[u], &p->pmus.pmu[unit->pmu], target, why, size) != 0)
                t->ok[i] = false;
        }
}

static struct perf_group *group_of(const struct counters *c, const struct perf_thread *t, size_t i)
{
    const struct perf *p = c->own;
    switch (p->slot[i].kind) {
    case KIND_CORE:
    case KIND_GENERIC:
        return (struct perf_group *)(uintptr_t)&t->core[c->event[i].set];
    case KIND_SOFTWARE:
        return (struct perf_group *)(uintptr_t)&t->software;
    case KIND_UNCORE:
    case KIND_PUBLISHED:
        break;
    }
    return NULL;
}

static void enable_set(struct counters *c, struct perf_thread *t, int tid, int set, bool on)
{
    const struct perf *p = c->own;
    (on ? perf_group_enable : perf_group_disable)(&t->core[set]);
    for (size_t u = 0; tid == 0 && t->unit && u < p->n_unit; u++)
        if (p->unit[u].set == set)
            (on ? perf_group_enable : perf_group_disable)(&t->unit[u]);
}

void perf_thread_stop(struct counters *c, struct counter_thread *t, int tid)
{
    const struct perf *p = c->own;
    struct perf_thread *pt = t->own;
    (void)tid;
    if (!pt)
        return;
    for (int s = 0; s < COUNTER_SET_MAX; s++)
        perf_group_close(&pt->core[s]);
    perf_group_close(&pt->software);
    for (size_t u = 0; pt->unit && u < p->n_unit; u++)
        perf_group_close(&pt->unit[u]);
    free(pt->unit);
    free(pt);
    t->own = NULL;
}

void perf_thread_start(struct counters *c, struct counter_thread *t, int tid)
{
    const struct perf *p = c->own;
    struct perf_thread *pt = t->own = calloc(1, sizeof *pt);
    char why[COUNTER_REASON_LEN] = "";
    if (!pt) {
        snprintf(t->reason, sizeof t->reason, "thread %d: out of memory", tid);
        return;
    }
    const struct pmu *pmu = thread_pmu(p, why, sizeof why);
    for (size_t i = 0; i < c->n_event; i++) {
        struct perf_group *g = group_of(c, pt, i);
        t->ok[i] = !g || (!(why[0] && !pmu && p->slot[i].kind != KIND_SOFTWARE) &&
                          perf_add_member(c, pt, i, g, pmu, (struct perf_target){ 0, -1 }, why, sizeof why) == 0);
    }
    if (tid == 0)
        open_units(c, t, why, sizeof why);
    perf_group_enable(&pt->software);
    enable_set(c, pt, tid, 0, true);
    if (why[0])
        snprintf(t->reason, sizeof t->reason, "thread %d: %.230s", tid, why);
}

void perf_thread_select(struct counters *c, struct counter_thread *t, int tid, int set)
{
    if (!t->own)
        return;
    enable_set(c, t->own, tid, t->set, false);
    enable_set(c, t->own, tid, set, true);
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

/* An incomplete group is invalid from then on. */
static bool read_group(struct counter_thread *t, struct perf_group *g, uint64_t *value)
{
    char why[160] = "";
    if (g->n == 0 || perf_group_read(g, value, why, sizeof why) == 0)
        return true;
    if (why[0])
        snprintf(t->reason, sizeof t->reason, "%s", why);
    return false;
}

static void take(struct counters *c, struct counter_thread *t, struct perf_group *g, uint64_t *raw)
{
    const struct perf_thread *pt = t->own;
    uint64_t v[PERF_GROUP_MAX];
    const bool whole = read_group(t, g, v);
    for (size_t i = 0; i < c->n_event; i++)
        if (t->ok[i] && group_of(c, pt, i) == g) {
            t->ok[i] = whole;
            raw[i] = whole ? v[pt->member[i]] : 0;
        }
}

static void take_units(struct counters *c, struct counter_thread *t, uint64_t *raw)
{
    const struct perf *p = c->own;
    const struct perf_thread *pt = t->own;
    uint64_t v[PERF_GROUP_MAX];
    for (size_t u = 0; pt->unit && u < p->n_unit; u++) {
        if (p->unit[u].set != t->set || p->phantom[u])
            continue;
        const bool whole = read_group(t, &pt->unit[u], v);
        for (size_t i = 0; i < c->n_event; i++)
            if (perf_in_unit(c, i, &p->unit[u]) && t->ok[i]) {
                t->ok[i] = whole;
                raw[i] += whole ? v[pt->member[i]] : 0;
            }
    }
}

void perf_thread_read(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw)
{
    const struct perf *p = c->own;
    struct perf_thread *pt = t->own;
    if (!pt)
        return;
    /* Thread 0 publishes: others would race. */
    for (size_t i = 0; i < c->n_event; i++)
        raw[i] = p->slot[i].kind == KIND_PUBLISHED && tid == 0 ? (uint64_t)counter_source_value(c->o.src, c->event[i].field) : 0;
    take(c, t, &pt->core[t->set], raw);
    if (t->set == 0)
        take(c, t, &pt->software, raw);
    if (tid == 0)
        take_units(c, t, raw);
}
