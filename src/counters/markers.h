/*
 * counters/markers: regions of this program that an outside tool counts, each on every thread that takes part: prefill, decode and
 * the ops' roles. The tools are LIKWID (likwid-perfctr -m) and PAPI's high-level API (PAPI_EVENTS). Whoever finds itself under no
 * tool has no markers at all (NULL) and pays nothing.
 */
#ifndef COUNTERS_MARKERS_H
#define COUNTERS_MARKERS_H

#include "base/base.h"
#include "counters/counters.h"

struct marker_tool {
    const char *name;
    void (*open)(void);                /* once, before any thread is made */
    void (*close)(char *why, size_t size); /* once, at the end: what was counted is written; why nothing was, or "" */
    void (*publish)(const struct counter_source *src); /* the engine's counts, which outlive publish(NULL); NULL: not wanted */
    void (*thread)(void);              /* on each thread of a team, in the order of their numbers */
    void (*add)(const char *region);   /* on each thread, before the region's first start: not in anything that is timed */
    void (*start)(const char *region); /* on each thread; regions of different names may overlap */
    void (*stop)(const char *region);
    void (*next)(void);                /* on one thread, outside every region: count the next of the tool's groups of events */
};

/* LIKWID's, whose library is loaded for it; NULL, with the reason: this build has none, or the library is not there. Its open complains
 * on standard error, and does nothing, unless likwid-perfctr -m has set LIKWID_MODE, LIKWID_EVENTS, LIKWID_THREADS and LIKWID_FILEPATH. */
const struct marker_tool *markers_likwid(char *why, size_t size);
/* PAPI's, for when PAPI_EVENTS is set; NULL: this build has none. */
const struct marker_tool *markers_papi(void);

#endif
