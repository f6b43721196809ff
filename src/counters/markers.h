/*
 * counters/markers: code regions (prefill, decode, op roles) for external tools, on every thread: LIKWID (likwid-perfctr -m) and PAPI's
 * high-level API (PAPI_EVENTS). Without a tool the marker is NULL and costs nothing.
 */
#ifndef COUNTERS_MARKERS_H
#define COUNTERS_MARKERS_H

#include "base/base.h"
#include "counters/counters.h"

struct marker_tool {
    const char *name;
    void (*open)(void);                    /* once, before threads are created */
    void (*close)(char *why, size_t size); /* once, at the end: writes results; why not, or "" */
    void (*publish)(const struct counter_source *src); /* the engine's counts, valid until publish(NULL); NULL: not supported */
    void (*thread)(void);              /* on each thread of a team, in order of tid */
    void (*add)(const char *region);   /* on each thread before the region's first start, outside timed code */
    void (*start)(const char *region); /* on each thread; regions of different names may overlap */
    void (*stop)(const char *region);
    void (*next)(void); /* on one thread, outside regions: select the tool's next event group */
};

/* LIKWID's marker API, loaded at run time; NULL with the reason: not built in, or no library. Its open prints a warning and does
 * nothing unless likwid-perfctr -m has set LIKWID_MODE, LIKWID_EVENTS, LIKWID_THREADS and LIKWID_FILEPATH. */
const struct marker_tool *markers_likwid(char *why, size_t size);
/* PAPI's high-level API, used when PAPI_EVENTS is set; NULL: not built in. */
const struct marker_tool *markers_papi(void);

#endif
