/*
 * counters/pmu.h: the PMUs that the kernel shows in sysfs (sys/bus/event_source/devices/NAME/{type,format/,events/,cpumask,
 * cpus}), and events on them: names of fields and values, turned into the config words of perf_event_attr.
 */
#ifndef COUNTERS_PMU_H
#define COUNTERS_PMU_H

#include "base/base.h"

struct pmu {
    char name[64];
    uint32_t type;       /* of perf_event_attr */
    struct cpulist cpus; /* cpumask: where an uncore unit is opened, one CPU a socket; cpus: those of a core PMU */
    bool has_cpus;       /* the kernel says so; else the PMU counts by thread on every CPU */
};

struct pmu_list {
    char root[3900]; /* "", or what stands for / */
    struct pmu *pmu; /* in order of names, numbers by value */
    size_t n;
};

/* root: NULL or "" for the machine itself. A machine without the folder has no PMUs, which is no error. */
int pmu_list_load(struct pmu_list *l, const char *root, struct error *err);
void pmu_list_free(struct pmu_list *l);
/* Is NAME the unit PATTERN, or one of its units PATTERN_NUMBER (hexadecimal)? */
bool pmu_matches(const char *name, const char *pattern);
/* The core PMU of a CPU: "cpu", of hybrid cores "cpu_core" or "cpu_atom", on Arm "armv8_...". NULL: there is none. */
const struct pmu *pmu_core(const struct pmu_list *l, int cpu);

/* config, config1, config2 of perf_event_attr. */
struct pmu_config {
    uint64_t word[3];
};
/*
 * "event=0xc7,umask=0x80" by the unit's format files; "config=0x11" is a whole word everywhere. The error names the PMU, the
 * field, and what was expected.
 */
int pmu_encode(struct pmu_config *c, const struct pmu_list *l, const struct pmu *p, const char *text, struct error *err);
/*
 * An event that the unit lists itself (events/NAME, NAME.scale, NAME.unit): its text, and how many bytes (or whatever base
 * unit) a count is. -1 without an error: it lists none of that name.
 */
int pmu_event(char *text, size_t size, double *scale, const struct pmu_list *l, const struct pmu *p, const char *name);

/* The CPU's kind, from proc/cpuinfo: of x86 vendor, family, model and stepping; of Arm "arm", implementer and part. */
struct cpu_kind {
    char vendor[32];
    int family, model, stepping; /* -1: not known */
};
void cpu_kind_load(struct cpu_kind *k, const char *root);

#endif
