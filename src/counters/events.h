/*
 * counters/events.h: events of a microarchitecture from events/NAME.json (schema roofcast.events, doc/formats.md), selected by CPU
 * family and model, or implementer and part.
 */
#ifndef COUNTERS_EVENTS_H
#define COUNTERS_EVENTS_H

#include "counters/counters.h"
#include "counters/pmu.h"

struct event_def {
    char name[96], pmu[32]; /* pmu: "core", or the name prefix of its units */
    char config[96];        /* "event=0xc7,umask=0x80"; "": sysfs_event */
    char sysfs_event[48];   /* event name in sysfs */
    char work[32];          /* known work; "": none */
    char source[160];
    enum counter_field field;
    double scale; /* field units per count */
    bool fixed;   /* has a fixed counter */
};

struct event_limit { /* a field that is counted only partly */
    enum counter_field field;
    char why[160];
};

struct event_counters { /* counters of a PMU */
    char pmu[32];
    int n;
};

struct event_file {
    char name[64], title[96];
    char requires_pmu[32]; /* required PMU; "": none */
    struct event_counters counters[8];
    size_t n_counters;
    struct event_limit limit[COUNTER_FIELD_COUNT];
    size_t n_limit;
    struct event_def *event;
    size_t n_event;
    json_t *cpus; /* CPU patterns */
};

/* Errors name file, field, found and expected; f is then empty. Fuzzed. */
int event_file_parse(struct event_file *f, const char *name, const void *data, size_t size, struct error *err); /* fuzzed */
int event_file_load(struct event_file *f, const char *path, struct error *err);
void event_file_free(struct event_file *f);
/* Patterns: "GenuineIntel 6 85 0-4" (vendor, family, models, steppings); "arm 0x41 0xd0c"; "*" matches any. */
bool event_file_matches(const struct event_file *f, const struct cpu_kind *k);
/* Counters of a PMU; default 4. */
int event_file_counters(const struct event_file *f, const char *pmu);
/*
 * The file for that CPU among events/NAME.json in dirs: prefers one whose required PMU is present, then one that names the model. 1:
 * found, 0: none (f is empty), -1: the CPU's file is invalid, or none matches and an invalid file has unreadable CPU patterns.
 */
int event_file_find(struct event_file *f, const char *const *dirs, const struct cpu_kind *k, const struct pmu_list *pmus,
                    struct error *err);

#endif
