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
#include <string.h>

#define SDE_LIBRARY "roofcast"

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
    const char *events[3];
} hw_fields[] = {
    {COUNTER_CYCLES,        { "PAPI_TOT_CYC", "perf::CYCLES", NULL }      },
    { COUNTER_INSTRUCTIONS, { "PAPI_TOT_INS", "perf::INSTRUCTIONS", NULL }},
 /* The engine computes in single precision: SP_OPS first. */
    { COUNTER_FLOP,         { "PAPI_SP_OPS", "PAPI_FP_OPS", NULL }        },
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
        for (const char *const *e = hw_fields[i].events; !off[0] && *e && !c->valid[f];
             e++) {
            char one[COUNTER_REASON_LEN];
            if (try_event(*e, one, sizeof one) == 0) {
                c->valid[f] = true;
                c->event[f] = *e;
            } else {
                strbuf_addf(&why, "%s%s", why.len ? "; " : "PAPI: ", one);
            }
        }
        if (!c->valid[f])
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
    if (!off[0] && !c->src)
        snprintf(off, sizeof off, "no source of software-defined events");
    const struct counter_source *none = NULL;
    if (!off[0] && !atomic_compare_exchange_strong(&process.published, &none, c->src))
        snprintf(off, sizeof off,
                 "sde:::%s events are published by another engine of this process",
                 SDE_LIBRARY);
    c->owns_sde = !off[0];
    for (size_t i = 0; i < ARRAY_LEN(sdes); i++) {
        c->valid[sdes[i].field] = c->owns_sde;
        if (!c->owns_sde)
            counters_set_reason(c, sdes[i].field, "%s", off);
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
    if (c->owns_sde)
        atomic_store(&process.published, NULL);
}

static int backend_open(struct counters *c, struct error *err)
{
    char why[COUNTER_REASON_LEN];
    if (process_get(why, sizeof why) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "counter backend papi: %s", why);
    open_hardware(c);
    open_software(c);
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        if (c->valid[f])
            return 0;
    }
    return error_set(err, ERROR_UNAVAILABLE,
                     "counter backend papi counts nothing here: %s; %s",
                     c->reason[COUNTER_CYCLES], c->reason[COUNTER_SW_BYTES]);
}

/* The hardware events of the open, added again on this thread. */
static int start_hardware(const struct counters *c, struct counter_thread *t)
{
    int rc = PAPI_OK;
    for (size_t i = 0; rc == PAPI_OK && i < ARRAY_LEN(hw_fields); i++) {
        enum counter_field f = hw_fields[i].field;
        if (!c->valid[f])
            continue;
        if (t->hw_set == PAPI_NULL)
            rc = PAPI_create_eventset(&t->hw_set);
        if (rc == PAPI_OK)
            rc = PAPI_add_named_event(t->hw_set, c->event[f]);
        if (rc == PAPI_OK)
            t->hw_field[t->n_hw++] = f;
    }
    if (rc == PAPI_OK && t->hw_set != PAPI_NULL)
        rc = PAPI_start(t->hw_set);
    if (rc != PAPI_OK)
        drop_set(&t->hw_set);
    return rc;
}

static int read_software(const struct counter_thread *t, long long v[ARRAY_LEN(sdes)])
{
    return t->sw_set == PAPI_NULL ? PAPI_ENOEVST : PAPI_read(t->sw_set, v);
}

static int start_software(struct counter_thread *t)
{
    long long v[ARRAY_LEN(sdes)] = { 0 };
    int rc = PAPI_create_eventset(&t->sw_set);
    for (size_t i = 0; rc == PAPI_OK && i < ARRAY_LEN(sdes); i++)
        rc = PAPI_add_named_event(t->sw_set, sdes[i].event);
    if (rc == PAPI_OK)
        rc = PAPI_start(t->sw_set);
    if (rc != PAPI_OK) {
        drop_set(&t->sw_set);
        return rc;
    }
    rc = read_software(t, v);
    for (size_t i = 0; i < ARRAY_LEN(sdes); i++)
        t->base[sdes[i].field] = v[i];
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
    t->hw_set = t->sw_set = PAPI_NULL;
    bool known = thread_known();
    int rc = PAPI_register_thread();
    t->registered = !known && rc == PAPI_OK;
    int hw = rc == PAPI_OK ? start_hardware(c, t) : rc;
    /* Process-wide counts belong to thread 0: a sum over the threads has them once. */
    int sw = rc == PAPI_OK && tid == 0 && c->owns_sde ? start_software(t) : rc;
    if (hw != PAPI_OK || sw != PAPI_OK)
        snprintf(t->reason, sizeof t->reason, "PAPI on thread %d: %s", tid,
                 papi_error(hw != PAPI_OK ? hw : sw));
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        t->valid[f] = c->valid[f] &&
                      (counter_field_is_sw((enum counter_field)f) ? sw : hw) == PAPI_OK;
}

static void thread_stop(struct counters *c, struct counter_thread *t, int tid)
{
    (void)c, (void)tid;
    long long v[COUNTER_FIELD_COUNT];
    if (t->hw_set != PAPI_NULL)
        PAPI_stop(t->hw_set, v);
    drop_set(&t->hw_set);
    if (t->sw_set != PAPI_NULL)
        PAPI_stop(t->sw_set, v);
    drop_set(&t->sw_set);
    if (t->registered)
        PAPI_unregister_thread();
}

static void backend_read(const struct counters *c, const struct counter_thread *t, int tid,
                         struct counter_sample *out)
{
    (void)c;
    long long v[COUNTER_HW_MAX] = { 0 }, w[ARRAY_LEN(sdes)] = { 0 };
    if (t->n_hw && t->hw_set != PAPI_NULL && PAPI_read(t->hw_set, v) == PAPI_OK) {
        for (int i = 0; i < t->n_hw; i++) {
            out->value[t->hw_field[i]] = (uint64_t)v[i];
            out->valid[t->hw_field[i]] = true;
        }
    }
    if (!t->valid[COUNTER_SW_BYTES] || (tid == 0 && read_software(t, w) != PAPI_OK))
        return;
    for (size_t i = 0; i < ARRAY_LEN(sdes); i++) {
        enum counter_field f = sdes[i].field;
        out->value[f] = w[i] > t->base[f] ? (uint64_t)(w[i] - t->base[f]) : 0;
        out->valid[f] = true;
    }
}

const struct counter_backend counters_papi = {
    "papi",       backend_probe, backend_open, backend_close,
    thread_start, thread_stop,   backend_read,
};
