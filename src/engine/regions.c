/* regions: phases and ops as regions of a marker tool (counters/markers.h), on every thread. */
#include "engine/internal.h"
#include <stdlib.h>
#include <string.h>

struct regions {
    char role[ROLE_COUNT][40]; /* "decode_ffn_down"; "": off */
    char known[2 * ROLE_COUNT + 2][40]; /* registered on every thread */
    size_t n_known;
    bool by_role;
};

struct call {
    void (*fn)(const char *);
    const char *region;
};

static void call_on_thread(void *arg, int tid, int n_threads)
{
    (void)tid, (void)n_threads;
    const struct call *c = arg;
    c->fn(c->region);
}

/* In thread order: a tool may assign CPUs in order of arrival. */
static void register_thread(void *arg, int tid, int n_threads)
{
    struct engine *e = arg;
    for (int t = 0; t < n_threads; t++) {
        if (t == tid)
            e->o.markers->thread();
        team_barrier(e->team);
    }
}

int regions_init(struct engine *e, struct error *err)
{
    if (!e->o.markers)
        return 0;
    e->regions = calloc(1, sizeof *e->regions);
    if (!e->regions)
        return error_oom(err, sizeof *e->regions, "the regions");
    if (e->o.markers->publish)
        e->o.markers->publish(&e->published);
    team_run(e->team, register_thread, e);
    return 0;
}

void regions_free(struct engine *e)
{
    if (e->regions && e->o.markers->publish)
        e->o.markers->publish(NULL);
    free(e->regions);
}

static void on_all(struct engine *e, void (*fn)(const char *), const char *region)
{
    struct call c = { fn, region };
    team_run(e->team, call_on_thread, &c);
}

/* Register before the first start, whose time would count otherwise. */
static void add(struct engine *e, const char *region)
{
    struct regions *r = e->regions;
    for (size_t i = 0; i < r->n_known; i++)
        if (strcmp(r->known[i], region) == 0)
            return;
    if (r->n_known < ARRAY_LEN(r->known))
        snprintf(r->known[r->n_known++], sizeof r->known[0], "%s", region);
    on_all(e, e->o.markers->add, region);
}

void engine_region_start(struct engine *e, const char *region)
{
    if (!e->regions)
        return;
    add(e, region);
    on_all(e, e->o.markers->start, region);
}

void engine_region_stop(struct engine *e, const char *region)
{
    if (e->regions)
        on_all(e, e->o.markers->stop, region);
}

void engine_region_roles(struct engine *e, const char *phase)
{
    struct regions *r = e->regions;
    if (!r)
        return;
    r->by_role = phase != NULL;
    for (size_t i = 0; phase && i < e->ops.n; i++) {
        char *name = r->role[e->ops.ops[i].role];
        snprintf(name, sizeof r->role[0], "%.15s_%s", phase, op_role_name(e->ops.ops[i].role));
        add(e, name);
    }
}

bool regions_by_role(const struct engine *e)
{
    return e->regions && e->regions->by_role;
}

void regions_op_start(const struct engine *e, size_t i)
{
    if (regions_by_role(e))
        e->o.markers->start(e->regions->role[e->ops.ops[i].role]);
}

void regions_op_stop(const struct engine *e, size_t i)
{
    if (regions_by_role(e))
        e->o.markers->stop(e->regions->role[e->ops.ops[i].role]);
}
