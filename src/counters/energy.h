/*
 * counters/energy: energy of packages and memory from powercap (RAPL) or perf's power PMU, for the whole machine. Unreadable values
 * are NaN with a reason.
 */
#ifndef COUNTERS_ENERGY_H
#define COUNTERS_ENERGY_H

#include "base/base.h"

/* Joules since energy_open, methods.md (88). NaN: not available. */
struct energy_sample {
    double package_j; /* all packages: cores, caches, memory controllers */
    double dram_j;    /* DRAM of all packages; not on AMD and most clients */
};

struct energy; /* opaque */

/* root: "", or a prefix of /sys. Fails only when out of memory; without readable counters energy_source is "" and energy_reason
 * explains. */
struct energy *energy_open(const char *root, struct error *err);
void energy_close(struct energy *e);
/* "powercap intel-rapl: package-0, dram"; "" when nothing is counted. */
const char *energy_source(const struct energy *e);
/* Why nothing is counted; "" otherwise. */
const char *energy_reason(const struct energy *e);
/* Call at least once per wrap-around (minutes to hours: 262 kJ at 300 W are 14 minutes). A domain that becomes unreadable is NaN
 * from then on. */
void energy_read(struct energy *e, struct energy_sample *out);

/* Counters update about every millisecond (Intel SDM volume 3, 15.10.1): shorter intervals are too inaccurate. */
#define ENERGY_SHORTEST_S 0.1
/* Joules of packages and memory in d, a difference of two samples or a sum of such. NaN with the reason in why [size] for short
 * intervals and for stuck counters (some virtual machines). */
double energy_of(const struct energy *e, const struct energy_sample *d, double seconds, char *why, size_t size);

#endif
