/* counters/counters.c: the table of backends, the choice between them, and arithmetic on
 * samples. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/internal.h"

#include <stdlib.h>
#include <string.h>

static const struct backend_row {
    const char *name;
    const struct counter_backend *backend; /* NULL: not built */
    const char *not_built;
} backends[] = {
    { "null", &counters_null, "" },
#ifdef HAVE_PAPI
    { "papi", &counters_papi, "" },
#else
    { "papi", NULL, "not built in (configure --with-papi=yes needs papi and libsde)" },
#endif
};

const char *counter_field_name(enum counter_field f)
{
    switch (f) {
    case COUNTER_CYCLES:
        return "cycles";
    case COUNTER_INSTRUCTIONS:
        return "instructions";
    case COUNTER_FLOP:
        return "flop";
    case COUNTER_DRAM_BYTES:
        return "dram_bytes";
    case COUNTER_SW_BYTES:
        return "sw_bytes";
    case COUNTER_SW_FLOP:
        return "sw_flop";
    case COUNTER_SW_TOKENS:
        return "sw_tokens";
    case COUNTER_FIELD_COUNT:
        break;
    }
    return "?";
}

bool counter_field_is_sw(enum counter_field f)
{
    return f == COUNTER_SW_BYTES || f == COUNTER_SW_FLOP || f == COUNTER_SW_TOKENS;
}

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
    case COUNTER_DRAM_BYTES:
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
    else
        backends[i].backend->probe(reason, reason_size);
    return backends[i].name;
}

static struct counters *open_backend(const struct counter_backend *b,
                                     const struct counter_source *src, int n_threads,
                                     struct error *err)
{
    struct counters *c = calloc(1, sizeof *c);
    size_t bytes = (size_t)n_threads * sizeof *c->thread;
    if (c)
        c->thread = aligned_alloc(_Alignof(struct counter_thread), bytes);
    if (!c || !c->thread) {
        free(c);
        error_oom(err, bytes, "counters");
        return NULL;
    }
    memset(c->thread, 0, bytes);
    c->backend = b;
    c->src = src;
    c->n_threads = n_threads;
    if (b->open(c, err) == 0)
        return c;
    free(c->thread);
    free(c);
    return NULL;
}

static int n_valid(const struct counters *c)
{
    int n = 0;
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        n += c->valid[f];
    return n;
}

/* A field that no backend counts keeps the reason of the last one asked: "event does not
 * exist" explains more than "no backend". */
static void keep_reasons(struct counters *c, const struct counters *loser, const char *why)
{
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        if (!c->valid[f])
            counters_set_reason(c, (enum counter_field)f, "%s",
                                loser ? loser->reason[f] : why);
    }
}

/* The first backend with the most fields. backends[0] is null, which fails only for want of
 * memory. */
static struct counters *open_auto(const struct counter_source *src, int n_threads,
                                  struct error *err)
{
    struct counters *best = open_backend(backends[0].backend, src, n_threads, err);
    for (size_t i = 1; best && i < ARRAY_LEN(backends); i++) {
        struct error why = { 0 };
        const struct counter_backend *b = backends[i].backend;
        if (!b)
            error_set(&why, ERROR_UNAVAILABLE, "%s: %s", backends[i].name,
                      backends[i].not_built);
        struct counters *c = b ? open_backend(b, src, n_threads, &why) : NULL;
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

struct counters *counters_open(const char *name, const struct counter_source *src,
                               int n_threads, struct error *err)
{
    if (n_threads < 1 || n_threads > 1 << 20) {
        error_set(err, ERROR_USAGE, "counters: %d threads, expected 1 or more", n_threads);
        return NULL;
    }
    if (!name)
        name = "null";
    if (!strcmp(name, "auto"))
        return open_auto(src, n_threads, err);
    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        if (strcmp(name, backends[i].name))
            continue;
        if (backends[i].backend)
            return open_backend(backends[i].backend, src, n_threads, err);
        error_set(err, ERROR_UNAVAILABLE, "counter backend %s: %s", name,
                  backends[i].not_built);
        return NULL;
    }
    struct strbuf known = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(backends); i++)
        strbuf_addf(&known, ", %s", backends[i].name);
    error_set(err, ERROR_USAGE,
              "counter backend \"%.64s\" is unknown, expected one of: auto%s", name,
              known.s ? known.s : "");
    strbuf_free(&known);
    return NULL;
}

void counters_close(struct counters *c)
{
    if (!c)
        return;
    c->backend->close(c);
    free(c->thread);
    free(c);
}

const char *counters_name(const struct counters *c)
{
    return c->backend->name;
}

const char *counters_reason(const struct counters *c, enum counter_field f)
{
    if (!c->valid[f])
        return c->reason[f];
    for (int i = 0; i < c->n_threads; i++) {
        if (c->thread[i].started && !c->thread[i].valid[f])
            return c->thread[i].reason;
    }
    return "";
}

int counters_thread_start(struct counters *c, int tid, struct error *err)
{
    if (tid < 0 || tid >= c->n_threads)
        return error_set(err, ERROR_USAGE, "counters: thread %d, expected 0 to %d", tid,
                         c->n_threads - 1);
    struct counter_thread *t = &c->thread[tid];
    if (t->started)
        return error_set(err, ERROR_USAGE, "counters: thread %d is already started", tid);
    c->backend->thread_start(c, t, tid);
    t->started = true;
    return 0;
}

void counters_thread_stop(struct counters *c, int tid)
{
    if (!c || tid < 0 || tid >= c->n_threads || !c->thread[tid].started)
        return;
    c->backend->thread_stop(c, &c->thread[tid], tid);
    memset(&c->thread[tid], 0, sizeof c->thread[tid]);
}

void counters_read(struct counters *c, int tid, struct counter_sample *out)
{
    memset(out, 0, sizeof *out);
    if (tid >= 0 && tid < c->n_threads && c->thread[tid].started)
        c->backend->read(c, &c->thread[tid], tid, out);
}

void counter_sample_diff(struct counter_sample *out, const struct counter_sample *a,
                         const struct counter_sample *b)
{
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        /* A count that went backwards is not a count: say so instead of 2^64. */
        bool valid = a->valid[f] && b->valid[f] && b->value[f] >= a->value[f];
        out->value[f] = valid ? b->value[f] - a->value[f] : 0;
        out->valid[f] = valid;
    }
}

void counter_sample_add(struct counter_sample *sum, const struct counter_sample *s)
{
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        sum->valid[f] = sum->valid[f] && s->valid[f];
        sum->value[f] = sum->valid[f] ? sum->value[f] + s->value[f] : 0;
    }
}
