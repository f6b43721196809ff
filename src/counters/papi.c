/*
 * counters/papi.c: PAPI backend: hardware events that can be added and do count, and the engine's counts published as
 * software-defined events (SDE), visible to any PAPI tool in the process.
 *
 * PAPI and libsde keep process-wide registries, and libsde 1.0 (PAPI 7.0) cannot release names: papi_sde_unregister_counter and
 * papi_sde_shutdown leave freed counters in its tables, and papi_sde_describe_counter leaks. So the events are registered once, as
 * callbacks that read the current source, and libraries are never shut down. That is this file's only mutable global state, guarded by
 * its lock.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/papi_internal.h"

#include <papi.h>
#include <pthread.h>
#include <sde_lib.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SDE_LIBRARY "roofcast"

/* Per thread. */
struct papi_thread {
    bool registered;                      /* registered with PAPI here */
    int core[COUNTER_SET_MAX], uncore, sw; /* event sets; uncore and sw on thread 0 only */
    int running;                          /* index in core */
};

static struct {
    pthread_mutex_t lock; /* guards initialisation and registration */
    bool asked, sde_registered;
    char why[COUNTER_REASON_LEN]; /* "" if PAPI is usable */
    _Atomic(const struct counter_source *) published;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- software-defined events -------------------------------------------------- */

static const struct sde {
    enum counter_field field;
    const char *name, *event;
} sdes[] = {
    {COUNTER_SW_BYTES,   "BYTES",  "sde:::" SDE_LIBRARY "::BYTES" },
    { COUNTER_SW_FLOP,   "FLOP",   "sde:::" SDE_LIBRARY "::FLOP"  },
    { COUNTER_SW_TOKENS, "TOKENS", "sde:::" SDE_LIBRARY "::TOKENS"},
};

static long long sde_value(void *param)
{
    const struct counter_source *s =
        atomic_load_explicit(&process.published, memory_order_acquire);
    return s ? counter_source_value(s, ((const struct sde *)param)->field) : 0;
}

/* INSTANT: plain value. A DELTA counter restarts for all users when one starts a set. */
static int sde_register(void)
{
    papi_handle_t h = papi_sde_init(SDE_LIBRARY);
    if (!h)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(sdes); i++) {
        if (papi_sde_register_counter_cb(h, sdes[i].name, PAPI_SDE_RO | PAPI_SDE_INSTANT,
                                         PAPI_SDE_long_long, sde_value,
                                         (void *)(uintptr_t)&sdes[i]) != SDE_OK)
            return -1;
    }
    return 0;
}

/* ---- PAPI itself ------------------------------------------------------------------ */

void papi_drop_set(int *set)
{
    if (*set == PAPI_NULL)
        return;
    PAPI_cleanup_eventset(*set);
    PAPI_destroy_eventset(set);
    *set = PAPI_NULL;
}

const char *papi_error(int rc)
{
    const char *s = PAPI_strerror(rc);
    return s ? s : "unknown PAPI error";
}

void papi_component_state(const char *name, char *why, size_t size)
{
    int id = PAPI_get_component_index(name);
    const PAPI_component_info_t *ci = id < 0 ? NULL : PAPI_get_component_info(id);
    if (!ci)
        snprintf(why, size, "this PAPI has no %s component", name);
    else if (ci->disabled)
        snprintf(why, size, "PAPI component %s disabled: %.180s", name,
                 ci->disabled_reason[0] ? ci->disabled_reason : papi_error(ci->disabled));
    else
        why[0] = 0;
}

static unsigned long thread_id(void)
{
    return (unsigned long)pthread_self();
}

/* Initialises PAPI once. Lock held. */
static void process_start(void)
{
    process.asked = true;
    int rc =
        PAPI_is_initialized() ? (int)PAPI_VER_CURRENT : PAPI_library_init(PAPI_VER_CURRENT);
    if (rc != (int)PAPI_VER_CURRENT && rc > 0)
        snprintf(process.why, sizeof process.why,
                 "PAPI library is version %d.%d, built against %d.%d",
                 PAPI_VERSION_MAJOR(rc), PAPI_VERSION_MINOR(rc),
                 PAPI_VERSION_MAJOR(PAPI_VER_CURRENT),
                 PAPI_VERSION_MINOR(PAPI_VER_CURRENT));
    else if (rc != (int)PAPI_VER_CURRENT)
        snprintf(process.why, sizeof process.why, "PAPI_library_init: %s", papi_error(rc));
    else if ((rc = PAPI_thread_init(thread_id)) != PAPI_OK)
        snprintf(process.why, sizeof process.why, "PAPI_thread_init: %s", papi_error(rc));
    if (process.why[0])
        return;
    PAPI_set_debug(PAPI_QUIET);
    process.sde_registered = sde_register() == 0;
}

int papi_process(char *why, size_t size)
{
    pthread_mutex_lock(&process.lock);
    if (!process.asked)
        process_start();
    snprintf(why, size, "%s", process.why);
    pthread_mutex_unlock(&process.lock);
    return why[0] ? -1 : 0;
}

/* ---- backend ------------------------------------------------------------------------ */

bool papi_publish(const struct counter_source *src, char *why, size_t size)
{
    papi_component_state("sde", why, size);
    const struct counter_source *none = NULL;
    if (!why[0] && !process.sde_registered)
        snprintf(why, size, "libsde refused the events");
    else if (!why[0] && !src)
        snprintf(why, size, "no source of software-defined events");
    else if (!why[0] && !atomic_compare_exchange_strong(&process.published, &none, src) && none != src)
        snprintf(why, size, "sde:::%s events are published by another engine of this process", SDE_LIBRARY);
    return !why[0];
}

void papi_unpublish(const struct counter_source *src)
{
    atomic_compare_exchange_strong(&process.published, &src, NULL);
}

static void open_software(struct counters *c)
{
    char off[COUNTER_REASON_LEN];
    struct papi *p = c->own;
    p->owns_sde = papi_publish(c->o.src, off, sizeof off);
    for (size_t i = 0; i < ARRAY_LEN(sdes); i++) {
        struct counter_event e = { .field = sdes[i].field, .scale = 1, .shared = true, .source = SOURCE_EXACT_ORACLE };
        snprintf(e.name, sizeof e.name, "%s", sdes[i].event);
        p->kind[c->n_event < COUNTER_EVENT_MAX ? c->n_event : 0] = PAPI_KIND_SDE;
        if (!p->owns_sde || counters_add_event(c, &e) != 0)
            counters_set_reason(c, sdes[i].field, "%s", p->owns_sde ? "too many events" : off);
    }
}

static int backend_probe(char *reason, size_t size)
{
    if (papi_process(reason, size) != 0)
        return -1;
    char sde[COUNTER_REASON_LEN], perf[COUNTER_REASON_LEN];
    papi_component_state("sde", sde, sizeof sde);
    papi_component_state("perf_event", perf, sizeof perf);
    if (sde[0] && perf[0]) {
        snprintf(reason, size, "%.120s; %.120s", perf, sde);
        return -1;
    }
    return 0;
}

static void backend_close(struct counters *c)
{
    struct papi *p = c->own;
    if (p && p->owns_sde)
        papi_unpublish(c->o.src);
    for (int i = 0; i < c->n_threads; i++)
        free(c->thread[i].own); /* a thread that was not stopped keeps its event sets */
    if (p)
        free(p->unit);
    free(p);
}

static int backend_open(struct counters *c, struct error *err)
{
    char why[COUNTER_REASON_LEN];
    if (papi_process(why, sizeof why) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "counter backend papi: %s", why);
    c->own = calloc(1, sizeof(struct papi));
    if (!c->own)
        return error_oom(err, sizeof(struct papi), "PAPI's state");
    open_software(c); /* first, so that they have room */
    papi_choose_events(c);
    if (c->n_event > 0)
        return 0;
    return error_set(err, ERROR_UNAVAILABLE,
                     "counter backend papi counts nothing here: %s; %s",
                     c->reason[COUNTER_CYCLES], c->reason[COUNTER_SW_BYTES]);
}

/*
 * True if PAPI already knows this thread. Unregistering frees all event sets of a thread, so only threads registered here are
 * unregistered, not the main one or those of another tool.
 */
static bool thread_known(void)
{
    PAPI_thread_id_t id[256];
    int n = ARRAY_LEN(id);
    if (PAPI_list_threads(id, &n) != PAPI_OK || n == ARRAY_LEN(id))
        return true; /* unknown: leave it registered */
    for (int i = 0; i < n; i++) {
        if (id[i] == thread_id())
            return true;
    }
    return false;
}

/* ---- sets of a thread ------------------------------------------------------------------ */

static int add(int *set, const char *name)
{
    int rc = *set == PAPI_NULL ? PAPI_create_eventset(set) : PAPI_OK;
    return rc == PAPI_OK ? PAPI_add_named_event(*set, name) : rc;
}

/* Event set of a kind (core: and set number), in order; PAPI_NULL if empty. */
static int make_set(const struct counters *c, enum papi_kind kind, int number, int *set)
{
    const struct papi *p = c->own;
    int rc = PAPI_OK;
    for (size_t i = 0; kind != PAPI_KIND_UNCORE && rc == PAPI_OK && i < c->n_event; i++)
        if (p->kind[i] == kind && c->event[i].set == number)
            rc = add(set, c->event[i].name);
    for (size_t u = 0; kind == PAPI_KIND_UNCORE && rc == PAPI_OK && u < p->n_unit; u++)
        rc = add(set, p->unit[u].name);
    if (rc != PAPI_OK)
        papi_drop_set(set);
    return rc;
}

static int start(int set)
{
    return set == PAPI_NULL ? PAPI_OK : PAPI_start(set);
}

static void stop(int set)
{
    long long v[COUNTER_EVENT_MAX * 4];
    if (set != PAPI_NULL)
        PAPI_stop(set, v);
}

/* Marks the events of a kind (and set) as not counting on this thread. */
static void fail(const struct counters *c, struct counter_thread *t, int tid, enum papi_kind kind, int set, int rc)
{
    const struct papi *p = c->own;
    for (size_t i = 0; i < c->n_event; i++)
        if (p->kind[i] == kind && (kind != PAPI_KIND_CORE || c->event[i].set == set))
            t->ok[i] = false;
    snprintf(t->reason, sizeof t->reason, "PAPI on thread %d: %s", tid, papi_error(rc));
}

static void start_core(struct counters *c, struct counter_thread *t, int tid)
{
    struct papi_thread *p = t->own;
    for (int s = 0; s < c->n_set; s++) {
        int rc = make_set(c, PAPI_KIND_CORE, s, &p->core[s]);
        if (rc == PAPI_OK && s == 0)
            rc = start(p->core[0]);
        if (rc != PAPI_OK)
            fail(c, t, tid, PAPI_KIND_CORE, s, rc);
    }
}

/* Thread 0: process- and machine-wide events. */
static void start_shared(struct counters *c, struct counter_thread *t, int tid)
{
    const struct papi *own = c->own;
    struct papi_thread *p = t->own;
    int rc = make_set(c, PAPI_KIND_UNCORE, 0, &p->uncore);
    if (rc == PAPI_OK)
        rc = start(p->uncore);
    if (rc != PAPI_OK)
        fail(c, t, tid, PAPI_KIND_UNCORE, 0, rc);
    /* If another tool runs the component's only set on this thread, the source is read without PAPI. */
    if (!own->owns_sde || make_set(c, PAPI_KIND_SDE, 0, &p->sw) != PAPI_OK || start(p->sw) != PAPI_OK)
        papi_drop_set(&p->sw);
}

static void thread_start(struct counters *c, struct counter_thread *t, int tid)
{
    struct papi_thread *p = t->own = malloc(sizeof *p);
    if (!p) {
        snprintf(t->reason, sizeof t->reason, "PAPI on thread %d: out of memory", tid);
        return;
    }
    const bool known = thread_known();
    const int rc = PAPI_register_thread();
    *p = (struct papi_thread){ .registered = !known && rc == PAPI_OK, .uncore = PAPI_NULL, .sw = PAPI_NULL };
    for (int s = 0; s < COUNTER_SET_MAX; s++)
        p->core[s] = PAPI_NULL;
    for (size_t i = 0; i < c->n_event; i++)
        t->ok[i] = rc == PAPI_OK;
    if (rc != PAPI_OK) {
        snprintf(t->reason, sizeof t->reason, "PAPI on thread %d: %s", tid, papi_error(rc));
        return;
    }
    start_core(c, t, tid);
    if (tid == 0)
        start_shared(c, t, tid);
}

static void thread_stop(struct counters *c, struct counter_thread *t, int tid)
{
    (void)tid;
    struct papi_thread *p = t->own;
    if (!p)
        return;
    stop(p->core[p->running]);
    stop(p->uncore);
    stop(p->sw);
    for (int s = 0; s < c->n_set; s++)
        papi_drop_set(&p->core[s]);
    papi_drop_set(&p->uncore);
    papi_drop_set(&p->sw);
    if (p->registered)
        PAPI_unregister_thread();
    free(p);
    t->own = NULL;
}

static void thread_select(struct counters *c, struct counter_thread *t, int tid, int set)
{
    struct papi_thread *p = t->own;
    if (!p)
        return;
    stop(p->core[p->running]);
    p->running = set;
    const int rc = start(p->core[set]);
    if (rc != PAPI_OK)
        fail(c, t, tid, PAPI_KIND_CORE, set, rc);
}

/* ---- reading ----------------------------------------------------------------------------- */

static void read_core(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw)
{
    const struct papi *own = c->own;
    const struct papi_thread *p = t->own;
    long long v[COUNTER_EVENT_MAX] = { 0 };
    const int set = p->core[p->running], rc = set == PAPI_NULL ? PAPI_OK : PAPI_read(set, v);
    if (rc != PAPI_OK)
        fail(c, t, tid, PAPI_KIND_CORE, p->running, rc);
    for (size_t i = 0, k = 0; set != PAPI_NULL && i < c->n_event; i++)
        if (own->kind[i] == PAPI_KIND_CORE && c->event[i].set == p->running)
            raw[i] = (uint64_t)v[k++];
}

static void read_uncore(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw)
{
    const struct papi *own = c->own;
    const struct papi_thread *p = t->own;
    long long v[COUNTER_EVENT_MAX * 4] = { 0 };
    if (p->uncore == PAPI_NULL || own->n_unit > ARRAY_LEN(v))
        return;
    const int rc = PAPI_read(p->uncore, v);
    if (rc != PAPI_OK)
        fail(c, t, tid, PAPI_KIND_UNCORE, 0, rc);
    for (size_t u = 0; u < own->n_unit; u++)
        raw[own->unit[u].event] += (uint64_t)v[u];
}

static void read_software(const struct counters *c, const struct counter_thread *t, uint64_t *raw)
{
    const struct papi *own = c->own;
    const struct papi_thread *p = t->own;
    long long v[ARRAY_LEN(sdes)] = { 0 };
    const bool by_papi = p->sw != PAPI_NULL && PAPI_read(p->sw, v) == PAPI_OK;
    for (size_t i = 0, k = 0; own->owns_sde && i < c->n_event; i++)
        if (own->kind[i] == PAPI_KIND_SDE)
            raw[i] = (uint64_t)(by_papi ? v[k++] : counter_source_value(c->o.src, c->event[i].field));
}

static void backend_read(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw)
{
    if (!t->own)
        return;
    read_core(c, t, tid, raw);
    if (tid != 0)
        return;
    read_uncore(c, t, tid, raw);
    read_software(c, t, raw);
}

const struct counter_backend counters_papi = {
    .name = "papi",
    .probe = backend_probe,
    .open = backend_open,
    .close = backend_close,
    .thread_start = thread_start,
    .thread_stop = thread_stop,
    .select = thread_select,
    .read = backend_read,
};
