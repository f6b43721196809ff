/*
 * counters/markers_papi.c: regions in PAPI's high-level API. PAPI_EVENTS selects hardware events and the engine's software-defined
 * ones; at exit PAPI writes papi_hl_output/rank_*.json.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/markers.h"
#include "counters/papi_internal.h"
#include <papi.h>
#include <stdatomic.h>
#include <string.h>

extern const struct marker_tool markers_papi_tool;

static struct {
    _Atomic(const struct counter_source *) source;
    atomic_int failed; /* first PAPI error */
    char why[COUNTER_REASON_LEN]; /* PAPI unusable; "" */
} state; /* process-wide, like PAPI's own state */

static void open_tool(void)
{
    papi_process(state.why, sizeof state.why); /* registers events that PAPI_EVENTS may name */
}

static void close_tool(char *why, size_t size)
{
    PAPI_hl_stop();
    const int rc = atomic_load(&state.failed);
    if (state.why[0])
        snprintf(why, size, "%s", state.why);
    else if (rc != PAPI_OK)
        snprintf(why, size, "PAPI's high-level API: %s (PAPI_HL_VERBOSE=1 says more; is --counters papi counting too?)", papi_error(rc));
    else
        why[0] = 0;
}

static void publish(const struct counter_source *src)
{
    char why[COUNTER_REASON_LEN];
    const struct counter_source *was = atomic_exchange(&state.source, src);
    if (was)
        papi_unpublish(was);
    if (src && !papi_publish(src, why, sizeof why))
        atomic_store(&state.source, NULL); /* detaches another engine's source */
}

static void note(int rc)
{
    int none = PAPI_OK;
    if (rc != PAPI_OK)
        atomic_compare_exchange_strong(&state.failed, &none, rc);
}

static void nothing(void)
{
}

static void nothing_of(const char *region)
{
    (void)region;
}

static void start(const char *region)
{
    if (!state.why[0])
        note(PAPI_hl_region_begin(region));
}

static void stop(const char *region)
{
    if (!state.why[0])
        note(PAPI_hl_region_end(region));
}

const struct marker_tool markers_papi_tool = {
    .name = "papi",
    .open = open_tool,
    .close = close_tool,
    .publish = publish,
    .thread = nothing,
    .add = nothing_of,
    .start = start,
    .stop = stop,
    .next = nothing,
};
