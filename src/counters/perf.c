/*
 * counters/perf.c: perf_event_open backend: software events, core events per thread, uncore events per socket. Events come from
 * events/NAME.json; without a file for the CPU generic cycles and instructions remain. Events beyond a PMU's counters go to further
 * sets. A core set is one pinned group per thread, software events another, an uncore set one group per unit and socket.
 */
#include "counters/perf_internal.h"
#include "counters/known_work.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the events -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *work;
    enum counter_field field;
    enum kind kind;
    uint64_t number;
} builtin[] = {
    { "PERF_COUNT_HW_CPU_CYCLES", "cycles", COUNTER_CYCLES, KIND_GENERIC, PERF_COUNT_HW_CPU_CYCLES },
    { "PERF_COUNT_HW_INSTRUCTIONS", "instructions", COUNTER_INSTRUCTIONS, KIND_GENERIC, PERF_COUNT_HW_INSTRUCTIONS },
    { "PERF_COUNT_SW_TASK_CLOCK", "task_clock", COUNTER_TASK_CLOCK_NS, KIND_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
    { "PERF_COUNT_SW_CONTEXT_SWITCHES", "context_switches", COUNTER_CONTEXT_SWITCHES, KIND_SOFTWARE,
      PERF_COUNT_SW_CONTEXT_SWITCHES },
    { "PERF_COUNT_SW_PAGE_FAULTS", "page_faults", COUNTER_PAGE_FAULTS, KIND_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
};

/* DRAM events listed by uncore PMUs in sysfs, for CPUs without a file. */
static const struct {
    const char *pmu, *event;
    enum counter_field field;
} listed[] = {
    { "uncore_imc", "cas_count_read", COUNTER_DRAM_READ_BYTES },
    { "uncore_imc", "cas_count_write", COUNTER_DRAM_WRITE_BYTES },
    { "uncore_imc_free_running", "data_read", COUNTER_DRAM_READ_BYTES },
    { "uncore_imc_free_running", "data_write", COUNTER_DRAM_WRITE_BYTES },
    { "nvidia_scf_pmu", "cmem_rd_data", COUNTER_DRAM_READ_BYTES },
};

static const struct pmu *first_unit(const struct perf *p, const char *pattern)
{
    for (size_t i = 0; i < p->pmus.n; i++)
        if (pmu_matches(p->pmus.pmu[i].name, pattern))
            return &p->pmus.pmu[i];
    return NULL;
}

static bool has_field(const struct counters *c, enum counter_field f)
{
    for (size_t i = 0; i < c->n_event; i++)
        if (c->event[i].field == f)
            return true;
    return false;
}

/* Drops all events of a field when one is unavailable: a partial sum is wrong. */
static void drop_field(struct counters *c, enum counter_field f, const char *why)
{
    struct perf *p = c->own;
    size_t n = 0;
    for (size_t i = 0; i < c->n_event; i++)
        if (c->event[i].field != f) {
            c->event[n] = c->event[i];
            p->slot[n++] = p->slot[i];
        }
    c->n_event = n;
    counters_limit(c, f, why);
}

static void add(struct counters *c, const struct counter_event *e, const struct slot *s)
{
    struct perf *p = c->own;
    if (c->limited[e->field] && !e->work[0])
        return;
    if (counters_add_event(c, e) == 0)
        p->slot[c->n_event - 1] = *s;
    else
        counters_set_reason(c, e->field, "more than %d events", COUNTER_EVENT_MAX);
}

/* Units and sockets that an event sums: "6 x uncore_imc on 2". */
static void name_units(char *out, size_t size, const struct perf *p, const char *pattern)
{
    size_t n = 0, cpus = 0;
    for (size_t i = 0; i < p->pmus.n; i++)
        if (pmu_matches(p->pmus.pmu[i].name, pattern)) {
            cpus = p->pmus.pmu[i].cpus.n > cpus ? p->pmus.pmu[i].cpus.n : cpus;
            n++;
        }
    if (n)
        snprintf(out, size, "%d x %.32s on %d", (int)n, pattern, cpus ? (int)cpus : 1);
}

static void add_from_file(struct counters *c, const struct event_def *d)
{
    struct perf *p = c->own;
    const bool core = strcmp(d->pmu, "core") == 0;
    const struct known_work *w = d->work[0] ? known_work_find(d->work) : NULL;
    const struct pmu *unit = core ? NULL : first_unit(p, d->pmu);
    struct slot s = { .kind = core ? KIND_CORE : KIND_UNCORE };
    struct counter_event e = { .field = d->field, .scale = d->scale, .shared = !core,
                               .source = core ? SOURCE_CORE_COUNTERS : SOURCE_UNCORE_COUNTERS };
    char why[COUNTER_REASON_LEN], text[96];
    double scale;
    if (!core && !unit) {
        counters_set_reason(c, d->field, "the kernel shows no PMU %s here: it lacks the driver, or the virtual machine the unit",
                            d->pmu);
        return;
    }
    if (w && !known_work_possible(w, why, sizeof why))
        return; /* instructions that this CPU lacks count 0 */
    if (d->sysfs_event[0]) {
        if (!unit || pmu_event(text, sizeof text, &scale, &p->pmus, unit, d->sysfs_event) != 0) {
            counters_set_reason(c, d->field, "PMU %s lists no event %s", d->pmu, d->sysfs_event);
            return;
        }
        snprintf(s.config, sizeof s.config, "%s", text);
    } else {
        snprintf(s.config, sizeof s.config, "%s", d->config);
    }
    snprintf(s.pmu, sizeof s.pmu, "%s", d->pmu);
    snprintf(e.name, sizeof e.name, "%s", d->name);
    snprintf(e.work, sizeof e.work, "%s", d->work);
    if (!core)
        name_units(e.units, sizeof e.units, p, d->pmu);
    add(c, &e, &s);
}

static void add_listed(struct counters *c)
{
    struct perf *p = c->own;
    for (size_t i = 0; i < ARRAY_LEN(listed); i++) {
        const struct pmu *unit = first_unit(p, listed[i].pmu);
        struct slot s = { .kind = KIND_UNCORE };
        struct counter_event e = { .field = listed[i].field, .shared = true, .source = SOURCE_UNCORE_COUNTERS };
        if (!unit || has_field(c, e.field) || c->limited[e.field] ||
            pmu_event(s.config, sizeof s.config, &e.scale, &p->pmus, unit, listed[i].event) != 0)
            continue;
        snprintf(s.pmu, sizeof s.pmu, "%s", listed[i].pmu);
        snprintf(e.name, sizeof e.name, "%s/%s", listed[i].pmu, listed[i].event);
        snprintf(e.work, sizeof e.work, "%s", e.field == COUNTER_DRAM_READ_BYTES ? "dram_read" : "dram_write");
        name_units(e.units, sizeof e.units, p, listed[i].pmu);
        add(c, &e, &s);
    }
}

static void add_builtin(struct counters *c)
{
    for (size_t i = 0; i < ARRAY_LEN(builtin); i++) {
        struct counter_event e = { .field = builtin[i].field, .scale = 1, .source = SOURCE_CORE_COUNTERS };
        const struct slot s = { .kind = builtin[i].kind, .number = builtin[i].number };
        if (has_field(c, e.field))
            continue;
        snprintf(e.name, sizeof e.name, "%s", builtin[i].name);
        snprintf(e.work, sizeof e.work, "%s", builtin[i].work);
        add(c, &e, &s);
    }
}

/* why: no readable event file for the CPU; NULL: there is one. */
static void list_events(struct counters *c, const char *why)
{
    struct perf *p = c->own;
    for (int f = 0; why && f < COUNTER_FIELD_COUNT; f++)
        counters_set_reason(c, (enum counter_field)f, "%s", why);
    for (size_t i = 0; i < p->file.n_event; i++)
        add_from_file(c, &p->file.event[i]);
    for (size_t i = 0; i < p->file.n_limit; i++)
        counters_limit(c, p->file.limit[i].field, p->file.limit[i].why);
    add_listed(c);
    add_builtin(c);
    counters_add_published(c);
    for (size_t i = 0; i < c->n_event; i++)
        if (counter_field_is_sw(c->event[i].field))
            p->slot[i] = (struct slot){ .kind = KIND_PUBLISHED };
}

/* ---- sets ------------------------------------------------------------------------------------------------------------ */

/* True if the event has a fixed counter. */
static bool is_fixed(const struct perf *p, const struct counter_event *e)
{
    for (size_t i = 0; i < p->file.n_event; i++)
        if (strcmp(p->file.event[i].name, e->name) == 0)
            return p->file.event[i].fixed;
    return false;
}

/* Assigns events to sets in order, up to the PMU's counters (core: `most`) each. */
static void assign_sets(struct counters *c, int most)
{
    struct perf *p = c->own;
    c->n_set = 1;
    for (size_t i = 0; i < c->n_event; i++) {
        int before = 0;
        const struct slot *s = &p->slot[i];
        const bool core = s->kind == KIND_CORE || s->kind == KIND_GENERIC;
        c->event[i].set = 0;
        if ((!core && s->kind != KIND_UNCORE) || is_fixed(p, &c->event[i]))
            continue;
        for (size_t k = 0; k < i; k++) {
            const bool same = core ? p->slot[k].kind == KIND_CORE || p->slot[k].kind == KIND_GENERIC
                                   : p->slot[k].kind == KIND_UNCORE && strcmp(p->slot[k].pmu, s->pmu) == 0;
            before += same && !is_fixed(p, &c->event[k]);
        }
        const int n = core ? most : event_file_counters(&p->file, s->pmu);
        c->event[i].set = before / n < COUNTER_SET_MAX ? before / n : COUNTER_SET_MAX - 1;
        c->n_set = c->event[i].set >= c->n_set ? c->event[i].set + 1 : c->n_set;
    }
}

/* ---- opening ----------------------------------------------------------------------------------------------------------------- */

/* Opens every event alone on this thread; unavailable ones drop their field with the reason. */
static void try_events(struct counters *c)
{
    struct perf *p = c->own;
    struct perf_thread t = { 0 };
    char why[COUNTER_REASON_LEN];
    for (size_t i = 0; i < c->n_event;) {
        struct perf_group g = { 0 };
        const bool uncore = p->slot[i].kind == KIND_UNCORE;
        const struct pmu *pmu = uncore ? first_unit(p, p->slot[i].pmu) : pmu_core(&p->pmus, sched_getcpu());
        const struct perf_target target = { uncore ? -1 : 0, !uncore ? -1 : pmu->cpus.n ? pmu->cpus.cpu[0] : 0 };
        if (p->slot[i].kind == KIND_PUBLISHED || perf_add_member(c, &t, i, &g, pmu, target, why, sizeof why) == 0)
            i++;
        else
            drop_field(c, c->event[i].field, why), i = 0;
        perf_group_close(&g);
    }
}

/* True if the kernel schedules all core sets: an unscheduled pinned group reports an error when read. */
static bool sets_fit(struct counters *c)
{
    struct perf *p = c->own;
    struct perf_thread t = { 0 };
    char why[COUNTER_REASON_LEN] = "";
    uint64_t v[PERF_GROUP_MAX];
    bool fit = true;
    const struct pmu *pmu = pmu_core(&p->pmus, sched_getcpu());
    for (size_t i = 0; i < c->n_event && fit; i++)
        if (p->slot[i].kind == KIND_CORE || p->slot[i].kind == KIND_GENERIC)
            fit = perf_add_member(c, &t, i, &t.core[c->event[i].set], pmu, (struct perf_target){ 0, -1 }, why, sizeof why) == 0;
    for (int s = 0; s < c->n_set && fit; s++) {
        perf_group_enable(&t.core[s]);
        fit = t.core[s].n == 0 || perf_group_read(&t.core[s], v, why, sizeof why) == 0;
        perf_group_disable(&t.core[s]);
    }
    for (int s = 0; s < COUNTER_SET_MAX; s++)
        perf_group_close(&t.core[s]);
    return fit;
}

/* Lists the uncore units of all sets on every socket. */
static int list_units(struct counters *c, struct error *err)
{
    struct perf *p = c->own;
    for (int set = 0; set < c->n_set; set++)
        for (size_t k = 0; k < p->pmus.n; k++) {
            const struct pmu *pmu = &p->pmus.pmu[k];
            const struct unit probe = { k, 0, set };
            bool used = false;
            for (size_t i = 0; i < c->n_event; i++)
                used |= perf_in_unit(c, i, &probe);
            const size_t n = used ? (pmu->cpus.n ? pmu->cpus.n : 1) : 0;
            struct unit *more = n ? realloc(p->unit, (p->n_unit + n) * sizeof *more) : p->unit;
            if (n && !more)
                return error_oom(err, (p->n_unit + n) * sizeof *more, "the units of PMUs");
            p->unit = more;
            for (size_t s = 0; s < n; s++)
                p->unit[p->n_unit++] = (struct unit){ k, pmu->cpus.n ? pmu->cpus.cpu[s] : 0, set };
        }
    return 0;
}

/*
 * Unpopulated memory channels may count garbage (likwid issue 262: 1e19 B/s). Units that exceed this rate in 1 ms are excluded, and the
 * event's unit text says how many.
 */
#define PHANTOM_BYTES_S 1e12 /* ten times a channel of DDR5-12800 */

static bool is_phantom(const struct counters *c, const struct perf_thread *t, const struct unit *u, const uint64_t *before,
                       const uint64_t *after, double seconds)
{
    for (size_t i = 0; i < c->n_event; i++)
        if (perf_in_unit(c, i, u)) {
            const size_t k = t->member[i];
            if (after[k] < before[k] || (double)(after[k] - before[k]) * c->event[i].scale > PHANTOM_BYTES_S * seconds)
                return true;
        }
    return false;
}

static void drop_phantoms(struct counters *c)
{
    struct perf *p = c->own;
    struct counter_thread *t = &c->thread[0];
    uint64_t before[PERF_GROUP_MAX] = { 0 }, after[PERF_GROUP_MAX] = { 0 };
    char why[160];
    size_t n = 0;
    if (p->n_unit == 0)
        return;
    perf_thread_start(c, t, 0);
    const struct perf_thread *pt = t->own;
    for (size_t u = 0; pt && pt->unit && u < p->n_unit; u++) {
        struct perf_group *g = &pt->unit[u];
        bool phantom = false;
        perf_group_enable(g);
        if (g->n && perf_group_read(g, before, why, sizeof why) == 0) {
            const double start = clock_now_s();
            while (clock_now_s() - start < 1e-3)
                ;
            const double seconds = clock_now_s() - start;
            phantom = perf_group_read(g, after, why, sizeof why) == 0 &&
                      is_phantom(c, pt, &p->unit[u], before, after, seconds);
        }
        p->phantom[u] = phantom;
        n += phantom;
    }
    perf_thread_stop(c, t, 0);
    memset(t, 0, sizeof *t);
    for (size_t i = 0; n && i < c->n_event; i++)
        if (p->slot[i].kind == KIND_UNCORE) {
            const size_t len = strlen(c->event[i].units);
            snprintf(c->event[i].units + len, sizeof c->event[i].units - len, ", %d phantom", (int)n);
        }
}

static int perf_open(struct counters *c, struct error *err)
{
    struct cpu_kind kind;
    struct perf *p = c->own = calloc(1, sizeof *p);
    if (!p)
        return error_oom(err, sizeof *p, "perf's state");
    cpu_kind_load(&kind, c->o.root);
    if (pmu_list_load(&p->pmus, c->o.root, err) != 0)
        return -1;
    struct error wrong;
    const int found = event_file_find(&p->file, c->o.data_dirs, &kind, &p->pmus, &wrong);
    /* Generic events remain. */
    list_events(c, found == 1 ? NULL : found < 0 ? wrong.msg : "no file in events/ describes this CPU");
    try_events(c);
    int most = event_file_counters(&p->file, "core");
    for (assign_sets(c, most); most > 1 && !sets_fit(c); assign_sets(c, most))
        most--;
    if (list_units(c, err) != 0)
        return -1;
    p->phantom = calloc(p->n_unit + 1, sizeof *p->phantom);
    if (!p->phantom)
        return error_oom(err, p->n_unit, "the units of PMUs");
    drop_phantoms(c);
    for (size_t i = 0; i < c->n_event; i++)
        if (p->slot[i].kind != KIND_PUBLISHED)
            return 0;
    return error_set(err, ERROR_UNAVAILABLE, "counter backend perf: %s", c->reason[COUNTER_TASK_CLOCK_NS]);
}

static void perf_close(struct counters *c)
{
    struct perf *p = c->own;
    if (!p)
        return;
    for (int i = 0; i < c->n_threads; i++)
        if (c->thread[i].own)
            perf_thread_stop(c, &c->thread[i], i);
    pmu_list_free(&p->pmus);
    event_file_free(&p->file);
    free(p->unit);
    free(p->phantom);
    free(p);
}

static int perf_probe(char *reason, size_t size)
{
    const struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK,
                                       .exclude_kernel = 1 };
    const struct perf_target here = { 0, -1 };
    struct perf_group g = { 0 };
    if (size)
        reason[0] = 0;
    const int rc = perf_group_add(&g, &a, here);
    if (rc != 0)
        perf_explain(reason, size, "", "task-clock", errno, &a, here);
    perf_group_close(&g);
    return rc;
}

const struct counter_backend counters_perf = {
    .name = "perf",
    .probe = perf_probe,
    .open = perf_open,
    .close = perf_close,
    .thread_start = perf_thread_start,
    .thread_stop = perf_thread_stop,
    .select = perf_thread_select,
    .read = perf_thread_read,
};
