/* counters/counters.c: table of backends, selection, reading. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct backend_row {
    const char *name;
    const struct counter_backend *backend; /* NULL: not built in */
    const char *not_built;
    bool needs_argument; /* "NAME:ARGUMENT"; excluded from auto */
    bool named_only;     /* excluded from auto: it takes the counters from other users */
} backends[] = {
    { "null", &counters_null, "", false, false },
    { "perf", &counters_perf, "", false, false },
#ifdef HAVE_PAPI
    { "papi", &counters_papi, "", false, false },
#else
    { "papi", NULL, "not built in (configure --with-papi=yes needs papi and libsde)", false, false },
#endif
    { "likwid", &counters_likwid, "", false, true },
    { "replay", &counters_replay, "", true, true },
};

long long counter_source_value(const struct counter_source *s, enum counter_field f)
{
    switch (f) {
    case COUNTER_SW_BYTES:
        return s->bytes;
    case COUNTER_SW_FLOP:
        return s->flop;
    case COUNTER_SW_TOKENS:
        return s->tokens;
    case COUNTER_CYCLES:
    case COUNTER_INSTRUCTIONS:
    case COUNTER_FLOP:
    case COUNTER_BF16_FLOP:
    case COUNTER_INT8_OPS:
    case COUNTER_L1_FILL_BYTES:
    case COUNTER_L2_FILL_BYTES:
    case COUNTER_L3_FILL_BYTES:
    case COUNTER_DRAM_READ_BYTES:
    case COUNTER_DRAM_WRITE_BYTES:
    case COUNTER_DRAM_BYTES:
    case COUNTER_TASK_CLOCK_NS:
    case COUNTER_CONTEXT_SWITCHES:
    case COUNTER_PAGE_FAULTS:
    case COUNTER_FIELD_COUNT:
        break;
    }
    return 0;
}

void counters_set_reason(struct counters *c, enum counter_field f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->reason[f], sizeof c->reason[f], fmt, ap);
    va_end(ap);
}

const char *counters_backend_at(size_t i, char *reason, size_t reason_size)
{
    if (i >= ARRAY_LEN(backends))
        return NULL;
    if (!backends[i].backend)
        snprintf(reason, reason_size, "%s", backends[i].not_built);
    else if (backends[i].backend->probe)
        backends[i].backend->probe(reason, reason_size);
    else if (reason_size)
        reason[0] = 0;
    return backends[i].name;
}

int counters_add_event(struct counters *c, const struct counter_event *e)
{
    if (c->n_event == COUNTER_EVENT_MAX)
        return -1;
    c->event[c->n_event] = *e;
    c->event[c->n_event].check = (struct counter_check){ .class = COUNTER_UNCHECKED, .ratio = NAN };
    for (int i = 0; i < COUNTER_CHECK_SIZES; i++)
        c->event[c->n_event].check.known[i] = c->event[c->n_event].check.counted[i] = NAN;
    c->n_set = e->set >= c->n_set ? e->set + 1 : c->n_set;
    c->n_event++;
    return 0;
}

void counters_limit(struct counters *c, enum counter_field f, const char *why)
{
    c->limited[f] = true;
    counters_set_reason(c, f, "%s", why);
}

void counters_add_published(struct counters *c)
{
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        struct counter_event e = { .field = (enum counter_field)f, .scale = 1, .shared = true, .source = SOURCE_EXACT_ORACLE };
        if (!c->o.src || !counter_field_is_sw((enum counter_field)f))
            continue;
        snprintf(e.name, sizeof e.name, "published %s", counter_field_name((enum counter_field)f) + strlen("sw_"));
        if (counters_add_event(c, &e) != 0)
            counters_set_reason(c, (enum counter_field)f, "more than %d events", COUNTER_EVENT_MAX);
    }
}

/* ---- opening ---------------------------------------------------------------------------- */

/* Calibrated, calibration waived, or published by the engine itself. */
static bool is_trusted(const struct counters *c, const struct counter_event *e)
{
    return c->o.uncalibrated || counter_field_is_sw(e->field) || e->check.class == COUNTER_EXACT ||
           e->check.class == COUNTER_SCALED;
}

/* A field is valid when it has events and all are trusted. */
static void update_fields(struct counters *c)
{
    bool any[COUNTER_FIELD_COUNT] = { false }, bad[COUNTER_FIELD_COUNT] = { false };
    for (size_t i = 0; i < c->n_event; i++) {
        const struct counter_event *e = &c->event[i];
        any[e->field] = true;
        if (is_trusted(c, e) || bad[e->field] || c->limited[e->field])
            continue;
        bad[e->field] = true;
        counters_set_reason(c, e->field, "%s is %s: %s", e->name, counter_class_name(e->check.class), e->check.why);
    }
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        c->valid[f] = any[f] && !bad[f] && !c->limited[f];
        if (!c->valid[f] && !c->reason[f][0] && f != COUNTER_DRAM_BYTES)
            counters_set_reason(c, (enum counter_field)f, "%s has no event for it", c->backend->name);
    }
    if (any[COUNTER_DRAM_BYTES])
        return;
    c->valid[COUNTER_DRAM_BYTES] = c->valid[COUNTER_DRAM_READ_BYTES] && c->valid[COUNTER_DRAM_WRITE_BYTES];
    const int part = c->valid[COUNTER_DRAM_READ_BYTES] ? COUNTER_DRAM_WRITE_BYTES : COUNTER_DRAM_READ_BYTES;
    if (any[part] || !c->reason[COUNTER_DRAM_BYTES][0])
        memcpy(c->reason[COUNTER_DRAM_BYTES], c->reason[part], COUNTER_REASON_LEN);
}

static struct counters *open_backend(const struct counter_backend *b, const struct counters_options *o,
                                     const char *argument, struct error *err)
{
    struct counters *c = calloc(1, sizeof *c);
    size_t bytes = (size_t)o->n_threads * sizeof *c->thread;
    if (c)
        c->thread = aligned_alloc(_Alignof(struct counter_thread), bytes);
    if (!c || !c->thread) {
        free(c);
        error_oom(err, bytes, "counters");
        return NULL;
    }
    memset(c->thread, 0, bytes);
    c->backend = b;
    c->o = *o;
    c->argument = argument;
    c->n_threads = o->n_threads;
    c->n_set = 1;
    if (b->open(c, err) != 0 || (!c->o.uncalibrated && counters_calibrate(c, err) != 0)) {
        counters_close(c);
        return NULL;
    }
    update_fields(c);
    return c;
}

static int n_valid(const struct counters *c)
{
    int n = 0;
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        n += c->valid[f];
    return n;
}

/* Reasons of the fields that stay uncounted: prefers the last backend's over null's, and names a rejected backend that has the
 * field. */
static void keep_reasons(struct counters *c, const struct counters *loser, const char *why)
{
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        if (c->valid[f])
            continue;
        if (loser && loser->valid[f])
            counters_set_reason(c, (enum counter_field)f, "%s does not count it here, %s does", c->backend->name,
                                loser->backend->name);
        else if (c->backend == backends[0].backend)
            counters_set_reason(c, (enum counter_field)f, "%s", loser ? loser->reason[f] : why);
    }
}

/* True when all hardware fields of a roofline are valid. */
static bool complete(const struct counters *c)
{
    return c->valid[COUNTER_CYCLES] && c->valid[COUNTER_INSTRUCTIONS] && c->valid[COUNTER_FLOP] &&
           c->valid[COUNTER_DRAM_BYTES];
}

/* The first backend with the most valid fields. backends[0] is null, which fails only when out of memory. */
static struct counters *open_auto(const struct counters_options *o, struct error *err)
{
    struct counters *best = open_backend(backends[0].backend, o, "", err);
    for (size_t i = 1; best && !complete(best) && i < ARRAY_LEN(backends); i++) {
        struct error why = { 0 };
        const struct counter_backend *b = backends[i].backend;
        if (!b || backends[i].needs_argument || backends[i].named_only)
            continue;
        struct counters *c = open_backend(b, o, "", &why);
        if (c && n_valid(c) > n_valid(best)) {
            counters_close(best);
            best = c;
        } else {
            keep_reasons(best, c, why.msg);
            counters_close(c);
        }
    }
    return best;
}

/* "replay:FILE" selects row replay with an argument. */
static const struct backend_row *find_row(const char *name, const char **argument)
{
    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        const size_t len = strlen(backends[i].name);
        if (strncmp(name, backends[i].name, len) != 0)
            continue;
        *argument = name[len] == ':' ? name + len + 1 : "";
        if (name[len] == 0 || (name[len] == ':' && backends[i].needs_argument))
            return &backends[i];
    }
    return NULL;
}

struct counters *counters_open(const struct counters_options *o, struct error *err)
{
    const char *name = o->backend ? o->backend : "null", *argument;
    if (o->n_threads < 1 || o->n_threads > 1 << 20) {
        error_set(err, ERROR_USAGE, "counters: %d threads, expected 1 or more", o->n_threads);
        return NULL;
    }
    if (!strcmp(name, "auto"))
        return open_auto(o, err);
    const struct backend_row *row = find_row(name, &argument);
    if (row && row->backend)
        return open_backend(row->backend, o, argument, err);
    if (row) {
        error_set(err, ERROR_UNAVAILABLE, "counter backend %s: %s", name, row->not_built);
        return NULL;
    }
    struct strbuf known = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(backends); i++)
        strbuf_addf(&known, ", %s%s", backends[i].name, backends[i].needs_argument ? ":FILE" : "");
    const char *names = strbuf_text(&known, "the names of backends", err);
    if (names)
        error_set(err, ERROR_USAGE, "counter backend \"%.64s\" is unknown, expected one of: auto%s", name, names);
    strbuf_free(&known);
    return NULL;
}

void counters_close(struct counters *c)
{
    if (!c)
        return;
    if (c->backend->close)
        c->backend->close(c);
    free(c->thread);
    free(c);
}

/* ---- queries ---- */

const char *counters_name(const struct counters *c)
{
    return c->backend->name;
}

int counters_n_set(const struct counters *c)
{
    return c->n_set;
}

size_t counters_n_event(const struct counters *c)
{
    return c->n_event;
}

const struct counter_event *counters_event(const struct counters *c, size_t i)
{
    return &c->event[i];
}

const char *counters_reason(const struct counters *c, enum counter_field f)
{
    if (!c->valid[f])
        return c->reason[f];
    for (int i = 0; i < c->n_threads; i++)
        for (size_t k = 0; c->thread[i].started && k < c->n_event; k++)
            if (c->event[k].field == f && !c->thread[i].ok[k] && (i == 0 || !c->event[k].shared))
                return c->thread[i].reason;
    return "";
}

/* A derived sum is as shared, and of the same source, as its parts. */
static enum counter_field first_part(const struct counters *c, enum counter_field f)
{
    for (size_t i = 0; i < c->n_event; i++)
        if (c->event[i].field == f)
            return f;
    return f == COUNTER_DRAM_BYTES ? COUNTER_DRAM_READ_BYTES : f;
}

bool counters_field_shared(const struct counters *c, enum counter_field f)
{
    const enum counter_field part = first_part(c, f);
    for (size_t i = 0; i < c->n_event; i++)
        if (c->event[i].field == part)
            return c->event[i].shared;
    return false;
}

enum number_source counters_field_source(const struct counters *c, enum counter_field f)
{
    const enum counter_field part = first_part(c, f);
    for (size_t i = 0; i < c->n_event; i++)
        if (c->event[i].field == part)
            return c->event[i].source;
    return SOURCE_CORE_COUNTERS;
}

/* ---- counting ------------------------------------------------------------------------------ */

/* Sets the zero point of the selected set. */
static void set_baseline(struct counters *c, struct counter_thread *t, int tid)
{
    uint64_t raw[COUNTER_EVENT_MAX] = { 0 };
    c->backend->read(c, t, tid, raw);
    memcpy(t->base, raw, c->n_event * sizeof *raw);
}

int counters_thread_start(struct counters *c, int tid, struct error *err)
{
    if (tid < 0 || tid >= c->n_threads)
        return error_set(err, ERROR_USAGE, "counters: thread %d, expected 0 to %d", tid,
                         c->n_threads - 1);
    struct counter_thread *t = &c->thread[tid];
    if (t->started)
        return error_set(err, ERROR_USAGE, "counters: thread %d is already started", tid);
    for (size_t i = 0; !c->backend->thread_start && i < c->n_event; i++)
        t->ok[i] = true;
    if (c->backend->thread_start)
        c->backend->thread_start(c, t, tid);
    t->started = true;
    set_baseline(c, t, tid);
    return 0;
}

void counters_thread_select(struct counters *c, int tid, int set)
{
    struct counter_thread *t = &c->thread[tid];
    if (!t->started || set == t->set || set < 0 || set >= c->n_set)
        return;
    if (c->backend->select)
        c->backend->select(c, t, tid, set);
    t->set = set;
    set_baseline(c, t, tid);
}

void counters_thread_stop(struct counters *c, int tid)
{
    if (!c || tid < 0 || tid >= c->n_threads || !c->thread[tid].started)
        return;
    if (c->backend->thread_stop)
        c->backend->thread_stop(c, &c->thread[tid], tid);
    memset(&c->thread[tid], 0, sizeof c->thread[tid]);
}

void counters_read(struct counters *c, int tid, struct counter_sample *out)
{
    uint64_t raw[COUNTER_EVENT_MAX] = { 0 }; /* backends accumulate over units */
    double sum[COUNTER_FIELD_COUNT] = { 0 };
    memset(out, 0, sizeof *out);
    if (tid < 0 || tid >= c->n_threads || !c->thread[tid].started)
        return;
    struct counter_thread *t = &c->thread[tid];
    c->backend->read(c, t, tid, raw);
    for (size_t i = 0; i < c->n_event; i++)
        if (c->event[i].set == t->set)
            out->valid[c->event[i].field] = c->valid[c->event[i].field];
    for (size_t i = 0; i < c->n_event; i++) {
        const struct counter_event *e = &c->event[i];
        if (e->set != t->set || (e->shared && tid != 0))
            continue;
        if (t->ok[i] && raw[i] >= t->base[i])
            sum[e->field] += (double)(raw[i] - t->base[i]) * e->scale;
        else
            out->valid[e->field] = false;
    }
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        out->value[f] = out->valid[f] ? (uint64_t)(sum[f] + 0.5) : 0;
    counters_derive(c, out);
}
