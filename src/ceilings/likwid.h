/* likwid-bench as an independent reference: runs the program and parses its output. */
#ifndef CEILINGS_LIKWID_H
#define CEILINGS_LIKWID_H

#include "base/base.h"

struct likwid_result {
    double seconds;
    double flop_s, bytes_s; /* 0: none */
    double size_bytes;      /* all threads, as allocated */
    double iterations;
    int n_threads, n_cpus; /* threads started, CPUs they ran on */
};

/* Parses the complete output; missing or duplicate lines are ERROR_INPUT, with its own message ("ERROR - ...") if any. */
int likwid_parse(struct likwid_result *r, const char *text, size_t n, struct error *err);
/* Runs `test` with one thread on each of n CPUs, `bytes` in total; iterations 0: its own calibration to 1 s. It inherits the
 * caller's affinity, which is changed temporarily. ERROR_UNAVAILABLE: not installed; ERROR_SYSTEM: threads shared a CPU, or
 * timeout_s exceeded (killed). */
int likwid_run(struct likwid_result *r, const char *test, double bytes, const int *cpu, int n, uint64_t iterations,
               double timeout_s, struct error *err);

#endif
