/*
 * counters/pmu.h: PMUs in sysfs (sys/bus/event_source/devices/NAME/{type,format/,events/,cpumask,cpus}), and event terms encoded into
 * the config words of perf_event_attr.
 */
#ifndef COUNTERS_PMU_H
#define COUNTERS_PMU_H

#include "base/base.h"

struct pmu {
    char name[64];
    uint32_t type;       /* perf_event_attr.type */
    struct cpulist cpus; /* cpumask: CPUs to open an uncore unit on, one per socket; cpus: of a core PMU */
    bool has_cpus;       /* listed in sysfs; else the PMU counts threads on any CPU */
};

struct pmu_list {
    char root[3900]; /* "", or the prefix of /sys */
    struct pmu *pmu; /* sorted by name, numbers by value */
    size_t n;
};

/* root: "" or NULL: live. No PMU folder: an empty list. */
int pmu_list_load(struct pmu_list *l, const char *root, struct error *err);
void pmu_list_free(struct pmu_list *l);
/* NAME is PATTERN or PATTERN_NUMBER (hexadecimal). */
bool pmu_matches(const char *name, const char *pattern);
/* Core PMU of a CPU: "cpu", hybrid "cpu_core" or "cpu_atom", Arm "armv8_...". NULL: none. */
const struct pmu *pmu_core(const struct pmu_list *l, int cpu);

/* config, config1, config2 of perf_event_attr. */
struct pmu_config {
    uint64_t word[3];
};
/*
 * Encodes "event=0xc7,umask=0x80" by the unit's format files; "config=0x11" sets a whole word. Errors name PMU, term and expectation.
 */
int pmu_encode(struct pmu_config *c, const struct pmu_list *l, const struct pmu *p, const char *text, struct error *err);
/*
 * An event of the unit's sysfs list (events/NAME, NAME.scale, NAME.unit): its terms, and base units (bytes, ...) per count. -1 without an
 * error: no such event.
 */
int pmu_event(char *text, size_t size, double *scale, const struct pmu_list *l, const struct pmu *p, const char *name);

/* CPU identity from proc/cpuinfo: x86 vendor, family, model, stepping; Arm: "arm", implementer, part. */
struct cpu_kind {
    char vendor[32];
    int family, model, stepping; /* -1: unknown */
};
void cpu_kind_load(struct cpu_kind *k, const char *root);

#endif
