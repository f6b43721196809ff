/* counters/null.c: the backend that is always there. It counts no hardware event, and reads
 * the engine's own published counts straight from where the engine keeps them. */
#include "counters/internal.h"

static int null_probe(char *reason, size_t size)
{
    if (size)
        reason[0] = 0;
    return 0;
}

static int null_open(struct counters *c, struct error *err)
{
    (void)err;
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        c->valid[f] = c->src && counter_field_is_sw((enum counter_field)f);
        if (!c->valid[f])
            counters_set_reason(c, (enum counter_field)f, "no counter backend (null)");
    }
    return 0;
}

static void null_close(struct counters *c)
{
    (void)c;
}

static void null_thread_start(struct counters *c, struct counter_thread *t, int tid)
{
    (void)tid;
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        t->valid[f] = c->valid[f];
        t->base[f] = c->valid[f] ? counter_source_value(c->src, (enum counter_field)f) : 0;
    }
}

static void null_thread_stop(struct counters *c, struct counter_thread *t, int tid)
{
    (void)c, (void)t, (void)tid;
}

static void null_read(const struct counters *c, const struct counter_thread *t, int tid,
                      struct counter_sample *out)
{
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        if (!t->valid[f])
            continue;
        long long d = counter_source_value(c->src, (enum counter_field)f) - t->base[f];
        out->value[f] = tid == 0 && d > 0 ? (uint64_t)d : 0;
        out->valid[f] = true;
    }
}

const struct counter_backend counters_null = {
    "null",           null_probe, null_open, null_close, null_thread_start,
    null_thread_stop, null_read,
};
