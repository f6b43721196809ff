/*
 * counters/energy: joules of processor packages and of memory, from powercap (RAPL) or, where that cannot be read, from perf's
 * power PMU. Both count the whole machine, whoever runs on it. What cannot be read is NaN and a reason.
 */
#ifndef COUNTERS_ENERGY_H
#define COUNTERS_ENERGY_H

#include "base/base.h"

/* Joules since energy_open, methods.md (88). NaN: this machine does not say. */
struct energy_sample {
    double package_j; /* all packages: cores, caches, memory controllers */
    double dram_j;    /* memory itself, of all packages; AMD and most clients do not say */
};

struct energy; /* opaque */

/* root: "", or a folder that stands for /. Fails for want of memory only: where nothing can be read, energy_source is "" and
 * energy_reason says why, with what would help. */
struct energy *energy_open(const char *root, struct error *err);
void energy_close(struct energy *e);
/* "powercap intel-rapl: package-0, dram"; "" when nothing is counted. */
const char *energy_source(const struct energy *e);
/* Why nothing is counted; "" where packages are. */
const char *energy_reason(const struct energy *e);
/* A counter wraps after minutes to hours: read once in that time at least (max_energy_range_uj over the package's power:
 * 262 kJ at 300 W are 14 minutes). A domain that can no longer be read is NaN from then on. */
void energy_read(struct energy *e, struct energy_sample *out);

/* Counters are renewed about every millisecond (Intel SDM volume 3, 15.10.1): what lasted less than this is not worth a figure. */
#define ENERGY_SHORTEST_S 0.1
/* Joules of packages and, where it is counted, memory, of d: the difference of two samples, or a sum of such. NaN with the reason
 * in why [size] for what lasted too short, and for a counter that stands still, as those of some virtual machines do. */
double energy_of(const struct energy *e, const struct energy_sample *d, double seconds, char *why, size_t size);

#endif
