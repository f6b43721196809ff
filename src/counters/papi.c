/*
 * counters/papi.c: counts through PAPI: hardware events where they can really be added and
 * do count, and the engine's own counts published as software-defined events (SDE) and read
 * back through an ordinary event set, so that any PAPI tool in the process sees them too.
 *
 * PAPI and libsde keep their registries for the life of the process, and libsde 1.0
 * (PAPI 7.0) cannot give a name back: papi_sde_unregister_counter and papi_sde_shutdown
 * both leave freed counters in its tables, and papi_sde_describe_counter leaks the default
 * description. So the three events are registered once, as callbacks that read whatever
 * source is published at the moment, and neither libsde nor PAPI is ever shut down. That is
 * the one mutable state of this file.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/internal.h"

#include <papi.h>
#include <pthread.h>
#include <sde_lib.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SDE_LIBRARY "roofcast"

/* Of an open, and of a thread of it. */
struct papi {
    bool owns_sde;
};
struct papi_thread {
    bool registered;    /* with PAPI, by us */
    int hw_set, sw_set; /* event sets */
};

static struct {
    pthread_mutex_t lock; /* initialization and registration */
    bool asked, sde_registered;
    char why[COUNTER_REASON_LEN]; /* "" once PAPI is up */
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

/* INSTANT: the plain value. A DELTA counter restarts for everybody when anybody starts a
 * set. */
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

/* ---- hardware events ------------------------------------------------------------ */

/* Names tried in order; the first that can be added and counts known work is used. */
static const struct hw_field {
    enum counter_field field;
    const char *work;
    const char *events[3];
} hw_fields[] = {
    { COUNTER_CYCLES, "cycles", { "PAPI_TOT_CYC", "perf::CYCLES", NULL } },
    { COUNTER_INSTRUCTIONS, "instructions", { "PAPI_TOT_INS", "perf::INSTRUCTIONS", NULL } },
    /* The engine computes in single precision: SP_OPS first. */
    { COUNTER_FLOP, "flop_f32", { "PAPI_SP_OPS", "PAPI_FP_OPS", NULL } },
};

/* N dependent single-precision additions: at least N cycles, instructions and FLOP. */
#define KNOWN_WORK 100000
static void known_work(void)
{
    volatile float x = 0;
    for (int i = 0; i < KNOWN_WORK; i++)
        x = x + 1.0f;
}

static void drop_set(int *set)
{
    if (*set == PAPI_NULL)
        return;
    PAPI_cleanup_eventset(*set);
    PAPI_destroy_eventset(set);
    *set = PAPI_NULL;
}

static const char *papi_error(int rc)
{
    const char *s = PAPI_strerror(rc);
    return s ? s : "unknown PAPI error";
}

/*
 * Add an event, run known work, look at the count. An event that can be added may still
 * read 0 (virtual machines, partial PMUs): such a dead counter is refused here.
 */
static int try_event(const char *name, char *why, size_t size)
{
    int set = PAPI_NULL;
    long long v = 0;
    int rc = PAPI_create_eventset(&set);
    if (rc == PAPI_OK)
        rc = PAPI_add_named_event(set, name);
    if (rc == PAPI_OK)
        rc = PAPI_start(set);
    if (rc == PAPI_OK) {
        known_work();
        rc = PAPI_stop(set, &v);
    }
    drop_set(&set);
    if (rc != PAPI_OK)
        snprintf(why, size, "%s: %s", name, papi_error(rc));
    else if (v < KNOWN_WORK / 2)
        snprintf(why, size, "%s: dead counter (%lld over %d additions)", name, v,
                 KNOWN_WORK);
    else
        return 0;
    return -1;
}

/* "" when the component is there and on, else why not. */
static void component_state(const char *name, char *why, size_t size)
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

static void open_hardware(struct counters *c)
{
    char off[COUNTER_REASON_LEN];
    component_state("perf_event", off, sizeof off);
    for (size_t i = 0; i < ARRAY_LEN(hw_fields); i++) {
        enum counter_field f = hw_fields[i].field;
        struct strbuf why = { 0 };
        if (off[0])
            strbuf_adds(&why, off);
        bool found = false;
        for (const char *const *e = hw_fields[i].events; !off[0] && *e && !found; e++) {
            char one[COUNTER_REASON_LEN];
            struct counter_event event = { .field = f, .scale = 1, .source = SOURCE_CORE_COUNTERS };
            snprintf(event.name, sizeof event.name, "%s", *e);
            snprintf(event.work, sizeof event.work, "%s", hw_fields[i].work);
            found = try_event(*e, one, sizeof one) == 0 && counters_add_event(c, &event) == 0;
            if (!found)
                strbuf_addf(&why, "%s%s", why.len ? "; " : "PAPI: ", one);
        }
        if (!found)
            counters_set_reason(c, f, "%s", why.s ? why.s : "out of memory");
        strbuf_free(&why);
    }
    /* Memory traffic is counted per socket in the uncore, and no preset names it. */
    component_state("perf_event_uncore", off, sizeof off);
    counters_set_reason(
        c, COUNTER_DRAM_BYTES, "%s",
        off[0] ? off : "no PAPI preset counts DRAM bytes, and no uncore event is chosen");
}

/* ---- the process ------------------------------------------------------------------ */

static unsigned long thread_id(void)
{
    return (unsigned long)pthread_self();
}

/* Bring PAPI up once. The lock is held. */
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

static int process_get(char *why, size_t size)
{
    pthread_mutex_lock(&process.lock);
    if (!process.asked)
        process_start();
    snprintf(why, size, "%s", process.why);
    pthread_mutex_unlock(&process.lock);
    return why[0] ? -1 : 0;
}

static void open_software(struct counters *c)
{
    char off[COUNTER_REASON_LEN];
    component_state("sde", off, sizeof off);
    if (!off[0] && !process.sde_registered)
        snprintf(off, sizeof off, "libsde refused the events");
    if (!off[0] && !c->o.src)
        snprintf(off, sizeof off, "no source of software-defined events");
    const struct counter_source *none = NULL;
    struct papi *p = c->own;
    if (!off[0] && !atomic_compare_exchange_strong(&process.published, &none, c->o.src))
        snprintf(off, sizeof off,
                 "sde:::%s events are published by another engine of this process",
                 SDE_LIBRARY);
    p->owns_sde = !off[0];
    for (size_t i = 0; i < ARRAY_LEN(sdes); i++) {
        struct counter_event e = { .field = sdes[i].field, .scale = 1, .shared = true, .source = SOURCE_EXACT_ORACLE };
        snprintf(e.name, sizeof e.name, "%s", sdes[i].event);
        if (!p->owns_sde || counters_add_event(c, &e) != 0)
            counters_set_reason(c, sdes[i].field, "%s", p->owns_sde ? "too many events" : off);
    }
}

/* ---- backend ------------------------------------------------------------------------ */

static int backend_probe(char *reason, size_t size)
{
    if (process_get(reason, size) != 0)
        return -1;
    char sde[COUNTER_REASON_LEN], perf[COUNTER_REASON_LEN];
    component_state("sde", sde, sizeof sde);
    component_state("perf_event", perf, sizeof perf);
    if (sde[0] && perf[0]) {
        snprintf(reason, size, "%s; %s", perf, sde);
        return -1;
    }
    return 0;
}

static void backend_close(struct counters *c)
{
    const struct papi *p = c->own;
    if (p && p->owns_sde)
        atomic_store(&process.published, NULL);
    free(c->own);
}

static int backend_open(struct counters *c, struct error *err)
{
    char why[COUNTER_REASON_LEN];
    if (process_get(why, sizeof why) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "counter backend papi: %s", why);
    c->own = calloc(1, sizeof(struct papi));
    if (!c->own)
        return error_oom(err, sizeof(struct papi), "PAPI's state");
    open_hardware(c);
    open_software(c);
    if (c->n_event > 0)
        return 0;
    return error_set(err, ERROR_UNAVAILABLE,
                     "counter backend papi counts nothing here: %s; %s",
                     c->reason[COUNTER_CYCLES], c->reason[COUNTER_SW_BYTES]);
}

/* The events of one kind, added to a set of this thread and started: PAPI wants those of a component in a set. */
static int start_set(const struct counters *c, bool sw, int *set)
{
    int rc = PAPI_OK;
    for (size_t i = 0; rc == PAPI_OK && i < c->n_event; i++) {
        if (counter_field_is_sw(c->event[i].field) != sw)
            continue;
        if (*set == PAPI_NULL)
            rc = PAPI_create_eventset(set);
        if (rc == PAPI_OK)
            rc = PAPI_add_named_event(*set, c->event[i].name);
    }
    if (rc == PAPI_OK && *set != PAPI_NULL)
        rc = PAPI_start(*set);
    if (rc != PAPI_OK)
        drop_set(set);
    return rc;
}

/*
 * Does PAPI know this thread already? Unregistering frees every event set of the thread, so
 * only a thread registered here is unregistered here: never the main one, nor one an
 * outside tool uses.
 */
static bool thread_known(void)
{
    PAPI_thread_id_t id[256];
    int n = ARRAY_LEN(id);
    if (PAPI_list_threads(id, &n) != PAPI_OK || n == ARRAY_LEN(id))
        return true; /* cannot tell: leave it registered */
    for (int i = 0; i < n; i++) {
        if (id[i] == thread_id())
            return true;
    }
    return false;
}

static void thread_start(struct counters *c, struct counter_thread *t, int tid)
{
    const struct papi *own = c->own;
    struct papi_thread *p = t->own = malloc(sizeof *p);
    if (!p) {
        snprintf(t->reason, sizeof t->reason, "PAPI on thread %d: out of memory", tid);
        return;
    }
    bool known = thread_known();
    int rc = PAPI_register_thread();
    *p = (struct papi_thread){ !known && rc == PAPI_OK, PAPI_NULL, PAPI_NULL };
    int hw = rc == PAPI_OK ? start_set(c, false, &p->hw_set) : rc;
    int sw = rc == PAPI_OK && tid == 0 && own->owns_sde ? start_set(c, true, &p->sw_set) : rc;
    if (hw != PAPI_OK || sw != PAPI_OK)
        snprintf(t->reason, sizeof t->reason, "PAPI on thread %d: %s", tid,
                 papi_error(hw != PAPI_OK ? hw : sw));
    for (size_t i = 0; i < c->n_event; i++)
        t->ok[i] = (counter_field_is_sw(c->event[i].field) ? sw : hw) == PAPI_OK;
}

static void stop_set(int *set)
{
    long long v[COUNTER_EVENT_MAX];
    if (*set != PAPI_NULL)
        PAPI_stop(*set, v);
    drop_set(set);
}

static void thread_stop(struct counters *c, struct counter_thread *t, int tid)
{
    (void)c, (void)tid;
    struct papi_thread *p = t->own;
    if (!p)
        return;
    stop_set(&p->hw_set);
    stop_set(&p->sw_set);
    if (p->registered)
        PAPI_unregister_thread();
    free(p);
}

static void read_set(const struct counters *c, struct counter_thread *t, int set, bool sw, uint64_t *raw)
{
    long long v[COUNTER_EVENT_MAX] = { 0 };
    size_t k = 0;
    if (set == PAPI_NULL)
        return;
    const bool ok = PAPI_read(set, v) == PAPI_OK;
    for (size_t i = 0; i < c->n_event; i++) {
        if (counter_field_is_sw(c->event[i].field) != sw)
            continue;
        t->ok[i] = t->ok[i] && ok;
        raw[i] = (uint64_t)v[k++];
    }
    if (!ok)
        snprintf(t->reason, sizeof t->reason, "PAPI_read failed");
}

static void backend_read(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw)
{
    (void)tid;
    const struct papi_thread *p = t->own;
    if (!p)
        return;
    read_set(c, t, p->hw_set, false, raw);
    read_set(c, t, p->sw_set, true, raw);
}

const struct counter_backend counters_papi = {
    .name = "papi",
    .probe = backend_probe,
    .open = backend_open,
    .close = backend_close,
    .thread_start = thread_start,
    .thread_stop = thread_stop,
    .select = NULL,
    .read = backend_read,
};
