/*
 * counters/replay.h: counts recorded by `perf stat -x,`, `perf stat -j` or `likwid-perfctr -O`, by event name; event files map them to
 * fields as for live counts.
 */
#ifndef COUNTERS_REPLAY_H
#define COUNTERS_REPLAY_H

#include "base/base.h"

enum { REPLAY_MAX = 256 };

struct replay_event {
    char name[96];   /* without modifiers: "instructions", "FP_ARITH_INST_RETIRED_256B_PACKED_SINGLE" */
    char limits[16]; /* modifiers of the first line of that name: "u" */
    char unit[16];   /* of value: "MiB", "msec"; "": counts */
    double value;    /* sum over lines of that name (threads, sockets, units) */
    double running;  /* smallest fraction of time counted */
    char why[64];    /* "": counted; else "<not supported>", ... */
};

struct replay {
    struct replay_event event[REPLAY_MAX];
    size_t n;
};

/* Detects the format. Errors name file, line, found and expected. Fuzzed. */
int replay_parse(struct replay *r, const char *name, const void *data, size_t size, struct error *err); /* fuzzed */

#endif
