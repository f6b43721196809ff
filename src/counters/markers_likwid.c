/*
 * counters/markers_likwid.c: LIKWID's marker API. Built and linked only where configured with LIKWID, whose library is GPL:
 * such a binary falls under it as a whole.
 *
 * LIKWID counts by CPU, not by thread: a region counts what happened on the CPU of each thread that started it, so threads
 * stay where they are pinned. Names become lines of a file, "0:decode-1", where the dash is LIKWID's own: no dashes in them.
 */
#include "counters/markers.h"
#include <likwid.h>

extern const struct marker_tool markers_likwid_tool;

static void close_tool(char *why, size_t size)
{
    likwid_markerClose();
    if (size)
        why[0] = 0; /* what goes wrong LIKWID prints itself */
}

static void add(const char *region)
{
    likwid_markerRegisterRegion(region);
}

static void start(const char *region)
{
    likwid_markerStartRegion(region);
}

static void stop(const char *region)
{
    likwid_markerStopRegion(region);
}

const struct marker_tool markers_likwid_tool = {
    .name = "likwid",
    .open = likwid_markerInit,
    .close = close_tool,
    .publish = NULL,
    .thread = likwid_markerThreadInit,
    .add = add,
    .start = start,
    .stop = stop,
    .next = likwid_markerNextGroup,
};
