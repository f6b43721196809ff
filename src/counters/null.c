/* counters/null.c: the fallback backend: no hardware events; reads the engine's published counts directly. */
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
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        counters_set_reason(c, (enum counter_field)f, "no counter backend (null)");
    counters_add_published(c);
    return 0;
}

static void null_close(struct counters *c)
{
    (void)c;
}

static void null_thread_start(struct counters *c, struct counter_thread *t, int tid)
{
    (void)tid;
    for (size_t i = 0; i < c->n_event; i++)
        t->ok[i] = true;
}

static void null_thread_stop(struct counters *c, struct counter_thread *t, int tid)
{
    (void)c, (void)t, (void)tid;
}

static void null_read(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw)
{
    (void)t;
    for (size_t i = 0; i < c->n_event && tid == 0; i++) /* the publishing thread: others would race */
        raw[i] = (uint64_t)counter_source_value(c->o.src, c->event[i].field);
}

const struct counter_backend counters_null = {
    .name = "null",
    .probe = null_probe,
    .open = null_open,
    .close = null_close,
    .thread_start = null_thread_start,
    .thread_stop = null_thread_stop,
    .select = NULL,
    .read = null_read,
};
