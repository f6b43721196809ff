/*
 * counters/events.h: which events of a micro-architecture count what: a data file each (events/NAME.json, schema
 * roofcast.events, doc/formats.md), chosen by the CPU's family and model, or by implementer and part.
 */
#ifndef COUNTERS_EVENTS_H
#define COUNTERS_EVENTS_H

#include "counters/counters.h"
#include "counters/pmu.h"

struct event_def {
    char name[96], pmu[32]; /* pmu: "core", or the name that its units begin with */
    char config[96];        /* "event=0xc7,umask=0x80"; "": sysfs_event */
    char sysfs_event[48];   /* name of an event that the unit lists itself */
    char work[32];          /* known work; "": none */
    char source[160];
    enum counter_field field;
    double scale;           /* units of the field a count */
    bool fixed;             /* has a counter of its own */
};

struct event_limit { /* a field that this machine's events do not count all of */
    enum counter_field field;
    char why[160];
};

struct event_counters { /* how many events a PMU counts at a time */
    char pmu[32];
    int n;
};

struct event_file {
    char name[64], title[96];
    char requires_pmu[32];    /* only machines that have it; "": any */
    struct event_counters counters[8];
    size_t n_counters;
    struct event_limit limit[COUNTER_FIELD_COUNT];
    size_t n_limit;
    struct event_def *event;
    size_t n_event;
    json_t *cpus;             /* patterns of CPUs */
};

/* Strict: file, field, what was found and what was expected. On an error f is empty. */
int event_file_parse(struct event_file *f, const char *name, const void *data, size_t size, struct error *err); /* fuzzed */
int event_file_load(struct event_file *f, const char *path, struct error *err);
void event_file_free(struct event_file *f);
/* "GenuineIntel 6 85 0-4": vendor, family, model or models, and stepping or steppings; "arm 0x41 0xd0c"; "*" is any. */
bool event_file_matches(const struct event_file *f, const struct cpu_kind *k);
/* Events at a time on a PMU; 4 where the file does not say. */
int event_file_counters(const struct event_file *f, const char *pmu);
/*
 * The file for that CPU among events/NAME.json in dirs: of several the one that requires a PMU this machine has, then the one
 * that names the CPU's model. 1: found, 0: none (f is empty), -1: this CPU's is wrong, or there is none and the CPUs of one that is
 * wrong cannot be read; what is wrong in files of other CPUs does not matter.
 */
int event_file_find(struct event_file *f, const char *const *dirs, const struct cpu_kind *k, const struct pmu_list *pmus,
                    struct error *err);

#endif
