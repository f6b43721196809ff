/*
 * counters/markers_likwid.c: LIKWID's marker API. Its library, which is GPL, is loaded when likwid-perfctr -m asks for regions and not
 * before: its tables of events take longer to load than all of roofcast (59,000 relocations: of 86 ms of a start on a slow guest they were 67).
 *
 * LIKWID counts by CPU, not by thread: a region counts what happened on the CPU of each thread that started it, so threads
 * stay where they are pinned. Names become lines of a file, "0:decode-1", where the dash is LIKWID's own: no dashes in them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/markers.h"
#include <dlfcn.h>
#include <likwid.h>
#include <string.h>

const struct marker_tool *markers_likwid_load(char *why, size_t size);

static struct {
    __typeof__(likwid_markerInit) *init, *thread_init, *close, *next_group;
    __typeof__(likwid_markerStartRegion) *register_region, *start_region, *stop_region;
} api; /* of the process, as LIKWID's own state is */

static const struct {
    const char *name;
    void *slot;
} functions[] = {
    { "likwid_markerInit", &api.init },
    { "likwid_markerThreadInit", &api.thread_init },
    { "likwid_markerClose", &api.close },
    { "likwid_markerNextGroup", &api.next_group },
    { "likwid_markerRegisterRegion", &api.register_region },
    { "likwid_markerStartRegion", &api.start_region },
    { "likwid_markerStopRegion", &api.stop_region },
};

static void open_tool(void)
{
    api.init();
}

static void close_tool(char *why, size_t size)
{
    api.close();
    if (size)
        why[0] = 0; /* what goes wrong LIKWID prints itself */
}

static void thread(void)
{
    api.thread_init();
}

static void add(const char *region)
{
    api.register_region(region);
}

static void start(const char *region)
{
    api.start_region(region);
}

static void stop(const char *region)
{
    api.stop_region(region);
}

static void next(void)
{
    api.next_group();
}

static const struct marker_tool tool = {
    .name = "likwid",
    .open = open_tool,
    .close = close_tool,
    .publish = NULL,
    .thread = thread,
    .add = add,
    .start = start,
    .stop = stop,
    .next = next,
};

const struct marker_tool *markers_likwid_load(char *why, size_t size)
{
    /* A marker API that is in the process already (preloaded, say) is the one to use. */
    const bool there = dlsym(RTLD_DEFAULT, functions[0].name) != NULL;
    void *lib = there ? RTLD_DEFAULT : dlopen(LIKWID_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!there && !lib) {
        const char *error = dlerror();
        snprintf(why, size, "LIKWID's library cannot be loaded: %s", error ? error : LIKWID_SONAME);
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        void *f = dlsym(lib, functions[i].name);
        if (!f) {
            snprintf(why, size, "LIKWID's library (%s) has no %s", LIKWID_SONAME, functions[i].name);
            return NULL;
        }
        memcpy(functions[i].slot, &f, sizeof f);
    }
    return &tool;
}
