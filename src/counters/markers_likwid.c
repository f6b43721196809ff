/*
 * counters/markers_likwid.c: LIKWID's marker API. The library (GPL) is loaded only under likwid-perfctr -m, because loading takes about
 * 70 ms (59,000 relocations).
 *
 * LIKWID counts per CPU: a region counts the CPU of each thread that started it, so threads must be pinned. Region names become
 * "0:decode-1" in a file, with LIKWID's own dash: names have none.
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
} api; /* process-wide, like LIKWID's own state; set once at start */

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
        why[0] = 0; /* LIKWID prints its errors itself */
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
    /* Uses a marker API that is already loaded (LD_PRELOAD). */
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
