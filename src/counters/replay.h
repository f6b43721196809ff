/*
 * counters/replay.h: counts that another tool wrote down, on a machine that is not here: `perf stat -x,`, `perf stat -j` and
 * `likwid-perfctr -O`. Each named event with its count; what it means is in the files of events, as for live counts.
 */
#ifndef COUNTERS_REPLAY_H
#define COUNTERS_REPLAY_H

#include "base/base.h"

enum { REPLAY_MAX = 256 };

struct replay_event {
    char name[96];   /* as the tool writes it, without its modifiers: "instructions", "FP_ARITH_INST_RETIRED_256B_PACKED_SINGLE" */
    char limits[16]; /* its modifiers, "u", of the first line that has the name */
    char unit[16];   /* of value: "MiB", "msec"; "": counts */
    double value;    /* summed over the lines (threads, sockets, units) that have the name */
    double running;  /* least part of the time that it was counted; 1: all of it */
    char why[64];    /* "": counted; else "<not supported>", ... */
};

struct replay {
    struct replay_event event[REPLAY_MAX];
    size_t n;
};

/* Any of the three formats, by its looks. Strict: file, line, what was found and what was expected. */
int replay_parse(struct replay *r, const char *name, const void *data, size_t size, struct error *err); /* fuzzed */

#endif
